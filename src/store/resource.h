/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_RESOURCE_H
#define TARE_STORE_RESOURCE_H

#include "observe/sampler.h"
#include "stats/schedpath.h"
#include "store/store.h"

/*
 * What was seen of resources in a run, beside its values: the sampler's rows, one
 * table a kind of subject, and the parts of each probe's time. docs/store.md describes the tables.
 */

/* Of the run put last in the restart that is open. */
int store_put_resources(struct store *store, const struct sampler_log *log, struct err *err);

/* A probe's p4_in to p4_out, divided; PATH_PARTS times in ns. */
struct probe_parts {
	uint32_t seq;
	int64_t ns[PATH_PARTS];
};

int store_put_parts(struct store *store, const struct probe_parts *parts, size_t count, struct err *err);

/* How many probes of a run are divided; 0 in a store of before schema 3. -errno. */
int64_t store_count_parts(struct store *store, const struct stored_run *run, struct err *err);
/* All of them, by seq; they must fit `capacity`. How many, or -errno. */
int64_t store_read_parts(struct store *store, const struct stored_run *run, struct probe_parts *ret, size_t capacity,
			 struct err *err);

/* For schema_parts. */
const char *schema_resource_sql(struct arena *arena);

#endif
