/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "store/store.h"
#include "store/store_private.h"
#include "whole_store.h"

/* Stores that are gone on with, written while they are read, and left by a writer that was killed or had a full disk. */

/* --- resume --- */

static void resume_knows_what_is_done(void **state)
{
	struct store *s = open_write(2);
	struct stored_campaign c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	put_good(s, 0);
	assert_int_equal(put_restart(s, 1, "target did not open", &err), 0);
	assert_int_equal(store_begin_restart(s, 2, &err), 0); /* abandoned by the close */
	store_close(s);
	assert_int_equal(count_files(), 1); /* tare.db alone */

	s = open_write(2);
	assert_int_equal(store_turn_state(s, 0), STORE_TURN_DONE);
	assert_int_equal(store_turn_state(s, 1), STORE_TURN_FAILED);
	assert_int_equal(store_turn_state(s, 2), STORE_TURN_OPEN);
	put_good(s, 1); /* again, and good now */
	assert_int_equal(store_turn_state(s, 1), STORE_TURN_DONE);
	arena_init(&arena, 0);
	assert_int_equal(store_read_campaign(s, &arena, &c, &err), 0);
	assert_int_equal(c.turns_done, 2);
	assert_int_equal(c.turns_failed, 0);
	arena_release(&arena);
	store_close(s);
	assert_int_equal(check_whole(), 3);
}

static void other_plan_is_refused(void **state)
{
	struct store *s = open_write(2);
	struct err err = { 0 };
	struct plan *other;

	(void)state;
	put_good(s, 0);
	store_close(s);
	s = NULL;
	other = fake_plan("another text", 2);
	other->path = "other.yaml";
	other->name = "other";
	assert_int_equal(store_open_write(dir, other, &s, &err), -EEXIST);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "'fake' from fake.yaml"));
	assert_non_null(strstr(err.message, "other.yaml"));
	assert_null(s);
	/* the same text, but this tare orders it otherwise */
	assert_int_equal(store_open_write(dir, fake_plan("text", 3), &s, &err), -EEXIST);
	assert_non_null(strstr(err.message, "orders this plan otherwise"));
	assert_int_equal(check_whole(), 1);
}

/* Where nothing was recorded, a corrected plan takes the place of the first. */
static void empty_store_takes_another_plan(void **state)
{
	struct store *s = open_write(2);
	struct stored_campaign c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	store_close(s);
	assert_int_equal(store_open_write(dir, fake_plan("better text", 3), &s, &err), 0);
	assert_int_equal(count_files(), 4); /* tare.db, its log and index, the lock */
	put_good(s, 11);
	store_close(s);
	assert_int_equal(count_files(), 1);
	s = open_read();
	arena_init(&arena, 0);
	assert_int_equal(store_read_campaign(s, &arena, &c, &err), 0);
	assert_string_equal(c.plan_text, "better text");
	assert_int_equal(c.turn_count, 12);
	arena_release(&arena);
	store_close(s);
}

/* ... but not while a report holds it open: its log would be merged into the new one. */
static void empty_store_that_is_read_stays(void **state)
{
	struct store *s = open_write(2), *reader = open_read();
	struct stored_campaign c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(store_read_campaign(reader, &arena, &c, &err), 0);
	store_close(s);
	assert_int_equal(store_open_write(dir, fake_plan("better text", 3), &s, &err), -EEXIST);
	store_close(reader);
	arena_release(&arena);
	assert_int_equal(store_open_write(dir, fake_plan("better text", 3), &s, &err), 0);
	store_close(s);
}

/* Someone deletes tare.db after a kill, and begins anew: the dead one's log is not for the new one. */
static void log_of_a_deleted_store_is_not_merged(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct store *s = open_write(2);

		put_good(s, 0);
		put_good(s, 1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(access(inside("tare.db-wal"), F_OK), 0);
	assert_int_equal(unlink(inside("tare.db")), 0);
	store_close(open_write(2));
	assert_int_equal(check_whole(), 0);
}

/* --- one writer --- */

static void second_writer_is_refused(void **state)
{
	struct store *s = open_write(1), *second = NULL;
	struct err err = { 0 };
	char pid[32];

	(void)state;
	snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
	assert_int_equal(store_open_write(dir, fake_plan("text", 1), &second, &err), -EBUSY);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, pid));
	put_good(s, 0); /* the first is none the worse */
	store_close(s);
	s = open_write(1);
	store_close(s);
}

static void reader_works_beside_a_writer(void **state)
{
	struct store *s = open_write(2);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(check_whole(), 0);
	put_good(s, 0);
	assert_int_equal(check_whole(), 1);
	assert_int_equal(store_begin_restart(s, 1, &err), 0);
	assert_int_equal(check_whole(), 1); /* and does not see the restart that is open */
	store_abandon_restart(s);
	put_good(s, 1);
	store_close(s);
	assert_int_equal(check_whole(), 2);
}

/* A writer that closes while a report reads cannot fold the log away; nothing is lost, the next one does it. */
static void writer_closes_beside_a_reader(void **state)
{
	struct store *s = open_write(2), *reader;
	struct stored_restart *restarts;
	struct pair pairs[PAIRS];
	struct arena arena;
	struct err err = { 0 };
	uint32_t count;

	(void)state;
	put_good(s, 0);
	reader = open_read();
	arena_init(&arena, 0);
	assert_int_equal(store_read_restarts(reader, &arena, &restarts, &count, &err), 0);
	store_close(s);
	assert_int_equal(store_read_pairs(reader, &restarts[0].runs[1], pairs, PAIRS, &err), PAIRS);
	store_close(reader);
	arena_release(&arena);
	s = open_write(2);
	put_good(s, 1);
	store_close(s);
	assert_int_equal(count_files(), 1);
	assert_int_equal(check_whole(), 2);
}

/* Another user's campaign, while it runs. */
static int read_as_nobody(void)
{
	if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
		return 1;
	return check_whole() == 1 ? 0 : 2;
}

static void stranger_reads_beside_a_writer(void **state)
{
	struct store *s = open_write(2);
	struct err err = { 0 };

	(void)state;
	put_good(s, 0);
	assert_int_equal(store_begin_restart(s, 1, &err), 0);
	assert_int_equal(chmod(scratch, 0755), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(in_child(read_as_nobody), 0);
	store_close(s);
}

/* --- writers that end before their time --- */

static int write_for_ever(void)
{
	struct err err = { 0 };
	struct store *s = NULL;

	if (store_open_write(dir, fake_plan("text", FAKE_BLOCKS_MOST), &s, &err) != 0)
		return 1;
	for (uint32_t t = 0; t < FAKE_BLOCK * FAKE_BLOCKS_MOST; t++)
		if (store_turn_state(s, t) == STORE_TURN_OPEN && put_restart(s, t, NULL, &err) != 0)
			return 2;
	return 0;
}

/*
 * Killed at moments spread from its first instruction on, and started again on
 * what is left: every time all restarts there are whole, none that was there is
 * gone, the lock of the dead is no lock.
 */
static void killed_at_any_moment(void **state)
{
	uint32_t before = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 42);
	for (int kill_number = 0; kill_number < 60; kill_number++) {
		/* the second half later, and on a slow machine ever later, until something was recorded */
		long most_ns = kill_number < 30 ? 4000000 : before > 0 ? 30000000 : 30000000L << (kill_number - 30) / 6;
		struct timespec wait = { .tv_nsec = (long)rng_below(&rng, (uint64_t)most_ns) };
		pid_t pid = fork();
		struct err err = { 0 };
		struct store *s;
		uint32_t now;
		int status;

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(write_for_ever());
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status))
			assert_int_equal(WEXITSTATUS(status), 0);
		if (access(inside("tare.db"), F_OK) != 0) {
			assert_true(store_open_read(dir, &s, &err) <
				    0); /* killed before there was one: said, not made up */
			assert_int_equal(err.kind, ERR_USAGE);
			continue;
		}
		now = check_whole();
		assert_true(now >= before);
		before = now;
	}
	assert_true(before > 0);
	assert_int_equal(in_child(write_for_ever), 0);
	assert_int_equal(check_whole(), FAKE_BLOCK * FAKE_BLOCKS_MOST);
	store_close(open_write(FAKE_BLOCKS_MOST));
	assert_int_equal(count_files(), 1);
}

static rlim_t file_limit_bytes;

/* Writes until the disk is "full". 0: it was, the message says so, and the store still reads itself. */
static int fill_disk(void)
{
	struct rlimit limit = { .rlim_cur = file_limit_bytes, .rlim_max = file_limit_bytes };
	struct err err = { 0 };
	struct store *s = NULL;
	int r = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 1;
	if (store_open_write(dir, fake_plan("text", FAKE_BLOCKS_MOST), &s, &err) != 0)
		return 2;
	for (uint32_t t = 0; r == 0 && t < FAKE_BLOCK * FAKE_BLOCKS_MOST; t++)
		r = store_turn_state(s, t) == STORE_TURN_OPEN ? put_restart(s, t, NULL, &err) : 0;
	if (r != -EIO) {
		print_error("%d: %s\n", r, err.message);
		return 3;
	}
	if (err.kind != ERR_HOST || !strstr(err.message, "is safe") || !strstr(err.message, "tare.db"))
		return 4;
	if (sqlite3_get_autocommit(s->db) == 0 || s->in_restart)
		return 5;
	store_close(s);
	return 0;
}

static void full_disk_loses_nothing_recorded(void **state)
{
	struct store *s;
	uint32_t done, round = 0;

	(void)state;
	store_close(open_write(FAKE_BLOCKS_MOST));
	/* twice, the second time on what the first left */
	for (file_limit_bytes = 300000; file_limit_bytes <= 500000; file_limit_bytes += 200000) {
		assert_int_equal(in_child(fill_disk), 0);
		done = check_whole();
		assert_true(done > round);
		round = done;
	}
	s = open_write(FAKE_BLOCKS_MOST);
	for (uint32_t t = 0; t < FAKE_BLOCK * FAKE_BLOCKS_MOST; t++)
		if (store_turn_state(s, t) == STORE_TURN_OPEN)
			put_good(s, t);
	store_close(s);
	assert_int_equal(check_whole(), FAKE_BLOCK * FAKE_BLOCKS_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(resume_knows_what_is_done, fresh_dir),
		cmocka_unit_test_setup(other_plan_is_refused, fresh_dir),
		cmocka_unit_test_setup(empty_store_takes_another_plan, fresh_dir),
		cmocka_unit_test_setup(empty_store_that_is_read_stays, fresh_dir),
		cmocka_unit_test_setup(log_of_a_deleted_store_is_not_merged, fresh_dir),
		cmocka_unit_test_setup(second_writer_is_refused, fresh_dir),
		cmocka_unit_test_setup(reader_works_beside_a_writer, fresh_dir),
		cmocka_unit_test_setup(writer_closes_beside_a_reader, fresh_dir),
		cmocka_unit_test_setup(stranger_reads_beside_a_writer, fresh_dir),
		cmocka_unit_test_setup(killed_at_any_moment, fresh_dir),
		cmocka_unit_test_setup(full_disk_loses_nothing_recorded, fresh_dir),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
