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
#include <unistd.h>

#include <cmocka.h>

#include "campaign/campaign.h"
#include "fake_plan.h"
#include "report/result.h"
#include "scratch.h"

/*
 * Campaigns with a stop: section, run by a measure whose figures are written down: the first cell is steady, the second
 * is not, and the tare drifts a little.
 */
enum { BLOCKS = 12, PROBES = 8, CALLS_MOST = 400 };

static struct {
	uint32_t cell, restart;
	unsigned runs, stop_at_run;
	uint32_t fail_cell, fail_restart; /* does not open */
	struct turn turns[CALLS_MOST];
	unsigned opened;
	bool values; /* runs yield a value, and no probes */
	atomic_bool flag;
} fake;

static int64_t figure_of(uint32_t cell, uint32_t restart)
{
	static const int64_t wide[] = { 300, 380, 310, 390, 305, 395, 302, 388, 312, 386, 309, 392 };

	return cell == 0 ? 189 + restart % 3 : cell == 1 ? wide[restart % 12] : 40 + restart % 2;
}

static int fake_begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	(void)setup;
	(void)store;
	(void)err;
	*ret = (struct measuring *)&fake;
	return 0;
}

static int fake_open(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	(void)m;
	(void)seed;
	fake.cell = turn->cell;
	fake.restart = turn->restart;
	assert_true(fake.opened < CALLS_MOST);
	fake.turns[fake.opened++] = *turn;
	if (turn->cell == fake.fail_cell && turn->restart == fake.fail_restart)
		return err_set(err, ERR_HOST, EIO, "did not open");
	return 0;
}

static int fake_run(struct measuring *m, uint32_t run, const char **ret_invalid, struct err *err)
{
	(void)m;
	(void)run;
	(void)ret_invalid;
	if (++fake.runs != fake.stop_at_run)
		return 0;
	atomic_store(&fake.flag, true);
	return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
}

static int fake_put(struct measuring *m, struct store *store, struct err *err)
{
	static uint32_t run;
	struct run_record record = { .run = run++ % 2, .tsc_hz = 1e9, .tsc_tick_ns = 1, .tsc_hz_u_ppm = 1 };
	const struct run_value values[] = { { "other", "ms", 1 },
					    { "batch_wall", "ms", (double)figure_of(fake.cell, fake.restart) } };
	struct pair pairs[PROBES];
	int r;

	(void)m;
	if (fake.values) {
		r = store_put_run(store, &record, NULL, 0, err);
		return r < 0 ? r : store_put_values(store, values, 2, err);
	}
	record.ledger.sent = record.ledger.fate[FATE_MATCHED] = PROBES;
	for (uint32_t i = 0; i < PROBES; i++)
		pairs[i] = (struct pair){ .seq = i,
					  .path_ticks = 1000 + figure_of(fake.cell, fake.restart),
					  .bypass_ticks = 1000 };
	return store_put_run(store, &record, pairs, PROBES, err);
}

static const char *fake_facts(struct measuring *m)
{
	(void)m;
	return NULL;
}

static void fake_close(struct measuring *m)
{
	(void)m;
}

static const struct measure_ops ops = {
	.measure = MEASURE_DIFFERENTIAL,
	.begin = fake_begin,
	.open = fake_open,
	.run = fake_run,
	.put = fake_put,
	.facts = fake_facts,
	.close = fake_close,
	.end = fake_close,
};

static struct plan *stopping_plan(void)
{
	struct plan *plan = fake_plan("text", BLOCKS);

	plan->stop = (struct plan_stop){ .on = true, .width_ppm = 50000, .least = 6, .most = BLOCKS };
	if (fake.values) {
		plan->measure = MEASURE_CONTROL;
		plan->stop.of = "batch_wall";
	}
	return plan;
}

static int setup(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.fail_cell = UINT32_MAX;
	return make_scratch(state);
}

static struct campaign_progress seen;

static void watch(void *context, const struct campaign_progress *p)
{
	(void)context;
	seen = *p;
	assert_true(p->counts.done + p->counts.failed <= p->counts.turns);
}

static int run_once(bool retry, struct campaign_counts *counts, struct err *err)
{
	struct campaign_options o = {
		.ops = &ops, .interrupted = &fake.flag, .progress = watch, .retry_failed = retry
	};
	struct store *s = NULL;
	int r;

	if (store_open_write(scratch, stopping_plan(), &s, err) != 0)
		fail_msg("%s", err->message);
	r = campaign_run(stopping_plan(), s, &o, counts, err);
	store_close(s);
	return r;
}

static void read_back(struct arena *arena, struct stored_campaign *ret, uint32_t restarts[FAKE_CELLS])
{
	struct stored_restart *list;
	struct err err = { 0 };
	struct store *s;
	uint32_t count;

	arena_init(arena, 0);
	assert_int_equal(store_open_read(scratch, &s, &err), 0);
	assert_int_equal(store_read_campaign(s, arena, ret, &err), 0);
	assert_int_equal(store_read_restarts(s, arena, &list, &count, &err), 0);
	memset(restarts, 0, FAKE_CELLS * sizeof(*restarts));
	for (uint32_t i = 0; i < count; i++)
		restarts[list[i].cell] += !list[i].failure;
	store_close(s);
}

static void check_end(void)
{
	uint32_t restarts[FAKE_CELLS];
	struct stored_campaign c;
	struct arena arena;

	read_back(&arena, &c, restarts);
	assert_int_equal(restarts[0], 7);
	assert_int_equal(restarts[1], BLOCKS);
	assert_int_equal(restarts[2], 2 * BLOCKS); /* as long as one cell needs it */
	assert_int_equal(c.turns_passed, BLOCKS - 7);
	assert_int_equal(c.turns_done + c.turns_passed, c.turn_count);
	assert_int_equal(c.stop_count, 2);
	assert_string_equal(c.stops[0].reason, "width");
	assert_int_equal(c.stops[0].block, 6);
	assert_int_equal(c.stops[0].restarts, 7);
	assert_true(c.stops[0].width <= 0.05);
	assert_string_equal(c.stops[1].reason, "most");
	assert_true(c.stops[1].width > 0.05);
	arena_release(&arena);
}

static void steady_cells_leave_and_the_others_go_on(void **state)
{
	struct campaign_counts counts;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(run_once(false, &counts, &err), 0);
	assert_int_equal(counts.done, 7 + BLOCKS + 2 * BLOCKS);
	assert_int_equal(counts.turns, counts.done);
	assert_int_equal(counts.cells, 2);
	assert_int_equal(counts.cells_stopped, 2);
	for (unsigned i = 0; i < fake.opened; i++)
		assert_true(fake.turns[i].cell != 0 || fake.turns[i].block < 7);
	check_end();
	fake.opened = 0;
	assert_int_equal(run_once(false, &counts, &err), 0);
	assert_int_equal(fake.opened, 0); /* it is over */
	assert_int_equal(counts.turns, counts.done);
}

/* Stopped anywhere, and gone on with: the same turns, each once. */
static void the_same_decisions_after_an_interruption(void **state)
{
	struct campaign_counts counts;
	struct turn whole[CALLS_MOST];
	struct err err = { 0 };
	unsigned turns, runs;

	assert_int_equal(run_once(false, &counts, &err), 0);
	turns = fake.opened;
	runs = fake.runs;
	memcpy(whole, fake.turns, sizeof(whole));
	assert_int_equal(runs, 2 * turns);
	for (unsigned at = 1; at <= runs; at += 5) {
		unsigned done;

		remove_scratch(state);
		setup(state);
		fake.stop_at_run = at;
		assert_int_equal(run_once(false, &counts, &err), -EINTR);
		done = counts.done;
		assert_int_equal(done, (at - 1) / 2);
		fake.opened = 0;
		atomic_store(&fake.flag, false);
		assert_int_equal(run_once(false, &counts, &err), 0);
		assert_int_equal(done + fake.opened, turns);
		assert_memory_equal(fake.turns, whole + done, fake.opened * sizeof(*whole));
		check_end();
	}
}

/* A failed restart has no figure, so its cell takes one more block; what is retried later changes no decision. */
static void a_failed_restart_does_not_count(void **state)
{
	uint32_t restarts[FAKE_CELLS];
	struct campaign_counts counts;
	struct stored_campaign c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	fake.fail_cell = 0;
	fake.fail_restart = 3;
	assert_int_equal(run_once(false, &counts, &err), 0);
	assert_int_equal(counts.failed, 1);
	read_back(&arena, &c, restarts);
	assert_int_equal(c.stops[0].block, 7);
	assert_int_equal(c.stops[0].restarts, 7);
	arena_release(&arena);
	fake.fail_cell = UINT32_MAX;
	fake.opened = 0;
	assert_int_equal(run_once(true, &counts, &err), 0);
	assert_int_equal(fake.opened, 1);
	read_back(&arena, &c, restarts);
	assert_int_equal(restarts[0], 8);
	assert_int_equal(c.stops[0].block, 7);
	arena_release(&arena);
}

/* The same figures as values of runs, of which the plan names the one that decides. */
static void a_value_decides_where_runs_have_no_probes(void **state)
{
	struct campaign_counts counts;
	struct err err = { 0 };

	(void)state;
	fake.values = true;
	assert_int_equal(run_once(false, &counts, &err), 0);
	assert_int_equal(counts.done, 7 + BLOCKS + 2 * BLOCKS);
	check_end();
}

/* What decided is what is printed: the report's interval from the same store, from samples to the end. */
static void the_width_is_that_of_the_report(void **state)
{
	struct campaign_counts counts;
	struct result *result;
	struct err err = { 0 };
	struct store *s;

	(void)state;
	assert_int_equal(run_once(false, &counts, &err), 0);
	assert_int_equal(store_open_read(scratch, &s, &err), 0);
	assert_int_equal(result_build(s, &result, &err), 0);
	store_close(s);
	assert_int_equal(result->turns, counts.turns);
	assert_int_equal(result->turns_passed, BLOCKS - 7);
	assert_int_equal(result->cells[0].restarts_planned, 7);
	assert_string_equal(result->cells[0].stop, "width");
	assert_string_equal(result->cells[1].stop, "most");
	for (int i = 0; i < 2; i++) {
		const struct cell_result *c = &result->cells[i];

		assert_int_equal(c->restarts_valid, c->stop_restarts);
		assert_float_equal(100 * (c->net_order.high - c->net_order.low) / c->net_ns, c->stop_width, 1e-9);
		/* and it is what is printed, with the Type B terms or wider */
		assert_true(c->net_interval.low <= c->net_order.low && c->net_interval.high >= c->net_order.high);
		assert_float_equal(c->gross_interval.high, c->gross_order.high, 0);
	}
	result_destroy(result);
}

/* After the first blocks the time that is left is that of the cells that are not done. */
static void what_is_left_is_estimated_from_the_widths(void **state)
{
	struct campaign_counts counts;
	struct err err = { 0 };

	(void)state;
	fake.stop_at_run = 2 * 4 * 8 + 1; /* eight blocks of four restarts are done, less the steady cell's last */
	assert_int_equal(run_once(false, &counts, &err), -EINTR);
	assert_int_equal(counts.cells_stopped, 1);
	assert_int_equal(counts.turns, 7 + BLOCKS + 2 * BLOCKS);
	assert_true(counts.expected <= counts.turns);
	assert_true(counts.expected > counts.done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(steady_cells_leave_and_the_others_go_on, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(the_same_decisions_after_an_interruption, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(a_failed_restart_does_not_count, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(a_value_decides_where_runs_have_no_probes, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(the_width_is_that_of_the_report, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(what_is_left_is_estimated_from_the_widths, setup, remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
