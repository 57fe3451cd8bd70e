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

#include "report/compare.h"
#include "report/json.h"

/* A result with one cell, as JSON, since that is how CI keeps its baselines. */
static struct result *result_with(const char *label, const char *net, const char *u, const char *p50)
{
	char text[1024];
	struct result *r;
	struct err err = { 0 };
	int n = snprintf(
		text, sizeof(text),
		"{\"schema\": 1, \"name\": \"x\", \"cells\": [{\"index\": 0, \"label\": \"%s\", \"title\": "
		"\"t\", \"net_ns\": %s, \"u_ns\": %s, \"dof\": 10, \"gross\": {\"p50\": %s}}], \"restarts\": [",
		label, net, u, p50);

	for (int i = 0; i < 6; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "%s{\"cell\": 0, \"state\": \"valid\", \"gross\": {\"p50\": %d}}", i ? "," : "",
			      1000 + i);
	snprintf(text + n, sizeof(text) - (size_t)n, "]}");
	if (result_load_text(text, strlen(text), "x", &r, &err) != 0)
		fail_msg("%s", err.message);
	return r;
}

static struct compared_cell compared(const char *a, const char *b, const char *u, unsigned quantile)
{
	const char *metric = quantile ? "p50" : "net";
	struct result *was = result_with("c", quantile ? "1" : a, u, a),
		      *now = result_with("c", quantile ? "1" : b, u, b);
	struct compared c;
	struct compared_cell ret;
	struct arena arena;

	arena_init(&arena, 0);
	assert_int_equal(compare_results(was, now, metric, &arena, &c, NULL), 0);
	assert_int_equal(c.count, 1);
	ret = c.cells[0];
	ret.label = ret.title = NULL; /* they go with the results */
	arena_release(&arena);
	result_destroy(was);
	result_destroy(now);
	return ret;
}

static void the_ratio_is_second_over_first(void **state)
{
	struct compared_cell c = compared("100", "110", "1", 0);

	(void)state;
	assert_true(fabs(c.ratio - 1.1) < 1e-9);
	assert_true(c.low > 1.05 && c.low < 1.1 && c.high > 1.1 && c.high < 1.15);
	assert_string_equal(c.why, "");
	c = compared("1000", "1000", "1", 1); /* p50, its uncertainty from the restarts */
	assert_true(c.ratio == 1 && c.low < 1 && c.high > 1);
}

static void what_cannot_be_compared_says_why(void **state)
{
	struct compared_cell c = compared("100", "110", "null", 0);

	(void)state;
	assert_true(fabs(c.ratio - 1.1) < 1e-9 && isnan(c.low));
	assert_string_equal(c.why, "fewer than 6 restarts");
	c = compared("null", "110", "1", 0);
	assert_true(isnan(c.ratio));
	assert_string_equal(c.why, "no figure in the first");
	c = compared("100", "\"lost\"", "1", 1);
	assert_true(isinf(c.ratio));
	c = compared("\"lost\"", "\"lost\"", "1", 1);
	assert_true(isnan(c.ratio));
	c = compared("100", "\"n<368\"", "1", 1);
	assert_string_equal(c.why, "no figure in the second");
	c = compared("0", "5", "1", 0);
	assert_true(isnan(c.low));
	assert_string_not_equal(c.why, "");
}

static void results_without_a_common_cell_are_refused(void **state)
{
	struct result *a = result_with("a", "1", "1", "1"), *b = result_with("b", "1", "1", "1");
	struct compared c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	arena_init(&arena, 0);
	assert_true(compare_results(a, b, "net", &arena, &c, &err) < 0);
	assert_int_equal(err.kind, ERR_USAGE);
	arena_release(&arena);
	result_destroy(a);
	result_destroy(b);
}

static void a_metric_that_neither_has_is_refused_with_what_there_is(void **state)
{
	struct result *a = result_with("c", "1", "1", "1");
	struct compared c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	arena_init(&arena, 0);
	assert_true(compare_results(a, a, "p75", &arena, &c, &err) < 0);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "neither result has 'p75'"));
	arena_release(&arena);
	result_destroy(a);
}

static void conditions_are_read_strictly(void **state)
{
	static const char *const bad[] = { "",       "p50",    "p50>",      "p50>5",   "p50>5ns", "P5>5%",
					   "p50=5%", "p50>x%", "p50>-100%", "p50>5%x", ">5%",     "p50>inf%" };
	struct condition c;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&err, 0, sizeof(err));
		if (condition_parse(bad[i], &c, &err) == 0)
			fail_msg("'%s' was accepted", bad[i]);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_non_null(strstr(err.message, "expected METRIC"));
	}
	assert_int_equal(condition_parse("p99.9>+5%", &c, NULL), 0);
	assert_true(c.above && fabs(c.limit - 1.05) < 1e-12);
	assert_string_equal(c.metric, "p99.9");
	assert_int_equal(condition_parse("net<-10 %", &c, NULL), 0);
	assert_true(!c.above && fabs(c.limit - 0.9) < 1e-12 && strcmp(c.metric, "net") == 0);
}

static enum verdict judged(const char *text, struct compared_cell cell, bool proved)
{
	struct condition c;

	assert_int_equal(condition_parse(text, &c, NULL), 0);
	return condition_judge(&c, &cell, proved);
}

static void conditions_judge(void **state)
{
	struct compared_cell slower = compared("100", "106", "1", 0), same = compared("100", "104", "1", 0);
	struct compared_cell lost = compared("100", "\"lost\"", "1", 1), refused = compared("100", "null", "1", 0);

	(void)state;
	assert_int_equal(judged("net>+5%", slower, false), VERDICT_FAIL);
	assert_int_equal(judged("net>+5%", same, false), VERDICT_PASS);
	assert_int_equal(judged("net<+5%", same, false), VERDICT_FAIL);
	assert_int_equal(judged("net>+5%", slower, true), VERDICT_PASS); /* its interval reaches below */
	assert_int_equal(judged("net>+1%", slower, true), VERDICT_FAIL);
	assert_int_equal(judged("p50>+5%", lost, false), VERDICT_FAIL);
	assert_int_equal(judged("p50>+5%", lost, true), VERDICT_FAIL);
	assert_int_equal(judged("net>+5%", refused, false), VERDICT_UNKNOWN);
	assert_int_equal(judged("net>+5%", compared("100", "110", "null", 0), true), VERDICT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ratio_is_second_over_first),
		cmocka_unit_test(what_cannot_be_compared_says_why),
		cmocka_unit_test(results_without_a_common_cell_are_refused),
		cmocka_unit_test(a_metric_that_neither_has_is_refused_with_what_there_is),
		cmocka_unit_test(conditions_are_read_strictly),
		cmocka_unit_test(conditions_judge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
