/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PLAN_PLAN_PRIVATE_H
#define TARE_PLAN_PLAN_PRIVATE_H

#include "plan/plan.h"
#include "plan/problems.h"
#include "plan/tree.h"
#include "probe/differential_stream.h"
#include "target/target.h"

/* Sums of times before it is known that they fit. */
__extension__ typedef __int128 wide_ns;

/* A word that may stand after measure:. The known ones that this build lacks have no table. */
struct measure_kind {
	const char *name;
	bool on_line;                 /* its targets have a line (target.h) */
	bool on_agents;               /* its targets have agents; neither: they have ports */
	const struct setting *probes; /* NULL: not in this build */
	const char *tare_program;     /* default; NULL: the measure knows no tare */
	const char *figure; /* what stop: goes by, for messages; NULL: a value of its runs, which stop.of names */
	/* What the table alone cannot say of one cell's settings. */
	void (*check)(const struct settings *probes,
		      void (*problem)(void *context, const char *setting, const char *message), void *context);
	/* Does the program have what the probes name? Optional; once target and program have been found good. */
	int (*fits)(const struct settings *probes, const struct target_ops *target, const struct target_setup *setup,
		    struct err *err);
	/* What a run sends: reads the trace, builds the stream as far as it takes to know. */
	int (*outline)(const struct settings *probes, const char *directory, struct stream_outline *ret,
		       struct err *err);
};

extern const struct measure_kind measure_kinds[MEASURES];

/* A plan while it is built: the plan, what is wrong with it, and where its parts stand in the text. */
struct draft {
	struct plan *plan;
	const struct plan_pilot *pilot; /* NULL: the plan itself */
	struct problems problems;
	const struct measure_kind *measure; /* NULL: none, or not usable; what hangs on it is not checked */
	const struct node *root;
	const struct node *target, *probes, *tare; /* sections, NULL: not there */
	const struct node *tare_program;
	const struct node **origins; /* of each cell's values, by axis; NULL where the cell does not set it */
};

#define PROBLEM(d, node, ...) problem_at(&(d)->problems, (node)->line, (node)->column, __VA_ARGS__)

/* cells.c: axes and cells from matrix: and extra:, then the tares. 0 or -ENOMEM; problems are noted. */
int cells_build(struct draft *d);

/* check.c: every cell's settings together, its files and its program; then the length of the campaign. 0 or -ENOMEM. */
int cells_check(struct draft *d);

/* stop.c: the stop: section, after the measure and restarts are known. 0 or -ENOMEM; problems are noted. */
int stop_take(struct draft *d);

/* One value of a section into its settings. `section` NULL: the top of the plan. */
void setting_take(struct draft *d, struct settings *settings, const char *section, const struct node *node);

/* Is it a mapping? If not, that is noted. */
bool section_is_map(struct draft *d, const struct node *node, const char *example);

/* order.c: blocks and turns. 0 or -ENOMEM. */
int turns_build(struct plan *plan);

/* pilot.c: what makes the draft a pilot's; before its cells are checked, and once there are turns. 0 or -ENOMEM. */
int pilot_shrink(struct draft *d);
void pilot_thin(struct plan *plan, const struct plan_pilot *pilot);

/* The text of a scalar, or NULL with a problem that says what `what` should have been. */
const char *scalar_text(struct draft *d, const struct node *node, const char *what);

#endif
