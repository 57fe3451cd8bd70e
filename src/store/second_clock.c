/* SPDX-License-Identifier: Apache-2.0 */
#include "store/schema.h"
#include "store/store_private.h"

/* The same probes by a clock that had no part in the measurement. */

#define FIELD(column, type, member)                                                                                    \
	{                                                                                                              \
		column, type, offsetof(struct second_record, member), sizeof(((struct second_record *)0)->member)      \
	}

static const struct run_column second_columns[] = {
	FIELD("clock", COLUMN_TEXT, clock),
	FIELD("source", COLUMN_TEXT, source),
	FIELD("resolution_ns", COLUMN_DOUBLE, resolution_ns),
	FIELD("frames", COLUMN_U64, frames),
	FIELD("pairs", COLUMN_U64, pairs),
	FIELD("path_missing", COLUMN_U64, path_missing),
	FIELD("bypass_missing", COLUMN_U64, bypass_missing),
	FIELD("neither", COLUMN_U64, neither),
	FIELD("duplicates", COLUMN_U64, duplicates),
	FIELD("unreadable", COLUMN_U64, unreadable),
	FIELD("foreign_frames", COLUMN_U64, foreign),
	{ NULL },
};

const char *schema_second_sql(struct arena *arena)
{
	const char *sql = schema_columns_sql("run_second", second_columns, arena);

	return sql ? arena_printf(arena,
				  "%sCREATE TABLE second (run INTEGER NOT NULL, seq INTEGER NOT NULL,"
				  " difference_ns INTEGER NOT NULL, at_ns INTEGER, PRIMARY KEY (run, seq)) STRICT,"
				  " WITHOUT ROWID;",
				  sql)
		   : NULL;
}

static int write_rows(struct store *s, const struct second_record *clock, const struct second_pair *rows,
		      struct err *err)
{
	int r = store_prepare(s, "INSERT INTO second (run, seq, difference_ns, at_ns) VALUES (?, ?, ?, ?)",
			      &s->insert_second, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(s->insert_second, 1, s->run_id);
	for (uint64_t i = 0; r == 0 && i < clock->pairs; i++) {
		sqlite3_bind_int64(s->insert_second, 2, rows[i].seq);
		sqlite3_bind_int64(s->insert_second, 3, rows[i].difference_ns);
		if (rows[i].at_ns == SECOND_NONE)
			sqlite3_bind_null(s->insert_second, 4);
		else
			sqlite3_bind_int64(s->insert_second, 4, rows[i].at_ns);
		r = store_step_once(s, s->insert_second, "writing the second clock", err);
	}
	return r;
}

int store_put_second(struct store *s, const struct second_record *clock, const struct second_pair *rows,
		     struct err *err)
{
	int r;

	TARE_ASSERT(s->writer && s->in_restart && s->run_id);
	r = store_prepare(
		s, s->insert_second_clock ? NULL : schema_insert_columns_sql("run_second", second_columns, &s->arena),
		&s->insert_second_clock, err);
	if (r == 0) {
		sqlite3_bind_int64(s->insert_second_clock, 1, s->run_id);
		store_bind_columns(s->insert_second_clock, 2, second_columns, clock);
		r = store_step_once(s, s->insert_second_clock, "writing the second clock", err);
	}
	if (r == 0)
		r = write_rows(s, clock, rows, err);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

int store_read_second_clock(struct store *s, const struct stored_run *run, struct second_record *ret, struct err *err)
{
	int r, step, column = 1;

	*ret = (struct second_record){ 0 };
	if (s->schema < 3)
		return 0;
	r = store_prepare(
		s, s->select_second_clock ? NULL : schema_select_columns_sql("run_second", second_columns, &s->arena),
		&s->select_second_clock, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(s->select_second_clock, 1, run->id);
	step = sqlite3_step(s->select_second_clock);
	if (step == SQLITE_ROW)
		for (const struct run_column *c = second_columns; c->name; c++)
			store_column_into(s->select_second_clock, column++, c, ret);
	else if (step != SQLITE_DONE)
		r = store_fail(s, err, "reading the second clock of a run");
	sqlite3_reset(s->select_second_clock);
	if (r == 0 && step == SQLITE_ROW && ret->pairs > run->pair_count)
		r = store_damaged(s, err, "the second clock has more probes than were sent");
	return r < 0 ? r : step == SQLITE_ROW;
}

/* Far from where sums and differences would overflow, for a file may say anything. */
static bool row_good(const struct second_pair *row, const struct second_pair *before, const struct stored_run *run)
{
	const int64_t most_ns = INT64_C(1) << 60;

	return row->difference_ns > -most_ns && row->difference_ns < most_ns &&
	       (row->at_ns == SECOND_NONE || (row->at_ns > -most_ns && row->at_ns < most_ns)) &&
	       row->seq < run->pair_count && (!before || row->seq > before->seq);
}

int64_t store_read_second(struct store *s, const struct stored_run *run, const struct second_record *clock,
			  struct second_pair *ret_rows, uint32_t capacity, struct err *err)
{
	uint32_t count = 0;
	bool good = true;
	int step;
	int64_t r;

	TARE_ASSERT(capacity >= clock->pairs);
	r = store_prepare(s, "SELECT seq, difference_ns, at_ns FROM second WHERE run = ? ORDER BY seq",
			  &s->select_second, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(s->select_second, 1, run->id);
	while ((step = sqlite3_step(s->select_second)) == SQLITE_ROW && count < clock->pairs && good) {
		struct second_pair *row = &ret_rows[count];

		*row = (struct second_pair){
			.seq = (uint32_t)sqlite3_column_int64(s->select_second, 0),
			.difference_ns = sqlite3_column_int64(s->select_second, 1),
			.at_ns = sqlite3_column_type(s->select_second, 2) == SQLITE_NULL
					 ? SECOND_NONE
					 : sqlite3_column_int64(s->select_second, 2),
		};
		good = row_good(row, count ? row - 1 : NULL, run);
		count++;
	}
	if (!good)
		r = store_damaged(s, err, "a row of the second clock cannot be");
	else if (step == SQLITE_ROW || (step == SQLITE_DONE && count < clock->pairs))
		r = store_damaged(s, err, "the second clock has not as many rows as it says");
	else if (step != SQLITE_DONE)
		r = store_fail(s, err, "reading the second clock");
	sqlite3_reset(s->select_second);
	return r < 0 ? r : count;
}
