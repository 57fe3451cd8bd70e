/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/schema.h"
#include "store/store_private.h"

enum store_turn store_turn_state(const struct store *store, uint32_t position)
{
	TARE_ASSERT(store->turn_state && position < store->turn_count);
	return (enum store_turn)store->turn_state[position];
}

/* Step a statement that returns no rows, ready to be used again. */
int store_step_once(struct store *s, sqlite3_stmt *stmt, const char *doing, struct err *err)
{
	int r = sqlite3_step(stmt) == SQLITE_DONE ? 0 : store_fail(s, err, doing);

	sqlite3_reset(stmt);
	return r;
}

/* --- facts and events --- */

int store_put_event(struct store *s, const char *kind, const char *message, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r;

	TARE_ASSERT(s->writer);
	r = store_prepare(s, "INSERT INTO event (restart, utc_ns, kind, message) VALUES (?, ?, ?, ?)", &stmt, err);
	if (r < 0)
		return r;
	if (s->in_restart)
		sqlite3_bind_int64(stmt, 1, s->restart_id);
	sqlite3_bind_int64(stmt, 2, store_utc_ns());
	sqlite3_bind_text(stmt, 3, kind, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 4, message, -1, SQLITE_STATIC);
	r = store_step_once(s, stmt, "writing an event", err);
	sqlite3_finalize(stmt);
	return r;
}

/* The stored value where it differs from `value`, "" where there is none yet, NULL where it is the same. */
static int changed_from(struct store *s, const char *name, const char *value, char **ret_old, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	const char *old = "";
	int r, step;

	r = store_prepare(s, "SELECT value FROM host WHERE name = ?", &stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	step = sqlite3_step(stmt);
	if (step == SQLITE_ROW)
		old = (const char *)sqlite3_column_text(stmt, 0);
	else if (step != SQLITE_DONE)
		r = store_fail(s, err, "reading a fact");
	*ret_old = NULL;
	if (r == 0 && (step == SQLITE_DONE || !old || strcmp(old, value) != 0)) {
		*ret_old = strdup(old ? old : "");
		if (!*ret_old)
			r = store_oom(s, err);
	}
	sqlite3_finalize(stmt);
	return r;
}

static int write_fact(struct store *s, const char *name, const char *value, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "INSERT OR REPLACE INTO host (name, value) VALUES (?, ?)", &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, value, -1, SQLITE_STATIC);
	r = store_step_once(s, stmt, "writing a fact", err);
	sqlite3_finalize(stmt);
	return r;
}

static int put_fact(struct store *s, const char *name, const char *value, struct err *err)
{
	char *old = NULL, *message;
	int r;

	r = changed_from(s, name, value, &old, err);
	if (r < 0 || !old)
		return r;
	r = write_fact(s, name, value, err);
	if (r == 0 && *old) {
		message = sqlite3_mprintf("%s was '%s', is now '%s'", name, old, value);
		r = message ? store_put_event(s, "host changed", message, err) : store_oom(s, err);
		sqlite3_free(message);
	}
	free(old);
	return r;
}

int store_put_facts(struct store *s, const struct stored_fact *facts, uint32_t count, struct err *err)
{
	int r = 0;

	TARE_ASSERT(s->writer);
	if (!s->in_restart)
		r = store_exec(s, "BEGIN IMMEDIATE", "writing facts", err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = put_fact(s, facts[i].name, facts[i].value, err);
	if (s->in_restart)
		return r;
	if (r == 0)
		r = store_exec(s, "COMMIT", "writing facts", err);
	if (r < 0 && !sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

/* --- a restart --- */

void store_abandon_restart(struct store *s)
{
	if (!s->in_restart)
		return;
	s->in_restart = false;
	/* SQLite rolls back by itself after some errors */
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_begin_restart(struct store *s, uint32_t position, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r;

	TARE_ASSERT(s->writer && !s->in_restart && position < s->turn_count);
	TARE_ASSERT(s->turn_state[position] != STORE_TURN_DONE);
	r = store_exec(s, "BEGIN IMMEDIATE", "beginning a restart", err);
	if (r < 0)
		return r;
	s->in_restart = true;
	s->turn = position;
	s->run_id = 0;
	r = store_prepare(s, "INSERT INTO restart (turn, started_utc_ns, ended_utc_ns) VALUES (?, ?, 0)", &stmt, err);
	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, position);
		sqlite3_bind_int64(stmt, 2, store_utc_ns());
		r = store_step_once(s, stmt, "beginning a restart", err);
		s->restart_id = sqlite3_last_insert_rowid(s->db);
	}
	sqlite3_finalize(stmt);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

void store_bind_columns(sqlite3_stmt *stmt, int first, const struct run_column *columns, const void *record)
{
	for (const struct run_column *c = columns; c->name; c++, first++) {
		const char *field = (const char *)record + c->offset;

		switch (c->type) {
		case COLUMN_I32:
			sqlite3_bind_int64(stmt, first, *(const int32_t *)field);
			break;
		case COLUMN_U32:
			sqlite3_bind_int64(stmt, first, *(const uint32_t *)field);
			break;
		case COLUMN_I64:
		case COLUMN_U64:
			sqlite3_bind_int64(stmt, first, *(const int64_t *)field);
			break;
		case COLUMN_DOUBLE:
			sqlite3_bind_double(stmt, first, *(const double *)field);
			break;
		case COLUMN_TEXT:
			sqlite3_bind_text(stmt, first, field, (int)strnlen(field, c->size_bytes), SQLITE_STATIC);
			break;
		}
	}
}

/* a - b, exact modulo 2^64: what is read back is what was written, whatever the times are */
static int64_t ticks_since(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void bind_optional(sqlite3_stmt *stmt, int index, int64_t ticks, int64_t base_ticks)
{
	if (ticks == PAIR_NONE)
		sqlite3_bind_null(stmt, index);
	else
		sqlite3_bind_int64(stmt, index, ticks_since(ticks, base_ticks));
}

/* The order is SCHEMA_PAIR_COLUMNS; run is bound once for all. */
static void bind_pair(sqlite3_stmt *stmt, const struct pair *p)
{
	sqlite3_bind_int64(stmt, 2, p->seq);
	sqlite3_bind_int64(stmt, 3, p->packet);
	sqlite3_bind_int64(stmt, 4, p->fate);
	sqlite3_bind_int64(stmt, 5, p->flags);
	bind_optional(stmt, 6, p->path_ticks, p->tx_ticks);
	bind_optional(stmt, 7, p->bypass_ticks, p->tx_ticks);
	bind_optional(stmt, 8, p->truth_ticks, 0);
	sqlite3_bind_int64(stmt, 9, p->sched_ticks);
	sqlite3_bind_int64(stmt, 10, ticks_since(p->tx_ticks, p->sched_ticks));
	bind_optional(stmt, 11, p->gap_path_ticks, 0);
	bind_optional(stmt, 12, p->gap_bypass_ticks, 0);
	sqlite3_bind_int64(stmt, 13, p->burst_path | p->burst_bypass << 8);
}

int64_t store_write_run(struct store *s, const struct run_record *run, uint32_t sample_count, struct err *err)
{
	int r = store_prepare(s, s->insert_run ? NULL : schema_insert_run_sql(&s->arena), &s->insert_run, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(s->insert_run, 1, s->restart_id);
	sqlite3_bind_int64(s->insert_run, 2, sample_count);
	store_bind_columns(s->insert_run, 3, run_columns, run);
	r = store_step_once(s, s->insert_run, "writing a run", err);
	if (r < 0)
		return r;
	s->run_id = sqlite3_last_insert_rowid(s->db);
	s->run_values = 0;
	return s->run_id;
}

static int write_pairs(struct store *s, int64_t run_id, const struct pair *pairs, uint32_t pair_count, struct err *err)
{
	int r = store_prepare(
		s, "INSERT INTO pair (" SCHEMA_PAIR_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		&s->insert_pair, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(s->insert_pair, 1, run_id);
	for (uint32_t i = 0; r == 0 && i < pair_count; i++) {
		bind_pair(s->insert_pair, &pairs[i]);
		r = store_step_once(s, s->insert_pair, "writing samples", err);
	}
	return r;
}

int store_put_run(struct store *s, const struct run_record *run, const struct pair *pairs, uint32_t pair_count,
		  struct err *err)
{
	int64_t run_id;
	int r;

	TARE_ASSERT(s->writer && s->in_restart);
	run_id = store_write_run(s, run, pair_count, err);
	r = run_id < 0 ? (int)run_id : write_pairs(s, run_id, pairs, pair_count, err);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

int store_commit_restart(struct store *s, const char *target_facts, const char *failure, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r;

	TARE_ASSERT(s->writer && s->in_restart);
	r = store_prepare(s, "UPDATE restart SET ended_utc_ns = ?, target_facts = ?, failure = ? WHERE id = ?", &stmt,
			  err);
	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, store_utc_ns());
		sqlite3_bind_text(stmt, 2, target_facts, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, failure, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 4, s->restart_id);
		r = store_step_once(s, stmt, "finishing a restart", err);
	}
	sqlite3_finalize(stmt);
	if (r == 0)
		r = store_exec(s, "COMMIT", "committing a restart", err);
	if (r < 0) {
		store_abandon_restart(s);
		return r;
	}
	s->in_restart = false;
	s->turn_state[s->turn] = failure ? STORE_TURN_FAILED : STORE_TURN_DONE;
	return 0;
}
