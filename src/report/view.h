/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_VIEW_H
#define TARE_REPORT_VIEW_H

#include <stdbool.h>

#include "plan/plan.h"

/*
 * What the report of a measure compares and draws, said once a measure: a line in
 * view.c. Every quantity of its cells is shown anyway.
 */
enum { VIEW_CONTRASTS = 3, VIEW_AXES = 4 };

/*
 * Cells that differ in `axis` only are compared as a ratio. The cell in which the
 * axis has the value `fixed` is in every ratio: above the line with `fixed_over`,
 * else below it.
 */
struct contrast {
	const char *axis;  /* NULL ends the list */
	const char *fixed; /* NULL: the first value that the axis has in the plan */
	bool fixed_over;
	const char *group; /* an axis whose values are questions of their own: a family each; NULL: none */
};

struct measure_view {
	const char *heading; /* of the page's first table */
	struct contrast contrasts[VIEW_CONTRASTS + 1];
	const char *sweeps[VIEW_AXES + 1]; /* axes that, where their values are numbers, quantities are drawn along */
	bool exponents;                    /* and fitted along, as powers */
	unsigned headlines;   /* how many of the first quantities the summary says comparisons and growth of */
	unsigned sweep_least; /* different values of the axis that make a sweep */
};

const struct measure_view *measure_view(enum measure measure);

#endif
