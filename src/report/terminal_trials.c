/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/terminal_private.h"

/* Searches of a calibration and their trials. */

static const char *bound(double mbps, char *buf)
{
	return isnan(mbps) ? "none" : format_value(mbps, 4, buf);
}

/* "l3_lpm, restart 1: 29.65 to 31.22 Mbit/s, 29.6 came through; 18 trials, 11.0 s; loss inversion" */
static void heading(const struct result *r, const struct search_result *s, FILE *out,
		    const struct terminal_style *style)
{
	char lower[FORMAT_BYTES], upper[FORMAT_BYTES], through[FORMAT_BYTES], line[1024];

	snprintf(line, sizeof(line),
		 "%s, restart %" PRIu32 ", run %" PRIu32 ": lower bound %s, upper bound %s Mbit/s%s%s; %" PRIu32
		 " trials, %.1f s%s%s",
		 r->cells[s->cell].title, s->order + 1, s->run + 1, bound(s->lower_mbps, lower),
		 bound(s->upper_mbps, upper), isnan(s->throughput_mbps) ? "" : ", came through ",
		 isnan(s->throughput_mbps) ? "" : format_value(s->throughput_mbps, 4, through), s->trial_count,
		 s->total_s, s->irregular[0] ? "; " : "", s->irregular);
	fputs("\n  ", out);
	terminal_wrapped(out, style, 4, 2, line);
}

static void fill(const struct trial_result *t, uint32_t number, struct table_row *row)
{
	char text[FORMAT_BYTES];
	unsigned n = 0;

	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%" PRIu32, number);
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_value(t->rate_mbps, 4, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(t->length_s, 2, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(t->probe_loss, 2, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(t->carrier_loss, 2, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s%s", t->high ? "over" : "met", t->sender_short ? ", sender" : "");
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(t->p50_us, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%s", format_number(t->hole_ms, 1, text));
	snprintf(row->cell[n++], TABLE_CELL_BYTES, "%" PRIu32, t->tries);
	row->plot_at = row->plot_low = row->plot_high = NAN;
}

static int table(const struct search_result *s, FILE *out, const struct terminal_style *style, struct err *err)
{
	static const struct table_column columns[] = {
		{ .title = "trial", .right = true },
		{ .title = "Mbit/s", .right = true, .bold = true },
		{ .title = "s", .right = true },
		{ .title = "probes lost %", .right = true },
		{ .title = "carrier lost %", .right = true },
		{ .title = "goal" },
		{ .title = "p50 us", .right = true, .optional = 1 },
		{ .title = "hole ms", .right = true, .optional = 2 },
		{ .title = "tries", .right = true, .optional = 3 },
		{ .title = NULL },
	};
	struct table t = { .columns = columns };

	t.rows = calloc(s->trial_count + 1, sizeof(*t.rows));
	if (!t.rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the table of %" PRIu32 " trials",
			       s->trial_count);
	for (uint32_t i = 0; i < s->trial_count; i++)
		fill(&s->trials[i], i + 1, &t.rows[t.count++]);
	terminal_table(out, &t, style);
	free(t.rows);
	return 0;
}

int terminal_trials(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err)
{
	int rc = 0;

	if (r->search_count)
		terminal_heading(out, style, "searches and their trials");
	for (uint32_t i = 0; rc == 0 && i < r->search_count; i++) {
		heading(r, &r->searches[i], out, style);
		rc = table(&r->searches[i], out, style, err);
	}
	if (r->search_count)
		fputs("  goal: met or over what may be lost; sender: what sends could not offer the rate evenly\n",
		      out);
	return rc;
}
