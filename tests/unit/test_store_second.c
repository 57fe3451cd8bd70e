/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/second_match.h"
#include "store_bed.h"

/* The second clock in the store, and the matching of its copies. */

enum { PROBES = 5 };

static void put(void)
{
	const struct second_pair rows[] = { { 0, 405, 0 }, { 2, -134, 4000000 }, { 4, 12, SECOND_NONE } };
	struct second_record clock = { .clock = "adapter_unsynced", .source = "eth2", .frames = 8, .pairs = 3 };
	struct run_record record = { .ledger = { .sent = PROBES } };
	struct pair pairs[PROBES] = { 0 };
	struct store *store = begin_restart(0);
	struct err err;

	clock.path_missing = clock.bypass_missing = 1;
	clock.resolution_ns = 6.4;
	for (uint32_t i = 0; i < PROBES; i++)
		pairs[i].seq = i;
	assert_int_equal(store_put_run(store, &record, pairs, PROBES, &err), 0);
	assert_int_equal(store_put_second(store, &clock, rows, &err), 0);
	record.run = 1;
	assert_int_equal(store_put_run(store, &record, pairs, PROBES, &err), 0);
	end_restart(store);
}

/* 1 and its rows, 0, or an error. */
static int read_back(uint32_t run, struct second_record *clock, struct second_pair *rows, struct err *err)
{
	struct stored_restart *restarts;
	struct arena arena;
	struct store *store;
	int64_t r;

	arena_init(&arena, 0);
	store = open_restart(&arena, &restarts);
	r = store_read_second_clock(store, &restarts[0].runs[run], clock, err);
	if (r == 1)
		r = store_read_second(store, &restarts[0].runs[run], clock, rows, PROBES, err);
	store_close(store);
	arena_release(&arena);
	return (int)r;
}

static void comes_back(void **state)
{
	struct second_pair rows[PROBES];
	struct second_record clock;
	struct err err;

	(void)state;
	put();
	assert_int_equal(read_back(0, &clock, rows, &err), 3);
	assert_string_equal(clock.clock, "adapter_unsynced");
	assert_string_equal(clock.source, "eth2");
	assert_true(clock.resolution_ns == 6.4 && clock.frames == 8 && clock.path_missing == 1);
	assert_true(rows[1].seq == 2 && rows[1].difference_ns == -134 && rows[1].at_ns == 4000000);
	assert_true(rows[2].at_ns == SECOND_NONE);
	assert_int_equal(read_back(1, &clock, rows, &err), 0);
}

static void damage_is_told(void **state)
{
	static const struct {
		const char *sql, *says;
	} bad[] = {
		{ "UPDATE run_second SET pairs = 2", "not as many rows as it says" },
		{ "UPDATE run_second SET pairs = 4", "not as many rows as it says" },
		{ "UPDATE run_second SET pairs = 6", "more probes than were sent" },
		{ "UPDATE run_second SET pairs = 3; UPDATE second SET seq = 9 WHERE seq = 4", "cannot be" },
		{ "UPDATE second SET seq = 4 WHERE seq = 9; UPDATE second SET difference_ns = 1 << 61 WHERE seq = 0",
		  "cannot be" },
	};
	struct second_pair rows[PROBES];
	struct second_record clock;
	struct err err;

	(void)state;
	put();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		change_store(scratch, bad[i].sql);
		assert_int_equal(read_back(0, &clock, rows, &err), -EBADMSG);
		if (!strstr(err.message, bad[i].says))
			fail_msg("'%s' does not say '%s'", err.message, bad[i].says);
	}
}

static void copies_are_matched(void **state)
{
	struct second_pair rows[4];
	struct second_match m;

	(void)state;
	assert_int_equal(second_match_init(&m, 4, NULL), 0);
	second_match_take(&m, 0, SECOND_BYPASS, 1000);
	second_match_take(&m, 0, SECOND_PATH, 1405);
	second_match_take(&m, 0, SECOND_PATH, 1406); /* again */
	second_match_take(&m, 1, SECOND_PATH, 3000);
	second_match_take(&m, 2, SECOND_BYPASS, 5000);
	second_match_take(&m, SECOND_UNREADABLE, SECOND_PATH, 6000);
	second_match_take(&m, SECOND_FOREIGN, SECOND_PATH, 7000);
	assert_int_equal(second_match_finish(&m, rows), 1);
	assert_true(rows[0].seq == 0 && rows[0].difference_ns == 405 && rows[0].at_ns == 0);
	assert_int_equal(m.clock.frames, 7);
	assert_int_equal(m.clock.pairs, 1);
	assert_int_equal(m.clock.duplicates, 1);
	assert_int_equal(m.clock.bypass_missing, 1);
	assert_int_equal(m.clock.path_missing, 1);
	assert_int_equal(m.clock.neither, 1);
	assert_int_equal(m.clock.unreadable, 1);
	assert_int_equal(m.clock.foreign, 1);
	second_match_release(&m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_scratch, remove_scratch)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(comes_back),
		TEST(damage_is_told),
		cmocka_unit_test(copies_are_matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
