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

#include "store_bed.h"
#include "store_older.h"

/* Numbers of runs in the store: what comes back is what was put, and stores of older schemas go on. */

static const struct run_value values[] = {
	{ "wall", "ms", 3.731 },  { "per_second", "1/s", 2188.25 }, { "acting", "us", INFINITY },
	{ "pressure", "%", NAN }, { "agreement", "", -0.1 },
};
enum { VALUES = 5 };

/* Two runs in one restart: the first with all values, put in two parts; the second with one of other name and none else. */
static void put_two_runs(void)
{
	const struct run_value other = { "other", "s", 1 };
	const struct run_record second = { .run = 1 };
	struct store *store = begin_run(0);
	struct err err = { 0 };

	assert_int_equal(store_put_values(store, values, 2, &err), 0);
	assert_int_equal(store_put_values(store, values + 2, VALUES - 2, &err), 0);
	assert_int_equal(store_put_run(store, &second, NULL, 0, &err), 0);
	assert_int_equal(store_put_values(store, &other, 1, &err), 0);
	end_restart(store);
}

/* Open what is there and read the values of one run of the first restart; the result of the last call. */
static int read_back(uint32_t run, struct arena *arena, struct run_value **ret, uint32_t *ret_count, struct err *err)
{
	struct stored_restart *restarts;
	struct store *store = open_restart(arena, &restarts);
	int r;

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
	struct stored_restart *restarts;
	struct store *store = begin_run(0);
	struct err err = { 0 };
	struct arena arena;
	uint32_t count = 1;

	(void)state;
	arena_init(&arena, 0);
	assert_true(store_put_values(store, twice, 2, &err) < 0);
	assert_non_null(strstr(err.message, "value.name"));
	/* and the restart is as if it had not begun */
	assert_int_equal(store_read_restarts(store, &arena, &restarts, &count, &err), 0);
	assert_int_equal(count, 0);
	store_close(store);
	arena_release(&arena);
}

/* What there is in each schema is taken away from a new store; a report reads it, and a resumed campaign has it all. */
static void stores_of_older_schemas_go_on(void **state)
{
	static const char *const older[] = { STORE_WITHOUT_3, STORE_WITHOUT_2 };
	struct run_value *got = NULL;
	struct err err = { 0 };
	struct store *store;
	struct arena arena;
	uint32_t count;

	arena_init(&arena, 0);
	for (size_t i = 0; i < sizeof(older) / sizeof(older[0]); i++) {
		put_two_runs();
		change_store(scratch, older[i]);
		count = 7;
		assert_int_equal(read_back(0, &arena, &got, &count, &err), 0);
		assert_int_equal(count, 0);
		store = begin_run(1);
		assert_int_equal(store_put_values(store, values, VALUES, &err), 0);
		end_restart(store);
		change_store(scratch, "SELECT * FROM transit_us");
		assert_int_equal(remove_scratch(state), 0);
		assert_int_equal(make_scratch(state), 0);
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
		change_store(scratch, damages[i]);
		assert_int_equal(read_back(0, &arena, &got, &count, &err), -EBADMSG);
		assert_non_null(strstr(err.message, "damaged"));
		assert_int_equal(remove_scratch(state), 0);
		assert_int_equal(make_scratch(state), 0);
	}
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_put_comes_back, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(a_name_is_there_once_in_a_run, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(stores_of_older_schemas_go_on, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(damage_is_told, make_scratch, remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
