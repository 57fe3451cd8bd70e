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

/* A switch that is slow after a pause of known length: where the report says that the regime changes. */

static struct result *measured(void)
{
	struct result *result = NULL;
	struct plan_bed bed;
	struct err err = { 0 };
	char text[1024];

	snprintf(text, sizeof(text),
		 "name: t\nmeasure: transit\nseed: 3\nrestarts: 6\nruns: 1\n"
		 "target: { kind: bmv2, switch: %s, start_limit: 30s, args: \"--fault-cold-sleep 3ms@4ms\" }\n"
		 "matrix: { program: [l3_lpm], interval: [20ms, 8ms, 2ms, 1ms] }\n"
		 "probes: { count: 20, deadline: 5s }\n",
		 getenv("TARE_SWITCH"));
	plan_bed_measure(text, &bed);
	assert_int_equal(bed.counts.done, 24);
	if (result_build(bed.store, &result, &err) < 0)
		fail_msg("%s", err.message);
	plan_bed_release(&bed);
	return result;
}

static void it_changes_where_it_was_told_to(void **state)
{
	const struct regime_result *g;
	struct result *r;

	(void)state;
	r = measured();
	assert_int_equal(r->regime_count, 1);
	g = &r->regimes[0];
	assert_string_equal(g->axis, "interval");
	assert_int_equal(g->step_count, 3);
	assert_string_equal(g->steps[0].from, "1ms");
	assert_true(g->steps[1].ratio > 5);
	assert_true(g->steps[1].apart);
	/* the uncertainty of a level is the host's: that it is called significant is not promised */
	assert_string_equal(g->before, "2ms");
	assert_string_equal(g->beyond, "8ms");
	assert_true(g->ratio > 5);
	assert_non_null(strstr(g->statement, g->found ? "between 2ms and 8ms" : "no change"));
	result_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_changes_where_it_was_told_to),
	};

	if (!own_host_enter())
		return 77;
	return cmocka_run_group_tests(tests, plan_bed_make, plan_bed_remove);
}
