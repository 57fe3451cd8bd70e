/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "report/build.h"

/* Three cells: cold, warm, and warm on another program. */
struct made {
	struct result result;
	struct cell_result cells[3];
	struct quantity_result quantities[3][6];
	const char *values[3][2];
};

static const char *axes[] = { "program", "carrier" };

static void cell(struct made *m, int i, const char *title, const char *regime, const char *program, const char *carrier,
		 const double parts[4], double cpu_us, double wait_us)
{
	static const char *const names[6] = { "part_wake_up", "part_cpu_wait",         "part_running",
					      "part_rest",    "switch_cpu_per_packet", "switch_wait_per_packet" };
	struct cell_result *c = &m->cells[i];

	m->values[i][0] = program;
	m->values[i][1] = carrier;
	c->title = title;
	c->regime = regime;
	c->values = m->values[i];
	c->quantities = m->quantities[i];
	c->quantity_count = 6;
	for (int k = 0; k < 6; k++)
		m->quantities[i][k] = (struct quantity_result){ .name = names[k],
								.unit = "us",
								.value = k < 4    ? parts[k]
									 : k == 4 ? cpu_us
										  : wait_us };
	c->gross.q[QUANTILE_P50] = figure_number(60000);
}

static void make(struct made *m, bool traced)
{
	const double none[4] = { NAN, NAN, NAN, NAN }, cold[4] = { 20, 5, 70, 5 }, warm[4] = { 10, 5, 20, 5 };

	memset(m, 0, sizeof(*m));
	arena_init(&m->result.arena, 0);
	m->result.cells = m->cells;
	m->result.cell_count = 3;
	m->result.axes = axes;
	m->result.axis_count = 2;
	cell(m, 0, "a cold", "cold", "a", "0", traced ? cold : none, 30, 6);
	cell(m, 1, "a warm", "warm", "a", "1Mbps", traced ? warm : none, 10, 2);
	cell(m, 2, "b warm", "warm", "b", "1Mbps", traced ? warm : none, 10, 2);
}

static void the_part_that_makes_the_ratio(void **state)
{
	struct made m;

	(void)state;
	make(&m, true);
	assert_int_equal(causes_build(&m.result), 0);
	assert_int_equal(m.result.cause_count, 1); /* b has no cold cell */
	assert_int_equal(m.result.causes[0].cold_cell, 0);
	assert_int_equal(m.result.causes[0].warm_cell, 1);
	assert_float_equal(m.result.causes[0].ratio, 2.5, 1e-9);
	assert_int_equal(m.result.causes[0].part, CAUSE_RUNNING);
	assert_false(m.result.causes[0].coarse);
	assert_string_equal(
		m.result.causes[0].statement,
		"a cold takes 2.50 times as long as a warm; of the 60.0 us between them 83 % are running, the "
		"same code slower");
	arena_release(&m.result.arena);
}

static void counters_stand_for_a_trace_and_say_so(void **state)
{
	struct made m;

	(void)state;
	make(&m, false);
	m.cells[1].gross.q[QUANTILE_P50] = figure_number(20000);
	assert_int_equal(causes_build(&m.result), 0);
	assert_int_equal(m.result.cause_count, 1);
	assert_true(m.result.causes[0].coarse);
	assert_float_equal(m.result.causes[0].cold.running_us, 30, 1e-9);
	assert_float_equal(m.result.causes[0].cold.cpu_wait_us, 6, 1e-9);
	assert_float_equal(m.result.causes[0].cold.rest_us, 24, 1e-9);
	assert_float_equal(m.result.causes[0].ratio, 3, 1e-9);
	assert_non_null(strstr(m.result.causes[0].statement, "(coarse: from the scheduler's counters"));
	arena_release(&m.result.arena);
}

/* No median, nothing asked for: nothing is said. */
static void what_is_not_known_is_not_said(void **state)
{
	struct made m;

	(void)state;
	make(&m, false);
	m.cells[0].gross.q[QUANTILE_P50] = figure_refused(1, 6);
	assert_int_equal(causes_build(&m.result), 0);
	assert_int_equal(m.result.cause_count, 0);
	arena_release(&m.result.arena);
	make(&m, true);
	m.cells[0].quantity_count = 0;
	assert_int_equal(causes_build(&m.result), 0);
	assert_int_equal(m.result.cause_count, 0);
	arena_release(&m.result.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_part_that_makes_the_ratio),
		cmocka_unit_test(counters_stand_for_a_trace_and_say_so),
		cmocka_unit_test(what_is_not_known_is_not_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
