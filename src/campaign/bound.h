/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_BOUND_H
#define TARE_CAMPAIGN_BOUND_H

#include "plan/plan.h"
#include "store/store.h"

/*
 * The vendor's worst case that a cell is held against, kept with each of its runs as values of these names, so that a
 * report needs neither plan nor program: cycles, clock (Hz), bus (B), and inserted (B: as the plan says, else counted in
 * the program where it is a .spec, else 0).
 */
enum { BOUND_VALUES = 4 };

struct campaign_bound {
	struct run_value values[BOUND_VALUES];
	uint32_t count; /* 0: the plan has none, or the cell is a tare */
};

/* Of a cell whose setup this is; reads the program's file where its inserted bytes are needed. */
int campaign_bound_from(const struct plan *plan, const struct cell *cell, const struct cell_setup *setup,
			struct campaign_bound *ret, struct err *err);

#endif
