/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/lpm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A slot is an entry, a level below (tagged), or nothing. Entries in a level's
 * slots are those whose prefix ends in it; `base` is the one of the level above
 * that covers the whole level.
 */
enum { SLOTS = 256, CHILD = 1 };

struct level {
	_Atomic(const struct entry *) base;
	uint64_t starts[4]; /* bit i: a run of equal slots starts at i */
	uint16_t rank[4];   /* runs that start before each word */
	uint32_t runs;
	_Atomic uintptr_t slots[]; /* one a run */
};

struct lpm_tree {
	struct entry_link link;
	_Atomic(struct level *) root;
	uint64_t key[]; /* the exact keys' words, the rest zero */
};

/* Without an instruction for it: the compiler's baseline has none. */
static inline unsigned ones(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

static inline uint32_t run_of(const struct level *level, uint32_t i)
{
	uint64_t upto = level->starts[i / 64] << (63 - i % 64);

	return level->rank[i / 64] + ones(upto) - 1;
}

/* The key's bits from the most significant on, eight at a time. */
struct prefix {
	uint64_t left[LPM_WORDS_MOST]; /* left-aligned, most significant word first */
};

static inline void align(const struct lpm *lpm, const uint64_t *key, struct prefix *ret)
{
	const uint64_t *words = key + lpm->word;
	uint32_t n = lpm->words, shift = n * 64 - lpm->bits;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t w = words[n - 1 - i] << shift;

		if (shift > 0 && i + 1 < n)
			w |= words[n - 2 - i] >> (64 - shift);
		ret->left[i] = w;
	}
}

static inline uint32_t octet(const struct prefix *p, uint32_t level)
{
	return (uint32_t)(p->left[level / 8] >> (56 - level % 8 * 8)) & 0xff;
}

static const struct lpm_tree *tree_of(const struct lpm *lpm, const uint64_t *key)
{
	uint64_t exact[TABLE_KEY_WORDS_MOST];
	struct hash_walk walk;

	if (lpm->exact_keep == NULL)
		return lpm->only;
	for (uint32_t i = 0; i < lpm->key_words; i++)
		exact[i] = key[i] & lpm->exact_keep[i];
	for (walk = hash_first(&lpm->trees, hash_words(exact, lpm->key_words)); walk.link != NULL; hash_step(&walk)) {
		const struct lpm_tree *tree = (const struct lpm_tree *)walk.link;

		if (memcmp(tree->key, exact, lpm->key_words * sizeof(exact[0])) == 0)
			return tree;
	}
	return NULL;
}

const struct entry *lpm_lookup(const struct lpm *lpm, const uint64_t *key)
{
	const struct lpm_tree *tree = tree_of(lpm, key);
	const struct entry *best = NULL;
	const struct level *level;
	struct prefix prefix;

	if (tree == NULL)
		return NULL;
	align(lpm, key, &prefix);
	level = atomic_load_explicit(&tree->root, memory_order_acquire);
	for (uint32_t depth = 0;; depth++) {
		const struct entry *base = atomic_load_explicit(&level->base, memory_order_acquire);
		uintptr_t slot;

		if (base != NULL)
			best = base;
		if (depth * 8 >= lpm->bits)
			return best;
		slot = atomic_load_explicit(&level->slots[run_of(level, octet(&prefix, depth))], memory_order_acquire);
		if (slot == 0)
			return best;
		if (!(slot & CHILD))
			return (const struct entry *)slot;
		level = (const struct level *)(slot - CHILD);
	}
}

/* --- the writer --- */

/* Whole cache lines, from the beginning of one: a sparse level is one or two. */
static size_t level_bytes(uint32_t runs)
{
	return (sizeof(struct level) + runs * sizeof(_Atomic uintptr_t) + 63) / 64 * 64;
}

static struct level *level_pack(const uintptr_t slots[SLOTS], const struct entry *base)
{
	uint64_t starts[4] = { 1, 0, 0, 0 };
	struct level *level;
	uint32_t runs = 1, run = 0;

	for (uint32_t i = 1; i < SLOTS; i++) {
		if (slots[i] != slots[i - 1]) {
			starts[i / 64] |= UINT64_C(1) << i % 64;
			runs++;
		}
	}
	level = aligned_alloc(64, level_bytes(runs));
	if (level == NULL)
		return NULL;
	atomic_init(&level->base, base);
	level->runs = runs;
	memcpy(level->starts, starts, sizeof(starts));
	for (uint32_t w = 0; w < 4; w++) {
		level->rank[w] = (uint16_t)run;
		for (uint64_t bits = starts[w]; bits != 0; bits &= bits - 1)
			atomic_init(&level->slots[run++], slots[w * 64 + (uint32_t)__builtin_ctzll(bits)]);
	}
	return level;
}

static void level_unpack(const struct level *level, uintptr_t slots[SLOTS])
{
	uint32_t run = 0;
	uintptr_t slot = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (level->starts[i / 64] >> i % 64 & 1)
			slot = atomic_load_explicit(&level->slots[run++], memory_order_relaxed);
		slots[i] = slot;
	}
}

static struct level *level_empty(const struct entry *base)
{
	static const uintptr_t none[SLOTS];

	return level_pack(none, base);
}

static void level_free_all(struct level *level)
{
	if (level == NULL)
		return;
	for (uint32_t i = 0; i < level->runs; i++) {
		uintptr_t slot = atomic_load_explicit(&level->slots[i], memory_order_relaxed);

		if (slot & CHILD)
			level_free_all((struct level *)(slot - CHILD)); /* at most one call a level of the key */
	}
	free(level);
}

static struct lpm_tree *tree_create(const struct lpm *lpm, const uint64_t *exact)
{
	struct lpm_tree *tree = calloc(1, sizeof(*tree) + lpm->key_words * sizeof(tree->key[0]));
	struct level *root = level_empty(NULL);

	if (tree == NULL || root == NULL) {
		free(tree);
		free(root);
		return NULL;
	}
	if (exact != NULL) {
		memcpy(tree->key, exact, lpm->key_words * sizeof(exact[0]));
		tree->link.hash = hash_words(exact, lpm->key_words);
	}
	atomic_store_explicit(&tree->root, root, memory_order_relaxed);
	return tree;
}

static void tree_free(void *object)
{
	struct lpm_tree *tree = object;

	level_free_all(atomic_load_explicit(&tree->root, memory_order_relaxed));
	free(tree);
}

int lpm_init(struct lpm *lpm, uint32_t word, uint32_t words, uint32_t bits, uint32_t key_words,
	     const uint64_t *exact_keep, struct quiesce *quiesce)
{
	*lpm = (struct lpm){ .word = word, .words = words, .bits = bits, .key_words = key_words, .quiesce = quiesce };
	if (exact_keep == NULL) {
		lpm->only = tree_create(lpm, NULL);
		return lpm->only != NULL ? 0 : -ENOMEM;
	}
	lpm->exact_keep = malloc(key_words * sizeof(exact_keep[0]));
	if (lpm->exact_keep == NULL)
		return -ENOMEM;
	memcpy(lpm->exact_keep, exact_keep, key_words * sizeof(exact_keep[0]));
	return hash_init(&lpm->trees, 0);
}

void lpm_release(struct lpm *lpm)
{
	struct entry_link *link = NULL, *next;
	uint64_t bucket = 0;

	if (lpm->only != NULL)
		tree_free(lpm->only);
	if (lpm->exact_keep != NULL && atomic_load_explicit(&lpm->trees.buckets, memory_order_relaxed) != NULL) {
		for (link = hash_next(&lpm->trees, &bucket, NULL); link != NULL; link = next) {
			next = hash_next(&lpm->trees, &bucket, link);
			tree_free(link);
		}
		hash_release(&lpm->trees);
	}
	free(lpm->exact_keep);
	lpm->only = NULL;
	lpm->exact_keep = NULL;
}

/* The entry's tree, made when there is none. */
static struct lpm_tree *tree_need(struct lpm *lpm, const struct entry *entry)
{
	uint64_t exact[TABLE_KEY_WORDS_MOST];
	struct lpm_tree *tree = (struct lpm_tree *)tree_of(lpm, entry->words);

	if (tree != NULL)
		return tree;
	for (uint32_t i = 0; i < lpm->key_words; i++)
		exact[i] = entry->words[i] & lpm->exact_keep[i];
	tree = tree_create(lpm, exact);
	if (tree == NULL)
		return NULL;
	hash_insert(&lpm->trees, hash_place_first(&lpm->trees, tree->link.hash), &tree->link);
	hash_grow(&lpm->trees, lpm->quiesce);
	return tree;
}

/* Where a pointer to a level stands: the tree's root, or a slot (tagged) of the level above. */
struct spot {
	struct level *level;
	_Atomic(struct level *) *root;
	_Atomic uintptr_t *slot;
};

static void spot_set(struct lpm *lpm, struct spot *spot, struct level *level)
{
	if (spot->root != NULL)
		atomic_store_explicit(spot->root, level, memory_order_release);
	else
		atomic_store_explicit(spot->slot, (uintptr_t)level | CHILD, memory_order_release);
	quiesce_retire(lpm->quiesce, spot->level, level_bytes(spot->level->runs), free);
	spot->level = level;
}

static struct spot spot_below(const struct spot *spot, uint32_t i)
{
	_Atomic uintptr_t *slot = &spot->level->slots[run_of(spot->level, i)];
	uintptr_t value = atomic_load_explicit(slot, memory_order_relaxed);

	return (struct spot){ value & CHILD ? (struct level *)(value - CHILD) : NULL, NULL, slot };
}

/* A level below slot i, which has none: for readers nothing changes. */
static int grow_below(struct lpm *lpm, struct spot *spot, uint32_t i)
{
	uintptr_t slots[SLOTS];
	struct level *child, *level;

	level_unpack(spot->level, slots);
	child = level_empty((const struct entry *)slots[i]);
	if (child == NULL)
		return -ENOMEM;
	slots[i] = (uintptr_t)child | CHILD;
	level = level_pack(slots, atomic_load_explicit(&spot->level->base, memory_order_relaxed));
	if (level == NULL) {
		free(child);
		return -ENOMEM;
	}
	spot_set(lpm, spot, level);
	return 0;
}

/* The slots that a prefix covers in the level it ends in. */
struct range {
	uint32_t first, last;
};

static struct range covered(const struct prefix *prefix, uint32_t prefix_bits)
{
	uint32_t depth = (prefix_bits - 1) / 8, bits = prefix_bits - depth * 8;
	uint32_t wild = 0xffu >> bits, at = octet(prefix, depth);

	return (struct range){ at & ~wild, at | wild };
}

/* What a change puts in place of what a slot has; the same: nothing to do. */
typedef const struct entry *(*choose_fn)(const struct entry *now, const struct entry *old, const struct entry *new);

static const struct entry *choose_longer(const struct entry *now, const struct entry *old, const struct entry *new)
{
	(void)old;
	return now == NULL || now->prefix_bits < new->prefix_bits ? new : now;
}

static const struct entry *choose_instead(const struct entry *now, const struct entry *old, const struct entry *new)
{
	return now == old ? new : now;
}

/* Put entries into slots of a level: in place for what is below it, in a new level for its own. */
static int change_level(struct lpm *lpm, struct spot *spot, struct range range, choose_fn choose,
			const struct entry *old, const struct entry *new)
{
	uintptr_t slots[SLOTS];
	struct level *level;
	bool changed = false;

	level_unpack(spot->level, slots);
	for (uint32_t i = range.first; i <= range.last; i++) {
		const struct entry *now;

		if (slots[i] & CHILD)
			continue;
		now = (const struct entry *)slots[i];
		slots[i] = (uintptr_t)choose(now, old, new);
		changed |= slots[i] != (uintptr_t)now;
	}
	if (changed) {
		level = level_pack(slots, atomic_load_explicit(&spot->level->base, memory_order_relaxed));
		if (level == NULL)
			return -ENOMEM;
		spot_set(lpm, spot, level);
	}
	for (uint32_t i = range.first; i <= range.last; i++) {
		if (slots[i] & CHILD) {
			struct level *child = (struct level *)(slots[i] - CHILD);
			const struct entry *now = atomic_load_explicit(&child->base, memory_order_relaxed);

			atomic_store_explicit(&child->base, choose(now, old, new), memory_order_release);
		}
	}
	return 0;
}

/* Walk to the level that the prefix ends in. path[0] is the root; levels are made when `make`. */
static int descend(struct lpm *lpm, struct lpm_tree *tree, const struct prefix *prefix, uint32_t depth, bool make,
		   struct spot *path)
{
	path[0] = (struct spot){ atomic_load_explicit(&tree->root, memory_order_relaxed), &tree->root, NULL };
	for (uint32_t i = 0; i < depth; i++) {
		path[i + 1] = spot_below(&path[i], octet(prefix, i));
		if (path[i + 1].level != NULL)
			continue;
		if (!make)
			return -ENOENT;
		if (grow_below(lpm, &path[i], octet(prefix, i)) < 0)
			return -ENOMEM;
		path[i + 1] = spot_below(&path[i], octet(prefix, i));
	}
	return 0;
}

static bool level_is_empty(const struct level *level)
{
	return level->runs == 1 && atomic_load_explicit(&level->slots[0], memory_order_relaxed) == 0;
}

/* From the bottom up: levels that hold nothing go. Without memory they stay, which is only slower. */
static void prune(struct lpm *lpm, const struct prefix *prefix, struct spot *path, uint32_t depth)
{
	for (; depth > 0 && level_is_empty(path[depth].level); depth--) {
		uintptr_t slots[SLOTS];
		struct level *gone = path[depth].level, *level;
		struct spot *above = &path[depth - 1];

		level_unpack(above->level, slots);
		slots[octet(prefix, depth - 1)] = (uintptr_t)atomic_load_explicit(&gone->base, memory_order_relaxed);
		level = level_pack(slots, atomic_load_explicit(&above->level->base, memory_order_relaxed));
		if (level == NULL)
			return;
		spot_set(lpm, above, level);
		quiesce_retire(lpm->quiesce, gone, level_bytes(gone->runs), free);
	}
}

/* A tree without entries goes, unless it is the only one: else a key that changes would leave one each time. */
static void tree_drop_empty(struct lpm *lpm, struct lpm_tree *tree)
{
	struct level *root = atomic_load_explicit(&tree->root, memory_order_relaxed);
	struct hash_place place;

	if (lpm->exact_keep == NULL || !level_is_empty(root) ||
	    atomic_load_explicit(&root->base, memory_order_relaxed) != NULL)
		return;
	for (place = hash_place_first(&lpm->trees, tree->link.hash); place.link != &tree->link;)
		hash_place_step(&place);
	hash_remove(&lpm->trees, place);
	quiesce_retire(lpm->quiesce, tree, sizeof(*tree) + level_bytes(1), tree_free);
}

enum { DEPTH_MOST = LPM_WORDS_MOST * 8 + 1 };

static int change(struct lpm *lpm, const struct entry *where, bool make, choose_fn choose, const struct entry *old,
		  const struct entry *new)
{
	struct spot path[DEPTH_MOST];
	uint32_t depth = where->prefix_bits == 0 ? 0 : (where->prefix_bits - 1) / 8;
	struct lpm_tree *tree = make ? tree_need(lpm, where) : (struct lpm_tree *)tree_of(lpm, where->words);
	struct prefix prefix;
	int rc;

	if (tree == NULL)
		return make ? -ENOMEM : -ENOENT;
	align(lpm, where->words, &prefix);
	if (where->prefix_bits == 0) {
		struct level *root = atomic_load_explicit(&tree->root, memory_order_relaxed);

		atomic_store_explicit(&root->base, new, memory_order_release);
		tree_drop_empty(lpm, tree);
		return 0;
	}
	rc = descend(lpm, tree, &prefix, depth, make, path);
	if (rc == 0)
		rc = change_level(lpm, &path[depth], covered(&prefix, where->prefix_bits), choose, old, new);
	if (rc == 0 && !make) {
		prune(lpm, &prefix, path, depth);
		tree_drop_empty(lpm, tree);
	}
	return rc;
}

int lpm_insert(struct lpm *lpm, const struct entry *entry)
{
	return change(lpm, entry, true, choose_longer, NULL, entry);
}

int lpm_replace(struct lpm *lpm, const struct entry *old, const struct entry *entry)
{
	return change(lpm, old, false, choose_instead, old, entry);
}

int lpm_remove(struct lpm *lpm, const struct entry *old, const struct entry *shorter)
{
	return change(lpm, old, false, choose_instead, old, shorter);
}
