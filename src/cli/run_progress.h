/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_RUN_PROGRESS_H
#define TARE_CLI_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#include "campaign/campaign.h"

/*
 * A campaign's progress for people: on a terminal one line that is drawn over
 * (bar, cell, restart, elapsed, remaining); elsewhere a plain line now and then.
 * Drawn between runs only, so that nothing runs beside a measurement.
 */
struct run_progress {
	FILE *out;
	bool bar;          /* out is a terminal */
	bool quiet;        /* nothing but failures */
	bool drawn;        /* a bar is on the screen */
	unsigned width;    /* of the terminal */
	int64_t last_ns;   /* elapsed time of the last plain line; -1: none yet */
	uint32_t restarts; /* of a cell, for "restart 3 of 6" */
	uint32_t runs;
};

/* `bar`: draw over one line, `width` columns; else plain lines. */
void run_progress_init(struct run_progress *p, const struct plan *plan, FILE *out, bool bar, unsigned width,
		       bool quiet);

/* For campaign_options.progress; `context` is the struct run_progress. */
void run_progress_show(void *context, const struct campaign_progress *now);

/* Take the bar off the screen, so that messages stand alone. */
void run_progress_clear(struct run_progress *p);

#endif
