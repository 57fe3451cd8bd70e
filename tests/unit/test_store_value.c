/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "fake_plan.h"
#include "store_older.h"
#include "store/store.h"

/* Numbers of runs in the store: what comes back is what was put, and stores of older schemas go on. */

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/tare-store-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static const struct run_value values[] = {
	{ "wall", "ms", 3.731 },  { "per_second", "1/s", 2188.25 }, { "acting", "us", INFINITY },
	{ "pressure", "%", NAN }, { "agreement", "", -0.1 },
};
enum { VALUES = 5 };

/* Two runs in one restart: the first with all values, put in two parts; the second with one of other name and none else. */
static void put_two_runs(void)
{
	const struct run_value other = { "other", "s", 1 };
	struct run_record record = { .run = 0 };
	struct err err = { 0 };
	struct store *store;

	if (store_open_write(dir, fake_plan("a", 1), &store, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(store_begin_restart(store, 0, &err), 0);
	assert_int_equal(store_put_run(store, &record, NULL, 0, &err), 0);
	assert_int_equal(store_put_values(store, values, 2, &err), 0);
	assert_int_equal(store_put_values(store, values + 2, VALUES - 2, &err), 0);
	record.run = 1;
	assert_int_equal(store_put_run(store, &record, NULL, 0, &err), 0);
	assert_int_equal(store_put_values(store, &other, 1, &err), 0);
	assert_int_equal(store_commit_restart(store, NULL, NULL, &err), 0);
	store_close(store);
}

/* Open what is there and read the values of one run of the first restart; the result of the last call. */
static int read_back(uint32_t run, struct arena *arena, struct run_value **ret, uint32_t *ret_count, struct err *err)
{
	struct stored_restart *restarts;
	struct store *store;
	uint32_t count;
	int r;

	assert_int_equal(store_open_read(dir, &store, err), 0);
	assert_int_equal(store_read_restarts(store, arena, &restarts, &count, err), 0);
	assert_int_equal(count, 1);
	assert_true(run < restarts[0].run_count);
	r = store_read_values(store, &restarts[0].runs[run], arena, ret, ret_count, err);
	store_close(store);
	return r;
}

static void what_is_put_comes_back(void **state)
{
	struct run_value *got = NULL;
	struct err err = { 0 };
	struct arena arena;
	uint32_t count = 0;

	(void)state;
	put_two_runs();
	arena_init(&arena, 0);
	assert_int_equal(read_back(0, &arena, &got, &count, &err), 0);
	assert_int_equal(count, VALUES);
	for (uint32_t i = 0; i < count; i++) {
		assert_string_equal(got[i].name, values[i].name);
		assert_string_equal(got[i].unit, values[i].unit);
		assert_true(got[i].value == values[i].value || (isnan(got[i].value) && isnan(values[i].value)));
	}
	assert_int_equal(read_back(1, &arena, &got, &count, &err), 0);
	assert_int_equal(count, 1);
	assert_string_equal(got[0].name, "other");
	arena_release(&arena);
}

static void a_name_is_there_once_in_a_run(void **state)
{
	const struct run_value twice[] = { { "wall", "ms", 1 }, { "wall", "ms", 2 } };
	const struct run_record record = { 0 };
	struct stored_restart *restarts;
	struct err err = { 0 };
	struct store *store;
	struct arena arena;
	uint32_t count = 1;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(store_open_write(dir, fake_plan("a", 1), &store, &err), 0);
	assert_int_equal(store_begin_restart(store, 0, &err), 0);
	assert_int_equal(store_put_run(store, &record, NULL, 0, &err), 0);
	assert_true(store_put_values(store, twice, 2, &err) < 0);
	assert_non_null(strstr(err.message, "value.name"));
	/* and the restart is as if it had not begun */
	assert_int_equal(store_read_restarts(store, &arena, &restarts, &count, &err), 0);
	assert_int_equal(count, 0);
	store_close(store);
	arena_release(&arena);
}

static void change(const char *sql)
{
	char path[96];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/tare.db", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* What there is in each schema is taken away from a new store; a report reads it, and a resumed campaign has it all. */
static void stores_of_older_schemas_go_on(void **state)
{
	static const char *const older[] = { STORE_WITHOUT_3, STORE_WITHOUT_2 };
	struct run_value *got = NULL;
	const struct run_record record = { 0 };
	struct err err = { 0 };
	struct store *store;
	struct arena arena;
	uint32_t count;

	arena_init(&arena, 0);
	for (size_t i = 0; i < sizeof(older) / sizeof(older[0]); i++) {
		put_two_runs();
		change(older[i]);
		count = 7;
		assert_int_equal(read_back(0, &arena, &got, &count, &err), 0);
		assert_int_equal(count, 0);
		if (store_open_write(dir, fake_plan("a", 1), &store, &err) < 0)
			fail_msg("%s", err.message);
		assert_int_equal(store_begin_restart(store, 1, &err), 0);
		assert_int_equal(store_put_run(store, &record, NULL, 0, &err), 0);
		assert_int_equal(store_put_values(store, values, VALUES, &err), 0);
		assert_int_equal(store_commit_restart(store, NULL, NULL, &err), 0);
		store_close(store);
		change("SELECT * FROM transit_us");
		assert_int_equal(remove_dir(state), 0);
		assert_int_equal(make_dir(state), 0);
	}
	arena_release(&arena);
}

static void damage_is_told(void **state)
{
	static const char *const damages[] = {
		"DELETE FROM value WHERE seq = 1",
		"UPDATE value SET seq = 9 WHERE seq = 4",
		"UPDATE value SET name = '' WHERE seq = 2",
		"DROP TABLE value",
	};
	struct run_value *got = NULL;
	struct arena arena;
	uint32_t count;

	arena_init(&arena, 0);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct err err = { 0 };

		put_two_runs();
		change(damages[i]);
		assert_int_equal(read_back(0, &arena, &got, &count, &err), -EBADMSG);
		assert_non_null(strstr(err.message, "damaged"));
		assert_int_equal(remove_dir(state), 0);
		assert_int_equal(make_dir(state), 0);
	}
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_put_comes_back, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_name_is_there_once_in_a_run, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(stores_of_older_schemas_go_on, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(damage_is_told, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
