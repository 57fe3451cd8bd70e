/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "report/terminal_private.h"

/* One line a cell: why it stopped, or how it stands. */
static void line(const struct cell_result *c, unsigned widest, FILE *out)
{
	unsigned at;

	fputs("  ", out);
	for (at = terminal_text(out, c->title); at < widest + 2; at++)
		fputc(' ', out);
	if (!c->stop[0])
		fprintf(out, "goes on: %" PRIu32 " restart%s so far\n", c->restarts_valid,
			c->restarts_valid == 1 ? "" : "s");
	else if (isfinite(c->stop_width))
		fprintf(out, "%s: %.3g %% after %" PRIu32 " restarts\n",
			strcmp(c->stop, "width") == 0 ? "narrow enough" : "most restarts", c->stop_width,
			c->stop_restarts);
	else
		fprintf(out, "most restarts: no interval, %" PRIu32 " count\n", c->stop_restarts);
}

void terminal_stops(const struct result *r, FILE *out)
{
	unsigned widest = 0;

	if (isnan(r->stop_asked))
		return;
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (!r->cells[i].is_tare && terminal_columns(r->cells[i].title) > widest)
			widest = terminal_columns(r->cells[i].title);
	fprintf(out,
		"\nwidth of the 95 %% interval over restarts, from end to end, over the median; %.3g %% asked "
		"for;\nintervals are "
		"exact order statistics, as the rule goes by them\n",
		r->stop_asked);
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (!r->cells[i].is_tare)
			line(&r->cells[i], widest, out);
}
