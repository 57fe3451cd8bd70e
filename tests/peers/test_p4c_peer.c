/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "p4rt/p4info.h"
#include "target/bmv2_private.h"
#include "target/compile.h"

/* Sources of P4 through the real p4c, where it is in PATH: what a plan that names x.p4 does. usage: test_p4c_peer P4/V1MODEL */

static const char *programs;

static void our_programs_are_taken(void **state)
{
	static const char *const names[] = { "l2_forward", "l3_lpm", "l3_lpm_acl", "l3_lpm_int", "l3_lpm_int_chain" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct v1model_program source, shipped;
		struct p4info *a = NULL, *b = NULL;
		char name[64];
		struct arena arena;
		struct err err = { 0 };

		arena_init(&arena, 0);
		snprintf(name, sizeof(name), "%s.p4", names[i]);
		if (v1model_program_load(name, programs, NULL, NULL, &arena, &source, &err) < 0)
			fail_msg("%s", err.message);
		assert_int_equal(v1model_program_load(names[i], programs, NULL, NULL, &arena, &shipped, &err), 0);
		assert_non_null(strstr(source.compiler, "p4c-bm2-ss "));
		assert_null(shipped.compiler);
		/* the same tables with the same numbers, and the same entries for them */
		if (p4info_parse(source.p4info.text, source.p4info.length_bytes, name, &a, &err) < 0 ||
		    p4info_parse(shipped.p4info.text, shipped.p4info.length_bytes, names[i], &b, &err) < 0)
			fail_msg("%s", err.message);
		assert_int_equal(source.entries.hash, shipped.entries.hash);
		assert_non_null(strstr(source.json.text, "\"pipelines\""));
		p4info_destroy(a);
		p4info_destroy(b);
		arena_release(&arena);
	}
}

static void a_mistake_is_told_with_its_line(void **state)
{
	char path[] = "/tmp/tare-p4c-XXXXXX.p4";
	int fd = mkstemps(path, 3);
	struct p4_compiled c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	assert_true(fd >= 0);
	assert_true(write(fd, "#include <core.p4>\nheader h { bit<8> a }\n", 41) == 41);
	close(fd);
	arena_init(&arena, 0);
	assert_true(p4_compile(path, &arena, &c, &err) < 0);
	unlink(path);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "error"));
	assert_non_null(strstr(err.message, "(2)"));
	arena_release(&arena);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_programs_are_taken),
		cmocka_unit_test(a_mistake_is_told_with_its_line),
	};
	char path[PATH_MAX];

	programs = argc > 1 ? argv[1] : ".";
	if (!binary_in_path("p4c-bm2-ss", path, sizeof(path))) {
		puts("SKIP: no p4c here");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
