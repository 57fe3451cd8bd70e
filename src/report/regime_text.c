/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/format.h"
#include "report/html_private.h"
#include "report/terminal_private.h"

/* Where regimes change, for people: a sentence a series, and the steps from level to level. */

static const char *said(const struct regime_step_result *s)
{
	return s->p_holm < 0.05 ? s->apart ? "differ, apart" : "differ" : s->apart ? "apart" : "";
}

static int steps_table(const struct regime_result *g, FILE *out, const struct terminal_style *style, struct err *err)
{
	static const struct table_column columns[] = {
		{ .title = "from" },
		{ .title = "to" },
		{ .title = "ratio", .right = true, .bold = true },
		{ .title = "95 %", .right = true },
		{ .title = "p (Holm)", .right = true },
		{ .title = "" },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };
	char text[FORMAT_BYTES];

	t.rows = calloc(g->step_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " steps",
			       g->step_count);
	for (uint32_t i = 0; i < g->step_count; i++) {
		const struct regime_step_result *s = &g->steps[i];
		struct table_row *row = &t.rows[t.count++];

		snprintf(row->cell[0], TABLE_CELL_BYTES, "%s", s->from);
		snprintf(row->cell[1], TABLE_CELL_BYTES, "%s", s->to);
		snprintf(row->cell[2], TABLE_CELL_BYTES, "%s", format_number(s->ratio, 3, text));
		snprintf(row->cell[3], TABLE_CELL_BYTES, "%s", format_span(&s->interval, 3, text));
		snprintf(row->cell[4], TABLE_CELL_BYTES, "%s", format_p(s->p_holm, text));
		snprintf(row->cell[5], TABLE_CELL_BYTES, "%s", said(s));
		row->plot_at = row->plot_low = row->plot_high = NAN;
	}
	terminal_table(out, &t, style);
	free(t.rows);
	return 0;
}

int terminal_regimes(const struct result *r, bool steps, FILE *out, const struct terminal_style *style, struct err *err)
{
	int rc = 0;

	if (r->regime_count)
		terminal_heading(out, style, "where the regime changes");
	for (uint32_t i = 0; rc == 0 && i < r->regime_count; i++) {
		const struct regime_result *g = &r->regimes[i];
		char line[1024];

		snprintf(line, sizeof(line), "%s%s%s: %s", g->axis, g->series[0] ? ", " : "", g->series, g->statement);
		fputs("  ", out);
		terminal_wrapped(out, style, 4, 2, line);
		if (steps && g->step_count)
			rc = steps_table(g, out, style, err);
	}
	return rc;
}

void html_regimes(const struct result *r, FILE *out)
{
	char text[FORMAT_BYTES];

	if (r->regime_count == 0)
		return;
	fputs("<h2>Where the regime changes</h2>\n", out);
	for (uint32_t i = 0; i < r->regime_count; i++) {
		const struct regime_result *g = &r->regimes[i];

		fputs("<details><summary>", out);
		html_text(out, g->axis);
		fputs(g->series[0] ? ", " : "", out);
		html_text(out, g->series);
		fputs(": ", out);
		html_text(out, g->statement);
		fputs("</summary>\n<div class=\"scroll\"><table><thead><tr><th>from</th><th>to</th><th "
		      "class=\"n\">ratio of "
		      "medians</th><th class=\"n\">95 % interval</th><th class=\"n\">p "
		      "(Holm)</th><th></th></tr></thead>\n"
		      "<tbody>\n",
		      out);
		for (uint32_t k = 0; k < g->step_count; k++) {
			const struct regime_step_result *s = &g->steps[k];

			fputs("<tr>", out);
			html_cell(out, NULL, s->from);
			html_cell(out, NULL, s->to);
			html_cell(out, "key", format_number(s->ratio, 3, text));
			html_cell(out, "n", format_span(&s->interval, 3, text));
			html_cell(out, "n", format_p(s->p_holm, text));
			html_cell(out, "soft", said(s));
			fputs("</tr>\n", out);
		}
		fputs("</tbody></table></div>\n</details>\n", out);
	}
	fputs("<p class=\"caption\">One change by least squares of the logarithms, its place with what holds 95 %; "
	      "steps "
	      "between neighbours by Student’s t, adjusted over all steps (Holm). Apart: their 95 % intervals do not "
	      "meet.</p>\n",
	      out);
}
