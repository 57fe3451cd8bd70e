/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_LINE_H
#define TARE_CAMPAIGN_LINE_H

#include "campaign/measure.h"
#include "campaign/watch.h"
#include "probe/differential_stream.h"
#include "probe/transit.h"
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

/*
 * measure_ops.begin, of a struct measuring of so many bytes whose first member is the bed: chooses the CPUs and tells
 * the store of it. *ret is there after a failure too.
 */
int line_begin(size_t measuring_bytes, const struct measure_setup *setup, struct store *store, struct measuring **ret,
	       struct err *err);

/* The cell's target, anew. After a failure line_close is fine. */
int line_open(struct line_bed *bed, const struct turn *turn, uint64_t seed, line_outline *outline, struct err *err);

/* restart_wait and restart_outcome of this line. */
int line_wait(const struct line_bed *bed, int64_t ns, struct err *err);
int line_outcome(const struct line_bed *bed, int r, struct err *err);

/* measure_ops.watched, its switches and hosts, and measure_ops.facts; the bed is the measuring's first member. */
void line_watched(struct measuring *m, struct watched *ret);
const char *line_facts(struct measuring *m);

void line_close(struct line_bed *bed);

/* What those measures have beside it whose runs are probes through the line, beside a carrier. */
struct line_probes {
	struct carrier *carrier; /* from before the warm-up to the end; NULL: none */
	struct transit_config config;
	struct transit *rows; /* config.count */
	struct run_record record;
	struct transit_conditions conditions;
};

/* line_open, the plan's probes, the carrier and the warm-up. After a failure line_probes_close is fine. */
int line_probes_open(struct line_bed *bed, struct line_probes *p, const struct turn *turn, uint64_t seed,
		     struct err *err);
void line_probes_close(struct line_bed *bed, struct line_probes *p);

#endif
