/* SPDX-License-Identifier: Apache-2.0 */
#include "store/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "store/merge_private.h"
#include "store/schema.h"

/* --- what is to come together --- */

static int text_of(struct store *s, const char *sql, struct arena *arena, const char **ret, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	const char *text;
	int r = store_prepare(s, sql, &stmt, err);

	if (r < 0)
		return r;
	*ret = NULL;
	if (sqlite3_step(stmt) == SQLITE_ROW && (text = (const char *)sqlite3_column_text(stmt, 0)) != NULL)
		*ret = arena_strdup(arena, text);
	else
		r = store_damaged(s, err, "it says neither which store it is nor which plan it holds");
	sqlite3_finalize(stmt);
	return r == 0 && !*ret ? store_oom(s, err) : r;
}

/* Restarts of the source, each with its number there and how many runs it has. */
static int list_restarts(struct merge *m, uint32_t source, struct store *s)
{
	sqlite3_stmt *stmt = NULL;
	int step, r = store_prepare(s,
				    "SELECT s.id, s.turn, s.started_utc_ns, s.failure IS NULL,"
				    " (SELECT count(*) FROM run r WHERE r.restart = s.id) FROM restart s ORDER BY s.id",
				    &stmt, m->err);

	if (r < 0)
		return r;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		const struct merge_restart one = {
			.source = source,
			.old_id = sqlite3_column_int64(stmt, 0),
			.turn = sqlite3_column_int64(stmt, 1),
			.started_utc_ns = sqlite3_column_int64(stmt, 2),
			.good = sqlite3_column_int(stmt, 3) != 0,
			.runs = sqlite3_column_int64(stmt, 4),
		};

		if (vec_push(&m->restarts, one) < 0)
			break;
	}
	if (step == SQLITE_ROW)
		r = store_oom(s, m->err);
	else if (step != SQLITE_DONE)
		r = store_fail(s, m->err, "reading its restarts");
	sqlite3_finalize(stmt);
	return r;
}

/* Where its restarts come from: itself, and what was merged into it. */
static int list_origins(struct merge *m, uint32_t source, struct store *s)
{
	sqlite3_stmt *stmt = NULL;
	int step, r = store_prepare(s, "SELECT store FROM identity UNION SELECT store FROM origin", &stmt, m->err);

	if (r < 0)
		return r;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);
		const struct merge_origin one = { .source = source,
						  .store = arena_strdup(&m->arena, text ? text : "") };

		for (size_t i = 0; r == 0 && one.store && i < m->origins.count; i++)
			if (strcmp(m->origins.items[i].store, one.store) == 0)
				r = err_set(
					m->err, ERR_USAGE, EEXIST,
					"%s: its restarts are in %s too: a store goes in once, by itself or inside one "
					"that was merged",
					m->sources[source].dir, m->sources[m->origins.items[i].source].dir);
		if (r < 0 || !one.store || vec_push(&m->origins, one) < 0)
			break;
	}
	if (r == 0 && step == SQLITE_ROW)
		r = store_oom(s, m->err);
	else if (r == 0 && step != SQLITE_DONE)
		r = store_fail(s, m->err, "reading where its restarts come from");
	sqlite3_finalize(stmt);
	return r;
}

static int same_campaign(struct merge *m, uint32_t source)
{
	const struct merge_source *first = &m->sources[0], *s = &m->sources[source];

	if (strcmp(s->name, first->name) != 0)
		return err_set(m->err, ERR_USAGE, EINVAL,
			       "%s: is of campaign '%s', but %s is of '%s': only parts of one campaign can be merged",
			       s->dir, s->name, first->dir, first->name);
	if (strcmp(s->hash, first->hash) != 0)
		return err_set(
			m->err, ERR_USAGE, EINVAL,
			"%s: holds another text of plan '%s' than %s: parts of a campaign come from one plan, to the "
			"letter",
			s->dir, s->name, first->dir);
	if (strcmp(s->order, first->order) != 0)
		return err_set(
			m->err, ERR_USAGE, EINVAL,
			"%s: has other cells or another order of restarts than %s: they were begun by tares that "
			"differ",
			s->dir, first->dir);
	return 0;
}

/* What tells cells and order apart, as text. */
static const char order_sql[] = "SELECT (SELECT coalesce(group_concat(label, char(10)), '') FROM (SELECT label FROM "
				"cell ORDER BY id)) || char(12) ||"
				" coalesce(group_concat(cell || ' ' || restart || ' ' || block, char(10)), '')"
				" FROM (SELECT cell, restart, block FROM turn ORDER BY id)";

/* A store that someone writes into would not be read as one moment of it. Where it cannot be locked, nobody writes. */
static int refuse_busy(struct store *s, struct err *err)
{
	struct dir_lock lock = { .fd = -1 };
	int r = dir_lock_take(&lock, s->dir, err);

	if (r == 0)
		dir_lock_release(&lock);
	return r == -EBUSY ? r : 0;
}

static int look_into(struct merge *m, uint32_t source)
{
	struct merge_source *to = &m->sources[source];
	struct store *s;
	int r = store_open_read(to->dir, &s, m->err);

	if (r < 0)
		return r;
	to->path = arena_strdup(&m->arena, store_path(s));
	if (s->schema != STORE_SCHEMA)
		r = err_set(
			m->err, ERR_USAGE, ENOTSUP,
			"%s: is of schema %d, and merging knows %d only: 'tare run' with its plan brings it up to date",
			to->dir, s->schema, STORE_SCHEMA);
	if (r == 0)
		r = refuse_busy(s, m->err);
	if (r == 0)
		r = text_of(s, "SELECT name FROM campaign", &m->arena, &to->name, m->err);
	if (r == 0)
		r = text_of(s, "SELECT plan_hash FROM campaign", &m->arena, &to->hash, m->err);
	if (r == 0)
		r = text_of(s, "SELECT store FROM identity", &m->arena, &to->identity, m->err);
	if (r == 0)
		r = text_of(s, order_sql, &m->arena, &to->order, m->err);
	if (r == 0)
		r = same_campaign(m, source);
	if (r == 0)
		r = list_origins(m, source, s);
	if (r == 0)
		r = list_restarts(m, source, s);
	store_close(s);
	return r == 0 && !to->path ? err_set(m->err, ERR_HOST, ENOMEM, "out of memory") : r;
}

/* --- the order of what there is --- */

static int by_start(const void *a, const void *b)
{
	const struct merge_restart *x = a, *y = b;

	if (x->started_utc_ns != y->started_utc_ns)
		return x->started_utc_ns < y->started_utc_ns ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->old_id < y->old_id ? -1 : x->old_id > y->old_id;
}

static int by_turn(const void *a, const void *b)
{
	const struct merge_restart *x = *(const struct merge_restart *const *)a,
				   *y = *(const struct merge_restart *const *)b;

	return x->turn != y->turn ? x->turn < y->turn ? -1 : 1 : by_start(x, y);
}

/* A turn done twice would have to be chosen from: that is not for us to do. */
static int refuse_twice_done(struct merge *m)
{
	const struct merge_restart **good = calloc(m->restarts.count + 1, sizeof(struct merge_restart *));
	size_t count = 0;
	int r = 0;

	if (!good)
		return err_set(m->err, ERR_HOST, ENOMEM, "out of memory");
	for (size_t i = 0; i < m->restarts.count; i++)
		if (m->restarts.items[i].good)
			good[count++] = &m->restarts.items[i];
	qsort(good, count, sizeof(*good), by_turn);
	for (size_t i = 1; r == 0 && i < count; i++)
		if (good[i]->turn == good[i - 1]->turn)
			r = err_set(m->err, ERR_USAGE, EEXIST,
				    "restart %" PRId64
				    " of the plan's order is done in %s and in %s: parts of a campaign may "
				    "not overlap",
				    good[i]->turn, m->sources[good[i - 1]->source].dir,
				    m->sources[good[i]->source].dir);
	free(good);
	m->turns_done = (uint32_t)count;
	return r;
}

static void number(struct merge *m)
{
	int64_t run = 1;

	if (m->restarts.count)
		qsort(m->restarts.items, m->restarts.count, sizeof(*m->restarts.items), by_start);
	for (size_t i = 0; i < m->restarts.count; i++) {
		m->restarts.items[i].new_id = (int64_t)i + 1;
		m->restarts.items[i].first_run = run;
		run += m->restarts.items[i].runs;
	}
}

/* --- the new store --- */

static int prepare_place(struct merge *m, const char *dir, bool *ret_made)
{
	struct stat st;

	*ret_made = mkdir(dir, 0777) == 0;
	if (!*ret_made && errno != EEXIST)
		return err_set(m->err, errno == ENOENT || errno == ENOTDIR ? ERR_USAGE : ERR_HOST, errno,
			       "%s: cannot create the directory: %s", dir, strerror(errno));
	m->path = arena_printf(&m->arena, "%s/tare.db", dir);
	m->fresh = arena_printf(&m->arena, "%s/tare.db.new", dir);
	if (!m->path || !m->fresh)
		return err_set(m->err, ERR_HOST, ENOMEM, "out of memory");
	if (stat(m->path, &st) == 0)
		return err_set(
			m->err, ERR_USAGE, EEXIST,
			"%s: there is a store already; a merge makes a new one, of which it may be a part: choose "
			"another directory with -o",
			dir);
	unlink(m->fresh);
	return 0;
}

static void summarise(const struct merge *m, struct store_merged *ret)
{
	*ret = (struct store_merged){
		.stores = m->count,
		.hosts = m->hosts,
		.restarts = (uint32_t)m->restarts.count,
		.turns = m->turns,
		.turns_done = m->turns_done,
	};
}

static int merge_into(struct merge *m, const char *dir)
{
	bool made = false;
	int r = prepare_place(m, dir, &made);

	if (r == 0)
		r = merge_write(m);
	if (r == 0 && rename(m->fresh, m->path) != 0)
		r = err_set(m->err, ERR_HOST, errno, "%s: cannot create: %s", m->path, strerror(errno));
	if (r < 0 && m->fresh)
		unlink(m->fresh);
	if (r < 0 && made)
		rmdir(dir);
	return r;
}

int store_merge(const char *dir, const char *const *sources, uint32_t count, struct store_merged *ret, struct err *err)
{
	struct merge m = { .count = count, .err = err };
	int r = 0;

	TARE_ASSERT(count > 0);
	arena_init(&m.arena, 0);
	m.sources = arena_array(&m.arena, count, sizeof(*m.sources));
	if (!m.sources) {
		arena_release(&m.arena);
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		m.sources[i].dir = sources[i];
		r = look_into(&m, i);
	}
	if (r == 0)
		r = refuse_twice_done(&m);
	if (r == 0) {
		number(&m);
		r = merge_into(&m, dir);
	}
	if (r == 0)
		summarise(&m, ret);
	free(m.restarts.items);
	free(m.origins.items);
	arena_release(&m.arena);
	return r;
}
