/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_STORE_H
#define TARE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "probe/pair.h"
#include "probe/run.h"

/*
 * One directory a campaign: tare.db (SQLite, WAL), logs, figures. The tables
 * follow the hierarchy campaign > cell > restart > run > sample. A restart's
 * runs, samples and its `done` mark commit together, so a kill at any moment
 * loses at most the restart in flight. One writer at a time: a second tare on
 * the same directory is refused by a lock that dies with its process.
 *
 * Every failure of the disk or of SQLite is an ERR_HOST that names the file; a
 * file that is not a tare store, or of a newer schema, is an ERR_USAGE.
 */
struct store;

/* Create DIR (its parents must exist) and its tables, and write plan, cells and turns. An existing store of the same
 * plan is opened to resume; of another plan: -EEXIST. */
int store_open_write(const char *dir, const struct plan *plan, struct store **ret_store, struct err *err);

/* For reports: never writes, works beside a running campaign. */
int store_open_read(const char *dir, struct store **ret_store, struct err *err);

void store_close(struct store *store);

/* --- writing: one restart at a time --- */

bool store_turn_done(const struct store *store, const struct turn *turn);

/* Provenance as name and value pairs ("cpu.model", "EPYC ..."); an existing name is replaced. */
int store_put_fact(struct store *store, const char *name, const char *value, struct err *err);

int store_begin_restart(struct store *store, const struct turn *turn, struct err *err);
/* Facts of the restart: what the target says of itself (JSON text), what failed. */
int store_put_run(struct store *store, const struct run_record *run, const struct pair *pairs, uint32_t pair_count,
		  struct err *err);
/* `failure` NULL: good. Else the restart is kept, marked failed with this reason. */
int store_commit_restart(struct store *store, const char *target_facts, const char *failure, struct err *err);
void store_abandon_restart(struct store *store);

/* Something that happened, for the report: "clock stepped by ...". Outside a restart it commits at once. */
int store_put_event(struct store *store, const char *kind, const char *message, struct err *err);

/* --- reading --- */

struct stored_campaign {
	const char *name;
	enum measure measure;
	const char *plan_text;
	uint64_t seed;
	const char *target_kind;
	uint32_t axis_count;
	const char *const *axes;
	uint32_t cell_count;
	struct cell *cells;
	uint32_t turn_count, turns_done;
	struct stored_fact {
		const char *name, *value;
	} * facts;
	uint32_t fact_count;
	struct stored_event {
		int64_t utc_ns;
		const char *kind, *message;
	} * events;
	uint32_t event_count;
};

struct stored_restart {
	int64_t id; /* row id */
	uint32_t cell, restart, block;
	uint32_t position; /* in the order in which it ran, from 0 */
	int64_t started_utc_ns;
	const char *target_facts;
	const char *failure; /* NULL: good */
	struct stored_run {
		int64_t id;
		struct run_record record;
	} * runs;
	uint32_t run_count;
};

int store_read_campaign(struct store *store, struct arena *arena, struct stored_campaign *ret, struct err *err);

/* All restarts that are done, in the order in which they ran. */
int store_read_restarts(struct store *store, struct arena *arena, struct stored_restart **ret, uint32_t *ret_count,
			struct err *err);

/*
 * The samples of a run, in order of seq. Returns how many there are, at most
 * `capacity` are written; call with capacity 0 to ask. Fast: 8 million pairs in
 * seconds, in memory of one run.
 */
int64_t store_read_pairs(struct store *store, int64_t run_id, struct pair *ret_pairs, uint32_t capacity,
			 struct err *err);

#endif
