/* SPDX-License-Identifier: Apache-2.0 */
#include "store/create.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/build.h"
#include "store/schema.h"
#include "target/target.h"

/* One row: `types` has a letter a value: 't' const char *, 'i' int64_t, of which -1 is a NULL. */
static int insert(struct store *s, const char *sql, struct err *err, const char *types, ...)
{
	sqlite3_stmt *stmt = NULL;
	va_list ap;
	int r = store_prepare(s, sql, &stmt, err);

	if (r < 0)
		return r;
	va_start(ap, types);
	for (int i = 0; types[i]; i++) {
		if (types[i] == 't') {
			sqlite3_bind_text(stmt, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
		} else {
			int64_t number = va_arg(ap, int64_t);

			if (number >= 0)
				sqlite3_bind_int64(stmt, i + 1, number);
		}
	}
	va_end(ap);
	if (sqlite3_step(stmt) != SQLITE_DONE)
		r = store_fail(s, err, "writing the plan");
	sqlite3_finalize(stmt);
	return r;
}

static int write_campaign(struct store *s, const struct plan *plan, struct err *err)
{
	char hash[24], seed[24];

	snprintf(hash, sizeof(hash), "%016" PRIx64, plan->text_hash);
	snprintf(seed, sizeof(seed), "%" PRIu64, plan->seed);
	return insert(s, "INSERT INTO campaign VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", err, "ttttttiitti",
		      plan->name, measure_name(plan->measure), plan->path ? plan->path : "-", plan->text, hash, seed,
		      (int64_t)plan->restarts, (int64_t)plan->runs, plan->target ? plan->target->kind : "",
		      build_version(), store_utc_ns());
}

static int write_cells(struct store *s, const struct plan *plan, struct err *err)
{
	int r = 0;

	for (uint32_t a = 0; r == 0 && a < plan->axis_count; a++)
		r = insert(s, "INSERT INTO axis VALUES (?, ?)", err, "it", (int64_t)a, plan->axes[a]);
	for (uint32_t c = 0; r == 0 && c < plan->cell_count; c++) {
		const struct cell *cell = &plan->cells[c];

		r = insert(s, "INSERT INTO cell VALUES (?, ?, ?, ?)", err, "itii", (int64_t)c, cell->label,
			   (int64_t)cell->is_tare, cell->tare == CELL_NONE ? INT64_C(-1) : (int64_t)cell->tare);
		for (uint32_t a = 0; r == 0 && a < plan->axis_count; a++)
			if (cell->values && cell->values[a])
				r = insert(s, "INSERT INTO cell_value VALUES (?, ?, ?)", err, "iit", (int64_t)c,
					   (int64_t)a, cell->values[a]);
	}
	for (uint32_t t = 0; r == 0 && t < plan->turn_count; t++)
		r = insert(s, "INSERT INTO turn VALUES (?, ?, ?, ?)", err, "iiii", (int64_t)t,
			   (int64_t)plan->turns[t].cell, (int64_t)plan->turns[t].restart,
			   (int64_t)plan->turns[t].block);
	return r;
}

static int write_all(struct store *s, const struct plan *plan, struct err *err)
{
	const char *schema = schema_create_sql(&s->arena);
	char marks[96];
	int r;

	if (!schema)
		return store_oom(s, err);
	snprintf(marks, sizeof(marks), "PRAGMA application_id=%d; PRAGMA user_version=%d", STORE_APPLICATION_ID,
		 STORE_SCHEMA);
	/* larger pages than the default: rows are small and read by the million */
	r = store_exec(s, "PRAGMA page_size=16384; PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE", "creating it", err);
	if (r == 0)
		r = store_exec(s, schema, "creating its tables", err);
	if (r == 0)
		r = store_exec(s, marks, "creating it", err);
	if (r == 0)
		r = write_campaign(s, plan, err);
	if (r == 0)
		r = write_cells(s, plan, err);
	return r < 0 ? r : store_exec(s, "COMMIT", "creating it", err);
}

static void sync_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

/* The file whose name is that of tare.db with something behind it. */
static void remove_beside(const struct store *s, const char *suffix)
{
	char *path = sqlite3_mprintf("%s%s", s->path, suffix);

	if (path)
		unlink(path);
	sqlite3_free(path);
}

static int create_as(struct store *s, const char *fresh, const struct plan *plan, struct err *err)
{
	int r;

	if (sqlite3_open_v2(fresh, &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			    NULL) != SQLITE_OK)
		r = store_fail(s, err, "creating it");
	else
		r = write_all(s, plan, err);
	sqlite3_close(s->db);
	s->db = NULL;
	return r;
}

int store_create_file(struct store *s, const struct plan *plan, struct err *err)
{
	char *fresh = sqlite3_mprintf("%s.new", s->path);
	int r;

	if (!fresh)
		return store_oom(s, err);
	/* What a kill left behind. The log of a tare.db that someone deleted would be merged into the new one. */
	remove_beside(s, ".new");
	remove_beside(s, ".new-journal");
	if (access(s->path, F_OK) != 0) {
		remove_beside(s, "-wal");
		remove_beside(s, "-shm");
		remove_beside(s, "-journal");
	}
	r = create_as(s, fresh, plan, err);
	if (r == 0 && rename(fresh, s->path) != 0)
		r = err_set(err, ERR_HOST, errno, "%s: cannot create: %s", s->path, strerror(errno));
	if (r == 0) {
		sync_directory(s->dir);
	} else {
		remove_beside(s, ".new");
		remove_beside(s, ".new-journal");
	}
	sqlite3_free(fresh);
	return r;
}

static int other_plan(struct store *s, const struct plan *plan, const char *name, const char *path, struct err *err)
{
	return err_set(
		err, ERR_USAGE, EEXIST,
		"%s: holds another plan ('%s' from %s), not '%s' as %s is now: choose another directory with -o, "
		"or undo the change of the plan to resume",
		s->dir, name, path, plan->name, plan->path ? plan->path : "it");
}

static const char *text_at(sqlite3_stmt *stmt, int column)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);

	return text ? (const char *)text : "";
}

static int match_turns(struct store *s, const struct plan *plan, const char *version, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	uint32_t t = 0;
	bool same = true;
	int r, step;

	r = store_prepare(s, "SELECT id, cell, restart, block FROM turn ORDER BY id", &stmt, err);
	if (r < 0)
		return r;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		same = same && t < plan->turn_count && sqlite3_column_int64(stmt, 0) == t &&
		       sqlite3_column_int64(stmt, 1) == plan->turns[t].cell &&
		       sqlite3_column_int64(stmt, 2) == plan->turns[t].restart &&
		       sqlite3_column_int64(stmt, 3) == plan->turns[t].block;
		t++;
	}
	if (step != SQLITE_DONE)
		r = store_fail(s, err, "reading its order");
	else if (!same || t != plan->turn_count)
		r = err_set(
			err, ERR_USAGE, EEXIST,
			"%s: begun by tare %s, which orders this plan otherwise than this one (%s): resume with that "
			"one, or choose another directory with -o",
			s->dir, version, build_version());
	sqlite3_finalize(stmt);
	return r;
}

int store_match_plan(struct store *s, const struct plan *plan, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	char hash[24];
	int r, step;

	r = store_prepare(s, "SELECT plan_hash, name, plan_path, tare_version FROM campaign", &stmt, err);
	if (r < 0)
		return r;
	snprintf(hash, sizeof(hash), "%016" PRIx64, plan->text_hash);
	step = sqlite3_step(stmt);
	if (step == SQLITE_DONE)
		r = store_damaged(s, err, "it holds no plan");
	else if (step != SQLITE_ROW)
		r = store_fail(s, err, "reading its plan");
	else if (strcmp(text_at(stmt, 0), hash) != 0)
		r = other_plan(s, plan, text_at(stmt, 1), text_at(stmt, 2), err);
	else
		r = match_turns(s, plan, text_at(stmt, 3), err);
	sqlite3_finalize(stmt);
	return r;
}

int store_upgrade(struct store *s, struct err *err)
{
	static const char doing[] = "bringing it up to date";
	char mark[48];
	int r;

	if (s->schema >= STORE_SCHEMA)
		return 0;
	r = store_exec(s, "BEGIN IMMEDIATE", doing, err);
	for (const struct schema_part *part = schema_parts; r == 0 && part->since; part++) {
		const char *sql = part->since > s->schema ? part->sql(&s->arena) : "";

		r = sql ? store_exec(s, sql, doing, err) : store_oom(s, err);
	}
	snprintf(mark, sizeof(mark), "PRAGMA user_version=%d; COMMIT", STORE_SCHEMA);
	if (r == 0)
		r = store_exec(s, mark, doing, err);
	if (r == 0)
		s->schema = STORE_SCHEMA;
	else if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}
