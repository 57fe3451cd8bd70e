/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/schema.h"
#include "store/store_private.h"

/*
 * Rows of one query, each handed to a function that may refuse it. What a row
 * says is checked before it is believed: a file may be damaged, or made by
 * someone else.
 */
struct reader {
	struct store *store;
	struct arena *arena;
	sqlite3_stmt *stmt;
	struct err *err;
};

typedef int row_fn(struct reader *r, uint32_t row, void *context);

static int each_row(struct reader *r, const char *sql, int64_t parameter, row_fn *fn, void *context)
{
	uint32_t row = 0;
	int status, step;

	r->stmt = NULL;
	status = store_prepare(r->store, sql, &r->stmt, r->err);
	if (status < 0)
		return status;
	if (sqlite3_bind_parameter_count(r->stmt) > 0)
		sqlite3_bind_int64(r->stmt, 1, parameter);
	while ((step = sqlite3_step(r->stmt)) == SQLITE_ROW) {
		status = fn(r, row++, context);
		if (status < 0)
			break;
	}
	if (status == 0 && step != SQLITE_DONE)
		status = store_fail(r->store, r->err, "reading it");
	sqlite3_finalize(r->stmt);
	return status;
}

/* A copy in the arena; NULL stays NULL. */
static int text_at(struct reader *r, int column, const char **ret)
{
	const unsigned char *text = sqlite3_column_text(r->stmt, column);

	*ret = NULL;
	if (!text)
		return 0;
	*ret = arena_strdup(r->arena, (const char *)text);
	return *ret ? 0 : store_oom(r->store, r->err);
}

/* The same for text that must be there. */
static int need_text(struct reader *r, int column, const char **ret)
{
	int status = text_at(r, column, ret);

	return status == 0 && !*ret ? store_damaged(r->store, r->err, "a text is missing") : status;
}

static int need_number(struct reader *r, int column, int64_t limit, const char *what, uint32_t *ret)
{
	int64_t n = sqlite3_column_int64(r->stmt, column);
	char message[128];

	if (n >= 0 && n < limit) {
		*ret = (uint32_t)n;
		return 0;
	}
	snprintf(message, sizeof(message), "%s %" PRId64 " is outside 0 to %" PRId64, what, n, limit - 1);
	return store_damaged(r->store, r->err, message);
}

/* Rows of a table, to size an array by; their ids must run from 0. */
static int count_row(struct reader *r, uint32_t row, void *context)
{
	(void)row;
	return need_number(r, 0, INT32_MAX, "a count", context);
}

static int make_array(struct reader *r, const char *count_sql, size_t size_bytes, uint32_t *ret_count, void *ret_array)
{
	void *array;
	int status = each_row(r, count_sql, 0, count_row, ret_count);

	if (status < 0)
		return status;
	array = arena_array(r->arena, *ret_count ? *ret_count : 1, size_bytes);
	if (!array)
		return store_oom(r->store, r->err);
	memcpy(ret_array, &array, sizeof(array));
	return 0;
}

/* --- campaign --- */

static int campaign_row(struct reader *r, uint32_t row, void *context)
{
	struct stored_campaign *c = context;
	const char *hash = "", *seed = "", *measure = "";
	int status;

	if (row > 0)
		return store_damaged(r->store, r->err, "it holds two campaigns");
	if ((status = need_text(r, 0, &c->name)) < 0 || (status = need_text(r, 1, &measure)) < 0 ||
	    (status = need_text(r, 2, &c->plan_path)) < 0 || (status = need_text(r, 3, &c->plan_text)) < 0 ||
	    (status = need_text(r, 4, &hash)) < 0 || (status = need_text(r, 5, &seed)) < 0 ||
	    (status = need_number(r, 6, UINT32_MAX, "the number of restarts", &c->restarts)) < 0 ||
	    (status = need_number(r, 7, UINT32_MAX, "the number of runs", &c->runs)) < 0 ||
	    (status = need_text(r, 8, &c->target_kind)) < 0 || (status = need_text(r, 9, &c->tare_version)) < 0)
		return status;
	TARE_ASSERT(hash && seed && measure);
	c->plan_hash = strtoull(hash, NULL, 16);
	c->seed = strtoull(seed, NULL, 10);
	c->created_utc_ns = sqlite3_column_int64(r->stmt, 10);
	return measure_find(measure, &c->measure) ? 0 : store_damaged(r->store, r->err, "its measure is unknown");
}

static int axis_row(struct reader *r, uint32_t row, void *context)
{
	struct stored_campaign *c = context;
	uint32_t id = 0;
	int status = need_number(r, 0, c->axis_count, "an axis", &id);

	if (status == 0 && id != row)
		status = store_damaged(r->store, r->err, "an axis is missing");
	return status < 0 ? status : need_text(r, 1, (const char **)&c->axes[id]);
}

static int cell_row(struct reader *r, uint32_t row, void *context)
{
	struct stored_campaign *c = context;
	uint32_t id = 0;
	int status = need_number(r, 0, c->cell_count, "a cell", &id);

	if (status == 0 && id != row)
		status = store_damaged(r->store, r->err, "a cell is missing");
	if (status < 0)
		return status;
	c->cells[id].index = id;
	c->cells[id].is_tare = sqlite3_column_int(r->stmt, 2) != 0;
	c->cells[id].tare = CELL_NONE;
	if (sqlite3_column_type(r->stmt, 3) != SQLITE_NULL &&
	    (status = need_number(r, 3, c->cell_count, "the tare of a cell", &c->cells[id].tare)) < 0)
		return status;
	c->cells[id].values = arena_array(r->arena, c->axis_count ? c->axis_count : 1, sizeof(char *));
	return c->cells[id].values ? need_text(r, 1, &c->cells[id].label) : store_oom(r->store, r->err);
}

static int value_row(struct reader *r, uint32_t row, void *context)
{
	struct stored_campaign *c = context;
	uint32_t cell = 0, axis = 0;
	int status;

	(void)row;
	if ((status = need_number(r, 0, c->cell_count, "the cell of a value", &cell)) < 0 ||
	    (status = need_number(r, 1, c->axis_count, "the axis of a value", &axis)) < 0)
		return status;
	return need_text(r, 2, (const char **)&c->cells[cell].values[axis]);
}

static int turn_row(struct reader *r, uint32_t row, void *context)
{
	struct stored_campaign *c = context;
	struct turn *turn;
	uint32_t id = 0;
	int status = need_number(r, 0, c->turn_count, "a turn", &id);

	if (status == 0 && id != row)
		status = store_damaged(r->store, r->err, "a turn is missing");
	if (status < 0)
		return status;
	turn = &c->turns[id];
	if ((status = need_number(r, 1, c->cell_count, "the cell of a turn", &turn->cell)) < 0 ||
	    (status = need_number(r, 2, UINT32_MAX, "the restart of a turn", &turn->restart)) < 0)
		return status;
	return need_number(r, 3, UINT32_MAX, "the block of a turn", &turn->block);
}

static int state_row(struct reader *r, uint32_t row, void *context)
{
	struct stored_campaign *c = context;
	uint32_t turn = 0;
	int status = need_number(r, 0, c->turn_count, "the turn of a restart", &turn);

	(void)row;
	if (status == 0 && sqlite3_column_int(r->stmt, 1))
		c->turns_done++;
	else if (status == 0)
		c->turns_failed++;
	if (status == 0)
		c->passed[turn] = true;
	return status;
}

/* After state_row, which has marked the turns that have run: those stay, whatever became of their cells. */
static int read_stops(struct reader *r, struct stored_campaign *c)
{
	uint32_t *last = arena_array(r->arena, c->cell_count + 1u, sizeof(*last));
	int status = store_read_stops(r->store, r->arena, c->cell_count, &c->stops, &c->stop_count, r->err);

	if (status < 0 || !last)
		return status < 0 ? status : store_oom(r->store, r->err);
	stored_stops_last_blocks(c->stops, c->stop_count, c->cells, c->cell_count, last);
	for (uint32_t t = 0; t < c->turn_count; t++) {
		c->passed[t] = !c->passed[t] && c->turns[t].block > last[c->turns[t].cell];
		c->turns_passed += c->passed[t];
	}
	return 0;
}

/* What has run, and what will not. */
static int read_states(struct reader *r, struct stored_campaign *c)
{
	int status;

	c->passed = arena_array(r->arena, c->turn_count + 1u, sizeof(*c->passed));
	if (!c->passed)
		return store_oom(r->store, r->err);
	status = each_row(r, "SELECT turn, max(failure IS NULL) FROM restart GROUP BY turn", 0, state_row, c);
	return status < 0 ? status : read_stops(r, c);
}

static int fact_row(struct reader *r, uint32_t row, void *context)
{
	struct stored_campaign *c = context;
	int status;

	if (row >= c->fact_count) /* written between the two queries */
		return 0;
	status = need_text(r, 0, &c->facts[row].name);
	return status < 0 ? status : need_text(r, 1, &c->facts[row].value);
}

static int event_row(struct reader *r, uint32_t row, void *context)
{
	struct stored_campaign *c = context;
	int status;

	if (row >= c->event_count)
		return 0;
	c->events[row].restart = sqlite3_column_int64(r->stmt, 0);
	c->events[row].utc_ns = sqlite3_column_int64(r->stmt, 1);
	status = need_text(r, 2, &c->events[row].kind);
	return status < 0 ? status : need_text(r, 3, &c->events[row].message);
}

static int read_campaign(struct reader *r, struct stored_campaign *c)
{
	int status;

	status = each_row(r,
			  "SELECT name, measure, plan_path, plan_text, plan_hash, seed, restarts, runs, target_kind,"
			  " tare_version, created_utc_ns FROM campaign",
			  0, campaign_row, c);
	if (status == 0 && !c->name)
		status = store_damaged(r->store, r->err, "it holds no campaign");
	if (status < 0 ||
	    (status = make_array(r, "SELECT count(*) FROM axis", sizeof(*c->axes), &c->axis_count, &c->axes)) < 0 ||
	    (status = each_row(r, "SELECT id, name FROM axis ORDER BY id", 0, axis_row, c)) < 0 ||
	    (status = make_array(r, "SELECT count(*) FROM cell", sizeof(*c->cells), &c->cell_count, &c->cells)) < 0 ||
	    (status = each_row(r, "SELECT id, label, is_tare, tare FROM cell ORDER BY id", 0, cell_row, c)) < 0 ||
	    (status = each_row(r, "SELECT cell, axis, value FROM cell_value", 0, value_row, c)) < 0 ||
	    (status = make_array(r, "SELECT count(*) FROM turn", sizeof(*c->turns), &c->turn_count, &c->turns)) < 0 ||
	    (status = each_row(r, "SELECT id, cell, restart, block FROM turn ORDER BY id", 0, turn_row, c)) < 0 ||
	    (status = read_states(r, c)) < 0 ||
	    (status = make_array(r, "SELECT count(*) FROM host", sizeof(*c->facts), &c->fact_count, &c->facts)) < 0 ||
	    (status = each_row(r, "SELECT name, value FROM host ORDER BY name", 0, fact_row, c)) < 0 ||
	    (status = make_array(r, "SELECT count(*) FROM event", sizeof(*c->events), &c->event_count, &c->events)) < 0)
		return status;
	return each_row(r, "SELECT restart, utc_ns, kind, message FROM event ORDER BY id", 0, event_row, c);
}

int store_read_campaign(struct store *store, struct arena *arena, struct stored_campaign *ret, struct err *err)
{
	struct reader r = { .store = store, .arena = arena, .err = err };
	struct stored_campaign c = { 0 };
	/* all queries see the same moment of a store that is being written */
	bool snapshot = sqlite3_get_autocommit(store->db);
	int status = snapshot ? store_exec(store, "BEGIN", "reading it", err) : 0;

	if (status == 0)
		status = read_campaign(&r, &c);
	if (snapshot && !sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
	if (status == 0)
		*ret = c;
	return status;
}

/* --- restarts and their runs --- */

struct restarts {
	struct stored_restart *items;
	uint32_t count;
	uint32_t cell_count;
	struct stored_restart *current;
};

#define RESTARTS_SQL(host)                                                                                             \
	"SELECT s.id, s.turn, t.cell, t.restart, t.block, s.started_utc_ns, s.ended_utc_ns, s.target_facts, "          \
	"s.failure,"                                                                                                   \
	" coalesce(" host "(SELECT value FROM host WHERE name = 'host.name'), '')"                                     \
	" FROM restart s JOIN turn t ON t.id = s.turn WHERE s.id > ? ORDER BY s.id"

static const char restarts_sql[] =
	RESTARTS_SQL("(SELECT o.host FROM restart_origin w JOIN origin o ON o.id = w.origin WHERE w.restart = s.id), ");
static const char old_restarts_sql[] = RESTARTS_SQL("");

static int restart_row(struct reader *r, uint32_t row, void *context)
{
	struct restarts *list = context;
	struct stored_restart *s;
	int status;

	if (row >= list->count)
		return 0;
	s = &list->items[row];
	s->id = sqlite3_column_int64(r->stmt, 0);
	s->started_utc_ns = sqlite3_column_int64(r->stmt, 5);
	s->ended_utc_ns = sqlite3_column_int64(r->stmt, 6);
	if ((status = need_number(r, 1, UINT32_MAX, "the turn of a restart", &s->position)) < 0 ||
	    (status = need_number(r, 2, list->cell_count, "the cell of a restart", &s->cell)) < 0 ||
	    (status = need_number(r, 3, UINT32_MAX, "the number of a restart", &s->restart)) < 0 ||
	    (status = need_number(r, 4, UINT32_MAX, "the block of a restart", &s->block)) < 0 ||
	    (status = text_at(r, 7, &s->target_facts)) < 0 || (status = need_text(r, 9, &s->host)) < 0)
		return status;
	return text_at(r, 8, &s->failure);
}

void store_column_into(sqlite3_stmt *stmt, int column, const struct run_column *c, void *record)
{
	char *field = (char *)record + c->offset;
	int64_t number = sqlite3_column_int64(stmt, column);
	const char *text;

	switch (c->type) {
	case COLUMN_I32:
		*(int32_t *)field = (int32_t)number;
		break;
	case COLUMN_U32:
		*(uint32_t *)field = (uint32_t)number;
		break;
	case COLUMN_I64:
	case COLUMN_U64:
		*(int64_t *)field = number;
		break;
	case COLUMN_DOUBLE:
		*(double *)field =
			sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, column);
		break;
	case COLUMN_TEXT:
		text = (const char *)sqlite3_column_text(stmt, column);
		snprintf(field, c->size_bytes, "%s", text ? text : "");
		break;
	}
}

static int run_row(struct reader *r, uint32_t row, void *context)
{
	struct restarts *list = context;
	struct stored_run *run;
	int column = 2;

	/* runs of a restart never change once it is there: counted is counted */
	if (row >= list->current->run_count)
		return store_damaged(r->store, r->err, "a restart gained a run");
	run = &list->current->runs[row];
	memset(run, 0, sizeof(*run));
	run->id = sqlite3_column_int64(r->stmt, 0);
	for (const struct run_column *c = run_columns; c->name; c++)
		store_column_into(r->stmt, column++, c, &run->record);
	return need_number(r, 1, UINT32_MAX, "the number of pairs of a run", &run->pair_count);
}

static int read_runs(struct reader *r, struct restarts *list)
{
	const char *sql = schema_select_runs_sql(r->arena);
	int status = 0;

	if (!sql)
		return store_oom(r->store, r->err);
	for (uint32_t i = 0; status == 0 && i < list->count; i++) {
		struct stored_restart *s = list->current = &list->items[i];

		status = each_row(r, "SELECT count(*) FROM run WHERE restart = ?", s->id, count_row, &s->run_count);
		if (status < 0)
			break;
		s->runs = arena_array(r->arena, s->run_count ? s->run_count : 1, sizeof(*s->runs));
		status = s->runs ? each_row(r, sql, s->id, run_row, list) : store_oom(r->store, r->err);
	}
	return status;
}

int store_read_restarts_since(struct store *store, int64_t id, struct arena *arena, struct stored_restart **ret,
			      uint32_t *ret_count, struct err *err)
{
	struct reader r = { .store = store, .arena = arena, .err = err };
	struct restarts list = { 0 };
	int status;

	status = each_row(&r, "SELECT count(*) FROM restart WHERE id > ?", id, count_row, &list.count);
	if (status == 0)
		list.items = arena_array(arena, list.count + 1u, sizeof(*list.items));
	if (status == 0 && !list.items)
		status = store_oom(store, err);
	if (status == 0)
		status = each_row(&r, "SELECT count(*) FROM cell", 0, count_row, &list.cell_count);
	if (status == 0)
		status = each_row(&r, store->schema < 3 ? old_restarts_sql : restarts_sql, id, restart_row, &list);
	if (status == 0)
		status = read_runs(&r, &list);
	if (status < 0)
		return status;
	*ret = list.items;
	*ret_count = list.count;
	return 0;
}

int store_read_restarts(struct store *store, struct arena *arena, struct stored_restart **ret, uint32_t *ret_count,
			struct err *err)
{
	return store_read_restarts_since(store, 0, arena, ret, ret_count, err);
}

int store_count_invalid_runs(struct store *store, uint32_t *ret, struct err *err)
{
	struct reader r = { .store = store, .err = err };

	return each_row(&r,
			"SELECT count(*) FROM run r JOIN restart s ON s.id = r.restart"
			" WHERE s.failure IS NULL AND r.invalid <> ''",
			0, count_row, ret);
}

/* --- samples --- */

static int64_t ticks_at(sqlite3_stmt *stmt, int column, int64_t base_ticks)
{
	int64_t ticks = sqlite3_column_int64(stmt, column);

	/* asking for the type costs as much as the value: only a zero can be a NULL */
	if (ticks == 0 && sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return PAIR_NONE;
	return (int64_t)((uint64_t)ticks + (uint64_t)base_ticks);
}

/* The order is SCHEMA_PAIR_COLUMNS without run. */
static void pair_at(sqlite3_stmt *stmt, struct pair *p)
{
	int64_t burst = sqlite3_column_int64(stmt, 11);

	p->seq = (uint32_t)sqlite3_column_int64(stmt, 0);
	p->packet = (uint32_t)sqlite3_column_int64(stmt, 1);
	p->fate = (uint8_t)sqlite3_column_int64(stmt, 2);
	p->flags = (uint8_t)sqlite3_column_int64(stmt, 3);
	p->sched_ticks = sqlite3_column_int64(stmt, 7);
	p->tx_ticks = ticks_at(stmt, 8, p->sched_ticks);
	p->path_ticks = ticks_at(stmt, 4, p->tx_ticks);
	p->bypass_ticks = ticks_at(stmt, 5, p->tx_ticks);
	p->truth_ticks = ticks_at(stmt, 6, 0);
	p->gap_path_ticks = ticks_at(stmt, 9, 0);
	p->gap_bypass_ticks = ticks_at(stmt, 10, 0);
	p->burst_path = (uint8_t)burst;
	p->burst_bypass = (uint8_t)(burst >> 8);
}

int64_t store_read_pairs(struct store *store, const struct stored_run *run, struct pair *ret_pairs, uint32_t capacity,
			 struct err *err)
{
	uint32_t count = 0;
	int step;
	int64_t r;

	TARE_ASSERT(capacity >= run->pair_count);
	r = store_prepare(store,
			  "SELECT seq, packet, fate, flags, path, bypass, truth, sched, late, gap_path, gap_bypass,"
			  " burst FROM pair WHERE run = ? ORDER BY seq",
			  &store->select_pairs, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(store->select_pairs, 1, run->id);
	while ((step = sqlite3_step(store->select_pairs)) == SQLITE_ROW && count < run->pair_count) {
		pair_at(store->select_pairs, &ret_pairs[count]);
		if (ret_pairs[count].fate >= FATES)
			break;
		count++;
	}
	if (step == SQLITE_ROW && count < run->pair_count)
		r = store_damaged(store, err, "a sample has a fate that there is not");
	else if (step == SQLITE_ROW || (step == SQLITE_DONE && count < run->pair_count))
		r = store_damaged(store, err, "a run has not as many samples as it says");
	else if (step != SQLITE_DONE)
		r = store_fail(store, err, "reading samples");
	sqlite3_reset(store->select_pairs);
	return r < 0 ? r : count;
}
