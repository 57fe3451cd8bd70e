/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_PLAN_PILOT_H
#define TARE_CLI_PLAN_PILOT_H

#include <stdio.h>

#include "campaign/pilot.h"
#include "cli/verb.h"

/* `tare plan --pilot`: run the pilot of a checked plan, then propose. */
int plan_pilot_run(const struct invocation *inv, const struct plan *plan, struct err *err);

/* What the pilot found, and what follows for the width asked for. */
struct pilot_proposal {
	const struct plan *plan;
	const struct pilot *pilot;
	const char *dir;
	double width;
	struct effort effort;   /* seconds: of the piloted cells */
	bool probes_chosen;     /* the plan lets the number of probes be chosen */
	uint32_t probes_now;    /* of a run, as the plan has it; 0: runs have none */
	uint32_t restarts_most; /* for stop: */
	uint32_t cells;         /* of the plan, tares left out */
};

void pilot_text_write(FILE *out, const struct pilot_proposal *p);
int pilot_json_write(FILE *out, const struct pilot_proposal *p, struct err *err);

#endif
