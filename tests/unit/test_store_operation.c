/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "store/operation.h"
#include "store_bed.h"
#include "store_older.h"

/* Runs of control plans in the store: what comes back is what was put. */

static const struct operation rows[] = {
	{ .at = 0,
	  .seq = 0,
	  .flags = OPERATION_WATCHED,
	  .queued_ns = 0,
	  .sent_ns = 1200,
	  .answered_ns = 25000,
	  .acting_low_ns = -400,
	  .acting_high_ns = 18000 },
	{ .at = 0,
	  .seq = 1,
	  .status = 99,
	  .flags = OPERATION_SHARED,
	  .queued_ns = 0,
	  .sent_ns = 30000,
	  .answered_ns = 31000,
	  .acting_low_ns = OPERATION_NONE,
	  .acting_high_ns = OPERATION_NONE },
	{ .at = 1,
	  .seq = 0,
	  .flags = OPERATION_WATCHED | OPERATION_EARLY,
	  .queued_ns = 50,
	  .sent_ns = 50,
	  .answered_ns = INT64_C(7000000000),
	  .acting_low_ns = INT64_C(7000000500),
	  .acting_high_ns = INT64_C(7000000900) },
	{ .at = 1,
	  .seq = 1,
	  .status = 1,
	  .queued_ns = 50,
	  .sent_ns = OPERATION_NONE,
	  .answered_ns = OPERATION_NONE,
	  .acting_low_ns = OPERATION_NONE,
	  .acting_high_ns = OPERATION_NONE },
};
enum { ROWS = 4 };

static const struct control_account account = { .operation = "insert",
						.mode = "batched",
						.switches = 2,
						.count = 2,
						.window = 1,
						.batch = 100,
						.operations = ROWS,
						.sent = 3,
						.answered_ok = 2,
						.failed = 1,
						.unsent = 1,
						.losses = 2,
						.returns = 1,
						.wall_ns = 7000000000,
						.client_cpu_ns = 12,
						.server_cpu_ns = -1,
						.watched = 2,
						.acting_seen = 2,
						.acting_early = 1,
						.clock_u_ns = 42.5,
						.statuses = "1 status 99",
						.first_why = "it's \"told\"" };

static void put_one(void)
{
	struct store *store = begin_run(0);
	struct err err = { 0 };

	if (store_put_control(store, &account, rows, ROWS, &err) < 0)
		fail_msg("%s", err.message);
	end_restart(store);
}

/* What is stored, or the error. */
static int64_t read_back(struct control_account *ret_account, bool *ret_there, struct operation ret_rows[ROWS],
			 struct err *err)
{
	struct stored_restart *restarts;
	struct store *store;
	struct arena arena;
	int64_t r;

	arena_init(&arena, 0);
	store = open_restart(&arena, &restarts);
	r = store_read_account(store, &restarts[0].runs[0], ret_account, ret_there, err);
	if (r == 0 && *ret_there)
		r = store_read_operations(store, &restarts[0].runs[0], ret_account, ret_rows, ROWS, err);
	store_close(store);
	arena_release(&arena);
	return r;
}

static void what_is_put_comes_back(void **state)
{
	struct control_account a;
	struct operation got[ROWS];
	struct err err = { 0 };
	bool there;

	(void)state;
	put_one();
	assert_int_equal(read_back(&a, &there, got, &err), ROWS);
	assert_true(there);
	for (int i = 0; i < ROWS; i++) {
		assert_int_equal(got[i].at, rows[i].at);
		assert_int_equal(got[i].seq, rows[i].seq);
		assert_int_equal(got[i].status, rows[i].status);
		assert_int_equal(got[i].flags, rows[i].flags);
		assert_int_equal(got[i].queued_ns, rows[i].queued_ns);
		assert_int_equal(got[i].sent_ns, rows[i].sent_ns);
		assert_int_equal(got[i].answered_ns, rows[i].answered_ns);
		assert_int_equal(got[i].acting_low_ns, rows[i].acting_low_ns);
		assert_int_equal(got[i].acting_high_ns, rows[i].acting_high_ns);
	}
	assert_string_equal(a.operation, account.operation);
	assert_string_equal(a.mode, account.mode);
	assert_string_equal(a.statuses, account.statuses);
	assert_string_equal(a.first_why, account.first_why);
	assert_int_equal(a.unsent, 1);
	assert_int_equal(a.losses, 2);
	assert_int_equal(a.returns, 1);
	assert_int_equal(a.wall_ns, account.wall_ns);
	assert_int_equal(a.server_cpu_ns, -1);
	assert_true(a.clock_u_ns == 42.5);
}

static void damage_is_told(void **state)
{
	struct control_account a;
	struct operation got[ROWS];
	struct err err = { 0 };
	bool there;

	(void)state;
	put_one();
	change_store(scratch, "DELETE FROM operation WHERE seq = 1 AND switch = 0");
	assert_int_equal(read_back(&a, &there, got, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "a run has not as many operations as it says"));
}

static void older_stores_have_none(void **state)
{
	struct control_account a;
	struct operation got[ROWS];
	struct err err = { 0 };
	bool there = true;

	(void)state;
	put_one();
	change_store(scratch, STORE_WITHOUT_3);
	assert_int_equal(read_back(&a, &there, got, &err), 0);
	assert_false(there);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_put_comes_back, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(damage_is_told, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(older_stores_have_none, make_scratch, remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
