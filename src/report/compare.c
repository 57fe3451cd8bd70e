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

const char *metric_name(unsigned metric)
{
	return metric == 0 ? "net" : quantile_name(metric - 1);
}

/* --- conditions --- */

static int malformed(const char *text, const char *what, struct err *err)
{
	return err_set(err, ERR_USAGE, EINVAL,
		       "'%s': %s; expected METRIC>PERCENT or METRIC<PERCENT, like 'p50>+5%%' or 'net<-10%%'; METRIC is "
		       "net, p50, p90, p99, p99.9 or p99.99",
		       text, what);
}

int condition_parse(const char *text, struct condition *ret, struct err *err)
{
	size_t n = strcspn(text, "<>");
	struct condition c = { .text = text, .metric = METRICS };
	char *end;
	double percent;

	for (unsigned m = 0; m < METRICS; m++)
		if (strlen(metric_name(m)) == n && strncmp(metric_name(m), text, n) == 0)
			c.metric = m;
	if (!text[n])
		return malformed(text, "no comparison in it", err);
	if (c.metric == METRICS)
		return malformed(text, "no such metric", err);
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

/* Half the interpolated interval of the median over restarts, over Student's t: as hierarchy_measured has it. */
static int quantile_measured(const struct result *r, const struct cell_result *c, unsigned quantile,
			     struct measured *ret)
{
	double *values = calloc(r->restart_count + 1, sizeof(*values));
	struct interval i;
	uint32_t n = 0;

	if (!values)
		return -ENOMEM;
	for (uint32_t k = 0; k < r->restart_count; k++) {
		const struct restart_result *s = &r->restarts[k];

		if (s->cell == c->index && strcmp(s->state, "valid") == 0 && !isnan(number_of(&s->gross.q[quantile])))
			values[n++] = number_of(&s->gross.q[quantile]);
	}
	sort_double(values, n);
	i = median_interval_interpolated(values, n, 0.95);
	free(values);
	*ret = (struct measured){ number_of(&c->gross.q[quantile]), NAN, INFINITY };
	if (i.state == FIGURE_NUMBER && n > 1) {
		ret->dof = n - 1;
		ret->u = (i.high - i.low) / 2 / student_quantile(0.975, ret->dof);
	}
	return 0;
}

static int side(const struct result *r, const struct cell_result *c, unsigned metric, struct measured *ret)
{
	/* Without a tare there is no net: what a transit campaign has instead is the median itself. */
	if (metric > 0 || strcmp(r->measure, "transit") == 0)
		return quantile_measured(r, c, metric > 0 ? metric - 1 : QUANTILE_P50, ret);
	*ret = (struct measured){ c->net_ns, c->u_ns, isnan(c->dof) ? INFINITY : c->dof };
	return 0;
}

static void compare_one(const struct measured *a, const struct measured *b, struct compared_cell *ret)
{
	ret->a_ns = a->value;
	ret->b_ns = b->value;
	ret->a_u_ns = a->u;
	ret->b_u_ns = b->u;
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
		struct comparison c = compare_measured(*b, *a, 0.95);

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

int compare_results(const struct result *a, const struct result *b, unsigned metric, struct arena *arena,
		    struct compared *ret, struct err *err)
{
	struct compared out = { .metric = metric };
	bool common = false;

	out.cells = arena_array(arena, b->cell_count + 1, sizeof(*out.cells));
	if (!out.cells)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory comparing");
	for (uint32_t i = 0; i < b->cell_count; i++) {
		const struct cell_result *now = &b->cells[i], *was = result_find_cell(a, now->label);
		struct measured ma, mb;

		common |= was != NULL;
		if (!was || (metric == 0 && now->is_tare))
			continue;
		if (side(a, was, metric, &ma) != 0 || side(b, now, metric, &mb) != 0)
			return err_set(err, ERR_HOST, ENOMEM, "out of memory comparing");
		out.cells[out.count].label = now->label;
		out.cells[out.count].title = now->title;
		compare_one(&ma, &mb, &out.cells[out.count++]);
	}
	if (!common)
		return err_set(err, ERR_USAGE, EINVAL, "the results '%s' and '%s' have no cell in common", a->name,
			       b->name);
	*ret = out;
	return 0;
}

/* --- for people --- */

/* Expanded as the report has it: Student's factor with the coverage of k = 2 (stats/budget.h). */
static void side_text(double value, double u, double dof, const char *pm, char *ret)
{
	char v[FORMAT_BYTES], half[FORMAT_BYTES];
	double expanded = isnan(u) ? NAN : u * student_quantile(normal_cdf(2), dof);
	int decimals = net_decimals(expanded);

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
	const struct table_column columns[] = {
		{ .title = "program" },
		{ .title = "first, ns", .right = true },
		{ .title = "second, ns", .right = true },
		{ .title = "ratio", .right = true, .bold = true },
		{ .title = "95 % interval", .right = true },
		{ .title = "change", .right = true, .optional = 2 },
		{ .title = "", .optional = 1 },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };

	t.rows = calloc(c->count + 1, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory comparing");
	for (uint32_t i = 0; i < c->count; i++) {
		const struct compared_cell *cell = &c->cells[i];
		struct table_row *row = &t.rows[t.count++];

		row->plot_at = NAN;
		snprintf(row->cell[0], TABLE_CELL_BYTES, "%s", cell->title);
		side_text(cell->a_ns, cell->a_u_ns, cell->a_dof, style->utf8 ? "±" : "+-", row->cell[1]);
		side_text(cell->b_ns, cell->b_u_ns, cell->b_dof, style->utf8 ? "±" : "+-", row->cell[2]);
		if (isfinite(cell->ratio))
			snprintf(row->cell[3], TABLE_CELL_BYTES, "%.4f", cell->ratio);
		if (!isnan(cell->low))
			snprintf(row->cell[4], TABLE_CELL_BYTES, "%.4f to %.4f", cell->low, cell->high);
		change_text(cell->ratio, row->cell[5]);
		snprintf(row->cell[6], TABLE_CELL_BYTES, "%s", cell->why);
	}
	fprintf(out, "%s, second over first: ", metric_name(c->metric));
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
