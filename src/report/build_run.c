/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/build.h"
#include "stats/quantile.h"
#include "stats/sort.h"

#define WITHIN_NS 20.0

/* Every per cent, and closer at the ends, where latencies have their tails. */
double ecdf_probability(unsigned point)
{
	static const double low[] = { 0.001, 0.002, 0.005 };
	static const double high[] = { 0.995, 0.998, 0.999 };

	TARE_ASSERT(point < ECDF_POINTS);
	if (point < 3)
		return low[point];
	if (point < 3 + 99)
		return (point - 2) / 100.0;
	return high[point - 102];
}

void run_work_release(struct run_work *w)
{
	free(w->pairs);
	free(w->gross);
	free(w->one_way);
	free(w->intended);
	free(w->truth);
	free(w->excess);
	free(w->scratch);
	*w = (struct run_work){ 0 };
}

int run_work_reserve(struct run_work *w, uint32_t count, struct err *err)
{
	if (count <= w->capacity && w->pairs)
		return 0;
	run_work_release(w);
	w->pairs = calloc(count, sizeof(*w->pairs));
	w->gross = calloc(count, sizeof(int64_t));
	w->one_way = calloc(count, sizeof(int64_t));
	w->intended = calloc(count, sizeof(int64_t));
	w->truth = calloc(count, sizeof(int64_t));
	w->excess = calloc(count, sizeof(int64_t));
	w->scratch = calloc(count, sizeof(int64_t));
	w->capacity = count;
	if (w->pairs && w->gross && w->one_way && w->intended && w->truth && w->excess && w->scratch)
		return 0;
	run_work_release(w);
	return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes", count);
}

int run_conditions(const struct run_record *record, struct arena *arena, struct run_result *ret)
{
	*ret = (struct run_result){
		.run = record->run,
		.started_utc_ns = record->started_utc_ns,
		.reason = "",
		.ledger = record->ledger,
		.balances = ledger_balances(&record->ledger),
		.carrier_offered_bps = NAN,
		.carrier_received_bps = NAN,
		.align_width_ns = NAN,
		.iqr_ns = NAN,
		.within_20ns = NAN,
		.truth_ns = NAN,
		.excess_ns = NAN,
		.tsc_hz = record->tsc_hz,
		.tsc_hz_u_ppm = record->tsc_hz_u_ppm,
		.tsc_tick_ns = record->tsc_tick_ns,
		.offered_pps = record->offered_pps,
		.intended_pps = record->intended_pps,
		.lateness_p50_ns = record->lateness_p50_ns,
		.lateness_p99_ns = record->lateness_p99_ns,
		.lateness_max_ns = record->lateness_max_ns,
		.gap_limit_ns = record->gap_limit_ns,
		.elapsed_ns = record->elapsed_ns,
		.core_send = record->core_send,
		.core_receive = record->core_receive,
		.pingpong_p50_ns = record->pingpong_p50_ns,
		.blocks_near = record->blocks_near,
		.blocks_far = record->blocks_far,
		.stalls = record->stalls,
		.clock_steps = record->clock_steps,
		.stalled_ns = record->stalled_ns,
	};
	ret->protection = arena_strdup(arena, record->protection);
	return ret->protection ? 0 : -ENOMEM;
}

/* The account once more, from the samples themselves. */
static struct ledger recount(const struct pair *pairs, uint32_t count)
{
	struct ledger l = { .sent = count };

	for (uint32_t i = 0; i < count; i++) {
		const struct pair *p = &pairs[i];

		if (p->fate < FATES)
			l.fate[p->fate]++;
		l.set_apart += p->fate == FATE_MATCHED && (p->flags & PAIR_SET_APART);
	}
	return l;
}

/* Why no figure may use the run; NULL: it may. "" is out of memory. */
const char *run_why_invalid(const struct run_record *record, const struct ledger *counted, bool by_tsc,
			    struct arena *arena)
{
	const struct ledger *l = &record->ledger;
	const char *text = NULL;

	if (record->invalid[0])
		text = arena_strdup(arena, record->invalid);
	else if (!ledger_balances(l))
		text = arena_printf(arena,
				    "the ledger does not balance: sent %" PRIu64 ", accounted for %" PRIu64
				    "; arrived %" PRIu64 ", classified %" PRIu64,
				    l->sent,
				    l->fate[FATE_MATCHED] + l->fate[FATE_LOST] + l->fate[FATE_LATE] +
					    l->fate[FATE_UNPARSED] + l->fate[FATE_SHADOWED] + l->fate[FATE_UNSTAMPED],
				    l->arrived, l->classified);
	else if (counted->sent != l->sent)
		text = arena_printf(arena, "the ledger says %" PRIu64 " sent, but %" PRIu64 " samples are stored",
				    l->sent, counted->sent);
	else if (counted->set_apart != l->set_apart)
		text = arena_printf(arena, "the ledger says %" PRIu64 " set apart, the samples say %" PRIu64,
				    l->set_apart, counted->set_apart);
	else {
		int f = 0;

		while (f < FATES && counted->fate[f] == l->fate[f])
			f++;
		if (f < FATES)
			text = arena_printf(arena, "the ledger says %" PRIu64 " %s, the samples say %" PRIu64,
					    l->fate[f], fate_name((enum fate)f), counted->fate[f]);
		else if (by_tsc && !(record->tsc_hz > 0))
			text = arena_printf(arena, "the TSC's rate is %g Hz", record->tsc_hz);
		else
			return NULL;
	}
	return text ? text : "";
}

/* Differences of the ranked, finite samples, unsorted. */
struct gathered {
	uint32_t finite, lost, truths;
	uint32_t sent_known;         /* of the finite ones, with their send time: one_way and intended */
	uint32_t gaps;               /* of the finite ones, with their poll gaps */
	bool unknown_tx;             /* of any probe */
	double gap_path, gap_bypass; /* sums, ticks */
};

static struct gathered gather(struct run_work *w, uint32_t count, double ns_per_tick, struct packet_table *packets,
			      uint64_t *dropped)
{
	struct gathered g = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		const struct pair *p = &w->pairs[i];
		int64_t diff = p->path_ticks - p->bypass_ticks;

		/* Law 3: what was sent and has no latency is infinite, whatever became of it. Law 9: set apart is in
		 * no figure at all. And what could never have had one says nothing (docs/adr). */
		g.unknown_tx = g.unknown_tx || (p->flags & PAIR_NO_TX);
		if (p->flags & PAIR_NOT_RANKED)
			continue;
		if (p->fate != FATE_MATCHED) {
			g.lost++;
			if (packets && packet_table_add(packets, p->packet, INFINITY) != 0)
				(*dropped)++;
			continue;
		}
		if (p->flags & PAIR_SET_APART)
			continue;
		w->gross[g.finite++] = diff;
		if (!(p->flags & PAIR_NO_TX)) {
			w->one_way[g.sent_known] = p->path_ticks - p->tx_ticks;
			w->intended[g.sent_known++] = p->path_ticks - p->sched_ticks;
		}
		if (p->gap_path_ticks != PAIR_NONE && p->gap_bypass_ticks != PAIR_NONE) {
			g.gap_path += (double)p->gap_path_ticks;
			g.gap_bypass += (double)p->gap_bypass_ticks;
			g.gaps++;
		}
		if (p->truth_ticks != PAIR_NONE) {
			w->truth[g.truths] = p->truth_ticks;
			w->excess[g.truths++] = diff - p->truth_ticks;
		}
		if (packets && packet_table_add(packets, p->packet, (double)diff * ns_per_tick) != 0)
			(*dropped)++;
	}
	return g;
}

void run_quantiles_of(const struct sample_set *set, double ns_per_tick, struct quantiles *ret)
{
	for (unsigned q = 0; q < QUANTILES; q++)
		ret->q[q] = figure_scale(quantile_figure(set, quantile_p(q), 0.95), ns_per_tick);
}

double run_point_ns(const struct sample_set *set, double p, double ns_per_tick)
{
	struct figure f = quantile_point(set, p);

	return f.state == FIGURE_REFUSED ? NAN : f.state == FIGURE_LOST ? INFINITY : f.value * ns_per_tick;
}

/* Before sorting: what shows in the order of sending. */
static int check_order(struct run_work *w, uint32_t count, double ns_per_tick, struct clock_findings *findings)
{
	double *values = calloc(count ? count : 1, sizeof(*values));
	int rc;

	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		values[i] = (double)w->gross[i];
	findings->ns_per_tick = ns_per_tick;
	rc = check_period(values, count, &findings->period);
	free(values);
	return rc;
}

/* After it. */
static int check_values(struct run_work *w, uint32_t count, struct clock_findings *findings)
{
	int rc = check_quantum(w->gross, count, &findings->quantum);

	findings->dead_zone = check_dead_zone(w->gross, count, findings->quantum.quantum);
	findings->checked = true;
	return rc;
}

int run_measure(struct run_work *w, uint32_t count, const struct run_record *record, struct arena *arena,
		struct packet_table *packets, uint64_t *packets_dropped, struct clock_findings *findings,
		struct run_result *ret, struct run_trace *trace)
{
	struct ledger counted = recount(w->pairs, count);
	const char *reason = run_why_invalid(record, &counted, true, arena);
	double ns_per_tick = 1e9 / record->tsc_hz;
	struct sample_set set;
	struct gathered g;

	*trace = (struct run_trace){ 0 };
	ret->valid = reason == NULL;
	if (reason) {
		ret->reason = reason;
		return *reason ? 0 : -ENOMEM;
	}
	g = gather(w, count, ns_per_tick, packets, packets_dropped);
	ret->ranked = (uint64_t)g.finite + g.lost;
	if (findings && !findings->checked && check_order(w, g.finite, ns_per_tick, findings) != 0)
		return -ENOMEM;
	sort_i64(w->gross, g.finite, w->scratch);
	if (findings && !findings->checked && check_values(w, g.finite, findings) != 0)
		return -ENOMEM;
	sort_i64(w->one_way, g.sent_known, w->scratch);
	sort_i64(w->intended, g.sent_known, w->scratch);
	set = (struct sample_set){
		.ticks = w->gross, .finite = g.finite, .lost = g.lost, .quantum = record->tsc_tick_ns / ns_per_tick
	};
	run_quantiles_of(&set, ns_per_tick, &ret->gross);
	ret->iqr_ns = run_point_ns(&set, 0.75, ns_per_tick) - run_point_ns(&set, 0.25, ns_per_tick);
	if (ret->gross.q[QUANTILE_P50].state == FIGURE_NUMBER) {
		ret->within_20ns = 100 * share_within(&set, ret->gross.q[QUANTILE_P50].value / ns_per_tick,
						      WITHIN_NS / ns_per_tick);
		trace->clock_error = quantile_clock_error(&set, 0.5);
	}
	for (unsigned i = 0; i < ECDF_POINTS; i++)
		trace->ecdf_ns[i] = run_point_ns(&set, ecdf_probability(i), ns_per_tick);
	if (g.gaps) {
		trace->gap_path_ns = g.gap_path / g.gaps * ns_per_tick;
		trace->gap_bypass_ns = g.gap_bypass / g.gaps * ns_per_tick;
	}
	set.finite = g.sent_known;
	/*
	 * Where no send time was recorded there is no such figure, not even one that is lost. Law 1: nor from a time of
	 * another machine's clock, known to some 100 us.
	 */
	if ((g.sent_known || !g.unknown_tx) && (count == 0 || !(w->pairs[0].flags & PAIR_TX_FAR))) {
		set.ticks = w->one_way;
		run_quantiles_of(&set, ns_per_tick, &ret->one_way);
		set.ticks = w->intended;
		run_quantiles_of(&set, ns_per_tick, &ret->intended);
	}
	if (g.truths) {
		/* The target's own record of what it emitted twice, read from the same counter in the same steps. */
		sort_i64(w->truth, g.truths, w->scratch);
		set.ticks = w->truth;
		set.finite = g.truths;
		set.lost = 0;
		ret->truth_ns = run_point_ns(&set, 0.5, ns_per_tick);
		sort_i64(w->excess, g.truths, w->scratch);
		set.ticks = w->excess;
		ret->excess_ns = run_point_ns(&set, 0.5, ns_per_tick);
	}
	return 0;
}

int run_measure_values(const struct run_record *record, struct arena *arena, struct run_result *ret,
		       struct run_trace *trace)
{
	/* there are no samples to recount: the ledger, where the measure keeps one, stands for itself */
	const char *reason = run_why_invalid(record, &record->ledger, false, arena);

	*trace = (struct run_trace){ 0 };
	for (unsigned i = 0; i < ECDF_POINTS; i++)
		trace->ecdf_ns[i] = NAN;
	ret->valid = reason == NULL;
	ret->reason = reason ? reason : "";
	return reason && !*reason ? -ENOMEM : 0;
}
