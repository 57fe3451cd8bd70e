/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "campaign/clean.h"
#include "fake_plan.h"
#include "scratch.h"
#include "store/clean.h"
#include "store/store.h"

static unsigned said;
static char last[512];

static void say(void *context, const char *what)
{
	(void)context;
	said++;
	snprintf(last, sizeof(last), "%s", what);
}

static const struct clean_say sayer = { say, NULL };

static void touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0666);

	assert_true(fd >= 0);
	close(fd);
}

static int setup(void **state)
{
	said = 0;
	return make_scratch(state);
}

/* A writer that committed one restart and was killed inside the next. */
static void kill_a_writer(void)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct err err = { 0 };
		struct store *s;

		if (store_open_write(scratch, fake_plan("text", 1), &s, &err) == 0 &&
		    store_begin_restart(s, 0, &err) == 0 && store_commit_restart(s, NULL, NULL, &err) == 0 &&
		    store_begin_restart(s, 1, &err) == 0)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void killed_run_is_put_in_order(void **state)
{
	struct stored_restart *restarts;
	struct arena arena;
	struct store *s;
	struct err err = { 0 };
	uint32_t count;

	(void)state;
	kill_a_writer();
	assert_int_equal(access(in_scratch("tare.db-wal"), F_OK), 0);
	assert_int_equal(access(in_scratch("lock"), F_OK), 0);
	touch(in_scratch("tare.db.new"));
	assert_int_equal(store_clean(scratch, say, NULL, &err), 3);
	assert_int_equal(said, 3);
	assert_int_not_equal(access(in_scratch("tare.db-wal"), F_OK), 0);
	assert_int_not_equal(access(in_scratch("tare.db-shm"), F_OK), 0);
	assert_int_not_equal(access(in_scratch("tare.db.new"), F_OK), 0);
	assert_int_not_equal(access(in_scratch("lock"), F_OK), 0);
	assert_int_equal(store_clean(scratch, say, NULL, &err), 0); /* twice is once */
	assert_int_equal(said, 3);
	/* what was recorded is there */
	assert_int_equal(store_open_read(scratch, &s, &err), 0);
	arena_init(&arena, 0);
	assert_int_equal(store_read_restarts(s, &arena, &restarts, &count, &err), 0);
	assert_int_equal(count, 1);
	arena_release(&arena);
	store_close(s);
}

/* Killed while it wrote a journal that it had not begun to need: SQLite leaves that alone for ever. */
static void journal_never_begun_is_removed(void **state)
{
	static const char zeros[1000];
	struct store *s;
	struct err err = { 0 };
	FILE *f;

	(void)state;
	assert_int_equal(store_open_write(scratch, fake_plan("text", 1), &s, &err), 0);
	store_close(s);
	f = fopen(in_scratch("tare.db-journal"), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(zeros, 1, sizeof(zeros), f), sizeof(zeros));
	fclose(f);
	if (store_clean(scratch, say, NULL, &err) != 1)
		fail_msg("%s", err.message);
	assert_int_equal(access(in_scratch("tare.db-journal"), F_OK), -1);
	assert_int_equal(store_open_read(scratch, &s, &err), 0);
	store_close(s);
}

static void running_tare_is_left_alone(void **state)
{
	struct err err = { 0 };
	struct store *s;

	(void)state;
	assert_int_equal(store_open_write(scratch, fake_plan("text", 1), &s, &err), 0);
	assert_int_equal(store_clean(scratch, say, NULL, &err), -EBUSY);
	assert_int_equal(said, 0);
	assert_int_equal(store_begin_restart(s, 0, &err), 0);
	assert_int_equal(store_commit_restart(s, NULL, NULL, &err), 0);
	store_close(s);
}

static void other_directories_are_refused(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(store_clean(scratch, say, NULL, &err), -ENOENT);
	assert_non_null(strstr(err.message, "no campaign here"));
	assert_int_equal(store_clean("/dev/null", say, NULL, &err), -ENOTDIR);
	assert_int_equal(store_clean("/nonexistent", say, NULL, &err), -ENOTDIR);
	assert_int_equal(said, 0);
	touch(in_scratch("tare.db"));
	assert_int_equal(store_clean(scratch, say, NULL, &err), 0); /* nothing beside it: nothing to judge */
	touch(in_scratch("tare.db-wal"));
	assert_true(store_clean(scratch, say, NULL, &err) < 0); /* not ours to merge */
	assert_int_equal(access(in_scratch("tare.db-wal"), F_OK), 0);
}

static pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void folders_of_the_dead_only(void **state)
{
	char dead[64], file[96], alive[64];
	struct err err = { 0 };

	(void)state;
	snprintf(dead, sizeof(dead), "tare-%d", (int)dead_pid());
	snprintf(alive, sizeof(alive), "tare-%d", (int)getpid());
	snprintf(file, sizeof(file), "%s/config", dead);
	assert_int_equal(mkdir(in_scratch(dead), 0777), 0);
	touch(in_scratch(file));
	assert_int_equal(mkdir(in_scratch(alive), 0777), 0);
	assert_int_equal(mkdir(in_scratch("rte"), 0777), 0);
	assert_int_equal(mkdir(in_scratch("tare-x"), 0777), 0);
	assert_int_equal(mkdir(in_scratch("tare-0"), 0777), 0);
	assert_int_equal(mkdir(in_scratch("tare-99999999999999999999"), 0777), 0);
	assert_int_equal(clean_folders_of_the_dead(scratch, &sayer, &err), 1);
	assert_non_null(strstr(last, dead));
	assert_int_not_equal(access(in_scratch(dead), F_OK), 0);
	assert_int_equal(access(in_scratch(alive), F_OK), 0);
	assert_int_equal(access(in_scratch("rte"), F_OK), 0);
	assert_int_equal(access(in_scratch("tare-x"), F_OK), 0);
	assert_int_equal(clean_folders_of_the_dead(scratch, &sayer, &err), 0);
	assert_int_equal(clean_folders_of_the_dead("/nonexistent", &sayer, &err), 0);
}

/* A link is not followed: it may lead anywhere. */
static void links_are_not_followed(void **state)
{
	char dead[64];
	struct err err = { 0 };

	(void)state;
	assert_int_equal(mkdir(in_scratch("precious"), 0777), 0);
	snprintf(dead, sizeof(dead), "tare-%d", (int)dead_pid());
	assert_int_equal(symlink(in_scratch("precious"), in_scratch(dead)), 0);
	assert_true(clean_folders_of_the_dead(scratch, &sayer, &err) < 0);
	assert_non_null(strstr(err.message, dead));
	assert_int_equal(access(in_scratch("precious"), F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_run_is_put_in_order, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(journal_never_begun_is_removed, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(running_tare_is_left_alone, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(other_directories_are_refused, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(folders_of_the_dead_only, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(links_are_not_followed, setup, remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
