/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/tuple.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tuple {
	struct entry_link link; /* in by_mask */
	struct hash entries;    /* by the masked key; chains in the order they win in */
	int32_t best;
	uint32_t stale; /* entries of the best priority removed since it was found */
	uint64_t mask[];
};

/* --- readers --- */

static bool in_range(const struct range_key *range, const uint64_t *key, const uint64_t *low, const uint64_t *high)
{
	bool above = true, below = true; /* equal so far counts as inside */

	for (uint32_t i = 0; i < range->words;
	     i++) { /* from the least significant word on: the last to differ decides */
		uint32_t w = range->word + i;

		if (key[w] != low[w])
			above = key[w] > low[w];
		if (key[w] != high[w])
			below = key[w] < high[w];
	}
	return above && below;
}

static bool in_ranges(const struct tuples *t, const uint64_t *key, const struct entry *entry)
{
	for (uint32_t i = 0; i < t->range_count; i++)
		if (!in_range(&t->ranges[i], key, entry->words, entry->words + t->key_words))
			return false;
	return true;
}

static bool same_under_mask(const struct tuple *tuple, uint32_t words, const uint64_t *masked, const struct entry *e)
{
	for (uint32_t i = 0; i < words; i++)
		if (masked[i] != (e->words[i] & tuple->mask[i]))
			return false;
	return true;
}

static const struct entry *tuple_lookup(const struct tuples *t, const struct tuple *tuple, const uint64_t *key)
{
	uint64_t masked[TABLE_KEY_WORDS_MOST];
	struct hash_walk walk;

	for (uint32_t i = 0; i < t->key_words; i++)
		masked[i] = key[i] & tuple->mask[i];
	for (walk = hash_first(&tuple->entries, hash_words(masked, t->key_words)); walk.link != NULL;
	     hash_step(&walk)) {
		const struct entry *e = (const struct entry *)walk.link;

		if (same_under_mask(tuple, t->key_words, masked, e) && in_ranges(t, key, e))
			return e;
	}
	return NULL;
}

static inline bool wins(const struct entry *a, const struct entry *b)
{
	return a->priority > b->priority || (a->priority == b->priority && a->handle < b->handle);
}

const struct entry *tuples_lookup(const struct tuples *t, const uint64_t *key)
{
	const struct tuple_view *view = atomic_load_explicit(&t->view, memory_order_acquire);
	const struct entry *best = NULL;

	for (uint32_t i = 0; i < view->count; i++) {
		const struct entry *e;

		if (best != NULL && best->priority > view->items[i].best)
			break;
		e = tuple_lookup(t, view->items[i].tuple, key);
		if (e != NULL && (best == NULL || wins(e, best)))
			best = e;
	}
	return best;
}

/* --- the writer: views --- */

static struct tuple_view *view_now(const struct tuples *t)
{
	return atomic_load_explicit(&t->view, memory_order_relaxed);
}

static size_t view_bytes(uint32_t count)
{
	return sizeof(struct tuple_view) + count * sizeof(struct tuple_rank);
}

/* The view without `tuple`, and with it again at its place when `in`. */
static struct tuple_view *view_with(const struct tuple_view *old, struct tuple *tuple, bool in)
{
	struct tuple_view *view = malloc(view_bytes(old->count + 1));
	uint32_t n = 0;

	if (view == NULL)
		return NULL;
	for (uint32_t i = 0; i < old->count; i++) {
		if (in && old->items[i].best < tuple->best) {
			view->items[n++] = (struct tuple_rank){ tuple->best, tuple };
			in = false;
		}
		if (old->items[i].tuple != tuple)
			view->items[n++] = old->items[i];
	}
	if (in)
		view->items[n++] = (struct tuple_rank){ tuple->best, tuple };
	view->count = n;
	return view;
}

static void view_publish(struct tuples *t, struct tuple_view *view)
{
	struct tuple_view *old = view_now(t);

	atomic_store_explicit(&t->view, view, memory_order_release);
	quiesce_retire(t->quiesce, old, view_bytes(old->count), free);
}

/* --- the writer: handles --- */

static int handle_take(struct tuples *t, uint32_t *ret_handle)
{
	for (uint32_t w = t->handle_hint; w < t->handle_words; w++) {
		if (~t->handles_used[w] != 0) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~t->handles_used[w]);

			t->handles_used[w] |= UINT64_C(1) << bit;
			t->handle_hint = w;
			*ret_handle = w * 64 + bit;
			return 0;
		}
	}
	uint32_t words = t->handle_words == 0 ? 1 : t->handle_words * 2;
	uint64_t *grown = realloc(t->handles_used, words * sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	memset(grown + t->handle_words, 0, (words - t->handle_words) * sizeof(*grown));
	t->handles_used = grown;
	t->handle_hint = t->handle_words;
	t->handle_words = words;
	return handle_take(t, ret_handle);
}

static void handle_give(struct tuples *t, uint32_t handle)
{
	t->handles_used[handle / 64] &= ~(UINT64_C(1) << handle % 64);
	if (handle / 64 < t->handle_hint)
		t->handle_hint = handle / 64;
}

/* --- the writer: tuples --- */

/* The mask that decides which tuple an entry is in; range keys count by the leading bits their ends share. */
static void tuple_mask(const struct tuples *t, const uint64_t *words, uint64_t *ret_mask)
{
	const uint64_t *low = words, *high = words + t->key_words;

	memcpy(ret_mask, high, t->key_words * sizeof(*ret_mask));
	for (uint32_t i = 0; i < t->range_count; i++) {
		const struct range_key *r = &t->ranges[i];
		bool differ = false;

		for (uint32_t w = r->word + r->words; w-- > r->word;) {
			uint64_t diff = low[w] ^ high[w];
			uint32_t top = w == r->word + r->words - 1 && r->bits % 64 != 0 ? r->bits % 64 : 64;
			uint64_t all = top == 64 ? UINT64_MAX : (UINT64_C(1) << top) - 1;

			if (differ)
				ret_mask[w] = 0;
			else if (diff == 0)
				ret_mask[w] = all;
			else if (diff >> 63)
				ret_mask[w] = 0;
			else
				ret_mask[w] = all & ~((UINT64_C(1) << (64 - __builtin_clzll(diff))) - 1);
			differ |= diff != 0;
		}
	}
}

static struct tuple *tuple_find(struct tuples *t, const uint64_t *mask)
{
	struct hash_place place = hash_place_first(&t->by_mask, hash_words(mask, t->key_words));

	for (; place.link != NULL; hash_place_step(&place)) {
		struct tuple *tuple = (struct tuple *)place.link;

		if (memcmp(tuple->mask, mask, t->key_words * sizeof(*mask)) == 0)
			return tuple;
	}
	return NULL;
}

static struct tuple *tuple_create(struct tuples *t, const uint64_t *mask, int32_t best)
{
	struct tuple *tuple = calloc(1, sizeof(*tuple) + t->key_words * sizeof(*mask));

	if (tuple == NULL)
		return NULL;
	if (hash_init(&tuple->entries, 0) < 0) {
		free(tuple);
		return NULL;
	}
	memcpy(tuple->mask, mask, t->key_words * sizeof(*mask));
	tuple->link.hash = hash_words(mask, t->key_words);
	tuple->best = best;
	return tuple;
}

static void tuple_free(void *object)
{
	struct tuple *tuple = object;

	hash_release(&tuple->entries);
	free(tuple);
}

static uint64_t masked_hash(const struct tuples *t, const struct tuple *tuple, const uint64_t *words)
{
	uint64_t masked[TABLE_KEY_WORDS_MOST];

	for (uint32_t i = 0; i < t->key_words; i++)
		masked[i] = words[i] & tuple->mask[i];
	return hash_words(masked, t->key_words);
}

static struct hash_place place_of(const struct tuples *t, struct tuple *tuple, const uint64_t *words, int32_t priority)
{
	struct hash_place place = hash_place_first(&tuple->entries, masked_hash(t, tuple, words));

	for (; place.link != NULL; hash_place_step(&place)) {
		const struct entry *e = (const struct entry *)place.link;

		if (e->priority == priority && memcmp(e->words, words, (size_t)2 * t->key_words * sizeof(*words)) == 0)
			break;
	}
	return place;
}

const struct entry *tuples_find(struct tuples *t, const uint64_t *words, int32_t priority)
{
	uint64_t mask[TABLE_KEY_WORDS_MOST];
	struct tuple *tuple;

	tuple_mask(t, words, mask);
	tuple = tuple_find(t, mask);
	return tuple == NULL ? NULL : (const struct entry *)place_of(t, tuple, words, priority).link;
}

/* Rank the tuple anew when its best priority has changed (or it is new): the view before the entry, so that no reader
 * stops short of an entry it could see. */
static int rank(struct tuples *t, struct tuple *tuple, int32_t best)
{
	int32_t before = tuple->best;
	struct tuple_view *view;

	tuple->best = best;
	tuple->stale = 0;
	view = view_with(view_now(t), tuple, true);
	if (view == NULL) {
		tuple->best = before;
		return -ENOMEM;
	}
	view_publish(t, view);
	return 0;
}

static void link_in_order(struct tuples *t, struct tuple *tuple, struct entry *entry)
{
	struct hash_place place = hash_place_first(&tuple->entries, entry->link.hash);

	while (place.link != NULL && wins((const struct entry *)place.link, entry))
		hash_place_step(&place);
	hash_insert(&tuple->entries, place, &entry->link);
	hash_grow(&tuple->entries, t->quiesce);
}

int tuples_insert(struct tuples *t, struct entry *entry)
{
	uint64_t mask[TABLE_KEY_WORDS_MOST];
	struct tuple *tuple;
	bool new;

	tuple_mask(t, entry->words, mask);
	tuple = tuple_find(t, mask);
	new = tuple == NULL;
	if (new)
		tuple = tuple_create(t, mask, entry->priority);
	if (tuple == NULL)
		return -ENOMEM;
	if (((new || entry->priority > tuple->best) && rank(t, tuple, entry->priority) < 0)) {
		if (new)
			tuple_free(tuple);
		return -ENOMEM;
	}
	if (new) {
		hash_insert(&t->by_mask, hash_place_first(&t->by_mask, tuple->link.hash), &tuple->link);
		hash_grow(&t->by_mask, t->quiesce);
	}
	if (handle_take(t, &entry->handle) < 0) {
		/* the rank may be too high now, or the tuple empty: slower, not wrong */
		return -ENOMEM;
	}
	entry->link.hash = masked_hash(t, tuple, entry->words);
	link_in_order(t, tuple, entry);
	return 0;
}

static struct tuple *tuple_of(struct tuples *t, const struct entry *entry)
{
	uint64_t mask[TABLE_KEY_WORDS_MOST];
	struct tuple *tuple;

	tuple_mask(t, entry->words, mask);
	tuple = tuple_find(t, mask);
	TARE_ASSERT(tuple != NULL);
	return tuple;
}

void tuples_replace(struct tuples *t, const struct entry *old, struct entry *entry)
{
	struct tuple *tuple = tuple_of(t, old);

	entry->handle = old->handle;
	entry->link.hash = old->link.hash;
	hash_replace(place_of(t, tuple, old->words, old->priority), &entry->link);
}

static void tuple_drop(struct tuples *t, struct tuple *tuple)
{
	struct tuple_view *view = view_with(view_now(t), tuple, false);
	struct hash_place place = hash_place_first(&t->by_mask, tuple->link.hash);

	if (view == NULL)
		return; /* empty, but there */
	view_publish(t, view);
	while (place.link != &tuple->link)
		hash_place_step(&place);
	hash_remove(&t->by_mask, place);
	quiesce_retire(t->quiesce, tuple, sizeof(*tuple), tuple_free);
}

/* The best priority left, found anew once as many of the best have gone as there are entries: constant cost each. */
static void tuple_sink(struct tuples *t, struct tuple *tuple)
{
	const struct entry_link *link = NULL;
	uint64_t bucket = 0;
	int32_t best = INT32_MIN;

	if (++tuple->stale <= tuple->entries.count)
		return;
	while ((link = hash_next(&tuple->entries, &bucket, link)) != NULL)
		if (((const struct entry *)link)->priority > best)
			best = ((const struct entry *)link)->priority;
	tuple->stale = 0;
	if (best < tuple->best)
		(void)!rank(t, tuple, best); /* without memory it stays too high: slower, not wrong */
}

void tuples_remove(struct tuples *t, const struct entry *entry)
{
	struct tuple *tuple = tuple_of(t, entry);

	hash_remove(&tuple->entries, place_of(t, tuple, entry->words, entry->priority));
	handle_give(t, entry->handle);
	if (tuple->entries.count == 0)
		tuple_drop(t, tuple);
	else if (entry->priority == tuple->best)
		tuple_sink(t, tuple);
}

struct entry *tuples_next(const struct tuples *t, struct entry_cursor *cursor)
{
	const struct tuple_view *view = view_now(t);

	for (; cursor->group < view->count; cursor->group++, cursor->bucket = 0, cursor->link = NULL) {
		cursor->link = hash_next(&view->items[cursor->group].tuple->entries, &cursor->bucket, cursor->link);
		if (cursor->link != NULL)
			return (struct entry *)cursor->link;
	}
	return NULL;
}

int tuples_init(struct tuples *t, uint32_t key_words, const struct range_key *ranges, uint32_t range_count,
		struct quiesce *quiesce)
{
	struct tuple_view *view = calloc(1, view_bytes(0));

	*t = (struct tuples){ .key_words = key_words, .range_count = range_count, .quiesce = quiesce };
	atomic_store_explicit(&t->view, view, memory_order_relaxed);
	t->ranges = calloc(range_count + 1, sizeof(*ranges));
	if (view == NULL || t->ranges == NULL || hash_init(&t->by_mask, 0) < 0)
		return -ENOMEM;
	if (range_count > 0)
		memcpy(t->ranges, ranges, range_count * sizeof(*ranges));
	return 0;
}

void tuples_release(struct tuples *t)
{
	struct tuple_view *view = view_now(t);

	if (view != NULL)
		for (uint32_t i = 0; i < view->count; i++)
			tuple_free(view->items[i].tuple);
	free(view);
	hash_release(&t->by_mask);
	free(t->ranges);
	free(t->handles_used);
	*t = (struct tuples){ 0 };
}
