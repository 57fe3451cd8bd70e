/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/format.h"
#include "report/html_private.h"

/* Length of a UTF-8 character that XML may hold, or 0. */
static unsigned xml_character(const unsigned char *p)
{
	unsigned n = p[0] < 0x80                   ? 1
		     : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		     : (p[0] & 0xf0) == 0xe0       ? 3
		     : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
						   : 0;
	uint32_t c = n <= 1 ? p[0] : p[0] & (0xffu >> (n + 1));

	if (n == 1)
		return p[0] >= 0x20 && p[0] != 0x7f ? 1 : p[0] == '\t' || p[0] == '\n';
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if ((n == 2 && c < 0xa0) || (n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	/* Surrogates; non-characters; and what turns the direction of the text around it. */
	if ((c >= 0xd800 && c <= 0xdfff) || (c & 0xfffe) == 0xfffe || (c >= 0x202a && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069))
		return 0;
	return n;
}

void html_text(FILE *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		unsigned n = xml_character(p);

		if (n == 0)
			fputs("\xef\xbf\xbd", out);
		else if (*p == '<')
			fputs("&lt;", out);
		else if (*p == '>')
			fputs("&gt;", out);
		else if (*p == '&')
			fputs("&amp;", out);
		else if (*p == '"')
			fputs("&quot;", out);
		else if (*p == '\'')
			fputs("&#39;", out);
		else
			fwrite(p, 1, n, out);
		p += n ? n : 1;
	}
}

void html_cell(FILE *out, const char *class_name, const char *text)
{
	fprintf(out, class_name ? "<td class=\"%s\">" : "<td>", class_name);
	html_text(out, text);
	fputs("</td>", out);
}

static bool is_transit(const struct result *r)
{
	return strcmp(r->measure, "transit") == 0;
}

static void head(const struct result *r, FILE *out)
{
	char when[FORMAT_BYTES];

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	      "'unsafe-inline'\"/>\n"
	      "<title>",
	      out);
	html_text(out, r->name);
	fputs(" · Tare</title>\n<style>\n", out);
	html_style(out);
	fputs("</style>\n</head>\n<body>\n<main>\n<h1>", out);
	html_text(out, r->name);
	fputs("</h1>\n<p class=\"lead\">", out);
	fputs(is_transit(r) ? "In-switch latency, " : result_has_probes(r) ? "Net latency, " : "Measure ", out);
	html_text(out, r->measure);
	fputs(result_has_probes(r) ? " method" : "", out);
	if (r->target_kind[0]) {
		fputs(", on target ", out);
		html_text(out, r->target_kind);
	}
	fprintf(out, "; %" PRIu32 " of %" PRIu32 " restarts", r->turns_done, r->turns);
	if (r->started_utc_ns)
		fprintf(out, ", begun %s", format_utc(r->started_utc_ns, when));
	fputs(". Computed by tare ", out);
	html_text(out, r->tool_version);
	fputs(".</p>\n", out);
}

enum { WARNINGS_OPEN = 6 };

/* Errors and warnings stand at the top; notes, and warnings that are many, are folded away below them. */
static void problems(const struct result *r, FILE *out)
{
	uint32_t i = 0, warnings = 0;

	if (r->problem_count == 0)
		return;
	if (strcmp(r->problems[0].severity, "note") != 0)
		fputs("<ul class=\"problems\">\n", out);
	for (; i < r->problem_count && strcmp(r->problems[i].severity, "note") != 0; i++) {
		const struct problem *p = &r->problems[i];

		warnings += p->severity[0] == 'w';
		if (warnings == WARNINGS_OPEN + 1)
			fputs("</ul>\n<details><summary>more warnings</summary>\n<ul class=\"problems\">\n", out);
		fprintf(out, "<li class=\"%s\"><b>%s</b> ", p->severity[0] == 'e' ? "error" : "warning",
			p->severity[0] == 'e' ? "error" : "warning");
		html_text(out, p->about);
		fputs(p->about[0] ? ": " : "", out);
		html_text(out, p->text);
		fputs("</li>\n", out);
	}
	if (i > 0)
		fputs(warnings > WARNINGS_OPEN ? "</ul>\n</details>\n" : "</ul>\n", out);
	if (i == r->problem_count)
		return;
	fprintf(out, "<details%s><summary>%" PRIu32 " note%s</summary>\n<ul class=\"problems\">\n",
		i == 0 ? " open=\"open\"" : "", r->problem_count - i, r->problem_count - i == 1 ? "" : "s");
	for (; i < r->problem_count; i++) {
		fputs("<li>", out);
		html_text(out, r->problems[i].about);
		fputs(r->problems[i].about[0] ? ": " : "", out);
		html_text(out, r->problems[i].text);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n</details>\n", out);
}

static bool truth_known(const struct result *r)
{
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (!isnan(r->cells[i].truth_net_ns))
			return true;
	return false;
}

static void headline_row(const struct result *r, const struct cell_result *c, bool truth, FILE *out)
{
	char text[FORMAT_BYTES];
	int decimals = net_decimals(c->expanded_ns);

	fprintf(out, "<tr%s><td><span class=\"swatch %s\"></span>", c->is_tare ? " class=\"tare\"" : "",
		chart_class(r, c->index));
	html_text(out, c->title);
	fputs("</td>", out);
	html_cell(out, "key", format_net(c, "±", text));
	html_cell(out, "n", format_span(&c->net_interval, decimals, text));
	html_cell(out, "n", format_figure(&c->gross.q[QUANTILE_P50], 1, text));
	html_cell(out, "n", format_number(c->tare_ns, 1, text));
	html_cell(out, "n", format_figure(&c->gross.q[QUANTILE_P99], 1, text));
	html_cell(out, "n", format_figure(&c->gross.q[QUANTILE_P999], 1, text));
	html_cell(out, "n", format_percent(c->within_20ns, text));
	if (truth) {
		html_cell(out, "n", format_number(c->truth_net_ns, decimals, text));
		html_cell(out, "n", format_signed(c->paired_error_ns, decimals, text));
	}
	html_cell(out, c->restarts_failed || c->restarts_invalid ? "n bad" : "n", format_restarts(c, text));
	html_cell(out, c->runs_invalid ? "bad" : "soft", format_ledger_state(c, text));
	fputs("</tr>\n", out);
}

static void headline(const struct result *r, FILE *out)
{
	bool truth = truth_known(r);

	fputs("<h2>Net latency by program</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>program</th>"
	      "<th class=\"n\">net ± U (k=2), ns</th><th class=\"n\">95 % interval</th><th class=\"n\">gross "
	      "p50</th>"
	      "<th class=\"n\">tare</th><th class=\"n\">gross p99</th><th class=\"n\">p99.9</th>"
	      "<th class=\"n\">within 20 ns</th>",
	      out);
	if (truth)
		fputs("<th class=\"n\">truth</th><th class=\"n\">error</th>", out);
	fputs("<th class=\"n\">restarts</th><th>ledger</th></tr></thead>\n<tbody>\n", out);
	for (int tare = 0; tare < 2; tare++)
		for (uint32_t i = 0; i < r->cell_count; i++)
			if (r->cells[i].is_tare == (tare == 1))
				headline_row(r, &r->cells[i], truth, out);
	fputs("</tbody></table></div>\n<p class=\"caption\">All times in ns. Net = gross − tare; gross = rx_path − "
	      "rx_bypass, by the TSC. U is the expanded uncertainty of the budget below. The 95 % interval is that of "
	      "the median over "
	      "restarts, widened by the Type B terms; it need not be symmetric. Truth is the median of what the target "
	      "says it emitted, "
	      "the error is taken probe by probe.</p>\n",
	      out);
}

void html_figure(bool (*draw)(const struct result *, FILE *), const struct result *r, FILE *out, const char *name,
		 const char *caption)
{
	fputs("<figure>\n", out);
	if (!draw(r, out))
		fputs("<p>Not drawn: the result holds nothing to show here.</p>\n", out);
	fprintf(out, "<figcaption><b>%s.</b> %s</figcaption>\n</figure>\n", name, caption);
}

static void figures(const struct result *r, FILE *out)
{
	fputs("<h2>Figures</h2>\n", out);
	html_figure(
		chart_net, r, out, "Net by program",
		"Left, the net figure with its expanded uncertainty U (k=2). Right, the same enlarged: the band is ±U, "
		"each ring a restart’s own net, the diamond the truth where the target knows it.");
	html_figure(
		chart_distribution, r, out, "Distribution of gross and tare",
		"Share of the probes sent at or below a latency: median over restarts, the band from the lowest to the "
		"highest restart. Lost probes are infinite: a curve that stays below 100 % has lost some. The axis "
		"ends "
		"at the largest p99.");
	html_figure(
		chart_restarts, r, out, "Restarts in run order",
		"Each point is a restart’s gross median less its program’s; the line follows the tare. A slope common "
		"to "
		"all is drift of the host, which the tare of each block takes off. A cross is a restart in no figure.");
	html_figure(
		chart_packets, r, out, "Residual by packet",
		"Median of each packet over all runs, net of the same packet’s tare, less the net figure, in ns. Bands "
		"apart are modes that depend on the packet. Points beyond the axis stand at its edge.");
}

int html_write(const struct result *r, FILE *out, struct err *err)
{
	head(r, out);
	problems(r, out);
	html_findings(r, out);
	if (!result_has_probes(r)) {
		html_quantities(r, out);
		if (strcmp(r->measure, "telemetry") == 0)
			html_telemetry(r, out);
		html_comparisons(r, out);
		html_sweeps(r, out);
		html_each_quantity(r, out);
		html_value_restarts(r, out);
	} else if (is_transit(r)) {
		html_transit(r, out);
		html_quantities(r, out);
		html_each_quantity(r, out);
	} else {
		headline(r, out);
		figures(r, out);
		html_bound(r, out);
		html_second(r, out);
		html_cells(r, out);
		html_restarts(r, out);
		html_blocks(r, out);
		html_quantities(r, out);
		html_each_quantity(r, out);
	}
	html_course(r, out);
	html_regimes(r, out);
	html_trials(r, out);
	html_notes(r, out);
	fputs("<footer>Written by tare ", out);
	html_text(out, r->tool_version);
	fprintf(out,
		"; result schema %" PRIu32 ". This file needs nothing else and loads nothing.</footer>\n"
		"</main>\n</body>\n</html>\n",
		r->schema);
	if (fflush(out) != 0 || ferror(out))
		return err_set(err, ERR_HOST, errno ? errno : EIO, "cannot write the page: %s", strerror(errno));
	return 0;
}
