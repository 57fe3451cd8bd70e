/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "packet/int_md.h"

/* "INT 2.1", example with INT-MD between UDP header and payload: two hops with node id and queue, behind port 0x1388. */
static const uint8_t example[] = {
	0x14, 0x07, 0x13, 0x88,                         /* type 1, NPT 1, 7 words, original port */
	0x20, 0x00, 0x02, 0x06,                         /* version 2, Hop ML 2, 6 hops left */
	0x90, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* node id and queue; no domain */
	0x00, 0x00, 0x00, 0x02, 0x01, 0x00, 0x00, 0x22, /* hop 2: node, queue 1 with 0x22 */
	0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x11, /* hop 1 */
};

static enum int_md_fault decode(const uint8_t *bytes, size_t length, struct int_md *md)
{
	struct int_md_counts counts = { { 0 } };
	enum int_md_fault fault = int_md_decode(bytes, length, md, &counts);

	for (unsigned f = 0; f < INT_MD_FAULTS; f++)
		assert_int_equal(counts.by_fault[f], f == fault);
	return fault;
}

static void the_specifications_example_is_read(void **state)
{
	struct int_md md;
	uint8_t again[sizeof(example)];

	(void)state;
	assert_int_equal(decode(example, sizeof(example), &md), INT_MD_OK);
	assert_int_equal(md.hop_count, 2);
	assert_int_equal(md.original_port, 5000);
	assert_int_equal(md.hops_left, 6);
	assert_int_equal(md.hop_words, 2);
	assert_int_equal(md.length_bytes, sizeof(example));
	/* in the order travelled */
	assert_int_equal(md.hops[0].node_id, 1);
	assert_int_equal(md.hops[0].queue_occupancy, 0x11);
	assert_int_equal(md.hops[1].node_id, 2);
	assert_int_equal(md.hops[1].queue_id, 1);
	assert_int_equal(md.hops[1].has, INT_I_NODE | INT_I_QUEUE);
	assert_int_equal(int_md_encode(&md, again, sizeof(again)), sizeof(example));
	assert_memory_equal(again, example, sizeof(example));
}

static void every_known_instruction_comes_back(void **state)
{
	struct int_md md = { .instructions = 0xff81, .hops_left = 1, .original_port = 7, .hop_count = INT_MD_HOPS_MAX };
	struct int_md got;
	uint8_t bytes[INT_MD_SHIM_BYTES + 255 * 4];
	size_t n;

	(void)state;
	assert_int_equal(int_md_hop_words(0xff81), 13);
	for (uint32_t i = 0; i < md.hop_count; i++)
		md.hops[i] = (struct int_md_hop){ .has = 0xff80,
						  .node_id = i + 1,
						  .ingress_interface = 1,
						  .egress_interface = 2,
						  .latency_ns = 3000 + i,
						  .queue_id = 4,
						  .queue_occupancy = 5,
						  .in_ns = 0x1122334455667788 + i,
						  .out_ns = 0x1122334455667799 + i,
						  .ingress_interface2 = 6,
						  .egress_interface2 = 7,
						  .utilisation = 8,
						  .buffer_id = 9,
						  .buffer_occupancy = 10 };
	n = int_md_encode(&md, bytes, sizeof(bytes));
	assert_int_equal(n, 16 + 8 * 52);
	assert_int_equal(decode(bytes, n, &got), INT_MD_OK);
	assert_memory_equal(got.hops, md.hops, sizeof(md.hops));
	assert_int_equal(int_md_encode(&md, bytes, n - 1), 0);
}

/* The example with bytes changed. */
struct change {
	size_t length; /* 0: all of it */
	struct {
		size_t at;
		uint8_t to;
	} bytes[3];
	enum int_md_fault fault;
};

static void what_is_wrong_is_counted_by_reason(void **state)
{
	static const struct change changes[] = {
		{ 3, { { 0, 0x14 } }, INT_MD_CUT },
		{ 15, { { 0, 0x14 } }, INT_MD_CUT },
		{ sizeof(example) - 1, { { 0, 0x14 } }, INT_MD_CUT },
		{ 0, { { 0, 0x34 } }, INT_MD_NO_INT }, /* MX */
		{ 0, { { 0, 0x18 } }, INT_MD_NO_INT }, /* another header follows */
		{ 0, { { 4, 0x10 } }, INT_MD_VERSION_BAD },
		{ 0, { { 1, 2 } }, INT_MD_LENGTH },
		{ 0, { { 1, 6 } }, INT_MD_LENGTH }, /* a hop and a half */
		{ 0, { { 6, 3 } }, INT_MD_HOP_LENGTH },
		{ 0, { { 8, 0x90 }, { 9, 0x40 } }, INT_MD_INSTRUCTIONS }, /* bit 9 */
		{ 0, { { 12, 0x80 } }, INT_MD_INSTRUCTIONS },             /* of a domain */
		{ 0, { { 1, 3 } }, INT_MD_EMPTY },
		{ 0, { { 8, 0 }, { 6, 0 } }, INT_MD_LENGTH }, /* hops of nothing */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *c = &changes[i];
		uint8_t bytes[sizeof(example)];
		struct int_md md;
		enum int_md_fault got;

		memcpy(bytes, example, sizeof(bytes));
		for (size_t b = 0; b < 3; b++)
			if (b == 0 || c->bytes[b].at)
				bytes[c->bytes[b].at] = c->bytes[b].to;
		got = decode(bytes, c->length ? c->length : sizeof(bytes), &md);
		if (got != c->fault)
			fail_msg("change %zu: '%s', not '%s'", i, int_md_fault_name(got), int_md_fault_name(c->fault));
		assert_int_equal(md.hop_count, 0);
	}
}

static void more_hops_than_the_stack_holds(void **state)
{
	uint8_t bytes[16 + 9 * 4] = { 0x14, 12, 0, 0, 0x20, 0, 1, 0, 0x80 };
	struct int_md md;

	(void)state;
	assert_int_equal(decode(bytes, sizeof(bytes), &md), INT_MD_TOO_MANY);
	bytes[1] = 11;
	assert_int_equal(decode(bytes, sizeof(bytes), &md), INT_MD_OK);
	assert_int_equal(md.hop_count, 8);
}

static void stamps_that_are_not_there(void **state)
{
	/* one hop with both stamps: zero, or all ones, is none */
	uint8_t bytes[16 + 16] = { 0x14, 7, 0, 0, 0x20, 0, 4, 0, 0x0c, 0, 0, 0, 0, 0, 0, 0 };
	struct int_md md;

	(void)state;
	bytes[16 + 7] = 5;
	assert_int_equal(decode(bytes, sizeof(bytes), &md), INT_MD_NO_STAMP);
	assert_int_equal(md.hop_count, 1);
	assert_int_equal(md.hops[0].in_ns, 5);
	memset(bytes + 24, 0xff, 8);
	assert_int_equal(decode(bytes, sizeof(bytes), &md), INT_MD_NO_STAMP);
	assert_int_equal(md.hops[0].has, INT_I_IN);
	memset(bytes + 24, 0, 7);
	bytes[24 + 7] = 9;
	assert_int_equal(decode(bytes, sizeof(bytes), &md), INT_MD_OK);
	assert_int_equal(md.hops[0].out_ns, 9);
}

/* --- reports --- */

enum { REPORT_BYTES = 8 + 12 + 4, INNER_BYTES = 28 };

/* Node 3 tells its queue; the packet behind it is the example's, from IPv4 on. */
static size_t make_report(uint8_t *to)
{
	static const uint8_t head[REPORT_BYTES] = {
		0x20, 0x40, 0x00, 0x07, 0,    0, 0, 3, /* version 2, hardware 1, sequence 7, node 3 */
		0x14, 0x00, 0x01, 0x20, 0x10, 0, 0, 0, /* INT, IPv4; one word of metadata; tracked; queue */
		0,    0,    0,    0,    5,    0, 0, 0x33,
	};
	size_t words = (sizeof(head) - 12 + INNER_BYTES + sizeof(example)) / 4;

	memcpy(to, head, sizeof(head));
	to[9] = (uint8_t)words;
	memset(to + sizeof(head), 0, INNER_BYTES);
	to[sizeof(head)] = 0x45;
	to[sizeof(head) + 9] = 17;
	to[sizeof(head) + 22] = INT_MD_PORT >> 8;
	to[sizeof(head) + 23] = INT_MD_PORT & 255;
	memcpy(to + sizeof(head) + INNER_BYTES, example, sizeof(example));
	return sizeof(head) + INNER_BYTES + sizeof(example);
}

static void a_report_has_the_stack_and_the_reporter(void **state)
{
	struct int_report r;
	uint8_t bytes[256];
	size_t n = make_report(bytes);

	(void)state;
	assert_int_equal(int_report_decode(bytes, n, &r, NULL), INT_MD_OK);
	assert_int_equal(r.sequence, 7);
	assert_int_equal(r.hardware_id, 1);
	assert_int_equal(r.node_id, 3);
	assert_true(r.tracked && !r.dropped && !r.congested && !r.intermediate);
	assert_int_equal(r.md.hop_count, 3);
	assert_int_equal(r.own, 1);
	assert_int_equal(r.md.hops[0].node_id, 1);
	assert_int_equal(r.md.hops[2].node_id, 3);
	assert_int_equal(r.md.hops[2].queue_id, 5);
	assert_int_equal(r.inner_offset_bytes, REPORT_BYTES);
	assert_int_equal(r.inner_length_bytes, INNER_BYTES + sizeof(example));

	/* a length of 255 is to the end */
	bytes[9] = 255;
	assert_int_equal(int_report_decode(bytes, n, &r, NULL), INT_MD_OK);
	/* a packet without INT: the reporter alone */
	bytes[REPORT_BYTES + 23] = 1;
	assert_int_equal(int_report_decode(bytes, n, &r, NULL), INT_MD_OK);
	assert_int_equal(r.md.hop_count, 1);
	assert_int_equal(r.md.hops[0].node_id, 3);
}

static void bad_reports_are_counted_by_reason(void **state)
{
	static const struct {
		size_t at;
		uint8_t to;
		int shorter;
		enum int_md_fault fault;
	} changes[] = {
		{ 0, 0x10, 0, INT_MD_VERSION_BAD },
		{ 8, 0x04, 0, INT_MD_REPORT },
		{ 8, 0x13, 0, INT_MD_REPORT },
		{ 9, 200, 0, INT_MD_CUT },
		{ 0, 0x20, 1, INT_MD_CUT },
		{ 10, 60, 0, INT_MD_REPORT },
		{ 10, 2, 0, INT_MD_HOP_LENGTH },
		{ 12, 0x90, 0, INT_MD_INSTRUCTIONS },
		{ 13, 0x02, 0, INT_MD_INSTRUCTIONS },
		{ 17, 1, 0, INT_MD_INSTRUCTIONS },
		{ 9, 5, 0, INT_MD_CUT },
	};
	struct int_md_counts counts = { { 0 } };
	struct int_report r;
	uint8_t bytes[256];
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		enum int_md_fault got;

		n = make_report(bytes);
		bytes[changes[i].at] = changes[i].to;
		got = int_report_decode(bytes, n - (size_t)changes[i].shorter, &r, &counts);
		if (got != changes[i].fault)
			fail_msg("change %zu: '%s', not '%s'", i, int_md_fault_name(got),
				 int_md_fault_name(changes[i].fault));
	}
	n = 0;
	for (unsigned f = 0; f < INT_MD_FAULTS; f++)
		n += counts.by_fault[f];
	assert_int_equal(n, sizeof(changes) / sizeof(changes[0]));
	for (size_t length = 0; length < 20; length++)
		assert_int_equal(int_report_decode(bytes, length, &r, NULL), INT_MD_CUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_specifications_example_is_read),
		cmocka_unit_test(every_known_instruction_comes_back),
		cmocka_unit_test(what_is_wrong_is_counted_by_reason),
		cmocka_unit_test(more_hops_than_the_stack_holds),
		cmocka_unit_test(stamps_that_are_not_there),
		cmocka_unit_test(a_report_has_the_stack_and_the_reporter),
		cmocka_unit_test(bad_reports_are_counted_by_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
