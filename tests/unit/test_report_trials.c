/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/html.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report_look.h"
#include "scratch.h"
#include "store/trial.h"
#include "synthetic_values.h"

/* Searches in the report: what the store has of them is in the result, and in every form of it. */

static const struct trial trials[] = {
	{ .rate_bps = 100000000,
	  .duration_ns = 500000000,
	  .probes_sent = 100,
	  .probes_arrived = 80,
	  .carrier_due = 4000,
	  .carrier_sent = 4000,
	  .carrier_received = 3000,
	  .p50_us = 33.5,
	  .p99_us = NAN,
	  .tries = 1,
	  .high = 1 },
	{ .rate_bps = 70000000,
	  .duration_ns = 5000000000,
	  .probes_sent = 1000,
	  .probes_arrived = 1000,
	  .carrier_due = 30000,
	  .carrier_sent = 30000,
	  .carrier_received = 30000,
	  .p50_us = 31,
	  .p99_us = 50,
	  .tries = 2 },
	{ .rate_bps = 72000000,
	  .duration_ns = 5000000000,
	  .probes_sent = 1000,
	  .probes_arrived = 0,
	  .carrier_due = 30000,
	  .carrier_sent = 20000,
	  .carrier_received = 0,
	  .p50_us = INFINITY,
	  .p99_us = INFINITY,
	  .tries = 5,
	  .sender_short = 1,
	  .high = 1 },
};

static struct result *result_of(unsigned irregular, int64_t lower_bps, int64_t upper_bps)
{
	const struct synthetic_values plan = { .measure = MEASURE_CALIBRATE,
					       .name = "cal",
					       .axes = { "program" },
					       .values = { { "l3_lpm", NULL } },
					       .restarts = 1,
					       .runs = 1,
					       .failed_turn = UINT32_MAX };
	const struct search_record search = {
		.goal = { .probe_loss = 0.05, .carrier_loss = 0.01, .final_ns = 5000000000, .sum_ns = 5000000000 },
		.result = { .lower_bps = lower_bps,
			    .upper_bps = upper_bps,
			    .conditional_bps = lower_bps ? (double)lower_bps : NAN,
			    .width = 0.0278,
			    .irregular = irregular,
			    .trials = 3,
			    .length_ns = 10500000000 },
	};
	const struct run_value value = { "lower_bound", "Mbit/s", (double)lower_bps / 1e6 };
	struct result *r = NULL;
	struct err err = { 0 };
	struct store *store;

	if (store_open_write(scratch, synthetic_values_plan(&plan), &store, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(store_begin_restart(store, 0, &err), 0);
	assert_int_equal(store_put_run(store, &(struct run_record){ 0 }, NULL, 0, &err), 0);
	assert_int_equal(store_put_values(store, &value, 1, &err), 0);
	assert_int_equal(store_put_search(store, &search, trials, 3, &err), 0);
	assert_int_equal(store_commit_restart(store, NULL, NULL, &err), 0);
	store_close(store);
	assert_int_equal(store_open_read(scratch, &store, &err), 0);
	if (result_build(store, &r, &err) < 0)
		fail_msg("%s", err.message);
	store_close(store);
	return r;
}

static void the_result_has_what_the_store_has(void **state)
{
	struct result *r = result_of(0, 70000000, 72000000);
	const struct search_result *s = &r->searches[0];

	(void)state;
	assert_int_equal(r->search_count, 1);
	assert_true(s->lower_mbps == 70 && s->upper_mbps == 72 && s->throughput_mbps == 70);
	assert_true(s->goal_probe_loss == 5 && s->goal_carrier_loss == 1);
	assert_string_equal(s->irregular, "");
	assert_int_equal(s->trial_count, 3);
	assert_true(fabs(s->trials[0].carrier_loss - 25) < 1e-9 && fabs(s->trials[0].probe_loss - 20) < 1e-9);
	assert_true(s->trials[0].high && !s->trials[1].high);
	/* of what was due, since the sender fell behind */
	assert_true(s->trials[2].carrier_loss == 100 && s->trials[2].sender_short);
	result_destroy(r);
}

static void every_form_shows_it(void **state)
{
	struct result *r = result_of(RATESEARCH_INVERSION | RATESEARCH_SENDER, 70000000, 72000000), *again = NULL;
	char *terminal = terminal_of(r, false, 100, TERMINAL_CELLS), *page = text_of(r, html_write), *json = NULL;
	struct err err = { 0 };
	size_t length;
	FILE *f = open_memstream(&json, &length);

	(void)state;
	assert_non_null(strstr(terminal, "lower bound 70"));
	assert_non_null(strstr(terminal, "over, sender"));
	assert_non_null(strstr(terminal, "1 of 1 searches: loss inversion"));
	assert_non_null(strstr(page, "Loss by rate"));
	assert_non_null(strstr(page, "70 to 72"));
	assert_non_null(strstr(page, "fill=\"none\""));
	assert_non_null(strstr(page, "load classification of RFC 9971"));
	assert_int_equal(result_write_json(r, f, &err), 0);
	fclose(f);
	assert_int_equal(result_load_text(json, length, "x.json", &again, &err), 0);
	assert_int_equal(again->searches[0].trial_count, 3);
	assert_true(again->searches[0].trials[0].p50_us == 33.5);
	free(terminal);
	terminal = terminal_of(again, false, 100, TERMINAL_CELLS);
	assert_non_null(strstr(terminal, "over, sender"));
	result_destroy(again);
	/* a document may say anything */
	strstr(strstr(json, "\"searches\""), "\"cell\": 0")[8] = '9';
	assert_true(result_load_text(json, length, "x.json", &again, &err) < 0);
	assert_non_null(strstr(err.message, "searches[0].cell is 9"));
	free(terminal);
	free(page);
	free(json);
	result_destroy(r);
}

static void bounds_that_are_not_there(void **state)
{
	struct result *r = result_of(RATESEARCH_NO_LOWER, 0, 72000000);
	char *terminal = terminal_of(r, false, 100, TERMINAL_CELLS), *page = text_of(r, html_write);

	(void)state;
	assert_true(isnan(r->searches[0].lower_mbps));
	assert_non_null(strstr(terminal, "lower bound none"));
	assert_non_null(strstr(terminal, "no rate met the goal"));
	assert_non_null(strstr(page, "none to 72"));
	free(terminal);
	free(page);
	result_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_result_has_what_the_store_has, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(every_form_shows_it, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(bounds_that_are_not_there, make_scratch, remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
