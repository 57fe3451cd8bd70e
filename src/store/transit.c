/* SPDX-License-Identifier: Apache-2.0 */
#include "store/schema.h"
#include "store/store_private.h"

/* Runs of transit plans: their conditions and samples. Times in the table are relative, so that rows are small. */

/* --- writing --- */

static void bind_since(sqlite3_stmt *stmt, int index, int64_t value, int64_t base)
{
	if (value == TRANSIT_NONE)
		sqlite3_bind_null(stmt, index);
	else
		sqlite3_bind_int64(stmt, index, (int64_t)((uint64_t)value - (uint64_t)base));
}

/* The order is SCHEMA_TRANSIT_COLUMNS; run is bound once for all. */
static void bind_row(sqlite3_stmt *stmt, const struct transit *t)
{
	sqlite3_bind_int64(stmt, 2, t->seq);
	sqlite3_bind_int64(stmt, 3, t->packet);
	sqlite3_bind_int64(stmt, 4, t->fate);
	sqlite3_bind_int64(stmt, 5, t->flags);
	sqlite3_bind_int64(stmt, 6, t->sched_ns);
	bind_since(stmt, 7, t->tx_ns, t->sched_ns);
	bind_since(stmt, 8, t->sw_in_ns, t->tx_ns);
	bind_since(stmt, 9, t->p4_in_us, 0);
	bind_since(stmt, 10, t->p4_out_us, t->p4_in_us);
	bind_since(stmt, 11, t->sw_out_ns, t->tx_ns);
	bind_since(stmt, 12, t->rx_ns, t->tx_ns);
}

static int write_rows(struct store *s, int64_t run_id, const struct transit *rows, uint32_t count, struct err *err)
{
	int r = store_prepare(
		s, "INSERT INTO transit (" SCHEMA_TRANSIT_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		&s->insert_transit, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(s->insert_transit, 1, run_id);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		bind_row(s->insert_transit, &rows[i]);
		r = store_step_once(s, s->insert_transit, "writing samples", err);
	}
	return r;
}

int store_put_transit_run(struct store *s, const struct run_record *run, const struct transit_conditions *conditions,
			  const struct transit *rows, uint32_t row_count, struct err *err)
{
	int64_t run_id;
	int r;

	TARE_ASSERT(s->writer && s->in_restart);
	run_id = store_write_run(s, run, row_count, err);
	r = run_id < 0 ? (int)run_id : 0;
	if (r == 0)
		r = store_prepare(s, s->insert_conditions ? NULL : schema_insert_conditions_sql(&s->arena),
				  &s->insert_conditions, err);
	if (r == 0) {
		sqlite3_bind_int64(s->insert_conditions, 1, run_id);
		store_bind_columns(s->insert_conditions, 2, transit_columns, conditions);
		r = store_step_once(s, s->insert_conditions, "writing a run", err);
	}
	if (r == 0)
		r = write_rows(s, run_id, rows, row_count, err);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

/* --- reading --- */

static int64_t since_at(sqlite3_stmt *stmt, int column, int64_t base)
{
	int64_t value = sqlite3_column_int64(stmt, column);

	if (value == 0 && sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return TRANSIT_NONE;
	return (int64_t)((uint64_t)value + (uint64_t)base);
}

/* The order is SCHEMA_TRANSIT_COLUMNS without run. */
static void row_at(sqlite3_stmt *stmt, struct transit *t)
{
	t->seq = (uint32_t)sqlite3_column_int64(stmt, 0);
	t->packet = (uint32_t)sqlite3_column_int64(stmt, 1);
	t->fate = (uint8_t)sqlite3_column_int64(stmt, 2);
	t->flags = (uint8_t)sqlite3_column_int64(stmt, 3);
	t->sched_ns = sqlite3_column_int64(stmt, 4);
	t->tx_ns = since_at(stmt, 5, t->sched_ns);
	t->sw_in_ns = since_at(stmt, 6, t->tx_ns);
	t->p4_in_us = since_at(stmt, 7, 0);
	t->p4_out_us = since_at(stmt, 8, t->p4_in_us);
	t->sw_out_ns = since_at(stmt, 9, t->tx_ns);
	t->rx_ns = since_at(stmt, 10, t->tx_ns);
}

/* Far from where differences of two times, or a time in ns, would overflow. */
static bool time_good(int64_t value, int64_t most)
{
	return value == TRANSIT_NONE || (value > -most && value < most);
}

/* A damaged file may say anything: what figures stand on must hang together. */
static bool row_good(const struct transit *t)
{
	const int64_t most_ns = INT64_C(1) << 60, most_us = INT64_C(1) << 50;
	bool there = (t->rx_ns != TRANSIT_NONE || (t->flags & TRANSIT_NO_HOST)) && t->p4_in_us != TRANSIT_NONE &&
		     t->p4_out_us != TRANSIT_NONE;

	return t->fate < FATES && t->tx_ns != TRANSIT_NONE && time_good(t->sched_ns, most_ns) &&
	       time_good(t->tx_ns, most_ns) && time_good(t->sw_in_ns, most_ns) && time_good(t->sw_out_ns, most_ns) &&
	       time_good(t->rx_ns, most_ns) && time_good(t->p4_in_us, most_us) && time_good(t->p4_out_us, most_us) &&
	       (t->fate != FATE_MATCHED || there);
}

int64_t store_read_transits(struct store *s, const struct stored_run *run, struct transit *ret_rows, uint32_t capacity,
			    struct err *err)
{
	uint32_t count = 0;
	int step;
	int64_t r;

	TARE_ASSERT(capacity >= run->pair_count);
	r = store_prepare(s,
			  "SELECT seq, packet, fate, flags, sched, late, sw_in, p4_in, inside, sw_out, rx"
			  " FROM transit WHERE run = ? ORDER BY seq",
			  &s->select_transits, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(s->select_transits, 1, run->id);
	while ((step = sqlite3_step(s->select_transits)) == SQLITE_ROW && count < run->pair_count) {
		row_at(s->select_transits, &ret_rows[count]);
		if (!row_good(&ret_rows[count]))
			break;
		count++;
	}
	if (step == SQLITE_ROW && count < run->pair_count)
		r = store_damaged(s, err, "a sample contradicts its fate");
	else if (step == SQLITE_ROW || (step == SQLITE_DONE && count < run->pair_count))
		r = store_damaged(s, err, "a run has not as many samples as it says");
	else if (step != SQLITE_DONE)
		r = store_fail(s, err, "reading samples");
	sqlite3_reset(s->select_transits);
	return r < 0 ? r : count;
}

int store_read_conditions(struct store *s, const struct stored_run *run, struct transit_conditions *ret,
			  struct err *err)
{
	int r = store_prepare(s, s->select_conditions ? NULL : schema_select_conditions_sql(&s->arena),
			      &s->select_conditions, err);
	int step, column = 1;

	if (r < 0)
		return r;
	sqlite3_bind_int64(s->select_conditions, 1, run->id);
	step = sqlite3_step(s->select_conditions);
	*ret = (struct transit_conditions){ 0 };
	if (step == SQLITE_ROW)
		for (const struct run_column *c = transit_columns; c->name; c++)
			store_column_into(s->select_conditions, column++, c, ret);
	else
		r = step == SQLITE_DONE ? store_damaged(s, err, "a run has no conditions")
					: store_fail(s, err, "reading the conditions of a run");
	sqlite3_reset(s->select_conditions);
	return r;
}
