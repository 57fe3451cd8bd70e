/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/plan_pilot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan_check.h"
#include "campaign/deciding.h"
#include "cli/run_campaign.h"

enum { RUNS = 3, PROBES_LEAST = 20, RUNS_MOST = 20, RESTARTS_LEAST = 12 };

/* Where no pilot says otherwise: probes of a run as the plan has them, 0 where its runs have none to choose. */
static uint32_t probes_of(const struct plan *plan)
{
	const struct setting_value *count;

	if (!setting_find(plan->probes.table, "count"))
		return 0;
	count = settings_get(&plan->probes, "count");
	return count->present ? (uint32_t)count->number : 0;
}

/* A count that varies by cell, or is that of a trace, is not ours to choose. */
static bool probes_are_free(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->axis_count; i++)
		if (strcmp(plan->axes[i], "count") == 0)
			return false;
	return setting_find(plan->probes.table, "count") &&
	       !(setting_find(plan->probes.table, "trace") && settings_text(&plan->probes, "trace"));
}

static int load_pilot(const struct invocation *inv, struct plan **ret, struct err *err)
{
	const struct plan_pilot size = {
		.restarts = (uint32_t)settings_number(&inv->options, "restarts"),
		.runs = RUNS,
		.probes_most = (uint32_t)settings_number(&inv->options, "probes"),
		.cells_most = (uint32_t)settings_number(&inv->options, "cells"),
	};
	struct plan_problems problems;
	int r = plan_load_pilot(inv->arguments[0], &size, ret, &problems, err);

	plan_problems_release(&problems);
	return r;
}

/* The pilot's numbers into a proposal; *p borrows from the arena. */
static int propose(const struct plan *plan, uint32_t pilot_probes, struct pilot *pilot, struct arena *arena,
		   struct pilot_proposal *p, struct err *err)
{
	struct effort_cell *cells = arena_array(arena, pilot->count + 1u, sizeof(*cells));
	struct effort_limits limits = { .runs_most = RUNS_MOST };
	uint32_t good = 0;

	if (!cells)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < pilot->count; i++)
		if (pilot->cells[i].good)
			cells[good++] = pilot->cells[i].effort;
	if (good == 0)
		return err_set(err, ERR_RESULT, ENODATA,
			       "%s: no cell has two restarts whose runs can be used: nothing can be proposed", p->dir);
	p->probes_now = pilot->probes ? probes_of(plan) : 0;
	if (pilot->probes && !p->probes_now)
		p->probes_now = pilot->probes; /* as the measure or the trace has it */
	p->probes_chosen = pilot->probes && probes_are_free(plan);
	limits.probes_least = p->probes_chosen ? PROBES_LEAST : p->probes_now;
	limits.probes_most =
		p->probes_chosen ? (p->probes_now > pilot_probes ? p->probes_now : pilot_probes) * 10 : p->probes_now;
	p->effort = effort_propose(cells, good, p->width, &limits);
	for (uint32_t i = 0; i < good; i++) {
		uint32_t n = effort_restarts(&cells[i], p->width, p->effort.runs, p->effort.probes);

		p->restarts_most = n > p->restarts_most ? n : p->restarts_most;
	}
	/* room for a cell that varies more than the pilot saw */
	p->restarts_most = p->restarts_most < RESTARTS_LEAST / 2 ? RESTARTS_LEAST : 2 * p->restarts_most;
	if (p->restarts_most > EFFORT_RESTARTS_MOST)
		p->restarts_most = EFFORT_RESTARTS_MOST;
	return 0;
}

static int read_and_show(const struct invocation *inv, const struct plan *plan, struct pilot_proposal *p,
			 struct err *err)
{
	struct store *store;
	struct pilot pilot;
	struct arena arena;
	int r = store_open_read(p->dir, &store, err);

	if (r < 0)
		return r;
	arena_init(&arena, 0);
	r = pilot_read(plan, store, &arena, &pilot, err);
	store_close(store);
	p->pilot = &pilot;
	if (r == 0)
		r = propose(plan, (uint32_t)settings_number(&inv->options, "probes"), &pilot, &arena, p, err);
	if (r == 0 && inv->json)
		r = pilot_json_write(stdout, p, err);
	else if (r == 0)
		pilot_text_write(stdout, p);
	p->pilot = NULL;
	arena_release(&arena);
	return r;
}

static int width_asked(const struct invocation *inv, const struct plan *plan, double *ret, struct err *err)
{
	const struct setting_value *given = settings_get(&inv->options, "width");

	if (!given->present && !plan->stop.on)
		return err_set(err, ERR_USAGE, EINVAL,
			       "plan: --pilot needs to know how narrow the intervals shall be: give --width, such as "
			       "--width 5%%, or the plan a stop: section");
	*ret = (given->present ? (double)given->number : plan->stop.width_ppm) / 1e6;
	if (deciding_has_samples(plan) || plan->stop.of)
		return 0;
	return err_set(err, ERR_USAGE, EINVAL,
		       "plan: runs of measure %s yield values: the plan's stop: must name one, such as of: batch_wall",
		       measure_name(plan->measure));
}

int plan_pilot_run(const struct invocation *inv, const struct plan *plan, struct err *err)
{
	const char *given = settings_text(&inv->options, "output");
	struct campaign_counts counts = { 0 };
	struct pilot_proposal p = { .plan = plan };
	struct plan *pilot = NULL;
	char *dir = NULL, length[48];
	int r = width_asked(inv, plan, &p.width, err);

	if (r == 0)
		r = load_pilot(inv, &pilot, err);
	if (r < 0 || !pilot)
		return r;
	for (uint32_t i = 0; i < plan->cell_count; i++)
		p.cells += !plan->cells[i].is_tare;
	r = cli_campaign_directory(given, pilot->name, &dir, err);
	if (r == 0 && !inv->quiet)
		message("a pilot of %u restarts, %s of sending and warming up, into %s; it enters no figure",
			pilot->turn_count, duration_text(pilot->expected_ns, length, sizeof(length)), dir);
	if (r == 0) {
		r = cli_run_campaign(pilot, dir, (struct campaign_options){ 0 }, inv->quiet, &counts, err);
		if (r < 0)
			cli_campaign_directory_undo(given);
	}
	p.dir = dir;
	if (r == 0)
		r = read_and_show(inv, plan, &p, err);
	plan_destroy(pilot);
	free(dir);
	return r;
}
