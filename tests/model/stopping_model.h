/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STOPPING_MODEL_H
#define TARE_STOPPING_MODEL_H

#include <stdint.h>

#include "stats/stopping.h"

/*
 * Campaigns of one cell that stop by the rule: restart figures of a known median, drawn one after another until the
 * rule says that it is enough, and the interval that a report then prints. The law is that of whole restart figures:
 * what restarts do, and the noise of their runs.
 */
enum stopping_law {
	LAW_NORMAL,
	LAW_SKEWED,       /* log-normal, sigma 0.8 */
	LAW_HEAVY_TAILED, /* Student's t with 3 degrees of freedom */
	LAW_TWO_MODES,    /* 70 : 30, 3 apart, each normal with 0.5 */
	LAW_TWO_MODES_60, /* 60 : 40 */
	STOPPING_LAWS
};

const char *stopping_law_name(enum stopping_law law);

struct stopping_trial {
	uint32_t campaigns;
	uint32_t covered;      /* by the exact 95 % interval at stopping, by which the rule goes */
	uint32_t interpolated; /* by the interpolated one, which is narrower */
	uint32_t reached;      /* the width, before the most restarts */
	double restarts;       /* mean of campaigns */
};

/*
 * `spread`: scale of the law over the median, which is 1. `in_a_row`: STOPPING_IN_A_ROW for the rule itself; 1 for the
 * rule that it is not, which stops at the first narrow interval.
 */
struct stopping_trial stopping_simulate(enum stopping_law law, double spread, const struct stopping_rule *rule,
					uint32_t in_a_row, uint32_t campaigns, uint64_t seed);

#endif
