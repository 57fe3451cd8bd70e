/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "report/format.h"
#include "report/html_private.h"
#include "report/view.h"

/* The page's parts about quantities: headline, a figure each, comparisons, growth, restarts. */

static void unit_title(const struct name_value *q, FILE *out)
{
	html_text(out, q->name);
	if (q->value[0]) {
		fputs(", ", out);
		html_text(out, q->value);
	}
}

static void axis_heads(const struct result *r, FILE *out)
{
	for (uint32_t a = 0; a < r->axis_count; a++) {
		fputs("<th>", out);
		html_text(out, r->axes[a]);
		fputs("</th>", out);
	}
	if (r->axis_count == 0)
		fputs("<th>cell</th>", out);
}

static void axis_cells(const struct result *r, const struct cell_result *c, FILE *out)
{
	for (uint32_t a = 0; a < r->axis_count; a++)
		html_cell(out, NULL, a < c->value_count ? c->values[a] : "");
	if (r->axis_count == 0)
		html_cell(out, NULL, c->title);
}

/* A figure with its interval below, small. */
static void quantity_cell(const struct quantity_result *q, bool key, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs(key ? "<td class=\"key\">" : "<td class=\"n\">", out);
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

static const char *heading(const struct result *r)
{
	enum measure measure;

	if (result_has_probes(r))
		return "Beside the probes";
	return measure_find(r->measure, &measure) ? measure_view(measure)->heading : "Figures by cell";
}

static void headline(const struct result *r, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<h2>", out);
	html_text(out, heading(r));
	fputs("</h2>\n<div class=\"scroll\"><table>\n<thead><tr>", out);
	axis_heads(r, out);
	for (uint32_t i = 0; i < r->quantity_count; i++) {
		fputs("<th class=\"n\">", out);
		unit_title(&r->quantities[i], out);
		fputs("</th>", out);
	}
	fputs("<th class=\"n\">restarts</th></tr></thead>\n<tbody>\n", out);
	for (uint32_t c = 0; c < r->cell_count; c++) {
		const struct cell_result *cell = &r->cells[c];

		fputs("<tr>", out);
		axis_cells(r, cell, out);
		for (uint32_t i = 0; i < r->quantity_count; i++)
			quantity_cell(cell_quantity(cell, r->quantities[i].name, r->quantities[i].value), i == 0, out);
		html_cell(out, cell->restarts_failed || cell->restarts_invalid ? "n bad" : "n",
			  format_restarts(cell, text));
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n<p class=\"caption\">Median over restarts of the medians over their valid runs; "
	      "below it the 95 % interval over restarts, which takes 6 of them.</p>\n",
	      out);
}

/* --- a figure and a table each --- */

static void quantity_figure(const struct result *r, const struct name_value *q, FILE *out)
{
	fputs("<figure>\n", out);
	if (!chart_quantity(r, q, out))
		fputs("<p>Not drawn: no cell has a number here.</p>\n", out);
	fputs("<figcaption><b>", out);
	unit_title(q, out);
	fputs(".</b> The dot is the median over restarts, the bar its 95 % interval, each ring a "
	      "restart.</figcaption>\n"
	      "</figure>\n",
	      out);
}

static void quantity_table(const struct result *r, const struct name_value *of, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<div class=\"scroll\"><table><thead><tr><th>cell</th><th class=\"n\">median</th>"
	      "<th class=\"n\">95 % of restarts</th><th class=\"n\">order statistics</th><th class=\"n\">bootstrap</th>"
	      "<th class=\"n\">between restarts, sd</th><th class=\"n\">within, sd</th><th class=\"n\">restarts</th>"
	      "</tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t c = 0; c < r->cell_count; c++) {
		const struct quantity_result *q = cell_quantity(&r->cells[c], of->name, of->value);

		if (!q)
			continue;
		fputs("<tr>", out);
		html_cell(out, NULL, r->cells[c].title);
		html_cell(out, "n", format_quantity(q, text));
		html_cell(out, "n", format_quantity_interval(q, text));
		html_cell(out, "n", format_quantity_span(q, &q->order, text));
		html_cell(out, "n", format_quantity_span(q, &q->bootstrap, text));
		html_cell(out, "n", format_value(q->between_sd, 3, text));
		html_cell(out, "n", format_value(q->within_sd, 3, text));
		fprintf(out, "<td class=\"n\">%" PRIu32 "</td></tr>\n", q->restart_count);
	}
	fputs("</tbody></table></div>\n", out);
}

/* What the summary is about is drawn at once, the rest unfolds. */
static bool is_drawn(const struct result *r, const struct name_value *q)
{
	return !result_has_probes(r) && result_in_summary(r, q->name);
}

void html_each_quantity(const struct result *r, FILE *out)
{
	if (r->quantity_count == 0)
		return;
	fputs("<h2>Each quantity</h2>\n", out);
	for (uint32_t i = 0; i < r->quantity_count; i++) {
		const struct name_value *q = &r->quantities[i];

		fputs("<details><summary>", out);
		unit_title(q, out);
		fputs("</summary>\n", out);
		if (!is_drawn(r, q))
			quantity_figure(r, q, out);
		quantity_table(r, q, out);
		fputs("</details>\n", out);
	}
}

void html_quantities(const struct result *r, FILE *out)
{
	if (r->quantity_count == 0)
		return;
	headline(r, out);
	for (uint32_t i = 0; i < r->quantity_count; i++)
		if (is_drawn(r, &r->quantities[i]))
			quantity_figure(r, &r->quantities[i], out);
}

/* --- comparisons --- */

static void ratio_table(const struct result *r, uint32_t family, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<div class=\"scroll\"><table><thead><tr><th>cells</th><th class=\"n\">ratio</th>"
	      "<th class=\"n\">95 % interval</th><th class=\"n\">p "
	      "(Holm)</th><th>intervals</th></tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < r->ratio_count; i++) {
		const struct ratio_result *q = &r->ratios[i];

		if (q->family != family)
			continue;
		fputs("<tr>", out);
		html_cell(out, NULL, q->name);
		html_cell(out, "n", format_number(q->ratio, 3, text));
		html_cell(out, "n", format_span(&q->interval, 3, text));
		html_cell(out, "n", format_p(q->p_holm, text));
		html_cell(out, "soft", isnan(q->p) ? "" : q->apart ? "apart" : "overlap");
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

static void family(const struct result *r, uint32_t index, FILE *out)
{
	const struct ratio_family *f = &r->families[index];
	bool open = result_in_summary(r, f->quantity);

	fprintf(out, "<details%s><summary>", open ? " open=\"open\"" : "");
	html_text(out, f->statement);
	fputs("</summary>\n<figure>\n", out);
	if (!chart_ratios(r, index, out))
		fputs("<p>Not drawn: there is no ratio.</p>\n", out);
	fputs("<figcaption>Ratios with their 95 % intervals; coloured where they differ from 1 at 5 % after Holm’s "
	      "adjustment over this list. The axis is logarithmic.</figcaption>\n</figure>\n",
	      out);
	ratio_table(r, index, out);
	fputs("</details>\n", out);
}

void html_comparisons(const struct result *r, FILE *out)
{
	if (r->family_count == 0)
		return;
	fputs("<h2>Cells compared</h2>\n", out);
	for (uint32_t i = 0; i < r->family_count; i++)
		family(r, i, out);
	fputs("<p class=\"caption\">Intervals of ratios from the spread between restarts, on logarithms. p: "
	      "Student’s "
	      "t of the same model, adjusted so that the chance of any false positive in a list is below 5 %.</p>\n",
	      out);
}

/* --- growth --- */

static void exponent_table(const struct sweep_result *s, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<div class=\"scroll\"><table><thead><tr><th>cells</th><th class=\"n\">exponent</th>"
	      "<th class=\"n\">95 % interval</th><th class=\"n\">fit off by at "
	      "most</th><th></th></tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t k = 0; k < s->series_count; k++) {
		const struct sweep_series *series = &s->series[k];
		bool many = series->point_count > 2 && !isnan(series->misfit);

		fputs("<tr>", out);
		html_cell(out, NULL, series->name[0] ? series->name : "all");
		html_cell(out, "n", format_number(series->exponent, 2, text));
		html_cell(out, "n", format_span(&series->exponent_interval, 2, text));
		html_cell(out, "n", many ? format_percent(100 * series->misfit, text) : "");
		html_cell(out, "soft", series->why);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

static bool is_fitted(const struct sweep_result *s)
{
	for (uint32_t k = 0; k < s->series_count; k++)
		if (s->series[k].why[0])
			return true;
	return exponents_fitted(s) > 0;
}

static void one_sweep(const struct sweep_result *s, FILE *out)
{
	fputs("<figure>\n", out);
	if (!chart_sweep(s, out))
		fputs("<p>Not drawn: no cell has a number here.</p>\n", out);
	fputs("<figcaption><b>", out);
	html_text(out, strcmp(s->quantity, "p50") == 0 ? "In-switch median" : s->quantity);
	fputs(" along ", out);
	html_text(out, s->axis);
	fputs(".</b> Bars are 95 % intervals over restarts. An axis whose values spread far is logarithmic; 0 then "
	      "stands at "
	      "its left end.</figcaption>\n</figure>\n",
	      out);
	if (is_fitted(s))
		exponent_table(s, out);
}

void html_sweeps(const struct result *r, FILE *out)
{
	if (r->sweep_count == 0)
		return;
	fputs(result_has_probes(r) ? "<h2>Along the axes</h2>\n" : "<h2>Growth</h2>\n", out);
	for (uint32_t i = 0; i < r->sweep_count; i++)
		if (result_in_summary(r, r->sweeps[i].quantity))
			one_sweep(&r->sweeps[i], out);
	for (uint32_t i = 0; i < r->sweep_count; i++) {
		const struct sweep_result *s = &r->sweeps[i];

		if (result_in_summary(r, s->quantity))
			continue;
		fputs("<details><summary>", out);
		html_text(out, s->quantity);
		fputs(" along ", out);
		html_text(out, s->axis);
		fputs("</summary>\n", out);
		one_sweep(s, out);
		fputs("</details>\n", out);
	}
}

/* --- what it comes to, before anything else --- */

static void finding(const char *text, bool *any, FILE *out)
{
	fputs(*any ? "<li>" : "<h2>Findings</h2>\n<ul>\n<li>", out);
	*any = true;
	html_text(out, text);
	fputs("</li>\n", out);
}

static void growth_findings(const struct sweep_result *s, bool *any, FILE *out)
{
	char text[SENTENCE_BYTES];

	if (exponents_fitted(s) > SERIES_EACH) {
		finding(format_exponents(s, text), any, out);
		return;
	}
	for (uint32_t k = 0; k < s->series_count; k++)
		if (!isnan(s->series[k].exponent) && s->series[k].point_count > 2)
			finding(format_exponent(s, &s->series[k], text), any, out);
}

void html_findings(const struct result *r, FILE *out)
{
	bool any = false;

	for (uint32_t i = 0; i < r->cause_count; i++)
		finding(r->causes[i].statement, &any, out);
	for (uint32_t i = 0; i < r->family_count; i++)
		if (result_in_summary(r, r->families[i].quantity))
			finding(r->families[i].statement, &any, out);
	for (uint32_t i = 0; !result_has_probes(r) && i < r->sweep_count; i++)
		if (result_in_summary(r, r->sweeps[i].quantity))
			growth_findings(&r->sweeps[i], &any, out);
	if (any)
		fputs("</ul>\n", out);
}

/* --- restarts of a measure without probes --- */

void html_value_restarts(const struct result *r, FILE *out)
{
	fputs("<h2>Restarts in run order</h2>\n<details><summary>all, with their state</summary>\n"
	      "<div class=\"scroll\"><table><thead><tr><th class=\"n\">#</th>"
	      "<th class=\"n\">block</th><th>cell</th><th class=\"n\">runs</th><th>state</th></tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < r->restart_count; i++) {
		const struct restart_result *s = &r->restarts[i];
		bool valid = strcmp(s->state, "valid") == 0;

		fprintf(out, "<tr><td class=\"n\">%" PRIu32 "</td><td class=\"n\">%" PRIu32 "</td>", s->order + 1,
			s->block + 1);
		html_cell(out, NULL, r->cells[s->cell].title);
		fprintf(out, "<td class=\"n\">%" PRIu32 "/%" PRIu32 "</td><td class=\"%s\">", s->runs_valid,
			s->run_count, valid ? "soft" : "bad");
		html_text(out, s->state);
		fputs(valid ? "" : ": ", out);
		html_text(out, valid ? "" : s->reason);
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table></div>\n</details>\n", out);
}
