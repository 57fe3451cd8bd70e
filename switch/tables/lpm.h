/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_TABLES_LPM_H
#define TARE_SWITCH_TABLES_LPM_H

#include "tables/hash.h"

/*
 * Longest prefix match on one key of any width, beside any number of exact ones:
 * a tree for each value of the exact keys, eight bits of the prefix a level. The
 * 256 slots of a level are kept as runs of equal slots, so that a sparse level is
 * two cache lines. A level is never changed but for single pointers; what changes
 * more is built beside it and swapped in.
 */
struct lpm_tree;

struct lpm {
	uint32_t word, words, bits; /* the LPM key's place in the packed key */
	uint32_t key_words;
	uint64_t *exact_keep;  /* the bits of the packed key that the exact keys have; NULL: there are none */
	struct lpm_tree *only; /* without exact keys */
	struct hash trees;     /* else */
	struct quiesce *quiesce;
};

enum { LPM_WORDS_MOST = 64 };

int lpm_init(struct lpm *lpm, uint32_t word, uint32_t words, uint32_t bits, uint32_t key_words,
	     const uint64_t *exact_keep, struct quiesce *quiesce); /* -ENOMEM */
void lpm_release(struct lpm *lpm);

/* `key` is packed and masked. NULL: no match. */
const struct entry *lpm_lookup(const struct lpm *lpm, const uint64_t *key);

/*
 * The writer. `entry` has its value and prefix_bits. insert: there is no entry of that prefix. replace: `old` is in.
 * remove: `shorter` is the entry that covers what `old` did, of those in the same level (lpm_covers), or NULL.
 */
int lpm_insert(struct lpm *lpm, const struct entry *entry); /* -ENOMEM: nothing has changed for readers */
int lpm_replace(struct lpm *lpm, const struct entry *old, const struct entry *entry);
int lpm_remove(struct lpm *lpm, const struct entry *old, const struct entry *shorter);

/* The shortest prefix that ends in the same level as one of prefix_bits. */
static inline uint32_t lpm_level_first(uint32_t prefix_bits)
{
	return prefix_bits == 0 ? 0 : (prefix_bits - 1) / 8 * 8 + 1;
}

#endif
