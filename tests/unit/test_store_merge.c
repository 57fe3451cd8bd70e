/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_plan.h"
#include "scratch.h"
#include "store/merge.h"
#include "store/store.h"
#include "store_change.h"

enum { BLOCKS = 6, TURNS = BLOCKS * FAKE_BLOCK, PARTS = 3, PAIRS = 5, RUNS = 2 };

static char dirs[PARTS + 3][64]; /* the parts, and where they are merged into */

static int setup(void **state)
{
	if (make_scratch(state) != 0)
		return -1;
	for (int i = 0; i < PARTS + 3; i++)
		snprintf(dirs[i], sizeof(dirs[i]), "%s/%d", scratch, i);
	return 0;
}

/* Nothing else may lie beside them. */
static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < PARTS + 3; i++)
		remove_tree(dirs[i]);
	return rmdir(scratch);
}

static void put_restart(struct store *s, uint32_t turn, const char *failure)
{
	struct run_value value = { "batch_wall", "ms", 1000 + turn };
	struct pair pairs[PAIRS];
	struct err err = { 0 };

	assert_int_equal(store_begin_restart(s, turn, &err), 0);
	for (uint32_t j = 0; j < RUNS; j++) {
		struct run_record record = { .run = j, .tsc_hz = 1e9, .elapsed_ns = turn * 10 + j };

		for (uint32_t i = 0; i < PAIRS; i++)
			pairs[i] = (struct pair){ .seq = i, .path_ticks = turn * 100 + j * 10 + i };
		assert_int_equal(store_put_run(s, &record, pairs, PAIRS, &err), 0);
		assert_int_equal(store_put_values(s, &value, 1, &err), 0);
	}
	assert_int_equal(store_put_event(s, "note", "in a restart", &err), 0);
	assert_int_equal(store_commit_restart(s, NULL, failure, &err), 0);
}

static struct store *open_part(int part, const char *text)
{
	char name[16];
	const struct stored_fact facts[] = { { "host.name", name }, { "cpu.model", "the same" } };
	struct err err = { 0 };
	struct store *s;

	snprintf(name, sizeof(name), "node%d", part);
	assert_int_equal(store_open_write(dirs[part], fake_plan(text, BLOCKS), &s, &err), 0);
	assert_int_equal(store_put_facts(s, facts, 2, &err), 0);
	return s;
}

/* Every third turn each, begun in the order of the plan whatever the part, as on nodes side by side. */
static void make_parts(void)
{
	struct store *parts[PARTS];
	struct err err = { 0 };

	for (int i = 0; i < PARTS; i++)
		parts[i] = open_part(i, "text");
	for (uint32_t t = 0; t < TURNS; t++)
		put_restart(parts[t % PARTS], t, NULL);
	assert_int_equal(store_put_event(parts[1], "finished", "node 1", &err), 0);
	for (int i = 0; i < PARTS; i++)
		store_close(parts[i]);
}

static int merge(const char *to, struct store_merged *ret, struct err *err, uint32_t count, ...)
{
	const char *sources[8];
	va_list args;

	va_start(args, count);
	for (uint32_t i = 0; i < count; i++)
		sources[i] = dirs[va_arg(args, int)];
	va_end(args);
	*err = (struct err){ 0 };
	return store_merge(to, sources, count, ret, err);
}

static void check_whole(const char *dir)
{
	struct stored_restart *restarts;
	struct stored_campaign c;
	struct pair pairs[PAIRS];
	struct run_value *values;
	struct arena arena;
	struct store *s;
	uint32_t count, value_count;
	struct err err = { 0 };

	arena_init(&arena, 0);
	if (store_open_read(dir, &s, &err) < 0 || store_read_campaign(s, &arena, &c, &err) < 0 ||
	    store_read_restarts(s, &arena, &restarts, &count, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(c.turns_done, TURNS);
	assert_int_equal(c.cell_count, FAKE_CELLS);
	assert_int_equal(count, TURNS);
	for (uint32_t t = 0; t < TURNS; t++) {
		char host[16];

		snprintf(host, sizeof(host), "node%u", t % PARTS);
		assert_int_equal(restarts[t].id, t + 1);
		assert_int_equal(restarts[t].position, t);
		assert_string_equal(restarts[t].host, host);
		assert_int_equal(restarts[t].run_count, RUNS);
		for (uint32_t j = 0; j < RUNS; j++) {
			assert_int_equal(restarts[t].runs[j].record.elapsed_ns, t * 10 + j);
			assert_int_equal(store_read_pairs(s, &restarts[t].runs[j], pairs, PAIRS, &err), PAIRS);
			for (uint32_t i = 0; i < PAIRS; i++)
				assert_int_equal(pairs[i].path_ticks, t * 100 + j * 10 + i);
			assert_int_equal(
				store_read_values(s, &restarts[t].runs[j], &arena, &values, &value_count, &err), 0);
			assert_int_equal(value_count, 1);
			assert_float_equal(values[0].value, 1000 + t, 0);
		}
	}
	assert_string_equal(c.facts[0].name, "cpu.model");
	assert_string_equal(c.facts[0].value, "the same");
	assert_string_equal(c.facts[1].value, "node0; node1; node2");
	assert_int_equal(c.event_count, TURNS + 1);
	assert_int_equal(c.events[4].restart, 5);
	assert_string_equal(c.events[TURNS].kind, "finished");
	store_close(s);
	arena_release(&arena);
}

static void parts_become_one_in_the_order_of_running(void **state)
{
	struct store_merged merged;
	struct err err;

	(void)state;
	make_parts();
	if (merge(dirs[PARTS], &merged, &err, 3, 2, 0, 1) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(merged.stores, 3);
	assert_int_equal(merged.hosts, 3);
	assert_int_equal(merged.restarts, TURNS);
	assert_int_equal(merged.turns, TURNS);
	assert_int_equal(merged.turns_done, TURNS);
	check_whole(dirs[PARTS]);
	/* in two steps it is the same */
	assert_int_equal(merge(dirs[PARTS + 1], &merged, &err, 2, 0, 1), 0);
	assert_int_equal(merged.turns_done, TURNS / 3 * 2);
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, PARTS + 1, 2), 0);
	check_whole(dirs[PARTS + 2]);
}

static void refused(const char *words, const struct err *err)
{
	assert_int_equal(err->kind, ERR_USAGE);
	if (!strstr(err->message, words))
		fail_msg("expected '%s' in: %s", words, err->message);
	assert_int_not_equal(access(dirs[PARTS + 2], F_OK), 0); /* nothing was made */
}

static void a_store_goes_in_once(void **state)
{
	struct store_merged merged;
	struct err err;

	(void)state;
	make_parts();
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 3, 0, 1, 0), -EEXIST);
	refused("a store goes in once", &err);
	assert_int_equal(merge(dirs[PARTS], &merged, &err, 2, 0, 1), 0);
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, PARTS, 1), -EEXIST);
	refused("inside one that was merged", &err);
	refused(dirs[PARTS], &err);
	/* into what is there already */
	assert_int_equal(merge(dirs[PARTS], &merged, &err, 1, 2), -EEXIST);
	assert_non_null(strstr(err.message, "there is a store already"));
}

static void only_parts_of_one_campaign(void **state)
{
	struct plan *plan = fake_plan("text", BLOCKS);
	struct store_merged merged;
	struct store *s;
	struct err err;

	(void)state;
	make_parts();
	remove_tree(dirs[1]);
	s = open_part(1, "another text");
	store_close(s);
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, 0, 1), -EINVAL);
	refused("another text of plan 'fake'", &err);
	remove_tree(dirs[1]);
	plan = fake_plan("text", BLOCKS);
	plan->name = "other";
	assert_int_equal(store_open_write(dirs[1], plan, &s, &err), 0);
	store_close(s);
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, 0, 1), -EINVAL);
	refused("is of campaign 'other'", &err);
	remove_tree(dirs[1]);
	plan = fake_plan("text", BLOCKS);
	plan->turns[3].block = 5; /* as a tare with another order would have it */
	assert_int_equal(store_open_write(dirs[1], plan, &s, &err), 0);
	store_close(s);
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, 0, 1), -EINVAL);
	refused("another order of restarts", &err);
}

static void a_turn_done_twice_is_not_chosen_from(void **state)
{
	struct store_merged merged;
	struct store *s;
	struct err err;

	(void)state;
	make_parts();
	s = open_part(1, "text");
	put_restart(s, 3, NULL); /* which part 0 has done */
	store_close(s);
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, 0, 1), -EEXIST);
	refused("restart 3 of the plan's order is done in", &err);
}

/* A job that was killed, or whose target failed: another did it again. */
static void failed_restarts_come_along(void **state)
{
	struct stored_campaign c;
	struct store_merged merged;
	struct arena arena;
	struct store *s;
	struct err err;

	(void)state;
	s = open_part(0, "text");
	put_restart(s, 0, "it failed");
	store_close(s);
	s = open_part(1, "text");
	put_restart(s, 0, NULL);
	store_close(s);
	store_close(open_part(2, "text")); /* killed before its first commit */
	assert_int_equal(merge(dirs[PARTS], &merged, &err, 3, 0, 1, 2), 0);
	assert_int_equal(merged.restarts, 2);
	assert_int_equal(merged.turns_done, 1);
	arena_init(&arena, 0);
	assert_int_equal(store_open_read(dirs[PARTS], &s, &err), 0);
	assert_int_equal(store_read_campaign(s, &arena, &c, &err), 0);
	assert_int_equal(c.turns_done, 1);
	assert_int_equal(c.turns_failed, 0);
	store_close(s);
	arena_release(&arena);
}

/* What has been merged goes on: what runs then is of the host that it runs on. */
static void a_merged_store_resumes_and_merges_again(void **state)
{
	const struct stored_fact fact = { "host.name", "laptop" };
	struct stored_restart *restarts;
	struct store_merged merged;
	struct arena arena;
	struct store *s;
	uint32_t count;
	struct err err;

	(void)state;
	s = open_part(0, "text");
	put_restart(s, 0, NULL);
	store_close(s);
	assert_int_equal(merge(dirs[PARTS], &merged, &err, 1, 0), 0);
	assert_int_equal(store_open_write(dirs[PARTS], fake_plan("text", BLOCKS), &s, &err), 0);
	assert_int_equal(store_turn_state(s, 0), STORE_TURN_DONE);
	assert_int_equal(store_put_facts(s, &fact, 1, &err), 0);
	put_restart(s, 1, NULL);
	store_close(s);
	s = open_part(1, "text");
	put_restart(s, 2, NULL);
	store_close(s);
	assert_int_equal(merge(dirs[PARTS + 1], &merged, &err, 2, PARTS, 1), 0);
	assert_int_equal(merged.hosts, 3);
	arena_init(&arena, 0);
	assert_int_equal(store_open_read(dirs[PARTS + 1], &s, &err), 0);
	assert_int_equal(store_read_restarts(s, &arena, &restarts, &count, &err), 0);
	assert_int_equal(count, 3);
	assert_string_equal(restarts[0].host, "node0");
	assert_string_equal(restarts[1].host, "laptop");
	assert_string_equal(restarts[2].host, "node1");
	store_close(s);
	arena_release(&arena);
}

static void other_schemas_and_no_stores_are_told(void **state)
{
	struct store_merged merged;
	struct err err;

	(void)state;
	make_parts();
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, 0, PARTS), -ENOENT);
	refused("No such file", &err);
	change_store(dirs[1], "PRAGMA user_version=2");
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, 0, 1), -ENOTSUP);
	refused("is of schema 2", &err);
}

static void a_part_that_is_written_is_refused(void **state)
{
	struct store_merged merged;
	struct store *s;
	struct err err;

	(void)state;
	make_parts();
	s = open_part(1, "text");
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, 0, 1), -EBUSY);
	assert_int_not_equal(access(dirs[PARTS + 2], F_OK), 0);
	store_close(s);
	assert_int_equal(merge(dirs[PARTS + 2], &merged, &err, 2, 0, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts_become_one_in_the_order_of_running, setup, teardown),
		cmocka_unit_test_setup_teardown(a_store_goes_in_once, setup, teardown),
		cmocka_unit_test_setup_teardown(only_parts_of_one_campaign, setup, teardown),
		cmocka_unit_test_setup_teardown(a_turn_done_twice_is_not_chosen_from, setup, teardown),
		cmocka_unit_test_setup_teardown(failed_restarts_come_along, setup, teardown),
		cmocka_unit_test_setup_teardown(a_merged_store_resumes_and_merges_again, setup, teardown),
		cmocka_unit_test_setup_teardown(other_schemas_and_no_stores_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(a_part_that_is_written_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
