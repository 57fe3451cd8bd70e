/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/build.h"
#include "stats/align.h"
#include "stats/sort.h"

/* Points of the chain behind tx, in order; p4_in and p4_out on the host's clock by alignment. */
enum { SW_IN, P4_IN, P4_OUT, SW_OUT, RX };

static const char *const link_names[CHAIN_LINKS] = { "tx to sw_in", "sw_in to p4_in", "p4_in to p4_out",
						     "p4_out to sw_out", "sw_out to rx" };

#define STAMP_NS 1000.0 /* what p4 stamps are multiples of */

static struct ledger recount(const struct transit *rows, uint32_t count)
{
	struct ledger l = { .sent = count };

	for (uint32_t i = 0; i < count; i++) {
		l.fate[rows[i].fate]++;
		l.set_apart += rows[i].fate == FATE_MATCHED && (rows[i].flags & TRANSIT_SET_APART);
	}
	return l;
}

struct samples {
	int64_t *inside, *one_way, *intended, *scratch;
	double *since_tx[CHAIN_LINKS], *links[CHAIN_LINKS];
	uint32_t finite, lost;
	uint32_t received; /* of the finite ones, with the host's stamps */
	bool no_host;      /* a probe without the host's stamps is among them */
	uint32_t points[CHAIN_LINKS], link_counts[CHAIN_LINKS];
};

static int samples_init(struct samples *s, uint32_t count)
{
	size_t n = count ? count : 1;
	bool good;

	*s = (struct samples){ 0 };
	s->inside = calloc(n, sizeof(int64_t));
	s->one_way = calloc(n, sizeof(int64_t));
	s->intended = calloc(n, sizeof(int64_t));
	s->scratch = calloc(n, sizeof(int64_t));
	good = s->inside && s->one_way && s->intended && s->scratch;
	for (int i = 0; i < CHAIN_LINKS; i++) {
		s->since_tx[i] = calloc(n, sizeof(double));
		s->links[i] = calloc(n, sizeof(double));
		good = good && s->since_tx[i] && s->links[i];
	}
	return good ? 0 : -ENOMEM;
}

static void samples_release(struct samples *s)
{
	free(s->inside);
	free(s->one_way);
	free(s->intended);
	free(s->scratch);
	for (int i = 0; i < CHAIN_LINKS; i++) {
		free(s->since_tx[i]);
		free(s->links[i]);
	}
}

static double since(int64_t ns, int64_t tx_ns)
{
	return ns == TRANSIT_NONE ? NAN : (double)(ns - tx_ns);
}

/* The chain of one probe; only a probe with every stamp is in it, so that medians since tx are of the same probes. */
static void add_chain(struct samples *s, const struct transit *r, const struct align_segment *segment)
{
	/* a stamp of the switch is cut down: in the middle of its us it is right on average */
	double half = STAMP_NS / 2;
	const double at[CHAIN_LINKS] = {
		[SW_IN] = since(r->sw_in_ns, r->tx_ns),
		[P4_IN] = align_to_host(segment, r->p4_in_us * 1000) + half - (double)r->tx_ns,
		[P4_OUT] = align_to_host(segment, r->p4_out_us * 1000) + half - (double)r->tx_ns,
		[SW_OUT] = since(r->sw_out_ns, r->tx_ns),
		[RX] = since(r->rx_ns, r->tx_ns),
	};

	for (int i = 0; i < CHAIN_LINKS; i++)
		if (isnan(at[i]))
			return;
	for (int i = 0; i < CHAIN_LINKS; i++) {
		s->since_tx[i][s->points[i]++] = at[i];
		s->links[i][s->link_counts[i]++] = i ? at[i] - at[i - 1] : at[i];
	}
}

static void gather(struct samples *s, const struct transit *rows, uint32_t count, const struct alignment *alignment)
{
	for (uint32_t i = 0, at = 0; i < count; i++) {
		const struct transit *r = &rows[i];

		while (i >= alignment->segments[at].first + alignment->segments[at].count)
			at++;
		s->no_host = s->no_host || (r->flags & TRANSIT_NO_HOST);
		/* Law 3: a probe without a latency is infinite; law 9: one set apart is in no figure. */
		if (r->fate != FATE_MATCHED) {
			s->lost++;
			continue;
		}
		if (r->flags & TRANSIT_SET_APART)
			continue;
		s->inside[s->finite++] = (r->p4_out_us - r->p4_in_us) * 1000;
		if (r->flags & TRANSIT_NO_HOST)
			continue;
		s->one_way[s->received] = r->rx_ns - r->tx_ns;
		s->intended[s->received++] = r->rx_ns - r->sched_ns;
		add_chain(s, r, &alignment->segments[at]);
	}
}

static double median_of(double *values, uint32_t count)
{
	sort_double(values, count);
	return count == 0 ? NAN : count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void figures(struct samples *s, struct run_result *ret, struct run_trace *trace)
{
	struct sample_set set = { .ticks = s->inside, .finite = s->finite, .lost = s->lost, .quantum = STAMP_NS };

	ret->ranked = (uint64_t)s->finite + s->lost;
	sort_i64(s->inside, s->finite, s->scratch);
	sort_i64(s->one_way, s->received, s->scratch);
	sort_i64(s->intended, s->received, s->scratch);
	run_quantiles_of(&set, 1, &ret->gross);
	ret->iqr_ns = run_point_ns(&set, 0.75, 1) - run_point_ns(&set, 0.25, 1);
	for (unsigned i = 0; i < ECDF_POINTS; i++)
		trace->ecdf_ns[i] = run_point_ns(&set, ecdf_probability(i), 1);
	set.quantum = 0;
	set.finite = s->received;
	if (s->received || !s->no_host) {
		set.ticks = s->one_way;
		run_quantiles_of(&set, 1, &ret->one_way);
		set.ticks = s->intended;
		run_quantiles_of(&set, 1, &ret->intended);
	}
	for (int i = 0; i < CHAIN_LINKS; i++) {
		trace->chain_ns[i] = median_of(s->since_tx[i], s->points[i]);
		trace->link_ns[i] = median_of(s->links[i], s->link_counts[i]);
	}
}

int run_measure_transit(struct transit *rows, uint32_t count, const struct run_record *record,
			const struct transit_conditions *conditions, struct arena *arena, struct run_result *ret,
			struct run_trace *trace)
{
	struct ledger counted = recount(rows, count), again = { 0 };
	const char *reason = run_why_invalid(record, &counted, false, arena);
	struct transit_conditions found = { 0 };
	struct alignment alignment = { 0 };
	struct samples s;
	int rc;

	*trace = (struct run_trace){ 0 };
	for (int i = 0; i < CHAIN_LINKS; i++)
		trace->chain_ns[i] = trace->link_ns[i] = NAN;
	ret->carrier_offered_bps = conditions->carrier_asked_bps ? conditions->carrier_offered_bps : NAN;
	ret->carrier_received_bps = conditions->carrier_asked_bps ? conditions->carrier_received_bps : NAN;
	ret->align_width_ns = conditions->align_width_ns;
	ret->segments = conditions->segments;
	ret->valid = reason == NULL;
	if (reason) {
		ret->reason = reason;
		return *reason ? 0 : -ENOMEM;
	}
	rc = transit_align(rows, count, conditions->drift_ppm, &again, &found, &alignment);
	if (rc < 0)
		return rc;
	rc = samples_init(&s, count);
	if (rc == 0) {
		gather(&s, rows, count, &alignment);
		figures(&s, ret, trace);
	}
	samples_release(&s);
	alignment_release(&alignment);
	return rc;
}

/* --- cells --- */

/* Median over restarts of the medians over their valid runs of the number at `offset` of run or trace. */
static double over_restarts(const struct cell_work *w, size_t offset, bool of_trace)
{
	double *restarts = calloc(w->restart_count + 1, sizeof(double)), *runs, m = NAN;
	uint32_t most = 1, n = 0;

	for (uint32_t i = 0; i < w->restart_count; i++)
		if (w->restarts[i]->run_count > most)
			most = w->restarts[i]->run_count;
	runs = calloc(most, sizeof(double));
	for (uint32_t i = 0; restarts && runs && i < w->restart_count; i++) {
		const struct restart_result *r = w->restarts[i];
		uint32_t k = 0;

		for (uint32_t j = 0; strcmp(r->state, "valid") == 0 && j < r->run_count; j++) {
			const char *base = of_trace ? (const char *)&w->traces[i][j] : (const char *)&r->runs[j];

			if (r->runs[j].valid && !isnan(*(const double *)(base + offset)))
				runs[k++] = *(const double *)(base + offset);
		}
		if (k)
			restarts[n++] = median_of(runs, k);
	}
	if (restarts && runs)
		m = median_of(restarts, n);
	free(restarts);
	free(runs);
	return m;
}

int cell_transit(struct cell_work *w, const struct transit_conditions *conditions, struct arena *arena)
{
	struct cell_result *c = w->cell;
	double before = 0;

	if (w->restart_count == 0)
		return 0;
	c->regime = arena_strdup(arena, conditions->regime);
	c->chain = arena_array(arena, CHAIN_LINKS, sizeof(*c->chain));
	if (!c->regime || !c->chain)
		return -ENOMEM;
	c->carrier_asked_bps = (double)conditions->carrier_asked_bps;
	c->carrier_offered_bps = over_restarts(w, offsetof(struct run_result, carrier_offered_bps), false);
	c->carrier_received_bps = over_restarts(w, offsetof(struct run_result, carrier_received_bps), false);
	for (uint32_t i = 0; i < w->restart_count; i++)
		for (uint32_t j = 0; j < w->restarts[i]->run_count; j++) {
			const struct run_result *r = &w->restarts[i]->runs[j];

			if (!r->valid)
				continue;
			c->align_width_ns = fmax(c->align_width_ns, r->align_width_ns);
			c->segments = r->segments > c->segments ? r->segments : c->segments;
		}
	for (uint32_t i = 0; i < CHAIN_LINKS; i++) {
		double at = over_restarts(w, offsetof(struct run_trace, chain_ns) + i * sizeof(double), true);

		if (isnan(at))
			return 0;
		c->chain[i] = (struct chain_result){
			.name = link_names[i],
			.median_ns = over_restarts(w, offsetof(struct run_trace, link_ns) + i * sizeof(double), true),
			.step_ns = at - before,
			.u_ns = i == P4_IN || i == SW_OUT ? c->align_width_ns / 2 : 0,
		};
		before = at;
		c->chain_count = i + 1;
	}
	return 0;
}
