/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_WATCH_H
#define TARE_CAMPAIGN_WATCH_H

#include "lab/topology.h"
#include "observe/usage.h"
#include "store/store.h"

/*
 * What a run's switches use, sampled beside it: the common way of measures whose
 * restarts have switches on this host. A measure says what is to be watched
 * (measure_ops.watched); the campaign starts and stops the sampler around each
 * run, and puts what it found behind the run's own values.
 */
enum { WATCHED_PROCESSES = LAB_SWITCHES_MOST, WATCHED_NETWORKS = LAB_SWITCHES_MOST + 2 };

struct watched {
	struct sampler_process processes[WATCHED_PROCESSES];
	struct sampler_network networks[WATCHED_NETWORKS]; /* those of the switches first, in the same order */
	uint32_t process_count, network_count;
	char names[WATCHED_PROCESSES][16]; /* "switch 1" */
	bool forwards;                     /* packets come in by p1 of the first switch, and leave by p2 of the last */
};

/* A switch, and the interfaces of its namespace (NULL: none). More than there is room for: left out. */
void watched_add(struct watched *w, pid_t pid, const struct netns *netns);

/* Every switch of a line that runs, and both hosts. */
void watched_line(const struct lab_line *line, struct watched *ret);

struct watch {
	struct watched what;
	struct sampler *sampler;
	struct sampler_log log; /* of the run, until the next */
	struct usage usage;
};

/* `cpu`: where it is sampled; -1: anywhere. watch->what is filled in. */
int watch_begin(struct watch *w, int64_t interval_ns, int32_t cpu, struct err *err);
/* Not begun is fine, and ends with an empty log. */
int watch_end(struct watch *w, struct err *err);
void watch_release(struct watch *w);

/* `whole`: every figure, and the samples; else the few that stand beside a measure of another kind. */
int watch_put(const struct watch *w, bool whole, struct store *store, struct err *err);

#endif
