/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "report/format.h"
#include "report/html_private.h"

static void term(FILE *out, const char *name, const char *value, const char *unit)
{
	if (!value[0])
		return;
	fputs("<dt>", out);
	html_text(out, name);
	fputs("</dt><dd>", out);
	html_text(out, value);
	fputs(unit, out);
	fputs("</dd>\n", out);
}

static void span_term(FILE *out, const char *name, const struct span *s, int decimals, const char *unit)
{
	char text[FORMAT_BYTES], whole[2 * FORMAT_BYTES];

	if (!span_is(s))
		return;
	snprintf(whole, sizeof(whole), "%s%s (%.5g %%)", format_span(s, decimals, text), unit, s->level);
	term(out, name, whole, "");
}

static void quantiles_row(FILE *out, const char *name, const struct quantiles *q)
{
	char text[FORMAT_BYTES];

	fputs("<tr>", out);
	html_cell(out, NULL, name);
	for (unsigned i = 0; i < QUANTILES; i++)
		html_cell(out, "n", format_figure(&q->q[i], 1, text));
	fputs("</tr>\n", out);
}

static void quantiles(const struct cell_result *c, FILE *out)
{
	fputs("<div class=\"scroll\"><table><thead><tr><th>latency, ns</th>", out);
	for (unsigned i = 0; i < QUANTILES; i++)
		fprintf(out, "<th class=\"n\">%s</th>", quantile_name(i));
	fputs("</tr></thead>\n<tbody>\n", out);
	quantiles_row(out, "gross: rx_path − rx_bypass", &c->gross);
	quantiles_row(out, "one-way: rx_path − tx", &c->one_way);
	quantiles_row(out, "one-way, intended: rx_path − sched", &c->intended);
	fputs("</tbody></table></div>\n", out);
}

static void budget(const struct cell_result *c, FILE *out)
{
	char text[FORMAT_BYTES];

	if (!c->budget_count)
		return;
	fputs("<h3>Uncertainty budget</h3>\n<div class=\"scroll\"><table><thead><tr><th>term</th><th>type</th>"
	      "<th class=\"n\">u, ns</th><th class=\"n\">dof</th><th class=\"n\">share</th><th>from</th></tr></thead>\n"
	      "<tbody>\n",
	      out);
	for (uint32_t i = 0; i < c->budget_count; i++) {
		const struct budget_line *b = &c->budget[i];

		fputs("<tr>", out);
		html_cell(out, NULL, b->name);
		html_cell(out, NULL, b->type);
		html_cell(out, "n", format_number(b->u_ns, 3, text));
		html_cell(out, "n", isnan(b->dof) ? "∞" : format_number(b->dof, 0, text));
		html_cell(out, "n", format_percent(b->share, text));
		html_cell(out, "soft", b->how);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n<p class=\"caption\">Combined u = ", out);
	fputs(format_number(c->u_ns, 3, text), out);
	fprintf(out, " ns with %s degrees of freedom", isnan(c->dof) ? "∞" : format_number(c->dof, 1, text));
	fprintf(out, "; times %s", format_number(c->factor, 2, text));
	fprintf(out, " is U = %s ns.</p>\n", format_number(c->expanded_ns, net_decimals(c->expanded_ns), text));
}

static void conditions(const struct cell_result *c, FILE *out)
{
	char p50[FORMAT_BYTES], p99[FORMAT_BYTES], most[FORMAT_BYTES], whole[4 * FORMAT_BYTES];

	snprintf(whole, sizeof(whole), "%.6g of %.6g packets/s intended; lateness p50 %s, p99 %s, largest %s",
		 c->offered_pps, c->intended_pps, format_time((double)c->lateness_p50_ns, p50),
		 format_time((double)c->lateness_p99_ns, p99), format_time((double)c->lateness_max_ns, most));
	term(out, "offered load", whole, "");
	snprintf(whole, sizeof(whole), "near %" PRIu32 ", far %" PRIu32, c->blocks_near, c->blocks_far);
	if (c->blocks_near || c->blocks_far)
		term(out, "placement of the cores", whole, "");
	snprintf(whole, sizeof(whole), "%" PRIu32 " of the host, %s in all; %" PRIu32 " steps of CLOCK_REALTIME",
		 c->stalls, format_time((double)c->stalled_ns, p50), c->clock_steps);
	if (c->stalls || c->clock_steps)
		term(out, "stalls", whole, "");
}

static void modes(const struct cell_result *c, FILE *out)
{
	char text[FORMAT_BYTES], share[FORMAT_BYTES];

	if (c->mode_count < 2)
		return;
	fputs("<dt>modes by packet</dt><dd>", out);
	for (uint32_t i = 0; i < c->mode_count; i++)
		fprintf(out, "%s%s ns (%s)", i ? ", " : "", format_number(c->modes[i].net_ns, 1, text),
			format_percent(c->modes[i].share, share));
	fputs("</dd>\n", out);
}

static void one_cell(const struct cell_result *c, FILE *out)
{
	char text[FORMAT_BYTES], ledger[LEDGER_BYTES];
	int decimals = net_decimals(c->expanded_ns);

	fputs("<details><summary>", out);
	html_text(out, c->title);
	fputs("<span>", out);
	html_text(out, c->is_tare ? "" : format_net(c, "±", text));
	fputs(c->is_tare || isnan(c->net_ns) ? "</span></summary>\n" : " ns</span></summary>\n", out);
	quantiles(c, out);
	fputs("<dl>\n", out);
	term(out, "label", c->label, "");
	span_term(out, "net, 95 % interval", &c->net_interval, decimals, " ns");
	span_term(out, "net, over restarts", &c->net_order, decimals, " ns");
	span_term(out, "net, bootstrap", &c->net_bootstrap, decimals, " ns");
	span_term(out, "gross p50, over restarts", &c->gross_order, 1, " ns");
	span_term(out, "gross p50, bootstrap", &c->gross_bootstrap, 1, " ns");
	term(out, "spread of probes (IQR)", format_number(c->iqr_ns, 1, text), " ns");
	term(out, "between restarts (sd)", format_number(c->between_sd_ns, 2, text), " ns");
	term(out, "runs within restarts (sd)", format_number(c->within_run_sd_ns, 2, text), " ns");
	term(out, "intra-class correlation", format_number(c->icc, 2, text), "");
	span_term(out, "its interval", &c->icc_interval, 2, "");
	modes(c, out);
	term(out, "truth, net", format_number(c->truth_net_ns, decimals, text), " ns");
	term(out, "error, of medians", format_signed(c->error_ns, decimals, text), " ns");
	term(out, "error, probe by probe", format_signed(c->paired_error_ns, decimals, text), " ns");
	term(out, "ledger", format_ledger(&c->ledger, true, ledger), "");
	term(out, "beside it", format_ledger_aside(&c->ledger, ledger), "");
	if (c->ledger_excluded.sent)
		term(out, "ledger of excluded runs", format_ledger(&c->ledger_excluded, true, ledger), "");
	conditions(c, out);
	fputs("</dl>\n", out);
	budget(c, out);
	fputs("</details>\n", out);
}

void html_cells(const struct result *r, FILE *out)
{
	fputs("<h2>Cells</h2>\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++)
		one_cell(&r->cells[i], out);
}

void html_restarts(const struct result *r, FILE *out)
{
	char text[FORMAT_BYTES];

	if (r->restart_count == 0)
		return;
	fputs("<h2>Restarts in run order</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th class=\"n\">#</th>"
	      "<th class=\"n\">block</th><th>program</th><th class=\"n\">gross p50</th><th class=\"n\">tare</th>"
	      "<th class=\"n\">net</th><th class=\"n\">gross p99</th><th class=\"n\">within 20 ns</th><th "
	      "class=\"n\">truth"
	      "</th><th class=\"n\">runs</th><th>state</th></tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < r->restart_count; i++) {
		const struct restart_result *s = &r->restarts[i];
		const struct cell_result *c = &r->cells[s->cell];
		bool valid = strcmp(s->state, "valid") == 0;

		fprintf(out, "<tr%s><td class=\"n\">%" PRIu32 "</td><td class=\"n\">%" PRIu32 "</td>",
			!valid       ? " class=\"out\""
			: c->is_tare ? " class=\"tare\""
				     : "",
			s->order + 1, s->block + 1);
		fprintf(out, "<td><span class=\"swatch %s\"></span>", chart_class(r, s->cell));
		html_text(out, c->title);
		fputs("</td>", out);
		html_cell(out, "n", format_figure(&s->gross.q[QUANTILE_P50], 1, text));
		html_cell(out, "n", format_number(s->tare_ns, 1, text));
		html_cell(out, "n", format_number(s->net_ns, 1, text));
		html_cell(out, "n", format_figure(&s->gross.q[QUANTILE_P99], 1, text));
		html_cell(out, "n", format_percent(s->within_20ns, text));
		html_cell(out, "n", format_number(s->truth_ns, 1, text));
		fprintf(out, "<td class=\"n\">%" PRIu32 "/%" PRIu32 "</td><td>", s->runs_valid, s->run_count);
		html_text(out, s->state);
		fputs(s->reason[0] ? ": " : "", out);
		html_text(out, s->reason);
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

void html_blocks(const struct result *r, FILE *out)
{
	char text[FORMAT_BYTES];

	if (r->block_count == 0)
		return;
	fputs("<h2>Tare by block</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th "
	      "class=\"n\">block</th><th>tare</th>"
	      "<th class=\"n\">before</th><th class=\"n\">after</th><th class=\"n\">taken off</th><th "
	      "class=\"n\">drift</th>"
	      "</tr></thead>\n<tbody>\n",
	      out);
	for (uint32_t i = 0; i < r->block_count; i++) {
		const struct block_result *b = &r->blocks[i];

		fprintf(out, "<tr><td class=\"n\">%" PRIu32 "</td>", b->block + 1);
		html_cell(out, NULL, r->cells[b->cell].title);
		html_cell(out, "n", format_number(b->before_ns, 1, text));
		html_cell(out, "n", format_number(b->after_ns, 1, text));
		html_cell(out, "n", format_number(b->tare_ns, 1, text));
		html_cell(out, "n", format_signed(b->drift_ns, 1, text));
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n<p class=\"caption\">ns. The null program runs before and after the others of "
	      "each "
	      "block; their mean is taken off, their difference is the drift.</p>\n",
	      out);
}

static void pairs(const struct name_value *items, uint32_t count, FILE *out)
{
	fputs("<dl>\n", out);
	for (uint32_t i = 0; i < count; i++)
		term(out, items[i].name, items[i].value, "");
	fputs("</dl>\n", out);
}

void html_notes(const struct result *r, FILE *out)
{
	char text[FORMAT_BYTES];

	fputs("<h2>What was measured, and how</h2>\n<h3>Stamp points</h3>\n", out);
	pairs(r->points, r->point_count, out);
	fputs("<h3>Method</h3>\n", out);
	pairs(r->method, r->method_count, out);
	fputs("<h2>Provenance</h2>\n<dl>\n", out);
	snprintf(text, sizeof(text), "%" PRIu64, r->seed);
	term(out, "seed", text, "");
	for (uint32_t i = 0; i < r->fact_count; i++)
		term(out, r->facts[i].name, r->facts[i].value, "");
	fputs("</dl>\n", out);
	if (r->event_count) {
		fputs("<h3>Events</h3>\n<dl>\n", out);
		for (uint32_t i = 0; i < r->event_count; i++) {
			fprintf(out, "<dt>%s ", format_utc(r->events[i].utc_ns, text));
			html_text(out, r->events[i].kind);
			fputs("</dt><dd>", out);
			html_text(out, r->events[i].message);
			fputs("</dd>\n", out);
		}
		fputs("</dl>\n", out);
	}
	fputs("<h2>Plan</h2>\n<pre>", out);
	html_text(out, r->plan_text);
	fputs("</pre>\n", out);
}
