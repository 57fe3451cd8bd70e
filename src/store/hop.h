/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_HOP_H
#define TARE_STORE_HOP_H

#include "probe/telemetry.h"
#include "store/store.h"

/*
 * Hops of a telemetry run: one row for each hop of each probe of which something
 * is known. A telemetry run is stored as a transit run first (its probes, its
 * conditions), then its values, then these. docs/store.md describes the table.
 */

/* Of the run put last in the restart that is open. Hops of which nothing is known are left out. */
int store_put_hops(struct store *store, const struct hop *hops, size_t count, struct err *err);

/* How many rows a run has; a store of before schema 3 has none. -errno. */
int64_t store_count_hops(struct store *store, const struct stored_run *run, struct err *err);

/* All of them, by hop, then by probe; they must fit `capacity`. How many, or -errno. */
int64_t store_read_hops(struct store *store, const struct stored_run *run, struct hop *ret_hops, size_t capacity,
			struct err *err);

/* For schema_parts. */
const char *schema_hop_sql(struct arena *arena);

#endif
