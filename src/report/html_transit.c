/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "report/format.h"
#include "report/html_private.h"

/* The page's parts of a transit campaign: headline, chain as stacked bars, ratios, restarts. */

static char *span_us(const struct span *s, char *buf)
{
	const struct span us = { s->low / 1000, s->high / 1000, s->level };

	return format_span(&us, 1, buf);
}

static void headline(const struct result *r, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<h2>In-switch latency by cell</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>cell</th>"
	      "<th>regime</th><th class=\"n\">p50, µs</th><th class=\"n\">95 % interval</th>"
	      "<th class=\"n\">bootstrap</th><th class=\"n\">p99</th>"
	      "<th class=\"n\">carrier, Mbit/s</th><th class=\"n\">alignment, µs</th>"
	      "<th class=\"n\">restarts</th><th>ledger</th></tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		fputs("<tr>", out);
		html_cell(out, NULL, c->title);
		html_cell(out, NULL, c->regime);
		html_cell(out, "key", format_figure_us(&c->gross.q[QUANTILE_P50], text));
		html_cell(out, "n", span_us(&c->gross_interval, text));
		html_cell(out, "n", span_us(&c->gross_bootstrap, text));
		html_cell(out, "n", format_figure_us(&c->gross.q[QUANTILE_P99], text));
		html_cell(out, "n", format_carrier(c, text));
		html_cell(out, "n", format_number(c->align_width_ns / 1000, 1, text));
		html_cell(out, c->restarts_failed || c->restarts_invalid ? "n bad" : "n", format_restarts(c, text));
		html_cell(out, c->runs_invalid ? "bad" : "soft", format_ledger_state(c, text));
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n<p class=\"caption\">p4_out − p4_in by the switch’s own clock, over probes "
	      "sent. Intervals are of the median over restarts. Carrier: received/sent. Alignment: how far the offset "
	      "between the switch’s "
	      "clock and the host’s is known.</p>\n",
	      out);
}

/* Bars on one scale, in a table: no script, no drawing that a reader could not check against the numbers. */
static void chain(const struct result *r, FILE *out)
{
	static const char *const colors[CHAIN_LINKS] = { "#9aa7b5", "#5b8db8", "#c2553d", "#8db85b", "#b5a79a" };
	double most = 0;

	for (uint32_t i = 0; i < r->cell_count; i++) {
		double sum = 0;

		for (uint32_t k = 0; k < r->cells[i].chain_count; k++)
			sum += r->cells[i].chain[k].step_ns;
		most = fmax(most, sum);
	}
	if (!(most > 0))
		return;
	fputs("<h2>The chain</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>cell</th><th class=\"n\">tx to sw_in, "
	      "µs</th><th class=\"n\">to p4_in</th><th class=\"n\">to p4_out</th><th class=\"n\">to sw_out</th>"
	      "<th class=\"n\">to rx</th><th></th></tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];
		char text[FORMAT_BYTES];
		double x = 0;

		if (c->chain_count < CHAIN_LINKS)
			continue;
		fputs("<tr>", out);
		html_cell(out, NULL, c->title);
		for (uint32_t k = 0; k < CHAIN_LINKS; k++)
			html_cell(out, "n", format_number(c->chain[k].step_ns / 1000, 1, text));
		fputs("<td><svg width=\"320\" height=\"14\" role=\"img\">", out);
		for (uint32_t k = 0; k < CHAIN_LINKS; k++) {
			double w = fmax(c->chain[k].step_ns, 0) / most * 320;

			fprintf(out, "<rect x=\"%.1f\" y=\"1\" width=\"%.1f\" height=\"12\" fill=\"%s\"/>", x, w,
				colors[k]);
			x += w;
		}
		fputs("</svg></td></tr>\n", out);
	}
	fputs("</tbody></table></div>\n<p class=\"caption\">Differences of medians since tx, so that they add up to "
	      "the "
	      "median of rx − tx; over probes with every stamp. The two links between the kernel’s clock and the "
	      "switch’s carry half the alignment’s width.</p>\n",
	      out);
}

static void restarts(const struct result *r, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<h2>Restarts in run order</h2>\n<div class=\"scroll\"><table><thead><tr><th class=\"n\">#</th>"
	      "<th class=\"n\">block</th><th>cell</th><th class=\"n\">p50, µs</th><th class=\"n\">p99</th>"
	      "<th class=\"n\">runs</th><th>state</th></tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < r->restart_count; i++) {
		const struct restart_result *s = &r->restarts[i];
		bool valid = strcmp(s->state, "valid") == 0;

		fprintf(out, "<tr><td class=\"n\">%" PRIu32 "</td><td class=\"n\">%" PRIu32 "</td>", s->order + 1,
			s->block + 1);
		html_cell(out, NULL, r->cells[s->cell].title);
		html_cell(out, "n", format_figure_us(&s->gross.q[QUANTILE_P50], text));
		html_cell(out, "n", format_figure_us(&s->gross.q[QUANTILE_P99], text));
		fprintf(out, "<td class=\"n\">%" PRIu32 "/%" PRIu32 "</td><td class=\"%s\">", s->runs_valid,
			s->run_count, valid ? "soft" : "bad");
		html_text(out, s->state);
		fputs(valid ? "" : ": ", out);
		html_text(out, valid ? "" : s->reason);
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

void html_transit(const struct result *r, FILE *out)
{
	headline(r, out);
	fputs("<h2>Figures</h2>\n", out);
	html_figure(
		chart_distribution, r, out, "Distribution of in-switch latency",
		"Share of the probes sent at or below a latency: median over restarts, the band from the lowest to the "
		"highest restart. Lost probes are infinite: a curve that stays below 100 % has lost some. The axis "
		"ends "
		"at the largest p99, and is logarithmic where cells lie far apart.");
	html_figure(chart_restarts, r, out, "Restarts in run order",
		    "Each point is a restart’s median less its cell’s. A slope common to all is drift of the host. A "
		    "cross is a "
		    "restart in no figure.");
	chain(r, out);
	html_causes(r, out);
	html_comparisons(r, out);
	html_sweeps(r, out);
	restarts(r, out);
}
