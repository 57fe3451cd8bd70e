/* SPDX-License-Identifier: Apache-2.0 */
/* Headers that the programs share. A flag's or a length's bits stay with their neighbours: the fields are whole bytes. */

header ethernet_t {
	bit<48> dst;
	bit<48> src;
	bit<16> type;
}

header ipv4_t {
	bit<8> version_ihl;
	bit<8> tos;
	bit<16> length;
	bit<16> id;
	bit<16> fragment;
	bit<8> ttl;
	bit<8> protocol;
	bit<16> checksum;
	bit<32> src;
	bit<32> dst;
}

/* What TCP and UDP begin with. */
header ports_t {
	bit<16> src;
	bit<16> dst;
}

header udp_t {
	bit<16> src;
	bit<16> dst;
	bit<16> length;
	bit<16> checksum;
}

const bit<16> ETHER_IPV4 = 0x0800;
const bit<16> ETHER_PROBE = 0x88b5; /* IEEE local experimental 1 */
const bit<8> IPV4_PLAIN = 0x45;     /* version 4, no options */
const bit<8> PROTO_TCP = 6;
const bit<8> PROTO_UDP = 17;
