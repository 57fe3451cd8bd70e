/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/control_entries.h"

/* Entries from their index and back, over every kind of key. */

#define TABLE(id, name, size, keys)                                                                                    \
	"tables { preamble { id: " id " name: \"I." name "\" alias: \"" name "\" } " keys                              \
	" action_refs { id: 16777217 } action_refs { id: 16777218 } size: " size " }\n"

static const char info_text[] = TABLE("33554433", "routes", "1000",
				      "match_fields { id: 1 name: \"dst\" bitwidth: 32 match_type: LPM }") //
	TABLE("33554434", "macs", "900", "match_fields { id: 1 name: \"mac\" bitwidth: 48 match_type: EXACT }") TABLE(
		"33554435", "acl", "800",
		"match_fields { id: 1 name: \"src\" bitwidth: 32 match_type: TERNARY } match_fields { id: 2 name: "
		"\"port\" bitwidth: 9 match_type: TERNARY } match_fields { id: 3 name: \"sport\" bitwidth: 16 "
		"match_type: RANGE } match_fields { id: 4 name: \"x\" bitwidth: 128 match_type: OPTIONAL }")
		TABLE("33554436", "wide", "700",
		      "match_fields { id: 1 name: \"v6\" bitwidth: 127 match_type: TERNARY } match_fields { id: 2 "
		      "name: \"vrf\" bitwidth: 10 match_type: EXACT }") TABLE("33554437", "narrow", "10",
									      "match_fields { id: 1 name: \"n\" "
									      "bitwidth: 8 match_type: EXACT }")
			TABLE("33554438", "ranges", "10",
			      "match_fields { id: 1 name: \"r\" bitwidth: 16 match_type: RANGE }") "actions { preamble "
												   "{ id: 16777217 "
												   "name: \"I.drop\" "
												   "alias: \"drop\" } "
												   "}\n"
												   "actions { preamble "
												   "{ id: 16777218 "
												   "name: \"I.hop\" "
												   "alias: \"hop\" } "
												   "params { id: 1 "
												   "name: \"mac\" "
												   "bitwidth: 48 } "
												   "params { id: 2 "
												   "name: \"port\" "
												   "bitwidth: 9 } }\n";

static struct p4info *info;

static int setup(void **state)
{
	struct err err;

	(void)state;
	if (p4info_parse(info_text, sizeof(info_text) - 1, "info", &info, &err) < 0)
		fail_msg("%s", err.message);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	p4info_destroy(info);
	return 0;
}

enum { COUNT = 3000 };

static void entries_are_good_and_come_back(void **state)
{
	static const char *const tables[] = { "routes", "macs", "acl", "wide" };

	(void)state;
	for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++) {
		struct control_entry e, other;
		struct control_table t;
		struct err err = { 0 };

		if (control_table_init(info, tables[k], NULL, 2, COUNT, 7 + k, &t, &err) < 0)
			fail_msg("%s", err.message);
		for (uint32_t i = 0; i < COUNT; i++) {
			uint32_t index = UINT32_MAX;

			control_entry_make(&t, 3, i, 0, &e);
			if (p4rt_entry_check(&e.entry, P4RT_INSERT, &err) < 0)
				fail_msg("%s %u: %s", tables[k], i, err.message);
			assert_true(control_entry_index(&t, &e.entry, &index));
			assert_int_equal(index, i);
			/* the same again, another one for another switch, and for a modify: with the same key */
			control_entry_make(&t, 3, i, 0, &other);
			assert_true(p4rt_entry_equal(&e.entry, &other.entry));
			control_entry_make(&t, 4, i, 0, &other);
			assert_true(p4rt_entry_same_key(&e.entry, &other.entry));
			assert_false(p4rt_entry_equal(&e.entry, &other.entry));
			control_entry_make(&t, 3, i, 1, &other);
			assert_true(p4rt_entry_same_key(&e.entry, &other.entry));
			assert_false(p4rt_entry_equal(&e.entry, &other.entry));
		}
	}
}

static void seeds_differ(void **state)
{
	struct control_table a, b;
	unsigned same = 0;

	(void)state;
	assert_int_equal(control_table_init(info, "routes", NULL, 2, COUNT, 1, &a, NULL), 0);
	assert_int_equal(control_table_init(info, "routes", NULL, 2, COUNT, 2, &b, NULL), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		same += control_entry_key(&a, i) == control_entry_key(&b, i);
		assert_int_equal(control_entry_key(&a, i) >> 24, 10);
	}
	assert_true(same < 10);
}

static void strangers_have_no_index(void **state)
{
	struct control_table routes, macs;
	struct control_entry e;
	uint32_t index;
	uint8_t key[8];

	(void)state;
	assert_int_equal(control_table_init(info, "routes", NULL, 2, COUNT, 1, &routes, NULL), 0);
	assert_int_equal(control_table_init(info, "macs", NULL, 2, COUNT, 1, &macs, NULL), 0);
	control_entry_make(&macs, 0, 5, 0, &e);
	assert_false(control_entry_index(&routes, &e.entry, &index));
	control_entry_make(&routes, 0, 5, 0, &e);
	e.match[0].value = p4rt_number(0x0b000001, key); /* above the keys that are ours */
	assert_false(control_entry_index(&routes, &e.entry, &index));
}

static void defaults_and_what_forwards(void **state)
{
	struct control_table t;
	uint32_t bits;

	(void)state;
	assert_int_equal(control_table_init(info, NULL, NULL, 2, COUNT, 1, &t, NULL), 0);
	assert_string_equal(t.table->is.alias, "routes");   /* the largest */
	assert_string_equal(t.actions[0]->is.alias, "hop"); /* the first with parameters */
	assert_true(control_table_forwards(&t, &bits));
	assert_int_equal(bits, 32);
	assert_int_equal(control_table_init(info, "macs", NULL, 2, COUNT, 1, &t, NULL), 0);
	assert_true(control_table_forwards(&t, &bits));
	assert_int_equal(bits, 48);
	/* a drop shows nothing; nor does one key of several */
	assert_int_equal(control_table_init(info, "routes", "drop", 2, COUNT, 1, &t, NULL), 0);
	assert_false(control_table_forwards(&t, &bits));
	assert_string_equal(t.actions[1]->is.alias, "hop"); /* without parameters a modify takes another action */
	assert_int_equal(control_table_init(info, "acl", NULL, 2, COUNT, 1, &t, NULL), 0);
	assert_false(control_table_forwards(&t, &bits));
}

static void what_does_not_fit_is_named(void **state)
{
	static const struct {
		const char *table, *action, *message;
		uint32_t count;
	} cases[] = {
		{ "rutes", NULL, "table: unknown table 'rutes'", 10 },
		{ "routes", "hup", "action: unknown action 'hup' of routes", 10 },
		{ "narrow", NULL, "count: 257 entries, but key n of table narrow has 8 bits; at most 256 differ", 257 },
		{ "ranges", NULL, "table ranges has no exact, lpm, ternary or optional key of a number of bits", 10 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct control_table t;
		struct err err = { 0 };

		assert_true(control_table_init(info, cases[i].table, cases[i].action, 2, cases[i].count, 1, &t, &err) <
			    0);
		if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("'%s', not '%s'", err.message, cases[i].message);
		assert_int_equal(err.kind, ERR_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_good_and_come_back), cmocka_unit_test(seeds_differ),
		cmocka_unit_test(strangers_have_no_index),        cmocka_unit_test(defaults_and_what_forwards),
		cmocka_unit_test(what_does_not_fit_is_named),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
