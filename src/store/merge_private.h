/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_MERGE_PRIVATE_H
#define TARE_STORE_MERGE_PRIVATE_H

#include "base/vec.h"
#include "store/store_private.h"

struct merge_source {
	const char *dir, *path;
	const char *name, *hash, *order, *identity;
};

/* A restart on its way: its numbers where it was, and where it will be. */
struct merge_restart {
	uint32_t source;
	int64_t old_id, new_id, turn, started_utc_ns;
	int64_t runs, first_run; /* its runs become first_run, first_run + 1, ... */
	bool good;
};

/* A store whose restarts are among them, by its random name. */
struct merge_origin {
	uint32_t source;
	const char *store;
};

struct merge {
	struct merge_source *sources;
	uint32_t count;
	VEC(struct merge_restart) restarts; /* once numbered, in the order of new_id */
	VEC(struct merge_origin) origins;
	const char *path, *fresh; /* "DIR/tare.db", and its name while it is made */
	uint32_t hosts, turns, turns_done;
	struct arena arena;
	struct err *err;
};

/* merge_write.c: make m->fresh whole. What it leaves behind on failure is the caller's to remove. */
int merge_write(struct merge *m);

#endif
