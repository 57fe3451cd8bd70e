/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/run_progress.h"
#include "fake_plan.h"

static struct run_progress progress;
static FILE *out;
static char *text;
static size_t length;

static void begin(bool bar, unsigned width, bool quiet)
{
	out = open_memstream(&text, &length);
	assert_non_null(out);
	run_progress_init(&progress, fake_plan("text", 3), out, bar, width, quiet);
}

static void show(enum campaign_step step, uint32_t done, int64_t elapsed_s, int64_t remaining_s, const char *why)
{
	const struct plan *plan = fake_plan("text", 3);
	const struct campaign_progress now = {
		.step = step,
		.counts = { .turns = 12, .done = done },
		.cell = step == CAMPAIGN_BEGINS ? NULL : &plan->cells[plan->turns[1].cell],
		.turn = step == CAMPAIGN_BEGINS ? NULL : &plan->turns[1],
		.run = 2,
		.elapsed_ns = elapsed_s * INT64_C(1000000000),
		.remaining_ns = remaining_s * INT64_C(1000000000),
		.message = why,
	};

	run_progress_show(&progress, &now);
}

static void expect(const char *what)
{
	fclose(out);
	assert_string_equal(text, what);
	free(text);
}

static void plain_lines_are_rare(void **state)
{
	(void)state;
	begin(false, 80, false);
	show(CAMPAIGN_BEGINS, 0, 0, 120, NULL);
	show(CAMPAIGN_RESTART_BEGINS, 0, 11, 109, NULL);
	show(CAMPAIGN_RUN_ENDS, 0, 9, 111, NULL);
	show(CAMPAIGN_RUN_ENDS, 0, 10, 110, NULL);
	show(CAMPAIGN_RESTART_ENDS, 1, 19, 3700, NULL);
	show(CAMPAIGN_RESTART_ENDS, 12, 19, 0, NULL); /* the last one whenever it comes */
	expect("0/12  0:00, about 2:00 left\n"
	       "0/12  0:10, about 1:50 left  program=forward size=64B, restart 1 of 3, run 2 of 2\n"
	       "12/12  0:19  program=forward size=64B, restart 1 of 3, run 2 of 2\n");
}

static void bar_is_drawn_over_and_never_wraps(void **state)
{
	(void)state;
	begin(true, 60, false);
	show(CAMPAIGN_RESTART_ENDS, 6, 3661, 7201, NULL);
	run_progress_clear(&progress);
	run_progress_clear(&progress); /* nothing to clear */
	expect("\r\033[K[########--------] 6/12  1:01:01, about 2:00:01 left  progr"
	       "\r\033[K");
}

static void failures_are_said_even_when_quiet(void **state)
{
	(void)state;
	begin(false, 80, true);
	show(CAMPAIGN_RESTART_ENDS, 1, 30, 60, NULL);
	show(CAMPAIGN_RESTART_FAILS, 1, 40, 50, "no such program");
	show(CAMPAIGN_RUN_ENDS, 1, 50, 40, "ledger does not balance");
	expect("tare: program=forward size=64B, restart 1: failed: no such program\n"
	       "tare: program=forward size=64B, restart 1: invalid run: ledger does not balance\n");
}

static void unknown_length_is_not_guessed(void **state)
{
	(void)state;
	begin(true, 0, false);
	show(CAMPAIGN_BEGINS, 0, 5, -1, NULL);
	expect("\r\033[K[----------------] 0/12  0:05");
}

/* A plan with stop: how many there will be is an estimate, and is called one. */
static void what_stops_is_counted_in_cells(void **state)
{
	const struct campaign_progress now = {
		.step = CAMPAIGN_RESTART_ENDS,
		.counts = { .turns = 40, .expected = 24, .done = 12, .cells = 3, .cells_stopped = 1 },
		.elapsed_ns = 60000000000,
		.remaining_ns = 60000000000,
	};

	(void)state;
	begin(true, 0, false);
	run_progress_show(&progress, &now);
	expect("\r\033[K[########--------] 12/~24  1:00, about 1:00 left  1/3 cells enough");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_lines_are_rare),
		cmocka_unit_test(bar_is_drawn_over_and_never_wraps),
		cmocka_unit_test(failures_are_said_even_when_quiet),
		cmocka_unit_test(unknown_length_is_not_guessed),
		cmocka_unit_test(what_stops_is_counted_in_cells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
