/* SPDX-License-Identifier: Apache-2.0 */
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
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/store_private.h"
#include "store_change.h"
#include "whole_store.h"

/* What lies between fields is nobody's; clang 14 cannot tell where that is. */
#if defined(__has_builtin) && __has_builtin(__builtin_clear_padding)
#define CLEAR_PADDING(p) __builtin_clear_padding(p)
#define KNOWS_PADDING    1
#else
#define CLEAR_PADDING(p) (void)(p)
#define KNOWS_PADDING    0
#endif

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

/* --- what cannot be used --- */

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
	change_store(dir, "CREATE TABLE bookmarks (url TEXT)");
	expect_refused(ERR_USAGE, "another program");
	change_store(dir, "PRAGMA application_id=7");
	expect_refused(ERR_USAGE, "application id 7");
	remove_tree(dir);

	store_close(open_write(2));
	change_store(dir, "PRAGMA user_version=9");
	expect_refused(ERR_USAGE, "newer tare (schema 9");
	change_store(dir, "PRAGMA user_version=0");
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

static void permission_is_told(void **state)
{
	struct store *s = open_write(2);

	(void)state;
	put_good(s, 0);
	store_close(s);
	assert_int_equal(chmod(scratch, 0755), 0);
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
		change_store(dir, cases[i].sql);
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
		cmocka_unit_test_setup(nothing_half_written_where_creation_fails, fresh_dir),
		cmocka_unit_test_setup(truncated_store_is_told, fresh_dir),
		cmocka_unit_test_setup(not_a_store, fresh_dir),
		cmocka_unit_test_setup(no_directory, fresh_dir),
		cmocka_unit_test_setup(permission_is_told, fresh_dir),
		cmocka_unit_test_setup(damaged_rows_are_told, fresh_dir),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
