/* SPDX-License-Identifier: Apache-2.0 */
/* Store, result and renderers without memory: each allocation fails once, and every time it is said, nothing else. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "report/html.h"
#include "report/json.h"
#include "report/open.h"
#include "report/terminal.h"
#include "synthetic.h"
#include "synthetic_values.h"

static char base[] = "/tmp/tare-memory-XXXXXX";
static char dir[64];

/* What fails: 0, or the error in *err. `context` is the step's own. */
typedef int step_fn(void *context, struct err *err);

static const struct synthetic_program programs[] = { { .name = "forward", .net_ns = 149, .restart_ns = 1 },
						     { .name = "fivetuple", .net_ns = 107, .second_ns = 30 } };

static const struct synthetic small = { .programs = programs,
					.program_count = 2,
					.blocks = 2,
					.runs = 2,
					.probes = 400,
					.packets = 100,
					.truth = true,
					.unbalanced_turn = 3,
					.failed_turn = 5 };

static void store_remove_all(void)
{
	store_remove(dir);
	rmdir(dir);
}

/* Fails one allocation after the other until none is left to fail; returns how many did. `after` (may be NULL) looks. */
static long each_fails(step_fn *step, void *context, void (*after)(void))
{
	for (long n = 1;; n++) {
		struct err err = { 0 };
		int rc;

		countdown = n;
		rc = step(context, &err);
		if (countdown > 0) {
			countdown = 0;
			if (rc != 0)
				fail_msg("with all memory: %s", err.message);
			return n - 1;
		}
		if (rc != -ENOMEM || err.kind != ERR_HOST || !strstr(err.message, "memory"))
			fail_msg("allocation %ld: %d, kind %d: '%s'", n, rc, err.kind, err.message);
		if (after)
			after();
	}
}

static int write_store(void *context, struct err *err)
{
	(void)context;
	return synthetic_write(&small, dir, err);
}

/* What a failed write leaves: nothing, or a store in which every restart is whole. */
static void is_whole(void)
{
	struct stored_restart *restarts;
	struct store *store;
	struct arena arena;
	struct err err = { 0 };
	uint32_t count;

	if (store_open_read(dir, &store, &err) == 0) {
		arena_init(&arena, 0);
		assert_int_equal(store_read_restarts(store, &arena, &restarts, &count, &err), 0);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(restarts[i].run_count, small.runs);
		arena_release(&arena);
		store_close(store);
	} else if (access(dir, F_OK) == 0) {
		fail_msg("left behind: %s", err.message);
	}
	store_remove_all();
}

static void a_store_is_written(void **state)
{
	(void)state;
	assert_true(each_fails(write_store, NULL, is_whole) > 3);
	store_remove_all();
}

static int open_result(void *context, struct err *err)
{
	struct result **ret = context;

	*ret = NULL;
	return result_open(dir, ret, err);
}

static struct result *result_of_small(void)
{
	struct result *r = NULL;
	struct err err = { 0 };

	if (synthetic_write(&small, dir, &err) != 0 || result_open(dir, &r, &err) != 0)
		fail_msg("%s", err.message);
	return r;
}

static void a_result_is_built(void **state)
{
	struct result *r = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(synthetic_write(&small, dir, &err), 0);
	assert_true(each_fails(open_result, &r, NULL) > 50);
	assert_int_equal(r->cells[1].mode_count, 2); /* it was all there to fail */
	assert_true(r->problem_count > 3);
	result_destroy(r);
	store_remove_all();
}

static double value_of(const char *const *at, unsigned name, uint32_t restart, uint32_t run, struct rng *rng)
{
	(void)rng;
	return (name + 1) * (at[0][0] - '0') + 0.01 * restart + 0.001 * run;
}

static const struct synthetic_values numbers = { .measure = MEASURE_CONTROL,
						 .name = "numbers",
						 .axes = { "switches", "mode" },
						 .values = { { "1", "2" }, { "sync", "async" } },
						 .restarts = 6,
						 .runs = 2,
						 .names = { { "wall", "ms", 0 }, { "rate", "1/s", 0 } },
						 .value_of = value_of,
						 .failed_turn = 3 };

static void a_result_of_numbers_is_built(void **state)
{
	struct result *r = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(synthetic_values_write(&numbers, dir, &err), 0);
	assert_true(each_fails(open_result, &r, NULL) > 20);
	assert_int_equal(r->quantity_count, 2);
	assert_int_equal(r->family_count, 2); /* it was all there to fail */
	assert_int_equal(r->sweep_count, 2);
	result_destroy(r);
	store_remove_all();
}

struct text {
	char *bytes;
	size_t length;
};

static int load_result(void *context, struct err *err)
{
	const struct text *text = context;
	struct result *r = NULL;
	int rc = result_load_text(text->bytes, text->length, "saved.json", &r, err);

	if (rc == 0)
		result_destroy(r);
	return rc;
}

static void a_saved_result_is_loaded(void **state)
{
	struct result *r = result_of_small();
	struct text text = { 0 };
	struct err err = { 0 };
	FILE *f = open_memstream(&text.bytes, &text.length);

	(void)state;
	assert_non_null(f);
	assert_int_equal(result_write_json(r, f, &err), 0);
	fclose(f);
	assert_true(each_fails(load_result, &text, NULL) > 0);
	free(text.bytes);
	result_destroy(r);
	store_remove_all();
}

static int draw(void *context, struct err *err)
{
	const struct result *r = context;
	FILE *f = fopen("/dev/null", "we");
	struct terminal_style style;
	int rc;

	assert_non_null(f);
	style = terminal_style_of(f, false);
	rc = result_write_json(r, f, err);
	if (rc == 0)
		rc = report_print_summary(r, f, &style, err);
	fclose(f);
	return rc;
}

static void a_result_is_drawn(void **state)
{
	struct result *r = result_of_small();

	(void)state;
	assert_true(each_fails(draw, r, NULL) > 0);
	result_destroy(r);
	store_remove_all();
}

/* The page only scales a chart otherwise: no figure is missing for it. */
static void a_page_is_drawn_nevertheless(void **state)
{
	struct result *r = result_of_small();
	struct text whole = { 0 }, without = { 0 };
	struct err err = { 0 };

	(void)state;
	for (long n = 0; n < 3; n++) {
		struct text *t = n ? &without : &whole;
		FILE *f = open_memstream(&t->bytes, &t->length);

		assert_non_null(f);
		countdown = n;
		assert_int_equal(html_write(r, f, &err), 0);
		assert_int_equal(countdown, 0); /* it did fail */
		fclose(f);
		assert_non_null(strstr(t->bytes, "Residual by packet of the stream"));
		if (n)
			free(without.bytes);
	}
	free(whole.bytes);
	result_destroy(r);
	store_remove_all();
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(base))
		return -1;
	snprintf(dir, sizeof(dir), "%s/c", base);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_is_written),
		cmocka_unit_test(a_result_is_built),
		cmocka_unit_test(a_result_of_numbers_is_built),
		cmocka_unit_test(a_saved_result_is_loaded),
		cmocka_unit_test(a_result_is_drawn),
		cmocka_unit_test(a_page_is_drawn_nevertheless),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
