/* SPDX-License-Identifier: Apache-2.0 */
#include "report/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/format.h"
#include "stats/modes.h"
#include "stats/net.h"
#include "stats/packetwise.h"
#include "stats/quantile.h"
#include "stats/sort.h"

#define WITHIN_NS 20.0

/* --- modes, from the target's own record --- */

struct classes {
	uint32_t packets;
	uint8_t *of; /* by packet: its mode, from 0 */
	uint32_t count;
};

/* What a cell's packets were held for, by packet: medians of the record over all its runs. */
struct survey {
	struct store *store;
	const struct stored_restart *restarts;
	uint32_t restart_count;
	struct pair *pairs; /* of one run */
	uint32_t capacity, packets, runs;
	double tick_ns; /* of the clock */
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "out of memory checking the known truth");
}

static int read_run(struct survey *s, const struct stored_run *run, struct err *err)
{
	int64_t count;

	if (run->pair_count > s->capacity) {
		free(s->pairs);
		s->pairs = calloc(run->pair_count, sizeof(*s->pairs));
		s->capacity = s->pairs ? run->pair_count : 0;
		if (!s->pairs)
			return no_memory(err);
	}
	count = run->pair_count ? store_read_pairs(s->store, run, s->pairs, s->capacity, err) : 0;
	return count < 0 ? (int)count : 0;
}

/* Calls `each` with every run of the cell, its pairs in s->pairs. */
static int each_run(struct survey *s, uint32_t cell,
		    int (*each)(void *context, const struct stored_restart *restart, const struct stored_run *run,
				const struct pair *pairs, uint32_t count),
		    void *context, struct err *err)
{
	for (uint32_t i = 0; i < s->restart_count; i++) {
		const struct stored_restart *r = &s->restarts[i];

		for (uint32_t k = 0; r->cell == cell && !r->failure && k < r->run_count; k++) {
			int rc = read_run(s, &r->runs[k], err);

			if (rc == 0)
				rc = each(context, r, &r->runs[k], s->pairs, r->runs[k].pair_count);
			if (rc < 0)
				return rc == -ENOMEM ? no_memory(err) : rc;
		}
	}
	return 0;
}

static int measure_extent(void *context, const struct stored_restart *restart, const struct stored_run *run,
			  const struct pair *pairs, uint32_t count)
{
	struct survey *s = context;

	(void)restart;
	s->runs++;
	s->tick_ns = fmax(s->tick_ns, run->record.tsc_tick_ns);
	for (uint32_t i = 0; i < count; i++)
		if (pairs[i].packet >= s->packets)
			s->packets = pairs[i].packet + 1;
	return 0;
}

static int add_truths(void *context, const struct stored_restart *restart, const struct stored_run *run,
		      const struct pair *pairs, uint32_t count)
{
	struct packet_table *table = context;

	(void)restart;
	for (uint32_t i = 0; i < count; i++)
		if (pairs[i].truth_ticks != PAIR_NONE &&
		    packet_table_add(table, pairs[i].packet, (double)pairs[i].truth_ticks * 1e9 / run->record.tsc_hz) <
			    0)
			return -ENOSPC;
	return 0;
}

/* The modes of the packets' recorded medians; the clock's own comb is none. One mode, or no statement: count 1. */
static int classify(const struct packet_median *medians, uint32_t count, double tick_ns, struct classes *c)
{
	double *values = calloc(count ? count : 1, sizeof(*values));
	struct modes modes = { 0 };
	int rc = values ? 0 : -ENOMEM;

	if (rc == 0) {
		for (uint32_t i = 0; i < count; i++)
			values[i] = medians[i].median_ns;
		sort_double(values, count);
		rc = modes_find(&(struct sample_set){ .values = values, .finite = count, .quantum = tick_ns }, &modes);
	}
	c->count = modes.count > 1 ? modes.count : 1;
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		uint32_t mode = 0;

		while (mode + 1 < c->count && medians[i].median_ns >= modes.mode[mode].high)
			mode++;
		c->of[medians[i].packet] = (uint8_t)mode;
	}
	free(values);
	return rc;
}

static int classes_find(struct survey *s, uint32_t cell, struct classes *ret, struct err *err)
{
	struct packet_median *medians;
	struct packet_table *table;
	int rc;

	s->packets = s->runs = 0;
	rc = each_run(s, cell, measure_extent, s, err);
	if (rc < 0)
		return rc;
	ret->packets = s->packets;
	ret->of = calloc(s->packets ? s->packets : 1, 1);
	medians = calloc(s->packets ? s->packets : 1, sizeof(*medians));
	table = packet_table_create(s->packets, s->runs);
	if (!ret->of || !medians || !table)
		rc = no_memory(err);
	else
		rc = each_run(s, cell, add_truths, table, err);
	if (rc == 0 && classify(medians, packet_table_medians(table, s->tick_ns, medians), s->tick_ns, ret) < 0)
		rc = no_memory(err);
	packet_table_destroy(table);
	free(medians);
	return rc;
}

/* --- one mode of a cell: its runs' medians, by restart --- */

struct mode_work {
	const struct classes *classes;
	uint32_t mode;
	struct mode_restart {
		uint32_t block, restart, runs;
		double *measured, *recorded; /* by run */
	} * restarts;
	uint32_t restart_count, runs_most;
	int64_t *diffs, *truths, *scratch;
	uint32_t capacity;
	uint64_t within, ranked;
	double clock_error, tick_ns; /* sums over runs, largest */
	uint32_t runs;
};

static double median_ns(int64_t *ticks, uint32_t count, int64_t *scratch, double hz, double tick_ns, double *ret_clock)
{
	struct sample_set set = { .ticks = ticks, .finite = count, .quantum = tick_ns * hz / 1e9 };
	struct figure f;

	sort_i64(ticks, count, scratch);
	f = quantile_point(&set, 0.5);
	if (ret_clock)
		*ret_clock = quantile_clock_error(&set, 0.5);
	return f.state == FIGURE_NUMBER ? f.value * 1e9 / hz : NAN;
}

static int mode_reserve(struct mode_work *w, uint32_t count)
{
	if (count <= w->capacity)
		return 0;
	free(w->diffs);
	free(w->truths);
	free(w->scratch);
	w->diffs = calloc(count, sizeof(int64_t));
	w->truths = calloc(count, sizeof(int64_t));
	w->scratch = calloc(count, sizeof(int64_t));
	w->capacity = count;
	return w->diffs && w->truths && w->scratch ? 0 : -ENOMEM;
}

static struct mode_restart *mode_restart(struct mode_work *w, const struct stored_restart *r)
{
	for (uint32_t i = 0; i < w->restart_count; i++)
		if (w->restarts[i].block == r->block)
			return &w->restarts[i];
	w->restarts[w->restart_count].block = r->block;
	return &w->restarts[w->restart_count++];
}

static int mode_run(void *context, const struct stored_restart *restart, const struct stored_run *run,
		    const struct pair *pairs, uint32_t count)
{
	struct mode_work *w = context;
	const struct run_record *rec = &run->record;
	struct mode_restart *r;
	uint32_t n = 0;
	double clock = 0;

	if (rec->invalid[0] || !ledger_balances(&rec->ledger))
		return 0;
	if (mode_reserve(w, count ? count : 1) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct pair *p = &pairs[i];

		if (p->fate != FATE_MATCHED || (p->flags & PAIR_SET_APART) || p->truth_ticks == PAIR_NONE ||
		    w->classes->of[p->packet] != w->mode)
			continue;
		w->diffs[n] = p->path_ticks - p->bypass_ticks;
		w->truths[n++] = p->truth_ticks;
	}
	r = mode_restart(w, restart);
	if (n == 0 || r->runs == w->runs_most)
		return 0;
	r->measured[r->runs] = median_ns(w->diffs, n, w->scratch, rec->tsc_hz, rec->tsc_tick_ns, &clock);
	r->recorded[r->runs] = median_ns(w->truths, n, w->scratch, rec->tsc_hz, rec->tsc_tick_ns, NULL);
	for (uint32_t i = 0; i < n; i++)
		w->within += fabs((double)w->diffs[i] * 1e9 / rec->tsc_hz - r->measured[r->runs]) <= WITHIN_NS;
	w->ranked += n;
	w->clock_error += clock;
	w->tick_ns = fmax(w->tick_ns, rec->tsc_tick_ns);
	w->runs++;
	r->runs++;
	return 0;
}

/* The tare of a block, measured and recorded. */
static void block_tare(const struct result *result, uint32_t tare, uint32_t block, struct net_block *measured,
		       struct net_block *recorded)
{
	for (uint32_t i = 0; i < result->restart_count; i++) {
		const struct restart_result *r = &result->restarts[i];
		const struct figure *f = &r->gross.q[QUANTILE_P50];
		bool after = r->restart % 2 == 1;

		if (r->cell != tare || r->block != block || strcmp(r->state, "valid") != 0 || f->state != FIGURE_NUMBER)
			continue;
		*(after ? &measured->after_ns : &measured->before_ns) = f->value;
		*(after ? &recorded->after_ns : &recorded->before_ns) = r->truth_ns;
		measured->present |= after ? NET_AFTER : NET_BEFORE;
	}
	recorded->present = measured->present;
}

static int mode_net(struct mode_work *w, const struct result *result, const struct cell_result *cell,
		    struct net *ret_measured, struct net *ret_recorded)
{
	const struct net_conditions conditions = {
		.tick_ns = w->tick_ns,
		.gross_clock = w->runs ? w->clock_error / w->runs : 0,
		.stamp_bias_ns = 0,
	};
	const struct net_conditions none = { 0 };
	struct net_block *measured = calloc(w->restart_count + 1, sizeof(*measured));
	struct net_block *recorded = calloc(w->restart_count + 1, sizeof(*recorded));
	int rc = measured && recorded ? 0 : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < w->restart_count; i++) {
		block_tare(result, cell->tare, w->restarts[i].block, &measured[i], &recorded[i]);
		if (w->restarts[i].runs) {
			measured[i].gross_ns = median_double(w->restarts[i].measured, w->restarts[i].runs);
			recorded[i].gross_ns = median_double(w->restarts[i].recorded, w->restarts[i].runs);
			measured[i].present |= NET_GROSS;
			recorded[i].present |= NET_GROSS;
		}
	}
	if (rc == 0)
		rc = net_compute(measured, w->restart_count, &conditions, NULL, ret_measured);
	if (rc == 0)
		rc = net_compute(recorded, w->restart_count, &none, NULL, ret_recorded);
	free(measured);
	free(recorded);
	return rc;
}

static int mode_check(struct survey *s, const struct result *result, const struct cell_result *cell,
		      const struct classes *classes, uint32_t mode, struct arena *arena, struct verify_check *ret,
		      struct err *err)
{
	struct mode_work w = { .classes = classes, .mode = mode, .runs_most = s->runs };
	struct net measured = { 0 }, recorded = { 0 };
	int rc = 0;

	w.restarts = arena_array(arena, s->restart_count + 1, sizeof(*w.restarts));
	for (uint32_t i = 0; w.restarts && rc == 0 && i < s->restart_count; i++) {
		w.restarts[i].measured = arena_array(arena, s->runs + 1, sizeof(double));
		w.restarts[i].recorded = arena_array(arena, s->runs + 1, sizeof(double));
		if (!w.restarts[i].measured || !w.restarts[i].recorded)
			rc = -ENOMEM;
	}
	if (!w.restarts || rc < 0)
		return no_memory(err);
	rc = each_run(s, cell->index, mode_run, &w, err);
	if (rc == 0 && mode_net(&w, result, cell, &measured, &recorded) < 0)
		rc = no_memory(err);
	free(w.diffs);
	free(w.truths);
	free(w.scratch);
	ret->name = arena_printf(arena, "%s, mode %" PRIu32 " of %" PRIu32, cell->title, mode + 1, classes->count);
	ret->injected_ns = recorded.used ? recorded.figure.value : NAN;
	ret->recovered_ns = measured.used ? measured.figure.value : NAN;
	ret->u_ns = measured.budget.count ? measured.budget.expanded_k3_ns : NAN;
	ret->within_20ns = w.ranked ? 100.0 * (double)w.within / (double)w.ranked : NAN;
	ret->ledger = cell->ledger;
	return rc == 0 && !ret->name ? no_memory(err) : rc;
}

/* --- judging --- */

static int judge(struct verify_check *c, const struct result *result, const struct cell_result *cell, double limit_ns,
		 struct arena *arena)
{
	double drift = 0;

	for (uint32_t i = 0; i < result->block_count; i++)
		if (result->blocks[i].cell == cell->tare && fabs(result->blocks[i].drift_ns) > drift)
			drift = fabs(result->blocks[i].drift_ns);
	c->error_ns = c->recovered_ns - c->injected_ns;
	c->second_ns = cell->second_count ? cell->second->net_ns : NAN;
	c->apart_ns = cell->second_count ? cell->second->net_ns - cell->second->first_net_ns : NAN;
	c->reason = "";
	if (c->ledger.sent == 0)
		c->ledger = cell->ledger_excluded; /* no run is in the figures: show what became of them */
	if (cell->restarts_invalid || cell->restarts_failed || cell->runs_invalid)
		c->reason = arena_printf(arena, "%" PRIu32 " of its runs are invalid", cell->runs_invalid);
	else if (isnan(c->injected_ns))
		c->reason = "the target has no record of what it did";
	else if (isnan(c->recovered_ns) || isnan(c->u_ns))
		c->reason = "too few restarts for an uncertainty";
	else if (isinf(c->recovered_ns))
		c->reason = "half of the probes are lost";
	else if (fabs(c->error_ns) > c->u_ns)
		c->reason = arena_printf(arena, "the error of %+.1f ns is outside its own uncertainty of %.1f ns",
					 c->error_ns, c->u_ns);
	else if (cell->second_count && !(fabs(c->apart_ns) <= limit_ns))
		c->reason = arena_printf(
			arena,
			"by the second clock (%s) the same probes took %.1f ns, %+.1f ns from the first: not "
			"within the limit of %.1f ns",
			cell->second->clock, c->second_ns, c->apart_ns, limit_ns);
	else if (c->u_ns >= limit_ns)
		c->reason = arena_printf(
			arena,
			"the uncertainty of %.1f ns is not under the limit of %.1f ns; the tare drifted by up "
			"to %.1f ns within a block",
			c->u_ns, limit_ns, drift);
	c->pass = c->reason && !*c->reason;
	return c->reason ? 0 : -ENOMEM;
}

static struct verify_check whole_check(const struct cell_result *cell)
{
	return (struct verify_check){
		.name = cell->title,
		.injected_ns = cell->truth_net_ns,
		.recovered_ns = cell->net_ns,
		.u_ns = cell->budget_count ? cell->expanded_k3_ns : NAN,
		.within_20ns = cell->within_20ns,
		.ledger = cell->ledger,
	};
}

/* The first thing that spoils the whole, in words; "" when nothing does. */
static const char *whole_reason(const struct result *result, struct arena *arena)
{
	for (uint32_t i = 0; i < result->problem_count; i++)
		if (strcmp(result->problems[i].severity, "error") == 0)
			return arena_printf(arena, "%s%s%s", result->problems[i].about,
					    *result->problems[i].about ? ": " : "", result->problems[i].text);
	if (result->turns_done < result->turns)
		return arena_printf(arena, "%" PRIu32 " of %" PRIu32 " restarts are missing",
				    result->turns - result->turns_done, result->turns);
	for (uint32_t i = 0; i < result->cell_count; i++)
		if (!result->cells[i].is_tare && result->cells[i].second_count)
			return "";
	return "no program was stamped by a second clock";
}

static int check_cell(struct survey *s, const struct result *result, const struct cell_result *cell, double limit_ns,
		      struct arena *arena, struct verify *v, struct err *err)
{
	struct classes classes = { 0 };
	int rc = classes_find(s, cell->index, &classes, err);

	for (uint32_t mode = 0; rc == 0 && mode < classes.count; mode++) {
		struct verify_check *c = &v->checks[v->check_count];

		if (classes.count == 1)
			*c = whole_check(cell);
		else
			rc = mode_check(s, result, cell, &classes, mode, arena, c, err);
		if (rc == 0 && judge(c, result, cell, limit_ns, arena) < 0)
			rc = no_memory(err);
		v->check_count++;
	}
	free(classes.of);
	return rc;
}

int verify_build(struct store *store, const struct result *result, double limit_ns, struct arena *arena,
		 struct verify *ret, struct err *err)
{
	struct verify v = { .limit_ns = limit_ns, .pass = true };
	struct survey s = { .store = store };
	struct stored_restart *restarts;
	int rc = store_read_restarts(store, arena, &restarts, &s.restart_count, err);

	if (rc < 0)
		return rc;
	s.restarts = restarts;
	v.checks = arena_array(arena, (size_t)result->cell_count * MODES_MAX + 1, sizeof(*v.checks));
	v.reason = whole_reason(result, arena);
	if (!v.checks || !v.reason)
		return no_memory(err);
	for (uint32_t i = 0; rc == 0 && i < result->cell_count; i++)
		if (!result->cells[i].is_tare)
			rc = check_cell(&s, result, &result->cells[i], limit_ns, arena, &v, err);
	free(s.pairs);
	if (rc < 0)
		return rc;
	v.pass = v.check_count > 0 && !*v.reason;
	for (uint32_t i = 0; i < v.check_count; i++)
		v.pass &= v.checks[i].pass;
	*ret = v;
	return 0;
}

/* --- writing --- */

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *ledger_json(const struct ledger *l)
{
	json_t *o = json_object();

	json_object_set_new(o, "sent", json_integer((json_int_t)l->sent));
	for (int f = 0; f < FATES; f++)
		json_object_set_new(o, fate_name((enum fate)f), json_integer((json_int_t)l->fate[f]));
	json_object_set_new(o, "duplicates", json_integer((json_int_t)l->duplicates));
	json_object_set_new(o, "reordered", json_integer((json_int_t)l->reordered));
	json_object_set_new(o, "set_apart", json_integer((json_int_t)l->set_apart));
	json_object_set_new(o, "balances", json_boolean(ledger_balances(l)));
	return o;
}

int verify_write_json(const struct verify *verify, FILE *out, struct err *err)
{
	json_t *checks = json_array();
	json_t *document = json_pack("{s:i s:b s:f s:s s:O}", "schema", 1, "pass", verify->pass, "limit_ns",
				     verify->limit_ns, "reason", verify->reason, "checks", checks);
	int rc;

	for (uint32_t i = 0; i < verify->check_count; i++) {
		const struct verify_check *c = &verify->checks[i];

		json_array_append_new(checks,
				      json_pack("{s:s s:o s:o s:o s:o s:o s:o s:o s:o s:b s:s}", "name", c->name,
						"injected_ns", number(c->injected_ns), "recovered_ns",
						number(c->recovered_ns), "error_ns", number(c->error_ns), "u_ns",
						number(c->u_ns), "within_20ns", number(c->within_20ns), "second_ns",
						number(c->second_ns), "apart_ns", number(c->apart_ns), "ledger",
						ledger_json(&c->ledger), "pass", c->pass, "reason", c->reason));
	}
	json_decref(checks);
	rc = document && json_array_size(checks) == verify->check_count
		     ? json_dumpf(document, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6))
		     : -1;
	json_decref(document);
	fputc('\n', out);
	return rc < 0 ? err_set(err, ERR_HOST, EIO, "cannot write the checks as JSON") : 0;
}

int verify_write_text(const struct verify *verify, FILE *out, const struct terminal_style *style)
{
	static const struct table_column columns[] = {
		{ .title = "program" },
		{ .title = "injected ns", .right = true },
		{ .title = "recovered", .right = true, .bold = true },
		{ .title = "error", .right = true },
		{ .title = "U (k=3)", .right = true },
		{ .title = "by 2nd clock", .right = true },
		{ .title = "within 20 ns", .right = true, .optional = 1 },
		{ .title = "sent", .right = true, .optional = 2 },
		{ .title = "ledger" },
		{ .title = "" },
		{ 0 },
	};
	struct table table = { .columns = columns, .count = verify->check_count };
	char number_text[FORMAT_BYTES];

	table.rows = calloc(verify->check_count + 1, sizeof(*table.rows));
	if (!table.rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < verify->check_count; i++) {
		const struct verify_check *c = &verify->checks[i];
		struct table_row *row = &table.rows[i];

		snprintf(row->cell[0], TABLE_CELL_BYTES, "%s", c->name);
		snprintf(row->cell[1], TABLE_CELL_BYTES, "%s", format_number(c->injected_ns, 1, number_text));
		snprintf(row->cell[2], TABLE_CELL_BYTES, "%s", format_number(c->recovered_ns, 1, number_text));
		snprintf(row->cell[3], TABLE_CELL_BYTES, "%s", format_signed(c->error_ns, 1, number_text));
		snprintf(row->cell[4], TABLE_CELL_BYTES, "%s", format_number(c->u_ns, 1, number_text));
		snprintf(row->cell[5], TABLE_CELL_BYTES, "%s", format_number(c->second_ns, 1, number_text));
		snprintf(row->cell[6], TABLE_CELL_BYTES, "%s", format_percent(c->within_20ns, number_text));
		snprintf(row->cell[7], TABLE_CELL_BYTES, "%s", format_count(c->ledger.sent, number_text));
		snprintf(row->cell[8], TABLE_CELL_BYTES, "%s", ledger_balances(&c->ledger) ? "balanced" : "unbalanced");
		snprintf(row->cell[9], TABLE_CELL_BYTES, "%s", c->pass ? "pass" : "FAIL");
		row->plot_low = row->plot_high = row->plot_at = NAN;
	}
	terminal_table(out, &table, style);
	free(table.rows);
	fputc('\n', out);
	for (uint32_t i = 0; i < verify->check_count; i++)
		if (!verify->checks[i].pass)
			fprintf(out, "%s: %s\n", verify->checks[i].name, verify->checks[i].reason);
	if (*verify->reason)
		fprintf(out, "%s\n", verify->reason);
	fprintf(out, "verify: %s (limit %.1f ns)\n", verify->pass ? "pass" : "FAIL", verify->limit_ns);
	return 0;
}
