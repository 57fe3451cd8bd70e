/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "probe/calibrate_settings.h"
#include "target/target.h"

/* What a calibrate plan may say, and what becomes of it. */

#define HEAD "name: t\nmeasure: calibrate\ntarget: { kind: bmv2 }\nmatrix: { program: [l3_lpm] }\n"

/* The first problem of a plan; NULL: there is none. Until the next call. */
static const char *problem_of(const char *probes)
{
	static char said[512];
	struct plan_problems problems;
	struct plan *plan = NULL;
	struct err err = { 0 };
	char text[1024];
	int rc;

	snprintf(text, sizeof(text), HEAD "%s\n", probes);
	rc = plan_parse(text, strlen(text), "test.yaml", ".", &plan, &problems, &err);
	if (rc < 0)
		snprintf(said, sizeof(said), "%u:%u: %s", problems.items[0].line, problems.items[0].column,
			 problems.items[0].message);
	plan_destroy(plan);
	plan_problems_release(&problems);
	return rc < 0 ? said : NULL;
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *probes, *message;
	} cases[] = {
		{ "probes: { search: bisect }", "5:19: probes.search: 'bisect'" },
		{ "probes: { carrier_loss: 100% }", "5:25: probes.carrier_loss: '100%'" },
		{ "probes: { final: 5 }", "5:18: probes.final: '5' has no unit" },
		{ "probes: { initial: 10s }", "initial: the first trials would be longer than the last" },
		{ "probes: { final: 20s }", "final: a trial would be longer than all trials at a rate" },
		{ "probes: { sum: 1s }", "sum: a trial would be longer than all trials at a rate" },
		{ "probes: { least: 2Gbps }", "least: the lowest rate is over the highest" },
		{ "probes: { interval: 600ms }", "interval: a trial would have no probe" },
		{ "probes: { width: 0% }", "probes.width: '0%'" },
		{ "probes: { rates: 10Mbps }", "rates: they are for search: sweep" },
		{ "probes: { search: sweep }", "5:19: search: sweep needs rates" },
		{ "probes: { search: sweep, rates: 10Mbps 25, final: 6s }", "rates: '25' has no unit" },
		{ "probes: { search: sweep, rates: 10Mbps 10000kbps }", "rates: '10000kbps' is in it twice" },
		{ "probes: { search: sweep, rates: 10bps }", "rates: '10bps' is less than a frame in a second" },
		{ "probes: { search: sweep, rates: \" , \" }", "rates: no rate is in it" },
		{ "probes: { search: sweep, rates: 10Mbps, width: 1% }", "width: it is for search: bounds" },
		{ "probes: { carrier: 25Mbps }", "'carrier'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *said = problem_of(cases[i].probes);

		if (!said || !strstr(said, cases[i].message))
			fail_msg("%s: '%s' lacks '%s'", cases[i].probes, said ? said : "(nothing)", cases[i].message);
	}
	assert_null(problem_of("probes: { search: sweep, rates: \"10Mbps, 25Mbps,50Mbps\" }"));
	assert_null(problem_of(""));
}

static void settings_become_a_search(void **state)
{
	int64_t rates[CALIBRATE_RATES_MOST];
	struct ratesearch_config search;
	struct trial_config trial;
	struct stream_outline outline;
	struct settings s;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(settings_init(&s, calibrate_settings, &arena), 0);
	calibrate_config_from(&s, &search, rates, &trial);
	assert_int_equal(search.rate_count, 0);
	assert_true(search.goal.carrier_loss == 0.005 && search.goal.exceed == 0.5 && search.goal.width == 0.02);
	assert_int_equal(search.goal.initial_ns, 500000000);
	assert_int_equal(trial_probes(&trial, search.goal.final_ns), 1000);
	assert_int_equal(calibrate_outline(&s, ".", &outline, &err), 0);
	assert_int_equal(outline.probe_count, 1000);
	assert_int_equal(outline.longest_bytes, 1500);
	assert_int_equal(outline.send_ns, ratesearch_expected_ns(&search));

	assert_int_equal(settings_set(&s, "search", "sweep", &err), 0);
	assert_int_equal(settings_set(&s, "rates", "100Mbps 10Mbps", &err), 0);
	calibrate_config_from(&s, &search, rates, &trial);
	assert_int_equal(search.rate_count, 2);
	/* every trial of a sweep is as long as the last of a search */
	assert_int_equal(search.goal.initial_ns, search.goal.final_ns);
	arena_release(&arena);
}

/* A name in a matrix means one setting. */
static void no_name_is_a_target_s_too(void **state)
{
	unsigned looked = 0;

	(void)state;
	for (const struct target_ops *const *k = target_kinds; *k; k++)
		for (const struct setting *s = (*k)->settings; (*k)->line && s->name; s++, looked++)
			if (setting_find(calibrate_settings, s->name))
				fail_msg("'%s' is a setting of probes and of target %s", s->name, (*k)->kind);
	assert_true(looked > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(settings_become_a_search),
		cmocka_unit_test(no_name_is_a_target_s_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
