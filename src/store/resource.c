/* SPDX-License-Identifier: Apache-2.0 */
#include "store/resource.h"

#include <stdio.h>

#include "store/store_private.h"

#define PARTS_COLUMNS "run, seq, wake_up, cpu_wait, running, rest"

/* A table a kind: resource_process, ...; the columns are the sampler's. */
const char *schema_resource_sql(struct arena *arena)
{
	const char *sql =
		"CREATE TABLE resource_subject (run INTEGER NOT NULL REFERENCES run, subject INTEGER NOT NULL,"
		" kind TEXT NOT NULL, name TEXT NOT NULL, tid INTEGER, gone INTEGER NOT NULL,"
		" PRIMARY KEY (run, subject)) STRICT, WITHOUT ROWID;"
		"CREATE TABLE transit_part (run INTEGER NOT NULL, seq INTEGER NOT NULL, wake_up INTEGER NOT "
		"NULL, cpu_wait INTEGER NOT NULL, running INTEGER NOT NULL, rest INTEGER NOT NULL,"
		" PRIMARY KEY (run, seq)) STRICT, WITHOUT ROWID;";

	for (int k = 0; sql && k < SAMPLER_KINDS; k++) {
		const struct sampler_kind_names *kind = &sampler_kinds[k];

		sql = arena_printf(arena,
				   "%sCREATE TABLE resource_%s (run INTEGER NOT NULL, sample INTEGER NOT NULL,"
				   " subject INTEGER NOT NULL, at INTEGER NOT NULL",
				   sql, kind->name);
		for (uint32_t i = 0; sql && i < kind->column_count; i++)
			sql = arena_printf(arena, "%s, %s INTEGER", sql, kind->columns[i]);
		sql = sql ? arena_printf(arena, "%s, PRIMARY KEY (run, sample, subject)) STRICT, WITHOUT ROWID;", sql)
			  : NULL;
	}
	return sql;
}

/* --- writing --- */

static int put_subjects(struct store *s, const struct sampler_log *log, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r = store_prepare(
		s, "INSERT INTO resource_subject (run, subject, kind, name, tid, gone) VALUES (?, ?, ?, ?, ?, ?)",
		&stmt, err);

	for (uint32_t i = 0; r == 0 && i < log->subject_count; i++) {
		const struct sampler_subject *is = &log->subjects[i];

		sqlite3_clear_bindings(stmt);
		sqlite3_bind_int64(stmt, 1, s->run_id);
		sqlite3_bind_int64(stmt, 2, i);
		sqlite3_bind_text(stmt, 3, sampler_kinds[is->kind].name, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 4, is->name, -1, SQLITE_STATIC);
		if (is->tid)
			sqlite3_bind_int64(stmt, 5, is->tid);
		sqlite3_bind_int64(stmt, 6, is->gone);
		r = store_step_once(s, stmt, "writing what was sampled", err);
	}
	sqlite3_finalize(stmt);
	return r;
}

static int put_rows(struct store *s, const struct sampler_log *log, enum sampler_kind kind, struct err *err)
{
	const uint32_t columns = sampler_kinds[kind].column_count;
	sqlite3_stmt *stmt = NULL;
	char sql[160];
	int n = snprintf(sql, sizeof(sql), "INSERT INTO resource_%s VALUES (?, ?, ?, ?", sampler_kinds[kind].name), r;

	for (uint32_t i = 0; i < columns; i++)
		n += snprintf(sql + n, sizeof(sql) - (size_t)n, ", ?");
	snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
	r = store_prepare(s, sql, &stmt, err);
	for (size_t i = 0; r == 0 && i < log->row_count; i++) {
		const struct sampler_row *row = &log->rows[i];

		if (log->subjects[row->subject].kind != kind)
			continue;
		sqlite3_clear_bindings(stmt);
		sqlite3_bind_int64(stmt, 1, s->run_id);
		sqlite3_bind_int64(stmt, 2, row->sample);
		sqlite3_bind_int64(stmt, 3, row->subject);
		sqlite3_bind_int64(stmt, 4, row->at_ns);
		for (uint32_t c = 0; c < columns; c++)
			if (row->v[c] != SAMPLER_NONE)
				sqlite3_bind_int64(stmt, 5 + (int)c, row->v[c]);
		r = store_step_once(s, stmt, "writing what was sampled", err);
	}
	sqlite3_finalize(stmt);
	return r;
}

int store_put_resources(struct store *s, const struct sampler_log *log, struct err *err)
{
	int r;

	TARE_ASSERT(s->writer && s->in_restart && s->run_id);
	r = put_subjects(s, log, err);
	for (int k = 0; r == 0 && k < SAMPLER_KINDS; k++)
		r = put_rows(s, log, (enum sampler_kind)k, err);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

int store_put_parts(struct store *s, const struct probe_parts *parts, size_t count, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r;

	TARE_ASSERT(s->writer && s->in_restart && s->run_id);
	r = store_prepare(s, "INSERT INTO transit_part (" PARTS_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?)", &stmt, err);
	for (size_t i = 0; r == 0 && i < count; i++) {
		sqlite3_bind_int64(stmt, 1, s->run_id);
		sqlite3_bind_int64(stmt, 2, parts[i].seq);
		for (int p = 0; p < PATH_PARTS; p++)
			sqlite3_bind_int64(stmt, 3 + p, parts[i].ns[p]);
		r = store_step_once(s, stmt, "writing the parts of probes", err);
	}
	sqlite3_finalize(stmt);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

/* --- reading --- */

int64_t store_count_parts(struct store *s, const struct stored_run *run, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int64_t count;
	int r;

	if (s->schema < 3)
		return 0;
	r = store_prepare(s, "SELECT count(*) FROM transit_part WHERE run = ?", &stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, run->id);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		count = sqlite3_column_int64(stmt, 0);
	else
		count = store_fail(s, err, "counting the parts of a run");
	sqlite3_finalize(stmt);
	return count;
}

/* Times that can be added up; a damaged file may say anything. */
static bool parts_at(sqlite3_stmt *stmt, struct probe_parts *ret)
{
	const int64_t most_ns = INT64_C(1) << 55, seq = sqlite3_column_int64(stmt, 0);

	ret->seq = (uint32_t)seq;
	if (seq < 0 || seq > UINT32_MAX)
		return false;
	for (int p = 0; p < PATH_PARTS; p++) {
		ret->ns[p] = sqlite3_column_int64(stmt, 1 + p);
		if (ret->ns[p] < 0 || ret->ns[p] > most_ns)
			return false;
	}
	return true;
}

int64_t store_read_parts(struct store *s, const struct stored_run *run, struct probe_parts *ret, size_t capacity,
			 struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int64_t count = 0;
	int r, step = SQLITE_DONE;

	if (s->schema < 3)
		return 0;
	r = store_prepare(s,
			  "SELECT seq, wake_up, cpu_wait, running, rest FROM transit_part WHERE run = ? ORDER BY seq",
			  &stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, run->id);
	while ((size_t)count < capacity && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (!parts_at(stmt, &ret[count]))
			break;
		count++;
	}
	if (step == SQLITE_ROW && (size_t)count < capacity)
		count = store_damaged(s, err, "the parts of a probe are no times");
	else if (step != SQLITE_DONE && step != SQLITE_ROW)
		count = store_fail(s, err, "reading the parts of a run");
	sqlite3_finalize(stmt);
	return count;
}
