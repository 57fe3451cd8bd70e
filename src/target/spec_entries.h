/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_SPEC_ENTRIES_H
#define TARE_TARGET_SPEC_ENTRIES_H

#include "target/spec.h"

/*
 * What the tables of a program hold, as text beside it (`forward.entries` beside
 * `forward.spec`), one entry a line:
 *
 *   TABLE match VALUE[/MASK] ... [priority N] action NAME [ARG VALUE ...]
 *   TABLE default action NAME [ARG VALUE ...]
 *
 * One VALUE for each key field, in the table's order: a number (decimal, 0x), an
 * IPv4 address for a field of 32 bits, a MAC address for one of 48. A wildcard
 * field takes /MASK, an lpm field /LENGTH; without them every bit counts. Of
 * several wildcard entries that match, the lowest priority number wins.
 * Pure, like the parser of programs, and checked against the program: tables,
 * actions, arguments and widths.
 */
struct spec_entry {
	const struct spec_table *table;
	bool is_default;
	const char *text; /* as rte_swx_ctl_pipeline_table_entry_read() wants it: "match 0x1 action a b 0x2" */
	uint32_t line;
};

struct spec_entries {
	const char *path;
	struct spec_entry *items;
	uint32_t count;
};

/* As spec_parse. What it returns points into the program and the arena. */
int spec_entries_parse(const char *text, size_t length, const char *path, const struct spec *spec, struct arena *arena,
		       struct spec_entries **ret_entries, struct err *err);

#endif
