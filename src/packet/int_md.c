/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/int_md.h"

#include <string.h>

#include "packet/frame.h"

enum {
	SHIM_TYPE_MD = 1,
	NPT_UDP = 1,
	GROUP_BYTES = 8,
	REPORT_BYTES = 12, /* its first word, and the fixed part of INT's main contents */
	REPORT_TYPE_INT = 1,
	INNER_IPV4 = 4,
	WORDS_TO_THE_END = 255,
	IPV4_BYTES = 20,
	UDP_BYTES = 8,
	PROTOCOL_UDP = 17,
};

#define ONES32 UINT32_MAX
#define ONES64 UINT64_MAX

uint32_t int_md_hop_words(uint16_t i)
{
	return (uint32_t)__builtin_popcount(i) +
	       (uint32_t)__builtin_popcount(i & (INT_I_IN | INT_I_OUT | INT_I_INTERFACES2));
}

static uint64_t load64(const uint8_t *p)
{
	return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
}

/* One hop's words, in the order of the bits. Returns where the next begins. */
static const uint8_t *hop_decode(const uint8_t *p, uint16_t instructions, struct int_md_hop *h)
{
	h->has = 0;
	for (uint32_t bit = 0x8000; bit; bit >>= 1) {
		bool wide = bit & (INT_I_IN | INT_I_OUT | INT_I_INTERFACES2);
		uint64_t v;

		if (!(instructions & bit))
			continue;
		v = wide ? load64(p) : load_be32(p);
		p += wide ? 8 : 4;
		if (v == (wide ? ONES64 : ONES32))
			continue;
		h->has |= (uint16_t)bit;
		switch (bit) {
		case INT_I_NODE:
			h->node_id = (uint32_t)v;
			break;
		case INT_I_INTERFACES:
			h->ingress_interface = (uint16_t)(v >> 16);
			h->egress_interface = (uint16_t)v;
			break;
		case INT_I_LATENCY:
			h->latency_ns = (uint32_t)v;
			break;
		case INT_I_QUEUE:
			h->queue_id = (uint8_t)(v >> 24);
			h->queue_occupancy = v & 0xffffff;
			break;
		case INT_I_IN:
			h->in_ns = v;
			break;
		case INT_I_OUT:
			h->out_ns = v;
			break;
		case INT_I_INTERFACES2:
			h->ingress_interface2 = (uint32_t)(v >> 32);
			h->egress_interface2 = (uint32_t)v;
			break;
		case INT_I_UTILISATION:
			h->utilisation = (uint32_t)v;
			break;
		case INT_I_BUFFER:
			h->buffer_id = (uint8_t)(v >> 24);
			h->buffer_occupancy = v & 0xffffff;
			break;
		default:
			break; /* the checksum's complement says nothing of the hop */
		}
	}
	return p;
}

/* Was a stamp asked for and not given, or given as zero? */
static bool lacks_stamp(const struct int_md_hop *h, uint16_t instructions)
{
	uint16_t asked = instructions & (INT_I_IN | INT_I_OUT);

	return (h->has & asked) != asked || ((asked & INT_I_IN) && h->in_ns == 0) ||
	       ((asked & INT_I_OUT) && h->out_ns == 0);
}

static void header_decode(const uint8_t *shim, struct int_md *ret)
{
	const uint8_t *p = shim + INT_MD_SHIM_BYTES;
	uint32_t first = load_be32(p);

	*ret = (struct int_md){ .discard = first >> 27 & 1,
				.hops_exceeded = first >> 26 & 1,
				.mtu_exceeded = first >> 25 & 1,
				.hop_words = first >> 8 & 31,
				.hops_left = (uint8_t)first,
				.instructions = load_be16(p + 4),
				.domain = load_be16(p + 6),
				.original_port = load_be16(shim + 2),
				.length_bytes = INT_MD_SHIM_BYTES + shim[1] * 4U };
}

static enum int_md_fault check_header(const uint8_t *bytes, size_t length_bytes, struct int_md *ret)
{
	if (length_bytes < INT_MD_SHIM_BYTES)
		return INT_MD_CUT;
	if (bytes[0] >> 4 != SHIM_TYPE_MD || (bytes[0] >> 2 & 3) != NPT_UDP)
		return INT_MD_NO_INT;
	if (bytes[1] * 4U < INT_MD_HEADER_BYTES)
		return INT_MD_LENGTH;
	if (length_bytes < INT_MD_SHIM_BYTES + INT_MD_HEADER_BYTES)
		return INT_MD_CUT;
	if (bytes[INT_MD_SHIM_BYTES] >> 4 != INT_MD_VERSION)
		return INT_MD_VERSION_BAD;
	header_decode(bytes, ret);
	if (length_bytes < ret->length_bytes)
		return INT_MD_CUT;
	/* instructions of a domain (bytes 8 and 9 of the header) are of a length that only it knows */
	if ((ret->instructions & INT_I_RESERVED) || load_be16(bytes + INT_MD_SHIM_BYTES + 8) != 0)
		return INT_MD_INSTRUCTIONS;
	return ret->hop_words == int_md_hop_words(ret->instructions) ? INT_MD_OK : INT_MD_HOP_LENGTH;
}

static enum int_md_fault decode(const uint8_t *bytes, size_t length_bytes, struct int_md *ret)
{
	enum int_md_fault fault = check_header(bytes, length_bytes, ret);
	uint32_t stack_words, count;
	const uint8_t *p;

	if (fault != INT_MD_OK)
		return fault;
	stack_words = bytes[1] - INT_MD_HEADER_BYTES / 4U;
	if (stack_words == 0)
		return INT_MD_EMPTY;
	if (ret->hop_words == 0 || stack_words % ret->hop_words)
		return INT_MD_LENGTH;
	count = stack_words / ret->hop_words;
	if (count > INT_MD_HOPS_MAX)
		return INT_MD_TOO_MANY;
	p = bytes + INT_MD_SHIM_BYTES + INT_MD_HEADER_BYTES;
	for (uint32_t i = count; i-- > 0;) { /* the newest stands first */
		p = hop_decode(p, ret->instructions, &ret->hops[i]);
		if (lacks_stamp(&ret->hops[i], ret->instructions))
			fault = INT_MD_NO_STAMP;
	}
	ret->hop_count = count;
	return fault;
}

static enum int_md_fault counted(enum int_md_fault fault, struct int_md_counts *counts)
{
	if (counts)
		counts->by_fault[fault]++;
	return fault;
}

enum int_md_fault int_md_decode(const uint8_t *bytes, size_t length_bytes, struct int_md *ret,
				struct int_md_counts *counts)
{
	*ret = (struct int_md){ 0 };
	return counted(decode(bytes, length_bytes, ret), counts);
}

/* --- reports --- */

/* What the reporter says of itself: metadata bits as instructions, but for the node, which the group's header has. */
static enum int_md_fault own_hop(const uint8_t *report, size_t length_bytes, struct int_report *ret)
{
	uint16_t bits = load_be16(report + 4);
	struct int_md_hop *own = &ret->md.hops[ret->md.hop_count];

	if ((bits & (INT_I_NODE | INT_I_RESERVED | INT_I_COMPLEMENT)) || load_be16(report + 8) != 0)
		return INT_MD_INSTRUCTIONS;
	if (int_md_hop_words(bits) != report[2])
		return INT_MD_HOP_LENGTH;
	if (length_bytes < REPORT_BYTES + report[2] * 4U)
		return INT_MD_CUT;
	if (bits == 0)
		return INT_MD_OK;
	if (ret->md.hop_count == INT_MD_HOPS_MAX)
		return INT_MD_TOO_MANY;
	hop_decode(report + REPORT_BYTES, bits, own);
	own->node_id = ret->node_id;
	own->has |= INT_I_NODE;
	ret->own = 1;
	ret->md.hop_count++;
	return lacks_stamp(own, bits) ? INT_MD_NO_STAMP : INT_MD_OK;
}

/* The stack in the packet that is reported; one without INT has none. */
static enum int_md_fault inner_stack(const uint8_t *inner, size_t length_bytes, struct int_report *ret)
{
	enum int_md_fault fault;

	if (length_bytes < IPV4_BYTES + UDP_BYTES)
		return INT_MD_CUT;
	if (inner[0] != 0x45 || inner[9] != PROTOCOL_UDP || load_be16(inner + IPV4_BYTES + 2) != INT_MD_PORT)
		return INT_MD_OK;
	fault = decode(inner + IPV4_BYTES + UDP_BYTES, length_bytes - IPV4_BYTES - UDP_BYTES, &ret->md);
	return fault == INT_MD_EMPTY ? INT_MD_OK : fault;
}

static enum int_md_fault report_decode(const uint8_t *bytes, size_t length_bytes, struct int_report *ret)
{
	const uint8_t *report = bytes + GROUP_BYTES;
	enum int_md_fault fault, own;
	size_t there, inner_at;

	if (length_bytes < GROUP_BYTES + REPORT_BYTES)
		return INT_MD_CUT;
	if (bytes[0] >> 4 != INT_REPORT_VERSION)
		return INT_MD_VERSION_BAD;
	ret->hardware_id = (uint8_t)(load_be16(bytes) >> 6 & 63);
	ret->sequence = load_be32(bytes) & 0x3fffff;
	ret->node_id = load_be32(bytes + 4);
	ret->dropped = report[3] >> 7;
	ret->congested = report[3] >> 6 & 1;
	ret->tracked = report[3] >> 5 & 1;
	ret->intermediate = report[3] >> 4 & 1;
	if (report[0] != (REPORT_TYPE_INT << 4 | INNER_IPV4))
		return INT_MD_REPORT;
	there = length_bytes - GROUP_BYTES;
	if (report[1] != WORDS_TO_THE_END) {
		if (there < 4 + report[1] * 4U)
			return INT_MD_CUT;
		there = 4 + report[1] * 4U;
	}
	inner_at = REPORT_BYTES + report[2] * 4U;
	if (there < inner_at)
		return INT_MD_REPORT;
	ret->inner_offset_bytes = (uint32_t)(GROUP_BYTES + inner_at);
	ret->inner_length_bytes = (uint32_t)(there - inner_at);
	fault = inner_stack(report + inner_at, there - inner_at, ret);
	if (fault != INT_MD_OK && fault != INT_MD_NO_STAMP)
		return fault;
	own = own_hop(report, there, ret);
	if (own != INT_MD_OK)
		return own;
	return fault == INT_MD_OK && ret->md.hop_count == 0 ? INT_MD_EMPTY : fault;
}

enum int_md_fault int_report_decode(const uint8_t *bytes, size_t length_bytes, struct int_report *ret,
				    struct int_md_counts *counts)
{
	*ret = (struct int_report){ 0 };
	return counted(report_decode(bytes, length_bytes, ret), counts);
}

const char *int_md_fault_name(enum int_md_fault fault)
{
	static const char *const names[INT_MD_FAULTS] = {
		[INT_MD_OK] = "good",
		[INT_MD_CUT] = "cut short",
		[INT_MD_NO_INT] = "no INT-MD",
		[INT_MD_VERSION_BAD] = "another version",
		[INT_MD_LENGTH] = "wrong length",
		[INT_MD_HOP_LENGTH] = "wrong length of a hop",
		[INT_MD_INSTRUCTIONS] = "unknown instructions",
		[INT_MD_TOO_MANY] = "too many hops",
		[INT_MD_EMPTY] = "no hop",
		[INT_MD_NO_STAMP] = "zero stamp",
		[INT_MD_REPORT] = "not a report of INT",
	};

	return (unsigned)fault < INT_MD_FAULTS ? names[fault] : "?";
}

/* --- encoding --- */

static uint8_t *put32(uint8_t *p, uint32_t v)
{
	store_be32(p, v);
	return p + 4;
}

static uint8_t *put64(uint8_t *p, uint64_t v)
{
	return put32(put32(p, (uint32_t)(v >> 32)), (uint32_t)v);
}

static uint8_t *hop_encode(uint8_t *p, uint16_t instructions, const struct int_md_hop *h)
{
	const struct {
		uint16_t bit;
		bool wide;
		uint64_t value;
	} parts[] = {
		{ INT_I_NODE, false, h->node_id },
		{ INT_I_INTERFACES, false, (uint32_t)h->ingress_interface << 16 | h->egress_interface },
		{ INT_I_LATENCY, false, h->latency_ns },
		{ INT_I_QUEUE, false, (uint32_t)h->queue_id << 24 | (h->queue_occupancy & 0xffffff) },
		{ INT_I_IN, true, h->in_ns },
		{ INT_I_OUT, true, h->out_ns },
		{ INT_I_INTERFACES2, true, (uint64_t)h->ingress_interface2 << 32 | h->egress_interface2 },
		{ INT_I_UTILISATION, false, h->utilisation },
		{ INT_I_BUFFER, false, (uint32_t)h->buffer_id << 24 | (h->buffer_occupancy & 0xffffff) },
		{ INT_I_COMPLEMENT, false, ONES32 },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		bool has = h->has & parts[i].bit;

		if (!(instructions & parts[i].bit))
			continue;
		p = parts[i].wide ? put64(p, has ? parts[i].value : ONES64)
				  : put32(p, has ? (uint32_t)parts[i].value : ONES32);
	}
	return p;
}

size_t int_md_encode(const struct int_md *md, uint8_t *ret_bytes, size_t room_bytes)
{
	uint32_t hop_words = int_md_hop_words(md->instructions);
	uint32_t words = INT_MD_HEADER_BYTES / 4 + md->hop_count * hop_words;
	size_t need = INT_MD_SHIM_BYTES + words * 4U;
	uint8_t *p = ret_bytes;

	if (md->hop_count > INT_MD_HOPS_MAX || words > 255 || hop_words > 31 || room_bytes < need ||
	    (md->instructions & INT_I_RESERVED))
		return 0;
	p = put32(p, (uint32_t)(SHIM_TYPE_MD << 4 | NPT_UDP << 2) << 24 | words << 16 | md->original_port);
	p = put32(p, (uint32_t)INT_MD_VERSION << 28 | (uint32_t)md->discard << 27 | (uint32_t)md->hops_exceeded << 26 |
			     (uint32_t)md->mtu_exceeded << 25 | hop_words << 8 | md->hops_left);
	p = put32(p, (uint32_t)md->instructions << 16 | md->domain);
	p = put32(p, 0);
	for (uint32_t i = md->hop_count; i-- > 0;)
		p = hop_encode(p, md->instructions, &md->hops[i]);
	return need;
}
