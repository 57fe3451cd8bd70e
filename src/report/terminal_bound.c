/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/terminal_private.h"

static void fill_row(const struct cell_result *c, struct table_row *row)
{
	const struct bound_result *b = c->bound;
	char text[FORMAT_BYTES];
	unsigned n = 0;

	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", c->title);
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(b->bound_ns, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_signed(b->least_cycles, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_signed(b->median_cycles, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(b->uncertainty_ns * b->clock_hz / 1e9, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_count(b->under, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_count(b->unsure, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_count(b->over, text));
	row->plot_at = row->plot_low = row->plot_high = NAN;
}

int terminal_bound(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	static const struct table_column columns[] = {
		{ .title = "worst case" },
		{ .title = "bound, ns", .right = true },
		{ .title = "least margin", .right = true, .bold = true },
		{ .title = "median", .right = true },
		{ .title = "U (k=2)", .right = true, .optional = 1 },
		{ .title = "under", .right = true },
		{ .title = "unsure", .right = true },
		{ .title = "over", .right = true },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };

	t.rows = calloc(r->cell_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " cells",
			       r->cell_count);
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (r->cells[i].bound_count)
			fill_row(&r->cells[i], &t.rows[t.count++]);
	if (t.count) {
		fputc('\n', out);
		terminal_table(out, &t, style);
		fputs("  margin: cycles of the vendor's clock by which packets stay under its bound, each by its "
		      "median net;\n"
		      "  unsure: nearer to it than their uncertainty\n",
		      out);
	}
	free(t.rows);
	return 0;
}
