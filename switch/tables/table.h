/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_TABLES_TABLE_H
#define TARE_SWITCH_TABLES_TABLE_H

#include "tables/state_private.h"

/*
 * Entries as objects (entry.c), apart from where they hang (table.c). A changed
 * entry is a new object that shares its cell with the old one.
 */

/* Checks what the spec says against the table. `cell`: of the version before, or NULL. */
int entry_create(struct state *state, struct table *t, const struct entry_spec *spec, struct entry_cell *cell,
		 struct entry **ret_entry, struct err *err);

/* The program's own default: an action even in a table of members, or none. */
int entry_create_default(struct state *state, struct table *t, const struct entry_spec *spec, struct entry_cell *cell,
			 struct entry **ret_entry, struct err *err);

/* The same once more, its member or group looked up anew. */
int entry_copy(struct state *state, struct table *t, const struct entry *entry, struct entry **ret_entry,
	       struct err *err);

void entry_linked(struct state *state, const struct entry *entry);
void entry_unlinked(struct state *state, const struct entry *entry); /* retires it */
void entry_discard(struct entry *entry);                             /* that no reader holds; NULL is fine */

#endif
