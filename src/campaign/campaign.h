/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_CAMPAIGN_H
#define TARE_CAMPAIGN_CAMPAIGN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "campaign/measure.h"
#include "plan/plan.h"
#include "store/store.h"

/*
 * Runs a plan into a store: the one place that knows the order of things. For
 * each turn that is not done, in the plan's order: a restart of the target, its
 * runs, a commit. Before a block of a plan with a stop: section, cells that have
restarts enough leave the campaign (stopper.h). What a turn fails with is kept and the campaign goes on; when
 * CAMPAIGN_FAILURES restarts in a row fail, nothing good is to be expected and it stops.
 */
enum { CAMPAIGN_FAILURES = 3 };

enum campaign_step {
	CAMPAIGN_BEGINS,
	CAMPAIGN_RESTART_BEGINS,
	CAMPAIGN_RUN_ENDS,
	CAMPAIGN_RESTART_ENDS, /* committed */
	CAMPAIGN_RESTART_FAILS,
};

struct campaign_counts {
	uint32_t turns;        /* of the plan, less those of cells that have stopped before: the most there may be */
	uint32_t expected;     /* of them, as far as the widths of a plan with a stop: section tell; else all */
	uint32_t done;         /* of them good, those of earlier calls too */
	uint32_t failed;       /* of them failed, those of earlier calls too */
	uint32_t invalid_runs; /* in good restarts, those of earlier calls too; counted at the end only */
	uint32_t cells,
		cells_stopped; /* of a plan with a stop: section: all, tares left out, and those that have enough */
};

/* Where the campaign stands. Handed out between runs only: nothing happens beside a measurement. */
struct campaign_progress {
	enum campaign_step step;
	struct campaign_counts counts;
	const struct cell *cell; /* NULL at CAMPAIGN_BEGINS */
	const struct turn *turn; /* NULL at CAMPAIGN_BEGINS */
	uint32_t run;            /* runs that the restart has done */
	int64_t elapsed_ns;      /* since this call began */
	int64_t remaining_ns;    /* estimated; -1: unknown */
	const char *message;     /* why the restart failed, or the run is invalid; else NULL */
};

struct campaign_options {
	const struct measure_ops *ops; /* NULL: those of the plan's measure */
	bool allow_unstable_tsc;
	const struct differential_faults *faults; /* see measure.h; NULL: none */
	bool retry_failed;                        /* run failed turns again; the failed restarts stay in the store */
	/* Only turns of these blocks, the rest is left to others (a part, to be merged); `only` false: all. */
	struct campaign_blocks {
		bool only;
		uint32_t first, last;
	} blocks;
	const atomic_bool *interrupted; /* raised by a signal handler; NULL: never */
	void (*progress)(void *context, const struct campaign_progress *progress); /* NULL: none */
	void *context;
	/* Provenance to store beside what the measure finds out itself. */
	const struct stored_fact *facts;
	uint32_t fact_count;
};

/*
 * Before the store is opened: can this host run the plan at all? What it lacks is
 * an ERR_HOST here, said once, not a failure of every restart. 0: it can.
 */
int campaign_check(const struct plan *plan, const struct campaign_options *options, struct err *err);

/*
 * 0: every turn has run (ret->failed says whether well). -EINTR, ERR_INTERRUPTED:
 * the flag was raised; the restart in flight is gone, all before it is in the
 * store, and the same call resumes. Else the store failed, the measure could not
 * begin, or too many restarts failed. *ret_counts is filled in each case.
 */
int campaign_run(const struct plan *plan, struct store *store, const struct campaign_options *options,
		 struct campaign_counts *ret_counts, struct err *err);

/* The seed of a turn's restart: its own, the same whenever the turn runs. */
uint64_t campaign_restart_seed(const struct plan *plan, uint32_t position);

#endif
