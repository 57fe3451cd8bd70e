/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_OUTPUT_H
#define TARE_IMPORT_OUTPUT_H

#include "store/store.h"

/*
 * Where an import goes: a store that is made beside its place under another name
 * (DIR.importing) and takes its own when it is whole. A kill at any moment leaves
 * nothing under DIR; what it leaves beside, the next import to DIR removes.
 */
struct import_output {
	char *dir, *fresh;
	struct store *store;
};

/* DIR must not exist yet. */
int import_output_open(struct import_output *o, const char *dir, const struct plan *plan, struct err *err);

/* Close and put into its place; on failure nothing is left. */
int import_output_commit(struct import_output *o, struct err *err);

/* Give up; after a commit, or all zero: nothing. */
void import_output_abandon(struct import_output *o);

#endif
