/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "base/vec.h"

static void quantity_reads_what_people_write(void **state)
{
	static const struct {
		const char *text;
		enum quantity_dim dim;
		int64_t value;
	} good[] = {
		{ "60ms", QUANTITY_TIME, 60000000 },
		{ "60 ms", QUANTITY_TIME, 60000000 },
		{ "0.5us", QUANTITY_TIME, 500 },
		{ "0", QUANTITY_TIME, 0 },
		{ "25Mbps", QUANTITY_BITRATE, 25000000 },
		{ "64B", QUANTITY_SIZE, 64 },
		{ "2KiB", QUANTITY_SIZE, 2048 },
		{ "500pps", QUANTITY_RATE, 500000 },
		{ "0.001pps", QUANTITY_RATE, 1 },
		{ "250MHz", QUANTITY_FREQUENCY, 250000000 },
		{ "0.5%", QUANTITY_SHARE, 5000 },
		{ "20k", QUANTITY_COUNT, 20000 },
		{ "9223372036854775807ns", QUANTITY_TIME, INT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct err err = { 0 };
		int64_t value = -1;

		assert_int_equal(quantity_parse(good[i].text, good[i].dim, &value, &err), 0);
		assert_int_equal(value, good[i].value);
	}
}

static void quantity_refuses_the_rest(void **state)
{
	static const struct {
		const char *text;
		enum quantity_dim dim;
		const char *says;
	} bad[] = {
		{ "60", QUANTITY_TIME, "has no unit" },        { "", QUANTITY_TIME, "is not a time" },
		{ "ms", QUANTITY_TIME, "is not a time" },      { "1.ms", QUANTITY_TIME, "is not a time" },
		{ "-3ms", QUANTITY_TIME, "negative" },         { "3Mbps", QUANTITY_TIME, "unknown unit 'Mbps'" },
		{ "0.5ns", QUANTITY_TIME, "finer than" },      { "9223372036854775808ns", QUANTITY_TIME, "too large" },
		{ "9999999999h", QUANTITY_TIME, "too large" }, { "101%", QUANTITY_SHARE, "over 100%" },
		{ "3 ms x", QUANTITY_TIME, "unknown unit" },   { "1e3ms", QUANTITY_TIME, "unknown unit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { 0 };
		int64_t value = 77;

		assert_true(quantity_parse(bad[i].text, bad[i].dim, &value, &err) < 0);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_int_equal(value, 77);
		assert_non_null(strstr(err.message, bad[i].says));
	}
}

static void quantity_format_round_trips(void **state)
{
	static const int64_t values[] = { 0, 1, 999, 1000, 60000000, 61000001, 3600000000000, INT64_MAX };

	(void)state;
	for (int dim = QUANTITY_COUNT; dim <= QUANTITY_SHARE; dim++)
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			char buf[64];
			int64_t back = -1;

			if (dim == QUANTITY_SHARE && values[i] > 1000000)
				continue;
			quantity_format(values[i], dim, buf, sizeof(buf));
			assert_int_equal(quantity_parse(buf, dim, &back, NULL), 0);
			assert_int_equal(back, values[i]);
		}
}

/* The first outputs of xoshiro256** from a SplitMix64-filled state of seed 42, computed from the published algorithms. */
static void rng_is_the_named_generator(void **state)
{
	struct rng r;
	uint64_t s[4], z, x = 42;

	(void)state;
	for (int i = 0; i < 4; i++) {
		x += 0x9e3779b97f4a7c15u;
		z = x;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		s[i] = z ^ (z >> 31);
	}
	rng_init(&r, 42);
	assert_memory_equal(r.s, s, sizeof(s));
	/* A known answer holds stored orders in place for ever. */
	assert_int_equal(rng_u64(&r), UINT64_C(1546998764402558742));
}

static void rng_below_is_uniform_and_bounded(void **state)
{
	struct rng r;
	uint32_t seen[7] = { 0 };

	(void)state;
	rng_init(&r, 1);
	for (int i = 0; i < 70000; i++) {
		uint64_t v = rng_below(&r, 7);

		assert_true(v < 7);
		seen[v]++;
	}
	for (int i = 0; i < 7; i++) /* 10000 expected, sd 93 */
		assert_in_range(seen[i], 9500, 10500);
}

static void arena_respects_its_limit(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, 1000);
	assert_non_null(arena_alloc(&a, 900));
	assert_null(arena_alloc(&a, 200));
	assert_null(arena_array(&a, SIZE_MAX / 2, 4));
	arena_release(&a);
	assert_non_null(arena_alloc(&a, 200));
	assert_string_equal(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
	arena_release(&a);
}

static void err_wrap_puts_context_first(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(err_set(&err, ERR_HOST, 28, "disk full"), -28);
	assert_int_equal(err_wrap(&err, "store %s", "x.db"), -28);
	assert_string_equal(err.message, "store x.db: disk full");
	assert_int_equal(err_exit_status(&err), 3);
}

static void vec_grows(void **state)
{
	VEC(int) v = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(vec_push(&v, i), 0);
	assert_int_equal(v.count, 1000);
	assert_int_equal(v.items[999], 999);
	free(v.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantity_reads_what_people_write), cmocka_unit_test(quantity_refuses_the_rest),
		cmocka_unit_test(quantity_format_round_trips),      cmocka_unit_test(rng_is_the_named_generator),
		cmocka_unit_test(rng_below_is_uniform_and_bounded), cmocka_unit_test(arena_respects_its_limit),
		cmocka_unit_test(err_wrap_puts_context_first),      cmocka_unit_test(vec_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
