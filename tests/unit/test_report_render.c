/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/csv.h"
#include "report/figures.h"
#include "report/html.h"
#include "report/json.h"
#include "report/output.h"
#include "report/terminal.h"
#include "page_check.h"
#include "report_bed.h"

/* The forms of a result: documents that come back, a page, a table, files and figures. */

/* --- documents --- */

static void json_comes_back_whole(void **state)
{
	struct synthetic s = plain();
	struct err err = { 0 };
	struct result *r, *again = NULL;
	char *first, *second, *shown, *shown_again;

	(void)state;
	s.lost_every = 50;
	s.failed_turn = 2;
	r = result_of(&s);
	first = json_of(r);
	assert_non_null(strstr(first, "\"p99\": \"lost\""));
	assert_non_null(strstr(first, "\"p99.99\": \"n<36887\""));
	assert_non_null(strstr(first, "\"net_ns\": 149.5"));
	if (result_load_text(first, strlen(first), "memory", &again, &err) != 0)
		fail_msg("%s", err.message);
	second = json_of(again);
	assert_string_equal(first, second);
	shown = terminal_of(r, true, 120, CELLS_AND_BUDGET);
	shown_again = terminal_of(again, true, 120, CELLS_AND_BUDGET);
	assert_string_equal(shown, shown_again);
	free(first);
	free(second);
	free(shown);
	free(shown_again);
	result_destroy(r);
	result_destroy(again);
}

static void bad_json_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "", "not JSON" },
		{ "[]", "no \"schema\"" },
		{ "{\"schema\": 2}", "reads 1 to 1" },
		{ "{\"schema\": \"1\"}", "no \"schema\"" },
		{ "{\"schema\": 1, \"name\": 5}", "name is not text" },
		{ "{\"schema\": 1, \"cells\": {}}", "cells is not a list" },
		{ "{\"schema\": 1, \"cells\": [{\"net_ns\": \"x\"}]}", "cells[0].net_ns is not a number" },
		{ "{\"schema\": 1, \"cells\": [{\"gross\": {\"p99\": \"n<\"}}]}", "cells[0].gross.p99 is not" },
		{ "{\"schema\": 1, \"cells\": [{\"runs_valid\": -1}]}", "cells[0].runs_valid is not a count" },
		{ "{\"schema\": 1, \"cells\": [{\"ecdf_p\": [1]}]}", "differ in length" },
		{ "{\"schema\": 1, \"cells\": [{\"values\": [\"x\"]}]}", "longer than axes" },
		{ "{\"schema\": 1, \"restarts\": [{\"cell\": 1}]}", "there are 0 cells" },
		{ "{\"schema\": 1, \"schema\": 1}", "not JSON" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { 0 };
		struct result *r = NULL;

		assert_true(result_load_text(bad[i].text, strlen(bad[i].text), "x.json", &r, &err) < 0);
		assert_null(r);
		assert_int_equal(err.kind, ERR_USAGE);
		if (!strstr(err.message, bad[i].message) || strncmp(err.message, "x.json", 6) != 0)
			fail_msg("%s: '%s' lacks '%s'", bad[i].text, err.message, bad[i].message);
	}
}

/* Everything that a reader may leave out is left out, whatever the measure is called. */
static void draw_sparse(const char *text)
{
	struct err err = { 0 };
	struct result *r;
	struct figures_outcome outcome;
	char *shown, path[128];
	size_t length;
	FILE *f = open_memstream(&shown, &length);

	if (result_load_text(text, strlen(text), "x", &r, &err) != 0)
		fail_msg("%s", err.message);
	assert_int_equal(html_write(r, f, &err), 0);
	fclose(f);
	if (ill_formed(shown))
		fail_msg("ill-formed at: %.200s", ill_formed(shown));
	free(shown);
	free(terminal_of(r, false, 40, CELLS_AND_BUDGET));
	free(terminal_of(r, true, 120, CELLS_AND_BUDGET));
	snprintf(path, sizeof(path), "%s/sparse", scratch);
	assert_int_equal(csv_write(r, path, &err), 0);
	assert_int_equal(figures_write(r, path, "/bin/false", &outcome, &err), 0);
	assert_int_equal(outcome.drawn, 0);
	result_destroy(r);
}

static void a_sparse_document_can_be_drawn(void **state)
{
	static const char *const measures[] = { "differential", "transit", "control", "" };
	char text[640];

	(void)state;
	draw_sparse("{\"schema\": 1, \"cells\": [{}], \"restarts\": [{}], \"blocks\": [{}], "
		    "\"facts\": [{}], \"problems\": [{}], \"events\": [{}]}");
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		snprintf(text, sizeof(text),
			 "{\"schema\": 1, \"measure\": \"%s\", \"axes\": [\"a\"], \"headlines\": 9, "
			 "\"cells\": [{\"quantities\": [{}, {\"name\": \"q\", \"value\": 1}], \"chain\": [{}]}], "
			 "\"quantities\": [{}, {\"name\": \"q\"}, {\"name\": \"r\"}], "
			 "\"families\": [{}], \"ratios\": [{}, {\"ratio\": 2}, {\"ratio\": -1}], "
			 "\"sweeps\": [{}, {\"series\": [{}, {\"points\": [{}, {\"x\": 0, \"value\": \"lost\"}, "
			 "{\"x\": 1e300, \"value\": -3}]}]}]}",
			 measures[i]);
		draw_sparse(text);
	}
}

/* --- the page --- */

static const char hostile[] = "<script>alert('x')</script>\" onload=\"x & \033[31mred\x01\xff\xc3\x28 \xe2\x80\xae";

static void the_page_is_well_formed_and_escapes_everything(void **state)
{
	struct synthetic_program programs[] = { { .name = hostile, .net_ns = 149 } };
	struct synthetic s = plain();
	struct err err = { 0 };
	struct result *r;
	char path[128], *page;
	const char *bad;

	(void)state;
	s.name = hostile;
	s.plan_text = hostile;
	s.programs = programs;
	s.program_count = 1;
	s.failed_turn = 1;
	s.unbalanced_turn = 0;
	r = result_of(&s);
	snprintf(path, sizeof(path), "%s/page.html", scratch);
	assert_int_equal(output_html(path, r, &err), 0);
	page = file_text(path);
	bad = ill_formed(page);
	if (bad)
		fail_msg("ill-formed at: %.80s", bad);
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "http://"));
	assert_null(strstr(page, "https://"));
	assert_non_null(strstr(page, "&lt;script&gt;"));
	for (const char *c = page; *c; c++)
		assert_true((unsigned char)*c >= 0x20 || *c == '\n' || *c == '\t');
	assert_null(strstr(page, "\xff"));
	assert_null(strstr(page, "\xe2\x80\xae"));
	free(page);
	/* And no escape sequence reaches the terminal. */
	page = terminal_of(r, true, 100, CELLS_AND_BUDGET);
	assert_null(strchr(page, '\033'));
	assert_null(strchr(page, '\x01'));
	free(page);
	/* The JSON of it is JSON. */
	page = json_of(r);
	result_destroy(r);
	if (result_load_text(page, strlen(page), "x", &r, &err) != 0)
		fail_msg("%s", err.message);
	free(page);
	result_destroy(r);
}

static void the_checker_of_pages_finds_what_is_wrong(void **state)
{
	(void)state;
	assert_null(ill_formed("<a b=\"x>y\"><c/>&amp;</a>"));
	assert_non_null(ill_formed("<a><b></a></b>"));
	assert_non_null(ill_formed("<a>"));
	assert_non_null(ill_formed("<a>&</a>"));
	assert_non_null(ill_formed("<a b=\"></a>"));
}

static int half_a_page(const struct result *r, FILE *out, void *context, struct err *err)
{
	(void)r;
	(void)context;
	fputs("<html><body>", out);
	fflush(out);
	return err_set(err, ERR_HOST, ENOSPC, "disk full");
}

static void a_file_that_cannot_be_written_leaves_the_old_one(void **state)
{
	struct synthetic s = plain();
	struct err err = { 0 };
	struct result *r = result_of(&s);
	char path[128], place[64], *before, *after;

	(void)state;
	snprintf(path, sizeof(path), "%s/nowhere/x.html", scratch);
	assert_true(output_html(path, r, &err) < 0);
	assert_int_equal(err.kind, ERR_HOST);
	assert_non_null(strstr(err.message, path));
	assert_true(csv_write(r, "/dev/null", &err) < 0);
	/* half of it is written, and then no more: the old page is whole, and nothing lies beside it */
	snprintf(place, sizeof(place), "%s/place", scratch);
	assert_int_equal(mkdir(place, 0777), 0);
	snprintf(path, sizeof(path), "%s/x.html", place);
	assert_int_equal(output_html(path, r, &err), 0);
	before = file_text(path);
	assert_int_equal(output_file(path, half_a_page, r, NULL, &err), -ENOSPC);
	after = file_text(path);
	assert_string_equal(before, after);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(place), 0);
	free(before);
	free(after);
	result_destroy(r);
}

/* --- terminal --- */

static void the_table_fits_its_width(void **state)
{
	struct synthetic s = plain();
	struct result *r = result_of(&s);

	(void)state;
	for (unsigned width = 40; width <= 160; width += 15) {
		char *text = terminal_of(r, width % 2, width, CELLS_AND_BUDGET), *end, *line;
		unsigned lines = 0;

		assert_non_null(strstr(text, "forward"));
		end = strstr(text, "ledger, probes");
		assert_non_null(end);
		*end = '\0';
		line = strstr(text, "  program"); /* the title above the table is as long as it is */
		assert_non_null(line);
		for (line = strtok(line, "\n"); line; line = strtok(NULL, "\n"), lines++)
			if (strncmp(line, "  ns by", 7) != 0 && width >= 60 && terminal_columns(line) > width)
				fail_msg("%u columns in %u: %s", terminal_columns(line), width, line);
		assert_true(lines >= 3); /* the head, and a row of each program */
		if (!(width % 2))
			for (char *c = text; *c; c++)
				assert_true((unsigned char)*c < 0x80);
		free(text);
	}
	result_destroy(r);
}

/* --- files --- */

static void csv_has_a_row_for_everything(void **state)
{
	static const struct {
		const char *name;
		int rows;
	} files[] = { { "cells.csv", 3 },      { "restarts.csv", 24 }, { "runs.csv", 72 },
		      { "ecdf.csv", 3 * 105 }, { "blocks.csv", 6 },    { "packets.csv", 3 * 420 } };
	struct synthetic_program programs[] = { { .name = "a,\"b\"", .net_ns = 149 }, { .name = "c", .net_ns = 10 } };
	struct synthetic s = plain();
	struct err err = { 0 };
	struct result *r;
	char path[128], file[256], *text;

	(void)state;
	s.programs = programs;
	r = result_of(&s);
	snprintf(path, sizeof(path), "%s/csv", scratch);
	assert_int_equal(csv_write(r, path, &err), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int rows = -1, columns = -1;

		snprintf(file, sizeof(file), "%s/%s", path, files[i].name);
		text = file_text(file);
		for (char *at = text; *at; rows++) {
			int n = 1;

			for (bool quoted = false; *at != '\r' || quoted; at++) {
				assert_true(*at != '\0');
				quoted ^= *at == '"';
				n += *at == ',' && !quoted;
			}
			at += 2;
			if (columns >= 0)
				assert_int_equal(n, columns);
			columns = n;
		}
		assert_int_equal(rows, files[i].rows);
		free(text);
	}
	snprintf(file, sizeof(file), "%s/cells.csv", path);
	text = file_text(file);
	assert_non_null(strstr(text, "\"a,\"\"b\"\"\""));
	assert_non_null(strstr(text, ",gross.p50,"));
	free(text);
	result_destroy(r);
}

static void a_figure_that_cannot_be_drawn_is_said(void **state)
{
	struct synthetic s = plain();
	struct err err = { 0 };
	struct result *r = result_of(&s);
	struct figures_outcome outcome;
	char path[128], file[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/figures", scratch);
	assert_int_equal(figures_write(r, path, "/nowhere/gnuplot", &outcome, &err), 0);
	assert_int_equal(outcome.drawn, 0);
	assert_non_null(strstr(outcome.figure[0].reason, "not installed"));
	assert_true(figures_check(&outcome, &err) < 0);
	assert_int_equal(err.kind, ERR_HOST);
	assert_non_null(strstr(err.message, "ecdf, net, restarts, packets"));
	assert_int_equal(figures_write(r, path, "/bin/false", &outcome, &err), 0);
	assert_non_null(strstr(outcome.figure[3].reason, "status 1"));
	/* One that succeeds without drawing is found out too. */
	assert_int_equal(figures_write(r, path, "/bin/true", &outcome, &err), 0);
	assert_int_equal(outcome.drawn, 0);
	snprintf(file, sizeof(file), "%s/ecdf.gp", path);
	assert_int_equal(access(file, R_OK), 0);
	snprintf(file, sizeof(file), "%s/ecdf.svg", path);
	assert_int_not_equal(access(file, R_OK), 0);
	result_destroy(r);
}

static void gnuplot_draws_them_all(void **state)
{
	struct synthetic_program programs[] = { { .name = "it's \"x\" `id` $(id)", .net_ns = 149, .restart_ns = 1 } };
	struct synthetic s = plain();
	struct err err = { 0 };
	struct figures_outcome outcome;
	struct result *r;
	char path[128];

	(void)state;
	if (access("/usr/bin/gnuplot", X_OK) != 0) {
		print_message("SKIP: no gnuplot here\n");
		skip();
	}
	s.programs = programs;
	s.program_count = 1;
	r = result_of(&s);
	snprintf(path, sizeof(path), "%s/drawn", scratch);
	assert_int_equal(figures_write(r, path, NULL, &outcome, &err), 0);
	assert_int_equal(outcome.count, 4);
	for (unsigned i = 0; i < outcome.count; i++)
		if (!outcome.figure[i].drawn)
			fail_msg("%s: %s", outcome.figure[i].name, outcome.figure[i].reason);
	assert_int_equal(figures_check(&outcome, NULL), 0);
	result_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_comes_back_whole),
		cmocka_unit_test(bad_json_is_refused_with_its_place),
		cmocka_unit_test(a_sparse_document_can_be_drawn),
		cmocka_unit_test(the_page_is_well_formed_and_escapes_everything),
		cmocka_unit_test(the_checker_of_pages_finds_what_is_wrong),
		cmocka_unit_test(a_file_that_cannot_be_written_leaves_the_old_one),
		cmocka_unit_test(the_table_fits_its_width),
		cmocka_unit_test(csv_has_a_row_for_everything),
		cmocka_unit_test(a_figure_that_cannot_be_drawn_is_said),
		cmocka_unit_test(gnuplot_draws_them_all),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
