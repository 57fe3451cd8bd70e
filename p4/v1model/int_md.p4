/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In-band telemetry as P4.org's INT 2.1 has it, with embedded data (INT-MD) over UDP: source, transit and sink in one
 * program; which of them a switch is follows from its entries. INT is behind UDP with a port of its own (NPT 1: the
 * original port stands in the shim). The sink restores the packet and sends a report as P4.org's Telemetry Report 2.0
 * has it: a clone made at ingress, with the sink's own metadata in the report's main contents and the packet as it
 * came, stack and all, behind them.
 *
 * Stamps are ns (the switch's us times 1000). UDP's checksum becomes 0, none, at the source. What this switch does
 * not know (level 2 interfaces, utilisation, buffers) is all ones; with a reserved instruction set it adds nothing.
 */
#include "tare.p4h"

const bit<16> PORT_WATCHED = 50100; /* UDP to this port is what the entries let the source watch */
const bit<16> PORT_INT = 50101;
const bit<16> PORT_REPORT = 32766;

const bit<4> INT_TYPE_MD = 1;
const bit<2> NPT_UDP = 1;
const bit<4> INT_VERSION = 2;
const bit<8> SHIM_WORDS = 1;
const bit<8> MD_WORDS = 3;
const bit<16> RESERVED_INSTRUCTIONS = 0x007e; /* bits 9 to 14 */
const bit<16> REPORTED_INSTRUCTIONS = 0x7c00; /* bits 1 to 5: what a report can say of this switch */
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<16> INNER_WORDS_MOST = 64;
const bit<16> WIRE_BYTES_MOST = 1500;

header udp_h {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> length;
    bit<16> checksum;
}

header shim_h {
    bit<4>  type;
    bit<2>  npt;
    bit<2>  reserved;
    bit<8>  words; /* of what follows, INT header and stack */
    bit<16> original_port;
}

header int_md_h {
    bit<4>  version;
    bit<1>  discard;
    bit<1>  hops_exceeded;
    bit<1>  mtu_exceeded;
    bit<12> reserved;
    bit<5>  hop_words;
    bit<8>  hops_left;
    bit<16> instructions;
    bit<16> domain;
    bit<16> domain_instructions;
    bit<16> domain_flags;
}

header word_h {
    bit<32> value;
}

header words_h {
    bit<64> value;
}

header interfaces_h {
    bit<16> ingress;
    bit<16> egress;
}

header queue_h {
    bit<8>  id;
    bit<24> occupancy;
}

/* Metadata of the hops before this one: nobody but the sink's monitor reads it. */
header stack_h {
    varbit<8064> words;
}

header report_group_h {
    bit<4>  version;
    bit<6>  hardware;
    bit<22> sequence;
    bit<32> node;
}

header report_h {
    bit<4>  type;
    bit<4>  inner_type;
    bit<8>  words;
    bit<8>  metadata_words;
    bit<1>  dropped;
    bit<1>  congested;
    bit<1>  tracked;
    bit<1>  intermediate;
    bit<4>  reserved;
    bit<16> metadata_bits;
    bit<16> domain;
    bit<16> domain_bits;
    bit<16> domain_status;
}

struct headers {
    ethernet_h     ethernet;
    ipv4_h         report_ipv4;
    udp_h          report_udp;
    report_group_h group;
    report_h       report;
    interfaces_h   report_interfaces;
    word_h         report_latency;
    queue_h        report_queue;
    words_h        report_in;
    words_h        report_out;
    ipv4_h         ipv4;
    udp_h          udp;
    shim_h         shim;
    int_md_h       md;
    word_h         node;
    interfaces_h   interfaces;
    word_h         latency;
    queue_h        queue;
    words_h        in_ns;
    words_h        out_ns;
    words_h        interfaces2;
    word_h         utilisation;
    word_h         buffer;
    word_h         complement;
    stack_h        stack;
}

struct metadata {
    @field_list(1) bit<48> ingress_us;
    @field_list(1) bit<16> ingress_port;
    @field_list(1) bit<16> egress_port;
    @field_list(1) bit<16> instructions;
    bit<32> node;
    bit<8>  words;
    bit<1>  sink;
}

parser Parse(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.header_words, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_UDP): udp;
            default: accept;
        }
    }
    state udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.destination_port) {
            PORT_INT: shim;
            default: accept;
        }
    }
    state shim {
        packet.extract(hdr.shim);
        transition select(hdr.shim.type, hdr.shim.npt, hdr.shim.words) {
            (INT_TYPE_MD, NPT_UDP, 3 .. 255): md;
            default: accept;
        }
    }
    state md {
        packet.extract(hdr.md);
        packet.extract(hdr.stack, ((bit<32>)(hdr.shim.words - MD_WORDS)) << 5);
        transition accept;
    }
}

VERIFY_IPV4(Verify, headers, metadata)

control IngressPipe(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
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
    action watch(bit<16> instructions, bit<5> hop_words, bit<8> hops_most) {
        hdr.shim.setValid();
        hdr.shim.type = INT_TYPE_MD;
        hdr.shim.npt = NPT_UDP;
        hdr.shim.reserved = 0;
        hdr.shim.words = MD_WORDS;
        hdr.shim.original_port = hdr.udp.destination_port;
        hdr.md.setValid();
        hdr.md.version = INT_VERSION;
        hdr.md.discard = 0;
        hdr.md.hops_exceeded = 0;
        hdr.md.mtu_exceeded = 0;
        hdr.md.reserved = 0;
        hdr.md.hop_words = hop_words;
        hdr.md.hops_left = hops_most;
        hdr.md.instructions = instructions;
        hdr.md.domain = 0;
        hdr.md.domain_instructions = 0;
        hdr.md.domain_flags = 0;
        hdr.udp.destination_port = PORT_INT;
        hdr.udp.checksum = 0;
        hdr.udp.length = hdr.udp.length + 16;
        hdr.ipv4.total_length = hdr.ipv4.total_length + 16;
    }
    /* The source: flows that get telemetry. */
    table watchlist {
        key = {
            hdr.ipv4.destination: ternary;
            hdr.udp.destination_port: ternary;
        }
        actions = { watch; NoAction; }
        default_action = NoAction();
        size = 64;
    }
    action report(bit<32> session) {
        meta.sink = 1;
        meta.ingress_us = standard.ingress_global_timestamp;
        meta.ingress_port = (bit<16>)standard.ingress_port;
        meta.egress_port = (bit<16>)standard.egress_spec;
        meta.instructions = hdr.md.instructions;
        clone_preserving_field_list(CloneType.I2E, session, 1);
    }
    /* The sink: ports behind which nobody is to see telemetry. */
    table sinks {
        key = { standard.egress_spec: exact; }
        actions = { report; NoAction; }
        default_action = NoAction();
        size = 64;
    }
    apply {
        if (hdr.ipv4.isValid())
            routes.apply();
        if (hdr.udp.isValid() && !hdr.shim.isValid())
            watchlist.apply();
        if (hdr.md.isValid() && hdr.md.version == INT_VERSION)
            sinks.apply();
    }
}

control EgressPipe(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    register<bit<32>>(1) reports;

    action set_node(bit<32> id) {
        meta.node = id;
    }
    table identity {
        actions = { set_node; }
        default_action = set_node(0);
    }
    action send_to(bit<48> mac, bit<32> source, bit<32> destination) {
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = mac;
        hdr.report_ipv4.source = source;
        hdr.report_ipv4.destination = destination;
    }
    table collector {
        actions = { send_to; }
        default_action = send_to(0, 0, 0);
    }

    /* --- a hop --- */

    /* How many words the instructions ask for, those of 8 bytes twice. */
    action count_words() {
        bit<16> i = hdr.md.instructions;

        meta.words = (bit<8>)i[15:15] + (bit<8>)i[14:14] + (bit<8>)i[13:13] + (bit<8>)i[12:12] +
            ((bit<8>)i[11:11] << 1) + ((bit<8>)i[10:10] << 1) + ((bit<8>)i[9:9] << 1) + (bit<8>)i[8:8] +
            (bit<8>)i[7:7] + (bit<8>)i[0:0];
    }
    action account() {
        bit<16> bytes = ((bit<16>)meta.words) << 2;

        hdr.shim.words = hdr.shim.words + meta.words;
        hdr.md.hops_left = hdr.md.hops_left - 1;
        hdr.udp.length = hdr.udp.length + bytes;
        hdr.ipv4.total_length = hdr.ipv4.total_length + bytes;
    }
    action push_node() { hdr.node.setValid(); hdr.node.value = meta.node; }
    action push_interfaces() {
        hdr.interfaces.setValid();
        hdr.interfaces.ingress = (bit<16>)standard.ingress_port;
        hdr.interfaces.egress = (bit<16>)standard.egress_port;
    }
    action push_latency() {
        hdr.latency.setValid();
        hdr.latency.value = (bit<32>)((standard.egress_global_timestamp - standard.ingress_global_timestamp) * 1000);
    }
    action push_queue() {
        hdr.queue.setValid();
        hdr.queue.id = 0;
        hdr.queue.occupancy = (bit<24>)standard.deq_qdepth;
    }
    action push_in() { hdr.in_ns.setValid(); hdr.in_ns.value = ((bit<64>)standard.ingress_global_timestamp) * 1000; }
    action push_out() { hdr.out_ns.setValid(); hdr.out_ns.value = ((bit<64>)standard.egress_global_timestamp) * 1000; }
    action push_interfaces2() { hdr.interfaces2.setValid(); hdr.interfaces2.value = 0xffffffffffffffff; }
    action push_utilisation() { hdr.utilisation.setValid(); hdr.utilisation.value = 0xffffffff; }
    action push_buffer() { hdr.buffer.setValid(); hdr.buffer.value = 0xffffffff; }
    action push_complement() { hdr.complement.setValid(); hdr.complement.value = 0xffffffff; }

    action restore() {
        bit<16> bytes = ((bit<16>)(hdr.shim.words + SHIM_WORDS)) << 2;

        hdr.udp.destination_port = hdr.shim.original_port;
        hdr.udp.length = hdr.udp.length - bytes;
        hdr.ipv4.total_length = hdr.ipv4.total_length - bytes;
        hdr.shim.setInvalid();
        hdr.md.setInvalid();
        hdr.stack.setInvalid();
    }

    /* --- a report --- */

    action begin_report() {
        hdr.report_ipv4.setValid();
        hdr.report_ipv4.version = 4;
        hdr.report_ipv4.header_words = 5;
        hdr.report_ipv4.service = 0;
        hdr.report_ipv4.identification = 0;
        hdr.report_ipv4.flags = 2; /* do not fragment */
        hdr.report_ipv4.fragment_offset = 0;
        hdr.report_ipv4.ttl = 64;
        hdr.report_ipv4.protocol = PROTOCOL_UDP;
        hdr.report_udp.setValid();
        hdr.report_udp.source_port = PORT_REPORT;
        hdr.report_udp.destination_port = PORT_REPORT;
        hdr.report_udp.checksum = 0;
        hdr.group.setValid();
        hdr.group.version = 2;
        hdr.group.hardware = 0;
        hdr.group.node = meta.node;
        hdr.report.setValid();
        hdr.report.type = 1;       /* INT */
        hdr.report.inner_type = 4; /* IPv4 */
        hdr.report.dropped = 0;
        hdr.report.congested = 0;
        hdr.report.tracked = 1;
        hdr.report.intermediate = 0;
        hdr.report.reserved = 0;
        hdr.report.metadata_bits = meta.instructions & REPORTED_INSTRUCTIONS;
        hdr.report.domain = 0;
        hdr.report.domain_bits = 0;
        hdr.report.domain_status = 0;
        hdr.report.metadata_words = (bit<8>)meta.instructions[14:14] + (bit<8>)meta.instructions[13:13] +
            (bit<8>)meta.instructions[12:12] + ((bit<8>)meta.instructions[11:11] << 1) +
            ((bit<8>)meta.instructions[10:10] << 1);
    }
    action number_report() {
        bit<32> n;

        reports.read(n, 0);
        hdr.group.sequence = (bit<22>)n;
        reports.write(0, n + 1);
    }
    /* What is reported of the packet is cut to whole words, and to what a collector needs. */
    action finish_report(bit<16> inner_words) {
        bit<16> words = 2 + (bit<16>)hdr.report.metadata_words + inner_words; /* behind the report's first word */

        hdr.report.words = (bit<8>)words;
        hdr.report_udp.length = 20 + (words << 2);
        hdr.report_ipv4.total_length = 40 + (words << 2);
        truncate((bit<32>)(54 + (words << 2)));
    }
    action report_interfaces() {
        hdr.report_interfaces.setValid();
        hdr.report_interfaces.ingress = meta.ingress_port;
        hdr.report_interfaces.egress = meta.egress_port;
    }
    action report_latency() {
        hdr.report_latency.setValid();
        hdr.report_latency.value = (bit<32>)((standard.egress_global_timestamp - meta.ingress_us) * 1000);
    }
    action report_queue() {
        hdr.report_queue.setValid();
        hdr.report_queue.id = 0;
        hdr.report_queue.occupancy = (bit<24>)standard.deq_qdepth;
    }
    action report_in() { hdr.report_in.setValid(); hdr.report_in.value = ((bit<64>)meta.ingress_us) * 1000; }
    action report_out() {
        hdr.report_out.setValid();
        hdr.report_out.value = ((bit<64>)standard.egress_global_timestamp) * 1000;
    }

    apply {
        identity.apply();
        if (standard.instance_type == INSTANCE_INGRESS_CLONE) {
            begin_report();
            number_report();
            collector.apply();
            if (hdr.report.metadata_bits[14:14] == 1)
                report_interfaces();
            if (hdr.report.metadata_bits[13:13] == 1)
                report_latency();
            if (hdr.report.metadata_bits[12:12] == 1)
                report_queue();
            if (hdr.report.metadata_bits[11:11] == 1)
                report_in();
            if (hdr.report.metadata_bits[10:10] == 1)
                report_out();
            if (hdr.ipv4.total_length >> 2 > INNER_WORDS_MOST)
                finish_report(INNER_WORDS_MOST);
            else
                finish_report(hdr.ipv4.total_length >> 2);
        } else if (hdr.md.isValid() && hdr.md.version == INT_VERSION) {
            count_words();
            if (meta.sink == 1) {
                restore();
            } else if (hdr.md.hops_left == 0) {
                hdr.md.hops_exceeded = 1;
            } else if (hdr.md.instructions & RESERVED_INSTRUCTIONS != 0 || meta.words != (bit<8>)hdr.md.hop_words ||
                       hdr.md.domain != 0) {
                /* what was asked for is not of this version: nothing is added */
            } else if (hdr.shim.words > 255 - meta.words ||
                       hdr.ipv4.total_length > WIRE_BYTES_MOST - (((bit<16>)meta.words) << 2)) {
                hdr.md.mtu_exceeded = 1;
            } else {
                account();
                if (hdr.md.instructions[15:15] == 1)
                    push_node();
                if (hdr.md.instructions[14:14] == 1)
                    push_interfaces();
                if (hdr.md.instructions[13:13] == 1)
                    push_latency();
                if (hdr.md.instructions[12:12] == 1)
                    push_queue();
                if (hdr.md.instructions[11:11] == 1)
                    push_in();
                if (hdr.md.instructions[10:10] == 1)
                    push_out();
                if (hdr.md.instructions[9:9] == 1)
                    push_interfaces2();
                if (hdr.md.instructions[8:8] == 1)
                    push_utilisation();
                if (hdr.md.instructions[7:7] == 1)
                    push_buffer();
                if (hdr.md.instructions[0:0] == 1)
                    push_complement();
            }
        }
    }
}

control Update(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_CHECKED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.report_ipv4.isValid(), IPV4_CHECKED(hdr.report_ipv4), hdr.report_ipv4.checksum,
                        HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.report_ipv4);
        packet.emit(hdr.report_udp);
        packet.emit(hdr.group);
        packet.emit(hdr.report);
        packet.emit(hdr.report_interfaces);
        packet.emit(hdr.report_latency);
        packet.emit(hdr.report_queue);
        packet.emit(hdr.report_in);
        packet.emit(hdr.report_out);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.shim);
        packet.emit(hdr.md);
        packet.emit(hdr.node);
        packet.emit(hdr.interfaces);
        packet.emit(hdr.latency);
        packet.emit(hdr.queue);
        packet.emit(hdr.in_ns);
        packet.emit(hdr.out_ns);
        packet.emit(hdr.interfaces2);
        packet.emit(hdr.utilisation);
        packet.emit(hdr.buffer);
        packet.emit(hdr.complement);
        packet.emit(hdr.stack);
    }
}

V1Switch(Parse(), Verify(), IngressPipe(), EgressPipe(), Update(), Deparse()) main;
