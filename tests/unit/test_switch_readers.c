/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/rng.h"
#include "switch_fake.h"
#include "tables/change.h"

/*
 * Readers while a writer changes the tables: each entry's two parameters are a
 * number and its complement, so a half-made or freed entry shows. Under a thread
 * sanitizer this is the proof that no access is unordered.
 */
enum { KEYS = 64, CHANGES = 6000, READERS = 2 };

struct bed {
	struct fake fake;
	struct quiesce *quiesce;
	struct state *state;
	_Atomic bool stop;
	_Atomic uint64_t hits, torn;
};

struct reader {
	struct bed *bed;
	struct quiesce_reader *quiesce;
	uint64_t seed;
	pthread_t thread;
};

static void *read_tables(void *arg)
{
	struct reader *r = arg;
	uint64_t hits = 0, torn = 0;
	struct rng rng;

	rng_init(&rng, r->seed);
	quiesce_online(r->quiesce);
	while (!atomic_load_explicit(&r->bed->stop, memory_order_relaxed)) {
		for (int i = 0; i < 32; i++) {
			uint64_t memory[2] = { rng_below(&rng, KEYS) << 24, 0 };
			const struct action_data *a;
			const struct entry *e;
			bool hit;

			e = table_lookup(r->bed->state, 0, memory, &hit);
			a = entry_action(e, rng_u64(&rng));
			if (a->action == 2 && a->params[0] != ~a->params[1])
				torn++;
			hits += hit;
			entry_count_packet(r->bed->state, e, 64);
			entry_meter_packet(r->bed->state, e, 64, i);
		}
		quiesce_pass(r->quiesce);
	}
	quiesce_offline(r->quiesce);
	atomic_fetch_add(&r->bed->hits, hits);
	atomic_fetch_add(&r->bed->torn, torn);
	return NULL;
}

static void change_once(struct bed *bed, struct rng *rng)
{
	uint64_t value = rng_below(rng, KEYS) << 24, mask = rng_below(rng, 2) ? 0xffffffff : 0xfc000000;
	uint64_t params[2] = { rng_u64(rng), 0 };
	struct match_spec match = { &value, &mask, mask == 0xffffffff ? 32 : 6, 1 + (int32_t)rng_below(rng, 3) };
	struct entry_spec spec = { .kind = SPEC_ACTION, .action = { .action = 2, .params = params } };
	struct choice choices[2] = { { 2, params, 1, NOWHERE }, { 2, params, 2, NOWHERE } };
	struct meter_rates rates = { 1, 2, 3, 4 };
	const struct entry *e;

	params[1] = ~params[0];
	if (bed->fake.table.profile != NOWHERE)
		spec = (struct entry_spec){ .kind = SPEC_CHOICES, .choices = choices, .choice_count = 2 };
	switch (rng_below(rng, 3)) {
	case 0:
		if (table_insert(bed->state, 0, &match, &spec, &e, NULL) == 0)
			(void)!entry_set_meter(bed->state, e, &rates, NULL);
		break;
	case 1:
		(void)!table_modify(bed->state, 0, &match, &spec, NULL, NULL);
		break;
	default:
		(void)!table_delete(bed->state, 0, &match, NULL);
	}
	quiesce_collect(bed->quiesce);
}

static void run(enum match_kind kind, bool profile)
{
	const struct fake_key keys[] = { { kind, 32 } };
	struct reader readers[READERS];
	struct bed bed = { 0 };
	struct rng rng;

	fake_init(&bed.fake, keys, 1, 1000);
	bed.fake.table.with_counters = true;
	bed.fake.table.meter = 1;
	bed.fake.table.profile = profile ? 0 : NOWHERE;
	bed.fake.table.with_selector = profile;
	bed.fake.profile.size = 0;
	bed.quiesce = quiesce_create();
	assert_int_equal(state_create(&bed.fake.program, bed.quiesce, true, &bed.state, NULL), 0);
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ &bed, quiesce_join(bed.quiesce), i, 0 };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_tables, &readers[i]), 0);
	}
	rng_init(&rng, (uint64_t)kind);
	for (unsigned i = 0; i < CHANGES; i++)
		change_once(&bed, &rng);
	atomic_store(&bed.stop, true);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		quiesce_leave(bed.quiesce, readers[i].quiesce);
	}
	assert_int_equal(atomic_load(&bed.torn), 0);
	assert_true(table_entries(bed.state, 0) > 0);
	state_destroy(bed.state);
	quiesce_destroy(bed.quiesce);
}

static void exact(void **state)
{
	(void)state;
	run(MATCH_EXACT, false);
}

static void lpm(void **state)
{
	(void)state;
	run(MATCH_LPM, false);
}

static void ternary(void **state)
{
	(void)state;
	run(MATCH_TERNARY, false);
}

static void range(void **state)
{
	(void)state;
	run(MATCH_RANGE, false);
}

static void choices(void **state)
{
	(void)state;
	run(MATCH_EXACT, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact), cmocka_unit_test(lpm),     cmocka_unit_test(ternary),
		cmocka_unit_test(range), cmocka_unit_test(choices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
