/* SPDX-License-Identifier: Apache-2.0 */
#include "store/schema.h"
#include "store/store_private.h"

/* Cells that have restarts enough, and what that makes of the turns that were planned for them. */

int store_put_stop(struct store *s, const struct stored_stop *stop, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r;

	TARE_ASSERT(s->writer && !s->in_restart);
	r = store_prepare(s,
			  "INSERT OR IGNORE INTO stopped (cell, block, restarts, width, reason) VALUES (?, ?, ?, ?, ?)",
			  &stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, stop->cell);
	sqlite3_bind_int64(stmt, 2, stop->block);
	sqlite3_bind_int64(stmt, 3, stop->restarts);
	sqlite3_bind_double(stmt, 4, stop->width);
	sqlite3_bind_text(stmt, 5, stop->reason, -1, SQLITE_STATIC);
	r = store_step_once(s, stmt, "writing that a cell has stopped", err);
	sqlite3_finalize(stmt);
	return r;
}

static int stop_at(struct store *s, sqlite3_stmt *stmt, struct arena *arena, uint32_t cell_count,
		   struct stored_stop *ret, struct err *err)
{
	int64_t cell = sqlite3_column_int64(stmt, 0), block = sqlite3_column_int64(stmt, 1),
		restarts = sqlite3_column_int64(stmt, 2);
	const char *reason = (const char *)sqlite3_column_text(stmt, 4);

	if (cell < 0 || cell >= cell_count || block < 0 || block > PLAN_TURNS_MOST || restarts < 0 ||
	    restarts > PLAN_TURNS_MOST || !reason)
		return store_damaged(s, err, "a cell that stopped is none of the plan, or stopped nowhere");
	*ret = (struct stored_stop){
		.cell = (uint32_t)cell,
		.block = (uint32_t)block,
		.restarts = (uint32_t)restarts,
		.width = sqlite3_column_double(stmt, 3),
		.reason = arena_strdup(arena, reason),
	};
	return ret->reason ? 0 : store_oom(s, err);
}

int store_read_stops(struct store *s, struct arena *arena, uint32_t cell_count, struct stored_stop **ret,
		     uint32_t *ret_count, struct err *err)
{
	struct stored_stop *stops = arena_array(arena, cell_count + 1u, sizeof(*stops));
	sqlite3_stmt *stmt = NULL;
	uint32_t count = 0;
	int r = 0, step = SQLITE_DONE;

	if (!stops)
		return store_oom(s, err);
	if (s->schema >= 3)
		r = store_prepare(s, "SELECT cell, block, restarts, width, reason FROM stopped ORDER BY cell", &stmt,
				  err);
	while (r == 0 && stmt && (step = sqlite3_step(stmt)) == SQLITE_ROW && count < cell_count)
		r = stop_at(s, stmt, arena, cell_count, &stops[count++], err);
	if (r == 0 && step == SQLITE_ROW)
		r = store_damaged(s, err, "more cells have stopped than there are");
	else if (r == 0 && step != SQLITE_DONE)
		r = store_fail(s, err, "reading which cells have stopped");
	sqlite3_finalize(stmt);
	if (r < 0)
		return r;
	*ret = stops;
	*ret_count = count;
	return 0;
}

void stored_stops_last_blocks(const struct stored_stop *stops, uint32_t count, const struct cell *cells,
			      uint32_t cell_count, uint32_t *ret_last)
{
	bool tares = false;

	for (uint32_t i = 0; i < cell_count; i++)
		ret_last[i] = UINT32_MAX;
	for (uint32_t i = 0; i < count; i++)
		ret_last[stops[i].cell] = stops[i].block;
	for (uint32_t i = 0; i < cell_count; i++) {
		tares = tares || cells[i].is_tare;
		if (cells[i].is_tare)
			ret_last[i] = 0;
	}
	/* a tare goes on as long as one of its cells does */
	for (uint32_t i = 0; tares && i < cell_count; i++) {
		uint32_t tare = cells[i].tare;

		if (!cells[i].is_tare && tare < cell_count && ret_last[i] > ret_last[tare])
			ret_last[tare] = ret_last[i];
	}
}
