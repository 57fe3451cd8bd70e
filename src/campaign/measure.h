/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_MEASURE_H
#define TARE_CAMPAIGN_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/plan.h"
#include "store/store.h"

/*
 * How one measure (differential, transit, ...) does a restart; the campaign knows
 * when. To add one: a file here with such a table, and a line in measure_find_ops.
 *
 * An error of open or run is a fault of this restart: it is recorded as failed
 * with that message, and the campaign goes on. Only -EINTR from run (the flag
 * `interrupted` was raised) abandons it. An error of begin or put ends the campaign.
 */
struct measuring;
struct watched; /* watch.h */

struct differential_faults;

struct measure_setup {
	const struct plan *plan;
	/* What to spoil in every cell but the tare, for checks; NULL: nothing. */
	const struct differential_faults *faults;
	bool allow_unstable_tsc;
	const atomic_bool *interrupted; /* never NULL */
};

struct measure_ops {
	enum measure measure;
	/* Has this host what the plan asks for (cores, clock, the target's own needs)? Before there is a store. NULL: yes. */
	int (*check)(const struct measure_setup *setup, struct err *err);
	/* Once, before the first restart: clocks, buffers. Puts what it found out into the store as facts. */
	int (*begin)(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err);
	/* A restart of a cell: everything anew, to the end of the warm-up. `seed` is this restart's own. */
	int (*open)(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err);
	/* One run, kept in memory. *ret_invalid: NULL, or why the run is in no figure (lives until the next run). */
	int (*run)(struct measuring *m, uint32_t run, const char **ret_invalid, struct err *err);
	/* The run just measured, into the restart that is open in the store. */
	int (*put)(struct measuring *m, struct store *store, struct err *err);
	/* What the restart that is open has for the sampler beside its runs; NULL: nothing. */
	void (*watched)(struct measuring *m, struct watched *ret);
	/* What the target says of itself (JSON text), until close; NULL: nothing. */
	const char *(*facts)(struct measuring *m);
	/* Undo open; after a failed open too. */
	void (*close)(struct measuring *m);
	/* Undo begin; NULL is fine. */
	void (*end)(struct measuring *m);
};

extern const struct measure_ops measure_telemetry;
extern const struct measure_ops measure_control;
extern const struct measure_ops measure_resources;
extern const struct measure_ops measure_calibrate;
extern const struct measure_ops measure_differential, measure_transit;

/* NULL: this build cannot run that measure. */
const struct measure_ops *measure_find_ops(enum measure measure);

#endif
