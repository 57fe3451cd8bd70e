/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A router's work on the IPv4 header: next hop by the longest prefix, TTL less
 * one, header checksum computed anew. No route, a TTL that would reach 0, or
 * anything but plain IPv4: dropped.
 */
#include <core.p4>
#include <pna.p4>
#include "headers.p4"

struct headers_t {
	ethernet_t ethernet;
	ipv4_t ipv4;
}

struct metadata_t {
}

parser checksum_parser(packet_in packet, out headers_t h, inout metadata_t m,
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
		transition accept;
	}
}

control checksum_pre(in headers_t h, inout metadata_t m, in pna_pre_input_metadata_t in_meta,
		     inout pna_pre_output_metadata_t out_meta)
{
	apply {
	}
}

control checksum_main(inout headers_t h, inout metadata_t m, in pna_main_input_metadata_t in_meta,
		      inout pna_main_output_metadata_t out_meta)
{
	InternetChecksum() sum;

	action route(bit<48> station, PortId_t port)
	{
		h.ethernet.src = h.ethernet.dst;
		h.ethernet.dst = station;
		h.ipv4.ttl = h.ipv4.ttl - 1;
		send_to_port(port);
	}
	action discard()
	{
		drop_packet();
	}
	table routes {
		key = {
			h.ipv4.dst : lpm;
		}
		actions = {
			route;
			discard;
		}
		default_action = discard();
		size = 1024;
	}
	apply {
		if (h.ipv4.isValid() && h.ipv4.version_ihl == IPV4_PLAIN) {
			/* By itself: p4c 1.2.5 loses a comparison by size that stands in a conjunction. */
			if (h.ipv4.ttl > 1) {
				routes.apply();
				h.ipv4.checksum = 0;
				sum.clear();
				sum.add(h.ipv4);
				h.ipv4.checksum = sum.get();
			} else {
				drop_packet();
			}
		} else {
			drop_packet();
		}
	}
}

control checksum_deparser(packet_out packet, in headers_t h, in metadata_t m, in pna_main_output_metadata_t out_meta)
{
	apply {
		packet.emit(h.ethernet);
		packet.emit(h.ipv4);
	}
}

PNA_NIC(checksum_parser(), checksum_pre(), checksum_main(), checksum_deparser()) main;
