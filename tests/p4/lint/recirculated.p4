/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that go round again. */
#include <core.p4>
#include <v1model.p4>

header stamps_h {
    bit<48> ingress;
    bit<48> egress;
}

struct headers {
    stamps_h stamps;
}

struct metadata {
    @field_list(1) bit<8> rounds;
}

parser Parse(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.stamps);
        transition accept;
    }
}

control Nothing(inout headers hdr, inout metadata meta) {
    apply { }
}

control IngressPipe(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 2;
        hdr.stamps.ingress = standard.ingress_global_timestamp;
        if (meta.rounds == 0) {
            meta.rounds = 1;
            resubmit_preserving_field_list(1);
        }
    }
}

control EgressPipe(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply {
        hdr.stamps.egress = standard.egress_global_timestamp;
        if (meta.rounds == 1) {
            meta.rounds = 2;
            recirculate_preserving_field_list(1);
        }
    }
}

control Deparse(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.stamps); }
}

V1Switch(Parse(), Nothing(), IngressPipe(), EgressPipe(), Nothing(), Deparse()) main;
