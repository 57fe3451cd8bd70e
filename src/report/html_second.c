/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "report/format.h"
#include "report/html_private.h"

/* The page's part of the second clock: net by both, agreement packet by packet, and quantile by quantile. */

static const struct second_result *second_of(const struct cell_result *c)
{
	return c->second_count ? c->second : NULL;
}

static void rows(const struct result *r, FILE *out)
{
	char text[FORMAT_BYTES];

	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];
		const struct second_result *s = second_of(c);
		const struct span limits = { s ? s->low_ns : NAN, s ? s->high_ns : NAN, 95 };

		if (!s)
			continue;
		fputs("<tr>", out);
		html_cell(out, NULL, c->title);
		html_cell(out, "n", format_number(c->is_tare ? NAN : s->first_net_ns, 1, text));
		html_cell(out, "key", format_number(s->net_ns, 1, text));
		html_cell(out, "n", format_span(&s->net_interval, 1, text));
		html_cell(out, "n", format_signed(s->bias_ns, 1, text));
		html_cell(out, "n", format_signed(s->median_ns, 1, text));
		html_cell(out, "n", format_span(&limits, 1, text));
		html_cell(out, "n", format_number(s->sd_ns, 1, text));
		snprintf(text, sizeof(text), "%" PRIu32 "/%" PRIu32, s->runs_apart, s->runs);
		html_cell(out, s->runs_apart ? "n bad" : "n", text);
		snprintf(text, sizeof(text), "%" PRIu32 "/%" PRIu32, s->runs_rejected, s->runs);
		html_cell(out, "n", text);
		html_cell(out, "n", format_count(s->compared, text));
		fputs("</tr>\n", out);
	}
}

/* The shift function of a cell: where the band leaves out zero the clocks differ there. */
static void shift(const struct cell_result *c, const struct second_result *s, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<details><summary>", out);
	html_text(out, c->title);
	fputs(": quantile by quantile</summary>\n<div class=\"scroll\"><table>\n<thead><tr><th class=\"n\">quantile, "
	      "%</th>"
	      "<th class=\"n\">first, ns</th><th class=\"n\">second − first</th><th "
	      "class=\"n\">band</th></tr></thead>\n"
	      "<tbody>\n",
	      out);
	for (uint32_t i = 0; i < s->shift_count; i++) {
		double low = s->shift_low_ns[i], high = s->shift_high_ns[i];
		const struct span band = { low, high, 95 };

		fputs("<tr>", out);
		html_cell(out, "n", format_number(s->shift_p[i], 0, text));
		html_cell(out, "n", format_number(s->shift_first_ns[i], 1, text));
		html_cell(out, low > 0 || high < 0 ? "n bad" : "n", format_signed(s->shift_ns[i], 1, text));
		html_cell(out, "n", isnan(low) || isnan(high) ? "open" : format_span(&band, 1, text));
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div></details>\n", out);
}

void html_second(const struct result *r, FILE *out)
{
	const struct second_result *any = NULL;

	for (uint32_t i = 0; i < r->cell_count && !any; i++)
		any = second_of(&r->cells[i]);
	if (!any)
		return;
	fputs("<h2>The second clock</h2>\n<p>Stamped by ", out);
	html_text(out, any->clock);
	fputs(" (", out);
	html_text(out, any->source);
	fputs("), which had no part in the measurement.</p>\n<div class=\"scroll\"><table>\n<thead><tr><th>program</th>"
	      "<th class=\"n\">net, first clock</th><th class=\"n\">net, second</th><th class=\"n\">95 %</th>"
	      "<th class=\"n\">bias</th><th class=\"n\">median</th><th class=\"n\">95 % of packets</th>"
	      "<th class=\"n\">sd</th><th class=\"n\">runs apart</th><th class=\"n\">rejected</th>"
	      "<th class=\"n\">packets</th></tr></thead>\n<tbody>\n",
	      out);
	rows(r, out);
	fputs("</tbody></table></div>\n<p class=\"caption\">ns. Net of the same packets by each clock; bias, median, "
	      "95 % of packets "
	      "and sd are of second less first, packet by packet, with what the tare has of it taken off (Bland and "
	      "Altman). "
	      "Runs apart: their quantiles differ by more than chance allows (Kolmogorov and Smirnov, 95 %); rejected: "
	      "by "
	      "Anderson and Darling, 5 %.</p>\n",
	      out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct second_result *s = second_of(&r->cells[i]);

		if (s && s->shift_count)
			shift(&r->cells[i], s, out);
	}
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct second_result *s = second_of(&r->cells[i]);

		for (uint32_t k = 0; s && k < s->finding_count; k++) {
			fputs("<p>", out);
			html_text(out, r->cells[i].title);
			fputs(": ", out);
			html_text(out, s->findings[k]);
			fputs("</p>\n", out);
		}
	}
}
