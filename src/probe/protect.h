/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_PROTECT_H
#define TARE_PROBE_PROTECT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Keeps the measured loops running: memory locked, each loop on a core of its
 * own, and in front of other work: SCHED_FIFO where the host allows it, else
 * nice -20 with the session's autogroup at -20 as well, else nothing. What was done
 * is said in words, and undone: scheduling ends with the threads, the rest by
 * protect_end.
 */
enum protect_how { PROTECT_NOTHING, PROTECT_NICE, PROTECT_FIFO };

struct protection {
	enum protect_how wanted; /* and allowed, as far as is known */
	bool sleeps; /* its threads sleep between short pieces of work: they go before those that never do. Set after
			protect_begin */
	bool locked, autogroup_changed; /* what was done; stays when it has been undone */
	bool ended;
	int autogroup_before;
};

/* For the process; call before the threads exist. PROTECT_FIFO: the best there is. Never fails: what is not allowed is
 * left. */
void protect_begin(struct protection *p, enum protect_how wanted);
void protect_end(struct protection *p);

/* For the calling thread, which must be pinned already: a FIFO loop starves what is created behind it. */
enum protect_how protect_thread(const struct protection *p);

/* "fifo 50, affinity, mlock"; after protect_end too. Returns buf. */
const char *protect_words(const struct protection *p, enum protect_how got, bool pinned, char *buf, size_t size_bytes);

#endif
