/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/merge_private.h"
#include "store/schema.h"

/*
 * One source after the other is attached as `src` and its rows copied with new numbers, which temp.moved and temp.ran
 * give. Tables of a run's details are found by their column `run`, so that a new one needs nothing here.
 */
static const char *const own_tables[] = { "campaign", "host",    "axis",        "cell",           "cell_value",
					  "turn",     "restart", "run",         "event",          "identity",
					  "stopped",  "origin",  "origin_fact", "restart_origin", NULL };

/* The store that is made, as the helpers of a store want it. */
static int open_fresh(struct merge *m, struct store *s)
{
	*s = (struct store){ .path = (char *)m->fresh, .writer = true };
	arena_init(&s->arena, 0);
	if (sqlite3_open_v2(m->fresh, &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			    NULL) != SQLITE_OK)
		return store_fail(s, m->err, "creating it");
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	return 0;
}

static int create_tables(struct merge *m, struct store *s)
{
	const char *schema = schema_create_sql(&s->arena);
	char marks[96];
	int r;

	if (!schema)
		return store_oom(s, m->err);
	snprintf(marks, sizeof(marks), "PRAGMA application_id=%d; PRAGMA user_version=%d", STORE_APPLICATION_ID,
		 STORE_SCHEMA);
	/* nobody sees the file before it is whole, so nothing is lost with its journal */
	r = store_exec(
		s, "PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA trusted_schema=OFF",
		"creating it", m->err);
	if (r == 0)
		r = store_exec(s, schema, "creating its tables", m->err);
	if (r == 0)
		r = store_exec(s, marks, "creating it", m->err);
	if (r == 0)
		r = store_exec(s,
			       "CREATE TEMP TABLE moved (old INTEGER PRIMARY KEY, new INTEGER NOT NULL, first INTEGER "
			       "NOT NULL);"
			       "CREATE TEMP TABLE ran (old INTEGER PRIMARY KEY, new INTEGER NOT NULL);"
			       "CREATE TEMP TABLE fact (name TEXT NOT NULL, value TEXT NOT NULL);"
			       "CREATE TEMP TABLE happened (restart INTEGER, utc_ns INTEGER, kind TEXT, message TEXT)",
			       "creating its tables", m->err);
	return r;
}

static int attach(struct merge *m, struct store *s, const char *path)
{
	sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "ATTACH ? AS src", &stmt, m->err);

	if (r < 0)
		return r;
	sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC);
	r = sqlite3_step(stmt) == SQLITE_DONE
		    ? 0
		    : err_set(m->err, ERR_HOST, EIO, "%s: %s, while merging it", path, sqlite3_errmsg(s->db));
	sqlite3_finalize(stmt);
	return r;
}

/* temp.moved: the new numbers of this source's restarts. */
static int tell_numbers(struct merge *m, struct store *s, uint32_t source)
{
	sqlite3_stmt *stmt = NULL;
	int r = store_exec(s, "DELETE FROM temp.moved; DELETE FROM temp.ran", "merging", m->err);

	if (r == 0)
		r = store_prepare(s, "INSERT INTO temp.moved VALUES (?, ?, ?)", &stmt, m->err);
	for (size_t i = 0; r == 0 && i < m->restarts.count; i++) {
		const struct merge_restart *one = &m->restarts.items[i];

		if (one->source != source)
			continue;
		sqlite3_bind_int64(stmt, 1, one->old_id);
		sqlite3_bind_int64(stmt, 2, one->new_id);
		sqlite3_bind_int64(stmt, 3, one->first_run);
		r = store_step_once(s, stmt, "merging", m->err);
	}
	sqlite3_finalize(stmt);
	return r;
}

/* The columns of a table, those of which the new numbers are known replaced. */
static const char *columns_of(struct merge *m, struct store *s, const char *table, bool *ret_has_run)
{
	sqlite3_stmt *stmt = NULL;
	const char *list = "";

	*ret_has_run = false;
	if (store_prepare(s, "SELECT name FROM pragma_table_info(?) ORDER BY cid", &stmt, m->err) < 0)
		return NULL;
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	while (list && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		bool run = strcmp(name, "run") == 0;

		*ret_has_run = *ret_has_run || run;
		list = arena_printf(&m->arena, run ? "%s%sr.new" : "%s%sx.\"%s\"", list, *list ? ", " : "", name);
	}
	sqlite3_finalize(stmt);
	return list;
}

static bool is_own(const char *table)
{
	for (const char *const *own = own_tables; *own; own++)
		if (strcmp(*own, table) == 0)
			return true;
	return false;
}

/* Rows of every table that hangs on runs. */
static int copy_details(struct merge *m, struct store *s)
{
	sqlite3_stmt *stmt = NULL;
	int step = SQLITE_DONE,
	    r = store_prepare(s,
			      "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE "
			      "'sqlite_%' ORDER BY name",
			      &stmt, m->err);

	while (r == 0 && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(stmt, 0), *columns, *sql;
		bool has_run;

		if (is_own(table))
			continue;
		columns = columns_of(m, s, table, &has_run);
		TARE_ASSERT(!columns || has_run); /* a table that neither we nor a run's number know */
		sql = columns ? arena_printf(&m->arena,
					     "INSERT INTO main.\"%s\" SELECT %s FROM temp.ran r JOIN src.\"%s\" x ON "
					     "x.run = "
					     "r.old ORDER BY r.new",
					     table, columns, table)
			      : NULL;
		r = sql ? store_exec(s, sql, "copying the samples of a part", m->err) : store_oom(s, m->err);
	}
	if (r == 0 && step != SQLITE_DONE)
		r = store_fail(s, m->err, "merging");
	sqlite3_finalize(stmt);
	return r;
}

static const char *run_columns_list(struct merge *m, const char *prefix)
{
	const char *list = "";

	for (const struct run_column *c = run_columns; list && c->name; c++)
		list = arena_printf(&m->arena, "%s, %s%s", list, prefix, c->name);
	return list;
}

/* Restarts, their runs, and where they come from: the source itself, unless it knows better. */
static int copy_restarts(struct merge *m, struct store *s)
{
	const char *into = run_columns_list(m, ""), *from = run_columns_list(m, "x."), *runs;
	int r;

	if (!into || !from)
		return store_oom(s, m->err);
	runs = arena_printf(
		&m->arena,
		"INSERT INTO temp.ran SELECT x.id, m.first + row_number() OVER (PARTITION BY x.restart ORDER BY "
		"x.run) - 1 FROM src.run x JOIN temp.moved m ON m.old = x.restart;"
		"INSERT INTO main.run (id, restart, pairs%s) SELECT r.new, m.new, x.pairs%s FROM src.run x"
		" JOIN temp.ran r ON r.old = x.id JOIN temp.moved m ON m.old = x.restart ORDER BY r.new",
		into, from);
	if (!runs)
		return store_oom(s, m->err);
	r = store_exec(s,
		       "INSERT INTO main.restart SELECT m.new, x.turn, x.started_utc_ns, x.ended_utc_ns, "
		       "x.target_facts, x.failure"
		       " FROM src.restart x JOIN temp.moved m ON m.old = x.id ORDER BY m.new",
		       "copying the restarts of a part", m->err);
	if (r == 0)
		r = store_exec(s, runs, "copying the runs of a part", m->err);
	if (r == 0)
		r = store_exec(
			s,
			"INSERT INTO main.origin (store, host) SELECT store, host FROM src.origin ORDER BY id;"
			"INSERT INTO main.origin (store, host) SELECT i.store, coalesce((SELECT value FROM src.host "
			"WHERE"
			" name = 'host.name'), '?') FROM src.identity i WHERE EXISTS (SELECT 1 FROM src.restart x "
			"WHERE x.id"
			" NOT IN (SELECT restart FROM src.restart_origin)) OR NOT EXISTS (SELECT 1 FROM src.origin);"
			"INSERT INTO main.origin_fact SELECT o.id, f.name, f.value FROM src.origin_fact f"
			" JOIN src.origin p ON p.id = f.origin JOIN main.origin o ON o.store = p.store;"
			"INSERT INTO main.origin_fact SELECT o.id, h.name, h.value FROM src.identity i"
			" JOIN main.origin o ON o.store = i.store JOIN src.host h;"
			"INSERT INTO main.restart_origin SELECT m.new, o.id FROM temp.moved m"
			" LEFT JOIN src.restart_origin w ON w.restart = m.old LEFT JOIN src.origin p ON p.id = w.origin"
			" JOIN src.identity i JOIN main.origin o ON o.store = coalesce(p.store, i.store)",
			"copying where the restarts of a part come from", m->err);
	return r;
}

static int copy_source(struct merge *m, struct store *s, uint32_t source)
{
	int r = attach(m, s, m->sources[source].path);

	if (r < 0)
		return r;
	if (source == 0)
		r = store_exec(s,
			       "INSERT INTO main.campaign SELECT * FROM src.campaign;"
			       "INSERT INTO main.axis SELECT * FROM src.axis;"
			       "INSERT INTO main.cell SELECT * FROM src.cell;"
			       "INSERT INTO main.cell_value SELECT * FROM src.cell_value;"
			       "INSERT INTO main.turn SELECT * FROM src.turn ORDER BY id",
			       "copying the plan", m->err);
	if (r == 0)
		r = tell_numbers(m, s, source);
	if (r == 0)
		r = copy_restarts(m, s);
	if (r == 0)
		r = copy_details(m, s);
	if (r == 0)
		r = store_exec(s,
			       "INSERT OR IGNORE INTO main.stopped SELECT * FROM src.stopped;"
			       "INSERT INTO temp.fact SELECT name, value FROM src.host;"
			       "INSERT INTO temp.happened SELECT m.new, e.utc_ns, e.kind, e.message FROM src.event e"
			       " LEFT JOIN temp.moved m ON m.old = e.restart ORDER BY e.id;"
			       "UPDATE main.campaign SET created_utc_ns = min(created_utc_ns,"
			       " (SELECT created_utc_ns FROM src.campaign))",
			       "copying what a part knows of its host", m->err);
	sqlite3_exec(s->db, "DETACH src", NULL, NULL, NULL);
	return r;
}

/* Facts that all parts share stay one; the others are listed. Events in the order of time. */
static int finish(struct merge *m, struct store *s)
{
	sqlite3_stmt *stmt = NULL;
	int r = store_exec(
		s,
		"INSERT INTO main.host SELECT name, CASE WHEN count(*) <= 8 THEN group_concat(value, '; ') ELSE"
		" count(*) || ' different values, see origin_fact' END"
		" FROM (SELECT DISTINCT name, value FROM temp.fact ORDER BY name, value) GROUP BY name;"
		"INSERT INTO main.event (restart, utc_ns, kind, message) SELECT * FROM temp.happened"
		" ORDER BY utc_ns, rowid",
		"merging what the parts know of their hosts", m->err);

	if (r == 0)
		r = store_prepare(s, "SELECT (SELECT count(*) FROM turn), (SELECT count(DISTINCT host) FROM origin)",
				  &stmt, m->err);
	if (r == 0 && sqlite3_step(stmt) == SQLITE_ROW) {
		m->turns = (uint32_t)sqlite3_column_int64(stmt, 0);
		m->hosts = (uint32_t)sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	/* on the disk before it gets its name */
	return r < 0 ? r
		     : store_exec(s, "PRAGMA synchronous=FULL; PRAGMA journal_mode=DELETE; UPDATE campaign SET id = id",
				  "finishing it", m->err);
}

int merge_write(struct merge *m)
{
	struct store s;
	int r = open_fresh(m, &s);

	if (r == 0)
		r = create_tables(m, &s);
	for (uint32_t i = 0; r == 0 && i < m->count; i++)
		r = copy_source(m, &s, i);
	if (r == 0)
		r = finish(m, &s);
	sqlite3_close(s.db);
	arena_release(&s.arena);
	return r;
}
