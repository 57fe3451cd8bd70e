/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "report/chart_data.h"
#include "report/format.h"
#include "report/html_private.h"
#include "report/svg.h"

enum { WIDTH = 860 };

static const char *const classes[CHART_COLORS + 1] = { "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "tare" };

const char *chart_class(const struct result *r, uint32_t cell)
{
	return classes[chart_color(r, cell)];
}

/* A label that has to stay within about so many characters. */
const char *chart_label(const char *text, unsigned most, char buf[128])
{
	unsigned columns = 0, n = 0;

	while (n < 120 && columns < most && text[n]) {
		n++;
		while ((text[n] & 0xc0) == 0x80)
			n++;
		columns++;
	}
	if (!text[n])
		return text;
	snprintf(buf, 128, "%.*s…", (int)n, text);
	return buf;
}

/* --- net by program --- */

struct net_panels {
	struct axis net, residual;
};

static struct net_panels net_panels(const struct result *r)
{
	double most = 0, least = 0, reach = 0;

	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];
		double u = isfinite(c->expanded_ns) ? c->expanded_ns : 0;

		if (!isfinite(c->net_ns) || c->is_tare)
			continue;
		most = fmax(most, c->net_ns + u);
		least = fmin(least, c->net_ns - u);
		reach = fmax(reach, u);
		if (isfinite(c->paired_error_ns))
			reach = fmax(reach, fabs(c->paired_error_ns));
	}
	for (uint32_t i = 0; i < r->restart_count; i++) {
		const struct restart_result *s = &r->restarts[i];

		if (isfinite(s->net_ns) && isfinite(r->cells[s->cell].net_ns))
			reach = fmax(reach, fabs(s->net_ns - r->cells[s->cell].net_ns));
	}
	if (reach == 0)
		reach = 1;
	return (struct net_panels){ .net = axis_make(least, most, 5, 190, 500),
				    .residual = axis_make(-reach, reach, 4, 620, WIDTH - 20) };
}

static void net_row(const struct result *r, const struct cell_result *c, const struct net_panels *p, double y,
		    FILE *out)
{
	const char *class_name = chart_class(r, c->index);
	double x = axis_at(&p->net, c->net_ns), zero = axis_at(&p->net, 0), centre = axis_at(&p->residual, 0);
	char text[FORMAT_BYTES], label[128];

	svg_text(out, 180, y + 4, "end", "name", chart_label(c->title, 26, label));
	fprintf(out, "<path class=\"bar %s\" d=\"M%.1f %.1fH%.1f\"/>\n", class_name, zero, y, x);
	if (isfinite(c->expanded_ns)) {
		fprintf(out, "<path class=\"whisker %s\" d=\"M%.1f %.1fH%.1f\"/>\n", class_name,
			axis_at(&p->net, c->net_ns - c->expanded_ns), y, axis_at(&p->net, c->net_ns + c->expanded_ns));
		fprintf(out, "<rect class=\"band %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"20\"/>\n",
			class_name, axis_at(&p->residual, -c->expanded_ns), y - 10,
			axis_at(&p->residual, c->expanded_ns) - axis_at(&p->residual, -c->expanded_ns));
	}
	fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", class_name, x, y);
	svg_text(out, p->net.to + 14, y + 4, "start", "value", format_net(c, "±", text));
	fprintf(out, "<path class=\"median %s\" d=\"M%.1f %.1fV%.1f\"/>\n", class_name, centre, y - 10, y + 10);
	for (uint32_t i = 0; i < r->restart_count; i++) {
		const struct restart_result *s = &r->restarts[i];

		if (s->cell == c->index && isfinite(s->net_ns))
			fprintf(out, "<circle class=\"ring %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", class_name,
				axis_at(&p->residual, s->net_ns - c->net_ns), y);
	}
	if (isfinite(c->paired_error_ns)) {
		double at = axis_at(&p->residual, -c->paired_error_ns);

		fprintf(out, "<path class=\"truth\" d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\"/>\n", at, y - 5);
	}
}

bool chart_net(const struct result *r, FILE *out)
{
	struct net_panels p;
	unsigned rows = 0;
	double bottom, y = 58;

	for (uint32_t i = 0; i < r->cell_count; i++)
		rows += !r->cells[i].is_tare && isfinite(r->cells[i].net_ns);
	if (rows == 0)
		return false;
	p = net_panels(r);
	bottom = 38 + rows * 34.0;
	svg_begin(out, WIDTH, bottom + 44, "Net latency by program, and each restart around it");
	svg_text(out, p.net.from, 22, "start", "panel", "net latency");
	svg_text(out, p.residual.from, 22, "start", "panel", "each restart, around its net figure");
	svg_x_axis(out, &p.net, 38, bottom, "ns");
	svg_x_axis(out, &p.residual, 38, bottom, "ns");
	for (uint32_t i = 0; i < r->cell_count; i++) {
		if (r->cells[i].is_tare || !isfinite(r->cells[i].net_ns))
			continue;
		net_row(r, &r->cells[i], &p, y, out);
		y += 34;
	}
	svg_end(out);
	return true;
}

/* --- distribution --- */

enum { PANEL_CELLS = 8 }; /* as many as there are colours */

/* Where the legend's entries of cells from `first` on stand, from y downwards: as many in a row as fit; returns its end. */
static double legend(const struct result *r, uint32_t first, uint32_t count, double y, FILE *out)
{
	double x = 52;
	char label[128];

	for (uint32_t i = first; i < first + count; i++) {
		const char *text = chart_label(r->cells[i].title, 44, label);
		double width = 40 + 7.2 * (double)strlen(text);

		if (!r->cells[i].restarts_valid)
			continue;
		if (x + width > WIDTH && x > 52) {
			x = 52;
			y += 20;
		}
		fprintf(out, "<path class=\"line %s\" d=\"M%.1f %.1fh20\"/>\n", chart_class(r, i), x, y - 4);
		svg_text(out, x + 26, y, "start", "name", text);
		x += width;
	}
	return y;
}

/* Rows that such a legend takes at most. */
static unsigned legend_rows(uint32_t count)
{
	return (count + 1) / 2;
}

/* Points at `values`, up to the first that is lost; in the direction of `step`. */
static void ecdf_path(const struct cell_result *c, const double *values, double per_ns, bool back, const struct axis *x,
		      const struct axis *y, bool move, FILE *out)
{
	for (uint32_t k = 0; k < c->ecdf_count; k++) {
		uint32_t i = back ? c->ecdf_count - 1 - k : k;

		if (!isfinite(values[i]) || !isfinite(c->ecdf_p[i]))
			continue;
		fprintf(out, "%s%.1f %.1f", move ? "M" : "L", axis_at(x, values[i] * per_ns), axis_at(y, c->ecdf_p[i]));
		move = false;
	}
}

/* Cells from `first` on, on axes of their own below y; returns where the panel ends. */
static double distribution_panel(const struct result *r, uint32_t first, uint32_t count,
				 const struct chart_scale *scale, double low, double high, double top, FILE *out)
{
	double bottom = (top = legend(r, first, count, top, out) + 34) + 280;
	struct axis x = chart_wants_log(low, high) ? axis_make_log(low, high, 52, WIDTH - 20)
						   : axis_make(low, high, 9, 52, WIDTH - 20);
	struct axis y = axis_make(0, 100, 5, bottom, top);
	char title[128];

	snprintf(title, sizeof(title), "%s, %s", scale->name, scale->unit);
	svg_x_axis(out, &x, top, bottom, title);
	svg_y_axis(out, &y, 52, WIDTH - 20, "% of probes sent");
	fprintf(out,
		"<clipPath id=\"ecdf%" PRIu32 "\"><rect x=\"52\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/></clipPath>\n"
		"<g clip-path=\"url(#ecdf%" PRIu32 ")\">\n",
		first, top - 2, WIDTH - 72, bottom + 4 - top, first);
	for (uint32_t i = first; i < first + count; i++) {
		const struct cell_result *c = &r->cells[i];

		if (!c->ecdf_count)
			continue;
		fprintf(out, "<path class=\"band %s\" d=\"", chart_class(r, i));
		ecdf_path(c, c->ecdf_low_ns, scale->per_ns, false, &x, &y, true, out);
		ecdf_path(c, c->ecdf_high_ns, scale->per_ns, true, &x, &y, false, out);
		fprintf(out, "Z\"/>\n<path class=\"line %s\" d=\"", chart_class(r, i));
		ecdf_path(c, c->ecdf_ns, scale->per_ns, false, &x, &y, true, out);
		fputs("\"/>\n", out);
	}
	fputs("</g>\n", out);
	return bottom + 62;
}

bool chart_distribution(const struct result *r, FILE *out)
{
	const struct chart_scale scale = chart_scale(r);
	/* a tare more than colours is no reason for a second panel */
	uint32_t each = r->cell_count <= PANEL_CELLS + 1 ? r->cell_count : PANEL_CELLS;
	double low, high, top = 20, height = 0;

	if (!chart_ecdf_range_ns(r, &low, &high))
		return false;
	for (uint32_t i = 0; i < r->cell_count; i += each)
		height += 376 + 20 * legend_rows(r->cell_count - i < each ? r->cell_count - i : each);
	svg_begin(out, WIDTH, height, "Distribution of latency");
	for (uint32_t i = 0; i < r->cell_count; i += each)
		top = distribution_panel(r, i, r->cell_count - i < each ? r->cell_count - i : each, &scale,
					 low * scale.per_ns, high * scale.per_ns, top, out);
	svg_end(out);
	return true;
}

/* --- restarts in run order --- */

static void tare_line(const struct result *r, const struct chart_scale *scale, const struct axis *x,
		      const struct axis *y, FILE *out)
{
	for (uint32_t c = 0; c < r->cell_count; c++) {
		bool move = true;

		if (!r->cells[c].is_tare)
			continue;
		fputs("<path class=\"thin tare\" d=\"", out);
		for (uint32_t i = 0; i < r->restart_count; i++) {
			double v = scale->per_ns * chart_restart_residual_ns(r, &r->restarts[i]);

			if (r->restarts[i].cell != c || isnan(v))
				continue;
			fprintf(out, "%s%.1f %.1f", move ? "M" : "L", axis_at(x, i + 1), axis_at(y, v));
			move = false;
		}
		fputs(move ? "M0 0\"/>\n" : "\"/>\n", out);
	}
}

bool chart_restarts(const struct result *r, FILE *out)
{
	const struct chart_scale scale = chart_scale(r);
	double reach = 0, top;
	char title[128];
	struct axis x, y;

	for (uint32_t i = 0; i < r->restart_count; i++) {
		double v = scale.per_ns * chart_restart_residual_ns(r, &r->restarts[i]);

		if (!isnan(v))
			reach = fmax(reach, fabs(v));
	}
	if (r->restart_count < 2)
		return false;
	svg_begin(out, WIDTH, 330, "Restarts in the order in which they ran, around their program's figure");
	/* more cells than colours: what stands out is what is common to all */
	top = (r->cell_count <= PANEL_CELLS + 1 ? legend(r, 0, r->cell_count, 20, out) : 0) + 34;
	x = (struct axis){ .low = 0, .high = r->restart_count + 1, .from = 52, .to = WIDTH - 20 };
	y = axis_make(reach > 0 ? -reach : -1, reach > 0 ? reach : 1, 5, 290, top);
	snprintf(title, sizeof(title), "restart's %s less its %s's, %s", scale.of, scale.cell, scale.unit);
	svg_y_axis(out, &y, 52, WIDTH - 20, title);
	for (uint32_t i = 1; i < r->restart_count; i++)
		if (r->restarts[i].block != r->restarts[i - 1].block)
			fprintf(out, "<path class=\"block\" d=\"M%.1f %.1fV290\"/>\n", axis_at(&x, i + 0.5), top);
	tare_line(r, &scale, &x, &y, out);
	for (uint32_t i = 0; i < r->restart_count; i++) {
		const struct restart_result *s = &r->restarts[i];
		double v = scale.per_ns * chart_restart_residual_ns(r, s), at = axis_at(&x, i + 1);

		if (isnan(v))
			fprintf(out, "<path class=\"bad\" d=\"M%.1f 281l8 8m0 -8l-8 8\"/>\n", at - 4);
		else
			fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
				chart_class(r, s->cell), at, axis_at(&y, v));
	}
	svg_text(out, (x.from + x.to) / 2, 312, "middle", "label", "run order; dotted lines part the blocks");
	svg_end(out);
	return true;
}

/* --- residual by packet --- */

enum { PACKET_POINTS = 2500, PANEL = 110 };

static void packet_points(const struct cell_result *c, const struct axis *x, const struct axis *y, FILE *out)
{
	uint32_t stride = 1 + (c->packet_count - 1) / PACKET_POINTS;

	for (uint32_t k = 0; k < c->packet_count; k += stride) {
		/* A step that has no factor in common with usual patterns: neighbours in turn. */
		uint32_t i = k + (k / stride) % stride < c->packet_count ? k + (k / stride) % stride : k;
		double v = c->packet_ns[i];

		if (!isfinite(v) || !isfinite(c->packet_id[i]))
			continue;
		v = fmin(fmax(v, y->low), y->high);
		fprintf(out, "M%.1f %.1fh0", axis_at(x, c->packet_id[i]), axis_at(y, v));
	}
}

bool chart_packets(const struct result *r, FILE *out)
{
	double reach = chart_packet_reach_ns(r), most = 1, top = 28;
	unsigned panels = 0;
	struct axis x;

	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		panels += c->packet_count > 0;
		if (c->packet_count && isfinite(c->packet_id[c->packet_count - 1]))
			most = fmax(most, c->packet_id[c->packet_count - 1]);
	}
	if (panels == 0 || reach == 0)
		return false;
	x = axis_make(0, most, 8, 60, WIDTH - 20);
	svg_begin(out, WIDTH, panels * (PANEL + 30) + 50.0, "Residual by packet of the stream");
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];
		struct axis y = axis_make(-reach, reach, 3, top + PANEL, top);
		bool last = --panels == 0;

		if (!c->packet_count) {
			panels++;
			continue;
		}
		svg_text(out, 60, top - 8, "start", "name", c->title);
		svg_y_axis(out, &y, 60, WIDTH - 20, NULL);
		if (last)
			svg_x_axis(out, &x, top, top + PANEL, "packet of the stream");
		fprintf(out, "<path class=\"points %s\" d=\"", chart_class(r, i));
		packet_points(c, &x, &y, out);
		fputs("\"/>\n", out);
		top += PANEL + 30;
	}
	svg_end(out);
	return true;
}
