/* SPDX-License-Identifier: Apache-2.0 */
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

#include "report/compare.h"
#include "report/csv.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html.h"
#include "report/json.h"
#include "report/terminal.h"
#include "near.h"
#include "page_check.h"
#include "report_look.h"
#include "scratch.h"
#include "synthetic_values.h"

/* Results of measures whose runs yield numbers: known values in, figures, comparisons and exponents out. */

static struct result *result_of(const struct synthetic_values *s)
{
	struct result *r = NULL;
	struct err err = { 0 };
	struct store *store;

	assert_int_equal(make_scratch(NULL), 0);
	if (synthetic_values_write(s, scratch, &err) != 0 || store_open_read(scratch, &store, &err) != 0)
		fail_msg("%s", err.message);
	if (result_build(store, &r, &err) != 0)
		fail_msg("%s", err.message);
	store_close(store);
	assert_int_equal(remove_scratch(NULL), 0);
	return r;
}

/* Restarts 0, +1, -1, +2, -2, +3 per cent; the three runs of each 0, +0.1, -0.1 per cent around. */
static double scatter(uint32_t restart, uint32_t run)
{
	double s = restart % 2 ? (restart + 1) / 2 : -(double)(restart / 2);

	return 1 + s / 100 + (run % 3 == 1 ? 0.001 : run % 3 == 2 ? -0.001 : 0);
}

enum { WALL, RATE, ACTING, TINY };

/* Synchronous takes 1.6 times as long to insert, and just as long to read. */
static double control_value(const char *const *at, unsigned name, uint32_t restart, uint32_t run, struct rng *rng)
{
	double entries = atof(at[1]), switches = atof(at[0]);
	bool sync = strcmp(at[3], "sync") == 0, insert = strcmp(at[2], "insert") == 0;
	double wall = switches * entries * (insert ? 0.4 : 0.04) * (sync && insert ? 1.6 : 1) * scatter(restart, run);

	(void)rng;
	switch (name) {
	case WALL:
		return wall;
	case RATE:
		return switches * entries / wall * 1000;
	case ACTING: /* found in the first run only, and never in the largest cell */
		return run ? NAN : entries == 1000 ? INFINITY : 12.5;
	default:
		return 1.23456789e-7 * scatter(restart, run);
	}
}

static struct synthetic_values control(void)
{
	return (struct synthetic_values){
		.measure = MEASURE_CONTROL,
		.name = "control",
		.axes = { "switches", "count", "operation", "mode" },
		.values = { { "1", "8" }, { "10", "100", "1000" }, { "insert", "read" }, { "sync", "async" } },
		.restarts = 6,
		.runs = 3,
		.names = { { "batch_wall", "ms", 0 },
			   { "entries_rate", "1/s", 0 },
			   { "acting", "us", 0 },
			   { "tiny", "s", 0 } },
		.value_of = control_value,
		.failed_turn = UINT32_MAX,
	};
}

static const struct quantity_result *quantity(const struct result *r, const char *label, const char *name,
					      const char *unit)
{
	const struct cell_result *c = result_find_cell(r, label);
	const struct quantity_result *q = c ? cell_quantity(c, name, unit) : NULL;

	if (!q)
		fail_msg("no %s in '%s'", name, label);
	return q;
}

static void a_quantity_is_the_median_of_medians(void **state)
{
	static const char cell[] = "switches=8 count=100 operation=insert mode=sync";
	struct synthetic_values s = control();
	struct result *r = result_of(&s);
	char text[FORMAT_BYTES];
	const struct quantity_result *q = quantity(r, cell, "batch_wall", "ms");
	const double wall = 8 * 100 * 0.4 * 1.6;

	(void)state;
	/* restarts at 0.98 0.99 1 1.01 1.02 1.03: the median lies between 1 and 1.01 */
	assert_near(q->value, wall * 1.005, 1e-9);
	assert_near(q->order.low, wall * 0.98, 1e-9);
	assert_near(q->order.high, wall * 1.03, 1e-9);
	assert_near(q->order.level, 96.875, 1e-9);
	assert_near(q->interval.level, 95, 1e-9);
	assert_true(q->interval.low > q->order.low && q->interval.high < q->order.high);
	assert_true(span_is(&q->bootstrap));
	assert_near(q->between_sd, wall * 0.0187083, wall * 1e-6);
	assert_true(q->within_sd > 0 && q->u > 0 && q->dof == 5);
	assert_int_equal(q->runs, 18);
	assert_int_equal(q->restart_count, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_near(q->restart_values[i], wall * scatter(i, 0), 1e-9);
	q = quantity(r, cell, "acting", "us");
	assert_near(q->value, 12.5, 0);
	assert_true(q->runs == 6 && q->runs_without == 12);
	q = quantity(r, "switches=1 count=1000 operation=read mode=async", "acting", "us");
	assert_true(isinf(q->value) && isnan(q->u));
	assert_string_equal(format_quantity(q, text), "never");
	assert_int_equal(r->quantity_count, 4);
	assert_string_equal(r->quantities[0].name, "batch_wall");
	result_destroy(r);
}

static const struct ratio_family *family(const struct result *r, const char *name, const char *group)
{
	for (uint32_t i = 0; i < r->family_count; i++)
		if (strcmp(r->families[i].quantity, name) == 0 && strcmp(r->families[i].group, group) == 0)
			return &r->families[i];
	fail_msg("no comparison of %s, %s", name, group);
	return NULL;
}

static void cells_that_differ_in_the_mode_are_compared(void **state)
{
	struct synthetic_values s = control();
	struct result *r = result_of(&s);
	const struct ratio_family *f = family(r, "batch_wall", "operation=insert");

	(void)state;
	assert_string_equal(f->over, "sync");
	assert_string_equal(f->base, "async");
	assert_true(f->count == 6 && f->judged == 6 && f->apart == 6 && f->larger == 6 && f->significant == 6);
	assert_near(f->least, 1.6, 1e-9);
	assert_string_equal(f->statement,
			    "batch_wall, operation=insert, sync over async: intervals apart in 6 of 6 cells "
			    "(sync larger in 6); 6 differ at 5 % by Holm; ratios 1.6 to 1.6");
	f = family(r, "batch_wall", "operation=read");
	assert_true(f->judged == 6 && f->apart == 0 && f->significant == 0);
	for (uint32_t i = 0; i < r->ratio_count; i++) {
		const struct ratio_result *q = &r->ratios[i];

		assert_true(isnan(q->p) || q->p_holm >= q->p);
		if (&r->families[q->family] == f)
			assert_true(q->interval.low < 1 && q->interval.high > 1 && q->p == 1);
	}
	/* what is lost in one cell is no number to compare, and costs no other cell its ratio */
	f = family(r, "acting", "operation=insert");
	assert_true(f->count == 6 && f->judged == 4);
	result_destroy(r);
}

static void growth_is_fitted_along_axes_that_are_numbers(void **state)
{
	struct synthetic_values s = control();
	struct result *r = result_of(&s);
	unsigned fitted = 0;

	(void)state;
	for (uint32_t i = 0; i < r->sweep_count; i++) {
		const struct sweep_result *w = &r->sweeps[i];

		if (strcmp(w->quantity, "batch_wall") != 0)
			continue;
		assert_true(strcmp(w->axis, "switches") == 0 || strcmp(w->axis, "count") == 0);
		assert_int_equal(w->series_count, strcmp(w->axis, "count") == 0 ? 8 : 12);
		for (uint32_t k = 0; k < w->series_count; k++, fitted++) {
			assert_near(w->series[k].exponent, 1, 1e-9);
			assert_true(w->series[k].exponent_interval.low < 1 && w->series[k].exponent_interval.high > 1);
			assert_true(w->series[k].misfit < 1e-9);
		}
	}
	assert_int_equal(fitted, 20);
	result_destroy(r);
}

static const char *every_other(uint32_t cell, uint32_t restart, uint32_t run)
{
	(void)restart;
	return cell == 0 && run == 0 ? "the state of the switch is not what was written" : NULL;
}

static bool has_problem(const struct result *r, const char *severity, const char *part)
{
	for (uint32_t i = 0; i < r->problem_count; i++)
		if (strcmp(r->problems[i].severity, severity) == 0 && strstr(r->problems[i].text, part))
			return true;
	return false;
}

static void invalid_runs_failed_and_few_restarts_are_said(void **state)
{
	struct synthetic_values s = control();
	const struct quantity_result *q;
	struct result *r;

	(void)state;
	s.restarts = 5;
	s.invalid = every_other;
	s.failed_turn = 3;
	r = result_of(&s);
	q = quantity(r, "switches=1 count=10 operation=insert mode=sync", "batch_wall", "ms");
	assert_int_equal(q->runs, 10);
	assert_true(isnan(q->interval.low) && isnan(q->u));
	assert_near(q->interval.level, 93.75, 1e-9);
	assert_true(has_problem(r, "error", "the switch did not come up"));
	assert_true(has_problem(r, "error", "the state of the switch is not what was written"));
	assert_true(has_problem(r, "warning", "fewer than 6 valid restarts"));
	assert_true(has_problem(r, "note", "could not find acting"));
	assert_true(result_check(r, NULL) < 0);
	assert_non_null(strstr(family(r, "batch_wall", "operation=insert")->statement, "too few restarts"));
	result_destroy(r);
}

static void json_comes_back_whole(void **state)
{
	struct synthetic_values s = control();
	struct result *r = result_of(&s), *back;
	char *text = json_of(r), *again;
	struct err err = { 0 };

	(void)state;
	if (result_load_text(text, strlen(text), "x", &back, &err) != 0)
		fail_msg("%s", err.message);
	again = json_of(back);
	assert_string_equal(text, again);
	/* a number in s keeps its digits */
	assert_near(quantity(back, "switches=1 count=10 operation=insert mode=sync", "tiny", "s")->value,
		    1.23456789e-7 * 1.005, 1e-18);
	free(text);
	free(again);
	result_destroy(r);
	result_destroy(back);
}

static void the_terminal_has_a_row_a_cell_within_its_width(void **state)
{
	struct synthetic_values s = control();
	struct result *r = result_of(&s);

	(void)state;
	for (unsigned width = 80; width <= 140; width += 30) {
		char *text = terminal_of(r, true, width, 0), *rest = text;
		unsigned rows = 0;

		assert_non_null(strstr(text, "batch_wall ms"));
		assert_non_null(strstr(text, "95 % of restarts"));
		assert_non_null(strstr(text, "sync over async: intervals apart in 6 of 6"));
		assert_non_null(strstr(text, "batch_wall ~ count^b"));
		assert_null(strstr(text, "ledger"));
		assert_null(strstr(text, "entries_rate, operation"));
		for (char *line; (line = strsep(&rest, "\n"));) {
			if (terminal_columns(line) > width)
				fail_msg("%u columns, not %u: %s", terminal_columns(line), width, line);
			rows += strstr(line, "6/6") != NULL;
		}
		assert_int_equal(rows, 24);
		free(text);
	}
	char *text = terminal_of(r, true, 120, TERMINAL_CELLS);

	assert_non_null(strstr(text, "entries_rate 1/s"));
	assert_non_null(strstr(text, "entries_rate, operation=read"));
	free(text);
	result_destroy(r);
}

static double slower_value(const char *const *at, unsigned name, uint32_t restart, uint32_t run, struct rng *rng)
{
	return control_value(at, name, restart, run, rng) * (name == WALL && strcmp(at[0], "8") == 0 ? 1.25 : 1);
}

static void results_are_compared_quantity_by_quantity(void **state)
{
	struct synthetic_values s = control();
	struct result *was = result_of(&s), *now;
	struct compared c;
	struct arena arena;

	(void)state;
	s.value_of = slower_value;
	now = result_of(&s);
	arena_init(&arena, 0);
	assert_null(metric_fallback(now));
	assert_int_equal(compare_results(was, now, "batch_wall", &arena, &c, NULL), 0);
	assert_int_equal(c.count, 24);
	assert_string_equal(c.unit, "ms");
	for (uint32_t i = 0; i < c.count; i++) {
		double expected = strstr(c.cells[i].label, "switches=8") ? 1.25 : 1;

		assert_near(c.cells[i].ratio, expected, 1e-9);
		assert_true(c.cells[i].low < expected && c.cells[i].high > expected);
		assert_true(c.cells[i].low > expected * 0.9 && c.cells[i].high < expected * 1.1);
	}
	/* lost in both, and in cells where it is a number 1 */
	assert_int_equal(compare_results(was, now, "acting", &arena, &c, NULL), 0);
	for (uint32_t i = 0; i < c.count; i++)
		if (strstr(c.cells[i].label, "count=1000"))
			assert_string_equal(c.cells[i].why, "lost in both");
		else
			assert_near(c.cells[i].ratio, 1, 0);
	arena_release(&arena);
	result_destroy(was);
	result_destroy(now);
}

static char *page_of(const struct result *r)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_int_equal(html_write(r, f, NULL), 0);
	fclose(f);
	return text;
}

static void the_page_is_well_formed_and_shows_everything(void **state)
{
	struct synthetic_values s = control();
	struct result *r;
	char *page;

	(void)state;
	s.values[3][1] = "<a&b>"; /* what a plan may call a mode */
	r = result_of(&s);
	page = page_of(r);
	if (ill_formed(page))
		fail_msg("ill-formed at: %.200s", ill_formed(page));
	assert_non_null(strstr(page, "batch_wall, ms"));
	assert_non_null(strstr(page, "sync over &lt;a&amp;b&gt;: intervals apart in 6 of 6"));
	/* what it comes to stands before the tables: the summary's quantity, and no other */
	assert_true(strstr(page, "<h2>Findings</h2>") < strstr(page, "Control plane by cell"));
	assert_non_null(strstr(page, "<li>batch_wall, operation=insert, sync over"));
	assert_non_null(strstr(page, "<li>batch_wall ~ switches^"));
	assert_null(strstr(page, "<li>acting"));
	assert_non_null(strstr(page, "batch_wall along count"));
	assert_null(strstr(page, "Not drawn"));
	assert_true(!strstr(page, ">nan") && !strstr(page, "\"nan") && !strstr(page, " nan") && !strstr(page, "Mnan"));
	assert_null(strstr(page, "Net latency"));
	free(page);
	result_destroy(r);
}

static void csv_and_figures_are_written(void **state)
{
	static const struct {
		const char *name;
		unsigned lines;
	} files[] = { { "quantities.csv", 1 + 24 * 4 },
		      { "quantity_restarts.csv", 1 + 24 * 4 * 6 },
		      { "ratios.csv", 1 + 12 * 4 } };
	char path[160];
	struct synthetic_values s = control();
	struct result *r = result_of(&s);
	struct figures_outcome outcome;

	(void)state;
	assert_int_equal(make_scratch(NULL), 0);
	assert_int_equal(csv_write(r, scratch, NULL), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		unsigned lines = 0;
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", scratch, files[i].name);
		f = fopen(path, "r");
		assert_non_null(f);
		for (int c; (c = fgetc(f)) != EOF;)
			lines += c == '\n';
		fclose(f);
		assert_int_equal(lines, files[i].lines);
	}
	if (access("/usr/bin/gnuplot", X_OK) == 0) {
		assert_int_equal(figures_write(r, scratch, NULL, &outcome, NULL), 0);
		assert_int_equal(outcome.count, 2);
		for (unsigned i = 0; i < outcome.count; i++)
			if (!outcome.figure[i].drawn)
				fail_msg("%s: %s", outcome.figure[i].name, outcome.figure[i].reason);
	} else {
		print_message("SKIP: no gnuplot here: figures are not drawn\n");
	}
	assert_int_equal(remove_scratch(NULL), 0);
	result_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quantity_is_the_median_of_medians),
		cmocka_unit_test(cells_that_differ_in_the_mode_are_compared),
		cmocka_unit_test(growth_is_fitted_along_axes_that_are_numbers),
		cmocka_unit_test(invalid_runs_failed_and_few_restarts_are_said),
		cmocka_unit_test(json_comes_back_whole),
		cmocka_unit_test(results_are_compared_quantity_by_quantity),
		cmocka_unit_test(the_page_is_well_formed_and_shows_everything),
		cmocka_unit_test(csv_and_figures_are_written),
		cmocka_unit_test(the_terminal_has_a_row_a_cell_within_its_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
