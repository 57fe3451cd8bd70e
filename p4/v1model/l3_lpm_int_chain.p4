/* SPDX-License-Identifier: Apache-2.0 */
/* l3_lpm, and a stack of up to 8 hops of telemetry behind the instrument header, newest first. */
#include "tare.p4h"

const bit<8> MOST_HOPS = 8;

header hop_count_h {
    bit<8> hops;
}

struct chain_metadata {
    bit<8> left;
    bit<8> switch_id;
}

struct headers {
    ethernet_h   ethernet;
    ipv4_h       ipv4;
    instrument_h instrument;
    hop_count_h  hop_count;
    hop_h[8]     hops;
}

parser Parse(packet_in packet, out headers hdr, inout chain_metadata meta, inout standard_metadata_t standard) {
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
        packet.extract(hdr.hop_count);
        meta.left = hdr.hop_count.hops;
        transition hops;
    }
    state hops {
        transition select(meta.left) {
            0: accept;
            default: hop;
        }
    }
    state hop {
        packet.extract(hdr.hops.next);
        meta.left = meta.left - 1;
        transition hops;
    }
}

VERIFY_IPV4(Verify, headers, chain_metadata)

control IngressPipe(inout headers hdr, inout chain_metadata meta, inout standard_metadata_t standard) {
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

control EgressPipe(inout headers hdr, inout chain_metadata meta, inout standard_metadata_t standard) {
    /* Which switch this is: a table without keys, because not every switch writes registers for its controller. */
    action set_id(bit<8> id) {
        meta.switch_id = id;
    }
    table identity {
        actions = { set_id; }
        default_action = set_id(0);
    }
    apply {
        if (hdr.instrument.isValid()) {
            identity.apply();
            hdr.instrument.egress_us = standard.egress_global_timestamp;
            /* a full stack goes on as it is */
            if (hdr.hop_count.hops < MOST_HOPS) {
                hdr.hops.push_front(1);
                hdr.hops[0].setValid();
                hdr.hops[0].switch_id = meta.switch_id;
                hdr.hops[0].ingress_us = standard.ingress_global_timestamp;
                hdr.hops[0].egress_us = standard.egress_global_timestamp;
                hdr.hop_count.hops = hdr.hop_count.hops + 1;
            }
        }
    }
}

UPDATE_IPV4(Update, headers, chain_metadata)

control Deparse(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.instrument);
        packet.emit(hdr.hop_count);
        packet.emit(hdr.hops);
    }
}

V1Switch(Parse(), Verify(), IngressPipe(), EgressPipe(), Update(), Deparse()) main;
