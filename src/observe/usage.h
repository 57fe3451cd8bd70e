/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_USAGE_H
#define TARE_OBSERVE_USAGE_H

#include <stddef.h>

#include "observe/sampler.h"

/*
 * What a sampler's log comes to: rates and levels over the time it covers. Each
 * subject's rate is over the time between its own first and last row. Pure. NaN
 * where the host does not tell, or where one of the processes ended meanwhile:
 * part of a sum is no sum. 100 % is one CPU.
 */
struct usage {
	uint32_t processes, threads; /* threads: at the end */
	/* All processes together, then their mean, then the one that takes most. */
	double cpu_pct, cpu_each_pct, cpu_most_pct;
	double wait_pct;     /* runnable without a CPU; can pass 100 % with more than one thread */
	double slices_per_s; /* a thread was given a CPU */
	double voluntary_per_s, involuntary_per_s; /* switches away: blocked, or taken off */
	double minor_faults_per_s, major_faults_per_s;
	double rss_mb, rss_each_mb; /* median over samples; MB are 10^6 bytes */
	double pss_mb, pss_each_mb; /* at the end */
	/* The machine: share of all its CPUs together (NaN under 100 ms, too few of its ticks), and of time. */
	double machine_busy_pct, machine_steal_pct;
	double pressure_cpu_pct, pressure_memory_pct, pressure_io_pct;
	/* The sampler itself. */
	double sampler_core_pct, sampler_late_ms;
	double samples, missed;
};

/* 0 or -ENOMEM (the median's scratch). An empty log: all NaN. */
int usage_of(const struct sampler_log *log, struct usage *ret);

/* The doubles of it by name and unit, as tables and files call them. Ends with a NULL name. */
enum usage_kept {
	USAGE_WHOLE,         /* by measure: resources alone */
	USAGE_BESIDE,        /* beside other measures too, which have figures of their own */
	USAGE_BESIDE_IF_ANY, /* the same; a run that is too short for it lacks nothing of its own measure */
};
struct usage_column {
	const char *name, *unit;
	enum usage_kept kept;
	size_t offset;
};
extern const struct usage_column usage_columns[];

/* Change per second of a column of an interface of network `owner`, by its name; NaN: none, or it vanished. */
double usage_interface_per_s(const struct sampler_log *log, uint32_t owner, const char *name, int column);

#endif
