/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lab/command.h"

static struct command_outcome outcome;

static int run(const char *text, int64_t limit_ms, struct err *err)
{
	const struct command command = {
		.name = "hook load",
		.text = text,
		.directory = "/",
		.variables = { { "TARE_PROGRAM", "forward" } },
		.variable_count = 1,
		.limit_ms = limit_ms,
	};

	return command_run(&command, &outcome, err);
}

static void gets_what_it_needs(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(run("pwd; echo $TARE_PROGRAM; cat; echo also >&2", 20000, &err), 0);
	assert_string_equal(outcome.tail, "/\nforward\nalso\n");
	assert_int_equal(outcome.output_bytes, strlen(outcome.tail));
}

static void failure_is_named(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(run("echo one; echo two; exit 3", 20000, &err), -ECHILD);
	assert_string_equal(err.message, "hook load ended with status 3; it said: one | two");
	assert_int_equal(err_exit_status(&err), 3);
	assert_int_equal(run("kill -9 $$", 20000, &err), -ECHILD);
	assert_string_equal(err.message, "hook load was killed by signal 9; it said nothing");
	assert_int_equal(run("no-such-program-here", 20000, &err), -ECHILD);
	assert_non_null(strstr(err.message, "ended with status 127; it said: "));
}

static void one_that_hangs_is_killed_with_its_children(void **state)
{
	struct err err = { 0 };
	pid_t child;

	(void)state;
	assert_int_equal(run("sleep 600 & echo $!; wait", 300, &err), -ETIMEDOUT);
	assert_memory_equal(err.message, "hook load did not end within 0.3 s; it said: ", 45);
	child = (pid_t)atoi(outcome.tail);
	assert_true(child > 1);
	for (int i = 0; i < 500 && kill(child, 0) == 0; i++)
		usleep(10000); /* its new parent reaps it */
	assert_int_equal(kill(child, 0), -1);
}

/* One that ends leaves nothing behind either, and what still holds its output does not hold us. */
static void what_it_leaves_running_goes_too(void **state)
{
	struct err err = { 0 };
	pid_t child;

	(void)state;
	assert_int_equal(run("sleep 600 & echo $!", 20000, &err), 0);
	assert_true(outcome.took_ms < 15000);
	child = (pid_t)atoi(outcome.tail);
	for (int i = 0; i < 500 && kill(child, 0) == 0; i++)
		usleep(10000);
	assert_int_equal(kill(child, 0), -1);
}

static void flood_is_kept_short(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(run("head -c 3000000 /dev/zero; echo; echo the end; exit 1", 60000, &err), -ECHILD);
	assert_int_equal(strlen(outcome.tail), COMMAND_TAIL_BYTES);
	assert_int_equal(outcome.output_bytes, 3000009);
	assert_non_null(strstr(err.message, "? | the end"));
	assert_true(strlen(err.message) < 500);
	/* and one that never stops meets its limit */
	assert_int_equal(run("cat /dev/zero", 300, &err), -ETIMEDOUT);
	assert_true(outcome.took_ms < 20000);
}

static void *raise_later(void *flag)
{
	usleep(100000);
	atomic_store((atomic_bool *)flag, true);
	return NULL;
}

static void interrupt_ends_it(void **state)
{
	static atomic_bool interrupted;
	const struct command command = {
		.name = "hook flash", .text = "sleep 600", .limit_ms = 600000, .interrupted = &interrupted
	};
	struct err err = { 0 };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, raise_later, &interrupted), 0);
	assert_int_equal(command_run(&command, &outcome, &err), -EINTR);
	pthread_join(thread, NULL);
	assert_int_equal(err_exit_status(&err), 130);
}

static void no_directory(void **state)
{
	const struct command command = {
		.name = "hook load", .text = "true", .directory = "/no/such", .limit_ms = 20000
	};
	struct err err = { 0 };

	(void)state;
	assert_int_equal(command_run(&command, &outcome, &err), -ECHILD);
	assert_string_equal(err.message,
			    "hook load ended with status 127; it said: /no/such: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gets_what_it_needs),
		cmocka_unit_test(failure_is_named),
		cmocka_unit_test(one_that_hangs_is_killed_with_its_children),
		cmocka_unit_test(what_it_leaves_running_goes_too),
		cmocka_unit_test(flood_is_kept_short),
		cmocka_unit_test(interrupt_ends_it),
		cmocka_unit_test(no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
