/* SPDX-License-Identifier: Apache-2.0 */
#include "store/trial.h"

#include <stddef.h>
#include <string.h>

#include "store/schema.h"
#include "store/store_private.h"

#define FIELD(column, type, member)                                                                                    \
	{                                                                                                              \
		column, type, offsetof(struct search_record, member), sizeof(((struct search_record *)0)->member)      \
	}

static const struct run_column search_columns[] = {
	FIELD("sweep", COLUMN_U32, sweep),
	FIELD("goal_probe_loss", COLUMN_DOUBLE, goal.probe_loss),
	FIELD("goal_carrier_loss", COLUMN_DOUBLE, goal.carrier_loss),
	FIELD("goal_initial_ns", COLUMN_I64, goal.initial_ns),
	FIELD("goal_final_ns", COLUMN_I64, goal.final_ns),
	FIELD("goal_sum_ns", COLUMN_I64, goal.sum_ns),
	FIELD("goal_exceed", COLUMN_DOUBLE, goal.exceed),
	FIELD("goal_width", COLUMN_DOUBLE, goal.width),
	FIELD("least_bps", COLUMN_I64, least_bps),
	FIELD("most_bps", COLUMN_I64, most_bps),
	FIELD("lower_bps", COLUMN_I64, result.lower_bps),
	FIELD("upper_bps", COLUMN_I64, result.upper_bps),
	FIELD("conditional_bps", COLUMN_DOUBLE, result.conditional_bps),
	FIELD("width", COLUMN_DOUBLE, result.width),
	FIELD("irregular", COLUMN_U32, result.irregular),
	FIELD("inverted_bps", COLUMN_I64, result.inverted_bps),
	FIELD("inverted_by_bps", COLUMN_I64, result.inverted_by_bps),
	FIELD("trials", COLUMN_U32, result.trials),
	FIELD("length_ns", COLUMN_I64, result.length_ns),
	{ NULL },
};

#undef FIELD
#define FIELD(column, type, member)                                                                                    \
	{                                                                                                              \
		column, type, offsetof(struct trial, member), sizeof(((struct trial *)0)->member)                      \
	}

static const struct run_column trial_columns[] = {
	FIELD("started_utc_ns", COLUMN_I64, started_utc_ns),
	FIELD("rate_bps", COLUMN_I64, rate_bps),
	FIELD("duration_ns", COLUMN_I64, duration_ns),
	FIELD("probes_sent", COLUMN_U32, probes_sent),
	FIELD("probes_arrived", COLUMN_U32, probes_arrived),
	FIELD("carrier_due", COLUMN_U64, carrier_due),
	FIELD("carrier_sent", COLUMN_U64, carrier_sent),
	FIELD("carrier_refused", COLUMN_U64, carrier_refused),
	FIELD("carrier_received", COLUMN_U64, carrier_received),
	FIELD("offered_bps", COLUMN_DOUBLE, offered_bps),
	FIELD("received_bps", COLUMN_DOUBLE, received_bps),
	FIELD("hole_ns", COLUMN_I64, hole_ns),
	FIELD("tries", COLUMN_U32, tries),
	FIELD("p50_us", COLUMN_DOUBLE, p50_us),
	FIELD("p99_us", COLUMN_DOUBLE, p99_us),
	FIELD("sender_short", COLUMN_U32, sender_short),
	FIELD("high", COLUMN_U32, high),
	{ NULL },
};

static const char *columns_sql(const struct run_column *columns, const char *sql, struct arena *arena)
{
	for (const struct run_column *c = columns; sql && c->name; c++)
		sql = arena_printf(arena, "%s, %s %s", sql, c->name,
				   c->type == COLUMN_DOUBLE ? "REAL" : "INTEGER NOT NULL");
	return sql;
}

const char *schema_trial_sql(struct arena *arena)
{
	const char *search =
		columns_sql(search_columns, "CREATE TABLE search (run INTEGER PRIMARY KEY REFERENCES run", arena);
	const char *trial = columns_sql(
		trial_columns, "CREATE TABLE trial (run INTEGER NOT NULL REFERENCES run, seq INTEGER NOT NULL", arena);

	return search && trial
		       ? arena_printf(arena,
				      "%s) STRICT;%s, PRIMARY KEY (run, seq)) STRICT, WITHOUT ROWID;"
				      "CREATE VIEW trial_loss AS SELECT t.cell, t.restart, r.run, x.run AS run_id,"
				      " x.seq, x.rate_bps / 1e6 AS rate_mbps, x.duration_ns / 1e9 AS duration_s,"
				      " 100.0 * (1 - 1.0 * x.probes_arrived / x.probes_sent) AS probe_loss_pct,"
				      " 100.0 * max(0, 1 - 1.0 * x.carrier_received / CASE WHEN x.sender_short"
				      " THEN x.carrier_due ELSE x.carrier_sent + x.carrier_refused END)"
				      " AS carrier_loss_pct, x.high, x.sender_short, x.p50_us, x.p99_us FROM trial x"
				      " JOIN run r ON r.id = x.run JOIN restart s ON s.id = r.restart"
				      " JOIN turn t ON t.id = s.turn;",
				      search, trial)
		       : NULL;
}

/* --- writing --- */

static int write_row(struct store *s, sqlite3_stmt *stmt, int64_t seq, const struct run_column *columns,
		     const void *record, struct err *err)
{
	sqlite3_bind_int64(stmt, 1, s->run_id);
	if (seq >= 0)
		sqlite3_bind_int64(stmt, 2, seq);
	store_bind_columns(stmt, seq >= 0 ? 3 : 2, columns, record);
	return store_step_once(s, stmt, "writing a search", err);
}

/* "INSERT INTO TABLE (FIRST, column...) VALUES (?...)". */
static const char *insert_sql(const char *table, const char *first, const struct run_column *columns,
			      struct arena *arena)
{
	const char *sql = arena_printf(arena, "INSERT INTO %s (%s", table, first);

	for (const struct run_column *c = columns; sql && c->name; c++)
		sql = arena_printf(arena, "%s, %s", sql, c->name);
	sql = sql ? arena_printf(arena, "%s) VALUES (?", sql) : NULL;
	for (const char *comma = strchr(first, ','); sql && comma; comma = strchr(comma + 1, ','))
		sql = arena_printf(arena, "%s, ?", sql);
	for (const struct run_column *c = columns; sql && c->name; c++)
		sql = arena_printf(arena, "%s, ?", sql);
	return sql ? arena_printf(arena, "%s)", sql) : NULL;
}

static int write_search(struct store *s, const struct search_record *search, const struct trial *trials, uint32_t count,
			struct arena *arena, struct err *err)
{
	const char *search_sql = insert_sql("search", "run", search_columns, arena);
	const char *trial_sql = insert_sql("trial", "run, seq", trial_columns, arena);
	sqlite3_stmt *insert_search = NULL, *insert_trial = NULL;
	int r = search_sql && trial_sql ? store_prepare(s, search_sql, &insert_search, err) : store_oom(s, err);

	if (r == 0)
		r = store_prepare(s, trial_sql, &insert_trial, err);
	if (r == 0)
		r = write_row(s, insert_search, -1, search_columns, search, err);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = write_row(s, insert_trial, i, trial_columns, &trials[i], err);
	sqlite3_finalize(insert_search);
	sqlite3_finalize(insert_trial);
	return r;
}

int store_put_search(struct store *s, const struct search_record *search, const struct trial *trials, uint32_t count,
		     struct err *err)
{
	struct arena arena;
	int r;

	TARE_ASSERT(s->writer && s->in_restart && s->run_id);
	arena_init(&arena, 0);
	r = write_search(s, search, trials, count, &arena, err);
	arena_release(&arena);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

/* --- reading --- */

static int select_prepare(struct store *s, const char *table, const struct run_column *columns, const char *order,
			  const struct stored_run *run, sqlite3_stmt **ret, struct err *err)
{
	const char *sql = "SELECT run";
	struct arena arena;
	int r;

	arena_init(&arena, 0);
	for (const struct run_column *c = columns; sql && c->name; c++)
		sql = arena_printf(&arena, "%s, %s", sql, c->name);
	sql = sql ? arena_printf(&arena, "%s FROM %s WHERE run = ?%s", sql, table, order) : NULL;
	r = sql ? store_prepare(s, sql, ret, err) : store_oom(s, err);
	arena_release(&arena);
	if (r == 0)
		sqlite3_bind_int64(*ret, 1, run->id);
	return r;
}

static void row_into(sqlite3_stmt *stmt, const struct run_column *columns, void *record)
{
	int column = 1;

	for (const struct run_column *c = columns; c->name; c++)
		store_column_into(stmt, column++, c, record);
}

static int read_record(struct store *s, const struct stored_run *run, struct search_record *ret, bool *ret_found,
		       struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r = select_prepare(s, "search", search_columns, "", run, &stmt, err);
	int step = r == 0 ? sqlite3_step(stmt) : SQLITE_ERROR;

	if (r == 0 && step == SQLITE_ROW)
		row_into(stmt, search_columns, ret);
	else if (r == 0 && step != SQLITE_DONE)
		r = store_fail(s, err, "reading a search");
	sqlite3_finalize(stmt);
	*ret_found = r == 0 && step == SQLITE_ROW;
	if (*ret_found && (ret->result.lower_bps < 0 || ret->result.upper_bps < 0))
		r = store_damaged(s, err, "a search has bounds below zero");
	return r;
}

/* A damaged file may say anything: what charts and losses stand on must hang together. */
static bool trial_good(const struct trial *t)
{
	return t->rate_bps > 0 && t->duration_ns > 0 && t->probes_arrived <= t->probes_sent;
}

static int read_trials(struct store *s, const struct stored_run *run, struct trial *trials, uint32_t count,
		       struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r = select_prepare(s, "trial", trial_columns, " ORDER BY seq", run, &stmt, err);
	uint32_t i = 0;
	int step = SQLITE_DONE;

	while (r == 0 && (step = sqlite3_step(stmt)) == SQLITE_ROW && i < count) {
		row_into(stmt, trial_columns, &trials[i]);
		if (!trial_good(&trials[i]))
			r = store_damaged(s, err, "a trial contradicts itself");
		i++;
	}
	if (r == 0 && step != SQLITE_DONE && step != SQLITE_ROW)
		r = store_fail(s, err, "reading trials");
	else if (r == 0 && (step == SQLITE_ROW || i != count))
		r = store_damaged(s, err, "a search has not as many trials as it says");
	sqlite3_finalize(stmt);
	return r;
}

/* Before there is room for them: what a search says may be damaged. */
static int count_trials(struct store *s, const struct stored_run *run, uint32_t expected, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT count(*) FROM trial WHERE run = ?", &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, run->id);
	if (sqlite3_step(stmt) != SQLITE_ROW)
		r = store_fail(s, err, "counting trials");
	else if (sqlite3_column_int64(stmt, 0) != expected)
		r = store_damaged(s, err, "a search has not as many trials as it says");
	sqlite3_finalize(stmt);
	return r;
}

int store_read_search(struct store *s, const struct stored_run *run, struct arena *arena,
		      struct search_record *ret_search, struct trial **ret_trials, uint32_t *ret_count, bool *ret_found,
		      struct err *err)
{
	struct search_record search = { 0 };
	struct trial *trials = NULL;
	bool found = false;
	int r = s->schema >= 3 ? read_record(s, run, &search, &found, err) : 0;

	if (r == 0 && found)
		r = count_trials(s, run, search.result.trials, err);
	if (r == 0 && search.result.trials) {
		trials = arena_array(arena, search.result.trials, sizeof(*trials));
		r = trials ? read_trials(s, run, trials, search.result.trials, err) : store_oom(s, err);
	}
	if (r < 0)
		return r;
	*ret_search = search;
	*ret_trials = trials;
	*ret_count = search.result.trials;
	*ret_found = found;
	return 0;
}
