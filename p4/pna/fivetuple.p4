/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies by five-tuple: ternary match on IPv4 addresses, protocol and TCP or
 * UDP ports. What no rule allows, or is no TCP or UDP over plain IPv4, is dropped.
 */
#include <core.p4>
#include <pna.p4>
#include "headers.p4"

struct headers_t {
	ethernet_t ethernet;
	ipv4_t ipv4;
	ports_t ports;
}

struct metadata_t {
}

parser fivetuple_parser(packet_in packet, out headers_t h, inout metadata_t m,
			in pna_main_parser_input_metadata_t in_meta)
{
	state start {
		packet.extract(h.ethernet);
		transition select(h.ethernet.type) {
			ETHER_IPV4: ipv4;
			default: accept;
		}
	}
	state ipv4 {
		packet.extract(h.ipv4);
		transition select(h.ipv4.version_ihl) {
			IPV4_PLAIN: transport;
			default: accept;
		}
	}
	state transport {
		transition select(h.ipv4.protocol) {
			PROTO_TCP: ports;
			PROTO_UDP: ports;
			default: accept;
		}
	}
	state ports {
		packet.extract(h.ports);
		transition accept;
	}
}

control fivetuple_pre(in headers_t h, inout metadata_t m, in pna_pre_input_metadata_t in_meta,
		      inout pna_pre_output_metadata_t out_meta)
{
	apply {
	}
}

control fivetuple_main(inout headers_t h, inout metadata_t m, in pna_main_input_metadata_t in_meta,
		       inout pna_main_output_metadata_t out_meta)
{
	action allow(PortId_t port)
	{
		send_to_port(port);
	}
	action deny()
	{
		drop_packet();
	}
	table rules {
		key = {
			h.ipv4.src : ternary;
			h.ipv4.dst : ternary;
			h.ipv4.protocol : ternary;
			h.ports.src : ternary;
			h.ports.dst : ternary;
		}
		actions = {
			allow;
			deny;
		}
		default_action = deny();
		size = 256;
	}
	apply {
		if (h.ports.isValid()) {
			rules.apply();
		} else {
			drop_packet();
		}
	}
}

control fivetuple_deparser(packet_out packet, in headers_t h, in metadata_t m,
			   in pna_main_output_metadata_t out_meta)
{
	apply {
		packet.emit(h.ethernet);
		packet.emit(h.ipv4);
		packet.emit(h.ports);
	}
}

PNA_NIC(fivetuple_parser(), fivetuple_pre(), fivetuple_main(), fivetuple_deparser()) main;
