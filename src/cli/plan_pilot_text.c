/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include <jansson.h>

#include "cli/plan_check.h"
#include "cli/plan_pilot.h"

static const char *seconds_text(double seconds, char *buf, size_t size_bytes)
{
	return seconds < 9e9 ? duration_text((int64_t)(seconds * 1e9), buf, size_bytes) : "centuries";
}

#define SECONDS(s) seconds_text(s, (char[48]){ 0 }, 48)

/* In % of the median. */
static double relative(const struct effort_cell *c, double variance)
{
	return c->median ? 100 * sqrt(variance) / fabs(c->median) : INFINITY;
}

static const char *label_of(const struct pilot_proposal *p, const struct pilot_cell *cell)
{
	return p->plan->cells[cell->cell].label;
}

static void found_write(FILE *out, const struct pilot_proposal *p)
{
	bool ns = p->pilot->probes > 0;

	fprintf(out,
		"\nwhat varies, sd in %% of the median, and what one more costs\n\n  %12s  %9s %9s %9s  %10s %10s %10s "
		" %s\n",
		ns ? "median us" : "median", "restart", "run", ns ? "probe" : "", "restart", "run", ns ? "probe" : "",
		"cell");
	for (uint32_t i = 0; i < p->pilot->count; i++) {
		const struct pilot_cell *cell = &p->pilot->cells[i];
		const struct effort_cell *c = &cell->effort;

		if (!cell->good) {
			fprintf(out, "  %12s  %s: fewer than two restarts with usable runs\n", "-", label_of(p, cell));
			continue;
		}
		fprintf(out, "  %12.4g  %7.2f %% %7.2f %% ", ns ? c->median / 1000 : c->median, relative(c, c->restart),
			relative(c, c->run));
		if (ns)
			fprintf(out, "%7.1f %%", relative(c, c->probe));
		else
			fprintf(out, "%9s", "");
		fprintf(out, "  %10s %10s %10s  %s\n", SECONDS(c->restart_s), SECONDS(c->run_s),
			ns ? SECONDS(c->probe_s) : "", label_of(p, cell));
	}
}

/* Seconds of all piloted cells to the width with these runs and probes. */
static double seconds_of(const struct pilot_proposal *p, uint32_t runs, uint32_t probes)
{
	double sum = 0;

	for (uint32_t i = 0; i < p->pilot->count; i++) {
		const struct effort_cell *c = &p->pilot->cells[i].effort;

		if (p->pilot->cells[i].good)
			sum += effort_seconds(c, effort_restarts(c, p->width, runs, probes), runs, probes);
	}
	return sum;
}

static uint32_t good_cells(const struct pilot_proposal *p)
{
	uint32_t good = 0;

	for (uint32_t i = 0; i < p->pilot->count; i++)
		good += p->pilot->cells[i].good;
	return good;
}

static void restarts_write(FILE *out, const struct pilot_proposal *p)
{
	fprintf(out, "\nrestarts to an interval of %.3g %%, end to end over the median\n\n  %8s  %8s  %s\n",
		100 * p->width, "proposed", "as it is", "cell");
	for (uint32_t i = 0; i < p->pilot->count; i++) {
		const struct pilot_cell *cell = &p->pilot->cells[i];

		if (cell->good)
			fprintf(out, "  %8" PRIu32 "  %8" PRIu32 "  %s\n",
				effort_restarts(&cell->effort, p->width, p->effort.runs, p->effort.probes),
				effort_restarts(&cell->effort, p->width, p->plan->runs, p->probes_now),
				label_of(p, cell));
	}
}

/* How the plan spends now, "10 runs of 1000 probes", for comparison. */
static void spend_write(FILE *out, const char *who, uint32_t runs, uint32_t probes, double seconds)
{
	fprintf(out, "%s %" PRIu32 " run%s", who, runs, runs == 1 ? "" : "s");
	if (probes)
		fprintf(out, " of %" PRIu32 " probes", probes);
	fprintf(out, ": %s\n", SECONDS(seconds));
}

static bool out_of_reach(const struct pilot_proposal *p)
{
	for (uint32_t i = 0; i < p->pilot->count; i++) {
		const struct pilot_cell *cell = &p->pilot->cells[i];

		if (cell->good &&
		    effort_restarts(&cell->effort, p->width, p->effort.runs, p->effort.probes) >= EFFORT_RESTARTS_MOST)
			return true;
	}
	return false;
}

static void paste_write(FILE *out, const struct pilot_proposal *p)
{
	char width[24];

	if (out_of_reach(p))
		fprintf(out, "\na cell would take %d restarts or more: ask for a wider interval\n",
			EFFORT_RESTARTS_MOST);
	fputs("\nto paste into the plan, in place of its own\n\n", out);
	fprintf(out, "runs: %" PRIu32 "\n", p->effort.runs);
	fprintf(out, "stop: { width: %s, restarts: 6..%" PRIu32 "%s%s }\n",
		quantity_format((int64_t)llround(p->width * 1e6), QUANTITY_SHARE, width, sizeof(width)),
		p->restarts_most, p->plan->stop.of ? ", of: " : "", p->plan->stop.of ? p->plan->stop.of : "");
	if (p->probes_chosen)
		fprintf(out, "probes: { count: %" PRIu32 " } # and what else the plan has there\n", p->effort.probes);
}

void pilot_text_write(FILE *out, const struct pilot_proposal *p)
{
	uint32_t good = good_cells(p);
	double scale = (double)p->cells / good, now = seconds_of(p, p->plan->runs, p->probes_now);

	fprintf(out, "pilot    %s: %" PRIu32 " of %" PRIu32 " cells; its data are in no figure\n", p->dir,
		p->pilot->count, p->cells);
	found_write(out, p);
	restarts_write(out, p);
	fprintf(out, "\ntime of all %" PRIu32 " cells, as these go\n", p->cells);
	spend_write(out, "  proposed", p->effort.runs, p->effort.probes, p->effort.seconds * scale);
	spend_write(out, "  as it is", p->plan->runs, p->probes_now, now * scale);
	paste_write(out, p);
}

static json_t *cell_json(const struct pilot_proposal *p, const struct pilot_cell *cell)
{
	const struct effort_cell *c = &cell->effort;

	if (!cell->good)
		return json_pack("{s:i, s:s, s:b}", "cell", (int)cell->cell, "label", label_of(p, cell), "good", 0);
	return json_pack("{s:i, s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:i}", "cell", (int)cell->cell,
			 "label", label_of(p, cell), "good", 1, "median", c->median, "restart_variance", c->restart,
			 "run_variance", c->run, "probe_variance", c->probe, "restart_s", c->restart_s, "run_s",
			 c->run_s, "probe_s", c->probe_s, "restarts",
			 (int)effort_restarts(c, p->width, p->effort.runs, p->effort.probes), "restarts_as_is",
			 (int)effort_restarts(c, p->width, p->plan->runs, p->probes_now));
}

int pilot_json_write(FILE *out, const struct pilot_proposal *p, struct err *err)
{
	json_t *cells = json_array(), *document;

	for (uint32_t i = 0; i < p->pilot->count; i++)
		json_array_append_new(cells, cell_json(p, &p->pilot->cells[i]));
	document =
		json_pack("{s:s, s:s, s:f, s:i, s:i, s:i, s:i, s:f, s:f, s:o}", "schema", "tare.pilot/1", "directory",
			  p->dir, "width", p->width, "cells", (int)p->cells, "runs", (int)p->effort.runs, "probes",
			  (int)p->effort.probes, "restarts_most", (int)p->restarts_most, "seconds",
			  p->effort.seconds * p->cells / good_cells(p), "seconds_as_is",
			  seconds_of(p, p->plan->runs, p->probes_now) * p->cells / good_cells(p), "piloted", cells);
	if (!document)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory, or a name is not UTF-8");
	json_dumpf(document, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(document);
	return 0;
}
