/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tare: parses nothing, looks nothing up, changes nothing. Every frame leaves
 * by port 1 as it came. What is left is the pipeline itself.
 */
#include <core.p4>
#include <pna.p4>

struct headers_t {
}

struct metadata_t {
}

parser null_parser(packet_in packet, out headers_t h, inout metadata_t m, in pna_main_parser_input_metadata_t in_meta)
{
	state start {
		transition accept;
	}
}

control null_pre(in headers_t h, inout metadata_t m, in pna_pre_input_metadata_t in_meta,
		 inout pna_pre_output_metadata_t out_meta)
{
	apply {
	}
}

control null_main(inout headers_t h, inout metadata_t m, in pna_main_input_metadata_t in_meta,
		  inout pna_main_output_metadata_t out_meta)
{
	apply {
		send_to_port((PortId_t)1);
	}
}

control null_deparser(packet_out packet, in headers_t h, in metadata_t m, in pna_main_output_metadata_t out_meta)
{
	apply {
	}
}

PNA_NIC(null_parser(), null_pre(), null_main(), null_deparser()) main;
