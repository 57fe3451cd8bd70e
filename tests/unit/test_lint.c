/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/v1model_lint.h"
#include "target/v1model_program.h"

/* The programs of tests/p4/lint, as p4c compiled them: a finding each, and clean ones. */

static char *load(const char *name)
{
	static char text[1 << 20];
	char path[512];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), SOURCE_ROOT "/tests/p4/lint/%s.json", name);
	file = fopen(path, "re");
	if (!file)
		fail_msg("%s", path);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	return text;
}

static struct lint_findings lint(const char *text, const char *name)
{
	struct lint_findings f;
	struct err err = { 0 };

	if (v1model_lint(text, strlen(text), name, &f, &err) < 0)
		fail_msg("%s", err.message);
	return f;
}

static void every_program_has_its_findings_and_no_others(void **state)
{
	static const struct {
		const char *program;
		unsigned count;
		enum lint_kind kind;
		const char *where[2], *words;
	} cases[] = {
		{ "clean", 0, 0, { NULL }, "" },
		{ "clean_duration", 0, 0, { NULL }, "" },
		{ "missing", 1, LINT_MISSING, { "missing" }, "never looks at egress_global_timestamp" },
		{ "narrow", 1, LINT_NARROW, { "narrow.p4:32" }, "of 32 bits" },
		{ "narrow_twice", 1, LINT_NARROW, { "narrow_twice.p4:39" }, "of 32 bits" },
		{ "queue", 1, LINT_NARROW, { "queue.p4:40" }, "enq_timestamp" },
		{ "early", 1, LINT_EARLY, { "early.p4:33" }, "read at ingress" },
		{ "cloned", 2, LINT_CLONED, { "cloned.p4:33", "cloned.p4:41" }, "cloned at" },
		{ "recirculated",
		  2,
		  LINT_RECIRCULATED,
		  { "recirculated.p4:36", "recirculated.p4:46" },
		  "packets may be re" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lint_findings f = lint(load(cases[i].program), cases[i].program);

		if (f.count != cases[i].count)
			fail_msg("%s: %u findings, the first: %s", cases[i].program, f.count,
				 f.count ? f.items[0].message : "none");
		for (uint32_t k = 0; k < f.count; k++) {
			assert_int_equal(f.items[k].kind, cases[i].kind);
			assert_string_equal(f.items[k].where, cases[i].where[k]);
			assert_non_null(strstr(f.items[k].message, cases[i].words));
		}
		lint_findings_release(&f);
	}
}

static void our_own_programs_are_clean_but_for_the_clone_of_a_sink(void **state)
{
	unsigned sinks = 0, others = 0;

	(void)state;
	for (const struct v1model_text *t = v1model_texts; t->name; t++) {
		struct lint_findings f = lint(t->json, t->name);

		assert_int_equal(f.count, strcmp(t->name, "int_md") == 0);
		if (f.count)
			assert_int_equal(f.items[0].kind, LINT_CLONED);
		*(f.count ? &sinks : &others) += 1;
		lint_findings_release(&f);
	}
	assert_int_equal(sinks, 1);
	assert_true(others > 0);
}

/* As an older compiler made it: without the alias by which the switch finds where to write. */
static void missing_intrinsic_metadata_is_found(void **state)
{
	char *text = load("clean"), *alias = strstr(text, "intrinsic_metadata.egress_global_timestamp");
	struct lint_findings f;

	(void)state;
	assert_non_null(alias);
	alias[0] = 'x';
	f = lint(text, "old");
	assert_int_equal(f.count, 1);
	assert_int_equal(f.items[0].kind, LINT_MISSING);
	assert_non_null(strstr(f.items[0].message, "has no intrinsic_metadata.egress_global_timestamp"));
	lint_findings_release(&f);
}

static void what_is_no_program_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "x.json:1:0: not JSON" },
		{ "{\"actions\": [", "not JSON" },
		{ "{}", "x.json: not a program of p4c-bm2-ss" },
		{ "{\"header_types\": [], \"actions\": [], \"pipelines\": [{\"name\": \"ingress\"}]}", "pipelines" },
	};
	/* of the right form, with rubbish inside */
	static const char rubbish[] =
		"{\"header_types\": [5, {\"name\": 3}], \"headers\": [[]], \"field_aliases\": [[], {}, [1, 2]],"
		"\"parsers\": [{\"parse_states\": [{\"parser_ops\": [{\"op\": \"set\"}, 7]}]}],"
		"\"actions\": [{\"id\": 1, \"primitives\": [{\"op\": \"assign\", \"parameters\": 8}, 3, {\"op\": "
		"\"assign\","
		"\"parameters\": [{\"type\": \"field\", \"value\": \"x\"}, {\"type\": \"field\", \"value\": [1]}]}]}],"
		"\"pipelines\": [{\"name\": \"ingress\", \"tables\": [{\"action_ids\": [1]}], \"conditionals\": [1, "
		"{}]},"
		"{\"name\": \"egress\"}]}";
	struct lint_findings f;
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(v1model_lint(cases[i].text, strlen(cases[i].text), "x.json", &f, &err), -EINVAL);
		assert_int_equal(err.kind, ERR_USAGE);
		if (!strstr(err.message, cases[i].words))
			fail_msg("%s", err.message);
	}
	f = lint(rubbish, "x.json");
	assert_int_equal(f.count, 2);
	assert_int_equal(f.items[0].kind, LINT_MISSING);
	lint_findings_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program_has_its_findings_and_no_others),
		cmocka_unit_test(our_own_programs_are_clean_but_for_the_clone_of_a_sink),
		cmocka_unit_test(missing_intrinsic_metadata_is_found),
		cmocka_unit_test(what_is_no_program_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
