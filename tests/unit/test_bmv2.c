/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/bmv2.h"
#include "target/bmv2_line.h"
#include "target/v1model_program.h"
#include "scratch.h"

/* What can be said about a program without starting anything. */
static int check(const char *program, const char *directory, const char *entries, struct err *err)
{
	struct settings settings;
	struct arena arena;
	int rc;

	arena_init(&arena, 0);
	assert_int_equal(settings_init(&settings, target_bmv2.settings, &arena), 0);
	if (entries)
		assert_int_equal(settings_set(&settings, "entries", entries, err), 0);
	rc = target_bmv2.check(
		&(struct target_setup){ .settings = &settings, .program = program, .directory = directory }, err);
	arena_release(&arena);
	return rc;
}

static void every_program_takes_its_own_entries(void **state)
{
	unsigned count = 0;

	(void)state;
	for (const struct v1model_text *t = v1model_texts; t->name; t++, count++) {
		struct err err = { 0 };

		if (check(t->name, ".", NULL, &err) != 0)
			fail_msg("%s: %s", t->name, err.message);
		assert_true(strlen(t->entries) > 0);
	}
	assert_int_equal(count, 6);
}

/* Where the switch may run: of the wrong form, and of a CPU that is not there. */
static void cpus_are_checked(void **state)
{
	struct settings settings;
	struct arena arena;
	struct err err = { 0 };
	const struct target_setup setup = { .settings = &settings, .program = "l3_lpm", .directory = "." };

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(settings_init(&settings, target_bmv2.settings, &arena), 0);
	assert_int_equal(settings_set(&settings, "cpus", "0-", &err), 0);
	assert_true(target_bmv2.check(&setup, &err) < 0);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "cpus: '0-' is no list of CPUs"));
	assert_int_equal(settings_set(&settings, "cpus", "1023", &err), 0);
	assert_int_equal(settings_set(&settings, "switch", "/bin/true", &err), 0);
	assert_int_equal(target_bmv2.check(&setup, &err), 0);
	assert_true(target_bmv2.check_host(&settings, &err) < 0);
	assert_int_equal(err.kind, ERR_HOST);
	assert_non_null(strstr(err.message, "cpus: 1023: this process may use"));
	arena_release(&arena);
}

static void expect(const char *program, const char *directory, const char *entries, const char *message)
{
	struct err err = { 0 };

	assert_true(check(program, directory, entries, &err) < 0);
	assert_int_equal(err.kind, ERR_USAGE);
	if (!strstr(err.message, message))
		fail_msg("'%s' lacks '%s'", err.message, message);
}

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void what_does_not_fit_is_named(void **state)
{
	(void)state;
	expect("l3_lpn", scratch, NULL, "did you mean l3_lpm?");
	expect("none.json", scratch, NULL, "none.json: No such file");
	write_file(scratch, "x.json", "{}");
	expect("x.json", scratch, NULL, "no P4Info beside it");
	write_file(scratch, "x.p4info.txtpb", "tables { preamble {");
	expect("x.json", scratch, NULL, "x.p4info.txtpb");
	write_file(scratch, "e.entries", "table=nothing destination=10.0.0.0/8 action=drop\n");
	expect("l3_lpm", scratch, "e.entries", "e.entries:1");
	write_file(scratch, "e.entries", "table=routes destination=10.0.0.0/40 action=drop\n");
	expect("l3_lpm", scratch, "e.entries", "e.entries:1");
}

/* --- a line of several --- */

static void arguments_have_a_part_for_each_switch(void **state)
{
	struct err err = { 0 };
	struct arena arena;
	char *own;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(bmv2_args_of("--a 1|--b|", 1, 3, &arena, &own, &err), 0);
	assert_string_equal(own, "--a 1");
	assert_int_equal(bmv2_args_of("--a 1|--b|", 2, 3, &arena, &own, &err), 0);
	assert_string_equal(own, "--b");
	assert_int_equal(bmv2_args_of("--a 1|--b|", 3, 3, &arena, &own, &err), 0);
	assert_string_equal(own, "");
	/* without a part, all have the same */
	assert_int_equal(bmv2_args_of("--a 1", 3, 3, &arena, &own, &err), 0);
	assert_string_equal(own, "--a 1");
	assert_int_equal(bmv2_args_of("--a|--b", 1, 3, &arena, &own, &err), -EINVAL);
	assert_string_equal(err.message, "args: 2 parts between '|' for 3 switches; expected one for each, or no '|'");
	arena_release(&arena);
}

static void entries_know_their_switch(void **state)
{
	static const char text[] = "# all\n@first a $switch\n@last b\nc $switch $switch\n";
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	/* lines keep their numbers, so that messages are right */
	assert_string_equal(bmv2_entries_of(text, 1, 3, &arena), "# all\na 1\n\nc 1 1\n");
	assert_string_equal(bmv2_entries_of(text, 2, 3, &arena), "# all\n\n\nc 2 2\n");
	assert_string_equal(bmv2_entries_of(text, 3, 3, &arena), "# all\n\nb\nc 3 3\n");
	assert_string_equal(bmv2_entries_of(text, 1, 1, &arena), "# all\na 1\nb\nc 1 1\n");
	assert_string_equal(bmv2_entries_of("@last x", 1, 2, &arena), "");
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program_takes_its_own_entries),
		cmocka_unit_test(cpus_are_checked),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_named, make_scratch, remove_scratch),
		cmocka_unit_test(arguments_have_a_part_for_each_switch),
		cmocka_unit_test(entries_know_their_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
