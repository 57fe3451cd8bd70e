/* SPDX-License-Identifier: Apache-2.0 */
/* One exact match on the destination address: the least that forwards. */
#include "tare.p4h"

struct headers {
    ethernet_h   ethernet;
    instrument_h instrument;
}

parser Parse(packet_in packet, out headers hdr, inout no_metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_PROBE: instrument;
            default: accept;
        }
    }
    state instrument {
        packet.extract(hdr.instrument);
        transition accept;
    }
}

control Verify(inout headers hdr, inout no_metadata meta) {
    apply { }
}

control IngressPipe(inout headers hdr, inout no_metadata meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    table mac {
        key = { hdr.ethernet.destination: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 1024;
    }
    apply {
        mac.apply();
        if (hdr.instrument.isValid())
            hdr.instrument.ingress_us = standard.ingress_global_timestamp;
    }
}

control EgressPipe(inout headers hdr, inout no_metadata meta, inout standard_metadata_t standard) {
    apply {
        if (hdr.instrument.isValid())
            hdr.instrument.egress_us = standard.egress_global_timestamp;
    }
}

control Update(inout headers hdr, inout no_metadata meta) {
    apply { }
}

control Deparse(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.instrument);
    }
}

V1Switch(Parse(), Verify(), IngressPipe(), EgressPipe(), Update(), Deparse()) main;
