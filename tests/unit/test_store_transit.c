/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store_bed.h"
#include "store_older.h"

/* Runs of transit plans in the store: what comes back is what was put, and stores of schema 1 go on. */

static const struct transit rows[] = {
	{ .seq = 0,
	  .packet = 0,
	  .fate = FATE_MATCHED,
	  .sched_ns = 0,
	  .tx_ns = 900,
	  .sw_in_ns = 1500,
	  .sw_out_ns = 99000,
	  .rx_ns = 99300,
	  .p4_in_us = 7000001,
	  .p4_out_us = 7000051 },
	{ .seq = 1,
	  .packet = 1,
	  .fate = FATE_LOST,
	  .sched_ns = 60000000,
	  .tx_ns = 60000100,
	  .sw_in_ns = 60000700,
	  .sw_out_ns = TRANSIT_NONE,
	  .rx_ns = TRANSIT_NONE,
	  .p4_in_us = TRANSIT_NONE,
	  .p4_out_us = TRANSIT_NONE },
	{ .seq = 2,
	  .packet = 2,
	  .fate = FATE_MATCHED,
	  .flags = TRANSIT_SET_APART,
	  .sched_ns = 120000000,
	  .tx_ns = 120000000,
	  .sw_in_ns = 120000000,
	  .sw_out_ns = TRANSIT_NONE,
	  .rx_ns = 120000000,
	  .p4_in_us = -5,
	  .p4_out_us = -1000005 },
};
enum { ROWS = 3 };

static const struct transit_conditions conditions = {
	.regime = "warm",
	.frame_bytes = 256,
	.interval_ns = 60000000,
	.carrier_asked_bps = 25000000,
	.carrier_frame_bytes = 1500,
	.carrier_sent = 2078,
	.carrier_received = 2077,
	.carrier_offered_bps = 25.0e6,
	.carrier_received_bps = 24.9e6,
	.sw_in_missing = 1,
	.sw_out_missing = 2,
	.drift_ppm = 0,
	.segments = 2,
	.align_width_ns = 15400,
	.align_low_ns = NAN,
	.align_high_ns = -3.5,
};

static void put_one(void)
{
	const struct run_record record = { .ledger = { .sent = ROWS, .fate = { 2, 1 }, .set_apart = 1 } };
	struct store *store = begin_restart(0);
	struct err err = { 0 };

	if (store_put_transit_run(store, &record, &conditions, rows, ROWS, &err) < 0)
		fail_msg("%s", err.message);
	end_restart(store);
}

static void what_is_put_comes_back(void **state)
{
	struct transit_conditions back;
	struct stored_restart *restarts;
	struct transit got[ROWS];
	struct err err = { 0 };
	struct store *store;
	struct arena arena;

	(void)state;
	put_one();
	arena_init(&arena, 0);
	store = open_restart(&arena, &restarts);
	assert_int_equal(store_read_transits(store, &restarts[0].runs[0], got, ROWS, &err), ROWS);
	for (int i = 0; i < ROWS; i++) {
		assert_int_equal(got[i].seq, rows[i].seq);
		assert_int_equal(got[i].fate, rows[i].fate);
		assert_int_equal(got[i].flags, rows[i].flags);
		assert_int_equal(got[i].sched_ns, rows[i].sched_ns);
		assert_int_equal(got[i].tx_ns, rows[i].tx_ns);
		assert_int_equal(got[i].sw_in_ns, rows[i].sw_in_ns);
		assert_int_equal(got[i].sw_out_ns, rows[i].sw_out_ns);
		assert_int_equal(got[i].rx_ns, rows[i].rx_ns);
		assert_int_equal(got[i].p4_in_us, rows[i].p4_in_us);
		assert_int_equal(got[i].p4_out_us, rows[i].p4_out_us);
	}
	assert_int_equal(store_read_conditions(store, &restarts[0].runs[0], &back, &err), 0);
	assert_string_equal(back.regime, "warm");
	assert_true(back.carrier_sent == 2078 && back.carrier_received == 2077 && back.segments == 2);
	assert_true(back.align_width_ns == 15400 && isnan(back.align_low_ns) && back.align_high_ns == -3.5);
	store_close(store);
	arena_release(&arena);
}

static void a_store_of_schema_1_goes_on(void **state)
{
	struct err err = { 0 };
	struct store *store;

	(void)state;
	assert_int_equal(store_open_write(scratch, fake_plan("a", 1), &store, &err), 0);
	store_close(store);
	change_store(scratch, STORE_WITHOUT_2);
	/* read as it is */
	assert_int_equal(store_open_read(scratch, &store, &err), 0);
	store_close(store);
	/* and brought up to date by who writes */
	what_is_put_comes_back(state);
}

static void samples_that_contradict_themselves_are_damage(void **state)
{
	struct stored_restart *restarts;
	struct transit got[ROWS];
	struct err err = { 0 };
	struct store *store;
	struct arena arena;

	(void)state;
	put_one();
	change_store(scratch, "UPDATE transit SET rx = NULL WHERE seq = 0");
	arena_init(&arena, 0);
	store = open_restart(&arena, &restarts);
	assert_true(store_read_transits(store, &restarts[0].runs[0], got, ROWS, &err) < 0);
	assert_non_null(strstr(err.message, "contradicts its fate"));
	store_close(store);
	/* and times that no clock has */
	change_store(scratch, "UPDATE transit SET rx = 5, p4_in = 9223372036854775807 WHERE seq = 0");
	err.message[0] = '\0';
	assert_int_equal(store_open_read(scratch, &store, &err), 0);
	assert_int_equal(store_read_transits(store, &restarts[0].runs[0], got, ROWS, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "damaged"));
	store_close(store);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_put_comes_back, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(a_store_of_schema_1_goes_on, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(samples_that_contradict_themselves_are_damage, make_scratch,
						remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
