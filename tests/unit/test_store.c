/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
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
#include "fake_plan.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/store_private.h"

enum { PAIRS = 50 };

/* What lies between fields is nobody's; clang 14 cannot tell where that is. */
#if defined(__has_builtin) && __has_builtin(__builtin_clear_padding)
#define CLEAR_PADDING(p) __builtin_clear_padding(p)
#define KNOWS_PADDING    1
#else
#define CLEAR_PADDING(p) (void)(p)
#define KNOWS_PADDING    0
#endif

/* --- what the tests stand on --- */

static char base[] = "/tmp/tare-store-XXXXXX"; /* all below it is ours */
static char dir[64];                           /* the store of the test that runs */

static int make_base(void **state)
{
	(void)state;
	return mkdtemp(base) ? 0 : -1;
}

static void remove_tree(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[512];

	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (unlink(name) != 0)
			remove_tree(name);
	}
	if (d)
		closedir(d);
	rmdir(path);
}

static int remove_base(void **state)
{
	(void)state;
	remove_tree(base);
	return 0;
}

static int fresh_dir(void **state)
{
	static int number;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/%d", base, number++);
	return 0;
}

static const char *inside(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static struct store *open_write(uint32_t blocks)
{
	struct err err = { 0 };
	struct store *s = NULL;

	if (store_open_write(dir, fake_plan("text", blocks), &s, &err) != 0)
		fail_msg("%s", err.message);
	return s;
}

static struct store *open_read(void)
{
	struct err err = { 0 };
	struct store *s = NULL;

	if (store_open_read(dir, &s, &err) != 0)
		fail_msg("%s", err.message);
	return s;
}

/* A run whose every number follows from (turn, run), so that a reader can tell whether it is whole. */
static struct run_record record_of(uint32_t turn, uint32_t run)
{
	struct run_record r = { .run = run, .tsc_hz = 2.5e9, .started_utc_ns = 1000 * turn + run };

	r.ledger.sent = r.ledger.fate[FATE_MATCHED] = PAIRS;
	return r;
}

static struct pair pair_of(uint32_t turn, uint32_t run, uint32_t seq)
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

static bool same_pair(const struct pair *a, const struct pair *b)
{
	return a->seq == b->seq && a->packet == b->packet && a->fate == b->fate && a->flags == b->flags &&
	       a->burst_path == b->burst_path && a->burst_bypass == b->burst_bypass &&
	       a->sched_ticks == b->sched_ticks && a->tx_ticks == b->tx_ticks && a->path_ticks == b->path_ticks &&
	       a->bypass_ticks == b->bypass_ticks && a->gap_path_ticks == b->gap_path_ticks &&
	       a->gap_bypass_ticks == b->gap_bypass_ticks && a->truth_ticks == b->truth_ticks;
}

static int put_restart(struct store *s, uint32_t turn, const char *failure, struct err *err)
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

static void put_good(struct store *s, uint32_t turn)
{
	struct err err = { 0 };

	if (put_restart(s, turn, NULL, &err) != 0)
		fail_msg("%s", err.message);
}

/* Every restart in the store is whole, to the last field of the last sample. Returns how many there are. */
static uint32_t check_whole(void)
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

static void sql(const char *text)
{
	sqlite3 *db = NULL;
	char *message = NULL;

	assert_int_equal(sqlite3_open(inside("tare.db"), &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", text, message);
	sqlite3_close(db);
}

static void write_file(const char *path, const void *data, size_t size_bytes)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size_bytes, f), size_bytes);
	assert_int_equal(fclose(f), 0);
}

/* Both ways of opening fail with this kind, and the message says these words. */
static void expect_refused(enum err_kind kind, const char *says)
{
	for (int writing = 0; writing < 2; writing++) {
		struct err err = { 0 };
		struct store *s = NULL;
		int r = writing ? store_open_write(dir, fake_plan("text", 2), &s, &err)
				: store_open_read(dir, &s, &err);

		if (r >= 0)
			fail_msg("opened for %s", writing ? "writing" : "reading");
		assert_null(s);
		if (err.kind != kind || !strstr(err.message, says))
			fail_msg("kind %d: %s; expected kind %d: %s", err.kind, err.message, kind, says);
		assert_non_null(strstr(err.message, dir));
	}
}

/* In a child, so that limits and identities end with it. Returns its exit status, or 128 + signal. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static unsigned count_files(void)
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

/* --- what goes in comes out --- */

static void campaign_comes_back(void **state)
{
	struct store *s = open_write(3);
	struct stored_campaign c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	store_close(s);
	s = open_read();
	arena_init(&arena, 0);
	assert_int_equal(store_read_campaign(s, &arena, &c, &err), 0);
	assert_string_equal(c.name, "fake");
	assert_int_equal(c.measure, MEASURE_DIFFERENTIAL);
	assert_string_equal(c.plan_text, "text");
	assert_true(c.seed == UINT64_MAX - 1);
	assert_int_equal(c.restarts, 3);
	assert_int_equal(c.runs, 2);
	assert_int_equal(c.axis_count, 2);
	assert_string_equal(c.axes[1], "size");
	assert_int_equal(c.cell_count, FAKE_CELLS);
	assert_string_equal(c.cells[1].label, "program=checksum size=64B");
	assert_string_equal(c.cells[1].values[0], "checksum");
	assert_int_equal(c.cells[1].tare, 2);
	assert_true(c.cells[2].is_tare);
	assert_null(c.cells[2].values[1]);
	assert_int_equal(c.turn_count, 12);
	assert_int_equal(c.turns[5].block, 1);
	assert_int_equal(c.turns[5].cell, 1);
	assert_int_equal(c.turns_done, 0);
	arena_release(&arena);
	store_close(s);
}

/* Fails when struct run_record has a field that schema.c does not know. */
static void every_byte_of_a_record_comes_back(void **state)
{
	struct run_record in, out;
	struct stored_restart *restarts;
	struct store *s = open_write(1);
	struct arena arena;
	struct err err = { 0 };
	uint32_t count;

	(void)state;
	memset(&in, 0x41, sizeof(in));
	CLEAR_PADDING(&in);
	in.protection[sizeof(in.protection) - 1] = '\0';
	in.invalid[sizeof(in.invalid) - 1] = '\0';
	assert_int_equal(store_begin_restart(s, 0, &err), 0);
	assert_int_equal(store_put_run(s, &in, NULL, 0, &err), 0);
	assert_int_equal(store_commit_restart(s, NULL, NULL, &err), 0);
	arena_init(&arena, 0);
	assert_int_equal(store_read_restarts(s, &arena, &restarts, &count, &err), 0);
	assert_int_equal(count, 1);
	memcpy(&out, &restarts[0].runs[0].record, sizeof(out));
	CLEAR_PADDING(&out);
	for (size_t i = 0; KNOWS_PADDING && i < sizeof(in); i++)
		if (((unsigned char *)&in)[i] != ((unsigned char *)&out)[i])
			fail_msg("byte %zu of struct run_record is not stored: is a field missing in run_columns?", i);
	assert_null(restarts[0].target_facts);
	arena_release(&arena);
	store_close(s);
}

static void any_pair_comes_back(void **state)
{
	enum { COUNT = 2000 };
	static const int64_t odd[] = { 0, 1, -1, INT64_MAX, INT64_MIN + 1, PAIR_NONE, 4000000000, -70000 };
	struct pair *in = calloc(COUNT, sizeof(*in)), *out = calloc(COUNT, sizeof(*out));
	struct run_record record = { .tsc_hz = NAN };
	struct stored_restart *restarts;
	struct store *s = open_write(1);
	struct arena arena;
	struct err err = { 0 };
	struct rng rng;
	uint32_t count;

	(void)state;
	rng_init(&rng, 1);
	for (uint32_t i = 0; i < COUNT; i++) {
		in[i] = (struct pair){ .seq = i == COUNT - 1 ? UINT32_MAX : i,
				       .packet = (uint32_t)rng_u64(&rng),
				       .fate = (uint8_t)rng_below(&rng, FATES),
				       .flags = (uint8_t)rng_below(&rng, 256),
				       .burst_path = (uint8_t)rng_below(&rng, 256),
				       .burst_bypass = (uint8_t)rng_below(&rng, 256),
				       .sched_ticks = odd[rng_below(&rng, 8)],
				       .tx_ticks = odd[rng_below(&rng, 8)],
				       .path_ticks = odd[rng_below(&rng, 8)],
				       .bypass_ticks = odd[rng_below(&rng, 8)],
				       .gap_path_ticks = odd[rng_below(&rng, 8)],
				       .gap_bypass_ticks = odd[rng_below(&rng, 8)],
				       .truth_ticks = odd[rng_below(&rng, 8)] };
	}
	assert_int_equal(store_begin_restart(s, 3, &err), 0);
	assert_int_equal(store_put_run(s, &record, in, COUNT, &err), 0);
	assert_int_equal(store_commit_restart(s, NULL, NULL, &err), 0);
	arena_init(&arena, 0);
	assert_int_equal(store_read_restarts(s, &arena, &restarts, &count, &err), 0);
	assert_int_equal(restarts[0].position, 3);
	assert_int_equal(restarts[0].runs[0].pair_count, COUNT);
	assert_true(isnan(restarts[0].runs[0].record.tsc_hz));
	assert_int_equal(store_read_pairs(s, &restarts[0].runs[0], out, COUNT, &err), COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		if (!same_pair(&in[i], &out[i]))
			fail_msg("pair %u differs", i);
	arena_release(&arena);
	store_close(s);
	free(in);
	free(out);
}

static void view_speaks_nanoseconds(void **state)
{
	struct store *s = open_write(1);
	sqlite3_stmt *stmt;

	(void)state;
	put_good(s, 1);
	store_close(s);
	s = open_read();
	assert_int_equal(sqlite3_prepare_v2(s->db,
					    "SELECT cell, restart, run, fate, difference_ns, truth_ns, sched_ns, tx_ns,"
					    " rx_path_ns, gap_bypass_ns FROM pair_ns WHERE run_id = 2 AND seq = 3",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 2), 1);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 3), fate_name(FATE_MATCHED));
	assert_true(sqlite3_column_double(stmt, 4) == 160.0); /* 400 ticks at 2.5 GHz */
	assert_true(sqlite3_column_double(stmt, 5) == 160.0);
	assert_true(sqlite3_column_double(stmt, 6) == 300000.0);
	assert_true(sqlite3_column_double(stmt, 7) == 300029.2);
	assert_true(sqlite3_column_double(stmt, 8) == 301069.6);
	assert_true(sqlite3_column_double(stmt, 9) == 24.4);
	sqlite3_finalize(stmt);
	/* the words of the view are the words of the report */
	for (int fate = 0; fate < FATES; fate++)
		assert_non_null(strstr(schema_create_sql(&s->arena), fate_name((enum fate)fate)));
	store_close(s);
}

static void facts_and_events_come_back(void **state)
{
	static const struct stored_fact first[] = { { "cpu.model", "one" }, { "a", "" } },
					second[] = { { "cpu.model", "two" }, { "a", "" }, { "b", "3" } };
	struct store *s = open_write(1);
	struct stored_campaign c;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(store_put_facts(s, first, 2, &err), 0);
	assert_int_equal(store_put_event(s, "start", "hello", &err), 0);
	store_close(s);
	s = open_write(1);
	assert_int_equal(store_put_facts(s, second, 3, &err), 0);
	assert_int_equal(store_begin_restart(s, 0, &err), 0);
	assert_int_equal(store_put_event(s, "clock", "gone", &err), 0);
	store_abandon_restart(s);
	assert_int_equal(store_begin_restart(s, 0, &err), 0);
	assert_int_equal(store_put_event(s, "clock", "stepped", &err), 0);
	assert_int_equal(store_commit_restart(s, NULL, NULL, &err), 0);
	arena_init(&arena, 0);
	assert_int_equal(store_read_campaign(s, &arena, &c, &err), 0);
	assert_int_equal(c.fact_count, 3);
	assert_string_equal(c.facts[0].name, "a");
	assert_string_equal(c.facts[2].value, "two");
	assert_int_equal(c.event_count, 3);
	assert_string_equal(c.events[0].message, "hello");
	assert_string_equal(c.events[1].kind, "host changed");
	assert_string_equal(c.events[1].message, "cpu.model was 'one', is now 'two'");
	assert_int_equal(c.events[1].restart, 0);
	assert_string_equal(c.events[2].message, "stepped");
	assert_int_equal(c.events[2].restart, 1);
	arena_release(&arena);
	store_close(s);
}

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

/* --- what can go wrong --- */

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

static int create_on_full_disk(void)
{
	struct rlimit limit = { .rlim_cur = 20000, .rlim_max = 20000 };
	struct err err = { 0 };
	struct store *s = NULL;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 1;
	if (store_open_write(dir, fake_plan("text", FAKE_BLOCKS_MOST), &s, &err) >= 0)
		return 2;
	return err.kind == ERR_HOST && access(dir, F_OK) != 0 ? 0 : 3;
}

static void nothing_half_written_where_creation_fails(void **state)
{
	(void)state;
	assert_int_equal(in_child(create_on_full_disk), 0);
}

static void truncated_store_is_told(void **state)
{
	struct store *s = open_write(4);
	struct stat st;

	(void)state;
	for (uint32_t t = 0; t < 16; t++)
		put_good(s, t);
	store_close(s);
	assert_int_equal(stat(inside("tare.db"), &st), 0);
	for (off_t cut = st.st_size - 1; cut > 100; cut = cut * 2 / 3) {
		assert_int_equal(truncate(inside("tare.db"), cut), 0);
		expect_refused(ERR_HOST, "cut short");
	}
	assert_int_equal(truncate(inside("tare.db"), 60), 0);
	expect_refused(ERR_USAGE, "too short");
	assert_int_equal(truncate(inside("tare.db"), 0), 0);
	expect_refused(ERR_USAGE, "empty"); /* and is not begun anew over it */
}

static void not_a_store(void **state)
{
	char text[4096];

	(void)state;
	assert_int_equal(mkdir(dir, 0777), 0);
	memset(text, 'x', sizeof(text));
	write_file(inside("tare.db"), text, sizeof(text));
	expect_refused(ERR_USAGE, "not a tare store");
	remove_tree(dir);

	assert_int_equal(mkdir(dir, 0777), 0);
	sql("CREATE TABLE bookmarks (url TEXT)");
	expect_refused(ERR_USAGE, "another program");
	sql("PRAGMA application_id=7");
	expect_refused(ERR_USAGE, "application id 7");
	remove_tree(dir);

	store_close(open_write(2));
	sql("PRAGMA user_version=9");
	expect_refused(ERR_USAGE, "newer tare (schema 9");
	sql("PRAGMA user_version=0");
	expect_refused(ERR_HOST, "no schema number");
	remove_tree(dir);

	write_file(dir, "x", 1);
	expect_refused(ERR_USAGE, "not a directory");
	unlink(dir);
}

static void no_directory(void **state)
{
	struct err err = { 0 };
	struct store *s = NULL;
	char path[128];

	(void)state;
	assert_int_equal(store_open_read(dir, &s, &err), -ENOENT);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_int_equal(mkdir(dir, 0777), 0);
	assert_int_equal(store_open_read(dir, &s, &err), -ENOENT);
	assert_non_null(strstr(err.message, "made by 'tare run'"));
	snprintf(path, sizeof(path), "%s/no/such", dir);
	assert_int_equal(store_open_write(path, fake_plan("text", 1), &s, &err), -ENOENT);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, path));
}

/* As someone whom permissions bind. */
static int without_permission(void)
{
	struct err err = { 0 };
	struct store *s = NULL;
	char path[128];

	if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
		return 1;
	snprintf(path, sizeof(path), "%s/below", dir);
	if (store_open_write(path, fake_plan("text", 2), &s, &err) != -EACCES || err.kind != ERR_HOST)
		return 2;
	if (store_open_write(dir, fake_plan("text", 2), &s, &err) != -EACCES || err.kind != ERR_HOST)
		return 3;
	if (!strstr(err.message, dir))
		return 4;
	/* a closed store is read without writing anything beside it */
	return check_whole() == 1 ? 0 : 5;
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
	assert_int_equal(chmod(base, 0755), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(in_child(read_as_nobody), 0);
	store_close(s);
}

static void permission_is_told(void **state)
{
	struct store *s = open_write(2);

	(void)state;
	put_good(s, 0);
	store_close(s);
	assert_int_equal(chmod(base, 0755), 0);
	assert_int_equal(chmod(dir, 0555), 0);
	assert_int_equal(chmod(inside("tare.db"), 0444), 0);
	assert_int_equal(in_child(without_permission), 0);
	assert_int_equal(chmod(dir, 0755), 0);
}

/* Rows that no tare wrote: each is found, and named. */
static void damaged_rows_are_told(void **state)
{
	static const struct {
		const char *sql, *says;
	} cases[] = {
		{ "DELETE FROM pair WHERE run = 2 AND seq = 7", "not as many samples" },
		{ "INSERT INTO pair SELECT run, 99, packet, fate, flags, path, bypass, truth, sched, late, gap_path,"
		  " gap_bypass, burst FROM pair WHERE run = 2 AND seq = 7",
		  "not as many samples" },
		{ "UPDATE pair SET fate = 6 WHERE run = 1 AND seq = 49", "fate" },
		{ "UPDATE run SET pairs = -1", "number of pairs" },
		{ "UPDATE turn SET cell = 3 WHERE id = 1", "cell of a turn 3 is outside 0 to 2" },
		{ "UPDATE turn SET id = 100 WHERE id = 1", "turn" },
		{ "DELETE FROM axis WHERE id = 0", "axis" },
		{ "UPDATE cell SET tare = 5 WHERE id = 0", "tare of a cell" },
		{ "UPDATE cell_value SET axis = 2 WHERE axis = 1", "axis of a value" },
		{ "UPDATE campaign SET measure = 'guess'", "measure" },
		{ "DELETE FROM campaign", "no campaign" },
		{ "DROP TABLE host", "no such table: host" },
		{ "ALTER TABLE run RENAME COLUMN sent TO gone", "no such column" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stored_campaign c;
		struct stored_restart *restarts;
		struct pair pairs[PAIRS];
		struct arena arena;
		struct err err = { 0 };
		struct store *s = open_write(1);
		uint32_t count = 0;
		int64_t r;

		put_good(s, 1);
		store_close(s);
		sql(cases[i].sql);
		s = open_read();
		arena_init(&arena, 0);
		r = store_read_campaign(s, &arena, &c, &err);
		if (r == 0)
			r = store_read_restarts(s, &arena, &restarts, &count, &err);
		for (uint32_t run = 0; r == 0 && count == 1 && run < restarts[0].run_count; run++) {
			r = store_read_pairs(s, &restarts[0].runs[run], pairs, PAIRS, &err);
			r = r > 0 ? 0 : r;
		}
		if (r != -EBADMSG || err.kind != ERR_HOST || !strstr(err.message, cases[i].says))
			fail_msg("%s: %" PRId64 " %s", cases[i].sql, r, err.message);
		arena_release(&arena);
		store_close(s);
		remove_tree(dir);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(campaign_comes_back, fresh_dir),
		cmocka_unit_test_setup(every_byte_of_a_record_comes_back, fresh_dir),
		cmocka_unit_test_setup(any_pair_comes_back, fresh_dir),
		cmocka_unit_test_setup(view_speaks_nanoseconds, fresh_dir),
		cmocka_unit_test_setup(facts_and_events_come_back, fresh_dir),
		cmocka_unit_test_setup(resume_knows_what_is_done, fresh_dir),
		cmocka_unit_test_setup(other_plan_is_refused, fresh_dir),
		cmocka_unit_test_setup(empty_store_takes_another_plan, fresh_dir),
		cmocka_unit_test_setup(empty_store_that_is_read_stays, fresh_dir),
		cmocka_unit_test_setup(log_of_a_deleted_store_is_not_merged, fresh_dir),
		cmocka_unit_test_setup(second_writer_is_refused, fresh_dir),
		cmocka_unit_test_setup(reader_works_beside_a_writer, fresh_dir),
		cmocka_unit_test_setup(writer_closes_beside_a_reader, fresh_dir),
		cmocka_unit_test_setup(killed_at_any_moment, fresh_dir),
		cmocka_unit_test_setup(full_disk_loses_nothing_recorded, fresh_dir),
		cmocka_unit_test_setup(nothing_half_written_where_creation_fails, fresh_dir),
		cmocka_unit_test_setup(truncated_store_is_told, fresh_dir),
		cmocka_unit_test_setup(not_a_store, fresh_dir),
		cmocka_unit_test_setup(no_directory, fresh_dir),
		cmocka_unit_test_setup(permission_is_told, fresh_dir),
		cmocka_unit_test_setup(stranger_reads_beside_a_writer, fresh_dir),
		cmocka_unit_test_setup(damaged_rows_are_told, fresh_dir),
	};

	return cmocka_run_group_tests(tests, make_base, remove_base);
}
