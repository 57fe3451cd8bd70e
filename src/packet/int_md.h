/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PACKET_INT_MD_H
#define TARE_PACKET_INT_MD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * In-band telemetry with embedded data (INT-MD) over UDP, as P4.org's "INT Dataplane Specification" 2.1 has it (section 5.6.2,
 * 5.7: shim, metadata header, stack), and the report of its sink ("Telemetry Report Format" 2.0). Of the versions, 2 is known of
 * either. Instructions that this decoder does not know make a hop's length unsure, so such a stack is refused and
 * counted, not guessed; the one exception is Hop ML, which must agree with them. Pure, no allocation.
 */
enum {
	INT_MD_HOPS_MAX = 8,
	INT_MD_SHIM_BYTES = 4,
	INT_MD_HEADER_BYTES = 12,
	INT_MD_VERSION = 2,
	INT_REPORT_VERSION = 2,
	INT_MD_PORT_WATCHED = 50100, /* where our p4/v1model/int_md has them */
	INT_MD_PORT = 50101,
	INT_REPORT_PORT = 32766,
};

/* Instruction bitmap; bit 0 of the specification is the highest. */
enum int_instruction {
	INT_I_NODE = 0x8000,
	INT_I_INTERFACES = 0x4000,
	INT_I_LATENCY = 0x2000,
	INT_I_QUEUE = 0x1000,
	INT_I_IN = 0x0800,
	INT_I_OUT = 0x0400,
	INT_I_INTERFACES2 = 0x0200,
	INT_I_UTILISATION = 0x0100,
	INT_I_BUFFER = 0x0080,
	INT_I_RESERVED = 0x007e,
	INT_I_COMPLEMENT = 0x0001,
};

/* What the switch filled with ones is not known: `has` lacks its bit then. */
struct int_md_hop {
	uint16_t has; /* enum int_instruction: what of the following is there */
	uint32_t node_id;
	uint16_t ingress_interface, egress_interface;
	uint32_t latency_ns;
	uint8_t queue_id;
	uint32_t queue_occupancy;
	uint64_t in_ns, out_ns; /* the switch's clock */
	uint32_t ingress_interface2, egress_interface2;
	uint32_t utilisation;
	uint8_t buffer_id;
	uint32_t buffer_occupancy;
};

struct int_md {
	uint16_t instructions;
	uint16_t domain;
	uint8_t hop_words, hops_left;
	bool discard, hops_exceeded, mtu_exceeded;
	uint16_t original_port; /* of the packet before INT */
	uint32_t hop_count;
	struct int_md_hop hops[INT_MD_HOPS_MAX]; /* oldest first: in the order travelled */
	uint32_t length_bytes;                   /* shim to the end of the stack; the payload follows */
};

/* What can be wrong; each has its counter. */
enum int_md_fault {
	INT_MD_OK = 0,
	INT_MD_CUT,          /* no room for the headers, or for the stack that they state */
	INT_MD_NO_INT,       /* not UDP to INT's port, or a shim of another type */
	INT_MD_VERSION_BAD,  /* header or report of another version */
	INT_MD_LENGTH,       /* the shim's length is less than its header, or no multiple of a hop's */
	INT_MD_HOP_LENGTH,   /* Hop ML is not what the instructions come to */
	INT_MD_INSTRUCTIONS, /* reserved instructions, or of a domain: their length is not known */
	INT_MD_TOO_MANY,     /* more hops than INT_MD_HOPS_MAX */
	INT_MD_EMPTY,        /* no hop, where there should be one */
	INT_MD_NO_STAMP,     /* a hop with a stamp that is zero, or not known to its switch; all hops are there */
	INT_MD_REPORT,       /* a report that is not of INT, or whose lengths do not fit its packet */
	INT_MD_FAULTS
};

struct int_md_counts {
	uint64_t by_fault[INT_MD_FAULTS]; /* by_fault[INT_MD_OK]: good ones */
};

/*
 * From the shim on, of which `length_bytes` are there. *ret is whole on INT_MD_OK and INT_MD_NO_STAMP; a stack without
 * hops is INT_MD_EMPTY, with the header's fields set. Returns the fault and counts it (`counts` may be NULL).
 */
enum int_md_fault int_md_decode(const uint8_t *bytes, size_t length_bytes, struct int_md *ret,
				struct int_md_counts *counts);

/* A report. `md` has the hops of the packet's stack, then the reporting switch's own, where its report tells it. */
struct int_report {
	uint32_t sequence; /* 22 bits */
	uint32_t node_id;
	uint8_t hardware_id;
	bool dropped, congested, tracked, intermediate;
	uint32_t own; /* 1: the last hop is the reporter's own, from the report's main contents */
	struct int_md md;
	uint32_t inner_offset_bytes; /* of the packet that it is about, from the report's first byte: IPv4 on */
	uint32_t inner_length_bytes; /* as much of it as is there */
};

/*
 * From the report's group header on (behind UDP): the first individual report. An inner packet without
 * INT headers is fine: its only hop is the reporter. Faults as above.
 */
enum int_md_fault int_report_decode(const uint8_t *bytes, size_t length_bytes, struct int_report *ret,
				    struct int_md_counts *counts);

const char *int_md_fault_name(enum int_md_fault fault);

/* Words of 4 bytes that a hop adds by these instructions. */
uint32_t int_md_hop_words(uint16_t instructions);

/*
 * Encode shim, header and stack (hops oldest first; what a hop lacks is written as all ones). For tests and generators.
 * Bytes written, 0: no room.
 */
size_t int_md_encode(const struct int_md *md, uint8_t *ret_bytes, size_t room_bytes);

#endif
