/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "report/format.h"
#include "report/html_private.h"
#include "report/svg.h"
#include "report/telemetry_rows.h"

/* The page's part about hops: what each alignment says of each link, and how sure it is. */

enum { WIDTH = 860, LABEL = 364, RIGHT = 720, ROW = 22 };

static void quantity_td(const struct quantity_result *q, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<td class=\"n\">", out);
	if (q) {
		html_text(out, format_quantity(q, text));
		if (span_is(&q->interval)) {
			fputs("<small>", out);
			html_text(out, format_quantity_interval(q, text));
			fputs("</small>", out);
		}
	}
	fputs("</td>", out);
}

static void table(const struct result *r, FILE *out)
{
	fputs("<div class=\"scroll\"><table><thead><tr><th>cell</th><th class=\"n\">hop</th>", out);
	for (unsigned i = 0; telemetry_columns[i].name; i++) {
		fputs("<th class=\"n\">", out);
		html_text(out, telemetry_columns[i].title);
		fputs("</th>", out);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
	for (uint32_t c = 0; c < r->cell_count; c++)
		for (unsigned hop = 1; hop <= telemetry_hops(&r->cells[c]); hop++) {
			char text[16];

			fputs("<tr>", out);
			html_cell(out, NULL, r->cells[c].title);
			snprintf(text, sizeof(text), "%u", hop);
			html_cell(out, "n", text);
			for (unsigned i = 0; telemetry_columns[i].name; i++)
				quantity_td(telemetry_quantity(&r->cells[c], telemetry_columns[i].name, hop), out);
			fputs("</tr>\n", out);
		}
	fputs("</tbody></table></div>\n", out);
}

/* --- the chart: off by, and known to, on one logarithmic axis --- */

static double shown(double us)
{
	return fabs(us);
}

static void reach(const struct quantity_result *q, double *least, double *most)
{
	if (!q || !(shown(q->value) > 0) || !isfinite(q->value))
		return;
	*least = fmin(*least, shown(q->value));
	*most = fmax(*most, shown(q->value));
}

static void mark(const struct quantity_result *q, const struct axis *x, double y, const char *class_name, FILE *out)
{
	if (!q || !(shown(q->value) > 0) || !isfinite(q->value))
		return;
	for (uint32_t i = 0; i < q->restart_count; i++) {
		double v = shown(q->restart_values[i]);

		if (isfinite(v) && v >= x->low && v <= x->high)
			fprintf(out, "<circle class=\"ring %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\"/>\n", class_name,
				axis_at(x, v), y + 5);
	}
	fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", class_name,
		axis_at(x, shown(q->value)), y - 1);
}

static void row(const struct cell_result *c, unsigned hop, const struct axis *x, double y, FILE *out)
{
	const struct quantity_result *off = telemetry_quantity(c, "boot_off", hop);
	const struct quantity_result *known = telemetry_quantity(c, "link_u", hop);
	char label[160], short_label[128], value[2 * FORMAT_BYTES + 16], text[FORMAT_BYTES];
	size_t n = 0;

	snprintf(label, sizeof(label), "%.120s, hop %u", c->title, hop);
	svg_text(out, LABEL - 12, y + 4, "end", "name", chart_label(label, 52, short_label));
	mark(off, x, y, "c1", out);
	mark(known, x, y, "c0", out);
	value[0] = '\0';
	if (off)
		n += (size_t)snprintf(value, sizeof(value), "%s", format_quantity(off, text));
	if (known)
		snprintf(value + n, sizeof(value) - n, "%s± %s", n ? ", " : "", format_quantity(known, text));
	svg_text(out, RIGHT + 14, y + 4, "start", "value", value);
}

static bool chart(const struct result *r, FILE *out)
{
	double least = INFINITY, most = 0, bottom, y;
	unsigned rows = 0;
	struct axis x;

	for (uint32_t c = 0; c < r->cell_count; c++)
		for (unsigned hop = 2; hop <= telemetry_hops(&r->cells[c]); hop++) {
			reach(telemetry_quantity(&r->cells[c], "boot_off", hop), &least, &most);
			reach(telemetry_quantity(&r->cells[c], "link_u", hop), &least, &most);
			rows++;
		}
	if (rows == 0 || !(least <= most))
		return false;
	bottom = 24 + rows * (double)ROW;
	y = 14 + ROW / 2.0;
	x = axis_make_log(least / 2, most * 2, LABEL, RIGHT);
	svg_begin(out, WIDTH, bottom + 44, "links: off by process start, known by causality");
	svg_x_axis(out, &x, 14, bottom, "us");
	for (uint32_t c = 0; c < r->cell_count; c++)
		for (unsigned hop = 2; hop <= telemetry_hops(&r->cells[c]); hop++, y += ROW)
			row(&r->cells[c], hop, &x, y, out);
	svg_end(out);
	return true;
}

void html_telemetry(const struct result *r, FILE *out)
{
	fputs("<h2>Hop by hop</h2>\n<figure>\n", out);
	if (!chart(r, out))
		fputs("<p>Not drawn: no cell has two hops.</p>\n", out);
	fputs("<figcaption><b>What two switches' stamps are worth.</b> <span class=\"c1\">How far off</span> the "
	      "time between "
	      "a hop's ingress and the egress of the one before is when both are aligned by the start of their "
	      "processes (the "
	      "larger numbers; sign left out), and <span class=\"c0\">how well</span> it is known by causality (half "
	      "the width of "
	      "its interval). Rings are restarts. Logarithmic, us.</figcaption>\n</figure>\n",
	      out);
	table(r, out);
	fputs("<p class=\"caption\">Offsets are host - switch. <i>width</i> is of the causal interval, which holds the "
	      "truth whatever the "
	      "delays were; <i>by start</i> is the published alignment; errors are against the truth, where the switch "
	      "tells its "
	      "clock. us, but for the rate (ppm) and <i>covered</i> (1: the truth is inside, at every probe).</p>\n",
	      out);
}
