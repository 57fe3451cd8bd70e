/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_progress.h"

#include <string.h>

#include "cli/plan_check.h"

enum { BAR_CELLS = 24, PLAIN_EVERY_S = 10, LINE_BYTES = 512 };

void run_progress_init(struct run_progress *p, const struct plan *plan, FILE *out, bool bar, unsigned width, bool quiet)
{
	*p = (struct run_progress){
		.out = out,
		.bar = bar,
		.quiet = quiet,
		.width = width,
		.last_ns = -1,
		.restarts = plan->restarts,
		.runs = plan->runs,
	};
}

void run_progress_clear(struct run_progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", p->out);
	fflush(p->out);
	p->drawn = false;
}

/* "program=forward, restart 3 of 6, run 4 of 10; 1 min 12 s, about 3 min 40 s left" */
static void describe(const struct run_progress *p, const struct campaign_progress *now, char *text, size_t size_bytes)
{
	char elapsed[32], left[32], rest[48] = "";
	/* a tare has two restarts in each block */
	uint32_t restarts = now->cell && now->cell->is_tare ? 2 * p->restarts : p->restarts;

	if (now->remaining_ns > 0)
		snprintf(rest, sizeof(rest), ", about %s left", duration_text(now->remaining_ns, left, sizeof(left)));
	duration_text(now->elapsed_ns, elapsed, sizeof(elapsed));
	if (now->cell)
		snprintf(text, size_bytes, "%s, restart %u of %u, run %u of %u; %s%s", now->cell->label,
			 now->turn->restart + 1, restarts, now->run, p->runs, elapsed, rest);
	else
		snprintf(text, size_bytes, "%s%s", elapsed, rest);
}

static void draw_bar(struct run_progress *p, const struct campaign_progress *now)
{
	const struct campaign_counts *c = &now->counts;
	uint32_t over = c->done + c->failed;
	unsigned full = c->turns ? (unsigned)((uint64_t)over * BAR_CELLS / c->turns) : 0;
	char text[LINE_BYTES], line[LINE_BYTES + 64], bar[BAR_CELLS + 1];

	memset(bar, '-', BAR_CELLS);
	memset(bar, '#', full);
	bar[BAR_CELLS] = '\0';
	describe(p, now, text, sizeof(text));
	snprintf(line, sizeof(line), "[%s] %u/%u  %s", bar, over, c->turns, text);
	/* cut rather than wrapped: a wrapped line cannot be drawn over */
	fprintf(p->out, "\r\033[K%.*s", p->width > 1 ? (int)p->width - 1 : 79, line);
	fflush(p->out);
	p->drawn = true;
}

/* When something ends, at most every PLAIN_EVERY_S; the first and the last always. */
static void print_plain(struct run_progress *p, const struct campaign_progress *now)
{
	const struct campaign_counts *c = &now->counts;
	uint32_t over = c->done + c->failed;
	char text[LINE_BYTES];

	if (now->step == CAMPAIGN_RESTART_BEGINS)
		return;
	if (p->last_ns >= 0 && over < c->turns && now->elapsed_ns - p->last_ns < PLAIN_EVERY_S * INT64_C(1000000000))
		return;
	p->last_ns = now->elapsed_ns;
	describe(p, now, text, sizeof(text));
	fprintf(p->out, "%u/%u  %s\n", over, c->turns, text);
	fflush(p->out);
}

void run_progress_show(void *context, const struct campaign_progress *now)
{
	struct run_progress *p = context;

	if (now->message) {
		run_progress_clear(p);
		fprintf(p->out, "tare: %s, restart %u: %s%s\n", now->cell->label, now->turn->restart + 1,
			now->step == CAMPAIGN_RUN_ENDS ? "invalid run: " : "failed: ", now->message);
	}
	if (p->quiet)
		return;
	if (p->bar)
		draw_bar(p, now);
	else
		print_plain(p, now);
}
