/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_TABLES_TUPLE_H
#define TARE_SWITCH_TABLES_TUPLE_H

#include "tables/change.h"
#include "tables/hash.h"

/*
 * Ternary and range matching: entries of one mask share a hash ("tuple space
 * search"), the masks are tried by the best priority that they have, and the
 * search ends where no better one can follow. A range counts as the mask of the
 * bits that its ends have in common, and is checked in full on the entry.
 */
struct tuple;

struct tuple_view {
	uint32_t count;
	struct tuple_rank {
		int32_t best; /* no entry of the tuple has a higher priority */
		struct tuple *tuple;
	} items[]; /* highest first */
};

/* A key whose entries are ranges. */
struct range_key {
	uint32_t word, words, bits;
};

struct tuples {
	uint32_t key_words;
	struct range_key *ranges;
	uint32_t range_count;
	_Atomic(struct tuple_view *) view;
	struct hash by_mask; /* the writer's */
	struct quiesce *quiesce;

	/* handles: the lowest free one is taken, as BMv2 does; it decides between equal priorities */
	uint64_t *handles_used;
	uint32_t handle_words, handle_hint;
};

int tuples_init(struct tuples *t, uint32_t key_words, const struct range_key *ranges, uint32_t range_count,
		struct quiesce *quiesce); /* -ENOMEM */
void tuples_release(struct tuples *t);

const struct entry *tuples_lookup(const struct tuples *t, const uint64_t *key);

/* The writer. An entry's words are value and mask (of range keys low and high). Find: same words, same priority. */
const struct entry *tuples_find(struct tuples *t, const uint64_t *words, int32_t priority);
int tuples_insert(struct tuples *t, struct entry *entry); /* gives it its handle; -ENOMEM */
void tuples_replace(struct tuples *t, const struct entry *old, struct entry *entry);
void tuples_remove(struct tuples *t, const struct entry *entry);

struct entry *tuples_next(const struct tuples *t, struct entry_cursor *cursor);

#endif
