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
#include "probe/second_clock.h"
#include "probe/transit.h"

/*
 * One directory a campaign: tare.db (SQLite), logs, figures. The tables follow
 * the hierarchy campaign > cell > restart > run > sample; docs/store.md describes
 * them for people with sqlite3. A restart's runs, samples and its row commit
 * together, so a kill at any moment loses at most the restart in flight. One
 * writer at a time: a second tare on the same directory is refused by a lock that
 * dies with its process. While a writer runs, the database is in WAL mode; once
 * closed, a store is the one file tare.db, to be copied or read from anywhere.
 *
 * Every failure of the disk or of SQLite is an ERR_HOST that names the file; a
 * file that is not a tare store, is of a newer schema, or holds another plan is
 * an ERR_USAGE. A store is used by one thread.
 */
struct store;

/*
 * user_version of tare.db. 2 added the tables of transit plans, 3 the values of runs: a store of an
 * older schema is read as it is, and gains what it lacks when it is opened to resume.
 */
#define STORE_SCHEMA 3

/*
 * Create DIR (its parents must exist) and its tables, and write plan, cells and
 * turns, all or nothing. A store of the same plan is opened to resume; of another
 * plan: -EEXIST, unless no restart has been recorded in it; in use by another
 * tare: -EBUSY.
 */
int store_open_write(const char *dir, const struct plan *plan, struct store **ret_store, struct err *err);

/* For reports: changes nothing that is recorded, works beside a running campaign, and without write permission on a
 * store that was closed. */
int store_open_read(const char *dir, struct store **ret_store, struct err *err);

/*
 * For a store that is written at once and takes its place when it is whole (an import): no log, no waiting for the
 * disk. After store_open_write, before the first restart; a kill then leaves nothing that can be read.
 */
int store_write_fast(struct store *store, struct err *err);

void store_close(struct store *store); /* NULL is fine; a restart that is open is abandoned */

/* Delete a closed store's own files and, when nothing else is in it, DIR. For stores that were only means to an end. */
void store_remove(const char *dir);

/* "DIR/tare.db" */
const char *store_path(const struct store *store);

/* --- writing: one restart at a time. Turns are named by their position in plan->turns --- */

enum store_turn {
	STORE_TURN_OPEN,   /* has not run */
	STORE_TURN_DONE,   /* a restart of it is whole */
	STORE_TURN_FAILED, /* ran, and every restart of it failed; the reasons are kept */
};

enum store_turn store_turn_state(const struct store *store, uint32_t position);

/* Provenance: "cpu.model", "EPYC ...". */
struct stored_fact {
	const char *name, *value;
};

/*
 * A value that differs from the one stored before (the campaign was resumed on a
 * changed host) replaces it, and an event keeps the old one. All in one commit,
 * or with the restart that is open.
 */
int store_put_facts(struct store *store, const struct stored_fact *facts, uint32_t count, struct err *err);

/* After any failure of these the restart is abandoned: nothing of it is in the store, everything before it is. */
int store_begin_restart(struct store *store, uint32_t position, struct err *err);
int store_put_run(struct store *store, const struct run_record *run, const struct pair *pairs, uint32_t pair_count,
		  struct err *err);
int store_put_transit_run(struct store *store, const struct run_record *run,
			  const struct transit_conditions *conditions, const struct transit *rows, uint32_t row_count,
			  struct err *err);

/* The second clock's view of the run put last: once a run. Rows in order of seq, clock->pairs of them. */
int store_put_second(struct store *store, const struct second_record *clock, const struct second_pair *rows,
		     struct err *err);

/*
 * What a run found, as a number with its name and unit ("batch_wall", "ms"): all there is of a run of a
 * measure that has no samples (its record is put by store_put_run with no pairs), and what was sampled
 * beside the probes of the others. The report makes of each name, cell by cell, a median over restarts of
 * medians over valid runs. NaN: this run could not find it; INFINITY: it never came.
 */
struct run_value {
	const char *name; /* lower case, words joined by _; once a run, with the same unit in every run */
	const char *unit; /* as printed; "" for a pure number */
	double value;
};

/* Of the run put last in the restart that is open; more than one call adds up, in this order. */
int store_put_values(struct store *store, const struct run_value *values, uint32_t count, struct err *err);

/* `target_facts`: what the target says of itself (JSON text) or NULL. `failure` NULL: good; else the reason it failed. */
int store_commit_restart(struct store *store, const char *target_facts, const char *failure, struct err *err);
void store_abandon_restart(struct store *store);

/* A cell that has restarts enough (the plan's stop: section), or the most that it may have. */
struct stored_stop {
	uint32_t cell;
	uint32_t block;     /* of the last restart that counted: turns of later blocks are passed over */
	uint32_t restarts;  /* that counted */
	double width;       /* of its interval then, over the median; INFINITY: none */
	const char *reason; /* "width": it was narrow enough; "most": it never was */
};

/* Between restarts. What is there already of the cell stays. */
int store_put_stop(struct store *store, const struct stored_stop *stop, struct err *err);

/* In order of the cells; none in a store of a schema before 3. */
int store_read_stops(struct store *store, struct arena *arena, uint32_t cell_count, struct stored_stop **ret,
		     uint32_t *ret_count, struct err *err);

/*
 * By cell, the last block in which it runs; UINT32_MAX: it has not stopped. A tare runs as long as one of the cells
 * that it is taken off. A turn of a later block is passed over.
 */
void stored_stops_last_blocks(const struct stored_stop *stops, uint32_t count, const struct cell *cells,
			      uint32_t cell_count, uint32_t *ret_last);

/* Something that happened, for the report: "clock stepped by ...". In a restart it commits with it, else at once. */
int store_put_event(struct store *store, const char *kind, const char *message, struct err *err);

/* --- reading --- */

struct stored_campaign {
	const char *name;
	enum measure measure;
	const char *plan_path, *plan_text;
	uint64_t plan_hash;
	uint64_t seed;
	uint32_t restarts, runs; /* as planned: per cell, per restart */
	const char *target_kind;
	const char *tare_version; /* that began the campaign */
	int64_t created_utc_ns;
	uint32_t axis_count;
	const char *const *axes;
	uint32_t cell_count;
	struct cell *cells;
	uint32_t turn_count, turns_done, turns_failed;
	uint32_t turns_passed; /* have not run and will not: their cells have stopped */
	struct turn *turns;
	bool *passed; /* by turn */
	struct stored_stop *stops;
	uint32_t stop_count;
	struct stored_fact *facts; /* by name */
	uint32_t fact_count;
	struct stored_event {
		int64_t utc_ns;
		int64_t restart; /* id of the restart in which it happened; 0: outside */
		const char *kind, *message;
	} * events; /* in the order in which they happened */
	uint32_t event_count;
};

struct stored_restart {
	int64_t id; /* from 1, in the order in which they ran */
	uint32_t cell, restart, block;
	uint32_t position; /* of its turn in the planned order, from 0 */
	int64_t started_utc_ns, ended_utc_ns;
	const char *host;         /* where it ran; empty: not known */
	const char *target_facts; /* NULL: none */
	const char *failure;      /* NULL: good. Else no figure may use it */
	struct stored_run {
		int64_t id;
		uint32_t pair_count;
		struct run_record record;
	} * runs;
	uint32_t run_count;
};

int store_read_campaign(struct store *store, struct arena *arena, struct stored_campaign *ret, struct err *err);

/* All restarts there are, failed ones too, in the order in which they ran. */
int store_read_restarts(struct store *store, struct arena *arena, struct stored_restart **ret, uint32_t *ret_count,
			struct err *err);

/* The same of those that are in the store since the one of that id. */
int store_read_restarts_since(struct store *store, int64_t id, struct arena *arena, struct stored_restart **ret,
			      uint32_t *ret_count, struct err *err);

/* Runs of good restarts that are invalid. */
int store_count_invalid_runs(struct store *store, uint32_t *ret, struct err *err);

/*
 * The samples of a run, in order of seq: all stored_run.pair_count of them, which
 * must fit `capacity`. Returns how many, or -errno; a run with other than
 * pair_count rows is a damaged store. Fast: millions of pairs a second, in
 * memory of one run.
 */
int64_t store_read_pairs(struct store *store, const struct stored_run *run, struct pair *ret_pairs, uint32_t capacity,
			 struct err *err);

/* The same for a run of a transit plan; its samples are counted in pair_count. */
int64_t store_read_transits(struct store *store, const struct stored_run *run, struct transit *ret_rows,
			    uint32_t capacity, struct err *err);
int store_read_conditions(struct store *store, const struct stored_run *run, struct transit_conditions *ret,
			  struct err *err);

/* 1: the run has a second clock; 0: none (or a store of a schema before 3). */
int store_read_second_clock(struct store *store, const struct stored_run *run, struct second_record *ret,
			    struct err *err);
/* Its rows in order of seq, clock->pairs of them, which must fit `capacity`. Returns how many, or -errno. */
int64_t store_read_second(struct store *store, const struct stored_run *run, const struct second_record *clock,
			  struct second_pair *ret_rows, uint32_t capacity, struct err *err);

/* The values of a run in the order in which they were put; none in a store of a schema before 3. */
int store_read_values(struct store *store, const struct stored_run *run, struct arena *arena, struct run_value **ret,
		      uint32_t *ret_count, struct err *err);

#endif
