/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_TABLES_HASH_H
#define TARE_SWITCH_TABLES_HASH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tables/quiesce.h"
#include "tables/state.h"

/*
 * A chained hash of links that readers walk while the writer changes it. It grows
 * without copying what hangs in it: each link has two next pointers, and the old
 * and the new array of buckets use one each.
 */
struct buckets {
	uint32_t mask;  /* their number less one */
	uint32_t which; /* of a link's two next pointers */
	_Atomic(struct entry_link *) head[];
};

struct hash {
	_Atomic(struct buckets *) buckets;
	uint32_t count;
	uint64_t grown_mark; /* the array before the last is gone once this has passed */
};

int hash_init(struct hash *h, uint32_t expected); /* -ENOMEM */
void hash_release(struct hash *h);                /* the array alone */

__extension__ typedef unsigned __int128 hash_u128;

/* Mixes by multiplying to 128 bits and folding; no seed: the same keys fall alike in every process. */
static inline uint64_t hash_mix(uint64_t h, uint64_t word)
{
	hash_u128 product = (hash_u128)(h ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The words are multiplied apart, so that they wait for nothing, and mixed together once. */
static inline uint64_t hash_words(const uint64_t *words, uint32_t count)
{
	uint64_t sum = 0, odd = UINT64_C(0xd6e8feb86659fd93);

	for (uint32_t i = 0; i < count; i++) {
		sum += (words[i] ^ words[i] >> 32) * odd;
		odd += UINT64_C(0x9e3779b97f4a7c16); /* even: it stays odd */
	}
	return hash_mix(UINT64_C(0x2545f4914f6cdd1d), sum);
}

/* --- readers --- */

struct hash_walk {
	struct entry_link *link;
	uint32_t which;
};

static inline struct hash_walk hash_first(const struct hash *h, uint64_t hash)
{
	const struct buckets *b = atomic_load_explicit(&h->buckets, memory_order_acquire);

	return (struct hash_walk){ atomic_load_explicit(&b->head[hash & b->mask], memory_order_acquire), b->which };
}

static inline void hash_step(struct hash_walk *walk)
{
	walk->link = atomic_load_explicit(&walk->link->next[walk->which], memory_order_acquire);
}

/* --- the writer --- */

/* A place in a chain: where a pointer to `link` stands. */
struct hash_place {
	_Atomic(struct entry_link *) *at;
	struct entry_link *link; /* NULL: the chain's end */
	uint32_t which;
};

struct hash_place hash_place_first(struct hash *h, uint64_t hash);
void hash_place_step(struct hash_place *place);

/* link->hash is set already. `place` is before which link it goes; it may be a fresh hash_place_first. */
void hash_insert(struct hash *h, struct hash_place place, struct entry_link *link);
void hash_remove(struct hash *h, struct hash_place place);
void hash_replace(struct hash_place place, struct entry_link *link); /* of the same hash */

/* After an insert: twice the buckets when there are more links than buckets. Places are invalid then. */
void hash_grow(struct hash *h, struct quiesce *q);

/* All links: start from bucket 0 and NULL; NULL at the end. */
struct entry_link *hash_next(const struct hash *h, uint64_t *bucket, const struct entry_link *link);

#endif
