/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "report/format.h"
#include "report/html_private.h"

/* Why cells stopped, and what hosts make of them: for campaigns that have either. */

static void stop_row(const struct cell_result *c, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<tr>", out);
	html_cell(out, NULL, c->title);
	html_cell(out, c->stop[0] == 'm' ? "bad" : NULL,
		  strcmp(c->stop, "width") == 0 ? "narrow enough"
		  : c->stop[0]                  ? "most restarts"
						: "goes on");
	snprintf(text, sizeof(text), "%" PRIu32, c->stop[0] ? c->stop_restarts : c->restarts_valid);
	html_cell(out, "n", text);
	html_cell(out, "n", isfinite(c->stop_width) ? format_percent(c->stop_width, text) : "");
	fputs("</tr>\n", out);
}

static void stops(const struct result *r, FILE *out)
{
	if (isnan(r->stop_asked))
		return;
	fputs("<h2>Restarts until it is narrow enough</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>cell</th>"
	      "<th>why it stopped</th><th class=\"n\">restarts</th><th class=\"n\">width</th></tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (!r->cells[i].is_tare)
			stop_row(&r->cells[i], out);
	fprintf(out,
		"</tbody></table></div>\n<p class=\"caption\">Width of the exact 95 %% interval over restarts, from "
		"end to "
		"end, over the median; %.3g %% was asked for.</p>\n",
		r->stop_asked);
}

static void host_rows(const struct cell_result *c, FILE *out)
{
	double unit = c->regime[0] ? 1000 : 1;
	char text[FORMAT_BYTES];

	for (uint32_t h = 0; h < c->host_count; h++) {
		fputs("<tr>", out);
		html_cell(out, NULL, h ? "" : c->title);
		html_cell(out, NULL, c->hosts[h].host);
		snprintf(text, sizeof(text), "%" PRIu32, c->hosts[h].restarts);
		html_cell(out, "n", text);
		html_cell(out, "n", format_number(c->hosts[h].median_ns / unit, 2, text));
		html_cell(out, "n", h ? "" : format_number(c->between_hosts_sd_ns / unit, 2, text));
		html_cell(out, "n", h ? "" : format_percent(100 * c->host_icc, text));
		fputs("</tr>\n", out);
	}
}

static void hosts(const struct result *r, FILE *out)
{
	uint32_t any = 0;

	for (uint32_t i = 0; i < r->cell_count; i++)
		any += r->cells[i].host_count;
	if (!any)
		return;
	fprintf(out,
		"<h2>By host</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>cell</th><th>host</th>"
		"<th class=\"n\">restarts</th><th class=\"n\">median, %s</th><th class=\"n\">sd between hosts</th>"
		"<th class=\"n\">of all variance</th></tr></thead>\n<tbody>\n",
		strcmp(r->measure, "transit") == 0 ? "µs" : "ns");
	for (uint32_t i = 0; i < r->cell_count; i++)
		host_rows(&r->cells[i], out);
	fputs("</tbody></table></div>\n<p class=\"caption\">Medians of the restarts on each host; the variance is that "
	      "of "
	      "restart figures.</p>\n",
	      out);
}

void html_course(const struct result *r, FILE *out)
{
	stops(r, out);
	hosts(r, out);
}
