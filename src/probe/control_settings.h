/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_CONTROL_SETTINGS_H
#define TARE_PROBE_CONTROL_SETTINGS_H

#include "base/settings.h"
#include "probe/differential_stream.h"

/* The probes: section of a control plan. All but table and action are present, none must be given. */
extern const struct setting control_settings[];

/* In the order of the choices of `operation`. */
enum control_operation {
	CONTROL_INSERT,
	CONTROL_MODIFY,
	CONTROL_DELETE,
	CONTROL_READ,        /* one wildcard read of all tables */
	CONTROL_READ_TABLE,  /* one read of the whole table */
	CONTROL_READ_SINGLE, /* each entry by its key */
};

/* In the order of the choices of `mode`. */
enum control_mode {
	CONTROL_SYNC,      /* one RPC in flight at all: switch after switch, entry after entry */
	CONTROL_ASYNC,     /* one in flight a switch, all switches at once */
	CONTROL_PIPELINED, /* `window` in flight a switch */
	CONTROL_BATCHED,   /* `batch` entries a Write, one Write in flight a switch */
};

enum { CONTROL_SWITCHES_MOST = 8, CONTROL_ENTRIES_MOST = 1000000, CONTROL_BATCH_MOST = 10000 };

const char *control_operation_name(enum control_operation operation);
const char *control_mode_name(enum control_mode mode);

/* What the table alone cannot say; as differential_settings_check. */
void control_settings_check(const struct settings *s,
			    void (*problem)(void *context, const char *setting, const char *message), void *context);

/* How long a run takes cannot be known before: no frames, no time. */
int control_outline(const struct settings *probes, const char *directory, struct stream_outline *ret, struct err *err);

#endif
