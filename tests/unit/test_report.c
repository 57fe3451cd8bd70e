/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/html.h"
#include "report/json.h"
#include "report/terminal.h"
#include "near.h"
#include "report_bed.h"

/* Results of stores of known truth: what is in them, and what of them is kept in the tree. */

/* --- numbers --- */

static void figures_are_those_that_were_put_in(void **state)
{
	struct synthetic s = plain();
	struct result *r = result_of(&s);
	const struct cell_result *c = result_find_cell(r, "program=forward");
	const struct cell_result *tare = result_find_cell(r, "tare");

	(void)state;
	/* Restarts add 0 1 -1 2 -2 3 ns: their median is 0.5. Probes lie evenly over +-10 ns. */
	assert_near(c->net_ns, 149.5, 1e-6);
	assert_near(c->gross.q[QUANTILE_P50].value, 1149.5, 1e-6);
	assert_near(c->gross.q[QUANTILE_P90].value, 1149.5 + 8, 1e-6);
	assert_near(c->gross.q[QUANTILE_P99].value, 1149.5 + 10, 1e-6);
	assert_near(c->one_way.q[QUANTILE_P50].value, 1649.5, 1e-6);
	assert_near(c->intended.q[QUANTILE_P50].value, 1689.5, 1e-6);
	assert_near(c->tare_ns, 1000, 1e-6);
	assert_near(tare->gross.q[QUANTILE_P50].value, 1000, 1e-6);
	assert_true(isnan(tare->net_ns));
	assert_near(c->net_order.low, 147, 1e-6);
	assert_near(c->net_order.high, 152, 1e-6);
	assert_near(c->net_order.level, 96.875, 1e-9);
	assert_true(c->net_bootstrap.low >= 147 && c->net_bootstrap.high <= 152 && span_is(&c->net_bootstrap));
	assert_true(c->net_interval.low <= 149.5 && c->net_interval.high >= 149.5);
	assert_near(c->within_20ns, 100, 1e-9);
	assert_near(c->within_run_sd_ns, 0, 1e-9);
	assert_near(c->between_sd_ns, sqrt(3.5), 1e-6);
	assert_near(c->icc, 1, 1e-9);
	assert_true(c->expanded_ns > 0 && c->expanded_ns < 10);
	assert_near(c->expanded_ns, c->factor * c->u_ns, 1e-9);
	assert_int_equal(c->ledger.sent, 6 * 3 * 4200);
	assert_int_equal(c->ledger.fate[FATE_MATCHED], 6 * 3 * 4200);
	assert_int_equal(tare->ledger.sent, 12 * 3 * 4200);
	assert_int_equal(c->restarts_valid, 6);
	assert_int_equal(tare->restarts_planned, 12);
	assert_int_equal(c->mode_count, 1);
	assert_int_equal(r->restart_count, 24);
	assert_int_equal(r->restarts[5].order, 5);
	/* The probes' even spread repeats every 21: the only thing to say, once a cell. */
	assert_int_equal(r->problem_count, 3);
	assert_non_null(find_problem(r, "note", "a periodic part"));
	assert_int_equal(result_check(r, NULL), 0);
	result_destroy(r);
}

static void a_budget_adds_up(void **state)
{
	struct synthetic s = plain();
	struct result *r = result_of(&s);
	const struct cell_result *c = &r->cells[0];
	double sum = 0, share = 0;

	(void)state;
	assert_true(c->budget_count >= 2);
	for (uint32_t i = 0; i < c->budget_count; i++) {
		sum += c->budget[i].u_ns * c->budget[i].u_ns;
		share += c->budget[i].share;
		assert_true(c->budget[i].name[0] && c->budget[i].how[0]);
	}
	assert_near(sqrt(sum), c->u_ns, 1e-9);
	assert_near(share, 100, 1e-6);
	result_destroy(r);
}

static void drift_is_seen_and_taken_off(void **state)
{
	struct synthetic s = plain();
	struct result *r;

	(void)state;
	s.drift_ns = 1;
	r = result_of(&s);
	assert_int_equal(r->block_count, 6);
	for (uint32_t b = 0; b < 6; b++) {
		assert_near(r->blocks[b].before_ns, 1000 + 4 * b, 1e-6);
		assert_near(r->blocks[b].drift_ns, 3, 1e-6);
		assert_near(r->blocks[b].tare_ns, 1001.5 + 4 * b, 1e-6);
	}
	/* Gross has drifted by 20 ns over the campaign; the net by at most half a restart's worth. */
	for (uint32_t i = 0; i < r->restart_count; i++) {
		const struct restart_result *x = &r->restarts[i];

		if (x->cell == 0)
			assert_near(x->net_ns, 149 + synthetic_restart_ns(&two[0], x->restart), 0.5 + 1e-6);
	}
	result_destroy(r);
}

static void loss_is_latency_and_too_little_is_refused(void **state)
{
	struct synthetic s = plain();
	struct result *r;

	(void)state;
	s.lost_every = 50;
	r = result_of(&s);
	assert_int_equal(r->cells[0].gross.q[QUANTILE_P90].state, FIGURE_NUMBER);
	assert_int_equal(r->cells[0].gross.q[QUANTILE_P99].state, FIGURE_LOST);
	assert_int_equal(r->cells[0].gross.q[QUANTILE_P999].state, FIGURE_LOST);
	assert_int_equal(r->cells[0].gross.q[QUANTILE_P9999].state, FIGURE_REFUSED);
	assert_int_equal(r->cells[0].gross.q[QUANTILE_P9999].need, 36887);
	assert_int_equal(r->cells[0].ledger.fate[FATE_LOST], 6 * 3 * 84);
	assert_non_null(find_problem(r, "warning", "rank as infinite"));
	assert_near(r->cells[0].within_20ns, 98, 1e-6);
	result_destroy(r);

	s = plain();
	s.probes = 300;
	r = result_of(&s);
	assert_int_equal(r->cells[0].gross.q[QUANTILE_P99].state, FIGURE_REFUSED);
	assert_int_equal(r->cells[0].gross.q[QUANTILE_P99].need, 368);
	result_destroy(r);
}

static void set_apart_is_in_no_figure(void **state)
{
	struct synthetic s = plain();
	struct result *r;

	(void)state;
	s.apart_every = 10; /* and 5 us slower: one of them in a figure would show */
	r = result_of(&s);
	assert_near(r->cells[0].gross.q[QUANTILE_P999].value, 1159.5, 1e-6);
	assert_int_equal(r->restarts[0].runs[0].ranked, 4200 - 420);
	assert_int_equal(r->cells[0].ledger.set_apart, 6 * 3 * 420);
	assert_non_null(find_problem(r, "warning", "set apart"));
	result_destroy(r);
}

static void invalid_runs_and_failed_restarts_are_shown_and_in_no_figure(void **state)
{
	struct synthetic s = plain();
	struct err err = { 0 };
	struct result *r;

	(void)state;
	s.unbalanced_turn = 1; /* program 0, block 0 */
	s.failed_turn = 2;     /* program 1, block 0 */
	r = result_of(&s);
	assert_false(r->restarts[1].runs[0].valid);
	assert_non_null(strstr(r->restarts[1].runs[0].reason, "does not balance"));
	assert_true(isnan(r->restarts[1].runs[0].iqr_ns));
	assert_true(r->restarts[1].runs[1].valid);
	assert_int_equal(r->cells[0].runs_invalid, 1);
	assert_int_equal(r->cells[0].ledger.sent, 17 * 4200);
	assert_int_equal(r->cells[0].ledger_excluded.sent, 4200);
	assert_int_equal(r->cells[0].restarts_valid, 6);
	assert_string_equal(r->restarts[2].state, "failed");
	assert_string_equal(r->restarts[2].reason, "the pipeline did not come up");
	assert_int_equal(r->cells[1].restarts_failed, 1);
	assert_int_equal(r->cells[1].restarts_valid, 5);
	assert_int_equal(r->turns_failed, 1);
	assert_null(find_problem(r, "warning", "have not run"));
	assert_non_null(find_problem(r, "error", "1 restart failed"));
	assert_non_null(find_problem(r, "error", "1 of 18 runs invalid"));
	assert_true(result_check(r, &err) < 0);
	assert_int_equal(err.kind, ERR_RESULT);
	assert_string_equal(r->problems[0].severity, "error");
	/* Five restarts: 93.75 % and no U, said so. */
	assert_near(r->cells[1].net_order.level, 93.75, 1e-9);
	assert_true(isnan(r->cells[1].expanded_ns) && !span_is(&r->cells[1].net_order));
	assert_non_null(find_problem(r, "warning", "93.75 %"));
	result_destroy(r);
}

static void samples_that_disagree_with_the_ledger_make_a_run_invalid(void **state)
{
	struct synthetic s = plain();
	struct plan *plan = synthetic_plan(&s);
	struct run_record run = synthetic_run(&s, 0);
	struct pair *pairs = calloc(s.probes, sizeof(*pairs));
	struct err err = { 0 };
	struct store *store;
	struct result *r;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	snprintf(dir, sizeof(dir), "%s/disagree", scratch);
	assert_int_equal(store_open_write(dir, plan, &store, &err), 0);
	assert_int_equal(store_begin_restart(store, 0, &err), 0);
	synthetic_pairs(&s, &plan->turns[0], 1000, pairs, &run, &rng);
	/* The account stays balanced, but the samples tell another story. */
	run.ledger.fate[FATE_MATCHED] -= 3;
	run.ledger.fate[FATE_LOST] += 3;
	assert_int_equal(store_put_run(store, &run, pairs, s.probes, &err), 0);
	assert_int_equal(store_commit_restart(store, NULL, NULL, &err), 0);
	store_close(store);
	assert_int_equal(result_open(dir, &r, &err), 0);
	assert_false(r->restarts[0].runs[0].valid);
	assert_non_null(strstr(r->restarts[0].runs[0].reason, "the samples say"));
	assert_string_equal(r->restarts[0].state, "invalid");
	assert_non_null(find_problem(r, "error", "no valid restart"));
	assert_non_null(find_problem(r, "warning", "have not run"));
	result_destroy(r);
	free(pairs);
}

static void too_few_restarts_are_said_for_what_they_are(void **state)
{
	struct synthetic s = plain();
	struct result *r;

	(void)state;
	s.blocks = 1;
	r = result_of(&s);
	assert_true(isnan(r->cells[0].expanded_ns));
	assert_false(span_is(&r->cells[0].net_order));
	assert_non_null(find_problem(r, "warning", "1 restart: neither uncertainty nor interval"));
	assert_null(find_problem(r, "warning", "0 %"));
	result_destroy(r);
	s.blocks = 2;
	r = result_of(&s);
	assert_near(r->cells[0].net_order.level, 50, 1e-9);
	assert_non_null(find_problem(r, "warning", "is an interval of 50 % only; 95 % takes 6 restarts"));
	result_destroy(r);
}

/* 420 packets of a stream so long that all its values would not fit: figures as ever, no modes, and a note that says so. */
static void packet_medians_that_do_not_fit_are_a_note(void **state)
{
	static const struct synthetic_program fivetuple[] = { { .name = "fivetuple", .net_ns = 107, .second_ns = 30 } };
	struct synthetic s = plain();
	struct result *r;

	(void)state;
	s.programs = fivetuple;
	s.program_count = 1;
	s.packet_step = 10000;
	r = result_of(&s);
	assert_int_equal(r->cells[0].packet_count, 0);
	assert_true(r->cells[0].net_ns > 100 && r->cells[0].net_ns < 140);
	assert_int_equal(r->cells[0].mode_count, 0);
	/* 419 x 10,000 + 1 packets, one value of each in 6 x 3 runs */
	assert_non_null(find_problem(r, "note", "they would take 75420018 values"));
	assert_null(find_problem(r, "note", "runs differ in their streams"));
	result_destroy(r);
}

static void spoil_conditions(struct run_record *run, uint32_t turn)
{
	run->offered_pps = 9000; /* of 10,000 */
	run->blocks_near = 1;
	run->blocks_far = 3;
	run->clock_steps = turn == 1;
	run->stalls = 1;
	run->stalled_ns = 500000;
	run->tsc_hz = turn % 2 ? 1e9 : 1.0001e9; /* 100 ppm apart */
}

/* What was not as it should be while measuring is said, each thing once, where it belongs. */
static void conditions_are_said(void **state)
{
	struct synthetic s = plain();
	const struct problem *p;
	struct result *r;

	(void)state;
	s.spoil = spoil_conditions;
	r = result_of(&s);
	p = find_problem(r, "warning", "offered load was 9000 packets/s, 1e+04 intended");
	assert_non_null(p);
	assert_string_equal(p->about, r->cells[0].title);
	assert_non_null(find_problem(r, "note", "far apart in 75 % of the spells"));
	/* each of the three runs of one turn saw a step */
	assert_non_null(find_problem(r, "note", "CLOCK_REALTIME stepped 3 times; no stamp rests on it"));
	assert_non_null(find_problem(r, "note", "the host stalled the measuring cores 72 times, 36 ms in all"));
	assert_non_null(find_problem(r, "warning", "the TSC's rate moved by 100 ppm between runs"));
	result_destroy(r);
}

static void modes_by_packet_are_found(void **state)
{
	static const struct synthetic_program fivetuple[] = { { .name = "fivetuple", .net_ns = 107, .second_ns = 30 } };
	struct synthetic s = plain();
	struct result *r;

	(void)state;
	s.programs = fivetuple;
	s.program_count = 1;
	s.noise_ns = 5;
	s.truth = true;
	r = result_of(&s);
	assert_int_equal(r->cells[0].mode_count, 2);
	assert_near(r->cells[0].modes[0].net_ns, 107, 1);
	assert_near(r->cells[0].modes[1].net_ns, 137, 1);
	assert_near(r->cells[0].modes[0].share, 50, 1);
	assert_int_equal(r->cells[0].packet_count, 420);
	assert_non_null(find_problem(r, "note", "2 modes by packet"));
	assert_near(r->cells[0].paired_error_ns, 0, 0.6);
	result_destroy(r);
}

static void truth_is_compared_with_what_was_recovered(void **state)
{
	struct synthetic s = plain();
	struct result *r;

	(void)state;
	s.truth = true;
	r = result_of(&s);
	assert_near(r->cells[0].truth_net_ns, 149.5, 1e-6);
	assert_near(r->cells[0].error_ns, 0, 1e-6);
	assert_near(r->cells[0].paired_error_ns, 0, 1e-6);
	result_destroy(r);
}

static void a_drifting_tare_is_said_once(void **state)
{
	struct synthetic s = plain();
	struct result *r;

	(void)state;
	s.drift_ns = 20; /* 60 ns within a block */
	r = result_of(&s);
	assert_non_null(find_problem(r, "warning", "drifts within blocks, by +60.0 ns"));
	result_destroy(r);
	s.drift_ns = 0.01;
	r = result_of(&s);
	assert_null(find_problem(r, "warning", "drifts"));
	result_destroy(r);
}

static void a_coarse_clock_is_found_out(void **state)
{
	struct synthetic s = plain();
	struct result *r;

	(void)state;
	s.tick_ns = 10;
	s.noise_ns = 12;
	r = result_of(&s);
	assert_null(find_problem(r, "warning", "readings come in steps"));
	result_destroy(r);
	s.tick_said_ns = 1; /* the record claims a finer clock than the samples have */
	r = result_of(&s);
	assert_non_null(find_problem(r, "warning", "readings come in steps of 10.0 ns"));
	result_destroy(r);
}

static void an_empty_store_says_so(void **state)
{
	struct synthetic s = plain();
	struct plan *plan = synthetic_plan(&s);
	struct err err = { 0 };
	struct store *store;
	struct result *r;
	char *text;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/empty", scratch);
	assert_int_equal(store_open_write(dir, plan, &store, &err), 0);
	store_close(store);
	assert_int_equal(result_open(dir, &r, &err), 0);
	assert_non_null(find_problem(r, "error", "nothing has been measured"));
	text = terminal_of(r, false, 80, CELLS_AND_BUDGET);
	assert_non_null(strstr(text, "nothing has been measured"));
	free(text);
	text = text_of(r, html_write);
	assert_non_null(strstr(text, "nothing has been measured"));
	free(text);
	result_destroy(r);
}

/* --- what is kept in the tree --- */

static void the_schema_in_the_docs_is_the_one_in_the_program(void **state)
{
	int (*const write[])(FILE *, struct err *) = { result_write_schema, result_write_schema_document };
	const char *const names[] = { "docs/result.schema.json", "docs/result-schema.md" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		char path[512], *now = NULL, *kept;
		size_t length;
		FILE *f = open_memstream(&now, &length);

		assert_int_equal(write[i](f, NULL), 0);
		fclose(f);
		snprintf(path, sizeof(path), "%s/%s", SOURCE_ROOT, names[i]);
		if (getenv("TARE_UPDATE")) { /* TARE_UPDATE=1 build/tests/unit/test_report */
			f = fopen(path, "w");
			assert_non_null(f);
			fputs(now, f);
			fclose(f);
		}
		kept = file_text(path);
		assert_string_equal(now, kept);
		free(now);
		free(kept);
	}
}

static void golden_result(const char *path, double slower_ns, uint32_t unbalanced)
{
	struct synthetic_program programs[] = {
		{ .name = "forward", .net_ns = 149 + slower_ns, .restart_ns = 0.4 },
		{ .name = "fivetuple", .net_ns = 107, .second_ns = 30, .restart_ns = 0.3 },
	};
	struct synthetic s = plain();
	struct result *r;
	char *now;
	FILE *f;

	s.name = "golden";
	s.programs = programs;
	s.probes = 840;
	s.packets = 84;
	s.runs = 2;
	s.lost_every = 210;
	s.truth = true;
	s.unbalanced_turn = unbalanced;
	r = result_of(&s);
	r->started_utc_ns = 1767225600000000000;
	r->tool_version = "0";
	for (uint32_t k = 0; k < r->restart_count; k++)
		r->restarts[k].started_utc_ns = r->started_utc_ns;
	now = json_of(r);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(now, f);
	fclose(f);
	free(now);
	result_destroy(r);
}

/*
 * The saved results that the golden transcripts draw. They stay as they are when
 * an estimator changes, but must have every member of today's schema:
 * `tare report --json` of the old file adds one that is new; TARE_UPDATE=1 computes them anew.
 */
static void the_golden_results_have_the_whole_schema(void **state)
{
	static const char *const names[] = { "before.json", "after.json" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct err err = { 0 };
		struct result *r;
		char path[512], *now, *kept;

		snprintf(path, sizeof(path), "%s/tests/golden/%s", SOURCE_ROOT, names[i]);
		if (getenv("TARE_UPDATE"))
			golden_result(path, 20 * i, i ? 6 : UINT32_MAX);
		if (result_open(path, &r, &err) != 0)
			fail_msg("%s", err.message);
		now = json_of(r);
		kept = file_text(path);
		assert_string_equal(now, kept);
		free(now);
		free(kept);
		result_destroy(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_that_were_put_in),
		cmocka_unit_test(a_budget_adds_up),
		cmocka_unit_test(drift_is_seen_and_taken_off),
		cmocka_unit_test(loss_is_latency_and_too_little_is_refused),
		cmocka_unit_test(set_apart_is_in_no_figure),
		cmocka_unit_test(invalid_runs_and_failed_restarts_are_shown_and_in_no_figure),
		cmocka_unit_test(samples_that_disagree_with_the_ledger_make_a_run_invalid),
		cmocka_unit_test(too_few_restarts_are_said_for_what_they_are),
		cmocka_unit_test(packet_medians_that_do_not_fit_are_a_note),
		cmocka_unit_test(conditions_are_said),
		cmocka_unit_test(modes_by_packet_are_found),
		cmocka_unit_test(truth_is_compared_with_what_was_recovered),
		cmocka_unit_test(a_drifting_tare_is_said_once),
		cmocka_unit_test(a_coarse_clock_is_found_out),
		cmocka_unit_test(an_empty_store_says_so),
		cmocka_unit_test(the_schema_in_the_docs_is_the_one_in_the_program),
		cmocka_unit_test(the_golden_results_have_the_whole_schema),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
