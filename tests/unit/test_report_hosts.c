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

#include "fake_plan.h"
#include "report/html.h"
#include "report/result.h"
#include "report/terminal.h"
#include "scratch.h"
#include "store/merge.h"

/* Two hosts, every other block each, on which the first cell differs and the second does not. */
enum { BLOCKS = 12, PROBES = 8, PARTS = 2 };

static char dirs[PARTS + 1][64];

static int setup(void **state)
{
	if (make_scratch(state) != 0)
		return -1;
	for (int i = 0; i <= PARTS; i++)
		snprintf(dirs[i], sizeof(dirs[i]), "%s/%d", scratch, i);
	return 0;
}

/* Nothing else may lie beside them. */
static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i <= PARTS; i++)
		remove_tree(dirs[i]);
	return rmdir(scratch);
}

static int64_t figure_of(const struct turn *turn, int host)
{
	if (turn->cell == 2)
		return 40;
	return 40 + (turn->cell == 0 ? 150 + 30 * host : 300) + (turn->block * 7 + turn->cell) % 5;
}

static void fill(int host, const struct plan *plan)
{
	const struct stored_fact fact = { "host.name", host ? "beta" : "alpha" };
	struct err err = { 0 };
	struct store *s;

	assert_int_equal(store_open_write(dirs[host], plan, &s, &err), 0);
	assert_int_equal(store_put_facts(s, &fact, 1, &err), 0);
	for (uint32_t t = 0; t < plan->turn_count; t++) {
		const struct turn *turn = &plan->turns[t];
		struct run_record record = { .tsc_hz = 1e9, .tsc_tick_ns = 1, .tsc_hz_u_ppm = 1 };
		struct pair pairs[PROBES];

		if (turn->block % PARTS != (uint32_t)host)
			continue;
		record.ledger.sent = record.ledger.fate[FATE_MATCHED] = PROBES;
		for (uint32_t i = 0; i < PROBES; i++)
			pairs[i] = (struct pair){ .seq = i,
						  .path_ticks = 1000 + figure_of(turn, host),
						  .bypass_ticks = 1000 };
		assert_int_equal(store_begin_restart(s, t, &err), 0);
		assert_int_equal(store_put_run(s, &record, pairs, PROBES, &err), 0);
		assert_int_equal(store_commit_restart(s, NULL, NULL, &err), 0);
	}
	store_close(s);
}

static struct result *result_at(const char *dir)
{
	struct result *result = NULL;
	struct err err = { 0 };
	struct store *s;

	if (store_open_read(dir, &s, &err) < 0 || result_build(s, &result, &err) < 0)
		fail_msg("%s", err.message);
	store_close(s);
	return result;
}

static bool has_problem(const struct result *r, const char *about, const char *words)
{
	for (uint32_t i = 0; i < r->problem_count; i++)
		if (strcmp(r->problems[i].about, about) == 0 && strstr(r->problems[i].text, words))
			return true;
	return false;
}

static void hosts_are_a_level_of_the_report(void **state)
{
	const struct plan *plan = fake_plan("text", BLOCKS);
	const char *const sources[] = { dirs[0], dirs[1] };
	struct terminal_style style = { .width = 120 };
	const struct cell_result *c;
	struct store_merged merged;
	struct result *result;
	struct err err = { 0 };
	char *text = NULL;
	size_t length;
	FILE *out;

	(void)state;
	fill(0, plan);
	fill(1, plan);
	assert_int_equal(store_merge(dirs[PARTS], sources, PARTS, &merged, &err), 0);
	result = result_at(dirs[PARTS]);
	c = &result->cells[0];
	assert_int_equal(c->host_count, 2);
	assert_string_equal(c->hosts[0].host, "alpha");
	assert_int_equal(c->hosts[0].restarts, BLOCKS / 2);
	assert_true(c->hosts[0].median_ns >= 150 && c->hosts[0].median_ns <= 154);
	assert_true(c->hosts[1].median_ns >= 180 && c->hosts[1].median_ns <= 184);
	assert_true(c->host_icc > 0.9);
	/* two hosts 30 ns apart: sd 30 / sqrt 2 */
	assert_float_equal(c->between_hosts_sd_ns, 30 / sqrt(2), 2);
	assert_true(c->host_icc_interval.low > 0);
	assert_true(has_problem(result, c->title, "is between its 2 hosts"));
	/* the other cell's hosts are alike */
	assert_int_equal(result->cells[1].host_count, 2);
	assert_true(result->cells[1].host_icc < 0.3);
	assert_false(has_problem(result, result->cells[1].title, "hosts"));
	assert_string_equal(result->restarts[0].host, "alpha");
	out = open_memstream(&text, &length);
	assert_int_equal(report_print_summary(result, out, &style, &err), 0);
	fclose(out);
	assert_non_null(strstr(text, "beta"));
	free(text);
	out = open_memstream(&text, &length);
	assert_int_equal(html_write(result, out, &err), 0);
	fclose(out);
	assert_non_null(strstr(text, "<h2>By host</h2>"));
	assert_non_null(strstr(text, "<td>beta</td>"));
	free(text);
	result_destroy(result);
}

static void one_host_is_no_level(void **state)
{
	const struct plan *plan = fake_plan("text", BLOCKS);
	struct result *result;

	(void)state;
	fill(0, plan);
	result = result_at(dirs[0]);
	assert_int_equal(result->cells[0].host_count, 0);
	assert_true(isnan(result->cells[0].host_icc));
	result_destroy(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hosts_are_a_level_of_the_report, setup, teardown),
		cmocka_unit_test_setup_teardown(one_host_is_no_level, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
