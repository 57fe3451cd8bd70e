/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PLAN_AXES_H
#define TARE_PLAN_AXES_H

#include "plan/plan_private.h"

/* What a plan varies: the keys of matrix:, and those that only extra: has. */
struct axis {
	const char *name;
	const struct settings *section; /* NULL: program, which is text */
	const struct node *list;        /* in matrix:; NULL: only extras set it */
};

struct axes {
	struct axis *items;
	uint32_t count, in_matrix, capacity;
};

/*
 * Read matrix: and extra: (NULL: not there), check every name and value, and note
 * every problem. Room for the axes lies in the plan's arena. 0 or -ENOMEM.
 */
int axes_read(struct draft *d, const struct node *matrix, const struct node *extra, struct axes *ret);

/* Cells that matrix and extra make, tares left out; UINT64_MAX: that many or more. */
uint64_t axes_cells(const struct axes *axes, const struct node *extra);

struct axis *axis_find(struct axes *axes, const char *name);

/*
 * A text of an axis in the one way of writing that its value has, so that values
 * are the same when these are: "1kB" and "1000B" both give "1000". NULL (no value
 * here, nor in the plan) gives "". The text has been checked. NULL: out of memory.
 */
const char *axis_canonical(const struct axis *axis, const char *text, struct arena *arena);

#endif
