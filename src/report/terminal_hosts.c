/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/format.h"
#include "report/terminal_private.h"

/* A row a host; the cell's own row says how much hosts differ. */
static void cell_rows(const struct cell_result *c, bool us, struct table *t)
{
	double unit = us ? 1000 : 1;
	char text[FORMAT_BYTES];

	for (uint32_t h = 0; h < c->host_count; h++) {
		const struct host_result *host = &c->hosts[h];
		struct table_row *row = &t->rows[t->count++];
		bool first = h == 0;

		row->plot_at = row->plot_low = row->plot_high = NAN;
		snprintf(row->cell[0], TABLE_CELL_BYTES, "%s", first ? c->title : "");
		snprintf(row->cell[1], TABLE_CELL_BYTES, "%s", host->host);
		snprintf(row->cell[2], TABLE_CELL_BYTES, "%" PRIu32, host->restarts);
		snprintf(row->cell[3], TABLE_CELL_BYTES, "%s", format_number(host->median_ns / unit, us ? 2 : 1, text));
		snprintf(row->cell[4], TABLE_CELL_BYTES, "%s",
			 first ? format_number(c->between_hosts_sd_ns / unit, 2, text) : "");
		snprintf(row->cell[5], TABLE_CELL_BYTES, "%s", first ? format_percent(100 * c->host_icc, text) : "");
	}
}

int terminal_hosts(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	bool us = false;
	const struct table_column columns[] = {
		{ .title = "by host" },
		{ .title = "host" },
		{ .title = "restarts", .right = true },
		{ .title = "median", .right = true },
		{ .title = "sd between hosts", .right = true },
		{ .title = "of all variance", .right = true },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };
	uint32_t rows = 0;

	for (uint32_t i = 0; i < r->cell_count; i++) {
		rows += r->cells[i].host_count;
		us = us || r->cells[i].regime[0];
	}
	if (!rows)
		return 0;
	t.rows = calloc(rows, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " hosts", rows);
	for (uint32_t i = 0; i < r->cell_count; i++)
		cell_rows(&r->cells[i], us, &t);
	fputc('\n', out);
	terminal_table(out, &t, style);
	fprintf(out, "  %s; medians of restarts on each host; the variance is that of restart figures\n",
		us ? "us" : "ns");
	free(t.rows);
	return 0;
}
