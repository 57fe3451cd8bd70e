/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hop.h"

#include <math.h>

#include "store/store_private.h"

#define COLUMNS                                                                                                        \
	"run, hop, seq, flags, switch_id, raw_in, raw_out, sw_in, sw_out, p4_in, p4_out, boot, causal, width, truth"

const char *schema_hop_sql(struct arena *arena)
{
	(void)arena;
	return "CREATE TABLE hop (run INTEGER NOT NULL, hop INTEGER NOT NULL, seq INTEGER NOT NULL,"
	       " flags INTEGER NOT NULL, switch_id INTEGER, raw_in INTEGER, raw_out INTEGER, sw_in INTEGER,"
	       " sw_out INTEGER, p4_in INTEGER, p4_out INTEGER, boot REAL, causal REAL, width REAL, truth REAL,"
	       " PRIMARY KEY (run, hop, seq)) STRICT, WITHOUT ROWID;"
	       "CREATE VIEW hop_us AS SELECT t.cell, t.restart, r.run, h.run AS run_id, h.seq, h.hop, h.switch_id,"
	       " h.flags >> 6 & 1 AS apart, h.sw_in / 1000.0 AS sw_in_us, h.sw_out / 1000.0 AS sw_out_us,"
	       " (h.p4_in + h.boot) / 1000.0 AS boot_in_us, (h.p4_out + h.boot) / 1000.0 AS boot_out_us,"
	       " (h.p4_in + h.causal) / 1000.0 AS causal_in_us, (h.p4_out + h.causal) / 1000.0 AS causal_out_us,"
	       " h.width / 1000.0 AS width_us, (h.p4_in + h.truth) / 1000.0 AS truth_in_us,"
	       " (h.p4_out + h.truth) / 1000.0 AS truth_out_us"
	       " FROM hop h JOIN run r ON r.id = h.run JOIN restart s ON s.id = r.restart JOIN turn t ON t.id = "
	       "s.turn;";
}

/* --- writing --- */

static void bind_time(sqlite3_stmt *stmt, int index, int64_t ns)
{
	if (ns == TELEMETRY_NONE)
		sqlite3_bind_null(stmt, index);
	else
		sqlite3_bind_int64(stmt, index, ns);
}

/* The order is COLUMNS. A number that is not known (NaN) becomes NULL. */
static void bind_hop(sqlite3_stmt *stmt, int64_t run, const struct hop *h)
{
	sqlite3_clear_bindings(stmt);
	sqlite3_bind_int64(stmt, 1, run);
	sqlite3_bind_int64(stmt, 2, h->hop);
	sqlite3_bind_int64(stmt, 3, h->seq);
	sqlite3_bind_int64(stmt, 4, h->flags);
	bind_time(stmt, 8, h->sw_in_ns);
	bind_time(stmt, 9, h->sw_out_ns);
	if (!h->stamped)
		return;
	sqlite3_bind_int64(stmt, 5, h->switch_id);
	sqlite3_bind_int64(stmt, 6, (int64_t)h->raw_in);
	sqlite3_bind_int64(stmt, 7, (int64_t)h->raw_out);
	bind_time(stmt, 10, h->p4_in_ns);
	bind_time(stmt, 11, h->p4_out_ns);
	sqlite3_bind_double(stmt, 12, h->boot_ns);
	sqlite3_bind_double(stmt, 13, h->causal_ns);
	sqlite3_bind_double(stmt, 14, h->width_ns);
	sqlite3_bind_double(stmt, 15, h->truth_ns);
}

int store_put_hops(struct store *s, const struct hop *hops, size_t count, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r;

	TARE_ASSERT(s->writer && s->in_restart && s->run_id);
	r = store_prepare(s, "INSERT INTO hop (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			  &stmt, err);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!hops[i].stamped && hops[i].sw_in_ns == TELEMETRY_NONE && hops[i].sw_out_ns == TELEMETRY_NONE)
			continue;
		bind_hop(stmt, s->run_id, &hops[i]);
		r = store_step_once(s, stmt, "writing hops", err);
	}
	sqlite3_finalize(stmt);
	if (r < 0)
		store_abandon_restart(s);
	return r;
}

/* --- reading --- */

int64_t store_count_hops(struct store *s, const struct stored_run *run, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int64_t count = 0;
	int r;

	if (s->schema < 3)
		return 0;
	r = store_prepare(s, "SELECT count(*) FROM hop WHERE run = ?", &stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, run->id);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		count = sqlite3_column_int64(stmt, 0);
	else
		count = store_fail(s, err, "counting the hops of a run");
	sqlite3_finalize(stmt);
	return count;
}

static int64_t time_at(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? TELEMETRY_NONE : sqlite3_column_int64(stmt, column);
}

static double number_at(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, column);
}

/* The order is COLUMNS without run. A damaged file may say anything. */
static bool hop_at(sqlite3_stmt *stmt, struct hop *h)
{
	const int64_t most_ns = INT64_C(1) << 60;
	int64_t hop = sqlite3_column_int64(stmt, 0), seq = sqlite3_column_int64(stmt, 1);

	*h = (struct hop){ .hop = (uint8_t)hop,
			   .seq = (uint32_t)seq,
			   .flags = (uint8_t)sqlite3_column_int64(stmt, 2),
			   .stamped = sqlite3_column_type(stmt, 3) != SQLITE_NULL,
			   .switch_id = (uint32_t)sqlite3_column_int64(stmt, 3),
			   .raw_in = (uint64_t)sqlite3_column_int64(stmt, 4),
			   .raw_out = (uint64_t)sqlite3_column_int64(stmt, 5),
			   .sw_in_ns = time_at(stmt, 6),
			   .sw_out_ns = time_at(stmt, 7),
			   .p4_in_ns = time_at(stmt, 8),
			   .p4_out_ns = time_at(stmt, 9),
			   .boot_ns = number_at(stmt, 10),
			   .causal_ns = number_at(stmt, 11),
			   .width_ns = number_at(stmt, 12),
			   .truth_ns = number_at(stmt, 13) };
	for (int column = 6; column <= 9; column++) {
		int64_t ns = time_at(stmt, column);

		if (ns != TELEMETRY_NONE && (ns <= -most_ns || ns >= most_ns))
			return false;
	}
	return hop >= 1 && hop <= TELEMETRY_HOPS && seq >= 0 && seq < UINT32_MAX;
}

int64_t store_read_hops(struct store *s, const struct stored_run *run, struct hop *ret_hops, size_t capacity,
			struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int64_t count = 0;
	int step;
	int r;

	if (s->schema < 3)
		return 0;
	r = store_prepare(s,
			  "SELECT hop, seq, flags, switch_id, raw_in, raw_out, sw_in, sw_out, p4_in, p4_out, boot,"
			  " causal, width, truth FROM hop WHERE run = ? ORDER BY hop, seq",
			  &stmt, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, run->id);
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW && (size_t)count < capacity)
		if (!hop_at(stmt, &ret_hops[count++])) {
			count = store_damaged(s, err, "a hop is of no switch, or of no time");
			break;
		}
	if (step == SQLITE_ROW && count >= 0)
		count = store_damaged(s, err, "a run has more hops than were counted");
	else if (step != SQLITE_DONE && count >= 0)
		count = store_fail(s, err, "reading hops");
	sqlite3_finalize(stmt);
	return count;
}
