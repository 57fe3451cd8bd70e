/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "report/build.h"
#include "report/format.h"
#include "stats/net.h"
#include "stats/ratesearch.h"

struct problems {
	struct result *result;
	VEC(struct problem) list;
	int rc;
};

static void say(struct problems *p, const char *severity, const char *about, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void say(struct problems *p, const char *severity, const char *about, const char *fmt, ...)
{
	char text[512];
	struct problem problem = { .severity = severity, .about = about };
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	problem.text = arena_strdup(&p->result->arena, text);
	if (!problem.text || vec_push(&p->list, problem) != 0)
		p->rc = -ENOMEM;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* --- what makes a result invalid or missing --- */

static const char *first_reason(const struct cell_work *w, const char *state)
{
	for (uint32_t i = 0; i < w->restart_count; i++)
		if (strcmp(w->restarts[i]->state, state) == 0)
			return w->restarts[i]->reason;
	return "";
}

static const char *first_run_reason(const struct cell_work *w)
{
	for (uint32_t i = 0; i < w->restart_count; i++)
		for (uint32_t j = 0; j < w->restarts[i]->run_count; j++)
			if (!w->restarts[i]->runs[j].valid && strcmp(w->restarts[i]->state, "failed") != 0)
				return w->restarts[i]->runs[j].reason;
	return "";
}

static void cell_validity(struct problems *p, const struct cell_work *w)
{
	const struct cell_result *c = w->cell;
	uint32_t failed_runs = 0;

	for (uint32_t i = 0; i < w->restart_count; i++)
		if (strcmp(w->restarts[i]->state, "failed") == 0)
			failed_runs += w->restarts[i]->run_count;
	/* one that failed and ran again is told, but nothing is missing for it */
	if (c->restarts_failed)
		say(p, c->restarts_valid + c->restarts_invalid >= c->restarts_planned ? "note" : "error", c->title,
		    "%" PRIu32 " restart%s failed: %s", c->restarts_failed, plural(c->restarts_failed),
		    first_reason(w, "failed"));
	if (c->runs_invalid > failed_runs)
		say(p, "error", c->title, "%" PRIu32 " of %" PRIu32 " runs invalid, in no figure: %s",
		    c->runs_invalid - failed_runs, c->runs_invalid - failed_runs + c->runs_valid, first_run_reason(w));
	if (w->restart_count > 0 && c->restarts_valid == 0)
		say(p, "error", c->title, "no valid restart: nothing can be said");
	if (strcmp(p->result->measure, "differential") != 0)
		return;
	if (!c->is_tare && c->restarts_valid > 0 && c->tare == CELL_NONE)
		say(p, "error", c->title, "the plan has no tare for it: gross only");
	else if (!c->is_tare && c->restarts_valid > 0 && isnan(c->net_ns))
		say(p, "error", c->title, "no block has both a gross figure and a tare: no net");
}

/* --- what a reader should know --- */

/* Restarts of one host are not independent where hosts differ: what the interval is of must be said. */
static void cell_host_level(struct problems *p, const struct cell_work *w)
{
	const struct cell_result *c = w->cell;

	if (c->host_count > 1 && c->host_icc_interval.low > 0)
		say(p, "warning", c->title,
		    "%.0f %% of the variance between restarts is between its %" PRIu32
		    " hosts: intervals are of the median over these hosts, not over hosts like them",
		    100 * c->host_icc, c->host_count);
}

static void cell_stop(struct problems *p, const struct cell_work *w)
{
	const struct cell_result *c = w->cell;

	if (strcmp(c->stop, "most") != 0)
		return;
	if (isfinite(c->stop_width))
		say(p, "warning", c->title,
		    "its interval is %.3g %% wide after %" PRIu32
		    " restarts, the most it may have; %.3g %% was asked for",
		    c->stop_width, c->stop_restarts, p->result->stop_asked);
	else
		say(p, "warning", c->title,
		    "no interval after %" PRIu32
		    " restarts that count, the most it may have; one of %.3g %% was asked for",
		    c->stop_restarts, p->result->stop_asked);
}

static void cell_blocks(struct problems *p, const struct cell_work *w)
{
	const struct cell_result *c = w->cell;

	if (c->is_tare || isnan(c->net_ns))
		return;
	if (w->one_sided)
		say(p, "warning", c->title, "%" PRIu32 " block%s with a tare on one side only: its drift is not seen",
		    w->one_sided, plural(w->one_sided));
	if (c->restarts_valid < NET_BLOCKS_MIN && c->net_order.level > 0)
		say(p, "warning", c->title,
		    "%" PRIu32 " restarts: no uncertainty, and from the least net to the greatest is an interval of "
		    "%.5g %% only; 95 %% takes %d restarts",
		    c->restarts_valid, c->net_order.level, NET_BLOCKS_MIN);
	else if (c->restarts_valid < NET_BLOCKS_MIN)
		say(p, "warning", c->title,
		    "%" PRIu32 " restart%s: neither uncertainty nor interval, as nothing shows how restarts differ; a "
		    "95 %% interval takes %d",
		    c->restarts_valid, plural(c->restarts_valid), NET_BLOCKS_MIN);
	if (!isnan(c->paired_error_ns) && !isnan(c->expanded_k3_ns) && fabs(c->paired_error_ns) > c->expanded_k3_ns)
		say(p, "warning", c->title,
		    "misses the known truth by %+.1f ns, probe by probe; more than U (k=3) = %.1f ns",
		    c->paired_error_ns, c->expanded_k3_ns);
}

/* Numbers that some runs could not find, or under one name in two units: a line a quantity. */
static void quantities(struct problems *p)
{
	const struct result *r = p->result;

	for (uint32_t i = 0; i < r->quantity_count; i++) {
		const struct name_value *of = &r->quantities[i];
		uint32_t without = 0, with = 0, cells = 0;

		for (uint32_t c = 0; c < r->cell_count; c++) {
			const struct quantity_result *q = cell_quantity(&r->cells[c], of->name, of->value);

			without += q ? q->runs_without : 0;
			with += q ? q->runs : 0;
			cells += q && q->runs_without;
		}
		if (without)
			say(p, "note", "", "%" PRIu32 " of %" PRIu32 " runs could not find %s, in %" PRIu32 " cell%s",
			    without, without + with, of->name, cells, plural(cells));
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(r->quantities[k].name, of->name) == 0)
				say(p, "error", "", "%s is there in '%s' and in '%s': one name, two quantities",
				    of->name, r->quantities[k].value, of->value);
	}
}

/* Where there is no net figure to say it of. One line, however many cells. */
static void few_restarts(struct problems *p)
{
	const struct result *r = p->result;
	const struct cell_result *least = NULL;
	uint32_t few = 0;

	if (strcmp(r->measure, "differential") == 0)
		return;
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		if (c->restarts_valid == 0 || c->restarts_valid >= NET_BLOCKS_MIN)
			continue;
		few++;
		if (!least || c->restarts_valid < least->restarts_valid)
			least = c;
	}
	if (least)
		say(p, "warning", "",
		    "%" PRIu32 " of %" PRIu32 " cells have fewer than %d valid restarts (%s has %" PRIu32
		    "): their figures have no 95 %% interval, and no difference is judged on them",
		    few, r->cell_count, NET_BLOCKS_MIN, least->title, least->restarts_valid);
}

/* The gross distribution at a probability (0 to 1) between its points; NaN outside them. */
static double ecdf_at(const struct cell_result *c, double probability)
{
	for (uint32_t i = 1; i < c->ecdf_count; i++) {
		double low = c->ecdf_p[i - 1] / 100, high = c->ecdf_p[i] / 100;

		if (probability >= low && probability <= high)
			return c->ecdf_ns[i - 1] +
			       (c->ecdf_ns[i] - c->ecdf_ns[i - 1]) * (probability - low) / (high - low);
	}
	return NAN;
}

/* Probes whose id was settled before they were sent rank nowhere. How far could they move the median, were they all alike? */
static uint64_t cell_unranked(struct problems *p, const struct cell_work *w)
{
	const struct cell_result *c = w->cell;
	uint64_t unranked = 0;
	double share, low, high;

	for (uint32_t i = 0; i < w->restart_count; i++)
		for (uint32_t j = 0; j < w->restarts[i]->run_count; j++) {
			const struct run_result *r = &w->restarts[i]->runs[j];

			if (r->valid && strcmp(w->restarts[i]->state, "valid") == 0)
				unranked += r->ledger.sent - r->ledger.set_apart - r->ranked;
		}
	if (unranked == 0)
		return 0;
	share = (double)unranked / (double)c->ledger.sent;
	low = share < 0.5 ? ecdf_at(c, (0.5 - share) / (1 - share)) : NAN;
	high = share < 0.5 ? ecdf_at(c, 0.5 / (1 - share)) : NAN;
	if (isnan(low) || !isfinite(high))
		say(p, "warning", c->title,
		    "%.1f %% of the probes have no id of their own and rank in no quantile: too many to bound the "
		    "median",
		    100 * share);
	else
		say(p, "warning", c->title,
		    "%.1f %% of the probes have no id of their own and rank in no quantile: gross holds if ids have "
		    "nothing "
		    "to do with latency; whatever theirs is, the median is within %.1f and %.1f ns",
		    100 * share, low, high);
	return unranked;
}

static void cell_samples(struct problems *p, const struct cell_work *w)
{
	const struct cell_result *c = w->cell;
	const struct ledger *l = &c->ledger;
	bool latency = result_has_probes(p->result);
	uint64_t without = l->sent - l->fate[FATE_MATCHED] - (latency ? cell_unranked(p, w) : 0);

	if (percent(without, l->sent) >= 1)
		say(p, "warning", c->title, "%.1f %% of the probes (%" PRIu64 ") %s", percent(without, l->sent),
		    without,
		    latency ? "have no latency; they rank as infinite in every quantile"
			    : "did not come back whole and in time; they are in no figure");
	if (c->intended_pps > 0 && fabs(c->offered_pps / c->intended_pps - 1) > 0.01)
		say(p, "warning", c->title, "offered load was %.4g packets/s, %.4g intended", c->offered_pps,
		    c->intended_pps);
	if (c->blocks_far)
		say(p, "note", c->title, "the two cores were far apart in %.0f %% of the spells",
		    percent(c->blocks_far, (uint64_t)c->blocks_far + c->blocks_near));
	if (c->segments > 1)
		say(p, "warning", c->title,
		    "a clock stepped during a run: its probes fall into up to %" PRIu32
		    " segments, aligned apart; probes around a step are set apart",
		    c->segments);
	if (c->carrier_asked_bps > 0 && fabs(c->carrier_offered_bps / c->carrier_asked_bps - 1) > 0.005)
		say(p, "warning", c->title, "the carrier was sent at %.4g Mbit/s, %.4g asked for",
		    c->carrier_offered_bps / 1e6, c->carrier_asked_bps / 1e6);
	if (c->carrier_offered_bps > 0 && c->carrier_received_bps / c->carrier_offered_bps < 0.999)
		say(p, "warning", c->title, "%.2f %% of the carrier was lost: the switch is over its load",
		    100 * (1 - c->carrier_received_bps / c->carrier_offered_bps));
	if (c->clock_steps && strcmp(p->result->measure, "transit") != 0)
		say(p, "note", c->title, "CLOCK_REALTIME stepped %" PRIu32 " time%s; no stamp rests on it",
		    c->clock_steps, plural(c->clock_steps));
	if (w->packet_values_over)
		say(p, "note", c->title,
		    "no medians by packet, and so no modes: they would take %" PRIu64 " values of this cell at once, "
		    "and %d is the most",
		    w->packet_values_over, PACKET_VALUES_MOST);
	if (c->mode_count > 1) {
		char text[256] = "";
		size_t n = 0;

		for (uint32_t i = 0; i < c->mode_count && n < sizeof(text) - 48; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.1f ns (%.0f %%)",
					      i == 0                  ? ""
					      : i + 1 < c->mode_count ? ", "
								      : " and ",
					      c->modes[i].net_ns, c->modes[i].share);
		say(p, "note", c->title, "%" PRIu32 " modes by packet: %s; one figure does not describe it",
		    c->mode_count, text);
	}
}

/* --- the campaign as a whole --- */

static void unstable_clock(struct problems *p)
{
	const struct result *r = p->result;
	double low = INFINITY, high = 0, u_ppm = 0;

	for (uint32_t i = 0; i < r->restart_count; i++)
		for (uint32_t j = 0; j < r->restarts[i].run_count; j++) {
			const struct run_result *run = &r->restarts[i].runs[j];

			if (!run->valid)
				continue;
			low = fmin(low, run->tsc_hz);
			high = fmax(high, run->tsc_hz);
			u_ppm = fmax(u_ppm, run->tsc_hz_u_ppm);
		}
	if (high > 0 && (high / low - 1) * 1e6 > 20 + 4 * u_ppm)
		say(p, "warning", "", "the TSC's rate moved by %.0f ppm between runs: it is not stable",
		    (high / low - 1) * 1e6);
	for (uint32_t i = 0; i < r->fact_count; i++)
		if (strcmp(r->facts[i].name, "tsc.invariant") == 0 && strcmp(r->facts[i].value, "no") == 0)
			say(p, "warning", "",
			    "the TSC is not invariant on this host (allowed by --allow-unstable-tsc)");
}

/* What an import had to assume, and what it left out. */
static void imported(struct problems *p)
{
	for (uint32_t i = 0; i < p->result->event_count; i++)
		if (strcmp(p->result->events[i].kind, "import") == 0)
			say(p, "note", "", "%s", p->result->events[i].message);
}

static void campaign_whole(struct problems *p, uint64_t packets_dropped)
{
	const struct result *r = p->result;
	uint32_t stalls = 0;
	int64_t stalled_ns = 0;
	char text[FORMAT_BYTES];

	if (r->restart_count == 0)
		say(p, "error", "", "nothing has been measured yet: none of %" PRIu32 " restarts has run", r->turns);
	else if (r->turns_done + r->turns_failed < r->turns)
		say(p, "warning", "", "%" PRIu32 " of %" PRIu32 " restarts have not run; `tare run` resumes",
		    r->turns - r->turns_done - r->turns_failed, r->turns);
	unstable_clock(p);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		stalls += r->cells[i].stalls;
		stalled_ns += r->cells[i].stalled_ns;
	}
	if (stalls)
		say(p, "note", "", "the host stalled the measuring cores %" PRIu32 " time%s, %s in all", stalls,
		    plural(stalls), format_time((double)stalled_ns, text));
	if (packets_dropped)
		say(p, "note", "", "%" PRIu64 " samples are not in the packet medians: runs differ in their streams",
		    packets_dropped);
}

/* One line a tare: its programs share it. A block's own drift is noise as well; a mean drift is not. */
static void tare_drift(struct problems *p, const struct cell_work *works)
{
	const struct result *r = p->result;

	for (uint32_t t = 0; t < r->cell_count; t++) {
		double least_u = INFINITY, most = 0, mean = 0;

		for (uint32_t i = 0; i < r->cell_count; i++) {
			const struct cell_result *c = &r->cells[i];

			if (c->is_tare || c->tare != t || isnan(c->expanded_ns))
				continue;
			least_u = fmin(least_u, c->expanded_ns);
			if (works[i].drift_max_ns > most)
				most = works[i].drift_max_ns;
			if (fabs(works[i].drift_ns) > fabs(mean))
				mean = works[i].drift_ns;
		}
		if (fabs(mean) > least_u || most > 3 * least_u)
			say(p, "warning", r->cells[t].title,
			    "it drifts within blocks, by %+.1f ns on the mean and up to %.1f ns, against U from %.1f "
			    "ns "
			    "up; half the mean is charged in every budget",
			    mean, most, least_u);
	}
}

static void set_apart(struct problems *p)
{
	const struct result *r = p->result;
	const struct cell_result *worst = NULL;
	uint64_t apart = 0, sent = 0;

	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		apart += c->ledger.set_apart;
		sent += c->ledger.sent;
		if (!worst ||
		    percent(c->ledger.set_apart, c->ledger.sent) > percent(worst->ledger.set_apart, worst->ledger.sent))
			worst = c;
	}
	if (worst && percent(worst->ledger.set_apart, worst->ledger.sent) >= 1)
		say(p, percent(worst->ledger.set_apart, worst->ledger.sent) >= 10 ? "warning" : "note", "",
		    "%.1f %% of the probes set apart (%.1f %% of %s): a receiver was away longer than the limit",
		    percent(apart, sent), percent(worst->ledger.set_apart, worst->ledger.sent), worst->title);
}

static void second_clock(struct problems *p, const struct cell_work *w)
{
	const struct second_result *s = w->second;
	uint64_t without;

	if (!s)
		return;
	without = s->path_missing + s->bypass_missing + s->neither;
	if (s->compared == 0)
		say(p, "warning", w->cell->title,
		    "the second clock (%s) has no probe in common with the first: %" PRIu64 " pairs, %" PRIu64
		    " frames of other runs or none; is it a capture of this run?",
		    s->source, s->pairs, s->foreign);
	else if (percent(without, s->pairs + without) >= 1)
		say(p, "warning", w->cell->title,
		    "%.1f %% of the probes have no second clock: of %" PRIu64 " the path copy is missing, of %" PRIu64
		    " the bypass copy, of %" PRIu64 " both",
		    percent(without, s->pairs + without), s->path_missing, s->bypass_missing, s->neither);
	if (s->runs_apart)
		say(p, "note", w->cell->title,
		    "in %" PRIu32 " of %" PRIu32 " runs the clocks' quantiles differ by more than chance",
		    s->runs_apart, s->runs);
	for (uint32_t i = 0; i < s->finding_count; i++)
		say(p, "note", w->cell->title, "%s", s->findings[i]);
}

static void vendor_bound(struct problems *p, const struct cell_work *w)
{
	const struct bound_result *b = w->cell->bound;
	char names[160] = "";
	size_t n = 0;

	if (!w->cell->bound_count)
		return;
	if (b->packets == 0)
		say(p, "warning", w->cell->title,
		    "no packet could be held against the bound of %.1f ns: none has a net of its own", b->bound_ns);
	else if (b->over == 0 && isnan(b->uncertainty_ns))
		say(p, "note", w->cell->title,
		    "whether packets stay under the bound of %.1f ns is not known: it takes the uncertainty of %d "
		    "blocks",
		    b->bound_ns, NET_BLOCKS_MIN);
	if (b->over == 0)
		return;
	for (uint32_t i = 0; i < b->worst_count && i < b->over && n < sizeof(names) - 40; i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%.0f by %.1f", i ? ", " : "", b->worst_packet[i],
				      -b->worst_cycles[i]);
	say(p, "warning", w->cell->title,
	    "%" PRIu64 " of %" PRIu64 " packets are over the vendor's bound of %.1f ns, in cycles: packet%s %s%s",
	    b->over, b->packets, b->bound_ns, plural(b->over), names, b->over > b->worst_count ? ", ..." : "");
}

/* What the readings themselves say about the clock, in the first valid run of each cell. */
static void clock_findings(struct problems *p, const struct cell_work *w)
{
	const struct cell_result *c = w->cell;
	const struct clock_findings *f = &w->findings;

	if (f->quantum.found && f->quantum.quantum * f->ns_per_tick > 1.5 * w->grid_ns)
		say(p, "warning", c->title, "readings come in steps of %.1f ns, but the clock's step is %.1f ns",
		    f->quantum.quantum * f->ns_per_tick, w->grid_ns);
	if (f->dead_zone.found)
		say(p, "warning", c->title, "no reading lies between %.1f and %.1f ns, where %.0f should: a dead zone",
		    f->dead_zone.low * f->ns_per_tick, f->dead_zone.high * f->ns_per_tick, f->dead_zone.expected);
	/* A stream whose packets alternate between modes has a period of its own: the modes say it. */
	if (f->period.found && c->mode_count < 2 && f->period.amplitude * f->ns_per_tick >= 1)
		say(p, "note", c->title, "a periodic part: every %.1f probes, amplitude %.1f ns",
		    f->period.period_samples, f->period.amplitude * f->ns_per_tick);
}

static int rank(const struct problem *p)
{
	return p->severity[0] == 'e' ? 0 : p->severity[0] == 'w' ? 1 : 2;
}

/* What searches of a cell found irregular, each kind once. */
static void irregularities(struct problems *p, const struct cell_result *c)
{
	const struct result *r = p->result;
	uint32_t searches = 0;

	for (uint32_t i = 0; i < r->search_count; i++)
		searches += r->searches[i].cell == c->index;
	for (unsigned bit = 0; bit < RATESEARCH_IRREGULARITIES; bit++) {
		const char *words = ratesearch_irregularity_words((enum ratesearch_irregularity)(1 << bit));
		uint32_t count = 0;

		for (uint32_t i = 0; i < r->search_count; i++)
			count += r->searches[i].cell == c->index && strstr(r->searches[i].irregular, words);
		if (count)
			say(p, 1 << bit == RATESEARCH_NO_UPPER ? "note" : "warning", c->title,
			    "%" PRIu32 " of %" PRIu32 " searches: %s", count, searches, words);
	}
}

int problems_build(struct result *result, const struct cell_work *works, uint64_t packets_dropped, struct err *err)
{
	struct problems p = { .result = result };

	campaign_whole(&p, packets_dropped);
	imported(&p);
	set_apart(&p);
	tare_drift(&p, works);
	few_restarts(&p);
	quantities(&p);
	for (uint32_t i = 0; i < result->cell_count; i++)
		cell_validity(&p, &works[i]);
	for (uint32_t i = 0; i < result->cell_count; i++) {
		cell_stop(&p, &works[i]);
		cell_host_level(&p, &works[i]);
		cell_blocks(&p, &works[i]);
		cell_samples(&p, &works[i]);
		clock_findings(&p, &works[i]);
		second_clock(&p, &works[i]);
		irregularities(&p, works[i].cell);
		vendor_bound(&p, &works[i]);
	}
	result->problems = arena_array(&result->arena, p.list.count + 1, sizeof(*result->problems));
	if (p.rc == 0 && !result->problems)
		p.rc = -ENOMEM;
	for (int grave = 0; p.rc == 0 && grave < 3; grave++)
		for (size_t i = 0; i < p.list.count; i++)
			if (rank(&p.list.items[i]) == grave)
				result->problems[result->problem_count++] = p.list.items[i];
	free(p.list.items);
	return p.rc ? err_set(err, ERR_HOST, ENOMEM, "out of memory listing problems") : 0;
}
