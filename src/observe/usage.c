/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/usage.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/sort.h"

#define COLUMN(name, unit, kept, member)                                                                               \
	{                                                                                                              \
		name, unit, kept, offsetof(struct usage, member)                                                       \
	}

/* The machine's counters advance in ticks of 10 ms: shares of less time than ten of them say nothing. */
enum { MACHINE_LEAST_NS = 100000000 };

/* The first two are what a summary speaks of. */
const struct usage_column usage_columns[] = {
	COLUMN("switch_cpu", "%", USAGE_BESIDE, cpu_pct),
	COLUMN("switch_rss", "MB", USAGE_BESIDE, rss_mb),
	COLUMN("switch_cpu_each", "%", USAGE_WHOLE, cpu_each_pct),
	COLUMN("switch_cpu_most", "%", USAGE_WHOLE, cpu_most_pct),
	COLUMN("switch_rss_each", "MB", USAGE_WHOLE, rss_each_mb),
	COLUMN("switch_pss", "MB", USAGE_WHOLE, pss_mb),
	COLUMN("switch_pss_each", "MB", USAGE_WHOLE, pss_each_mb),
	COLUMN("switch_wait", "%", USAGE_BESIDE, wait_pct),
	COLUMN("switch_slices", "/s", USAGE_WHOLE, slices_per_s),
	COLUMN("switch_voluntary", "/s", USAGE_WHOLE, voluntary_per_s),
	COLUMN("switch_involuntary", "/s", USAGE_WHOLE, involuntary_per_s),
	COLUMN("switch_minor_faults", "/s", USAGE_WHOLE, minor_faults_per_s),
	COLUMN("switch_major_faults", "/s", USAGE_WHOLE, major_faults_per_s),
	COLUMN("machine_cpu", "%", USAGE_BESIDE_IF_ANY, machine_busy_pct),
	COLUMN("machine_steal", "%", USAGE_BESIDE_IF_ANY, machine_steal_pct),
	COLUMN("pressure_cpu", "%", USAGE_BESIDE, pressure_cpu_pct),
	COLUMN("pressure_memory", "%", USAGE_WHOLE, pressure_memory_pct),
	COLUMN("pressure_io", "%", USAGE_WHOLE, pressure_io_pct),
	COLUMN("sampler_core", "%", USAGE_BESIDE, sampler_core_pct),
	COLUMN("sampler_late", "ms", USAGE_WHOLE, sampler_late_ms),
	COLUMN("sampler_missed", "samples", USAGE_WHOLE, missed),
	{ NULL },
};

/* First and last row of a subject; false where there are not two. */
static bool ends_of(const struct sampler_log *log, uint32_t subject, const struct sampler_row **ret_first,
		    const struct sampler_row **ret_last)
{
	*ret_first = *ret_last = NULL;
	for (size_t i = 0; i < log->row_count; i++) {
		if (log->rows[i].subject != subject)
			continue;
		if (!*ret_first)
			*ret_first = &log->rows[i];
		*ret_last = &log->rows[i];
	}
	return *ret_first != *ret_last && (*ret_last)->at_ns > (*ret_first)->at_ns;
}

/* Change of a column per ns; of ns counters that is a share of one CPU. */
static double rate(const struct sampler_row *first, const struct sampler_row *last, int column)
{
	if (first->v[column] == SAMPLER_NONE || last->v[column] == SAMPLER_NONE)
		return NAN;
	return (double)(last->v[column] - first->v[column]) / (double)(last->at_ns - first->at_ns);
}

/* Bytes; median over the rows of a subject. NaN without memory for it. */
static double median_level(const struct sampler_log *log, uint32_t subject, int column, int64_t *scratch)
{
	size_t n = 0;

	for (size_t i = 0; i < log->row_count; i++)
		if (log->rows[i].subject == subject && log->rows[i].v[column] != SAMPLER_NONE)
			scratch[n++] = log->rows[i].v[column];
	if (n == 0)
		return NAN;
	sort_i64(scratch, n, scratch + log->row_count);
	return ((double)scratch[(n - 1) / 2] + (double)scratch[n / 2]) / 2;
}

static double level(const struct sampler_row *row, int column)
{
	return row->v[column] == SAMPLER_NONE ? NAN : (double)row->v[column];
}

static void add_process(const struct sampler_log *log, uint32_t subject, int64_t *scratch, struct usage *u)
{
	const struct sampler_row *first, *last;
	bool good = ends_of(log, subject, &first, &last) && !log->subjects[subject].gone;
	double cpu_pct = good ? rate(first, last, PROCESS_CPU) * 100 : NAN;

	u->processes++;
	u->cpu_pct += cpu_pct;
	if (u->processes == 1 || isnan(cpu_pct) || cpu_pct > u->cpu_most_pct)
		u->cpu_most_pct = cpu_pct;
	u->wait_pct += good ? rate(first, last, PROCESS_WAIT) * 100 : NAN;
	u->slices_per_s += good ? rate(first, last, PROCESS_SLICES) * 1e9 : NAN;
	u->voluntary_per_s += good ? rate(first, last, PROCESS_VOLUNTARY) * 1e9 : NAN;
	u->involuntary_per_s += good ? rate(first, last, PROCESS_INVOLUNTARY) * 1e9 : NAN;
	u->minor_faults_per_s += good ? rate(first, last, PROCESS_MINOR) * 1e9 : NAN;
	u->major_faults_per_s += good ? rate(first, last, PROCESS_MAJOR) * 1e9 : NAN;
	u->rss_mb += good ? median_level(log, subject, PROCESS_RSS, scratch) / 1e6 : NAN;
	u->pss_mb += good ? level(last, PROCESS_PSS) / 1e6 : NAN;
	u->threads += good && last->v[PROCESS_THREADS] > 0 ? (uint32_t)last->v[PROCESS_THREADS] : 0;
}

static void of_machine(const struct sampler_log *log, uint32_t subject, struct usage *u)
{
	const struct sampler_row *first, *last;
	double busy, idle, steal;

	if (!ends_of(log, subject, &first, &last))
		return;
	busy = rate(first, last, MACHINE_BUSY);
	idle = rate(first, last, MACHINE_IDLE);
	steal = rate(first, last, MACHINE_STEAL);
	if (last->at_ns - first->at_ns >= MACHINE_LEAST_NS && busy + idle + steal > 0) {
		u->machine_busy_pct = 100 * busy / (busy + idle + steal);
		u->machine_steal_pct = 100 * steal / (busy + idle + steal);
	}
	u->pressure_cpu_pct = 100 * rate(first, last, MACHINE_PRESSURE_CPU);
	u->pressure_memory_pct = 100 * rate(first, last, MACHINE_PRESSURE_MEMORY);
	u->pressure_io_pct = 100 * rate(first, last, MACHINE_PRESSURE_IO);
}

static void nothing(struct usage *u)
{
	for (const struct usage_column *c = usage_columns; c->name; c++)
		*(double *)((char *)u + c->offset) = NAN;
}

/* Sums begin at 0 once there is something to add. */
static void sums_at_zero(struct usage *u)
{
	u->cpu_pct = u->cpu_most_pct = u->wait_pct = u->slices_per_s = u->voluntary_per_s = u->involuntary_per_s = 0;
	u->minor_faults_per_s = u->major_faults_per_s = u->rss_mb = u->pss_mb = 0;
}

int usage_of(const struct sampler_log *log, struct usage *ret)
{
	int64_t *scratch = malloc((2 * log->row_count + 1) * sizeof(*scratch));
	struct usage u = { 0 };

	if (!scratch)
		return -ENOMEM;
	nothing(&u);
	for (uint32_t i = 0; i < log->subject_count; i++) {
		if (log->subjects[i].kind == SAMPLER_PROCESS) {
			if (u.processes == 0)
				sums_at_zero(&u);
			add_process(log, i, scratch, &u);
		} else if (log->subjects[i].kind == SAMPLER_MACHINE) {
			of_machine(log, i, &u);
		}
	}
	free(scratch);
	if (u.processes) {
		u.cpu_each_pct = u.cpu_pct / u.processes;
		u.rss_each_mb = u.rss_mb / u.processes;
		u.pss_each_mb = u.pss_mb / u.processes;
	}
	if (log->elapsed_ns > 0) {
		u.sampler_core_pct = 100 * (double)log->own_cpu_ns / (double)log->elapsed_ns;
		u.sampler_late_ms = (double)log->late_max_ns / 1e6;
		u.samples = log->samples;
		u.missed = log->missed;
	}
	*ret = u;
	return 0;
}

double usage_interface_per_s(const struct sampler_log *log, uint32_t owner, const char *name, int column)
{
	for (uint32_t i = 0; i < log->subject_count; i++) {
		const struct sampler_subject *is = &log->subjects[i];
		const char *own = strstr(is->name, ": ");
		const struct sampler_row *first, *last;

		if (is->kind != SAMPLER_INTERFACE || is->owner != owner || strcmp(own ? own + 2 : is->name, name) != 0)
			continue;
		return !is->gone && ends_of(log, i, &first, &last) ? rate(first, last, column) * 1e9 : NAN;
	}
	return NAN;
}
