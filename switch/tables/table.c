/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "tables/state_private.h"
#include "tables/table.h"

/* What a packet's key or an entry's is made of. */

static uint64_t low_bits(uint32_t bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* The bits that word i of a key has, by its width alone. */
static uint64_t width_of(const struct p4_key *key, uint32_t i)
{
	return key->bits >= (i + 1) * 64 ? UINT64_MAX : low_bits(key->bits - i * 64);
}

static bool is_tuples(const struct table *t)
{
	return t->p4->match == TABLE_TERNARY || t->p4->match == TABLE_RANGE;
}

static const struct p4_key *lpm_key(const struct p4_table *p4)
{
	for (uint32_t i = 0; i < p4->key_count; i++)
		if (p4->keys[i].kind == MATCH_LPM)
			return &p4->keys[i];
	return NULL;
}

static int init_lpm(struct state *state, struct table *t, struct err *err)
{
	const struct p4_key *key = lpm_key(t->p4);
	uint64_t exact[TABLE_KEY_WORDS_MOST];

	if (key == NULL || key->slots > LPM_WORDS_MOST)
		return err_set(err, ERR_USAGE, EINVAL, "table %s: one LPM key of at most %d bits is expected",
			       t->p4->name, LPM_WORDS_MOST * 64);
	memcpy(exact, t->keep, t->key_words * sizeof(exact[0]));
	memset(exact + key->word, 0, key->slots * sizeof(exact[0]));
	return lpm_init(&t->lpm, key->word, key->slots, key->bits, t->key_words, t->p4->key_count > 1 ? exact : NULL,
			state->quiesce);
}

static int init_tuples(struct state *state, struct table *t)
{
	struct range_key *ranges = calloc(t->p4->key_count + 1, sizeof(*ranges));
	uint32_t count = 0;
	int rc = -ENOMEM;

	if (ranges == NULL)
		return rc;
	for (uint32_t i = 0; i < t->p4->key_count; i++) {
		const struct p4_key *key = &t->p4->keys[i];

		if (key->kind == MATCH_RANGE)
			ranges[count++] = (struct range_key){ key->word, key->slots, key->bits };
	}
	rc = tuples_init(&t->tuples, t->key_words, ranges, count, state->quiesce);
	free(ranges);
	return rc;
}

static int init_key(struct state *state, struct table *t)
{
	const struct program *program = state->program;

	t->slots = calloc(t->key_words + 1, sizeof(*t->slots));
	t->keep = calloc(t->key_words + 1, sizeof(*t->keep));
	if (t->slots == NULL || t->keep == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->p4->key_count; i++) {
		const struct p4_key *key = &t->p4->keys[i];

		for (uint32_t w = 0; w < key->slots; w++) {
			t->slots[key->word + w] = key->slot + w;
			t->keep[key->word + w] = width_of(key, w);
			if (key->has_mask)
				t->keep[key->word + w] &= program->constants[key->mask - program->constants_slot + w];
		}
	}
	return 0;
}

int table_init(struct state *state, struct table *t, const struct p4_table *p4, uint32_t index, struct err *err)
{
	int rc;

	t->p4 = p4;
	t->index = index;
	t->key_words = p4->key_words;
	t->is_const = p4->is_const;
	if (t->key_words > TABLE_KEY_WORDS_MOST)
		return err_set(err, ERR_USAGE, E2BIG, "table %s: a key of %u bits is more than %d", p4->name,
			       t->key_words * 64, TABLE_KEY_WORDS_MOST * 64);
	t->entry_words = is_tuples(t) ? 2 * t->key_words : t->key_words;
	rc = init_key(state, t);
	if (rc == 0 && is_tuples(t))
		rc = init_tuples(state, t);
	else if (rc == 0)
		rc = hash_init(&t->by_key, p4->size);
	if (rc == 0 && p4->match == TABLE_LPM)
		rc = init_lpm(state, t, err);
	if (rc == -ENOMEM)
		return err_set(err, ERR_HOST, ENOMEM, "table %s: out of memory", p4->name);
	return rc;
}

/* --- lookup --- */

static const struct entry *exact_lookup(const struct table *t, const uint64_t *key)
{
	struct hash_walk walk;
	uint32_t words = t->key_words;

	for (walk = hash_first(&t->by_key, hash_words(key, words)); walk.link != NULL; hash_step(&walk)) {
		const struct entry *e = (const struct entry *)walk.link;
		uint64_t differ = 0;

		for (uint32_t i = 0; i < words; i++)
			differ |= key[i] ^ e->words[i];
		if (differ == 0)
			return e;
	}
	return NULL;
}

const struct entry *table_lookup(const struct state *state, uint32_t table, const uint64_t *memory, bool *ret_hit)
{
	const struct table *t = &state->tables[table];
	uint64_t key[TABLE_KEY_WORDS_MOST];
	const struct entry *e = NULL;

	for (uint32_t i = 0; i < t->key_words; i++)
		key[i] = memory[t->slots[i]] & t->keep[i];
	if (t->key_words > 0) {
		if (t->p4->match == TABLE_EXACT)
			e = exact_lookup(t, key);
		else if (t->p4->match == TABLE_LPM)
			e = lpm_lookup(&t->lpm, key);
		else
			e = tuples_lookup(&t->tuples, key);
	}
	*ret_hit = e != NULL;
	return e != NULL ? e : atomic_load_explicit(&t->fallback, memory_order_acquire);
}

/* --- keys of entries, in one form --- */

static int bad_key(const struct table *t, const struct p4_key *key, const char *what, struct err *err)
{
	return err_set(err, ERR_USAGE, EINVAL, "table %s, key %s: %s", t->p4->name, key->name, what);
}

static void cut_prefix(const struct p4_key *key, uint32_t prefix_bits, uint64_t *words)
{
	uint32_t off = key->bits - prefix_bits; /* bits that do not count, from the least significant on */

	for (uint32_t w = 0; w < key->slots; w++) {
		uint32_t gone = off > w * 64 ? off - w * 64 : 0;

		words[w] &= gone >= 64 ? 0 : ~low_bits(gone);
	}
}

static int normal_pair(const struct table *t, const struct p4_key *key, const struct match_spec *match, uint64_t *value,
		       uint64_t *mask, struct err *err)
{
	int order = 0; /* of low against high: the most significant difference */
	bool any = false, all = true;

	for (uint32_t i = 0; i < key->slots; i++) {
		uint32_t w = key->word + i;
		uint64_t width = width_of(key, i);

		value[w] = match->value[w] & width;
		mask[w] = key->kind == MATCH_EXACT ? width : match->mask[w] & width;
		if (value[w] != mask[w])
			order = value[w] < mask[w] ? -1 : 1;
		any |= mask[w] != 0;
		all &= mask[w] == width;
		if (key->kind != MATCH_RANGE)
			value[w] &= mask[w];
	}
	if (key->kind == MATCH_RANGE && order > 0)
		return bad_key(t, key, "the low end of the range is above the high end", err);
	if (key->kind == MATCH_OPTIONAL && any && !all)
		return bad_key(t, key, "an optional key matches exactly or not at all", err);
	return 0;
}

static int normal_key(const struct table *t, const struct match_spec *match, uint64_t *words, struct err *err)
{
	if (t->key_words == 0)
		return err_set(err, ERR_USAGE, EINVAL, "table %s has no key: it takes a default entry only",
			       t->p4->name);
	for (uint32_t k = 0; k < t->p4->key_count; k++) {
		const struct p4_key *key = &t->p4->keys[k];
		int rc = 0;

		if (is_tuples(t)) {
			rc = normal_pair(t, key, match, words, words + t->key_words, err);
		} else {
			for (uint32_t i = 0; i < key->slots; i++)
				words[key->word + i] = match->value[key->word + i] & width_of(key, i);
			if (key->kind == MATCH_LPM && match->prefix_bits > key->bits)
				rc = bad_key(t, key, "the prefix is longer than the key", err);
			else if (key->kind == MATCH_LPM)
				cut_prefix(key, match->prefix_bits, words + key->word);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- by key --- */

static uint64_t key_hash(const struct table *t, const uint64_t *words, uint32_t prefix_bits)
{
	uint64_t h = hash_words(words, t->key_words);

	return t->p4->match == TABLE_LPM ? hash_mix(h, prefix_bits) : h;
}

static struct hash_place key_place(struct table *t, const uint64_t *words, uint32_t prefix_bits, uint64_t hash)
{
	struct hash_place place = hash_place_first(&t->by_key, hash);

	for (; place.link != NULL; hash_place_step(&place)) {
		const struct entry *e = (const struct entry *)place.link;

		if (e->link.hash == hash && e->prefix_bits == prefix_bits &&
		    memcmp(e->words, words, t->key_words * sizeof(*words)) == 0)
			break;
	}
	return place;
}

/* An entry's key as the writer looks for it. */
struct wanted {
	uint64_t words[2 * TABLE_KEY_WORDS_MOST];
	uint32_t prefix_bits;
	int32_t priority;
};

static int want(const struct table *t, const struct match_spec *match, struct wanted *ret, struct err *err)
{
	ret->prefix_bits = t->p4->match == TABLE_LPM ? match->prefix_bits : 0;
	ret->priority = is_tuples(t) ? match->priority : 0;
	return normal_key(t, match, ret->words, err);
}

static const struct entry *find(struct table *t, const struct wanted *w)
{
	if (is_tuples(t))
		return tuples_find(&t->tuples, w->words, w->priority);
	return (const struct entry *)key_place(t, w->words, w->prefix_bits, key_hash(t, w->words, w->prefix_bits)).link;
}

/* Of the prefixes in the same level of the tree: the longest that covers `entry`. */
static const struct entry *next_shorter(struct table *t, const struct entry *entry)
{
	const struct p4_key *key = lpm_key(t->p4);
	uint64_t words[TABLE_KEY_WORDS_MOST];

	memcpy(words, entry->words, t->key_words * sizeof(words[0]));
	for (uint32_t bits = entry->prefix_bits; bits > lpm_level_first(entry->prefix_bits);) {
		const struct entry *shorter;

		bits--;
		cut_prefix(key, bits, words + key->word);
		shorter = (const struct entry *)key_place(t, words, bits, key_hash(t, words, bits)).link;
		if (shorter != NULL)
			return shorter;
	}
	return NULL;
}

/* --- entries in and out of their structure --- */

static int link_entry(struct state *state, struct table *t, struct entry *e)
{
	if (is_tuples(t))
		return tuples_insert(&t->tuples, e);
	e->link.hash = key_hash(t, e->words, e->prefix_bits);
	if (t->p4->match == TABLE_LPM) {
		int rc = lpm_insert(&t->lpm, e);

		if (rc < 0)
			return rc;
	}
	hash_insert(&t->by_key, hash_place_first(&t->by_key, e->link.hash), &e->link);
	hash_grow(&t->by_key, state->quiesce);
	return 0;
}

static int relink_entry(struct table *t, const struct entry *old, struct entry *e)
{
	if (is_tuples(t)) {
		tuples_replace(&t->tuples, old, e);
		return 0;
	}
	e->link.hash = old->link.hash;
	if (t->p4->match == TABLE_LPM) {
		int rc = lpm_replace(&t->lpm, old, e);

		if (rc < 0)
			return rc;
	}
	hash_replace(key_place(t, old->words, old->prefix_bits, old->link.hash), &e->link);
	return 0;
}

static int unlink_entry(struct table *t, const struct entry *e)
{
	if (is_tuples(t)) {
		tuples_remove(&t->tuples, e);
		return 0;
	}
	if (t->p4->match == TABLE_LPM) {
		int rc = lpm_remove(&t->lpm, e, next_shorter(t, e));

		if (rc < 0)
			return rc;
	}
	hash_remove(&t->by_key, key_place(t, e->words, e->prefix_bits, e->link.hash));
	return 0;
}

static int no_memory(const struct table *t, struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "table %s: out of memory", t->p4->name);
}

static int not_there(const struct table *t, struct err *err)
{
	return err_set(err, ERR_USAGE, ENOENT, "table %s has no such entry", t->p4->name);
}

static int check_mutable(const struct table *t, struct err *err)
{
	if (!t->is_const)
		return 0;
	return err_set(err, ERR_USAGE, EPERM, "table %s is constant", t->p4->name);
}

static int insert(struct state *state, struct table *t, const struct wanted *w, struct entry *e, struct err *err)
{
	e->prefix_bits = w->prefix_bits;
	e->priority = w->priority;
	memcpy(e->words, w->words, t->entry_words * sizeof(e->words[0]));
	if (link_entry(state, t, e) < 0) {
		entry_discard(e);
		return no_memory(t, err);
	}
	entry_linked(state, e);
	t->count++;
	return 0;
}

static int replace(struct state *state, struct table *t, const struct entry *old, struct entry *e, struct err *err)
{
	e->prefix_bits = old->prefix_bits;
	e->priority = old->priority;
	e->is_const = old->is_const;
	memcpy(e->words, old->words, t->entry_words * sizeof(e->words[0]));
	if (relink_entry(t, old, e) < 0) {
		entry_discard(e);
		return no_memory(t, err);
	}
	entry_linked(state, e);
	entry_unlinked(state, old);
	return 0;
}

static int insert_new(struct state *state, struct table *t, const struct match_spec *match,
		      const struct entry_spec *spec, bool limit, struct entry **ret_entry, struct err *err)
{
	struct wanted w;
	int rc = want(t, match, &w, err);

	if (rc < 0)
		return rc;
	if (find(t, &w) != NULL)
		return err_set(err, ERR_USAGE, EEXIST, "table %s has such an entry already", t->p4->name);
	if (limit && t->p4->size > 0 && t->count >= t->p4->size)
		return err_set(err, ERR_USAGE, ENOSPC, "table %s is full: %u entries", t->p4->name, t->p4->size);
	rc = entry_create(state, t, spec, NULL, ret_entry, err);
	return rc < 0 ? rc : insert(state, t, &w, *ret_entry, err);
}

int table_insert(struct state *state, uint32_t table, const struct match_spec *match, const struct entry_spec *spec,
		 const struct entry **ret_entry, struct err *err)
{
	struct table *t = &state->tables[table];
	struct entry *e;
	int rc = check_mutable(t, err);

	if (rc == 0)
		rc = insert_new(state, t, match, spec, true, &e, err);
	if (rc == 0 && ret_entry != NULL)
		*ret_entry = e;
	return rc;
}

int table_modify(struct state *state, uint32_t table, const struct match_spec *match, const struct entry_spec *spec,
		 const struct entry **ret_entry, struct err *err)
{
	struct table *t = &state->tables[table];
	const struct entry *old;
	struct wanted w;
	struct entry *e;
	int rc = check_mutable(t, err);

	if (rc == 0)
		rc = want(t, match, &w, err);
	if (rc < 0)
		return rc;
	old = find(t, &w);
	if (old == NULL)
		return not_there(t, err);
	rc = entry_create(state, t, spec, old->cell, &e, err);
	if (rc == 0)
		rc = replace(state, t, old, e, err);
	if (rc == 0 && ret_entry != NULL)
		*ret_entry = e;
	return rc;
}

int table_delete(struct state *state, uint32_t table, const struct match_spec *match, struct err *err)
{
	struct table *t = &state->tables[table];
	const struct entry *old;
	struct wanted w;
	int rc = check_mutable(t, err);

	if (rc == 0)
		rc = want(t, match, &w, err);
	if (rc < 0)
		return rc;
	old = find(t, &w);
	if (old == NULL)
		return not_there(t, err);
	if (unlink_entry(t, old) < 0)
		return no_memory(t, err);
	t->count--;
	entry_unlinked(state, old);
	return 0;
}

const struct entry *table_find(const struct state *state, uint32_t table, const struct match_spec *match)
{
	struct table *t = &state->tables[table];
	struct wanted w;

	return want(t, match, &w, NULL) < 0 ? NULL : find(t, &w);
}

/* --- the default entry --- */

static void publish_fallback(struct state *state, struct table *t, struct entry *e, bool changed)
{
	struct entry *old = atomic_load_explicit(&t->fallback, memory_order_relaxed);

	e->is_default = true;
	atomic_store_explicit(&t->fallback, e, memory_order_release);
	t->fallback_changed = changed;
	entry_linked(state, e);
	if (old != NULL)
		entry_unlinked(state, old);
}

/* The program's own default may be an action even where entries hold members. */
static int program_default(struct state *state, struct table *t, struct entry **ret_entry, struct err *err)
{
	const struct entry *old = atomic_load_explicit(&t->fallback, memory_order_relaxed);
	struct entry_spec spec = { .kind = SPEC_ACTION,
				   .action = { .action = t->p4->default_action, .params = t->p4->default_params } };

	return entry_create_default(state, t, &spec, old != NULL ? old->cell : NULL, ret_entry, err);
}

int table_set_default(struct state *state, uint32_t table, const struct entry_spec *spec, struct err *err)
{
	struct table *t = &state->tables[table];
	const struct entry *old = atomic_load_explicit(&t->fallback, memory_order_relaxed);
	struct entry *e;
	int rc;

	if (t->p4->default_const)
		return err_set(err, ERR_USAGE, EPERM, "table %s: the default action is constant", t->p4->name);
	rc = spec == NULL ? program_default(state, t, &e, err) : entry_create(state, t, spec, old->cell, &e, err);
	if (rc < 0)
		return rc;
	publish_fallback(state, t, e, spec != NULL);
	return 0;
}

const struct entry *table_default(const struct state *state, uint32_t table)
{
	return atomic_load_explicit(&state->tables[table].fallback, memory_order_relaxed);
}

bool table_default_changed(const struct state *state, uint32_t table)
{
	return state->tables[table].fallback_changed;
}

void table_set_mutable(struct state *state, uint32_t table)
{
	struct entry_cursor cursor = { 0 };
	const struct entry *e;

	state->tables[table].is_const = false;
	while ((e = table_next(state, table, &cursor)) != NULL)
		((struct entry *)e)->is_const = false; /* the controller's word, which no packet reads */
}

/* --- undo --- */

int table_restore(struct state *state, const struct entry *entry, struct err *err)
{
	struct table *t = &state->tables[entry->table];
	const struct entry *now;
	struct wanted w = { .prefix_bits = entry->prefix_bits, .priority = entry->priority };
	struct entry *e;
	int rc = entry_copy(state, t, entry, &e, err);

	if (rc < 0)
		return rc;
	if (entry->is_default) {
		publish_fallback(state, t, e, true);
		return 0;
	}
	memcpy(w.words, entry->words, t->entry_words * sizeof(w.words[0]));
	now = find(t, &w);
	return now != NULL ? replace(state, t, now, e, err) : insert(state, t, &w, e, err);
}

/* --- reading --- */

uint32_t table_entries(const struct state *state, uint32_t table)
{
	return state->tables[table].count;
}

const struct entry *table_next(const struct state *state, uint32_t table, struct entry_cursor *cursor)
{
	const struct table *t = &state->tables[table];

	if (is_tuples(t))
		return tuples_next(&t->tuples, cursor);
	cursor->link = hash_next(&t->by_key, &cursor->bucket, cursor->link);
	return (const struct entry *)cursor->link;
}

const uint64_t *entry_mask(const struct state *state, const struct entry *entry)
{
	return entry->words + state->tables[entry->table].key_words;
}

/* --- beginning and end --- */

int table_fill(struct state *state, struct table *t, struct err *err)
{
	struct entry *e;
	int rc = program_default(state, t, &e, err);

	if (rc < 0)
		return rc;
	publish_fallback(state, t, e, false);
	for (uint32_t i = 0; i < t->p4->entry_count; i++) {
		const struct p4_const_entry *from = &t->p4->entries[i];
		struct match_spec match = { from->value, from->mask, from->prefix_bits, (int32_t)from->priority };
		struct entry_spec spec = { .kind = SPEC_ACTION,
					   .action = { .action = from->action, .params = from->params } };

		rc = insert_new(state, t, &match, &spec, false, &e, err);
		if (rc < 0)
			return rc;
		e->is_const = t->is_const;
	}
	return 0;
}

void table_release(struct state *state, struct table *t)
{
	struct entry_cursor cursor = { 0 };
	const struct entry *e = NULL, *next;

	if (t->p4 == NULL)
		return;
	if (is_tuples(t) ? t->tuples.ranges != NULL
			 : atomic_load_explicit(&t->by_key.buckets, memory_order_relaxed) != NULL)
		for (e = table_next(state, t->index, &cursor); e != NULL; e = next) {
			next = table_next(state, t->index, &cursor);
			entry_discard((struct entry *)e);
		}
	entry_discard(atomic_load_explicit(&t->fallback, memory_order_relaxed));
	if (is_tuples(t))
		tuples_release(&t->tuples);
	else
		hash_release(&t->by_key);
	if (t->p4->match == TABLE_LPM)
		lpm_release(&t->lpm);
	free(t->slots);
	free(t->keep);
}
