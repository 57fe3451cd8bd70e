/* SPDX-License-Identifier: Apache-2.0 */
/* l3_lpm and a ternary access list over the 5-tuple, which no probe hits. */
#include "tare.p4h"

struct headers {
    ethernet_h   ethernet;
    ipv4_h       ipv4;
    instrument_h instrument;
    ports_h      ports;
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
            PROTOCOL_TCP: ports;
            PROTOCOL_UDP: ports;
            default: accept;
        }
    }
    state instrument {
        packet.extract(hdr.instrument);
        transition accept;
    }
    state ports {
        packet.extract(hdr.ports);
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
    action permit() {
    }
    table acl {
        key = {
            hdr.ipv4.source: ternary;
            hdr.ipv4.destination: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.ports.source_port: ternary;
            hdr.ports.destination_port: ternary;
        }
        actions = { drop; permit; }
        default_action = permit();
        size = 1024;
    }
    table routes {
        key = { hdr.ipv4.destination: lpm; }
        actions = { next_hop; drop; }
        default_action = drop();
        size = 131072;
    }
    apply {
        if (hdr.ipv4.isValid()) {
            switch (acl.apply().action_run) {
                permit: { routes.apply(); }
            }
        }
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
        packet.emit(hdr.ports);
    }
}

V1Switch(Parse(), Verify(), IngressPipe(), EgressPipe(), Update(), Deparse()) main;
