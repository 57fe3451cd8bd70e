/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a tunnel: takes the IPv4 and UDP headers, 28 bytes, off datagrams
 * that are addressed to it. What they carried follows Ethernet, with EtherType
 * 0x88B5. Anything else is dropped.
 */
#include <core.p4>
#include <pna.p4>
#include "headers.p4"

struct headers_t {
	ethernet_t ethernet;
	ipv4_t ipv4;
	udp_t udp;
}

struct metadata_t {
}

parser removeheader_parser(packet_in packet, out headers_t h, inout metadata_t m,
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
			PROTO_UDP: udp;
			default: accept;
		}
	}
	state udp {
		packet.extract(h.udp);
		transition accept;
	}
}

control removeheader_pre(in headers_t h, inout metadata_t m, in pna_pre_input_metadata_t in_meta,
			 inout pna_pre_output_metadata_t out_meta)
{
	apply {
	}
}

control removeheader_main(inout headers_t h, inout metadata_t m, in pna_main_input_metadata_t in_meta,
			  inout pna_main_output_metadata_t out_meta)
{
	action decapsulate(PortId_t port)
	{
		h.ethernet.type = ETHER_PROBE;
		h.ipv4.setInvalid();
		h.udp.setInvalid();
		send_to_port(port);
	}
	action discard()
	{
		drop_packet();
	}
	table tunnels {
		key = {
			h.ipv4.dst : exact;
		}
		actions = {
			decapsulate;
			discard;
		}
		default_action = discard();
		size = 256;
	}
	apply {
		if (h.udp.isValid()) {
			tunnels.apply();
		} else {
			drop_packet();
		}
	}
}

control removeheader_deparser(packet_out packet, in headers_t h, in metadata_t m,
			      in pna_main_output_metadata_t out_meta)
{
	apply {
		packet.emit(h.ethernet);
		packet.emit(h.ipv4);
		packet.emit(h.udp);
	}
}

PNA_NIC(removeheader_parser(), removeheader_pre(), removeheader_main(), removeheader_deparser()) main;
