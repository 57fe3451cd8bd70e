/* SPDX-License-Identifier: Apache-2.0 */
/* Something of every kind that a controller can write or read; made for tests of the P4Runtime server. */
#include <core.p4>
#include <v1model.p4>

@controller_header("packet_in")
header cpu_in_t {
    bit<9> ingress_port;
    bit<7> pad;
}

@controller_header("packet_out")
header cpu_out_t {
    bit<9> egress_port;
    bit<7> pad;
}

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header ipv6_t {
    bit<64> rest;
    bit<128> source;
    bit<128> destination;
}

struct headers_t {
    cpu_in_t cpu_in;
    cpu_out_t cpu_out;
    ethernet_t ethernet;
    ipv6_t ipv6;
}

struct metadata_t {
    bit<8> colour;
}

struct seen_t {
    bit<48> source;
    bit<9> port;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(4) types;

    state start {
        transition select(std.ingress_port) {
            510: from_cpu;
            default: ethernet;
        }
    }
    state from_cpu {
        packet.extract(hdr.cpu_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            types: ipv6;
            0x86dd: ipv6;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition accept;
    }
}

control Check(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter(16, CounterType.packets_and_bytes) ports;
    meter(16, MeterType.bytes) rates;
    register<bit<48>>(16) last;
    register<int<12>>(4) small;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<8>>(MeterType.packets) pace;
    action_selector(HashAlgorithm.crc16, 64, 16) paths;

    action drop() {
        mark_to_drop(std);
    }
    action forward(bit<9> port) {
        std.egress_spec = port;
    }
    action send(bit<9> port, bit<48> mac) {
        std.egress_spec = port;
        hdr.ethernet.destination = mac;
    }
    action flood(bit<16> group) {
        std.mcast_grp = group;
    }
    action metered(bit<9> port) {
        std.egress_spec = port;
        pace.read(meta.colour);
    }
    action counted(bit<9> port) {
        std.egress_spec = port;
        hits.count();
    }
    action learn() {
        digest<seen_t>(1, { hdr.ethernet.source, std.ingress_port });
    }

    table hosts {
        key = { hdr.ethernet.destination: exact; }
        actions = { counted; drop; @defaultonly NoAction; }
        counters = hits;
        size = 8;
    }
    table routes {
        key = { hdr.ipv6.destination: lpm; }
        actions = { send; forward; drop; }
        default_action = drop();
        support_timeout = true;
        size = 1024;
    }
    table acl {
        key = {
            hdr.ethernet.source: ternary;
            hdr.ethernet.type: range;
            hdr.ipv6.source: optional;
        }
        actions = { drop; metered; @tableonly flood; NoAction; }
        default_action = NoAction();
        meters = pace;
        size = 64;
    }
    table balance {
        key = {
            hdr.ethernet.type: exact;
            hdr.ethernet.source: selector;
        }
        actions = { forward; send; }
        implementation = paths;
    }
    table fixed {
        key = { hdr.ethernet.type: exact; }
        actions = { learn; NoAction; }
        const default_action = NoAction();
        const entries = {
            0x0806: learn();
        }
    }

    apply {
        if (hdr.cpu_out.isValid()) {
            std.egress_spec = hdr.cpu_out.egress_port;
            hdr.cpu_out.setInvalid();
        } else {
            hosts.apply();
            routes.apply();
            acl.apply();
            balance.apply();
            fixed.apply();
            ports.count((bit<32>) std.ingress_port);
            rates.execute_meter((bit<32>) std.ingress_port, meta.colour);
            last.write(0, hdr.ethernet.source);
            small.write(0, -3);
        }
    }
}

control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_port == 510) {
            hdr.cpu_in.setValid();
            hdr.cpu_in.ingress_port = std.ingress_port;
            hdr.cpu_in.pad = 0;
        }
    }
}

control Sum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.cpu_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv6);
    }
}

V1Switch(Parse(), Check(), In(), Out(), Sum(), Deparse()) main;
