/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "report/format.h"
#include "report/html_private.h"
#include "report/svg.h"

/* Searches of a calibration: loss by rate, a chart a cell, and every trial in a table. */

enum { WIDTH = 860, HEIGHT = 260, LEFT = 60, RIGHT = 840, TOP = 26, BOTTOM = 214 };

static double worse(const struct trial_result *t)
{
	return fmax(t->probe_loss, t->carrier_loss);
}

static bool of_cell(const struct search_result *s, uint32_t cell)
{
	return s->cell == cell && s->trial_count > 0;
}

/* As far as twice the highest bound: what was tried beyond it says only that it is too much. */
static double rate_shown(const struct result *r, uint32_t cell)
{
	double bound = 0, tried = 0;

	for (uint32_t i = 0; i < r->search_count; i++) {
		const struct search_result *s = &r->searches[i];

		if (!of_cell(s, cell))
			continue;
		bound = fmax(bound, isnan(s->upper_mbps) ? (isnan(s->lower_mbps) ? 0 : s->lower_mbps) : s->upper_mbps);
		for (uint32_t k = 0; k < s->trial_count; k++)
			tried = fmax(tried, s->trials[k].rate_mbps);
	}
	return fmin(tried, 2 * bound);
}

static double loss_shown(const struct result *r, uint32_t cell, double rate)
{
	double most = 1;

	for (uint32_t i = 0; i < r->search_count; i++)
		for (uint32_t k = 0; of_cell(&r->searches[i], cell) && k < r->searches[i].trial_count; k++)
			if (r->searches[i].trials[k].rate_mbps <= rate)
				most = fmax(most, worse(&r->searches[i].trials[k]));
	return most;
}

static void bounds(const struct search_result *s, const struct axis *x, FILE *out)
{
	double low = isnan(s->lower_mbps) ? 0 : s->lower_mbps, high = isnan(s->upper_mbps) ? x->high : s->upper_mbps;

	fprintf(out,
		"<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#c2553d\" fill-opacity=\"0.12\"/>\n",
		axis_at(x, low), TOP, fmax(axis_at(x, fmin(high, x->high)) - axis_at(x, low), 1), BOTTOM - TOP);
}

static void points(const struct search_result *s, const struct axis *x, const struct axis *y, FILE *out)
{
	for (uint32_t k = 0; k < s->trial_count; k++) {
		const struct trial_result *t = &s->trials[k];
		double radius = t->length_s < s->goal_final_s ? 2 : 4;
		const char *color = t->high ? "#c2553d" : "#5b8db8";

		if (t->rate_mbps > x->high)
			continue;
		fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\" stroke=\"%s\" fill=\"%s\"><title>",
			axis_at(x, t->rate_mbps), axis_at(y, worse(t)), radius, color,
			t->sender_short ? "none" : color);
		fprintf(out,
			"%.4g Mbit/s for %.3g s: %.3g %% of the carrier lost, %.3g %% of the probes</title></circle>\n",
			t->rate_mbps, t->length_s, t->carrier_loss, t->probe_loss);
	}
}

static void chart(const struct result *r, uint32_t cell, FILE *out)
{
	double rate = rate_shown(r, cell);
	struct axis x, y;

	if (!(rate > 0))
		return;
	x = axis_make(0, rate, 8, LEFT, RIGHT);
	y = axis_make(0, loss_shown(r, cell, x.high), 5, BOTTOM, TOP);
	fputs("<figure>\n<figcaption>", out);
	html_text(out, r->cells[cell].title);
	fputs("</figcaption>\n", out);
	svg_begin(out, WIDTH, HEIGHT, "Loss of each trial by its rate");
	svg_x_axis(out, &x, TOP, BOTTOM, "carrier, Mbit/s");
	svg_y_axis(out, &y, LEFT, RIGHT, "lost, %");
	for (uint32_t i = 0; i < r->search_count; i++)
		if (of_cell(&r->searches[i], cell))
			bounds(&r->searches[i], &x, out);
	for (uint32_t i = 0; i < r->search_count; i++)
		if (of_cell(&r->searches[i], cell))
			points(&r->searches[i], &x, &y, out);
	svg_end(out);
	fputs("</figure>\n", out);
}

static void trial_row(const struct trial_result *t, uint32_t number, FILE *out)
{
	char text[FORMAT_BYTES];

	fprintf(out, "<tr><td class=\"n\">%" PRIu32 "</td>", number);
	html_cell(out, "key", format_value(t->rate_mbps, 4, text));
	html_cell(out, "n", format_number(t->length_s, 2, text));
	html_cell(out, "n", format_number(t->probe_loss, 2, text));
	html_cell(out, "n", format_number(t->carrier_loss, 2, text));
	html_cell(out, t->high ? "bad" : "soft",
		  t->high           ? t->sender_short ? "over; sender" : "over"
		  : t->sender_short ? "met; sender"
				    : "met");
	html_cell(out, "n", format_number(t->p50_us, 1, text));
	html_cell(out, "n", format_number(t->p99_us, 1, text));
	html_cell(out, "n", format_number(t->hole_ms, 1, text));
	fprintf(out, "<td class=\"n\">%" PRIu32 "</td></tr>\n", t->tries);
}

static void search_table(const struct result *r, const struct search_result *s, FILE *out)
{
	char lower[FORMAT_BYTES], upper[FORMAT_BYTES];

	fputs("<details><summary>", out);
	html_text(out, r->cells[s->cell].title);
	fprintf(out, ", restart %" PRIu32 ", run %" PRIu32 ": %s to %s Mbit/s; %" PRIu32 " trials, %.1f s",
		s->order + 1, s->run + 1, isnan(s->lower_mbps) ? "none" : format_value(s->lower_mbps, 4, lower),
		isnan(s->upper_mbps) ? "none" : format_value(s->upper_mbps, 4, upper), s->trial_count, s->total_s);
	if (s->irregular[0]) {
		fputs("; <b>", out);
		html_text(out, s->irregular);
		fputs("</b>", out);
	}
	fputs("</summary>\n<div class=\"scroll\"><table><thead><tr><th class=\"n\">trial</th><th "
	      "class=\"n\">Mbit/s</th>"
	      "<th class=\"n\">s</th><th class=\"n\">probes lost, %</th><th class=\"n\">carrier lost, "
	      "%</th><th>goal</th>"
	      "<th class=\"n\">p50, µs</th><th class=\"n\">p99</th><th class=\"n\">hole, ms</th><th "
	      "class=\"n\">tries</th>"
	      "</tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < s->trial_count; i++)
		trial_row(&s->trials[i], i + 1, out);
	fputs("</tbody></table></div>\n</details>\n", out);
}

void html_trials(const struct result *r, FILE *out)
{
	if (r->search_count == 0)
		return;
	fputs("<h2>Loss by rate</h2>\n", out);
	for (uint32_t c = 0; c < r->cell_count; c++)
		chart(r, c, out);
	fputs("<p class=\"caption\">Each point is a trial, the larger the final length, red over the goal, hollow "
	      "where what "
	      "sends could not offer the rate evenly; the worse of probes and carrier. Bands: from lower to upper "
	      "bound "
	      "of each search. Rates over twice the bound are left out.</p>\n<h2>Searches and their trials</h2>\n",
	      out);
	for (uint32_t i = 0; i < r->search_count; i++)
		search_table(r, &r->searches[i], out);
}
