/* SPDX-License-Identifier: Apache-2.0 */
/* IPv4 routing: longest prefix, time to live, checksum. */
#include "tare.p4h"

struct headers {
    ethernet_h   ethernet;
    ipv4_h       ipv4;
    instrument_h instrument;
}

parser Parse(packet_in packet, out headers hdr, inout no_metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            PROTOCOL_PROBE: instrument;
            default: accept;
        }
    }
    state instrument {
        packet.extract(hdr.instrument);
        transition accept;
    }
}

VERIFY_IPV4(Verify, headers, no_metadata)

control IngressPipe(inout headers hdr, inout no_metadata meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }
    action next_hop(bit<48> mac, bit<9> port) {
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        standard.egress_spec = port;
    }
    table routes {
        key = { hdr.ipv4.destination: lpm; }
        actions = { next_hop; drop; }
        default_action = drop();
        size = 131072;
    }
    apply {
        if (hdr.ipv4.isValid())
            routes.apply();
        if (hdr.instrument.isValid())
            hdr.instrument.ingress_us = standard.ingress_global_timestamp;
    }
}

control EgressPipe(inout headers hdr, inout no_metadata meta, inout standard_metadata_t standard) {
    apply {
        if (hdr.instrument.isValid()) {
            hdr.instrument.egress_us = standard.egress_global_timestamp;
        }
    }
}

UPDATE_IPV4(Update, headers, no_metadata)

control Deparse(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.instrument);
    }
}

V1Switch(Parse(), Verify(), IngressPipe(), EgressPipe(), Update(), Deparse()) main;
