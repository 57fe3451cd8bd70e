/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/hash.h"

#include <errno.h>
#include <stdlib.h>

enum {
	BUCKETS_LEAST = 8,
	BUCKETS_MOST = 1 << 24,
	EXPECTED_MOST = 256, /* of what is expected; the rest comes by growing */
};

static struct buckets *buckets_create(uint32_t count, uint32_t which)
{
	struct buckets *b = calloc(1, sizeof(*b) + count * sizeof(b->head[0]));

	if (b == NULL)
		return NULL;
	b->mask = count - 1;
	b->which = which;
	return b;
}

static struct buckets *current(const struct hash *h)
{
	return atomic_load_explicit(&h->buckets, memory_order_relaxed);
}

int hash_init(struct hash *h, uint32_t expected)
{
	uint32_t count = BUCKETS_LEAST;
	struct buckets *b;

	while (count < expected && count < EXPECTED_MOST)
		count *= 2;
	b = buckets_create(count, 0);
	if (b == NULL)
		return -ENOMEM;
	atomic_store_explicit(&h->buckets, b, memory_order_release);
	h->count = 0;
	h->grown_mark = 0;
	return 0;
}

void hash_release(struct hash *h)
{
	free(current(h));
	atomic_store_explicit(&h->buckets, NULL, memory_order_relaxed);
}

struct hash_place hash_place_first(struct hash *h, uint64_t hash)
{
	struct buckets *b = current(h);
	_Atomic(struct entry_link *) *at = &b->head[hash & b->mask];

	return (struct hash_place){ at, atomic_load_explicit(at, memory_order_relaxed), b->which };
}

void hash_place_step(struct hash_place *place)
{
	place->at = &place->link->next[place->which];
	place->link = atomic_load_explicit(place->at, memory_order_relaxed);
}

void hash_insert(struct hash *h, struct hash_place place, struct entry_link *link)
{
	atomic_store_explicit(&link->next[place.which], place.link, memory_order_relaxed);
	atomic_store_explicit(place.at, link, memory_order_release);
	h->count++;
}

/* The link keeps its own next: a reader that stands on it goes on from there. */
void hash_remove(struct hash *h, struct hash_place place)
{
	atomic_store_explicit(place.at, atomic_load_explicit(&place.link->next[place.which], memory_order_relaxed),
			      memory_order_release);
	h->count--;
}

void hash_replace(struct hash_place place, struct entry_link *link)
{
	atomic_store_explicit(&link->next[place.which],
			      atomic_load_explicit(&place.link->next[place.which], memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(place.at, link, memory_order_release);
}

/* Links of an old bucket fall into two new ones, in their order: a chain that is sorted stays so. */
static void spread(const struct buckets *old, struct buckets *new)
{
	for (uint32_t i = 0; i <= old->mask; i++) {
		struct entry_link *link = atomic_load_explicit(&old->head[i], memory_order_relaxed);
		_Atomic(struct entry_link *) *tail[2] = { &new->head[i], &new->head[i + old->mask + 1] };

		for (; link != NULL; link = atomic_load_explicit(&link->next[old->which], memory_order_relaxed)) {
			unsigned side = (link->hash & (old->mask + 1)) != 0;

			atomic_store_explicit(tail[side], link, memory_order_relaxed);
			tail[side] = &link->next[new->which];
		}
		atomic_store_explicit(tail[0], NULL, memory_order_relaxed);
		atomic_store_explicit(tail[1], NULL, memory_order_relaxed);
	}
}

void hash_grow(struct hash *h, struct quiesce *q)
{
	struct buckets *old = current(h), *new;
	uint32_t count = old->mask + 1;

	if (h->count <= count || count >= BUCKETS_MOST)
		return;
	if (h->grown_mark != 0 && !quiesce_passed(q, h->grown_mark))
		return; /* someone may still walk by the pointers that we would use; later */
	new = buckets_create(count * 2, !old->which);
	if (new == NULL)
		return; /* longer chains are only slower */
	spread(old, new);
	atomic_store_explicit(&h->buckets, new, memory_order_release);
	h->grown_mark = quiesce_mark(q);
	quiesce_retire(q, old, sizeof(*old) + count * sizeof(old->head[0]), free);
}

struct entry_link *hash_next(const struct hash *h, uint64_t *bucket, const struct entry_link *link)
{
	const struct buckets *b = current(h);
	struct entry_link *next = NULL;

	if (link != NULL)
		next = atomic_load_explicit(&link->next[b->which], memory_order_relaxed);
	while (next == NULL && *bucket <= b->mask)
		next = atomic_load_explicit(&b->head[(*bucket)++], memory_order_relaxed);
	return next;
}
