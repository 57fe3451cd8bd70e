/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/bmv2.h"
#include "target/compile.h"

/* Sources of P4 with a compiler that is a script: what it is asked, what becomes of what it says. */

static char base[64] = "/tmp/tare-compile-XXXXXX";

static const char *in_base(const char *name)
{
	static char path[4][160];
	static unsigned at;

	at = (at + 1) % 4;
	snprintf(path[at], sizeof(path[at]), "%s/%s", base, name);
	return path[at];
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(in_base(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(in_base(name), mode), 0);
}

/* A p4c-bm2-ss that does this when it compiles. $1 $2 ... are what it was called with. */
static void compiler(const char *does)
{
	char script[2048];

	snprintf(script, sizeof(script),
		 "#!/bin/sh\n"
		 "if [ \"$1\" = --version ]; then echo /somewhere/p4c-bm2-ss; echo 'Version 9.9 (fake)'; exit 0; fi\n"
		 "echo \"$@\" >%s/called\n"
		 "[ \"$1 $2 $3 $5 $#\" = '--arch v1model --p4runtime-files -o 7' ] || exit 9\n"
		 "p4info=$4 json=$6 source=$7\n%s\n",
		 base, does);
	write_file("bin/p4c-bm2-ss", script, 0755);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* The folder that the compiler was told to write into. */
static void folder_of_last_call(char ret[64])
{
	FILE *f = fopen(in_base("called"), "r");
	char line[512] = "", *at;

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	at = strstr(line, "/tmp/tare-p4-");
	assert_non_null(at);
	snprintf(ret, 64, "%.*s", (int)strcspn(at + 5, "/ ") + 5, at);
}

static void a_source_is_compiled(void **state)
{
	struct p4_compiled c;
	struct arena arena;
	struct err err = { 0 };
	char folder[64];

	(void)state;
	compiler("cat \"$source\" >\"$json\"; echo 'pkg_info {}' >\"$p4info\"");
	arena_init(&arena, 0);
	if (p4_compile(in_base("good one.p4"), &arena, &c, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(c.json.text, "// source\n");
	assert_string_equal(c.p4info.text, "pkg_info {}\n");
	assert_string_equal(c.compiler, "p4c-bm2-ss 9.9 (fake)");
	folder_of_last_call(folder);
	assert_false(exists(folder));
	arena_release(&arena);
}

static void what_it_complains_of_is_told(void **state)
{
	struct p4_compiled c;
	struct arena arena;
	struct err err = { 0 };
	char folder[64];

	(void)state;
	compiler("echo 'x.p4(1): [--Wwarn=unused] warning: nothing'\n"
		 "echo 'x.p4(3): [--Werror=type-error] error: Field foo is not a member of header bar' >&2\n"
		 "echo '    foo' >&2; exit 1");
	arena_init(&arena, 0);
	assert_int_equal(p4_compile(in_base("good one.p4"), &arena, &c, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "good one.p4: p4c-bm2-ss does not take it: x.p4(3)"));
	assert_non_null(strstr(err.message, "Field foo is not a member of header bar"));
	folder_of_last_call(folder);
	assert_false(exists(folder));

	/* it fails without a word, or says it did well and wrote nothing */
	compiler("exit 3");
	assert_true(p4_compile(in_base("good one.p4"), &arena, &c, &err) < 0);
	assert_non_null(strstr(err.message, "3"));
	compiler("exit 0");
	assert_true(p4_compile(in_base("good one.p4"), &arena, &c, &err) < 0);
	assert_non_null(strstr(err.message, "program.json"));
	arena_release(&arena);
}

static void without_a_compiler(void **state)
{
	struct settings settings;
	const struct target_setup setup = { .settings = &settings, .program = "good one.p4", .directory = base };
	const struct target_setup missing = { .settings = &settings, .program = "missing.p4", .directory = base };
	struct p4_compiled c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(unlink(in_base("bin/p4c-bm2-ss")), 0);
	assert_int_equal(p4_compile(in_base("good one.p4"), &arena, &c, &err), -ENOENT);
	assert_int_equal(err.kind, ERR_HOST);
	assert_non_null(strstr(err.message, "p4c-bm2-ss in PATH"));
	assert_non_null(strstr(err.message, "name the .json"));
	/* a plan is checked without it; that the file is not there is said */
	assert_int_equal(settings_init(&settings, target_bmv2.settings, &arena), 0);
	if (target_bmv2.check(&setup, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(target_bmv2.check(&missing, &err), -ENOENT);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "missing.p4: No such file"));
	/* and it is missed before anything runs */
	assert_int_equal(target_bmv2.prepare(&setup, &err), -ENOENT);
	assert_int_equal(err.kind, ERR_HOST);
	arena_release(&arena);
}

static int make_base(void **state)
{
	(void)state;
	if (!mkdtemp(base) || mkdir(in_base("bin"), 0755) < 0)
		return -1;
	write_file("good one.p4", "// source\n", 0644);
	/* ours is the only compiler, and the shell finds what it needs */
	return setenv("PATH", in_base("bin"), 1) < 0 || symlink("/bin/cat", in_base("bin/cat")) < 0 ? -1 : 0;
}

static int remove_base(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "/bin/rm -r %s", base);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_is_compiled),
		cmocka_unit_test(what_it_complains_of_is_told),
		cmocka_unit_test(without_a_compiler),
	};

	return cmocka_run_group_tests(tests, make_base, remove_base);
}
