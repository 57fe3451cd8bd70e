/* SPDX-License-Identifier: Apache-2.0 */
#include "store/operation.h"

#include <errno.h>
#include <stddef.h>

#include "store/schema.h"
#include "store/store_private.h"

/* Times are relative to the one before, so that rows are small: a run has up to millions of them. */

#define FIELD(column, type, member)                                                                                    \
	{                                                                                                              \
		column, type, offsetof(struct control_account, member), sizeof(((struct control_account *)0)->member)  \
	}

static const struct run_column columns[] = {
	FIELD("operation", COLUMN_TEXT, operation),
	FIELD("mode", COLUMN_TEXT, mode),
	FIELD("switches", COLUMN_U32, switches),
	FIELD("entries", COLUMN_U32, count),
	FIELD("window", COLUMN_U32, window),
	FIELD("batch", COLUMN_U32, batch),
	FIELD("operations", COLUMN_U64, operations),
	FIELD("sent", COLUMN_U64, sent),
	FIELD("answered_ok", COLUMN_U64, answered_ok),
	FIELD("failed", COLUMN_U64, failed),
	FIELD("unsent", COLUMN_U64, unsent),
	FIELD("wrong", COLUMN_U64, wrong),
	FIELD("losses", COLUMN_U64, losses),
	FIELD("returns", COLUMN_U64, returns),
	FIELD("missing", COLUMN_U64, missing),
	FIELD("extra", COLUMN_U64, extra),
	FIELD("different", COLUMN_U64, different),
	FIELD("undecided", COLUMN_U64, undecided),
	FIELD("wall_ns", COLUMN_I64, wall_ns),
	FIELD("client_cpu_ns", COLUMN_I64, client_cpu_ns),
	FIELD("server_cpu_ns", COLUMN_I64, server_cpu_ns),
	FIELD("watched", COLUMN_U64, watched),
	FIELD("acting_seen", COLUMN_U64, acting_seen),
	FIELD("acting_early", COLUMN_U64, acting_early),
	FIELD("acting_unbound", COLUMN_U64, acting_unbound),
	FIELD("acting_lost", COLUMN_U64, acting_lost),
	FIELD("acting_early_ns", COLUMN_I64, acting_early_ns),
	FIELD("clock_u_ns", COLUMN_DOUBLE, clock_u_ns),
	FIELD("statuses", COLUMN_TEXT, statuses),
	FIELD("first_why", COLUMN_TEXT, first_why),
	{ NULL },
};

static const char tables[] =
	"CREATE TABLE operation (run INTEGER NOT NULL, switch INTEGER NOT NULL, seq INTEGER NOT NULL,"
	" status INTEGER NOT NULL, flags INTEGER NOT NULL, queued INTEGER, sent INTEGER, answered INTEGER,"
	" acting_low INTEGER, acting_high INTEGER, PRIMARY KEY (run, switch, seq)) STRICT, WITHOUT ROWID;"
	"CREATE VIEW operation_us AS SELECT t.cell, t.restart, r.run, o.run AS run_id, o.switch + 1 AS switch, o.seq,"
	" o.status, o.flags & 1 AS shared, o.queued / 1000.0 AS queued_us, (o.queued + o.sent) / 1000.0 AS sent_us,"
	" (o.queued + o.sent + o.answered) / 1000.0 AS answered_us, o.answered / 1000.0 AS latency_us,"
	" o.flags >> 1 & 1 AS watched, o.flags >> 2 & 1 AS early,"
	" o.acting_low / 1000.0 AS answered_to_acting_low_us, o.acting_high / 1000.0 AS answered_to_acting_us"
	" FROM operation o JOIN run r ON r.id = o.run JOIN restart s ON s.id = r.restart JOIN turn t ON t.id = s.turn;";

const char *schema_control_sql(struct arena *arena)
{
	const char *sql = schema_columns_sql("run_control", columns, arena);

	return sql ? arena_printf(arena, "%s%s", sql, tables) : NULL;
}

/* --- writing --- */

static void bind_since(sqlite3_stmt *stmt, int index, int64_t value, int64_t base)
{
	if (value == OPERATION_NONE || base == OPERATION_NONE)
		sqlite3_bind_null(stmt, index);
	else
		sqlite3_bind_int64(stmt, index, (int64_t)((uint64_t)value - (uint64_t)base));
}

static int write_rows(struct store *s, const struct operation *rows, uint32_t count, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r = store_prepare(s,
			      "INSERT INTO operation (run, switch, seq, status, flags, queued, sent, answered,"
			      " acting_low, acting_high) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			      &stmt, err);

	if (r == 0)
		sqlite3_bind_int64(stmt, 1, s->run_id);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		const struct operation *row = &rows[i];

		sqlite3_bind_int64(stmt, 2, row->at);
		sqlite3_bind_int64(stmt, 3, row->seq);
		sqlite3_bind_int64(stmt, 4, row->status);
		sqlite3_bind_int64(stmt, 5, row->flags);
		bind_since(stmt, 6, row->queued_ns, 0);
		bind_since(stmt, 7, row->sent_ns, row->queued_ns);
		bind_since(stmt, 8, row->answered_ns, row->sent_ns);
		bind_since(stmt, 9, row->acting_low_ns, row->answered_ns);
		bind_since(stmt, 10, row->acting_high_ns, row->answered_ns);
		r = store_step_once(s, stmt, "writing operations", err);
	}
	sqlite3_finalize(stmt);
	return r;
}

int store_put_control(struct store *s, const struct control_account *account, const struct operation *rows,
		      uint32_t count, struct err *err)
{
	const char *sql = schema_insert_columns_sql("run_control", columns, &s->arena);
	sqlite3_stmt *stmt = NULL;
	int r;

	TARE_ASSERT(s->writer && s->in_restart && s->run_id && account->operations == count);
	r = sql ? store_prepare(s, sql, &stmt, err) : store_oom(s, err);
	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, s->run_id);
		store_bind_columns(stmt, 2, columns, account);
		r = store_step_once(s, stmt, "writing a run", err);
	}
	sqlite3_finalize(stmt);
	if (r == 0)
		r = write_rows(s, rows, count, err);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

/* --- reading --- */

int store_read_account(struct store *s, const struct stored_run *run, struct control_account *ret, bool *ret_there,
		       struct err *err)
{
	const char *sql = schema_select_columns_sql("run_control", columns, &s->arena);
	sqlite3_stmt *stmt = NULL;
	int r, step, column = 1;

	*ret_there = false;
	if (s->schema < 3)
		return 0;
	r = sql ? store_prepare(s, sql, &stmt, err) : store_oom(s, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, run->id);
	step = sqlite3_step(stmt);
	*ret = (struct control_account){ 0 };
	if (step == SQLITE_ROW) {
		for (const struct run_column *c = columns; c->name; c++)
			store_column_into(stmt, column++, c, ret);
		*ret_there = true;
	} else if (step != SQLITE_DONE) {
		r = store_fail(s, err, "reading the account of a run");
	}
	sqlite3_finalize(stmt);
	return r;
}

static int64_t since_at(sqlite3_stmt *stmt, int column, int64_t base)
{
	if (base == OPERATION_NONE || sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return OPERATION_NONE;
	return (int64_t)((uint64_t)sqlite3_column_int64(stmt, column) + (uint64_t)base);
}

static void row_at(sqlite3_stmt *stmt, struct operation *ret)
{
	ret->at = (uint32_t)sqlite3_column_int64(stmt, 0);
	ret->seq = (uint32_t)sqlite3_column_int64(stmt, 1);
	ret->status = (int32_t)sqlite3_column_int64(stmt, 2);
	ret->flags = (uint32_t)sqlite3_column_int64(stmt, 3);
	ret->queued_ns = since_at(stmt, 4, 0);
	ret->sent_ns = since_at(stmt, 5, ret->queued_ns);
	ret->answered_ns = since_at(stmt, 6, ret->sent_ns);
	ret->acting_low_ns = since_at(stmt, 7, ret->answered_ns);
	ret->acting_high_ns = since_at(stmt, 8, ret->answered_ns);
}

int64_t store_read_operations(struct store *s, const struct stored_run *run, const struct control_account *account,
			      struct operation *ret_rows, uint32_t capacity, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	uint32_t count = 0;
	int step;
	int64_t r;

	TARE_ASSERT(capacity >= account->operations);
	r = store_prepare(s,
			  "SELECT switch, seq, status, flags, queued, sent, answered, acting_low, acting_high"
			  " FROM operation WHERE run = ? ORDER BY switch, seq",
			  &stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, run->id);
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW && count < account->operations)
		row_at(stmt, &ret_rows[count++]);
	if (step == SQLITE_ROW || (step == SQLITE_DONE && count < account->operations))
		r = store_damaged(s, err, "a run has not as many operations as it says");
	else if (step != SQLITE_DONE)
		r = store_fail(s, err, "reading operations");
	sqlite3_finalize(stmt);
	return r < 0 ? r : count;
}
