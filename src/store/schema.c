/* SPDX-License-Identifier: Apache-2.0 */
#include "store/schema.h"

#include <stddef.h>
#include <string.h>

#include "probe/run.h"
#include "probe/transit.h"
#include "store/hop.h"
#include "store/resource.h"

#define FIELD(column, type, member)                                                                                    \
	{                                                                                                              \
		column, type, offsetof(struct run_record, member), sizeof(((struct run_record *)0)->member)            \
	}

const struct run_column run_columns[] = {
	FIELD("run", COLUMN_U32, run),
	FIELD("started_utc_ns", COLUMN_I64, started_utc_ns),
	FIELD("elapsed_ns", COLUMN_I64, elapsed_ns),
	FIELD("invalid", COLUMN_TEXT, invalid),
	FIELD("sent", COLUMN_U64, ledger.sent),
	FIELD("matched", COLUMN_U64, ledger.fate[FATE_MATCHED]),
	FIELD("lost", COLUMN_U64, ledger.fate[FATE_LOST]),
	FIELD("late", COLUMN_U64, ledger.fate[FATE_LATE]),
	FIELD("unparsed", COLUMN_U64, ledger.fate[FATE_UNPARSED]),
	FIELD("shadowed", COLUMN_U64, ledger.fate[FATE_SHADOWED]),
	FIELD("unstamped", COLUMN_U64, ledger.fate[FATE_UNSTAMPED]),
	FIELD("duplicates", COLUMN_U64, ledger.duplicates),
	FIELD("reordered", COLUMN_U64, ledger.reordered),
	FIELD("foreign_frames", COLUMN_U64, ledger.foreign),
	FIELD("set_apart", COLUMN_U64, ledger.set_apart),
	FIELD("arrived", COLUMN_U64, ledger.arrived),
	FIELD("classified", COLUMN_U64, ledger.classified),
	FIELD("tsc_start", COLUMN_U64, tsc_start),
	FIELD("tsc_hz", COLUMN_DOUBLE, tsc_hz),
	FIELD("tsc_hz_u_ppm", COLUMN_DOUBLE, tsc_hz_u_ppm),
	FIELD("tsc_tick_ns", COLUMN_DOUBLE, tsc_tick_ns),
	FIELD("offered_pps", COLUMN_DOUBLE, offered_pps),
	FIELD("intended_pps", COLUMN_DOUBLE, intended_pps),
	FIELD("lateness_p50_ns", COLUMN_I64, lateness_p50_ns),
	FIELD("lateness_p99_ns", COLUMN_I64, lateness_p99_ns),
	FIELD("lateness_max_ns", COLUMN_I64, lateness_max_ns),
	FIELD("gap_limit_ns", COLUMN_I64, gap_limit_ns),
	FIELD("core_send", COLUMN_I32, core_send),
	FIELD("core_receive", COLUMN_I32, core_receive),
	FIELD("pingpong_p50_ns", COLUMN_DOUBLE, pingpong_p50_ns),
	FIELD("blocks_near", COLUMN_U32, blocks_near),
	FIELD("blocks_far", COLUMN_U32, blocks_far),
	FIELD("stalls", COLUMN_U32, stalls),
	FIELD("stalled_ns", COLUMN_I64, stalled_ns),
	FIELD("clock_steps", COLUMN_U32, clock_steps),
	FIELD("protection", COLUMN_TEXT, protection),
	{ NULL },
};

#undef FIELD
#define FIELD(column, type, member)                                                                                    \
	{                                                                                                              \
		column, type, offsetof(struct transit_conditions, member),                                             \
			sizeof(((struct transit_conditions *)0)->member)                                               \
	}

const struct run_column transit_columns[] = {
	FIELD("regime", COLUMN_TEXT, regime),
	FIELD("frame_bytes", COLUMN_U32, frame_bytes),
	FIELD("interval_ns", COLUMN_I64, interval_ns),
	FIELD("carrier_asked_bps", COLUMN_I64, carrier_asked_bps),
	FIELD("carrier_frame_bytes", COLUMN_U32, carrier_frame_bytes),
	FIELD("carrier_sent", COLUMN_U64, carrier_sent),
	FIELD("carrier_received", COLUMN_U64, carrier_received),
	FIELD("carrier_offered_bps", COLUMN_DOUBLE, carrier_offered_bps),
	FIELD("carrier_received_bps", COLUMN_DOUBLE, carrier_received_bps),
	FIELD("sw_in_missing", COLUMN_U64, sw_in_missing),
	FIELD("sw_out_missing", COLUMN_U64, sw_out_missing),
	FIELD("drift_ppm", COLUMN_DOUBLE, drift_ppm),
	FIELD("segments", COLUMN_U32, segments),
	FIELD("align_width_ns", COLUMN_DOUBLE, align_width_ns),
	FIELD("align_low_ns", COLUMN_DOUBLE, align_low_ns),
	FIELD("align_high_ns", COLUMN_DOUBLE, align_high_ns),
	{ NULL },
};

static const char transit_tables[] =
	"CREATE TABLE transit (run INTEGER NOT NULL, seq INTEGER NOT NULL, packet INTEGER NOT NULL,"
	" fate INTEGER NOT NULL, flags INTEGER NOT NULL, sched INTEGER NOT NULL, late INTEGER NOT NULL,"
	" sw_in INTEGER, p4_in INTEGER, inside INTEGER, sw_out INTEGER, rx INTEGER,"
	" PRIMARY KEY (run, seq)) STRICT, WITHOUT ROWID;"
	"CREATE VIEW transit_us AS SELECT t.cell, t.restart, r.run, x.run AS run_id, x.seq,"
	" CASE x.fate WHEN 0 THEN 'matched' WHEN 1 THEN 'lost' WHEN 2 THEN 'late' WHEN 3 THEN 'unparsed'"
	" WHEN 4 THEN 'shadowed' WHEN 5 THEN 'unstamped' END AS fate,"
	" x.flags & 1 AS set_apart, x.inside AS transit_us,"
	" x.sched / 1000.0 AS sched_us, (x.sched + x.late) / 1000.0 AS tx_us,"
	" (x.sched + x.late + x.sw_in) / 1000.0 AS sw_in_us, x.p4_in AS p4_in_us, x.p4_in + x.inside AS p4_out_us,"
	" (x.sched + x.late + x.sw_out) / 1000.0 AS sw_out_us, (x.sched + x.late + x.rx) / 1000.0 AS rx_us"
	" FROM transit x JOIN run r ON r.id = x.run JOIN restart s ON s.id = r.restart JOIN turn t ON t.id = s.turn;";

/*
 * STRICT keeps a column to its type. pair is clustered by (run, seq): a run's
 * samples lie together and in order. Its times are ticks, small because relative
 * (docs/store.md); no foreign key, no check: it is written millions of times, by
 * one statement. Seed and hash are text: 64 bits without sign.
 */
static const char tables[] =
	"CREATE TABLE campaign (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL, measure TEXT NOT NULL,"
	" plan_path TEXT NOT NULL, plan_text TEXT NOT NULL, plan_hash TEXT NOT NULL, seed TEXT NOT NULL,"
	" restarts INTEGER NOT NULL, runs INTEGER NOT NULL, target_kind TEXT NOT NULL, tare_version TEXT NOT NULL,"
	" created_utc_ns INTEGER NOT NULL) STRICT;"
	"CREATE TABLE host (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE axis (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;"
	"CREATE TABLE cell (id INTEGER PRIMARY KEY, label TEXT NOT NULL, is_tare INTEGER NOT NULL, tare INTEGER "
	"REFERENCES cell) STRICT;"
	"CREATE TABLE cell_value (cell INTEGER NOT NULL REFERENCES cell, axis INTEGER NOT NULL REFERENCES axis,"
	" value TEXT NOT NULL, PRIMARY KEY (cell, axis)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE turn (id INTEGER PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cell, restart INTEGER NOT NULL,"
	" block INTEGER NOT NULL, UNIQUE (cell, restart)) STRICT;"
	"CREATE TABLE restart (id INTEGER PRIMARY KEY, turn INTEGER NOT NULL REFERENCES turn,"
	" started_utc_ns INTEGER NOT NULL, ended_utc_ns INTEGER NOT NULL, target_facts TEXT, failure TEXT) STRICT;"
	"CREATE UNIQUE INDEX restart_good ON restart (turn) WHERE failure IS NULL;"
	"CREATE TABLE pair (run INTEGER NOT NULL, seq INTEGER NOT NULL, packet INTEGER NOT NULL, fate INTEGER NOT NULL,"
	" flags INTEGER NOT NULL, path INTEGER, bypass INTEGER, truth INTEGER, sched INTEGER NOT NULL,"
	" late INTEGER NOT NULL, gap_path INTEGER, gap_bypass INTEGER, burst INTEGER NOT NULL,"
	" PRIMARY KEY (run, seq)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE event (id INTEGER PRIMARY KEY, restart INTEGER REFERENCES restart, utc_ns INTEGER NOT NULL,"
	" kind TEXT NOT NULL, message TEXT NOT NULL) STRICT;"
	"CREATE VIEW pair_ns AS SELECT t.cell, t.restart, r.run, p.run AS run_id, p.seq, p.packet,"
	" CASE p.fate WHEN 0 THEN 'matched' WHEN 1 THEN 'lost' WHEN 2 THEN 'late' WHEN 3 THEN 'unparsed'"
	" WHEN 4 THEN 'shadowed' WHEN 5 THEN 'unstamped' END AS fate,"
	" p.flags & 1 AS set_apart,"
	" round((p.path - p.bypass) * 1e9 / r.tsc_hz, 3) AS difference_ns,"
	" round(p.truth * 1e9 / r.tsc_hz, 3) AS truth_ns,"
	" round(p.sched * 1e9 / r.tsc_hz, 3) AS sched_ns,"
	" round((p.sched + p.late) * 1e9 / r.tsc_hz, 3) AS tx_ns,"
	" round((p.sched + p.late + p.path) * 1e9 / r.tsc_hz, 3) AS rx_path_ns,"
	" round((p.sched + p.late + p.bypass) * 1e9 / r.tsc_hz, 3) AS rx_bypass_ns,"
	" round(p.gap_path * 1e9 / r.tsc_hz, 3) AS gap_path_ns,"
	" round(p.gap_bypass * 1e9 / r.tsc_hz, 3) AS gap_bypass_ns,"
	" p.burst & 255 AS burst_path, p.burst >> 8 AS burst_bypass"
	" FROM pair p JOIN run r ON r.id = p.run JOIN restart s ON s.id = r.restart JOIN turn t ON t.id = s.turn;";

static const char *column_sql_type(enum column_type type)
{
	/* SQLite has no NaN: it becomes NULL, and NaN again on reading */
	return type == COLUMN_DOUBLE ? "REAL" : type == COLUMN_TEXT ? "TEXT NOT NULL" : "INTEGER NOT NULL";
}

const char *schema_columns_sql(const char *table, const struct run_column *columns, struct arena *arena)
{
	const char *sql = arena_printf(arena, "CREATE TABLE %s (run INTEGER PRIMARY KEY REFERENCES run", table);

	for (const struct run_column *c = columns; sql && c->name; c++)
		sql = arena_printf(arena, "%s, %s %s", sql, c->name, column_sql_type(c->type));
	return sql ? arena_printf(arena, "%s) STRICT;", sql) : NULL;
}

/* Tables of transit plans. */
static const char *transit_sql(struct arena *arena)
{
	const char *sql = schema_columns_sql("run_transit", transit_columns, arena);

	return sql ? arena_printf(arena, "%s%s", sql, transit_tables) : NULL;
}

/* What a run found, a number a row; NULL where it could not be found. */
static const char *value_sql(struct arena *arena)
{
	(void)arena;
	return "CREATE TABLE value (run INTEGER NOT NULL REFERENCES run, seq INTEGER NOT NULL, name TEXT NOT NULL,"
	       " unit TEXT NOT NULL, value REAL, PRIMARY KEY (run, seq), UNIQUE (run, name)) STRICT, WITHOUT ROWID;";
}

/* What a campaign knows of itself beside its plan: which store this is, and which cells have stopped. */
static const char *course_sql(struct arena *arena)
{
	(void)arena;
	return "CREATE TABLE IF NOT EXISTS identity (id INTEGER PRIMARY KEY CHECK (id = 1), store TEXT NOT NULL) "
	       "STRICT;"
	       "INSERT OR IGNORE INTO identity VALUES (1, lower(hex(randomblob(16))));"
	       "CREATE TABLE IF NOT EXISTS stopped (cell INTEGER PRIMARY KEY REFERENCES cell, block INTEGER NOT NULL,"
	       " restarts INTEGER NOT NULL, width REAL NOT NULL, reason TEXT NOT NULL) STRICT;"
	       "CREATE TABLE IF NOT EXISTS origin (id INTEGER PRIMARY KEY, store TEXT NOT NULL UNIQUE, host TEXT NOT "
	       "NULL) STRICT;"
	       "CREATE TABLE IF NOT EXISTS origin_fact (origin INTEGER NOT NULL REFERENCES origin, name TEXT NOT NULL,"
	       " value TEXT NOT NULL, PRIMARY KEY (origin, name)) STRICT, WITHOUT ROWID;"
	       "CREATE TABLE IF NOT EXISTS restart_origin (restart INTEGER PRIMARY KEY REFERENCES restart,"
	       " origin INTEGER NOT NULL REFERENCES origin) STRICT;";
}

const struct schema_part schema_parts[] = {
	{ 2, transit_sql },         /* run_transit, transit */
	{ 3, schema_second_sql },   /* run_second, second */
	{ 3, value_sql },           /* value */
	{ 3, course_sql },          /* identity, stopped, origin... */
	{ 3, schema_control_sql },  /* run_control, operation... */
	{ 3, schema_resource_sql }, /* resource_..., transit_part */
	{ 3, schema_hop_sql },      /* hop */
	{ 3, schema_trial_sql },    /* search, trial */
	{ 0, NULL },
};

const char *schema_create_sql(struct arena *arena)
{
	const char *sql = "CREATE TABLE run (id INTEGER PRIMARY KEY, restart INTEGER NOT NULL REFERENCES restart,"
			  " pairs INTEGER NOT NULL";

	for (const struct run_column *c = run_columns; sql && c->name; c++)
		sql = arena_printf(arena, "%s, %s %s", sql, c->name, column_sql_type(c->type));
	sql = sql ? arena_printf(arena, "%s, UNIQUE (restart, run)) STRICT;%s", sql, tables) : NULL;
	for (const struct schema_part *part = schema_parts; sql && part->since; part++) {
		const char *more = part->sql(arena);

		sql = more ? arena_printf(arena, "%s%s", sql, more) : NULL;
	}
	return sql;
}

const char *schema_insert_columns_sql(const char *table, const struct run_column *columns, struct arena *arena)
{
	const char *names = "run", *marks = "?";

	for (const struct run_column *c = columns; names && marks && c->name; c++) {
		names = arena_printf(arena, "%s, %s", names, c->name);
		marks = arena_printf(arena, "%s, ?", marks);
	}
	return names && marks ? arena_printf(arena, "INSERT INTO %s (%s) VALUES (%s)", table, names, marks) : NULL;
}

const char *schema_select_columns_sql(const char *table, const struct run_column *columns, struct arena *arena)
{
	const char *names = "run";

	for (const struct run_column *c = columns; names && c->name; c++)
		names = arena_printf(arena, "%s, %s", names, c->name);
	return names ? arena_printf(arena, "SELECT %s FROM %s WHERE run = ?", names, table) : NULL;
}

const char *schema_insert_conditions_sql(struct arena *arena)
{
	return schema_insert_columns_sql("run_transit", transit_columns, arena);
}

const char *schema_select_conditions_sql(struct arena *arena)
{
	return schema_select_columns_sql("run_transit", transit_columns, arena);
}

const char *schema_insert_run_sql(struct arena *arena)
{
	const char *names = "restart, pairs", *marks = "?, ?";

	for (const struct run_column *c = run_columns; names && marks && c->name; c++) {
		names = arena_printf(arena, "%s, %s", names, c->name);
		marks = arena_printf(arena, "%s, ?", marks);
	}
	return names && marks ? arena_printf(arena, "INSERT INTO run (%s) VALUES (%s)", names, marks) : NULL;
}

const char *schema_select_runs_sql(struct arena *arena)
{
	const char *names = "id, pairs";

	for (const struct run_column *c = run_columns; names && c->name; c++)
		names = arena_printf(arena, "%s, %s", names, c->name);
	return names ? arena_printf(arena, "SELECT %s FROM run WHERE restart = ? ORDER BY run", names) : NULL;
}
