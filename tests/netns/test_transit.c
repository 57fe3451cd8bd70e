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
#include "report/result.h"

/* Transit plans on tare-switch, whose faults are known: from the plan's text to the result. */

/* A campaign from start to end; the outcome to be looked at. */
struct outcome {
	struct plan_bed bed;
	struct result *result;
};

static void measure(const char *target, const char *rest, struct outcome *ret)
{
	struct err err = { 0 };
	char text[2048];

	snprintf(text, sizeof(text),
		 "name: t\nmeasure: transit\nseed: 3\nrestarts: 1\nruns: 1\ntarget: { kind: bmv2, %s }\n%s\n", target,
		 rest);
	plan_bed_measure(text, &ret->bed);
	ret->result = NULL;
	if (result_build(ret->bed.store, &ret->result, &err) < 0)
		fail_msg("%s", err.message);
}

static void finish(struct outcome *o)
{
	result_destroy(o->result);
	plan_bed_release(&o->bed);
	plan_bed_nothing_left();
}

static const struct cell_result *only_cell(const struct outcome *o)
{
	assert_int_equal(o->bed.counts.done, 1);
	if (o->bed.restarts[0].failure)
		fail_msg("%s", o->bed.restarts[0].failure);
	if (!o->result->restarts[0].runs[0].valid)
		fail_msg("%s", o->result->restarts[0].runs[0].reason);
	return &o->result->cells[0];
}

/* The run's samples, for the caller to free. */
static struct transit *rows_of(const struct outcome *o, uint32_t *ret_count)
{
	const struct stored_run *run = &o->bed.restarts[0].runs[0];
	struct transit *rows = calloc(run->pair_count + 1, sizeof(*rows));
	struct err err = { 0 };

	assert_non_null(rows);
	if (store_read_transits(o->bed.store, run, rows, run->pair_count, &err) != run->pair_count)
		fail_msg("%s", err.message);
	*ret_count = run->pair_count;
	return rows;
}

static char *tare_switch(const char *args)
{
	static char text[512];

	snprintf(text, sizeof(text), "switch: %s, start_limit: 30s, args: \"%s\"", getenv("TARE_SWITCH"), args);
	return text;
}

#define PROBES "probes: { count: 100, interval: 5ms, deadline: 10s }\n"

static void a_delay_is_recovered_for_every_program(void **state)
{
	struct outcome o;

	(void)state;
	measure(tare_switch("--fault-delay 2ms"),
		"matrix: { program: [l2_forward, l3_lpm, l3_lpm_acl, l3_lpm_int, l3_lpm_int_chain], size: [64B, 1514B] "
		"}\n"
		"probes: { count: 30, interval: 5ms, deadline: 10s }",
		&o);
	assert_int_equal(o.bed.counts.failed, 0);
	assert_int_equal(o.result->cell_count, 10);
	for (uint32_t i = 0; i < o.result->cell_count; i++) {
		const struct cell_result *c = &o.result->cells[i];
		double sum = 0;

		assert_int_equal(c->restarts_valid, 1);
		assert_int_equal(c->ledger.sent, 30);
		assert_int_equal(c->ledger.fate[FATE_MATCHED], 30);
		assert_string_equal(c->regime, "dense");
		/* never shorter than what was injected; a busy host makes it longer, not by ten times */
		assert_true(c->gross.q[QUANTILE_P50].value >= 2e6 - 1000);
		assert_true(c->gross.q[QUANTILE_P50].value < 2e7);
		/* the chain adds up to rx - tx, and the alignment is no wider than the way around the delay */
		assert_int_equal(c->chain_count, CHAIN_LINKS);
		for (uint32_t k = 0; k < CHAIN_LINKS; k++)
			sum += c->chain[k].step_ns;
		assert_true(sum > 2e6 && fabs(sum - c->one_way.q[QUANTILE_P50].value) < 1e6);
		assert_true(c->align_width_ns > 0 && c->align_width_ns < sum);
	}
	finish(&o);
}

static void what_is_lost_and_doubled_is_counted(void **state)
{
	const struct cell_result *c;
	uint32_t count, lost = 0;
	struct transit *rows;
	struct outcome o;

	(void)state;
	measure(tare_switch("--fault-loss 20%"),
		"matrix: { program: [l3_lpm] }\nprobes: { count: 100, interval: 5ms, "
		"deadline: 500ms }\n",
		&o);
	c = only_cell(&o);
	rows = rows_of(&o, &count);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(rows[i].fate == FATE_MATCHED || rows[i].fate == FATE_LOST);
		lost += rows[i].fate == FATE_LOST;
		/* it came to the switch, and did not leave it */
		assert_true(rows[i].sw_in_ns != TRANSIT_NONE);
		assert_int_equal(rows[i].sw_out_ns == TRANSIT_NONE, rows[i].fate == FATE_LOST);
		if (rows[i].fate == FATE_MATCHED)
			assert_true(rows[i].tx_ns <= rows[i].sw_in_ns && rows[i].sw_in_ns <= rows[i].sw_out_ns &&
				    rows[i].sw_out_ns <= rows[i].rx_ns);
	}
	assert_int_equal(count, 100);
	assert_in_range(lost, 2, 50);
	assert_int_equal(c->ledger.fate[FATE_LOST], lost);
	free(rows);
	finish(&o);

	measure(tare_switch("--fault-duplicate 100%"), "matrix: { program: [l3_lpm] }\n" PROBES, &o);
	c = only_cell(&o);
	assert_int_equal(c->ledger.fate[FATE_MATCHED], 100);
	assert_int_equal(c->ledger.duplicates, 100);
	finish(&o);
}

static void a_clock_is_aligned_and_its_step_found(void **state)
{
	const struct cell_result *c;
	struct outcome o;

	(void)state;
	measure(tare_switch("--fault-clock-offset 3s"), "matrix: { program: [l3_lpm] }\n" PROBES, &o);
	c = only_cell(&o);
	assert_int_equal(c->segments, 1);
	assert_true(c->align_width_ns < 1e8);
	finish(&o);

	/* a step of a second, two seconds after the switch began, in a run of four */
	measure(tare_switch("--fault-clock-step 1s@2s"),
		"matrix: { program: [l3_lpm] }\nprobes: { count: 400, interval: 10ms, deadline: 10s }\n", &o);
	c = only_cell(&o);
	assert_in_range(c->segments, 2, 3); /* a probe that was inside may stand alone */
	assert_int_equal(c->ledger.fate[FATE_MATCHED], 400);
	assert_true(c->gross.q[QUANTILE_P50].value < 5e8);
	finish(&o);
}

/* 50,000 a second: a busy host makes them late, but each is accounted for, with the stamps of every place it was at. */
static void close_probes_are_all_accounted_for(void **state)
{
	const struct ledger *l;
	struct transit *rows;
	struct outcome o;
	uint32_t count;

	(void)state;
	measure(tare_switch("--threads 1"),
		"matrix: { program: [l3_lpm] }\nprobes: { count: 20000, interval: 20us, size: 64B }\n", &o);
	l = &only_cell(&o)->ledger;
	rows = rows_of(&o, &count);
	assert_int_equal(count, 20000);
	assert_int_equal(l->sent, 20000);
	assert_true(ledger_balances(l));
	assert_true(l->fate[FATE_MATCHED] > 10000);
	for (uint32_t i = 0; i < count; i++) {
		/* never early, and in order */
		assert_true(rows[i].tx_ns >= rows[i].sched_ns);
		assert_true(i == 0 || rows[i].tx_ns > rows[i - 1].tx_ns);
		assert_int_equal(rows[i].flags & TRANSIT_TX_ASKED, 0);
		if (rows[i].fate != FATE_MATCHED)
			continue;
		assert_true(rows[i].tx_ns <= rows[i].sw_in_ns && rows[i].sw_in_ns <= rows[i].sw_out_ns &&
			    rows[i].sw_out_ns <= rows[i].rx_ns);
	}
	free(rows);
	finish(&o);
}

static void the_carrier_is_sent_and_received(void **state)
{
	const struct cell_result *c;
	struct outcome o;

	(void)state;
	measure(tare_switch("--threads 1"), "matrix: { program: [l3_lpm], carrier: [5Mbps] }\n" PROBES, &o);
	c = only_cell(&o);
	assert_string_equal(c->regime, "warm");
	/* the schedule is absolute: a busy host makes it uneven, not slow, over half a second */
	assert_true(c->carrier_offered_bps > 2.5e6 && c->carrier_offered_bps < 10e6);
	assert_true(c->carrier_received_bps > 0 && c->carrier_received_bps < 10e6);
	finish(&o);
}

/* --- what goes wrong --- */

static void expect_failure(const char *path, const char *more, const char *message)
{
	char target[512], rest[512];
	struct outcome o;

	snprintf(target, sizeof(target), "switch: auto%s", more);
	/* the cell that fails and one that does not: the campaign goes on */
	snprintf(rest, sizeof(rest),
		 "matrix: { program: [l3_lpm], switch: [%s, %s] }\nprobes: { count: 200, interval: 20ms }\n", path,
		 getenv("TARE_SWITCH"));
	measure(target, rest, &o);
	assert_int_equal(o.bed.counts.failed, 1);
	assert_int_equal(o.bed.counts.done, 1);
	for (uint32_t i = 0; i < o.bed.restart_count; i++) {
		const char *failure = o.bed.restarts[i].failure;

		if (o.bed.restarts[i].cell == 1)
			assert_null(failure);
		else if (!failure || !strstr(failure, message))
			fail_msg("'%s' lacks '%s'", failure ? failure : "", message);
	}
	assert_string_equal(o.result->problems[0].severity, "error");
	finish(&o);
}

static void a_switch_that_dies_fails_its_restart_alone(void **state)
{
	char body[512];

	(void)state;
	snprintf(body, sizeof(body), "%s \"$@\" &\nsleep 3\necho 'ran out of luck'\nkill -9 $!\nexit 3",
		 getenv("TARE_SWITCH"));
	expect_failure(plan_bed_script("dies", body), "", "ran out of luck");
}

static void a_switch_that_never_answers(void **state)
{
	(void)state;
	expect_failure(plan_bed_script("silent", "echo 'thinking'\nexec sleep 100"), ", start_limit: 1s", "thinking");
}

static void an_interface_that_vanishes_is_named(void **state)
{
	char body[512];

	(void)state;
	assert_int_equal(system("command -v ip >/dev/null"), 0);
	snprintf(body, sizeof(body), "%s \"$@\" &\nsleep 3\nip link del p2\nwait", getenv("TARE_SWITCH"));
	expect_failure(plan_bed_script("cuts", body), "", "p2");
}

static void a_switch_that_does_not_forward(void **state)
{
	char path[128], target[640];
	struct outcome o;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/none.entries", plan_bed_base());
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("table=routes destination=10.0.1.0/24 action=drop\n", f);
	fclose(f);
	snprintf(target, sizeof(target), "%s, entries: none.entries", tare_switch("--threads 1"));
	measure(target, "matrix: { program: [l3_lpm] }\n" PROBES, &o);
	assert_int_equal(o.bed.counts.failed, 1);
	/* it says how far the probes came */
	assert_non_null(strstr(o.bed.restarts[0].failure, "no probe came through"));
	assert_non_null(strstr(o.bed.restarts[0].failure, " 0 at p2"));
	finish(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_delay_is_recovered_for_every_program),
		cmocka_unit_test(what_is_lost_and_doubled_is_counted),
		cmocka_unit_test(a_clock_is_aligned_and_its_step_found),
		cmocka_unit_test(close_probes_are_all_accounted_for),
		cmocka_unit_test(the_carrier_is_sent_and_received),
		cmocka_unit_test(a_switch_that_dies_fails_its_restart_alone),
		cmocka_unit_test(a_switch_that_never_answers),
		cmocka_unit_test(an_interface_that_vanishes_is_named),
		cmocka_unit_test(a_switch_that_does_not_forward),
	};

	if (!own_host_enter())
		return 77;
	return cmocka_run_group_tests(tests, plan_bed_make, plan_bed_remove);
}
