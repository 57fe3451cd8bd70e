/* SPDX-License-Identifier: Apache-2.0 */
#include "report/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "stats/compare.h"
#include "stats/quantile.h"
#include "stats/sort.h"
#include "stats/special.h"

static bool quantile_of(const char *metric, unsigned *ret)
{
	for (unsigned q = 0; q < QUANTILES; q++)
		if (strcmp(metric, quantile_name(q)) == 0) {
			*ret = q;
			return true;
		}
	return false;
}

bool metric_is_latency(const char *metric)
{
	unsigned q;

	return strcmp(metric, "net") == 0 || quantile_of(metric, &q);
}

const char *metric_fallback(const struct result *b)
{
	if (!result_has_probes(b) && b->quantity_count)
		return NULL;
	return strcmp(b->measure, "transit") == 0 ? "p50" : "net";
}

/* --- conditions --- */

static int malformed(const char *text, const char *what, struct err *err)
{
	return err_set(err, ERR_USAGE, EINVAL,
		       "'%s': %s; expected METRIC>PERCENT or METRIC<PERCENT, like 'p50>+5%%' or 'net<-10%%'; METRIC is "
		       "net, p50, p90, p99, p99.9, p99.99 or the name of a quantity",
		       text, what);
}

int condition_parse(const char *text, struct condition *ret, struct err *err)
{
	size_t n = strcspn(text, "<>");
	struct condition c = { .text = text };
	char *end;
	double percent;

	if (!text[n])
		return malformed(text, "no comparison in it", err);
	if (n == 0 || n >= sizeof(c.metric) || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.") != n)
		return malformed(text, "no such metric", err);
	memcpy(c.metric, text, n);
	c.above = text[n] == '>';
	errno = 0;
	percent = strtod(text + n + 1, &end);
	if (end == text + n + 1 || errno || !isfinite(percent))
		return malformed(text, "no number after the comparison", err);
	while (*end == ' ')
		end++;
	if (strcmp(end, "%") != 0)
		return malformed(text, "the number's unit is not %", err);
	if (percent <= -100)
		return malformed(text, "a change is never under -100 %", err);
	c.limit = 1 + percent / 100;
	*ret = c;
	return 0;
}

static bool beyond(const struct condition *c, double ratio)
{
	return c->above ? ratio > c->limit : ratio < c->limit;
}

enum verdict condition_judge(const struct condition *c, const struct compared_cell *cell, bool proved)
{
	if (isnan(cell->ratio))
		return VERDICT_UNKNOWN;
	if (!proved)
		return beyond(c, cell->ratio) ? VERDICT_FAIL : VERDICT_PASS;
	if (isinf(cell->ratio)) /* lost now, not before: no interval says more */
		return beyond(c, cell->ratio) ? VERDICT_FAIL : VERDICT_PASS;
	if (isnan(cell->low))
		return VERDICT_UNKNOWN;
	return beyond(c, cell->low) && beyond(c, cell->high) ? VERDICT_FAIL : VERDICT_PASS;
}

/* --- the figures of one side --- */

static double number_of(const struct figure *f)
{
	return f->state == FIGURE_REFUSED ? NAN : f->state == FIGURE_LOST ? INFINITY : f->value;
}

/* A figure of one side: as a number with its uncertainty, and, where it comes of figures above 0, its logarithm so. */
struct compared_side {
	struct measured plain, logarithm;
	bool positive;
};

/* From restart figures, which are sorted here. The figure itself is the cell's. */
static struct compared_side side_of(double figure, double *restarts, uint32_t count)
{
	struct compared_side s = { .plain = { figure, NAN, INFINITY } };

	sort_double(restarts, count);
	if (count) {
		struct measured m = median_measured(restarts, count);

		if (isfinite(m.u))
			s.plain = (struct measured){ figure, m.u, m.dof };
	}
	s.positive = figure > 0 && isfinite(figure) && measured_logarithm(restarts, count, &s.logarithm) &&
		     isfinite(s.logarithm.u);
	s.logarithm.value = s.positive ? log(figure) : NAN;
	return s;
}

static int quantile_side(const struct result *r, const struct cell_result *c, unsigned quantile,
			 struct compared_side *ret)
{
	double *values = calloc(r->restart_count + 1, sizeof(*values));
	uint32_t n = 0;

	if (!values)
		return -ENOMEM;
	for (uint32_t k = 0; k < r->restart_count; k++) {
		const struct restart_result *s = &r->restarts[k];

		if (s->cell == c->index && strcmp(s->state, "valid") == 0 && !isnan(number_of(&s->gross.q[quantile])))
			values[n++] = number_of(&s->gross.q[quantile]);
	}
	*ret = side_of(number_of(&c->gross.q[quantile]), values, n);
	free(values);
	return 0;
}

static int quantity_side(const struct quantity_result *q, struct compared_side *ret)
{
	double *values = calloc(q->restart_count + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->restart_count; i++)
		values[i] = q->restart_values[i];
	*ret = side_of(q->value, values, q->restart_count);
	free(values);
	return 0;
}

/* A quantity's name has one unit in a result; where it has two, the first one counts, and the report complains. */
static const struct quantity_result *find_quantity(const struct cell_result *c, const char *name)
{
	for (uint32_t i = 0; i < c->quantity_count; i++)
		if (strcmp(c->quantities[i].name, name) == 0)
			return &c->quantities[i];
	return NULL;
}

static int side(const struct result *r, const struct cell_result *c, const char *metric, struct compared_side *ret)
{
	unsigned quantile = QUANTILE_P50;

	*ret = (struct compared_side){ .plain = { NAN, NAN, INFINITY } };
	if (!metric_is_latency(metric)) {
		const struct quantity_result *q = find_quantity(c, metric);

		return q ? quantity_side(q, ret) : 0;
	}
	/* Without a tare there is no net: what a transit campaign has instead is the median itself. */
	if (quantile_of(metric, &quantile) || strcmp(r->measure, "transit") == 0)
		return quantile_side(r, c, quantile, ret);
	ret->plain = (struct measured){ c->net_ns, c->u_ns, isnan(c->dof) ? INFINITY : c->dof };
	return 0;
}

static void compare_one(const struct compared_side *first, const struct compared_side *second,
			struct compared_cell *ret)
{
	const struct measured *a = &first->plain, *b = &second->plain;

	ret->a = a->value;
	ret->b = b->value;
	ret->a_u = a->u;
	ret->b_u = b->u;
	ret->a_dof = a->dof;
	ret->b_dof = b->dof;
	ret->ratio = ret->low = ret->high = NAN;
	ret->why = "";
	if (isnan(a->value) || isnan(b->value)) {
		ret->why = isnan(a->value) ? "no figure in the first" : "no figure in the second";
	} else if (isinf(a->value)) {
		ret->why = isinf(b->value) ? "lost in both" : "lost in the first";
		ret->ratio = isinf(b->value) ? NAN : 0;
	} else if (isinf(b->value)) {
		ret->why = "lost in the second";
		ret->ratio = INFINITY;
	} else if (isnan(a->u) || isnan(b->u)) {
		ret->why = "fewer than 6 restarts";
		ret->ratio = a->value != 0 ? b->value / a->value : NAN;
	} else {
		struct comparison c = first->positive && second->positive
					      ? compare_logarithms(second->logarithm, first->logarithm, 0.95)
					      : compare_measured(*b, *a, 0.95);

		if (c.ratio.state == FIGURE_NUMBER)
			ret->ratio = c.ratio.value;
		else
			ret->why = "the first is 0";
		if (c.interval.state == FIGURE_NUMBER) {
			ret->low = c.interval.low;
			ret->high = c.interval.high;
		} else if (!ret->why[0]) {
			ret->why = "the first cannot be told from 0";
		}
	}
}

/* The unit of a metric in either result; NULL: neither has it. */
static const char *unit_of(const struct result *a, const struct result *b, const char *metric)
{
	const struct result *const both[] = { b, a };

	if (metric_is_latency(metric))
		return "ns";
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < both[k]->quantity_count; i++)
			if (strcmp(both[k]->quantities[i].name, metric) == 0)
				return both[k]->quantities[i].value;
	return NULL;
}

static int no_metric(const struct result *b, const char *metric, struct err *err)
{
	char names[400] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < b->quantity_count && n < sizeof(names) - 64; i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, ", %.60s", b->quantities[i].name);
	return err_set(err, ERR_USAGE, EINVAL, "neither result has '%s'; there are net, p50, p90, p99, p99.9, p99.99%s",
		       metric, names);
}

int compare_results(const struct result *a, const struct result *b, const char *metric, struct arena *arena,
		    struct compared *ret, struct err *err)
{
	struct compared out = { .metric = metric, .unit = unit_of(a, b, metric) };
	bool common = false;

	if (!out.unit)
		return no_metric(b, metric, err);
	out.cells = arena_array(arena, b->cell_count + 1, sizeof(*out.cells));
	if (!out.cells)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory comparing");
	for (uint32_t i = 0; i < b->cell_count; i++) {
		const struct cell_result *now = &b->cells[i], *was = result_find_cell(a, now->label);
		struct compared_side sa, sb;

		common |= was != NULL;
		if (!was || (strcmp(metric, "net") == 0 && now->is_tare))
			continue;
		if (side(a, was, metric, &sa) != 0 || side(b, now, metric, &sb) != 0)
			return err_set(err, ERR_HOST, ENOMEM, "out of memory comparing");
		/* a quantity that neither cell has is nothing to compare there */
		if (!metric_is_latency(metric) && isnan(sa.plain.value) && isnan(sb.plain.value))
			continue;
		out.cells[out.count].label = now->label;
		out.cells[out.count].title = now->title;
		compare_one(&sa, &sb, &out.cells[out.count++]);
	}
	if (!common)
		return err_set(err, ERR_USAGE, EINVAL, "the results '%s' and '%s' have no cell in common", a->name,
			       b->name);
	*ret = out;
	return 0;
}

/* --- for people --- */

/* Expanded as the report has it: Student's factor with the coverage of k = 2 (stats/budget.h). */
static void side_text(const struct compared *c, double value, double u, double dof, const char *pm, char *ret)
{
	char v[FORMAT_BYTES], half[FORMAT_BYTES];
	double expanded = isnan(u) ? NAN : u * student_quantile(normal_cdf(2), dof);
	int decimals = metric_is_latency(c->metric) ? net_decimals(expanded) : decimals_beside(value, expanded);

	format_number(value, decimals, v);
	if (isfinite(value) && !isnan(u))
		snprintf(ret, TABLE_CELL_BYTES, "%s %s %s", v, pm, format_number(expanded, decimals, half));
	else
		snprintf(ret, TABLE_CELL_BYTES, "%s", v);
}

static void change_text(double ratio, char *ret)
{
	if (isinf(ratio))
		snprintf(ret, TABLE_CELL_BYTES, "lost");
	else if (!isnan(ratio))
		snprintf(ret, TABLE_CELL_BYTES, "%+.1f %%", 100 * (ratio - 1));
}

int compare_write(const struct result *a, const struct result *b, const struct compared *c, FILE *out,
		  const struct terminal_style *style, struct err *err)
{
	char first[80], second[80];
	const struct table_column columns[] = {
		{ .title = result_has_probes(b) ? "program" : "cell" },
		{ .title = first, .right = true },
		{ .title = second, .right = true },
		{ .title = "ratio", .right = true, .bold = true },
		{ .title = "95 % interval", .right = true },
		{ .title = "change", .right = true, .optional = 2 },
		{ .title = "", .optional = 1 },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };

	snprintf(first, sizeof(first), "first%s%.60s", c->unit[0] ? ", " : "", c->unit);
	snprintf(second, sizeof(second), "second%s%.60s", c->unit[0] ? ", " : "", c->unit);
	t.rows = calloc(c->count + 1, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory comparing");
	for (uint32_t i = 0; i < c->count; i++) {
		const struct compared_cell *cell = &c->cells[i];
		struct table_row *row = &t.rows[t.count++];

		row->plot_at = NAN;
		snprintf(row->cell[0], TABLE_CELL_BYTES, "%s", cell->title);
		side_text(c, cell->a, cell->a_u, cell->a_dof, style->utf8 ? "±" : "+-", row->cell[1]);
		side_text(c, cell->b, cell->b_u, cell->b_dof, style->utf8 ? "±" : "+-", row->cell[2]);
		if (isfinite(cell->ratio))
			snprintf(row->cell[3], TABLE_CELL_BYTES, "%.4f", cell->ratio);
		if (!isnan(cell->low))
			snprintf(row->cell[4], TABLE_CELL_BYTES, "%.4f to %.4f", cell->low, cell->high);
		change_text(cell->ratio, row->cell[5]);
		snprintf(row->cell[6], TABLE_CELL_BYTES, "%s", cell->why);
	}
	fprintf(out, "%s, second over first: ", c->metric);
	terminal_text(out, a->name);
	fputs(" and ", out);
	terminal_text(out, b->name);
	fputs(style->utf8 ? " (± is k=2)\n" : " (+- is k=2)\n", out);
	terminal_table(out, &t, style);
	free(t.rows);
	if (fflush(out) != 0 || ferror(out))
		return err_set(err, ERR_HOST, errno ? errno : EIO, "cannot write the comparison: %s", strerror(errno));
	return 0;
}
