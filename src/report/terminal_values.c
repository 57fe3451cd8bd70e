/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/terminal_private.h"

/*
 * Quantities. Most campaigns have several and many cells: the summary has a row a
 * cell, the first quantity with its interval and of the others as many as the
 * width holds; a table a quantity is a detail.
 */
enum { AXES_MOST = 6, OTHERS_MOST = TABLE_COLUMNS_MOST - AXES_MOST - 4 };

/* First columns: the axes, one each, where they are few; else one with the cell's title. Returns how many. */
static unsigned cell_columns(const struct result *r, struct table_column *columns)
{
	unsigned n = 0;

	if (r->axis_count == 0 || r->axis_count > AXES_MOST) {
		columns[n++] = (struct table_column){ .title = "cell" };
		return n;
	}
	for (; n < r->axis_count; n++)
		columns[n] = (struct table_column){ .title = r->axes[n] };
	return n;
}

static unsigned cell_names(const struct result *r, const struct cell_result *c, struct table_row *row)
{
	unsigned n = 0;

	if (r->axis_count == 0 || r->axis_count > AXES_MOST) {
		snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", c->title);
		return n;
	}
	for (; n < r->axis_count; n++)
		snprintf(row->cell[n], TABLE_CELL_BYTES, "%s", n < c->value_count ? c->values[n] : "");
	return n;
}

static int no_memory(const struct result *r, struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " cells", r->cell_count);
}

static void quantity_title(const struct name_value *q, char *ret)
{
	snprintf(ret, TABLE_CELL_BYTES, "%s%s%s", q->name, q->value[0] ? " " : "", q->value);
}

/* --- the summary --- */

static void summary_row(const struct result *r, const struct cell_result *c, uint32_t others, struct table_row *row)
{
	const struct quantity_result *first = cell_quantity(c, r->quantities[0].name, r->quantities[0].value);
	char text[FORMAT_BYTES];
	unsigned n = cell_names(r, c, row);

	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", first ? format_quantity(first, text) : "");
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", first ? format_quantity_interval(first, text) : "");
	for (uint32_t i = 1; i <= others; i++) {
		const struct quantity_result *q = cell_quantity(c, r->quantities[i].name, r->quantities[i].value);

		snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", q ? format_quantity(q, text) : "");
	}
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_restarts(c, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_invalid_runs(c, text));
	row->plot_at = row->plot_low = row->plot_high = NAN;
}

int terminal_quantities(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	uint32_t others = r->quantity_count > OTHERS_MOST ? OTHERS_MOST : r->quantity_count - 1;
	char titles[OTHERS_MOST + 1][TABLE_CELL_BYTES], note[160];
	struct table_column columns[TABLE_COLUMNS_MOST + 1] = { { 0 } };
	struct table t = { .columns = columns };
	unsigned n = cell_columns(r, columns);

	if (r->quantity_count == 0)
		return 0;
	for (uint32_t i = 0; i <= others; i++)
		quantity_title(&r->quantities[i], titles[i]);
	columns[n++] = (struct table_column){ .title = titles[0], .right = true, .bold = true };
	columns[n++] = (struct table_column){ .title = "95 % of restarts", .right = true, .optional = 1 };
	for (uint32_t i = 1; i <= others; i++)
		columns[n++] = (struct table_column){ .title = titles[i], .right = true, .optional = i + 3 };
	columns[n++] = (struct table_column){ .title = "restarts", .right = true, .optional = 3 };
	columns[n++] = (struct table_column){ .title = "runs", .optional = 2 };
	t.rows = calloc(r->cell_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return no_memory(r, err);
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (!result_has_probes(r) || r->cells[i].quantity_count)
			summary_row(r, &r->cells[i], others, &t.rows[t.count++]);
	fputc('\n', out);
	terminal_table(out, &t, style);
	free(t.rows);
	snprintf(note, sizeof(note), "medians over restarts of the medians over their runs%s%" PRIu32 "%s",
		 r->quantity_count > 1 ? "; all " : " (", r->quantity_count,
		 r->quantity_count > 1 ? " quantities with their intervals: --verbose" : " quantity)");
	fputs("  ", out);
	terminal_wrapped(out, style, 2, 2, note);
	return 0;
}

/* --- a table a quantity --- */

static void detail_row(const struct result *r, const struct cell_result *c, const struct quantity_result *q,
		       struct table_row *row)
{
	char text[FORMAT_BYTES];
	unsigned n = cell_names(r, c, row);

	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_quantity(q, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_quantity_interval(q, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_quantity_span(q, &q->bootstrap, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_value(q->between_sd, 3, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_value(q->within_sd, 3, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%" PRIu32, q->restart_count);
	row->plot_at = q->value;
	row->plot_low = span_is(&q->interval) ? q->interval.low : q->value;
	row->plot_high = span_is(&q->interval) ? q->interval.high : q->value;
}

static int quantity_table(const struct result *r, const struct name_value *of, FILE *out,
			  const struct terminal_style *style, struct err *err)
{
	static const struct table_column numbers[] = {
		{ .title = "median", .right = true, .bold = true },
		{ .title = "95 % of restarts", .right = true },
		{ .title = "bootstrap", .right = true, .optional = 4 },
		{ .title = "between sd", .right = true, .optional = 2 },
		{ .title = "within sd", .right = true, .optional = 3 },
		{ .title = "restarts", .right = true, .optional = 1 },
		{ .title = NULL },
	};
	struct table_column columns[TABLE_COLUMNS_MOST + 1] = { { 0 } };
	struct table t = { .columns = columns, .plot = true };
	char name[TABLE_CELL_BYTES];
	unsigned n = cell_columns(r, columns);

	for (const struct table_column *c = numbers; c->title; c++)
		columns[n++] = *c;
	quantity_title(of, name);
	t.rows = calloc(r->cell_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return no_memory(r, err);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct quantity_result *q = cell_quantity(&r->cells[i], of->name, of->value);

		if (q)
			detail_row(r, &r->cells[i], q, &t.rows[t.count++]);
	}
	terminal_heading(out, style, name);
	terminal_table(out, &t, style);
	free(t.rows);
	return 0;
}

int terminal_quantity_details(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < r->quantity_count; i++)
		rc = quantity_table(r, &r->quantities[i], out, style, err);
	return rc;
}

/* --- comparisons --- */

static void ratio_row(const struct ratio_result *q, struct table_row *row)
{
	char text[FORMAT_BYTES];
	unsigned n = 0;

	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", q->name);
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(q->ratio, 3, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_span(&q->interval, 3, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_p(q->p_holm, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", isnan(q->p) ? "" : q->apart ? "apart" : "");
	row->plot_at = q->ratio;
	row->plot_low = span_is(&q->interval) ? q->interval.low : q->ratio;
	row->plot_high = span_is(&q->interval) ? q->interval.high : q->ratio;
}

int terminal_ratio_table(const struct result *r, uint32_t family, FILE *out, const struct terminal_style *style,
			 struct err *err)
{
	const struct ratio_family *f = &r->families[family];
	char title[TABLE_CELL_BYTES];
	const struct table_column columns[] = {
		{ .title = title },
		{ .title = "ratio", .right = true, .bold = true },
		{ .title = "95 % interval", .right = true },
		{ .title = "p (Holm)", .right = true, .optional = 1 },
		{ .title = "intervals", .optional = 2 },
		{ .title = NULL },
	};
	struct table t = { .columns = columns, .plot = true };

	snprintf(title, sizeof(title), "%s: %s / %s", f->quantity, f->over, f->base);
	t.rows = calloc(r->ratio_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return no_memory(r, err);
	for (uint32_t i = 0; i < r->ratio_count; i++)
		if (r->ratios[i].family == family)
			ratio_row(&r->ratios[i], &t.rows[t.count++]);
	fputc('\n', out);
	terminal_table(out, &t, style);
	free(t.rows);
	return 0;
}

int terminal_comparisons(const struct result *r, bool all, FILE *out, const struct terminal_style *style,
			 struct err *err)
{
	bool any = false;
	int rc = 0;

	for (uint32_t i = 0; i < r->family_count; i++) {
		if (!all && !result_in_summary(r, r->families[i].quantity))
			continue;
		if (!any)
			terminal_heading(out, style, "comparisons");
		any = true;
		fputs("  ", out);
		terminal_wrapped(out, style, 4, 2, r->families[i].statement);
	}
	for (uint32_t i = 0; all && rc == 0 && i < r->family_count; i++)
		rc = terminal_ratio_table(r, i, out, style, err);
	return rc;
}

void terminal_exponents(const struct result *r, bool all, FILE *out, const struct terminal_style *style)
{
	char line[SENTENCE_BYTES], text[SENTENCE_BYTES + 32];
	bool any = false;

	for (uint32_t i = 0; i < r->sweep_count; i++) {
		const struct sweep_result *s = &r->sweeps[i];
		uint32_t fitted = exponents_fitted(s);

		if (fitted == 0 || (!all && !result_in_summary(r, s->quantity)))
			continue;
		if (!any)
			terminal_heading(out, style, "growth");
		any = true;
		if (!all && fitted > SERIES_EACH) {
			fputs("  ", out);
			snprintf(text, sizeof(text), "%s; each: --verbose", format_exponents(s, line));
			terminal_wrapped(out, style, 4, 2, text);
			continue;
		}
		for (uint32_t k = 0; k < s->series_count; k++) {
			if (isnan(s->series[k].exponent))
				continue;
			fputs("  ", out);
			terminal_wrapped(out, style, 4, 2, format_exponent(s, &s->series[k], line));
		}
	}
}
