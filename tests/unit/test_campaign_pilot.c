/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "campaign/pilot.h"
#include "fake_plan.h"
#include "scratch.h"

/* A pilot's store with variances that are known, made run by run; what is read back is what went in. */
enum { BLOCKS = 60, RUNS = 2, PROBES = 200 };

#define RESTART_SD 30.0
#define RUN_SD     10.0
#define PROBE_SD   80.0

static void put_run(struct store *s, struct rng *rng, double level, uint32_t number, bool invalid)
{
	struct run_record record = {
		.run = number, .tsc_hz = 1e9, .tsc_tick_ns = 1, .elapsed_ns = 1200000000, .offered_pps = 200
	};
	struct pair pairs[PROBES];
	struct err err = { 0 };

	level += RUN_SD * rng_normal(rng);
	record.ledger.sent = record.ledger.fate[FATE_MATCHED] = PROBES;
	if (invalid)
		strcpy(record.invalid, "because");
	for (uint32_t i = 0; i < PROBES; i++)
		pairs[i] = (struct pair){ .seq = i,
					  .path_ticks = 5000 + llround(level + PROBE_SD * rng_normal(rng)),
					  .bypass_ticks = 5000 };
	assert_int_equal(store_put_run(s, &record, pairs, PROBES, &err), 0);
}

/* `fail_cell`: all of its restarts but one failed. */
static struct store *fill(uint32_t fail_cell)
{
	static const double levels[FAKE_CELLS] = { 3000, 2000, 1000 };
	const struct plan *plan = fake_plan("text", BLOCKS);
	struct err err = { 0 };
	struct store *s;
	struct rng rng;

	rng_init(&rng, 11);
	assert_int_equal(store_open_write(scratch, plan, &s, &err), 0);
	for (uint32_t t = 0; t < plan->turn_count; t++) {
		const struct turn *turn = &plan->turns[t];
		bool fails = turn->cell == fail_cell && turn->block > 0;
		double level = levels[turn->cell] + RESTART_SD * rng_normal(&rng);

		assert_int_equal(store_begin_restart(s, t, &err), 0);
		for (uint32_t j = 0; j < RUNS && !fails; j++)
			put_run(s, &rng, level, j, turn->block == 1 && j == 1);
		assert_int_equal(store_commit_restart(s, NULL, fails ? "it did" : NULL, &err), 0);
	}
	store_close(s);
	assert_int_equal(store_open_read(scratch, &s, &err), 0);
	return s;
}

static void variances_and_costs_come_back_with_the_tares(void **state)
{
	struct store *s = fill(UINT32_MAX);
	struct pilot pilot;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(pilot_read(fake_plan("text", BLOCKS), s, &arena, &pilot, &err), 0);
	store_close(s);
	assert_int_equal(pilot.count, 2);
	assert_int_equal(pilot.probes, PROBES);
	for (uint32_t i = 0; i < pilot.count; i++) {
		const struct effort_cell *c = &pilot.cells[i].effort;
		/* a median of normal values varies pi / 2 times as much as their mean */
		double probe = 1.5 * PROBE_SD * PROBE_SD * M_PI / 2;

		assert_true(pilot.cells[i].good);
		assert_int_equal(pilot.cells[i].restarts, BLOCKS);
		assert_float_equal(c->median, i == 0 ? 2000 : 1000, 20);
		/* its own, and half of the tare's */
		assert_float_equal(c->restart, 1.5 * RESTART_SD * RESTART_SD, 0.4 * 1.5 * RESTART_SD * RESTART_SD);
		assert_float_equal(c->run, 1.5 * RUN_SD * RUN_SD, 0.5 * 1.5 * RUN_SD * RUN_SD);
		assert_float_equal(c->probe, probe, 0.15 * probe);
		/* two tares serve two cells: each has one of its own */
		assert_float_equal(c->probe_s, 2 * 0.005, 1e-9);
		assert_float_equal(c->run_s, 2 * 0.2, 1e-9);
	}
	arena_release(&arena);
}

static void a_cell_that_failed_is_told_and_left_out(void **state)
{
	struct store *s = fill(1);
	struct pilot pilot;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(pilot_read(fake_plan("text", BLOCKS), s, &arena, &pilot, &err), 0);
	store_close(s);
	assert_int_equal(pilot.count, 2);
	assert_true(pilot.cells[0].good);
	assert_false(pilot.cells[1].good);
	assert_int_equal(pilot.cells[1].restarts, 1);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(variances_and_costs_come_back_with_the_tares, make_scratch,
						remove_scratch),
		cmocka_unit_test_setup_teardown(a_cell_that_failed_is_told_and_left_out, make_scratch, remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
