/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_DECIDING_H
#define TARE_CAMPAIGN_DECIDING_H

#include "plan/plan.h"
#include "store/store.h"

/*
 * The figure of a restart that decides when its cell has restarts enough, and what a pilot looks at: the median over
 * valid runs of the run's median, as in the report, read from what is stored. Of a differential plan the gross
 * (path - bypass, ns), of a transit plan p4_out - p4_in (ns), else the value that stop.of names.
 */
struct deciding {
	const struct plan *plan;
	struct store *store;
	/* samples of one run, grown as needed */
	void *rows;
	int64_t *values, *scratch;
	uint32_t capacity;
	uint32_t count; /* of values: finite samples of the run read last, in order of sending until sorted */
	uint32_t lost;
	double quantum, ns_per_value;
};

/* All zeros but plan and store is a fresh one. */
void deciding_release(struct deciding *d);

/* *ret NaN: no valid run, or too short to say; INFINITY: it fell on lost probes. */
int deciding_restart(struct deciding *d, const struct stored_restart *restart, double *ret, struct err *err);

/* The samples of a run, set-apart ones left out, in order of sending. For plans whose runs have samples. */
int deciding_read(struct deciding *d, const struct stored_run *run, struct err *err);

/* Do its runs have samples (true), or values? */
bool deciding_has_samples(const struct plan *plan);

/* May figures use the run? */
bool deciding_run_valid(const struct stored_run *run);

#endif
