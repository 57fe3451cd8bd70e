/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_SCHEMA_H
#define TARE_STORE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/*
 * What tare.db looks like: its marks, its tables, and how a run_record becomes a
 * row. docs/store.md tells the same to people. Any change here is a new
 * STORE_SCHEMA.
 */
#define STORE_APPLICATION_ID 0x54415245 /* "TARE" */

/* One field of struct run_record and its column in table run, in this order, after id, restart and pairs. */
enum column_type { COLUMN_I32, COLUMN_U32, COLUMN_I64, COLUMN_U64, COLUMN_DOUBLE, COLUMN_TEXT };

struct run_column {
	const char *name;
	enum column_type type;
	size_t offset;
	size_t size_bytes; /* COLUMN_TEXT: of the array */
};

extern const struct run_column run_columns[]; /* ends with a NULL name */

/* The same for struct transit_conditions and table run_transit, after run. */
extern const struct run_column transit_columns[];

/* second_clock.c: run_second and second. */
const char *schema_second_sql(struct arena *arena);
/* trial.c: tables of calibrate plans. */
const char *schema_trial_sql(struct arena *arena);

/*
 * What came after schema 1, in the order in which it came: a line a part in schema.c. A new
 * database gets every part; one of an older schema the parts that are newer than it, when it is
 * opened to resume; a reader asks store->schema whether a part can be there.
 */
struct schema_part {
	int since;                               /* the schema that it is part of; 0 ends the list */
	const char *(*sql)(struct arena *arena); /* statements that create it; NULL: out of memory */
};

extern const struct schema_part schema_parts[];

/* For a table whose rows are structs, one a run: what creates it, fills a row (run, then the columns), reads that of a run. */
const char *schema_columns_sql(const char *table, const struct run_column *columns, struct arena *arena);
const char *schema_insert_columns_sql(const char *table, const struct run_column *columns, struct arena *arena);
const char *schema_select_columns_sql(const char *table, const struct run_column *columns, struct arena *arena);

/* operation.c: tables of control plans. */
const char *schema_control_sql(struct arena *arena);

const char *schema_insert_conditions_sql(struct arena *arena);
const char *schema_select_conditions_sql(struct arena *arena);

/* The columns of table transit, in this order in both. */
#define SCHEMA_TRANSIT_COLUMNS "run, seq, packet, fate, flags, sched, late, sw_in, p4_in, inside, sw_out, rx"

/* Statements that create everything in an empty database. NULL: out of memory. */
const char *schema_create_sql(struct arena *arena);

/* "INSERT INTO run ..." and "SELECT ... FROM run": id, pairs, then the run_columns, for one restart, in order. */
const char *schema_insert_run_sql(struct arena *arena);
const char *schema_select_runs_sql(struct arena *arena);

/* The columns of table pair, in this order in both. */
#define SCHEMA_PAIR_COLUMNS                                                                                            \
	"run, seq, packet, fate, flags, path, bypass, truth, sched, late, gap_path, gap_bypass, burst"

#endif
