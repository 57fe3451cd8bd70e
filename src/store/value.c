/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "store/store_private.h"

/* Numbers that a run found, beside its samples or instead of them. */

static int write_value(struct store *s, const struct run_value *v, struct err *err)
{
	int r = store_prepare(s, "INSERT INTO value (run, seq, name, unit, value) VALUES (?, ?, ?, ?, ?)",
			      &s->insert_value, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(s->insert_value, 1, s->run_id);
	sqlite3_bind_int64(s->insert_value, 2, s->run_values++);
	sqlite3_bind_text(s->insert_value, 3, v->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(s->insert_value, 4, v->unit, -1, SQLITE_STATIC);
	sqlite3_bind_double(s->insert_value, 5, v->value);
	return store_step_once(s, s->insert_value, "writing the values of a run", err);
}

int store_put_values(struct store *s, const struct run_value *values, uint32_t count, struct err *err)
{
	int r = 0;

	TARE_ASSERT(s->writer && s->in_restart && s->run_id);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = write_value(s, &values[i], err);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

static int count_values(struct store *s, const struct stored_run *run, uint32_t *ret, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s, "SELECT count(*) FROM value WHERE run = ?", &stmt, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, run->id);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*ret = (uint32_t)sqlite3_column_int64(stmt, 0);
	else
		r = store_fail(s, err, "counting the values of a run");
	sqlite3_finalize(stmt);
	return r;
}

/* Text and a number, or what the file says otherwise. */
static int value_at(struct store *s, struct arena *arena, uint32_t seq, struct run_value *ret, struct err *err)
{
	const char *name = (const char *)sqlite3_column_text(s->select_values, 1);
	const char *unit = (const char *)sqlite3_column_text(s->select_values, 2);

	if (sqlite3_column_int64(s->select_values, 0) != seq || !name || !name[0] || !unit)
		return store_damaged(s, err, "a value of a run is missing, or has no name");
	ret->name = arena_strdup(arena, name);
	ret->unit = arena_strdup(arena, unit);
	ret->value = sqlite3_column_type(s->select_values, 3) == SQLITE_NULL
			     ? NAN
			     : sqlite3_column_double(s->select_values, 3);
	return ret->name && ret->unit ? 0 : store_oom(s, err);
}

static int read_values(struct store *s, struct arena *arena, struct run_value *values, uint32_t count, struct err *err)
{
	uint32_t i = 0;
	int r = 0, step;

	while ((step = sqlite3_step(s->select_values)) == SQLITE_ROW && i < count && r == 0) {
		r = value_at(s, arena, i, &values[i], err);
		i++;
	}
	if (r == 0 && step == SQLITE_DONE && i != count)
		r = store_damaged(s, err, "a run lost a value");
	else if (r == 0 && step != SQLITE_DONE && step != SQLITE_ROW)
		r = store_fail(s, err, "reading the values of a run");
	return r;
}

int store_read_values(struct store *s, const struct stored_run *run, struct arena *arena, struct run_value **ret,
		      uint32_t *ret_count, struct err *err)
{
	struct run_value *values = NULL;
	uint32_t count = 0;
	int r;

	if (s->schema >= 3) {
		r = count_values(s, run, &count, err);
		if (r < 0)
			return r;
	}
	if (count) {
		values = arena_array(arena, count, sizeof(*values));
		if (!values)
			return store_oom(s, err);
		r = store_prepare(s, "SELECT seq, name, unit, value FROM value WHERE run = ? ORDER BY seq",
				  &s->select_values, err);
		if (r < 0)
			return r;
		sqlite3_bind_int64(s->select_values, 1, run->id);
		r = read_values(s, arena, values, count, err);
		sqlite3_reset(s->select_values);
		if (r < 0)
			return r;
	}
	*ret = values;
	*ret_count = count;
	return 0;
}
