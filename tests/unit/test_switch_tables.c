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

#include "base/rng.h"
#include "switch_fake.h"
#include "tables/change.h"
#include "tables/quiesce.h"

/*
 * Tables against the plainest implementation there could be: a list that is
 * searched whole. Keys are drawn from few values, so that entries overlap, tie,
 * are duplicates and are deleted while others cover the same packets.
 */
enum { WORDS_MOST = 8, RULES_MOST = 400 };

struct rule {
	bool there;
	uint64_t value[WORDS_MOST], mask[WORDS_MOST];
	uint32_t prefix_bits;
	int32_t priority;
	uint64_t param;
};

struct model {
	struct fake fake;
	struct quiesce *quiesce;
	struct state *state;
	struct rng rng;
	struct rule rules[RULES_MOST];
	unsigned count, size;
};

static uint64_t width_mask(const struct p4_key *key, uint32_t i)
{
	uint32_t left = key->bits - i * 64;

	return left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
}

static bool bit(const uint64_t *words, uint32_t i)
{
	return words[i / 64] >> i % 64 & 1;
}

/* Few distinct values: random bits in the top, bottom and one middle place of each word. */
static void draw_value(struct model *m, const struct p4_key *key, uint64_t *words)
{
	for (uint32_t i = 0; i < key->slots; i++) {
		uint64_t r = rng_u64(&m->rng),
			 v = (r & 3) | (r >> 4 & 1) << 17 | (r >> 5 & 1) << 31 | (r >> 6 & 3) << 62;
		uint32_t bits = key->bits - i * 64 < 64 ? key->bits - i * 64 : 64;

		v |= (r >> 8 & 3) << (bits > 2 ? bits - 2 : 0);
		words[i] = v & width_mask(key, i);
	}
}

static void prefix_mask(const struct p4_key *key, uint32_t prefix, uint64_t *mask)
{
	for (uint32_t i = 0; i < key->slots; i++)
		mask[i] = 0;
	for (uint32_t b = key->bits - prefix; b < key->bits; b++)
		mask[b / 64] |= UINT64_C(1) << b % 64;
}

static int compare(const uint64_t *a, const uint64_t *b, uint32_t words)
{
	for (uint32_t i = words; i-- > 0;)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static void draw_key(struct model *m, const struct p4_key *key, struct rule *rule)
{
	uint64_t *value = rule->value + key->word, *mask = rule->mask + key->word;
	uint32_t prefix = (uint32_t)rng_below(&m->rng, key->bits + 1);

	draw_value(m, key, value);
	if (key->kind == MATCH_RANGE) {
		draw_value(m, key, mask);
		if (compare(value, mask, key->slots) > 0) {
			uint64_t swap[WORDS_MOST];

			memcpy(swap, value, key->slots * 8);
			memcpy(value, mask, key->slots * 8);
			memcpy(mask, swap, key->slots * 8);
		}
		return;
	}
	prefix_mask(key, key->bits, mask);
	if (key->kind == MATCH_LPM) {
		prefix_mask(key, prefix, mask);
		rule->prefix_bits = prefix;
	}
	if (key->kind == MATCH_TERNARY)
		for (uint32_t i = 0; i < key->slots; i++)
			mask[i] &= rng_below(&m->rng, 4) == 0
					   ? rng_u64(&m->rng)
					   : 0 - rng_below(&m->rng, 2) * UINT64_C(0xc000000000000003);
	if (key->kind == MATCH_OPTIONAL && rng_below(&m->rng, 2))
		memset(mask, 0, key->slots * 8);
	for (uint32_t i = 0; i < key->slots; i++)
		value[i] &= mask[i];
}

static bool is_tuples(const struct model *m)
{
	return m->fake.table.match == TABLE_TERNARY || m->fake.table.match == TABLE_RANGE;
}

static void draw_rule(struct model *m, struct rule *rule)
{
	memset(rule, 0, sizeof(*rule));
	for (uint32_t k = 0; k < m->fake.table.key_count; k++)
		draw_key(m, &m->fake.keys[k], rule);
	if (is_tuples(m)) {
		rule->priority = 1 + (int32_t)rng_below(&m->rng, 6);
		rule->prefix_bits = 0; /* priorities alone decide there */
	}
	rule->param = rng_u64(&m->rng);
}

static bool key_matches(const struct p4_key *key, const struct rule *rule, const uint64_t *packet)
{
	const uint64_t *value = rule->value + key->word, *mask = rule->mask + key->word;

	packet += key->word;
	if (key->kind == MATCH_RANGE)
		return compare(packet, value, key->slots) >= 0 && compare(packet, mask, key->slots) <= 0;
	for (uint32_t b = 0; b < key->bits; b++)
		if (bit(mask, b) && bit(value, b) != bit(packet, b))
			return false;
	return true;
}

/* Handles are places in the list: the lowest free one is taken, and wins between equals. */
static const struct rule *model_lookup(const struct model *m, const uint64_t *packet)
{
	const struct rule *best = NULL;

	for (unsigned i = 0; i < RULES_MOST; i++) {
		const struct rule *r = &m->rules[i];
		bool all = r->there;

		for (uint32_t k = 0; all && k < m->fake.table.key_count; k++)
			all = key_matches(&m->fake.keys[k], r, packet);
		if (all && (best == NULL || r->priority > best->priority || r->prefix_bits > best->prefix_bits))
			best = r;
	}
	return best;
}

static struct rule *model_find(struct model *m, const struct rule *like)
{
	for (unsigned i = 0; i < RULES_MOST; i++) {
		struct rule *r = &m->rules[i];

		if (r->there && memcmp(r->value, like->value, sizeof(r->value)) == 0 &&
		    memcmp(r->mask, like->mask, sizeof(r->mask)) == 0 && r->priority == like->priority &&
		    r->prefix_bits == like->prefix_bits)
			return r;
	}
	return NULL;
}

static struct rule *model_free_place(struct model *m)
{
	for (unsigned i = 0; i < RULES_MOST; i++)
		if (!m->rules[i].there)
			return &m->rules[i];
	return NULL;
}

static struct match_spec match_of(const struct rule *r)
{
	return (struct match_spec){ r->value, r->mask, r->prefix_bits, r->priority };
}

static struct entry_spec spec_of(const struct rule *r)
{
	return (struct entry_spec){ .kind = SPEC_ACTION, .action = { .action = 1, .params = &r->param } };
}

static void do_insert(struct model *m)
{
	struct rule rule, *place = model_free_place(m);
	struct match_spec match;
	struct entry_spec spec;
	int want;

	draw_rule(m, &rule);
	match = match_of(&rule);
	spec = spec_of(&rule);
	want = model_find(m, &rule) != NULL ? -EEXIST : m->count >= m->size ? -ENOSPC : 0;
	assert_int_equal(table_insert(m->state, 0, &match, &spec, NULL, NULL), want);
	if (want == 0) {
		rule.there = true;
		*place = rule;
		m->count++;
	}
}

/* One that is there (most often), or one that is drawn anew. */
static struct rule pick(struct model *m)
{
	struct rule rule;

	for (int i = 0; i < 50; i++) {
		unsigned at = (unsigned)rng_below(&m->rng, RULES_MOST);

		if (m->rules[at].there)
			return m->rules[at];
	}
	draw_rule(m, &rule);
	return rule;
}

static void do_modify(struct model *m)
{
	struct rule rule = pick(m), *there = model_find(m, &rule);
	struct match_spec match = match_of(&rule);
	struct entry_spec spec;

	rule.param = rng_u64(&m->rng);
	spec = spec_of(&rule);
	assert_int_equal(table_modify(m->state, 0, &match, &spec, NULL, NULL), there != NULL ? 0 : -ENOENT);
	if (there != NULL)
		there->param = rule.param;
}

static void do_delete(struct model *m)
{
	struct rule rule = pick(m), *there = model_find(m, &rule);
	struct match_spec match = match_of(&rule);

	assert_int_equal(table_delete(m->state, 0, &match, NULL), there != NULL ? 0 : -ENOENT);
	if (there != NULL) {
		there->there = false;
		m->count--;
	}
}

static void check_packet(struct model *m)
{
	uint64_t packet[WORDS_MOST] = { 0 };
	const struct rule *want;
	const struct entry *got;
	bool hit;

	for (uint32_t k = 0; k < m->fake.table.key_count; k++)
		draw_value(m, &m->fake.keys[k], packet + m->fake.keys[k].word);
	want = model_lookup(m, packet);
	got = table_lookup(m->state, 0, packet, &hit);
	assert_non_null(got);
	assert_int_equal(hit, want != NULL);
	if (want == NULL) {
		assert_true(got->is_default);
		assert_int_equal(entry_action(got, 0)->action, 0);
		return;
	}
	assert_int_equal(entry_action(got, 0)->action, 1);
	assert_int_equal(entry_action(got, 0)->params[0], want->param);
}

static void check_contents(struct model *m)
{
	struct entry_cursor cursor = { 0 };
	const struct entry *e;
	unsigned n = 0;

	while ((e = table_next(m->state, 0, &cursor)) != NULL) {
		struct rule like = { .priority = e->priority, .prefix_bits = e->prefix_bits };
		const struct rule *r;

		memcpy(like.value, entry_value(e), m->fake.table.key_words * 8);
		if (is_tuples(m))
			memcpy(like.mask, entry_mask(m->state, e), m->fake.table.key_words * 8);
		else
			for (uint32_t k = 0; k < m->fake.table.key_count; k++)
				prefix_mask(&m->fake.keys[k],
					    m->fake.keys[k].kind == MATCH_LPM ? e->prefix_bits : m->fake.keys[k].bits,
					    like.mask + m->fake.keys[k].word);
		r = model_find(m, &like);
		assert_non_null(r);
		assert_int_equal(e->action.params[0], r->param);
		n++;
	}
	assert_int_equal(n, m->count);
	assert_int_equal(table_entries(m->state, 0), m->count);
}

static void run_model(const struct fake_key *keys, uint32_t count, unsigned size, unsigned steps, uint64_t seed)
{
	struct model *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	rng_init(&m->rng, seed);
	fake_init(&m->fake, keys, count, size);
	m->size = size;
	m->quiesce = quiesce_create();
	assert_int_equal(state_create(&m->fake.program, m->quiesce, false, &m->state, NULL), 0);
	for (unsigned i = 0; i < steps; i++) {
		/* waves: filling, then emptying */
		unsigned fill = i / 600 % 2 == 0 ? 6 : 2, what = (unsigned)rng_below(&m->rng, 10);

		if (what < fill)
			do_insert(m);
		else if (what < 8)
			do_delete(m);
		else
			do_modify(m);
		for (int p = 0; p < 4; p++)
			check_packet(m);
		quiesce_collect(m->quiesce);
		if (i % 200 == 0)
			check_contents(m);
	}
	while (m->count > 0) /* to the last: what was made for entries goes with them */
		do_delete(m);
	check_packet(m);
	check_contents(m);
	state_destroy(m->state);
	quiesce_destroy(m->quiesce);
	free(m);
}

#define MODEL(name, size, steps, ...)                                                                                  \
	static void name(void **state)                                                                                 \
	{                                                                                                              \
		static const struct fake_key keys[] = { __VA_ARGS__ };                                                 \
                                                                                                                       \
		(void)state;                                                                                           \
		run_model(keys, sizeof(keys) / sizeof(keys[0]), size, steps, __LINE__);                                \
	}

MODEL(exact_48, 300, 3000, { MATCH_EXACT, 48 })
MODEL(exact_two_wide, 200, 3000, { MATCH_EXACT, 9 }, { MATCH_EXACT, 130 }, { MATCH_EXACT, 64 })
MODEL(lpm_32, 300, 4000, { MATCH_LPM, 32 })
MODEL(lpm_9, 300, 3000, { MATCH_LPM, 9 })
MODEL(lpm_64, 300, 3000, { MATCH_LPM, 64 })
MODEL(lpm_128, 300, 3000, { MATCH_LPM, 128 })
MODEL(lpm_behind_exact, 300, 4000, { MATCH_EXACT, 12 }, { MATCH_LPM, 32 }, { MATCH_EXACT, 70 })
MODEL(ternary_5, 300, 4000, { MATCH_TERNARY, 32 }, { MATCH_TERNARY, 32 }, { MATCH_TERNARY, 8 }, { MATCH_TERNARY, 16 },
      { MATCH_TERNARY, 16 })
MODEL(ternary_128, 300, 3000, { MATCH_TERNARY, 128 })
MODEL(ternary_mixed, 300, 4000, { MATCH_TERNARY, 16 }, { MATCH_EXACT, 4 }, { MATCH_LPM, 32 }, { MATCH_OPTIONAL, 8 })
MODEL(range_16, 300, 4000, { MATCH_RANGE, 16 })
MODEL(range_mixed, 300, 4000, { MATCH_RANGE, 32 }, { MATCH_TERNARY, 16 }, { MATCH_EXACT, 2 })
MODEL(range_100, 300, 3000, { MATCH_RANGE, 100 })
MODEL(small_and_full, 20, 2000, { MATCH_EXACT, 16 })

/* --- what the model does not know --- */

struct bed {
	struct fake fake;
	struct quiesce *quiesce;
	struct state *state;
};

static const struct fake_key one_key[] = { { MATCH_EXACT, 16 } };

static void bed_open(struct bed *b)
{
	b->quiesce = quiesce_create();
	assert_int_equal(state_create(&b->fake.program, b->quiesce, false, &b->state, NULL), 0);
}

static void bed_close(struct bed *b)
{
	state_destroy(b->state);
	quiesce_destroy(b->quiesce);
}

static int put(struct bed *b, uint64_t key, const struct entry_spec *spec, struct err *err)
{
	struct match_spec match = { .value = &key };

	return table_insert(b->state, 0, &match, spec, NULL, err);
}

static const struct action_data *hit(struct bed *b, uint64_t key, uint64_t hash)
{
	bool ignored;

	return entry_action(table_lookup(b->state, 0, &key, &ignored), hash);
}

static void the_default_entry_is_set_and_reset(void **state)
{
	uint64_t params[2] = { 7, 8 };
	struct entry_spec spec = { .kind = SPEC_ACTION, .action = { .action = 2, .params = params } };
	struct bed b;
	struct err err;

	(void)state;
	fake_init(&b.fake, one_key, 1, 4);
	bed_open(&b);
	assert_int_equal(table_set_default(b.state, 0, &spec, NULL), 0);
	assert_true(table_default_changed(b.state, 0));
	assert_int_equal(hit(&b, 1, 0)->action, 2);
	assert_int_equal(hit(&b, 1, 0)->params[1], 8);
	assert_int_equal(table_set_default(b.state, 0, NULL, NULL), 0);
	assert_int_equal(hit(&b, 1, 0)->action, 0);
	assert_false(table_default_changed(b.state, 0));
	b.fake.table.default_const = true;
	assert_int_equal(table_set_default(b.state, 0, &spec, &err), -EPERM);
	assert_non_null(strstr(err.message, "constant"));
	bed_close(&b);
}

static void a_constant_table_keeps_its_entries(void **state)
{
	uint64_t key = 5, param = 9, mask = 0xffff;
	struct p4_const_entry entry = { .value = &key, .mask = &mask, .action = 1, .params = &param };
	struct entry_spec spec = { .kind = SPEC_ACTION };
	struct match_spec match = { .value = &key };
	struct bed b;

	(void)state;
	fake_init(&b.fake, one_key, 1, 4);
	b.fake.table.entries = &entry;
	b.fake.table.entry_count = 1;
	b.fake.table.is_const = true;
	bed_open(&b);
	assert_int_equal(hit(&b, 5, 0)->params[0], 9);
	assert_int_equal(put(&b, 6, &spec, NULL), -EPERM);
	assert_int_equal(table_modify(b.state, 0, &match, &spec, NULL, NULL), -EPERM);
	assert_int_equal(table_delete(b.state, 0, &match, NULL), -EPERM);
	bed_close(&b);
}

static void a_changed_entry_keeps_its_counter_and_meter(void **state)
{
	struct entry_spec spec = { .kind = SPEC_ACTION };
	struct meter_rates rates = { 1000, 500, 2000, 1000 }, got;
	struct match_spec match = { .value = (const uint64_t[]){ 3 } };
	struct counts counts;
	const struct entry *e;
	struct bed b;

	(void)state;
	fake_init(&b.fake, one_key, 1, 4);
	b.fake.table.with_counters = true;
	b.fake.table.meter = 1;
	bed_open(&b);
	assert_int_equal(put(&b, 3, &spec, NULL), 0);
	e = table_find(b.state, 0, &match);
	assert_int_equal(entry_set_meter(b.state, e, &rates, NULL), 0);
	entry_count_packet(b.state, e, 100);
	assert_int_equal(table_modify(b.state, 0, &match, &spec, &e, NULL), 0);
	entry_count_packet(b.state, e, 50);
	assert_true(entry_counts(e, &counts));
	assert_int_equal(counts.packets, 2);
	assert_int_equal(counts.bytes, 150);
	assert_true(entry_meter(e, &got));
	assert_int_equal(got.peak_per_s, 2000);
	assert_int_equal(entry_meter_packet(b.state, e, 600, 0), COLOUR_YELLOW);
	assert_int_equal(entry_meter_packet(b.state, e, 600, 0), COLOUR_RED);

	/* deleted and restored, as an undo does: still the same counter */
	quiesce_hold(b.quiesce);
	assert_int_equal(table_delete(b.state, 0, &match, NULL), 0);
	assert_int_equal(table_restore(b.state, e, NULL), 0);
	quiesce_release(b.quiesce);
	quiesce_collect(b.quiesce);
	e = table_find(b.state, 0, &match);
	assert_true(entry_counts(e, &counts));
	assert_int_equal(counts.packets, 2);
	counts = (struct counts){ 5, 6 };
	assert_true(entry_set_counts(e, &counts));
	entry_count_packet(b.state, e, 1);
	assert_true(entry_counts(e, &counts));
	assert_int_equal(counts.packets, 6);
	assert_int_equal(counts.bytes, 7);
	bed_close(&b);
}

static void bad_entries_are_refused_with_the_reason(void **state)
{
	static const struct fake_key keys[] = { { MATCH_OPTIONAL, 8 }, { MATCH_RANGE, 8 } };
	uint64_t value[2] = { 1, 9 }, mask[2] = { 0x0f, 5 };
	struct match_spec match = { value, mask, 0, 1 };
	struct entry_spec spec = { .kind = SPEC_ACTION };
	struct bed b;
	struct err err;

	(void)state;
	fake_init(&b.fake, keys, 2, 4);
	bed_open(&b);
	assert_int_equal(table_insert(b.state, 0, &match, &spec, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.message, "optional"));
	mask[0] = 0xff;
	assert_int_equal(table_insert(b.state, 0, &match, &spec, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.message, "low end"));
	mask[1] = 9;
	assert_int_equal(table_insert(b.state, 0, &match, &spec, NULL, &err), 0);
	spec.kind = SPEC_MEMBER;
	mask[1] = 10;
	assert_int_equal(table_insert(b.state, 0, &match, &spec, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.message, "no action profile"));
	bed_close(&b);
}

static void entries_choose_through_members_and_groups(void **state)
{
	uint64_t p10 = 10, p20 = 20, p30 = 30;
	struct entry_spec member = { .kind = SPEC_MEMBER, .id = 1 }, group = { .kind = SPEC_GROUP, .id = 7 };
	struct group_member members[] = { { 2, 2, NOWHERE }, { 1, 1, NOWHERE } };
	const struct group_member *read;
	struct match_spec match = { .value = (const uint64_t[]){ 2 } };
	struct bed b;

	(void)state;
	fake_init(&b.fake, one_key, 1, 4);
	b.fake.table.profile = 0;
	b.fake.table.with_selector = true;
	bed_open(&b);
	assert_int_equal(put(&b, 1, &member, NULL), -ENOENT);
	assert_int_equal(member_insert(b.state, 0, 1, 1, &p10, NULL), 0);
	assert_int_equal(member_insert(b.state, 0, 1, 1, &p10, NULL), -EEXIST);
	assert_int_equal(member_insert(b.state, 0, 2, 1, &p20, NULL), 0);
	assert_int_equal(put(&b, 1, &member, NULL), 0);
	assert_int_equal(hit(&b, 1, 0)->params[0], 10);
	assert_int_equal(member_modify(b.state, 0, 1, 1, &p30, NULL), 0);
	assert_int_equal(hit(&b, 1, 0)->params[0], 30);
	assert_int_equal(member_delete(b.state, 0, 1, NULL), -EBUSY);

	assert_int_equal(group_insert(b.state, 0, 7, members, 2, 2, NULL), -ENOSPC);
	assert_int_equal(group_insert(b.state, 0, 7, members, 2, 3, NULL), 0);
	assert_int_equal(put(&b, 2, &group, NULL), 0);
	/* in the order the members were made: 1, 2, 2 */
	assert_int_equal(hit(&b, 2, 0)->params[0], 30);
	assert_int_equal(hit(&b, 2, 1)->params[0], 20);
	assert_int_equal(hit(&b, 2, 5)->params[0], 20);
	assert_int_equal(group_delete(b.state, 0, 7, NULL), -EBUSY);
	assert_int_equal(member_delete(b.state, 0, 2, NULL), -EBUSY);
	assert_int_equal(group_modify(b.state, 0, 7, NULL, 0, NULL), 0);
	assert_int_equal(hit(&b, 2, 5)->action, NOWHERE);
	assert_int_equal(member_delete(b.state, 0, 2, NULL), 0);
	assert_int_equal(group_members(group_find(b.state, 0, 7), &read), 0);
	assert_int_equal(table_delete(b.state, 0, &match, NULL), 0);
	assert_int_equal(group_delete(b.state, 0, 7, NULL), 0);
	bed_close(&b);
}

static void an_entry_may_bring_its_own_choices(void **state)
{
	uint64_t params[] = { 1, 2, 3 };
	struct choice choices[] = { { 1, &params[0], 1, NOWHERE }, { 1, &params[1], 3, 9 } };
	struct entry_spec spec = { .kind = SPEC_CHOICES, .choices = choices, .choice_count = 2 };
	struct match_spec match = { .value = (const uint64_t[]){ 4 } };
	const struct entry *e;
	struct bed b;

	(void)state;
	fake_init(&b.fake, one_key, 1, 64);
	b.fake.table.profile = 0;
	b.fake.table.with_selector = true;
	bed_open(&b);
	assert_int_equal(put(&b, 4, &spec, NULL), 0);
	assert_int_equal(hit(&b, 4, 0)->params[0], 1);
	assert_int_equal(hit(&b, 4, 3)->params[0], 2);
	for (uint64_t k = 10; k < 13; k++)
		assert_int_equal(put(&b, k, &spec, NULL), 0);
	assert_int_equal(put(&b, 20, &spec, NULL), -ENOSPC); /* the profile takes 8 */
	e = table_find(b.state, 0, &match);
	quiesce_hold(b.quiesce);
	assert_int_equal(table_delete(b.state, 0, &match, NULL), 0);
	assert_int_equal(put(&b, 21, &spec, NULL), 0);
	match.value = (const uint64_t[]){ 21 };
	assert_int_equal(table_delete(b.state, 0, &match, NULL), 0);
	assert_int_equal(table_restore(b.state, e, NULL), 0);
	quiesce_release(b.quiesce);
	quiesce_collect(b.quiesce);
	assert_int_equal(hit(&b, 4, 3)->params[0], 2);
	choices[0].weight = 0;
	assert_int_equal(put(&b, 30, &spec, NULL), -EINVAL);
	bed_close(&b);
}

/* RFC 2698: at 1000 packets/s committed (burst 2) and 2000 peak (burst 4), by hand. */
static void meters_colour_as_the_rfc_says(void **state)
{
	static const struct {
		uint64_t now_us;
		enum colour want;
	} packets[] = {
		{ 0, COLOUR_GREEN },       { 0, COLOUR_GREEN },       { 0, COLOUR_YELLOW },       { 0, COLOUR_YELLOW },
		{ 0, COLOUR_RED },         { 499, COLOUR_RED }, /* peak makes one each 500 us */
		{ 500, COLOUR_YELLOW },    { 999, COLOUR_RED },       { 1000, COLOUR_GREEN },     { 1000, COLOUR_RED },
		{ 1000000, COLOUR_GREEN }, { 1000000, COLOUR_GREEN }, { 1000000, COLOUR_YELLOW }, /* bursts, no more */
	};
	struct meter_rates rates = { 1000, 2, 2000, 4 }, got;
	enum colour colour = COLOUR_RED;
	struct bed b;

	(void)state;
	fake_init(&b.fake, one_key, 1, 4);
	bed_open(&b);
	assert_true(meter_execute(b.state, 0, 1, 100, 0, &colour));
	assert_int_equal(colour, COLOUR_GREEN); /* not configured */
	assert_false(meter_get(b.state, 0, 1, &got));
	assert_int_equal(meter_set(b.state, 0, 1, &rates, NULL), 0);
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		assert_true(meter_execute(b.state, 0, 1, 100, packets[i].now_us, &colour));
		assert_int_equal(colour, packets[i].want);
	}
	assert_false(meter_execute(b.state, 0, 4, 100, 0, &colour));
	rates.peak_per_s = 999;
	assert_int_equal(meter_set(b.state, 0, 1, &rates, NULL), -EINVAL);
	assert_int_equal(meter_set(b.state, 0, 1, NULL, NULL), 0);
	assert_false(meter_get(b.state, 0, 1, &got));
	assert_int_equal(meter_set(b.state, 0, 9, NULL, NULL), -EINVAL);
	bed_close(&b);
}

static void arrays_stay_inside(void **state)
{
	uint64_t in[2] = { 1, 2 }, out[2] = { 9, 9 };
	struct counts counts = { 0 };
	struct bed b;

	(void)state;
	fake_init(&b.fake, one_key, 1, 4);
	bed_open(&b);
	assert_true(register_write(b.state, 0, 3, in));
	assert_true(register_read(b.state, 0, 3, out));
	assert_int_equal(out[1], 2);
	assert_false(register_write(b.state, 0, 4, in));
	assert_false(register_read(b.state, 0, UINT64_MAX, out));
	assert_true(counter_count(b.state, 0, 3, 64));
	assert_false(counter_count(b.state, 0, 4, 64));
	assert_true(counter_get(b.state, 0, 3, &counts));
	assert_int_equal(counts.bytes, 64);
	assert_false(counter_get(b.state, 0, 4, &counts));
	bed_close(&b);
}

static void sets_groups_and_sessions_are_swapped_whole(void **state)
{
	uint64_t items[] = { 1, 2, UINT64_MAX, UINT64_MAX, 0, 4, 0, 0xff }, key[2] = { 1, 2 }, other[2] = { 77, 0x104 };
	struct replica replicas[] = { { 1, 5 }, { 2, 6 } };
	struct replicas *one = calloc(1, sizeof(*one) + sizeof(one->items[0]));
	struct clone_session session = { 4, 128, one };
	struct bed b;

	(void)state;
	fake_init(&b.fake, one_key, 1, 4);
	bed_open(&b);
	assert_non_null(one);
	*one = (struct replicas){ .count = 1 };
	one->items[0].port = 3;
	assert_false(value_set_has(b.state, 0, key));
	assert_int_equal(value_set_set(b.state, 0, items, 2, NULL), 0);
	assert_true(value_set_has(b.state, 0, key));
	assert_true(value_set_has(b.state, 0, other));
	other[1] = 5;
	assert_false(value_set_has(b.state, 0, other));
	assert_int_equal(value_set_set(b.state, 0, NULL, 0, NULL), 0);
	assert_false(value_set_has(b.state, 0, key));

	assert_null(multicast_group(b.state, 9));
	assert_int_equal(multicast_insert(b.state, 9, replicas, 2, NULL), 0);
	assert_int_equal(multicast_insert(b.state, 9, replicas, 2, NULL), -EEXIST);
	assert_int_equal(multicast_group(b.state, 9)->items[1].instance, 6);
	assert_int_equal(multicast_modify(b.state, 9, replicas, 1, NULL), 0);
	assert_int_equal(multicast_group(b.state, 9)->count, 1);
	assert_int_equal(multicast_modify(b.state, 8, replicas, 1, NULL), -ENOENT);
	for (uint32_t id = 100; id < 200; id++)
		assert_int_equal(multicast_insert(b.state, id, replicas, 2, NULL), 0);
	assert_int_equal(multicast_count(b.state), 101);
	assert_int_equal(multicast_delete(b.state, 9, NULL), 0);
	assert_int_equal(multicast_delete(b.state, 9, NULL), -ENOENT);
	for (uint32_t id = 100; id < 200; id++)
		assert_non_null(multicast_group(b.state, id));

	assert_int_equal(clone_insert(b.state, 3, &session, NULL), 0);
	assert_int_equal(clone_session(b.state, 3)->length_bytes, 128);
	assert_int_equal(clone_session(b.state, 3)->replicas->items[0].port, 3);
	session.length_bytes = 0;
	assert_int_equal(clone_modify(b.state, 3, &session, NULL), 0);
	assert_int_equal(clone_session(b.state, 3)->length_bytes, 0);
	assert_int_equal(clone_delete(b.state, 3, NULL), 0);
	assert_null(clone_session(b.state, 3));
	free(one);
	bed_close(&b);
}

/* --- reclamation --- */

static unsigned freed;

static void count_free(void *object)
{
	(void)object;
	freed++;
}

static void nothing_is_freed_before_readers_have_passed(void **state)
{
	struct quiesce *q = quiesce_create();
	struct quiesce_reader *r = quiesce_join(q), *idle = quiesce_join(q);
	int object;

	(void)state;
	(void)idle; /* offline: nobody waits for it */
	freed = 0;
	quiesce_online(r);
	quiesce_retire(q, &object, 100, count_free);
	quiesce_collect(q);
	quiesce_collect(q);
	assert_int_equal(freed, 0);
	assert_int_equal(quiesce_backlog_bytes(q), 100);
	quiesce_pass(r);
	quiesce_hold(q);
	quiesce_collect(q);
	assert_int_equal(freed, 0);
	quiesce_release(q);
	quiesce_collect(q);
	assert_int_equal(freed, 1);
	quiesce_retire(q, &object, 100, count_free);
	quiesce_collect(q);
	assert_int_equal(freed, 1);
	quiesce_offline(r);
	quiesce_collect(q);
	assert_int_equal(freed, 2);
	quiesce_retire(q, &object, 1, count_free);
	quiesce_leave(q, r);
	quiesce_destroy(q);
	assert_int_equal(freed, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_48),
		cmocka_unit_test(exact_two_wide),
		cmocka_unit_test(lpm_32),
		cmocka_unit_test(lpm_9),
		cmocka_unit_test(lpm_64),
		cmocka_unit_test(lpm_128),
		cmocka_unit_test(lpm_behind_exact),
		cmocka_unit_test(ternary_5),
		cmocka_unit_test(ternary_128),
		cmocka_unit_test(ternary_mixed),
		cmocka_unit_test(range_16),
		cmocka_unit_test(range_mixed),
		cmocka_unit_test(range_100),
		cmocka_unit_test(small_and_full),
		cmocka_unit_test(the_default_entry_is_set_and_reset),
		cmocka_unit_test(a_constant_table_keeps_its_entries),
		cmocka_unit_test(a_changed_entry_keeps_its_counter_and_meter),
		cmocka_unit_test(bad_entries_are_refused_with_the_reason),
		cmocka_unit_test(entries_choose_through_members_and_groups),
		cmocka_unit_test(an_entry_may_bring_its_own_choices),
		cmocka_unit_test(meters_colour_as_the_rfc_says),
		cmocka_unit_test(arrays_stay_inside),
		cmocka_unit_test(sets_groups_and_sessions_are_swapped_whole),
		cmocka_unit_test(nothing_is_freed_before_readers_have_passed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
