/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tsc_run.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID, TX, PATH, BYPASS, DIFFERENCE };
const char *const tsc_run_columns[] = { "pkt_id", "tx_ts_ns", "rx1_ts_ns", "rx2_ts_ns", "diff_latency_ns", NULL };

/* Stamps and difference are each cut down to whole ns, from a double. */
enum { ROUNDING_NS = 2 };
/* A copy further than this from the other was not stamped: a 0 is then no time but a missing one. */
enum { UNSTAMPED_NS = 100000000 };
enum { ROWS_MOST = 2 * IMPORT_PROBES_MOST };

static int bad_row(const struct csv *csv, struct err *err, const char *what, int64_t is)
{
	return err_set(err, ERR_USAGE, EINVAL, "%s:%" PRIu64 ": %s, but is %" PRId64, csv->lines.path,
		       csv->lines.number, what, is);
}

static int id_check(const struct csv *csv, int64_t id, struct err *err)
{
	if (id >= 0 && id <= IMPORT_ID_MOST)
		return 0;
	return err_set(err, ERR_USAGE, EINVAL, "%s:%" PRIu64 ": pkt_id %" PRId64 "; expected 0 to %d", csv->lines.path,
		       csv->lines.number, id, IMPORT_ID_MOST);
}

static int length_check(const struct csv *csv, uint64_t rows, struct err *err)
{
	if (rows <= ROWS_MOST)
		return 0;
	return err_set(err, ERR_USAGE, EFBIG, "%s:%" PRIu64 ": over %d rows: no run of probes is so long",
		       csv->lines.path, csv->lines.number, ROWS_MOST);
}

int tsc_run_note(const char *path, struct import_seen *seen, struct err *err)
{
	static const char *const only_id[] = { "pkt_id", NULL };
	struct csv csv;
	uint64_t rows = 0;
	int64_t id;
	int r = csv_open(&csv, path, only_id, err);

	if (r < 0)
		return r;
	while ((r = csv_next(&csv, &id, err)) == 1) {
		r = id_check(&csv, id, err);
		if (r == 0)
			r = length_check(&csv, ++rows, err);
		if (r == 0 && import_seen_add(seen, (uint32_t)id) < 0)
			r = err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
		if (r < 0)
			break;
	}
	csv_release(&csv);
	return r;
}

static int row_check(const struct csv *csv, const int64_t *row, struct err *err)
{
	int64_t stamps = row[PATH] - row[BYPASS];
	int r = id_check(csv, row[ID], err);
	char what[96];

	if (r < 0)
		return r;
	if (row[PATH] < 0 || row[BYPASS] < 0 || row[TX] < 0)
		return bad_row(csv, err, "a stamp is since the first and must not be negative",
			       row[PATH] < 0     ? row[PATH]
			       : row[BYPASS] < 0 ? row[BYPASS]
						 : row[TX]);
	if (llabs(stamps - row[DIFFERENCE]) <= ROUNDING_NS)
		return 0;
	snprintf(what, sizeof(what), "diff_latency_ns must be rx1_ts_ns - rx2_ts_ns = %" PRId64, stamps);
	return bad_row(csv, err, what, row[DIFFERENCE]);
}

static void begin(const struct import_ids *ids, struct pair *pairs)
{
	for (uint32_t i = 0; i < ids->count; i++) {
		struct pair *p = &pairs[i];

		*p = (struct pair){
			.seq = i,
			.packet = i,
			.fate = FATE_LOST,
			.flags = PAIR_NO_TX,
			.path_ticks = PAIR_NONE,
			.bypass_ticks = PAIR_NONE,
			.gap_path_ticks = PAIR_NONE,
			.gap_bypass_ticks = PAIR_NONE,
			.truth_ticks = PAIR_NONE,
		};
		if (ids->state[i] == IMPORT_ID_OWN)
			continue;
		p->fate = ids->state[i] == IMPORT_ID_SHARED ? FATE_SHADOWED : FATE_UNPARSED;
		p->flags |= PAIR_NOT_RANKED;
	}
}

struct taking {
	const struct import_ids *ids;
	struct pair *pairs;
	struct ledger ledger;
	bool zero_seen; /* the first copy of the run is at 0; a second one is no time */
};

static bool is_unstamped(struct taking *t, const int64_t *row)
{
	bool zero = row[PATH] == 0 || row[BYPASS] == 0;
	bool missing = zero && (t->zero_seen || llabs(row[DIFFERENCE]) > UNSTAMPED_NS);

	t->zero_seen = t->zero_seen || zero;
	return missing;
}

static void take_row(struct taking *t, const int64_t *row)
{
	uint32_t probe = import_ids_find(t->ids, row[ID]);
	struct pair *p = probe == UINT32_MAX ? NULL : &t->pairs[probe];

	t->ledger.arrived += 2;
	t->ledger.classified += 2;
	if (!p) {
		t->ledger.foreign += 2;
		return;
	}
	if (p->fate == FATE_SHADOWED)
		return;
	if (p->fate != FATE_LOST) {
		t->ledger.duplicates += 2;
		return;
	}
	p->fate = is_unstamped(t, row) ? FATE_UNSTAMPED : FATE_MATCHED;
	if (p->fate == FATE_UNSTAMPED)
		return;
	p->bypass_ticks = row[BYPASS];
	/* the difference was made before the stamps were cut down */
	p->path_ticks = row[BYPASS] + row[DIFFERENCE];
	p->sched_ticks = p->tx_ticks = row[TX] ? row[TX] : row[BYPASS];
	if (row[TX])
		p->flags &= (uint8_t)~PAIR_NO_TX;
}

static void finish(const struct taking *t, struct run_record *ret)
{
	int64_t first = 0, last = 0, latest = -1;
	uint32_t matched = 0;
	struct ledger ledger = t->ledger;

	ledger.sent = t->ids->count;
	for (uint32_t i = 0; i < t->ids->count; i++) {
		const struct pair *p = &t->pairs[i];

		ledger.fate[p->fate]++;
		if (p->fate != FATE_MATCHED)
			continue;
		first = matched++ ? first : p->bypass_ticks;
		last = p->bypass_ticks;
		ledger.reordered += p->bypass_ticks < latest;
		latest = p->bypass_ticks > latest ? p->bypass_ticks : latest;
	}
	*ret = (struct run_record){
		.ledger = ledger,
		.tsc_hz = 1e9,
		.tsc_hz_u_ppm = NAN,
		.tsc_tick_ns = 1,
		.offered_pps = last > first ? (matched - 1) * 1e9 / (double)(last - first) : 0,
		.elapsed_ns = last,
		.core_send = -1,
		.core_receive = -1,
		.protection = "not recorded",
	};
}

int tsc_run_take(struct csv *csv, const struct import_ids *ids, struct pair *ret_pairs, struct run_record *ret,
		 struct err *err)
{
	struct taking t = { .ids = ids, .pairs = ret_pairs };
	int64_t row[CSV_WANTED_MOST];
	uint64_t rows = 0;
	int r;

	begin(ids, ret_pairs);
	while ((r = csv_next(csv, row, err)) == 1) {
		r = row_check(csv, row, err);
		if (r == 0)
			r = length_check(csv, ++rows, err);
		if (r < 0)
			break;
		take_row(&t, row);
	}
	if (r == 0 && rows == 0)
		r = err_set(err, ERR_USAGE, EINVAL, "%s:2: no rows behind the header", csv->lines.path);
	csv_release(csv);
	if (r == 0)
		finish(&t, ret);
	return r;
}

int tsc_run_read(const char *path, const struct import_ids *ids, struct pair *ret_pairs, struct run_record *ret,
		 struct err *err)
{
	struct csv csv;
	int r = csv_open(&csv, path, tsc_run_columns, err);

	return r < 0 ? r : tsc_run_take(&csv, ids, ret_pairs, ret, err);
}
