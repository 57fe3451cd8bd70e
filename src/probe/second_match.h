/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_SECOND_MATCH_H
#define TARE_PROBE_SECOND_MATCH_H

#include "base/err.h"
#include "probe/second_clock.h"

/*
 * Copies as a second clock stamped them, to differences by probe. Pure: whoever
 * captured or read them says which copy of which probe each frame is.
 */
enum second_copy { SECOND_PATH, SECOND_BYPASS };

/* What there is instead of a probe's number. */
#define SECOND_UNREADABLE UINT32_MAX       /* no id, or one that cannot be told from another's */
#define SECOND_FOREIGN    (UINT32_MAX - 1) /* an id that no probe of the run has */

struct second_match {
	struct second_record clock; /* counters filled in as frames come; texts and resolution are the caller's */
	uint32_t count;             /* probes of the run */
	int64_t *stamp_ns[2];       /* by copy, by probe; SECOND_NONE: did not come */
	int64_t first_ns;           /* the earliest stamp */
};

int second_match_init(struct second_match *m, uint32_t probes, struct err *err);
void second_match_release(struct second_match *m); /* all zero is fine */

/* One frame. The first copy of each kind counts, later ones are duplicates. */
void second_match_take(struct second_match *m, uint32_t probe, enum second_copy copy, int64_t stamp_ns);

/* Once all frames are in: rows (room for m->count), and the counters that need all. Returns how many rows. */
uint32_t second_match_finish(struct second_match *m, struct second_pair *ret_rows);

#endif
