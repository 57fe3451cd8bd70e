/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_LINE_H
#define TARE_CAMPAIGN_LINE_H

#include "campaign/measure.h"
#include "campaign/watch.h"
#include "probe/differential_stream.h"
#include "probe/transit_places.h"
#include "target/target.h"

/*
 * What the measures share that send through a line of switches: the permit to make one, who
 * runs on which CPU, and the line of a restart, open and programmed.
 */
struct line_bed {
	const struct plan *plan;
	const atomic_bool *interrupted;
	struct transit_places places; /* who runs where */

	/* of the restart that is open */
	struct arena arena; /* the cell's settings */
	struct cell_setup cell;
	struct target *target;
	struct target_line line;
};

typedef int line_outline(const struct settings *probes, const char *directory, struct stream_outline *ret,
			 struct err *err);

/* measure_ops.check: may this process make a line, and has the host what each cell's target asks for? */
int line_check(const struct measure_setup *setup, struct err *err);

/* In the caller's storage; chooses the CPUs and tells the store of it. After a failure line_end is fine. */
int line_begin(struct line_bed *bed, const struct measure_setup *setup, struct store *store, struct err *err);

/* The cell's target, anew. After a failure line_close is fine. */
int line_open(struct line_bed *bed, const struct turn *turn, uint64_t seed, line_outline *outline, struct err *err);

/* restart_wait and restart_outcome of this line. */
int line_wait(const struct line_bed *bed, int64_t ns, struct err *err);
int line_outcome(const struct line_bed *bed, int r, struct err *err);

/* measure_ops.watched: its switches and hosts. */
void line_watched(const struct line_bed *bed, struct watched *ret);

/* measure_ops.facts. */
const char *line_facts(const struct line_bed *bed);

void line_close(struct line_bed *bed);

#endif
