/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_STORE_PRIVATE_H
#define TARE_STORE_STORE_PRIVATE_H

#include <sqlite3.h>

#include "store/lock.h"
#include "store/store.h"

/* For the implementation of the store, its tests and its fuzzer only. */
struct store {
	sqlite3 *db;
	char *dir, *path; /* path: "DIR/tare.db" */
	bool writer;
	int schema; /* of the file, 1 to STORE_SCHEMA: an older one lacks tables */
	struct dir_lock lock;
	struct arena arena; /* SQL text built at open */

	/* writer */
	uint8_t *turn_state; /* enum store_turn by position */
	uint32_t turn_count;
	bool in_restart;
	uint32_t turn;       /* of the restart that is open */
	int64_t restart_id;  /* of the restart that is open */
	int64_t run_id;      /* of the run that was put last in it; 0: none */
	uint32_t run_values; /* that this run has so far */

	/* prepared when first needed, kept until close */
	sqlite3_stmt *insert_run, *insert_pair, *select_pairs;
	sqlite3_stmt *insert_conditions, *insert_transit, *select_conditions, *select_transits;
	sqlite3_stmt *insert_value, *select_values;
	sqlite3_stmt *insert_second_clock, *insert_second, *select_second_clock, *select_second;
};

/* Fill *err from the last error of SQLite: `doing` completes "while ...". Returns -errno. */
int store_fail(struct store *store, struct err *err, const char *doing);

/* What is in the file does not hang together. Returns -EBADMSG. */
int store_damaged(const struct store *store, struct err *err, const char *what);

int store_oom(const struct store *store, struct err *err);

/* Run SQL that returns no rows. */
int store_exec(struct store *store, const char *sql, const char *doing, struct err *err);

/* Prepare into *stmt unless it is there already. */
int store_prepare(struct store *store, const char *sql, sqlite3_stmt **stmt, struct err *err);

/* Is it ours, and of a schema that we know? */
int store_check_identity(struct store *store, struct err *err);

/* Open for writing and close: whatever a killed writer left is merged or undone. The caller holds the directory's lock. */
int store_settle(const char *dir, struct err *err);

/* A database in memory, for fuzzing: read-only, `data` is copied. */
int store_open_image(const void *data, size_t size_bytes, struct store **ret_store, struct err *err);

/* write.c: a statement without rows, ready to be used again; the columns of a record; a run's row, whose id is returned
 * (or -errno). */
int store_step_once(struct store *store, sqlite3_stmt *stmt, const char *doing, struct err *err);
struct run_column;
void store_bind_columns(sqlite3_stmt *stmt, int first, const struct run_column *columns, const void *record);
int64_t store_write_run(struct store *store, const struct run_record *run, uint32_t sample_count, struct err *err);

/* read.c: a column into its member. */
void store_column_into(sqlite3_stmt *stmt, int column, const struct run_column *c, void *record);

int64_t store_utc_ns(void);

#endif
