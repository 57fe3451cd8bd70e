/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/help.h"
#include "cli/options.h"

static const char *const shapes[] = { "round", "square", NULL };
static const struct setting make_options[] = {
	{ .name = "output", .short_name = 'o', .type = SETTING_TEXT, .value_name = "DIR", .help = "where to" },
	{ .name = "limit",
	  .short_name = 'l',
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "15ns",
	  .help = "how far" },
	{ .name = "shape", .type = SETTING_CHOICE, .choices = shapes, .fallback = "round", .help = "how it's" },
	{ .name = "fast", .short_name = 'f', .type = SETTING_FLAG, .help = "be quick" },
	{ .name = NULL },
};

static int run(const struct invocation *inv, struct err *err)
{
	(void)inv;
	(void)err;
	return 0;
}

static const struct verb verb_make = {
	.name = "make",
	.summary = "make a thing",
	.arguments = "A [B]",
	.description = "First.\n\nSecond -- with a dash.\n\n.dot \\ backslash",
	.options = make_options,
	.least_arguments = 1,
	.most_arguments = 2,
	.json = true,
	.run = run,
};
static const struct verb verb_look = {
	.name = "look", .summary = "look at it", .arguments = "", .description = "", .run = run
};
const struct verb *const verbs[] = { &verb_make, &verb_look, NULL };

static struct arena arena;
static struct invocation inv;
static enum request request;
static struct err err;

/* A command line in one text, words parted by single spaces; "" is an empty word. */
static int parse(const char *line)
{
	static char copy[256];
	char *argv[32], *save = NULL;
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = strcmp(w, "\"\"") == 0 ? (char *)"" : w;
	argv[argc] = NULL;
	memset(&inv, 0, sizeof(inv));
	memset(&err, 0, sizeof(err));
	return options_parse(argc, argv, &arena, &request, &inv, &err);
}

static void good(const char *line)
{
	if (parse(line) != 0)
		fail_msg("%s: %s", line, err.message);
}

static void bad(const char *line, const char *says)
{
	assert_int_equal(parse(line), -EINVAL);
	assert_string_equal(err.message, says);
	assert_int_equal(err_exit_status(&err), 2);
}

static void options_in_all_their_forms(void **state)
{
	static const char *const output[] = { "tare make x -o d",           "tare make x -od",
					      "tare make -o d x",           "tare make --output d x",
					      "tare make --output=d x",     "tare make -fod x",
					      "tare make x --output=e -o d" };

	(void)state;
	for (size_t i = 0; i < sizeof(output) / sizeof(output[0]); i++) {
		good(output[i]);
		assert_int_equal(request, REQUEST_RUN);
		assert_ptr_equal(inv.verb, &verb_make);
		assert_string_equal(settings_text(&inv.options, "output"), "d");
		assert_int_equal(inv.argument_count, 1);
		assert_string_equal(inv.arguments[0], "x");
		assert_null(inv.arguments[1]);
	}
	good("tare make x --limit=2us --shape square -f");
	assert_int_equal(settings_number(&inv.options, "limit"), 2000);
	assert_int_equal(settings_number(&inv.options, "shape"), 1);
	assert_true(settings_flag(&inv.options, "fast"));
	good("tare make x");
	assert_int_equal(settings_number(&inv.options, "limit"), 15);
	assert_false(settings_flag(&inv.options, "fast"));
	assert_null(settings_text(&inv.options, "output"));
	good("tare make x --output=a=b");
	assert_string_equal(settings_text(&inv.options, "output"), "a=b");
}

static void globals_stand_anywhere(void **state)
{
	(void)state;
	good("tare -q make x --json");
	assert_true(inv.quiet && inv.json && !inv.verbose);
	good("tare make -vf x");
	assert_true(inv.verbose && !inv.quiet && settings_flag(&inv.options, "fast"));
	setenv("NO_COLOR", "1", 1);
	good("tare look");
	assert_false(inv.color);
	unsetenv("NO_COLOR");
	good("tare look --no-color");
	assert_false(inv.color);
}

static void arguments_that_look_like_options(void **state)
{
	(void)state;
	good("tare make - --");
	assert_string_equal(inv.arguments[0], "-");
	good("tare make -- --fast -o");
	assert_int_equal(inv.argument_count, 2);
	assert_string_equal(inv.arguments[0], "--fast");
	assert_string_equal(inv.arguments[1], "-o");
	good("tare make make");
	assert_string_equal(inv.arguments[0], "make");
	good("tare make help");
	assert_int_equal(request, REQUEST_RUN);
	good("tare make -o -- x"); /* the value of -o */
	assert_string_equal(settings_text(&inv.options, "output"), "--");
}

static void help_and_version_need_nothing_else(void **state)
{
	static const char *const helps[] = { "tare make -h", "tare make --help a b c", "tare -h make",
					     "tare help make" };

	(void)state;
	for (size_t i = 0; i < sizeof(helps) / sizeof(helps[0]); i++) {
		good(helps[i]);
		assert_int_equal(request, REQUEST_HELP);
		assert_ptr_equal(inv.verb, &verb_make);
	}
	good("tare --help");
	assert_int_equal(request, REQUEST_HELP);
	assert_null(inv.verb);
	good("tare help");
	assert_int_equal(request, REQUEST_HELP);
	good("tare -V");
	assert_int_equal(request, REQUEST_VERSION);
}

static void wrong_lines(void **state)
{
	(void)state;
	bad("tare", "expected a verb; 'tare --help' lists them");
	bad("tare -q", "expected a verb; 'tare --help' lists them");
	bad("tare mkae x", "unknown verb 'mkae'; did you mean 'make'?");
	bad("tare wombat", "unknown verb 'wombat'; 'tare --help' lists them");
	bad("tare --fast make x", "unknown option '--fast'; 'tare --help' lists them");
	bad("tare make", "make: an argument is missing; expected 'tare make A [B]'");
	bad("tare make a b c", "make: 'c' is one argument too many; expected 'tare make A [B]'");
	bad("tare look a", "look: 'a' is one argument too many; expected 'tare look'");
	bad("tare look --json", "look: has no --json");
	bad("tare make x --ouptut d", "unknown option '--ouptut'; did you mean '--output'?");
	bad("tare make x --wombat=3", "unknown option '--wombat'; 'tare make --help' lists them");
	bad("tare make x -z", "unknown option '-z'; 'tare make --help' lists them");
	bad("tare make x -fz", "unknown option '-z'; 'tare make --help' lists them");
	bad("tare make x -o", "option '-o' needs a value: DIR");
	bad("tare make x --output", "option '--output' needs a value: DIR");
	bad("tare make x --output=", "option '--output' needs a value: DIR");
	bad("tare make x -o \"\"", "option '-o' needs a value: DIR");
	bad("tare make x --fast=yes", "option '--fast' takes no value; found 'yes'");
	bad("tare make x --limit 5",
	    "--limit: '5' has no unit; expected a time with ns, us, ms, s, min or h, such as 60ms");
	bad("tare make x -l5W",
	    "--limit: '5W': unknown unit 'W'; expected a time with ns, us, ms, s, min or h, such as 60ms");
	bad("tare make x --shape oval", "--shape: 'oval' is not one of: round, square");
	bad("tare make x --=5", "unknown option '--'; 'tare make --help' lists them");
}

static char *written(void (*what)(FILE *out))
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	what(f);
	fclose(f);
	return text;
}

static void write_help(FILE *out)
{
	help_write(out, &verb_make);
}

static void write_man(FILE *out)
{
	man_write(out, &verb_make);
}

static void write_completions(FILE *out)
{
	assert_true(completion_write(out, "bash"));
	assert_true(completion_write(out, "zsh"));
	assert_true(completion_write(out, "fish"));
	assert_false(completion_write(out, "csh"));
}

static void one_table_feeds_all(void **state)
{
	char *help = written(write_help), *man = written(write_man), *completions = written(write_completions);

	(void)state;
	for (const struct setting *s = make_options; s->name; s++) {
		char option[32];

		snprintf(option, sizeof(option), "--%s", s->name);
		assert_non_null(strstr(help, option));
		assert_non_null(strstr(completions, option));
		snprintf(option, sizeof(option), "\\-\\-%s", s->name);
		assert_non_null(strstr(man, option));
	}
	assert_non_null(strstr(help, "First.\n\nSecond -- with a dash.\n\n.dot"));
	assert_non_null(strstr(help, "  -o, --output=DIR        where to\n"));
	assert_non_null(strstr(help, "how far (default 15ns)\n"));
	assert_non_null(strstr(help, "how it's: round, square (default round)\n"));
	assert_non_null(strstr(man, "\n.PP\n\\&.dot \\e backslash\n"));
	assert_non_null(strstr(completions, "how it'\\''s"));
	free(help);
	free(man);
	free(completions);
}

static void write_wrapped(FILE *out)
{
	wrap_write(out, "one two  three\nfour \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 five averyverylongword x\n\n\nnext", 2,
		   12);
}

static void text_is_wrapped(void **state)
{
	char *text = written(write_wrapped);

	(void)state;
	assert_string_equal(text, "  one two\n  three four\n  \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 five\n  "
				  "averyverylongword\n  x\n\n  next\n");
	free(text);
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_in_all_their_forms),
		cmocka_unit_test(globals_stand_anywhere),
		cmocka_unit_test(arguments_that_look_like_options),
		cmocka_unit_test(help_and_version_need_nothing_else),
		cmocka_unit_test(wrong_lines),
		cmocka_unit_test(one_table_feeds_all),
		cmocka_unit_test(text_is_wrapped),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
