/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "report/chart_data.h"
#include "report/format.h"
#include "report/html_private.h"
#include "report/svg.h"

/* Figures of quantities, of ratios, and of what grows along an axis. */

enum { WIDTH = 860, LABEL = 364, RIGHT = 720 };

static const char *const classes[CHART_COLORS] = { "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7" };

/* Ends of what is drawn, and whether a logarithm can show them. */
struct ends {
	double least, most;
};

static void ends_add(struct ends *e, double v)
{
	if (!isfinite(v))
		return;
	e->least = fmin(e->least, v);
	e->most = fmax(e->most, v);
}

static void ends_add_span(struct ends *e, const struct span *s)
{
	if (!span_is(s))
		return;
	ends_add(e, s->low);
	ends_add(e, s->high);
}

/* From 0 where everything is well above it and no logarithm is needed: lengths can be compared then. */
static struct axis value_axis(const struct ends *e, unsigned ticks, double from, double to)
{
	if (chart_wants_log(e->least, e->most))
		return axis_make_log(e->least, e->most, from, to);
	return axis_make(fmin(0, e->least), e->most, ticks, from, to);
}

/* "switches=1 insert sync": a value that is a number needs its axis to be understood, a word does not. */
static const char *cell_label(const struct result *r, const struct cell_result *c, char *buf, size_t size_bytes)
{
	size_t n = 0;

	for (uint32_t a = 0; a < r->axis_count && a < c->value_count && n < size_bytes; a++) {
		bool number = c->values[a][0] >= '0' && c->values[a][0] <= '9';

		if (c->values[a][0])
			n += (size_t)snprintf(buf + n, size_bytes - n, "%s%s%s%s", n ? " " : "",
					      number ? r->axes[a] : "", number ? "=" : "", c->values[a]);
	}
	return n ? buf : c->title;
}

/* --- rows: a dot with its interval each --- */

struct dot_row {
	const char *label, *text, *class_name;
	double value;
	const struct span *interval;
	const double *restarts;
	uint32_t restart_count;
};

static void draw_dot(const struct dot_row *d, const struct axis *x, double y, FILE *out)
{
	char label[128];

	svg_text(out, LABEL - 12, y + 4, "end", "name", chart_label(d->label, 52, label));
	for (uint32_t i = 0; i < d->restart_count; i++)
		if (isfinite(d->restarts[i]))
			fprintf(out, "<circle class=\"ring %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\"/>\n", d->class_name,
				axis_at(x, d->restarts[i]), y + 6);
	if (span_is(d->interval) && isfinite(d->interval->high))
		fprintf(out, "<path class=\"whisker %s\" d=\"M%.1f %.1fH%.1f\"/>\n", d->class_name,
			axis_at(x, d->interval->low), y - 1, axis_at(x, d->interval->high));
	if (isfinite(d->value))
		fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", d->class_name,
			axis_at(x, d->value), y - 1);
	svg_text(out, RIGHT + 14, y + 4, "start", "value", d->text);
}

static double row_height(uint32_t rows)
{
	return rows > 16 ? 20 : 28;
}

static struct ends quantity_ends(const struct result *r, const struct name_value *of, uint32_t *ret_rows)
{
	struct ends e = { INFINITY, -INFINITY };

	*ret_rows = 0;
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct quantity_result *q = cell_quantity(&r->cells[i], of->name, of->value);

		if (!q)
			continue;
		(*ret_rows)++;
		ends_add(&e, q->value);
		ends_add_span(&e, &q->interval);
		for (uint32_t k = 0; k < q->restart_count; k++)
			ends_add(&e, q->restart_values[k]);
	}
	return e;
}

bool chart_quantity(const struct result *r, const struct name_value *of, FILE *out)
{
	uint32_t rows;
	struct ends e = quantity_ends(r, of, &rows);
	double step = row_height(rows), bottom = 24 + rows * step, y = 14 + step / 2;
	struct axis x;

	if (!(e.least <= e.most))
		return false;
	x = value_axis(&e, 6, LABEL, RIGHT);
	svg_begin(out, WIDTH, bottom + 44, of->name);
	svg_x_axis(out, &x, 14, bottom, of->value[0] ? of->value : NULL);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct quantity_result *q = cell_quantity(&r->cells[i], of->name, of->value);
		char text[FORMAT_BYTES], label[256];

		if (!q)
			continue;
		draw_dot(&(struct dot_row){ .label = cell_label(r, &r->cells[i], label, sizeof(label)),
					    .text = format_quantity(q, text),
					    .class_name = classes[chart_color_by_contrast(r, i)],
					    .value = q->value,
					    .interval = &q->interval,
					    .restarts = q->restart_values,
					    .restart_count = q->restart_count },
			 &x, y, out);
		y += step;
	}
	svg_end(out);
	return true;
}

/* Around 1, by logarithms: twice and half are as far from it. */
bool chart_ratios(const struct result *r, uint32_t family, FILE *out)
{
	const struct ratio_family *f = &r->families[family];
	struct ends e = { 1 / 1.05, 1.05 };
	uint32_t rows = 0;
	double step, bottom, y;
	struct axis x;

	for (uint32_t i = 0; i < r->ratio_count; i++) {
		const struct ratio_result *q = &r->ratios[i];

		if (q->family != family || !(q->ratio > 0) || !isfinite(q->ratio))
			continue;
		rows++;
		ends_add(&e, q->ratio);
		if (span_is(&q->interval) && q->interval.low > q->ratio / 10 && q->interval.high < q->ratio * 10)
			ends_add_span(&e, &q->interval);
	}
	if (rows == 0)
		return false;
	step = row_height(rows);
	bottom = 24 + rows * step;
	y = 14 + step / 2;
	x = axis_make_log(e.least, e.most, LABEL, RIGHT);
	svg_begin(out, WIDTH, bottom + 44, f->statement);
	svg_x_axis(out, &x, 14, bottom, "ratio");
	fprintf(out, "<path class=\"zero\" d=\"M%.1f 14V%.1f\"/>\n", axis_at(&x, 1), bottom);
	for (uint32_t i = 0; i < r->ratio_count; i++) {
		const struct ratio_result *q = &r->ratios[i];
		char number[FORMAT_BYTES], text[FORMAT_BYTES];
		struct span cut = { fmax(q->interval.low, x.low), fmin(q->interval.high, x.high), q->interval.level };

		if (q->family != family || !(q->ratio > 0) || !isfinite(q->ratio))
			continue;
		if (!span_is(&q->interval))
			cut.low = cut.high = NAN;
		snprintf(text, sizeof(text), "%.20s%s", format_number(q->ratio, 3, number), q->apart ? "  apart" : "");
		draw_dot(&(struct dot_row){ .label = q->name,
					    .text = text,
					    .class_name = q->p_holm < 0.05 ? "c1" : "tare",
					    .value = q->ratio,
					    .interval = &cut },
			 &x, y, out);
		y += step;
	}
	svg_end(out);
	return true;
}

/* --- sweeps --- */

/* Where x = 0 stands on a logarithmic axis: left of the rest. */
static double x_of(const struct sweep_point *p, const struct axis *x)
{
	return axis_at(x, x->log && !(p->x > 0) ? x->low * pow(x->high / x->low, 0.02) : p->x);
}

static void sweep_ends(const struct sweep_result *s, struct ends *x, struct ends *y)
{
	for (uint32_t k = 0; k < s->series_count; k++)
		for (uint32_t n = 0; n < s->series[k].point_count; n++) {
			const struct sweep_point *p = &s->series[k].points[n];

			if (p->x > 0)
				ends_add(x, p->x);
			ends_add(y, p->value);
			ends_add_span(y, &p->interval);
		}
}

static bool has_zero(const struct sweep_result *s)
{
	for (uint32_t k = 0; k < s->series_count; k++)
		for (uint32_t n = 0; n < s->series[k].point_count; n++)
			if (s->series[k].points[n].x == 0)
				return true;
	return false;
}

/* Ticks are the plan's own values; each once, and none upon another. */
static void sweep_ticks(const struct sweep_result *s, const struct axis *x, double top, double bottom, FILE *out)
{
	double taken[32];
	unsigned n = 0;

	for (uint32_t k = 0; k < s->series_count; k++)
		for (uint32_t i = 0; i < s->series[k].point_count && n < 32; i++) {
			const struct sweep_point *p = &s->series[k].points[i];
			double at = x_of(p, x);
			bool room = true;

			for (unsigned t = 0; t < n; t++)
				room = room && fabs(taken[t] - at) > 34;
			if (!room)
				continue;
			taken[n++] = at;
			fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", at, top, bottom);
			svg_text(out, at, bottom + 16, "middle", "tick", p->at);
		}
}

/* `aside`: how far from its x a series stands, so that bars do not hide each other. */
static void sweep_line(const struct sweep_series *s, const char *class_name, double aside, const struct axis *x,
		       const struct axis *y, FILE *out)
{
	bool move = true;

	fprintf(out, "<path class=\"line %s\" d=\"", class_name);
	for (uint32_t n = 0; n < s->point_count; n++) {
		if (!isfinite(s->points[n].value))
			continue;
		fprintf(out, "%s%.1f %.1f", move ? "M" : "L", x_of(&s->points[n], x) + aside,
			axis_at(y, s->points[n].value));
		move = false;
	}
	fputs(move ? "M0 0\"/>\n" : "\"/>\n", out);
	for (uint32_t n = 0; n < s->point_count; n++) {
		const struct sweep_point *p = &s->points[n];

		if (!isfinite(p->value))
			continue;
		if (span_is(&p->interval) && isfinite(p->interval.high))
			fprintf(out, "<path class=\"median %s\" d=\"M%.1f %.1fV%.1f\"/>\n", class_name,
				x_of(p, x) + aside, axis_at(y, p->interval.low), axis_at(y, p->interval.high));
		fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", class_name,
			x_of(p, x) + aside, axis_at(y, p->value));
	}
}

static double sweep_legend(const struct sweep_result *s, FILE *out)
{
	double x = 52, y = 20;
	char label[128];

	for (uint32_t k = 0; k < s->series_count && s->series_count > 1; k++) {
		const char *text = chart_label(s->series[k].name, 44, label);
		double width = 44 + 6.6 * (double)strlen(text);

		if (x + width > WIDTH && x > 52) {
			x = 52;
			y += 20;
		}
		fprintf(out, "<path class=\"line %s\" d=\"M%.1f %.1fh20\"/>\n", classes[k % CHART_COLORS], x, y - 4);
		svg_text(out, x + 26, y, "start", "name", text);
		x += width;
	}
	return s->series_count > 1 ? y : 0;
}

bool chart_sweep(const struct sweep_result *s, FILE *out)
{
	struct ends ex = { INFINITY, -INFINITY }, ey = { INFINITY, -INFINITY };
	char title[160];
	struct axis x, y;
	double top, bottom;
	unsigned rows = 1 + s->series_count / 2;

	sweep_ends(s, &ex, &ey);
	if (!(ex.least <= ex.most) || !(ey.least <= ey.most))
		return false;
	svg_begin(out, WIDTH, 360 + 20.0 * rows, s->quantity);
	top = sweep_legend(s, out) + 34;
	bottom = 300 + 20.0 * rows;
	if (chart_wants_log(ex.least, ex.most))
		x = axis_make_log(has_zero(s) ? ex.least / 4 : ex.least, ex.most, 70, WIDTH - 40);
	else
		x = axis_make(0, ex.most, 6, 60, WIDTH - 40);
	y = value_axis(&ey, 6, bottom, top);
	snprintf(title, sizeof(title), "%.80s%s%.60s",
		 strcmp(s->quantity, "p50") == 0 ? "in-switch median" : s->quantity, s->unit[0] ? ", " : "", s->unit);
	sweep_ticks(s, &x, top, bottom, out);
	svg_y_axis(out, &y, 60, WIDTH - 40, title);
	svg_text(out, (x.from + x.to) / 2, bottom + 36, "middle", "label", s->axis);
	for (uint32_t k = 0; k < s->series_count; k++)
		sweep_line(&s->series[k], classes[k % CHART_COLORS], 3.0 * k - 1.5 * (s->series_count - 1), &x, &y,
			   out);
	svg_end(out);
	return true;
}
