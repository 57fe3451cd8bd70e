/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "own_host.h"
#include "plan_bed.h"
#include "store/trial.h"

/* Calibrate plans on tare-switch, whose capacity is known: from the plan's text to the bounds in the store. */

struct outcome {
	struct plan_bed bed;
	struct search_record search;
	struct trial *trials;
	uint32_t count;
	bool found;
};

static void calibrate(const char *args, const char *probes, struct outcome *ret)
{
	const struct stored_restart *restart;
	struct err err = { 0 };
	char text[1024];

	memset(ret, 0, sizeof(*ret));
	snprintf(text, sizeof(text),
		 "name: t\nmeasure: calibrate\nseed: 3\nrestarts: 1\nruns: 1\nwarmup: 50ms\n"
		 "target: { kind: bmv2, switch: %s, start_limit: 30s, args: \"%s\" }\n"
		 "matrix: { program: [l3_lpm] }\nprobes: { rest: 20ms, deadline: 300ms, %s }\n",
		 getenv("TARE_SWITCH"), args, probes);
	plan_bed_measure(text, &ret->bed);
	assert_int_equal(ret->bed.restart_count, 1);
	restart = &ret->bed.restarts[0];
	if (restart->run_count && store_read_search(ret->bed.store, &restart->runs[0], &ret->bed.arena, &ret->search,
						    &ret->trials, &ret->count, &ret->found, &err) < 0)
		fail_msg("%s", err.message);
}

/* What each trial says of itself hangs together. */
static void account(const struct outcome *o)
{
	assert_int_equal(o->count, o->search.result.trials);
	for (uint32_t i = 0; i < o->count; i++) {
		const struct trial *t = &o->trials[i];
		struct rate_trial loss = trial_outcome(t);

		assert_true(t->carrier_sent + t->carrier_refused <= t->carrier_due);
		assert_true(t->carrier_received <= t->carrier_sent);
		assert_true(t->probes_sent > 0);
		assert_int_equal(t->high, rate_trial_high(&o->search.goal, &loss));
		assert_in_range(t->tries, 1, 5);
	}
}

static void finish(struct outcome *o)
{
	plan_bed_release(&o->bed);
	plan_bed_nothing_left();
}

static void a_known_capacity_lies_between_the_bounds(void **state)
{
	const struct ratesearch_result *r;
	struct outcome o;

	(void)state;
	calibrate("--fault-rate 8Mbps@50ms",
		  "probe_loss: 50%, carrier_loss: 5%, initial: 200ms, final: 1s, sum: 3s, width: 10%, checks: 1,"
		  " least: 1Mbps, most: 100Mbps, interval: 20ms",
		  &o);
	assert_int_equal(o.bed.counts.done, 1);
	assert_true(o.found);
	account(&o);
	r = &o.search.result;
	/* 8 Mbit/s and a burst of 50 ms in a second of which a twentieth may be lost: 8 * 1.05 / 0.95; the probes take 0.1 */
	assert_true(r->lower_bps > 0 && r->lower_bps < 8900000);
	/* a host that is busy takes from it, and then that is what the result says */
	assert_true(r->upper_bps > 7800000 || (r->irregular & (RATESEARCH_SENDER | RATESEARCH_UNSTEADY)));
	assert_true(r->width <= 0.1);
	assert_true(r->conditional_bps <= (double)r->lower_bps);
	finish(&o);
}

static void bounds_that_are_not_there(void **state)
{
	struct outcome o;

	(void)state;
	calibrate("--fault-loss 60%", "probe_loss: 20%, carrier_loss: 20%, initial: 200ms, final: 200ms, sum: 200ms",
		  &o);
	assert_int_equal(o.bed.counts.done, 1);
	account(&o);
	assert_int_equal(o.search.result.lower_bps, 0);
	assert_int_equal(o.search.result.upper_bps, 1000000);
	assert_true(o.search.result.irregular & RATESEARCH_NO_LOWER);
	finish(&o);

	calibrate(
		"--threads 1",
		"probe_loss: 20%, carrier_loss: 20%, initial: 200ms, final: 200ms, sum: 600ms, most: 2Mbps, checks: 0",
		&o);
	assert_int_equal(o.bed.counts.done, 1);
	account(&o);
	assert_int_equal(o.search.result.lower_bps, 2000000);
	assert_int_equal(o.search.result.upper_bps, 0);
	assert_true(o.search.result.irregular & RATESEARCH_NO_UPPER);
	finish(&o);
}

static void a_sweep_tries_what_it_was_told(void **state)
{
	struct outcome o;

	(void)state;
	calibrate("--fault-rate 8Mbps@50ms",
		  "search: sweep, rates: 40Mbps 2Mbps 4Mbps, probe_loss: 50%, carrier_loss: 25%, final: 500ms, sum: "
		  "500ms",
		  &o);
	assert_int_equal(o.bed.counts.done, 1);
	account(&o);
	assert_int_equal(o.count, 3);
	assert_int_equal(o.trials[0].rate_bps, 2000000);
	assert_int_equal(o.trials[2].rate_bps, 40000000);
	assert_true(o.search.sweep);
	/* what is far over the capacity loses, however busy the host */
	assert_true(o.trials[2].high);
	assert_int_equal(o.search.result.upper_bps > 0, 1);
	finish(&o);
}

/* A switch that stops to forward and to answer is not one that loses everything. */
static void a_switch_that_hangs_fails_the_restart(void **state)
{
	const char *failure;
	struct outcome o;
	char body[512];

	(void)state;
	snprintf(body, sizeof(body), "%s \"$@\" &\nsleep 3\nkill -STOP $!\nwait", getenv("TARE_SWITCH"));
	assert_int_equal(setenv("TARE_SWITCH", plan_bed_script("hangs", body), 1), 0);
	calibrate("--threads 1", "initial: 10s, final: 10s, sum: 10s, most: 2Mbps, checks: 0", &o);
	assert_int_equal(o.bed.counts.failed, 1);
	failure = o.bed.restarts[0].failure;
	if (!failure || !strstr(failure, "answer"))
		fail_msg("'%s'", failure ? failure : "");
	finish(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_capacity_lies_between_the_bounds), cmocka_unit_test(bounds_that_are_not_there),
		cmocka_unit_test(a_sweep_tries_what_it_was_told),
		cmocka_unit_test(a_switch_that_hangs_fails_the_restart), /* the last: it changes TARE_SWITCH */
	};

	if (!own_host_enter())
		return 77;
	return cmocka_run_group_tests(tests, plan_bed_make, plan_bed_remove);
}
