/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards by destination address: exact match on Ethernet; an address that is not in the table is dropped. */
#include <core.p4>
#include <pna.p4>
#include "headers.p4"

struct headers_t {
	ethernet_t ethernet;
}

struct metadata_t {
}

parser forward_parser(packet_in packet, out headers_t h, inout metadata_t m,
		      in pna_main_parser_input_metadata_t in_meta)
{
	state start {
		packet.extract(h.ethernet);
		transition accept;
	}
}

control forward_pre(in headers_t h, inout metadata_t m, in pna_pre_input_metadata_t in_meta,
		    inout pna_pre_output_metadata_t out_meta)
{
	apply {
	}
}

control forward_main(inout headers_t h, inout metadata_t m, in pna_main_input_metadata_t in_meta,
		     inout pna_main_output_metadata_t out_meta)
{
	action send(PortId_t port)
	{
		send_to_port(port);
	}
	action discard()
	{
		drop_packet();
	}
	table stations {
		key = {
			h.ethernet.dst : exact;
		}
		actions = {
			send;
			discard;
		}
		default_action = discard();
		size = 1024;
	}
	apply {
		stations.apply();
	}
}

control forward_deparser(packet_out packet, in headers_t h, in metadata_t m, in pna_main_output_metadata_t out_meta)
{
	apply {
		packet.emit(h.ethernet);
	}
}

PNA_NIC(forward_parser(), forward_pre(), forward_main(), forward_deparser()) main;
