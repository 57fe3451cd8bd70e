/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/terminal_private.h"

static void fill_row(const struct cell_result *c, struct table_row *row)
{
	const struct second_result *s = c->second;
	char text[FORMAT_BYTES], low[FORMAT_BYTES];
	unsigned n = 0;

	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", c->title);
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(c->is_tare ? NAN : s->first_net_ns, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(s->net_ns, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_span(&s->net_interval, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_signed(s->median_ns, 1, text));
	format_signed(s->low_ns, 1, low);
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s to %s", low, format_signed(s->high_ns, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%" PRIu32 "/%" PRIu32, s->runs_apart, s->runs);
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_count(s->compared, text));
	row->plot_at = row->plot_low = row->plot_high = NAN;
}

int terminal_second(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	static const struct table_column columns[] = {
		{ .title = "second clock" },
		{ .title = "net, first ns", .right = true },
		{ .title = "second", .right = true, .bold = true },
		{ .title = "95 %", .right = true, .optional = 2 },
		{ .title = "apart", .right = true },
		{ .title = "95 % of packets", .right = true },
		{ .title = "runs apart", .right = true, .optional = 1 },
		{ .title = "packets", .right = true, .optional = 3 },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };
	const struct second_result *any = NULL;

	t.rows = calloc(r->cell_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " cells",
			       r->cell_count);
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (r->cells[i].second_count) {
			any = any ? any : r->cells[i].second;
			fill_row(&r->cells[i], &t.rows[t.count++]);
		}
	if (any) {
		fputc('\n', out);
		terminal_table(out, &t, style);
		fputs("  stamped by ", out);
		terminal_text(out, any->clock);
		fputs("; net of the same packets by each clock; apart: second less first, packet by packet, the\n  "
		      "tare's own taken "
		      "off (median, and what 95 % lie within); runs apart: their quantiles differ by more than "
		      "chance\n",
		      out);
	}
	free(t.rows);
	return 0;
}
