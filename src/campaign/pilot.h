/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_PILOT_H
#define TARE_CAMPAIGN_PILOT_H

#include "plan/plan.h"
#include "stats/effort.h"
#include "store/store.h"

/* What a pilot found about one cell, in ns and seconds (a value: in its own unit). */
struct pilot_cell {
	uint32_t cell;
	uint32_t restarts;         /* that could be used */
	struct effort_cell effort; /* with its share of the tare: that is a cost of the figure, and varies in it */
	bool good;                 /* else it is in no proposal: too few restarts came through */
};

struct pilot {
	struct pilot_cell *cells; /* those that ran, tares left out; in the order of the plan */
	uint32_t count;
	uint32_t probes; /* of a run, as it ran; 0: runs have none */
};

/*
 * Read a pilot's store. `plan` is the plan itself, not its pilot: stop.of says which value is looked at where runs have no
 * probes. Everything lives in the arena.
 */
int pilot_read(const struct plan *plan, struct store *store, struct arena *arena, struct pilot *ret, struct err *err);

#endif
