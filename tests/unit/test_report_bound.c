/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/html.h"
#include "report/json.h"
#include "report/open.h"
#include "report/terminal.h"
#include "near.h"
#include "report_look.h"
#include "scratch.h"
#include "synthetic.h"

/* Packets of known net latencies against bounds of a 250 MHz clock, 4 ns a cycle. */
/* Even packets 108 ns, odd ones 208. */
static const struct synthetic_program modes[] = { { .name = "modes", .net_ns = 108, .second_ns = 100 } };

static struct result *result_of(double cycles, double inserted, uint32_t blocks)
{
	const struct run_value values[] = { { "bound_cycles", "cycles", cycles },
					    { "bound_clock", "Hz", 250e6 },
					    { "bound_bus", "B", 64 },
					    { "bound_inserted", "B", inserted } };
	struct synthetic s = { .programs = modes,
			       .program_count = 1,
			       .blocks = blocks,
			       .runs = 3,
			       .probes = 4200,
			       .packets = 420,
			       .unbalanced_turn = UINT32_MAX,
			       .failed_turn = UINT32_MAX,
			       .values = values,
			       .value_count = 4 };
	struct result *r = NULL;
	struct err err = { 0 };

	if (synthetic_write(&s, scratch, &err) != 0 || result_open(scratch, &r, &err) != 0)
		fail_msg("%s", err.message);
	return r;
}

static void a_bound_that_holds(void **state)
{
	struct result *r = result_of(60, 0, 6);
	const struct bound_result *b = r->cells[0].bound;

	(void)state;
	assert_int_equal(r->cells[0].bound_count, 1);
	assert_int_equal(r->cells[1].bound_count, 0); /* the tare */
	assert_near(b->bound_ns, 240, 1e-9);
	assert_int_equal(b->packets, 420);
	assert_int_equal(b->under, 420);
	assert_int_equal(b->worst_count, 0);
	/* 240 - 208 and 240 - 108, by half a step of the samples */
	assert_near(b->least_cycles, 8, 0.3);
	assert_near(b->most_cycles, 33, 0.3);
	assert_true(b->uncertainty_ns > 0 && b->uncertainty_ns < 32);
	assert_null(find_problem(r, "warning", "bound"));
	/* what the plan states is no quantity that was measured */
	assert_int_equal(r->cells[0].quantity_count, 0);
	result_destroy(r);
}

static void packets_that_are_over_it_are_named(void **state)
{
	struct result *r = result_of(40, 0, 6);
	const struct bound_result *b = r->cells[0].bound;

	(void)state;
	assert_int_equal(b->under, 210);
	assert_int_equal(b->over, 210);
	assert_near(b->least_cycles, -12, 0.3);
	assert_int_equal(b->worst_count, 8);
	for (uint32_t i = 0; i < b->worst_count; i++) {
		assert_int_equal((int)b->worst_packet[i] % 2, 1);
		assert_near(b->worst_cycles[i], -12, 0.3);
	}
	assert_non_null(find_problem(
		r, "warning", "210 of 420 packets are over the vendor's bound of 160.0 ns, in cycles: packets "));
	result_destroy(r);
}

static void inserted_headers_push_it_out(void **state)
{
	/* 20 cycles for 1217 to 1280 bytes of a 64-byte bus */
	struct result *r = result_of(40, 1217, 6);

	(void)state;
	assert_near(r->cells[0].bound->bound_ns, 240, 1e-9);
	assert_int_equal(r->cells[0].bound->under, 420);
	result_destroy(r);
}

static void near_it_is_neither_under_nor_over(void **state)
{
	struct result *r = result_of(52, 0, 6);

	(void)state;
	assert_int_equal(r->cells[0].bound->under, 210);
	assert_int_equal(r->cells[0].bound->unsure, 210);
	assert_int_equal(r->cells[0].bound->over, 0);
	result_destroy(r);
}

static void too_few_blocks_judge_nothing(void **state)
{
	struct result *r = result_of(1000, 0, 5);

	(void)state;
	assert_true(isnan(r->cells[0].bound->uncertainty_ns));
	assert_int_equal(r->cells[0].bound->unsure, 420);
	assert_near(r->cells[0].bound->least_cycles, 948, 0.3);
	assert_non_null(find_problem(r, "note", "whether packets stay under the bound of 4000.0 ns is not known"));
	result_destroy(r);
}

static void a_store_with_nonsense_has_no_bound(void **state)
{
	struct result *r = result_of(-3, 0, 6);

	(void)state;
	assert_int_equal(r->cells[0].bound_count, 0);
	result_destroy(r);
}

static int summary(const struct result *r, FILE *out, struct err *err)
{
	const struct terminal_style style = { .width = 160 };

	return report_print_summary(r, out, &style, err);
}

static void every_renderer_shows_it(void **state)
{
	struct result *r = result_of(40, 0, 6);
	char *text;

	(void)state;
	text = text_of(r, summary);
	assert_non_null(strstr(text, "worst case"));
	assert_non_null(strstr(text, "210"));
	free(text);
	text = text_of(r, html_write);
	assert_non_null(strstr(text, "The vendor's worst case"));
	assert_non_null(strstr(text, "<td class=\"n bad\">210</td>"));
	free(text);
	text = json_of(r);
	assert_non_null(strstr(text, "\"over\": 210"));
	free(text);
	result_destroy(r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_bound_that_holds),           TEST(packets_that_are_over_it_are_named),
		TEST(inserted_headers_push_it_out), TEST(near_it_is_neither_under_nor_over),
		TEST(too_few_blocks_judge_nothing), TEST(a_store_with_nonsense_has_no_bound),
		TEST(every_renderer_shows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
