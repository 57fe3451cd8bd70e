/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "report/format.h"
#include "report/html_private.h"

/* The page's part of the vendor's worst case. */

static void worst(const struct bound_result *b, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<td>", out);
	for (uint32_t i = 0; i < b->worst_count; i++)
		fprintf(out, "%s%.0f (%s)", i ? ", " : "", b->worst_packet[i],
			format_signed(b->worst_cycles[i], 1, text));
	if (b->worst_count && b->worst_count < b->unsure + b->over)
		fputs(", …", out);
	fputs("</td>", out);
}

static void row(const struct cell_result *c, FILE *out)
{
	const struct bound_result *b = c->bound;
	char text[FORMAT_BYTES];

	fputs("<tr>", out);
	html_cell(out, NULL, c->title);
	html_cell(out, "n", format_number(b->cycles, 0, text));
	html_cell(out, "n", format_number(b->clock_hz / 1e6, 1, text));
	html_cell(out, "n", format_count(b->inserted_bytes, text));
	html_cell(out, "n", format_number(b->bound_ns, 1, text));
	html_cell(out, "key", format_signed(b->least_cycles, 1, text));
	html_cell(out, "n", format_signed(b->median_cycles, 1, text));
	html_cell(out, "n", format_number(b->uncertainty_ns * b->clock_hz / 1e9, 1, text));
	html_cell(out, "n", format_count(b->under, text));
	html_cell(out, "n", format_count(b->unsure, text));
	html_cell(out, b->over ? "n bad" : "n", format_count(b->over, text));
	worst(b, out);
	fputs("</tr>\n", out);
}

void html_bound(const struct result *r, FILE *out)
{
	bool any = false;

	for (uint32_t i = 0; i < r->cell_count && !any; i++)
		any = r->cells[i].bound_count > 0;
	if (!any)
		return;
	fputs("<h2>The vendor's worst case</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>program</th>"
	      "<th class=\"n\">cycles</th><th class=\"n\">clock, MHz</th><th class=\"n\">inserted, B</th>"
	      "<th class=\"n\">bound, ns</th><th class=\"n\">least margin</th><th class=\"n\">median</th>"
	      "<th class=\"n\">U (k=2)</th><th class=\"n\">under</th><th class=\"n\">unsure</th>"
	      "<th class=\"n\">over</th><th>packets not under it</th></tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (r->cells[i].bound_count)
			row(&r->cells[i], out);
	fputs("</tbody></table></div>\n<p class=\"caption\">Margins and U are cycles of the vendor's clock: by how "
	      "many each "
	      "packet of the stream stays under the bound, by its median over all runs, net of the same packet's tare. "
	      "Inserted headers add a cycle for each bus width begun. Unsure: nearer to the bound than U, or U is not "
	      "known.</p>\n",
	      out);
}
