/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "plan_fake.h"

/* Fails one allocation after the other until none is left to fail. Returns how many did. */
static long run(const char *text, int expected)
{
	for (long n = 1;; n++) {
		struct plan_problems problems;
		struct plan *plan = NULL;
		struct err err = { 0 };
		int rc;

		countdown = n;
		rc = plan_parse(text, strlen(text), "-", ".", &plan, &problems, &err);
		if (countdown > 0) {
			countdown = 0;
			assert_int_equal(rc, expected);
			plan_problems_release(&problems);
			plan_destroy(plan);
			return n - 1;
		}
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(err.kind, ERR_HOST);
		assert_string_equal(err.message, "-: out of memory");
		assert_null(plan);
		assert_int_equal(problems.count, 0);
	}
}

/* Long enough to need many blocks of its arena. */
static char *long_plan(const char *size)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	fputs(PLAN_HEAD "matrix:\n  program: [a, b, c]\n  size: [", f);
	for (int i = 0; i < 60; i++)
		fprintf(f, "%s%dB", i ? ", " : "", i + 60);
	fprintf(f, "]\nextra:\n- { program: a, size: %s }\n", size);
	fclose(f);
	return text;
}

static void a_good_plan(void **state)
{
	char *text = long_plan("900B");

	(void)state;
	assert_true(run(text, 0) > 10);
	free(text);
}

static void a_wrong_plan(void **state)
{
	char *text = long_plan("900");

	(void)state;
	assert_true(run(text, -EINVAL) > 3);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_plan),
		cmocka_unit_test(a_wrong_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
