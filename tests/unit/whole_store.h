/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_WHOLE_STORE_H
#define TARE_TESTS_WHOLE_STORE_H

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_plan.h"
#include "scratch.h"
#include "store/store.h"

/*
 * Stores of the fake plan in which every number follows from the turn and the run, so that a reader can tell whether
 * what is there is whole. Each test has a place of its own in the scratch directory, which is the group's.
 */
enum { PAIRS = 50 };

static char dir[64]; /* the store of the test that runs; not there when it begins */

static inline int fresh_dir(void **state)
{
	static int number;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/%d", scratch, number++);
	return 0;
}

static inline const char *inside(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static inline struct store *open_write(uint32_t blocks)
{
	struct err err = { 0 };
	struct store *s = NULL;

	if (store_open_write(dir, fake_plan("text", blocks), &s, &err) != 0)
		fail_msg("%s", err.message);
	return s;
}

static inline struct store *open_read(void)
{
	struct err err = { 0 };
	struct store *s = NULL;

	if (store_open_read(dir, &s, &err) != 0)
		fail_msg("%s", err.message);
	return s;
}

/* A run whose every number follows from (turn, run), so that a reader can tell whether it is whole. */
static inline struct run_record record_of(uint32_t turn, uint32_t run)
{
	struct run_record r = { .run = run, .tsc_hz = 2.5e9, .started_utc_ns = 1000 * turn + run };

	r.ledger.sent = r.ledger.fate[FATE_MATCHED] = PAIRS;
	return r;
}

static inline struct pair pair_of(uint32_t turn, uint32_t run, uint32_t seq)
{
	int64_t sched = (int64_t)seq * 250000, tx = sched + 70 + seq % 5;

	return (struct pair){
		.seq = seq,
		.packet = seq % 7,
		.sched_ticks = sched,
		.tx_ticks = tx,
		.path_ticks = tx + 2600 + turn,
		.bypass_ticks = tx + 2200 + run,
		.gap_path_ticks = 60,
		.gap_bypass_ticks = 61,
		.truth_ticks = 400,
	};
}

static inline bool same_pair(const struct pair *a, const struct pair *b)
{
	return a->seq == b->seq && a->packet == b->packet && a->fate == b->fate && a->flags == b->flags &&
	       a->burst_path == b->burst_path && a->burst_bypass == b->burst_bypass &&
	       a->sched_ticks == b->sched_ticks && a->tx_ticks == b->tx_ticks && a->path_ticks == b->path_ticks &&
	       a->bypass_ticks == b->bypass_ticks && a->gap_path_ticks == b->gap_path_ticks &&
	       a->gap_bypass_ticks == b->gap_bypass_ticks && a->truth_ticks == b->truth_ticks;
}

static inline int put_restart(struct store *s, uint32_t turn, const char *failure, struct err *err)
{
	struct pair pairs[PAIRS];
	int r = store_begin_restart(s, turn, err);

	for (uint32_t run = 0; r == 0 && run < 2; run++) {
		struct run_record record = record_of(turn, run);

		for (uint32_t i = 0; i < PAIRS; i++)
			pairs[i] = pair_of(turn, run, i);
		r = store_put_run(s, &record, pairs, PAIRS, err);
	}
	return r < 0 ? r : store_commit_restart(s, "{\"kind\":\"fake\"}", failure, err);
}

static inline void put_good(struct store *s, uint32_t turn)
{
	struct err err = { 0 };

	if (put_restart(s, turn, NULL, &err) != 0)
		fail_msg("%s", err.message);
}

/* Every restart in the store is whole, to the last field of the last sample. Returns how many there are. */
static inline uint32_t check_whole(void)
{
	struct store *s = open_read();
	struct stored_restart *restarts;
	struct arena arena;
	struct pair pairs[PAIRS];
	struct err err = { 0 };
	uint32_t count;

	arena_init(&arena, 0);
	assert_int_equal(store_read_restarts(s, &arena, &restarts, &count, &err), 0);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(restarts[i].run_count, 2);
		for (uint32_t run = 0; run < 2; run++) {
			assert_int_equal(restarts[i].runs[run].record.started_utc_ns,
					 1000 * restarts[i].position + run);
			assert_int_equal(store_read_pairs(s, &restarts[i].runs[run], pairs, PAIRS, &err), PAIRS);
			for (uint32_t p = 0; p < PAIRS; p++) {
				struct pair expected = pair_of(restarts[i].position, run, p);

				assert_true(same_pair(&pairs[p], &expected));
			}
		}
	}
	arena_release(&arena);
	store_close(s);
	return count;
}

/* In a child, so that limits and identities end with it. Returns its exit status, or 128 + signal. */
static inline int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline unsigned count_files(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

#endif
