/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_progress.h"

#include <string.h>

enum { BAR_CELLS = 16, PLAIN_EVERY_S = 10, LINE_BYTES = 512 };

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

/* "0:07", "12:40", "3:05:00" */
static void clock_text(int64_t ns, char *text, size_t size_bytes)
{
	long long s = ns / 1000000000;

	if (s >= 3600)
		snprintf(text, size_bytes, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(text, size_bytes, "%lld:%02lld", s / 60, s % 60);
}

/* How many there will be, as far as is known. */
static unsigned progress_turns(const struct campaign_counts *c)
{
	return c->cells ? c->expected : c->turns;
}

/* "12/36  1:12, about 3:40 left  program=forward, restart 3 of 6, run 4 of 10": what may be cut off stands last */
static void describe(const struct run_progress *p, const struct campaign_progress *now, char *text, size_t size_bytes)
{
	const struct campaign_counts *c = &now->counts;
	/* a tare has two restarts in each block */
	uint32_t restarts = now->cell && now->cell->is_tare ? 2 * p->restarts : p->restarts;
	char elapsed[32], left[32], rest[64] = "", stopped[48] = "", where[LINE_BYTES / 2] = "";

	clock_text(now->elapsed_ns, elapsed, sizeof(elapsed));
	if (now->remaining_ns > 0) {
		/* up, so that it does not say 0:00 while there is something left */
		clock_text(now->remaining_ns + 999999999, left, sizeof(left));
		snprintf(rest, sizeof(rest), ", about %s left", left);
	}
	if (now->cell)
		snprintf(where, sizeof(where), "  %s, restart %u of %u, run %u of %u", now->cell->label,
			 now->turn->restart + 1, restarts, now->run, p->runs);
	if (c->cells)
		snprintf(stopped, sizeof(stopped), "  %u/%u cells enough", c->cells_stopped, c->cells);
	snprintf(text, size_bytes, "%u/%s%u  %s%s%s%s", c->done + c->failed, c->cells ? "~" : "", progress_turns(c),
		 elapsed, rest, stopped, where);
}

static void draw_bar(struct run_progress *p, const struct campaign_progress *now)
{
	const struct campaign_counts *c = &now->counts;
	uint64_t over = c->done + c->failed, turns = progress_turns(c);
	unsigned full = turns ? (unsigned)((over < turns ? over : turns) * BAR_CELLS / turns) : 0;
	char text[LINE_BYTES], line[LINE_BYTES + 64], bar[BAR_CELLS + 1];

	memset(bar, '-', BAR_CELLS);
	memset(bar, '#', full);
	bar[BAR_CELLS] = '\0';
	describe(p, now, text, sizeof(text));
	snprintf(line, sizeof(line), "[%s] %s", bar, text);
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
	if (p->last_ns >= 0 && over < progress_turns(c) &&
	    now->elapsed_ns - p->last_ns < PLAIN_EVERY_S * INT64_C(1000000000))
		return;
	p->last_ns = now->elapsed_ns;
	describe(p, now, text, sizeof(text));
	fprintf(p->out, "%s\n", text);
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
