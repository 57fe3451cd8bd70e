/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/terminal_private.h"

static struct span in_us(struct span s)
{
	s.low /= 1000;
	s.high /= 1000;
	return s;
}

static void fill_row(const struct cell_result *c, struct table_row *row)
{
	struct span interval = in_us(c->gross_interval), bootstrap = in_us(c->gross_bootstrap);
	char text[FORMAT_BYTES];
	unsigned n = 0;

	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", c->title);
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", c->regime);
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_figure_us(&c->gross.q[QUANTILE_P50], text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_span(&interval, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_span(&bootstrap, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_figure_us(&c->gross.q[QUANTILE_P99], text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_carrier(c, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(c->align_width_ns / 1000, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_restarts(c, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_ledger_state(c, text));
	row->plot_at = row->plot_low = row->plot_high = NAN;
}

static int transit_table(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	static const struct table_column columns[] = {
		{ .title = "cell" },
		{ .title = "regime" },
		{ .title = "p50 us", .right = true, .bold = true },
		{ .title = "95 % of restarts", .right = true, .optional = 2 },
		{ .title = "bootstrap", .right = true, .optional = 5 },
		{ .title = "p99", .right = true, .optional = 1 },
		{ .title = "carrier Mbit/s", .right = true, .optional = 3 },
		{ .title = "align us", .right = true, .optional = 6 },
		{ .title = "restarts", .right = true, .optional = 4 },
		{ .title = "ledger", .optional = 7 },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };

	t.rows = calloc(r->cell_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " cells",
			       r->cell_count);
	for (uint32_t i = 0; i < r->cell_count; i++)
		fill_row(&r->cells[i], &t.rows[t.count++]);
	fputc('\n', out);
	terminal_table(out, &t, style);
	free(t.rows);
	return 0;
}

static int chains(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	static const struct table_column columns[] = {
		{ .title = "chain, us" },
		{ .title = "tx-sw_in", .right = true },
		{ .title = "-p4_in", .right = true },
		{ .title = "-p4_out", .right = true },
		{ .title = "-sw_out", .right = true },
		{ .title = "-rx", .right = true },
		{ .title = "sum", .right = true },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };
	char text[FORMAT_BYTES];

	t.rows = calloc(r->cell_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " cells",
			       r->cell_count);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];
		struct table_row *row = &t.rows[t.count];
		double sum = 0;

		if (c->chain_count < CHAIN_LINKS)
			continue;
		snprintf(row->cell[0], TABLE_CELL_BYTES, "%s", c->title);
		for (uint32_t k = 0; k < CHAIN_LINKS; k++) {
			sum += c->chain[k].step_ns;
			snprintf(row->cell[k + 1], TABLE_CELL_BYTES, "%s",
				 format_number(c->chain[k].step_ns / 1000, 1, text));
		}
		snprintf(row->cell[CHAIN_LINKS + 1], TABLE_CELL_BYTES, "%s", format_number(sum / 1000, 1, text));
		row->plot_at = row->plot_low = row->plot_high = NAN;
		t.count++;
	}
	if (t.count) {
		fputc('\n', out);
		terminal_table(out, &t, style);
	}
	free(t.rows);
	return 0;
}

int terminal_transit(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	int rc = transit_table(r, out, style, err);

	if (rc == 0) {
		fputs("  us by the switch's own clock; p50 and p99 of p4_out - p4_in over probes sent; carrier: "
		      "received/"
		      "sent;\n  align: width of what the switch clock's offset can be\n",
		      out);
		rc = chains(r, out, style, err);
		terminal_causes(r, out, style);
	}
	for (uint32_t i = 0; rc == 0 && i < r->family_count; i++)
		if (strcmp(r->families[i].axis, "regime") == 0)
			rc = terminal_ratio_table(r, i, out, style, err);
	return rc;
}
