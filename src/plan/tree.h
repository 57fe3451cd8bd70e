/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PLAN_TREE_H
#define TARE_PLAN_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/problems.h"

/*
 * A YAML text as a tree with places. Only what plans need: one document of
 * scalars, lists and mappings. Anchors, aliases and tags are problems, so a text
 * cannot be larger than it looks; depth and size are bounded. Scalars stay text:
 * what `no`, `010` or `1e3` mean is for the setting to say, not for YAML.
 */
enum node_kind {
	NODE_SCALAR,
	NODE_LIST,
	NODE_MAP,
	NODE_BAD, /* a problem stands in its place already; say nothing more about it */
};

struct node {
	enum node_kind kind;
	uint32_t line, column;     /* from 1 */
	const char *text;          /* scalar; no control characters, valid UTF-8 */
	bool plain;                /* scalar without quotes */
	const struct node *key;    /* in a map: a scalar */
	struct node *first, *last; /* children of a list or map */
	struct node *next;
	uint32_t count; /* of children */
};

enum {
	TREE_DEPTH_MOST = 8,
	TREE_NODES_MOST = 65536,
	TREE_KEYS_MOST = 256, /* of one mapping */
};

/*
 * Parse. *ret_root is NULL when the text has no usable document; every problem
 * found is added to `problems`. Duplicate keys are problems, and dropped. 0 or -ENOMEM.
 */
int tree_parse(const char *text, size_t length, struct arena *arena, struct problems *problems, struct node **ret_root);

/* The value of a key, or NULL. */
const struct node *tree_get(const struct node *map, const char *key);

/* What stands there, for "found ...": "a list", "a mapping", "'text'" or "nothing". Returns buf. */
const char *node_found(const struct node *node, char *buf, size_t size_bytes);
#define FOUND(node) node_found(node, (char[96]){ 0 }, 96)

#endif
