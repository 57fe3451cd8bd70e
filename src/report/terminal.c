/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/format.h"
#include "report/terminal_private.h"

enum { WIDTH_LEAST = 40, WIDTH_UNKNOWN = 100, WIDTH_MOST = 160 };

/* The locale in the environment, by name: the program itself runs in "C", so that numbers never change their form. */
static bool environment_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (int i = 0; i < 3; i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

struct terminal_style terminal_style_of(FILE *out, bool color)
{
	struct terminal_style s = { .width = WIDTH_UNKNOWN, .utf8 = environment_utf8(), .color = color };
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long n = columns ? strtol(columns, NULL, 10) : 0;

	if (n > 0)
		s.width = n < WIDTH_MOST ? (unsigned)n : WIDTH_MOST;
	else if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		s.width = size.ws_col < WIDTH_MOST ? size.ws_col : WIDTH_MOST;
	if (s.width < WIDTH_LEAST)
		s.width = WIDTH_LEAST;
	return s;
}

static void set_color(FILE *out, const struct terminal_style *style, const char *code)
{
	if (style->color)
		fprintf(out, "\033[%sm", code);
}

void terminal_heading(FILE *out, const struct terminal_style *style, const char *text)
{
	fputc('\n', out);
	set_color(out, style, "1");
	fputs(text, out);
	set_color(out, style, "0");
	fputc('\n', out);
}

/* Words wrapped at the width, further lines indented. */
void terminal_wrapped(FILE *out, const struct terminal_style *style, unsigned indent, unsigned at, const char *text)
{
	char word[256];
	bool gap = false;

	while (*text) {
		size_t n = strcspn(text, " ");
		size_t kept = n < sizeof(word) ? n : sizeof(word) - 1;

		memcpy(word, text, kept);
		word[kept] = '\0';
		if (at > indent && at + 1 + terminal_columns(word) > style->width) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			gap = false;
		}
		if (gap) {
			fputc(' ', out);
			at++;
		}
		at += terminal_text(out, word);
		text += kept;
		gap = *text == ' ';
		text += gap;
	}
	fputc('\n', out);
}

void terminal_problems(const struct result *r, FILE *out, const struct terminal_style *style)
{
	static const char *const colors[] = { "1;31", "33", "2" };

	for (uint32_t i = 0; i < r->problem_count; i++) {
		const struct problem *p = &r->problems[i];
		unsigned at, grave = p->severity[0] == 'e' ? 0 : p->severity[0] == 'w' ? 1 : 2;

		set_color(out, style, colors[grave]);
		at = (unsigned)fprintf(out, "%s:", p->severity);
		set_color(out, style, "0");
		for (; at < 9; at++)
			fputc(' ', out);
		if (p->about[0]) {
			at += terminal_text(out, p->about);
			fputs(": ", out);
			at += 2;
		}
		terminal_wrapped(out, style, 9, at, p->text);
	}
}

/* --- the table --- */

static bool truth_known(const struct result *r)
{
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (!isnan(r->cells[i].paired_error_ns))
			return true;
	return false;
}

static void title(const struct result *r, FILE *out, const struct terminal_style *style)
{
	char when[FORMAT_BYTES];

	set_color(out, style, "1");
	terminal_text(out, r->name);
	set_color(out, style, "0");
	fprintf(out, ": %s", r->measure);
	fputs(r->target_kind[0] ? " on target " : "", out);
	terminal_text(out, r->target_kind);
	fprintf(out, ", %" PRIu32 " of %" PRIu32 " restarts%s%s\n", r->turns_done, r->turns,
		r->started_utc_ns ? ", begun " : "", format_utc(r->started_utc_ns, when));
}

static void fill_row(const struct result *r, const struct cell_result *c, const char *pm, struct table_row *row)
{
	char text[FORMAT_BYTES];
	unsigned n = 0;

	(void)r;
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", c->title);
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_net(c, pm, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_figure(&c->gross.q[QUANTILE_P50], 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(c->tare_ns, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_figure(&c->gross.q[QUANTILE_P99], 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_percent(c->within_20ns, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_signed(c->paired_error_ns, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_restarts(c, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_ledger_state(c, text));
	row->plot_at = c->net_ns;
	row->plot_low = isnan(c->expanded_ns) ? c->net_ns : c->net_ns - c->expanded_ns;
	row->plot_high = isnan(c->expanded_ns) ? c->net_ns : c->net_ns + c->expanded_ns;
}

static int table(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	const char *pm = style->utf8 ? "±" : "+-";
	const struct table_column columns[] = {
		{ .title = "program" },
		{ .title = style->utf8 ? "net ± U (k=2) ns" : "net +- U (k=2) ns", .right = true, .bold = true },
		{ .title = "gross", .right = true, .optional = 2 },
		{ .title = "tare", .right = true, .optional = 3 },
		{ .title = "p99", .right = true, .optional = 4 },
		{ .title = "within 20 ns", .right = true, .optional = 6 },
		{ .title = "error", .right = true, .optional = 1 },
		{ .title = "restarts", .right = true, .optional = 5 },
		{ .title = "ledger", .optional = 7 },
		{ .title = NULL },
	};
	struct table t = { .columns = columns, .plot = true };

	t.rows = calloc(r->cell_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " cells",
			       r->cell_count);
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (!r->cells[i].is_tare)
			fill_row(r, &r->cells[i], pm, &t.rows[t.count++]);
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (r->cells[i].is_tare)
			fill_row(r, &r->cells[i], pm, &t.rows[t.count++]);
	fputc('\n', out);
	terminal_table(out, &t, style);
	free(t.rows);
	return 0;
}

static void ledgers(const struct result *r, FILE *out, const struct terminal_style *style)
{
	unsigned widest = 0;
	bool any = result_has_probes(r);

	for (uint32_t i = 0; i < r->cell_count; i++) {
		unsigned w = terminal_columns(r->cells[i].title);

		any = any || r->cells[i].ledger.sent;
		if (r->cells[i].runs_valid && w > widest)
			widest = w;
	}
	if (!any) /* a measure without probes */
		return;
	terminal_heading(out, style, "ledger, probes");
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];
		char account[LEDGER_BYTES], aside[LEDGER_BYTES], line[2 * LEDGER_BYTES + 8];
		unsigned at = 2;

		if (!c->runs_valid)
			continue;
		fputs("  ", out);
		at += terminal_text(out, c->title);
		for (; at < widest + 4; at++)
			fputc(' ', out);
		format_ledger(&c->ledger, false, account);
		format_ledger_aside(&c->ledger, aside);
		snprintf(line, sizeof(line), "%s%s%s", account, aside[0] ? "; " : "", aside);
		terminal_wrapped(out, style, widest + 6, at, line);
	}
}

static bool is(const struct result *r, const char *measure)
{
	return strcmp(r->measure, measure) == 0;
}

/* The table of a differential campaign, and what its columns are. */
static int net_table(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	int rc = table(r, out, style, err);

	if (rc != 0)
		return rc;
	set_color(out, style, "2");
	fputs("  ns by the TSC; net = gross - tare, gross = rx_path - rx_bypass (median), p99 is of gross", out);
	fputs(truth_known(r) ? "\n  error: against what the target says it emitted, probe by probe\n" : "\n", out);
	set_color(out, style, "0");
	return 0;
}

int report_print_summary(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	int rc;

	title(r, out, style);
	rc = is(r, "transit")        ? terminal_transit(r, out, style, err)
	     : is(r, "differential") ? net_table(r, out, style, err)
				     : 0;
	if (rc == 0)
		rc = terminal_second(r, out, style, err);
	if (rc == 0)
		rc = terminal_bound(r, out, style, err);
	if (rc == 0)
		rc = terminal_quantities(r, out, style, err);
	if (rc == 0 && is(r, "telemetry"))
		rc = terminal_hops(r, out, style, err);
	if (rc == 0)
		rc = terminal_comparisons(r, false, out, style, err);
	if (rc == 0)
		rc = terminal_regimes(r, false, out, style, err);
	if (rc != 0)
		return rc;
	terminal_exponents(r, false, out, style);
	ledgers(r, out, style);
	terminal_stops(r, out);
	rc = terminal_hosts(r, out, style, err);
	if (rc != 0)
		return rc;
	if (r->problem_count)
		fputc('\n', out);
	terminal_problems(r, out, style);
	if (fflush(out) != 0 || ferror(out))
		return err_set(err, ERR_HOST, errno ? errno : EIO, "cannot write the report: %s", strerror(errno));
	return 0;
}

/* --- the details --- */

static void line(FILE *out, const char *name, const char *value, const char *unit)
{
	if (value[0])
		fprintf(out, "    %-22s %s%s%s\n", name, value, unit[0] ? " " : "", unit);
}

static void interval_line(FILE *out, const char *name, const struct span *s, int decimals)
{
	char text[FORMAT_BYTES];

	if (span_is(s))
		fprintf(out, "    %-22s %s ns (%.5g %%)\n", name, format_span(s, decimals, text), s->level);
}

static void modes(const struct cell_result *c, FILE *out)
{
	if (c->mode_count < 2)
		return;
	fprintf(out, "    %-22s", "modes by packet");
	for (uint32_t i = 0; i < c->mode_count; i++)
		fprintf(out, "%s %.1f ns (%.0f %%)", i ? "," : "", c->modes[i].net_ns, c->modes[i].share);
	fputc('\n', out);
}

static void quantile_line(FILE *out, const char *name, const struct quantiles *q)
{
	char text[FORMAT_BYTES];

	fprintf(out, "    %-22s", name);
	for (unsigned i = 0; i < QUANTILES; i++)
		fprintf(out, "%s%s %s", i ? "  " : " ", quantile_name(i), format_figure(&q->q[i], 1, text));
	fputs(" ns\n", out);
}

/* What the restarts alone say of the figure that the cell stands for. */
static void restart_lines(const struct result *r, const struct cell_result *c, FILE *out, int decimals)
{
	if (is(r, "transit")) {
		interval_line(out, "in switch, 95 %", &c->gross_interval, decimals);
		interval_line(out, "in switch, restarts", &c->gross_order, decimals);
		interval_line(out, "in switch, bootstrap", &c->gross_bootstrap, decimals);
		return;
	}
	interval_line(out, c->is_tare ? "gross, restarts" : "net, restarts",
		      c->is_tare ? &c->gross_order : &c->net_order, decimals);
	interval_line(out, c->is_tare ? "gross, bootstrap" : "net, bootstrap",
		      c->is_tare ? &c->gross_bootstrap : &c->net_bootstrap, decimals);
}

static void details(const struct result *r, const struct cell_result *c, FILE *out, const struct terminal_style *style)
{
	char text[FORMAT_BYTES];
	int decimals = net_decimals(c->expanded_ns);

	if (!c->restarts_valid)
		return;
	fputs("\n  ", out);
	set_color(out, style, "1");
	terminal_text(out, c->title);
	set_color(out, style, "0");
	fputc('\n', out);
	quantile_line(out, is(r, "transit") ? "in switch" : "gross", &c->gross);
	quantile_line(out, "one-way", &c->one_way);
	quantile_line(out, "one-way, intended", &c->intended);
	interval_line(out, "net, 95 % interval", &c->net_interval, decimals);
	restart_lines(r, c, out, decimals);
	line(out, "spread of probes (IQR)", format_number(c->iqr_ns, 1, text), "ns");
	line(out, "between restarts (sd)", format_number(c->between_sd_ns, 2, text), "ns");
	line(out, "within restarts (sd)", format_number(c->within_run_sd_ns, 2, text), "ns");
	line(out, "intra-class corr.", format_number(c->icc, 2, text), "");
	line(out, "truth, median", format_number(c->truth_net_ns, decimals, text), "ns");
	line(out, "error, of medians", format_signed(c->error_ns, decimals, text), "ns");
	line(out, "error, probe by probe", format_signed(c->paired_error_ns, decimals, text), "ns");
	modes(c, out);
	fprintf(out, "    %-22s %.6g of %.6g packets/s", "offered load", c->offered_pps, c->intended_pps);
	fprintf(out, "; lateness p50 %s,", format_time((double)c->lateness_p50_ns, text));
	fprintf(out, " p99 %s,", format_time((double)c->lateness_p99_ns, text));
	fprintf(out, " max %s\n", format_time((double)c->lateness_max_ns, text));
}

static void budget(const struct cell_result *c, FILE *out, const struct terminal_style *style)
{
	static const struct table_column columns[] = {
		{ .title = "term" },
		{ .title = "type" },
		{ .title = "u ns", .right = true },
		{ .title = "dof", .right = true, .optional = 2 },
		{ .title = "share", .right = true },
		{ .title = "from", .optional = 1 },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };
	char text[FORMAT_BYTES];

	if (!c->budget_count)
		return;
	t.rows = calloc(c->budget_count, sizeof(*t.rows));
	if (!t.rows)
		return;
	for (uint32_t i = 0; i < c->budget_count; i++) {
		const struct budget_line *b = &c->budget[i];
		struct table_row *row = &t.rows[t.count++];

		snprintf(row->cell[0], TABLE_CELL_BYTES, "%s", b->name);
		snprintf(row->cell[1], TABLE_CELL_BYTES, "%s", b->type);
		snprintf(row->cell[2], TABLE_CELL_BYTES, "%s", format_number(b->u_ns, 3, text));
		snprintf(row->cell[3], TABLE_CELL_BYTES, "%s", isnan(b->dof) ? "inf" : format_number(b->dof, 0, text));
		snprintf(row->cell[4], TABLE_CELL_BYTES, "%s", format_percent(b->share, text));
		snprintf(row->cell[5], TABLE_CELL_BYTES, "%s", b->how);
	}
	fputs("\n  ", out);
	set_color(out, style, "1");
	terminal_text(out, c->title);
	set_color(out, style, "0");
	fprintf(out, ": net %s ns", format_net(c, style->utf8 ? "±" : "+-", text));
	fprintf(out, ", u = %s ns", format_number(c->u_ns, 3, text));
	fprintf(out, ", dof %s", isnan(c->dof) ? "inf" : format_number(c->dof, 1, text));
	fprintf(out, ", factor %s\n", format_number(c->factor, 2, text));
	terminal_table(out, &t, style);
	free(t.rows);
}

int terminal_write(const struct result *r, FILE *out, const struct terminal_style *style, unsigned parts,
		   struct err *err)
{
	int rc = report_print_summary(r, out, style, err);

	if (rc != 0)
		return rc;
	if (parts & TERMINAL_CELLS) {
		if (result_has_probes(r))
			terminal_heading(out, style, "cells");
		for (uint32_t i = 0; result_has_probes(r) && i < r->cell_count; i++)
			details(r, &r->cells[i], out, style);
		rc = terminal_quantity_details(r, out, style, err);
		if (rc == 0)
			rc = terminal_trials(r, out, style, err);
		if (rc == 0)
			rc = terminal_regimes(r, true, out, style, err);
		if (rc == 0)
			rc = terminal_comparisons(r, true, out, style, err);
		if (rc != 0)
			return rc;
		terminal_exponents(r, true, out, style);
	}
	if (parts & TERMINAL_BUDGET) {
		terminal_heading(out, style, "uncertainty budget (GUM)");
		for (uint32_t i = 0; i < r->cell_count; i++)
			budget(&r->cells[i], out, style);
	}
	if (parts & TERMINAL_CELLS) {
		terminal_heading(out, style, "stamp points");
		for (uint32_t i = 0; i < r->point_count; i++) {
			fprintf(out, "  %-17s ", r->points[i].name);
			terminal_wrapped(out, style, 20, 20, r->points[i].value);
		}
	}
	if (fflush(out) != 0 || ferror(out))
		return err_set(err, ERR_HOST, errno ? errno : EIO, "cannot write the report: %s", strerror(errno));
	return 0;
}
