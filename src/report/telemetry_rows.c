/* SPDX-License-Identifier: Apache-2.0 */
#include "report/telemetry_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/terminal_private.h"

enum { HOPS_MOST = 8 };

const struct telemetry_column telemetry_columns[] = {
	{ "link", "link us" },
	{ "link_u", "± us" },
	{ "link_spread", "spread us" },
	{ "wire", "wire us" },
	{ "boot_drift", "by start us" },
	{ "boot_off", "off by us" },
	{ "boot_spread", "spread us" },
	{ "offset_width", "width us" },
	{ "causal_error", "error us" },
	{ "boot_error", "start's error us" },
	{ "covered", "covered" },
	{ "rate", "rate ppm" },
	{ NULL, NULL },
};

const struct quantity_result *telemetry_quantity(const struct cell_result *cell, const char *name, unsigned hop)
{
	char full[64];

	snprintf(full, sizeof(full), "%s_%u", name, hop);
	for (uint32_t i = 0; i < cell->quantity_count; i++)
		if (strcmp(cell->quantities[i].name, full) == 0)
			return &cell->quantities[i];
	return NULL;
}

unsigned telemetry_hops(const struct cell_result *cell)
{
	for (unsigned hop = HOPS_MOST; hop > 0; hop--)
		for (unsigned i = 0; telemetry_columns[i].name; i++)
			if (telemetry_quantity(cell, telemetry_columns[i].name, hop))
				return hop;
	return 0;
}

/* --- the terminal's table --- */

static void fill(const struct cell_result *c, unsigned hop, struct table_row *row)
{
	char text[FORMAT_BYTES];
	unsigned n = 0;

	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", hop == 1 ? c->title : "");
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%u", hop);
	for (unsigned i = 0; telemetry_columns[i].name; i++) {
		const struct quantity_result *q = telemetry_quantity(c, telemetry_columns[i].name, hop);

		snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", q ? format_quantity(q, text) : "");
	}
	row->plot_at = row->plot_low = row->plot_high = NAN;
}

int terminal_hops(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	struct table_column columns[TABLE_COLUMNS_MOST + 1] = { { .title = "hop by hop" },
								{ .title = "hop", .right = true } };
	struct table t = { .columns = columns };
	uint32_t rows = 0;

	for (unsigned i = 0; telemetry_columns[i].name && i + 2 < TABLE_COLUMNS_MOST; i++)
		columns[i + 2] =
			(struct table_column){ .title = telemetry_columns[i].title, .right = true, .optional = i + 1 };
	for (uint32_t c = 0; c < r->cell_count; c++)
		rows += telemetry_hops(&r->cells[c]);
	if (rows == 0)
		return 0;
	t.rows = calloc(rows, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " hops", rows);
	for (uint32_t c = 0; c < r->cell_count; c++)
		for (unsigned hop = 1; hop <= telemetry_hops(&r->cells[c]); hop++)
			fill(&r->cells[c], hop, &t.rows[t.count++]);
	fputc('\n', out);
	terminal_table(out, &t, style);
	free(t.rows);
	return 0;
}
