/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_IDS_H
#define TARE_IMPORT_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Which probes a run of another's data sent, and what can be known of each before
 * anything is measured. From the trace that was replayed this is exact: packets
 * without a readable id, packets that share one. Without it, it is what the runs
 * themselves say: an id that any run of the program has seen was sent in all of
 * them, so a run that lacks it lost that probe; probes that are said to have been
 * sent, but whose id nobody ever saw, have no readable one.
 */
enum import_id_state {
	IMPORT_ID_OWN,        /* its id is readable, and its alone */
	IMPORT_ID_UNREADABLE, /* no readable id, or none that any run has seen */
	IMPORT_ID_SHARED,     /* another packet has the same */
};

/* Ids are places in the table of a receiver, as published at most 2^21. */
enum { IMPORT_ID_MOST = (1 << 24) - 1, IMPORT_PROBES_MOST = 1 << 22 };

struct import_ids {
	uint32_t count;     /* probes that a run sends */
	uint8_t *state;     /* of each, enum import_id_state */
	uint32_t *probe_of; /* by id, 1 more than the first probe that has it; 0: no probe has it */
	uint32_t id_count;  /* in probe_of */
	uint32_t unreadable, shared;
	bool exact; /* from a trace */
};

/* From a capture of what was sent. An error names the file and the packet. */
int import_ids_from_trace(const char *path, struct import_ids *ret, struct err *err);

/* Ids seen so far, in any run. All zero: none. */
struct import_seen {
	uint8_t *bits;
	uint32_t id_count; /* room */
	uint32_t count;    /* different ones */
};

int import_seen_add(struct import_seen *seen, uint32_t id); /* 0 or -ENOMEM; id <= IMPORT_ID_MOST */
void import_seen_release(struct import_seen *seen);

/* `sent`: probes in a run, as their author says; 0: as many as ids were seen. -EINVAL: fewer than were seen. */
int import_ids_from_seen(const struct import_seen *seen, uint32_t sent, struct import_ids *ret, struct err *err);

void import_ids_release(struct import_ids *ids); /* all zero is fine */

/* The probe of an id; UINT32_MAX: none has it. */
static inline uint32_t import_ids_find(const struct import_ids *ids, int64_t id)
{
	return id >= 0 && id < ids->id_count ? ids->probe_of[id] - 1 : UINT32_MAX;
}

#endif
