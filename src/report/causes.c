/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "report/format.h"
#include "report/html_private.h"
#include "report/terminal_private.h"

/* Where the time between p4_in and p4_out goes, drawn: a stacked bar a cell, and a sentence a pair. */

static const char *const names[CAUSE_PARTS] = { "wake-up", "CPU wait", "running", "rest" };

static double longest(const struct result *r)
{
	double most = 0;

	for (uint32_t i = 0; i < r->cause_count; i++)
		most = fmax(most, fmax(r->causes[i].cold.whole_us, r->causes[i].warm.whole_us));
	return most;
}

/* A cold cell that several warm ones stand against is drawn once, before the first of them. */
static bool cold_is_new(const struct result *r, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (r->causes[k].cold_cell == r->causes[i].cold_cell)
			return false;
	return true;
}

static void terminal_bar(const struct result *r, uint32_t cell, const struct cause_side *s, double most, FILE *out)
{
	enum { WIDTH = 40 };
	static const char letters[CAUSE_PARTS] = { 'w', 'c', '#', '.' };
	char bar[WIDTH + CAUSE_PARTS + 1];
	unsigned n = 0;
	double sum = 0;

	for (int k = 0; k < CAUSE_PARTS; k++) {
		sum += fmax(s->part_us[k], 0);
		while (n < WIDTH && n + 0.5 < sum / most * WIDTH)
			bar[n++] = letters[k];
	}
	bar[n] = '\0';
	fprintf(out, "  %-36s %8.1f us  %s\n", r->cells[cell].title, s->whole_us, bar);
}

void terminal_causes(const struct result *r, FILE *out, const struct terminal_style *style)
{
	double most = longest(r);

	if (r->cause_count == 0 || !(most > 0))
		return;
	terminal_heading(out, style, "p4_in to p4_out by cause (w wake-up, c CPU wait, # running, . rest)");
	for (uint32_t i = 0; i < r->cause_count; i++) {
		const struct cause_result *c = &r->causes[i];

		if (cold_is_new(r, i))
			terminal_bar(r, c->cold_cell, &c->cold, most, out);
		terminal_bar(r, c->warm_cell, &c->warm, most, out);
	}
	for (uint32_t i = 0; i < r->cause_count; i++) {
		fputs("  ", out);
		terminal_wrapped(out, style, 4, 2, r->causes[i].statement);
	}
}

/* Bars on one scale, in a table, as the chain's. */
static void html_bar(const struct result *r, uint32_t cell, const struct cause_side *s, double most, FILE *out)
{
	static const char *const colors[CAUSE_PARTS] = { "#5b8db8", "#b5a13a", "#c2553d", "#9aa7b5" };
	char text[FORMAT_BYTES];
	double x = 0;

	fputs("<tr>", out);
	html_cell(out, NULL, r->cells[cell].title);
	html_cell(out, "key", format_number(s->whole_us, 1, text));
	for (int k = 0; k < CAUSE_PARTS; k++)
		html_cell(out, "n", format_number(s->part_us[k], 1, text));
	fputs("<td><svg width=\"320\" height=\"14\" role=\"img\">", out);
	for (int k = 0; k < CAUSE_PARTS; k++) {
		double w = fmax(s->part_us[k], 0) / most * 320;

		fprintf(out, "<rect x=\"%.1f\" y=\"1\" width=\"%.1f\" height=\"12\" fill=\"%s\"/>", x, w, colors[k]);
		x += w;
	}
	fputs("</svg></td></tr>\n", out);
}

void html_causes(const struct result *r, FILE *out)
{
	double most = longest(r);

	if (r->cause_count == 0 || !(most > 0))
		return;
	fputs("<h2>Why cold is slow</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>cell</th><th "
	      "class=\"n\">p4_in to p4_out, µs</th>",
	      out);
	for (int k = 0; k < CAUSE_PARTS; k++)
		fprintf(out, "<th class=\"n\">%s</th>", names[k]);
	fputs("<th></th></tr></thead>\n<tbody>\n", out);
	for (uint32_t i = 0; i < r->cause_count; i++) {
		const struct cause_result *c = &r->causes[i];

		if (cold_is_new(r, i))
			html_bar(r, c->cold_cell, &c->cold, most, out);
		html_bar(r, c->warm_cell, &c->warm, most, out);
	}
	fputs("</tbody></table></div>\n<ul>\n", out);
	for (uint32_t i = 0; i < r->cause_count; i++) {
		fputs("<li>", out);
		html_text(out, r->causes[i].statement);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n<p class=\"caption\">What the scheduler did with the switch’s threads between the two stamps of "
	      "a "
	      "probe, walked back from thread to waker; means over the probes around the median, which add up. "
	      "Wake-up: "
	      "woken, and its CPU was idle. CPU wait: woken or taken off, and its CPU was busy, with another of the "
	      "switch’s threads too.</p>\n",
	      out);
}
