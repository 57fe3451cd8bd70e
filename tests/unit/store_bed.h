/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_STORE_BED_H
#define TARE_TESTS_STORE_BED_H

#include "fake_plan.h"
#include "scratch.h"
#include "store/store.h"
#include "store_change.h"

/* A store of the fake plan in the scratch directory: what a test of one part of it does before and after its own. */

/* Opens it, made if need be, and begins the restart of this turn. */
static inline struct store *begin_restart(uint32_t turn)
{
	struct store *store = NULL;
	struct err err = { 0 };

	if (store_open_write(scratch, fake_plan("a", 1), &store, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(store_begin_restart(store, turn, &err), 0);
	return store;
}

/* The same, with a run without samples. */
static inline struct store *begin_run(uint32_t turn)
{
	const struct run_record record = { 0 };
	struct store *store = begin_restart(turn);
	struct err err = { 0 };

	assert_int_equal(store_put_run(store, &record, NULL, 0, &err), 0);
	return store;
}

static inline void end_restart(struct store *store)
{
	struct err err = { 0 };

	assert_int_equal(store_commit_restart(store, NULL, NULL, &err), 0);
	store_close(store);
}

/* Opens it again and reads its only restart, whose runs are in the arena. */
static inline struct store *open_restart(struct arena *arena, struct stored_restart **ret)
{
	struct store *store = NULL;
	struct err err = { 0 };
	uint32_t count = 0;

	if (store_open_read(scratch, &store, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(store_read_restarts(store, arena, ret, &count, &err), 0);
	assert_int_equal(count, 1);
	return store;
}

#endif
