/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store_bed.h"
#include "store/trial.h"

/* Searches and trials in the store: what comes back is what was put, and damage is told. */

static const struct search_record search = {
	.goal = { .probe_loss = 0.05,
		  .carrier_loss = 0.005,
		  .initial_ns = 500000000,
		  .final_ns = 5000000000,
		  .sum_ns = 15000000000,
		  .exceed = 0.5,
		  .width = 0.02 },
	.least_bps = 1000000,
	.most_bps = 1000000000,
	.result = { .lower_bps = 73400123,
		    .upper_bps = 0,
		    .conditional_bps = 73300001.5,
		    .width = NAN,
		    .irregular = RATESEARCH_NO_UPPER | RATESEARCH_UNSTEADY,
		    .trials = 2,
		    .length_ns = 5500000000 },
};

static const struct trial trials[] = {
	{ .started_utc_ns = 1700000000000000000,
	  .rate_bps = 1000000000,
	  .duration_ns = 500000000,
	  .probes_sent = 100,
	  .probes_arrived = 40,
	  .carrier_due = 50000,
	  .carrier_sent = 49000,
	  .carrier_refused = 10,
	  .carrier_received = 20000,
	  .offered_bps = 980e6,
	  .received_bps = 400e6,
	  .hole_ns = 12345678,
	  .p50_us = INFINITY,
	  .p99_us = NAN,
	  .sender_short = 1,
	  .tries = 3,
	  .high = 1 },
	{ .rate_bps = 73400123,
	  .duration_ns = 5000000000,
	  .probes_sent = 1000,
	  .probes_arrived = 1000,
	  .carrier_due = 30000,
	  .carrier_sent = 30000,
	  .carrier_received = 29990,
	  .p50_us = 38.25,
	  .p99_us = 90,
	  .tries = 1 },
};

static void put(void)
{
	struct store *store = begin_run(0);
	struct err err = { 0 };

	assert_int_equal(store_put_search(store, &search, trials, 2, &err), 0);
	assert_int_equal(store_put_run(store, &(struct run_record){ .run = 1 }, NULL, 0, &err), 0);
	end_restart(store);
}

static int read_back(uint32_t run, struct arena *arena, struct search_record *ret, struct trial **ret_trials,
		     uint32_t *ret_count, bool *ret_found, struct err *err)
{
	struct stored_restart *restarts;
	struct store *store = open_restart(arena, &restarts);
	int r;

	r = store_read_search(store, &restarts[0].runs[run], arena, ret, ret_trials, ret_count, ret_found, err);
	store_close(store);
	return r;
}

/* Numbers are the same, or both are none. */
static void same(double a, double b)
{
	assert_true(a == b || (isnan(a) && isnan(b)));
}

static void what_is_put_comes_back(void **state)
{
	struct search_record got;
	struct trial *t;
	struct err err = { 0 };
	struct arena arena;
	uint32_t count;
	bool found;

	(void)state;
	put();
	arena_init(&arena, 0);
	assert_int_equal(read_back(0, &arena, &got, &t, &count, &found, &err), 0);
	assert_true(found);
	assert_memory_equal(&got.goal, &search.goal, sizeof(got.goal));
	assert_int_equal(got.least_bps, search.least_bps);
	assert_int_equal(got.most_bps, search.most_bps);
	assert_int_equal(got.result.lower_bps, search.result.lower_bps);
	assert_int_equal(got.result.upper_bps, 0);
	same(got.result.conditional_bps, search.result.conditional_bps);
	same(got.result.width, NAN);
	assert_int_equal(got.result.irregular, search.result.irregular);
	assert_int_equal(count, 2);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(t[i].started_utc_ns, trials[i].started_utc_ns);
		assert_int_equal(t[i].rate_bps, trials[i].rate_bps);
		assert_int_equal(t[i].duration_ns, trials[i].duration_ns);
		assert_int_equal(t[i].probes_arrived, trials[i].probes_arrived);
		assert_int_equal(t[i].hole_ns, trials[i].hole_ns);
		assert_int_equal(t[i].tries, trials[i].tries);
		assert_int_equal(t[i].high, trials[i].high);
		same(t[i].p50_us, trials[i].p50_us);
		same(t[i].p99_us, trials[i].p99_us);
		same(trial_carrier_loss(&t[i]), trial_carrier_loss(&trials[i]));
	}
	/* a run without one */
	assert_int_equal(read_back(1, &arena, &got, &t, &count, &found, &err), 0);
	assert_false(found);
	assert_int_equal(count, 0);
	arena_release(&arena);
}

static void loss_is_of_what_was_asked_for_where_the_sender_fell_behind(void **state)
{
	(void)state;
	same(trial_carrier_loss(&trials[0]), 0.6);
	assert_true(fabs(trial_carrier_loss(&trials[1]) - 10.0 / 30000) < 1e-12);
	same(trial_probe_loss(&trials[0]), 0.6);
	/* more than was sent came: something multiplies, and nothing is lost */
	same(trial_carrier_loss(&(struct trial){ .carrier_due = 10, .carrier_sent = 10, .carrier_received = 11 }), 0);
}

/* The view says what the functions say. */
static void the_view_has_the_same_losses(void **state)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	(void)state;
	put();
	assert_int_equal(sqlite3_open(in_scratch("tare.db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT probe_loss_pct, carrier_loss_pct, rate_mbps FROM trial_loss"
					    " WHERE run_id = 1 ORDER BY seq",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_true(fabs(sqlite3_column_double(stmt, 0) - 100 * trial_probe_loss(&trials[i])) < 1e-9);
		assert_true(fabs(sqlite3_column_double(stmt, 1) - 100 * trial_carrier_loss(&trials[i])) < 1e-9);
		assert_true(sqlite3_column_double(stmt, 2) == (double)trials[i].rate_bps / 1e6);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static void damage_is_told(void **state)
{
	static const char *const damages[] = {
		"DELETE FROM trial WHERE seq = 1",
		"UPDATE search SET trials = 4000000000",
		"UPDATE search SET upper_bps = -5",
		"UPDATE trial SET rate_bps = 0 WHERE seq = 1",
		"UPDATE trial SET probes_arrived = 5000 WHERE seq = 1",
		"DROP VIEW trial_loss; DROP TABLE trial",
	};
	struct search_record got;
	struct trial *t;
	struct arena arena;
	uint32_t count;
	bool found;

	arena_init(&arena, 0);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct err err = { 0 };

		put();
		change_store(scratch, damages[i]);
		assert_int_equal(read_back(0, &arena, &got, &t, &count, &found, &err), -EBADMSG);
		assert_non_null(strstr(err.message, "damaged"));
		assert_int_equal(remove_scratch(state), 0);
		assert_int_equal(make_scratch(state), 0);
	}
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_put_comes_back, make_scratch, remove_scratch),
		cmocka_unit_test(loss_is_of_what_was_asked_for_where_the_sender_fell_behind),
		cmocka_unit_test_setup_teardown(the_view_has_the_same_losses, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(damage_is_told, make_scratch, remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
