/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_ATTRIBUTION_H
#define TARE_CAMPAIGN_ATTRIBUTION_H

#include "lab/topology.h"
#include "observe/idle.h"
#include "probe/transit.h"
#include "store/resource.h"

/*
 * Why a transit run took the time it took: its switch's threads are followed
 * through the scheduler while it runs, and each probe's p4_in to p4_out is divided
 * afterwards (stats/schedpath.h). The switch's clock is put on the host's by
 * causality first, and then narrowed down: whoever took a stamp ran at that moment.
 * Where tracing is not allowed nothing is divided, and `why_not` says so.
 */
struct attribution {
	char why_not[512]; /* "": it is traced */
	struct tracer *tracer;
	struct idle_counts idle_before, idle_after;
	/* of the run, until the next */
	struct probe_parts *parts;
	size_t count;
	uint64_t events, dropped;
	double align_ns, narrowed_ns; /* width of what the clocks' offset may be: by causality; and by who ran */
	double median_ns[PATH_PARTS]; /* mean over the probes around the median, from p40 to p60 */
	double slow_ns[PATH_PARTS];   /* over the slowest tenth */
	double ends_ns[PATH_PARTS];   /* largest change of median_ns when the offset is at either of its ends */
};

/* Before the run. Not allowed is no error; *a is zeros, or what the run before left. */
int attribution_begin(struct attribution *a, const struct lab_line *line, int32_t cpu, struct err *err);

/* After it; failed runs too (`rows` NULL). rows as transit_run left them, started at start_real_ns. */
int attribution_end(struct attribution *a, struct transit *rows, uint32_t count, int64_t start_real_ns,
		    double drift_ppm, struct err *err);

/* Values and parts of the run put last. */
int attribution_put(const struct attribution *a, struct store *store, struct err *err);

void attribution_release(struct attribution *a);

#endif
