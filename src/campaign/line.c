/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "campaign/restart.h"
#include "lab/cpus.h"
#include "lab/netns.h"

/* Each program once. */
static int prepare_cell(const struct plan *plan, uint32_t cell, const struct cell_setup *c, struct err *err)
{
	const struct target_setup setup = {
		.settings = &c->target, .program = c->program, .directory = plan->directory, .seed = plan->seed
	};

	for (uint32_t i = 0; i < cell; i++) {
		const char *earlier = cell_value(plan, &plan->cells[i], "program");

		if (earlier && c->program && strcmp(earlier, c->program) == 0)
			return 0;
	}
	return plan->target->prepare ? plan->target->prepare(&setup, err) : 0;
}

/* Each cell may name another switch. */
static int check_cell(const struct plan *plan, uint32_t i, struct err *err)
{
	struct cell_setup cell;
	struct arena arena;
	int r;

	arena_init(&arena, 0);
	r = plan_cell_setup(plan, &plan->cells[i], &arena, &cell) < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory")
								      : 0;
	if (r == 0 && plan->target->check_host)
		r = plan->target->check_host(&cell.target, err);
	if (r == 0)
		r = prepare_cell(plan, i, &cell, err);
	arena_release(&arena);
	return r;
}

int line_check(const struct measure_setup *setup, struct err *err)
{
	const struct plan *plan = setup->plan;
	struct transit_places places;
	int r = netns_permit(err);

	if (r >= 0)
		r = transit_places_choose(&places, err);
	for (uint32_t i = 0; r >= 0 && i < plan->cell_count; i++)
		r = check_cell(plan, i, err);
	return r < 0 ? r : 0;
}

/* Where the switches really run is the target's to say, with each restart: a plan can place them otherwise. */
static int choose_places(struct line_bed *bed, struct store *store, struct err *err)
{
	char send[16], carrier[16], left[CPUS_TEXT_BYTES];
	const struct stored_fact facts[] = { { "transit.cpu_send", send },
					     { "transit.cpu_carrier", carrier },
					     { "transit.cpus_left", left } };
	int r = transit_places_choose(&bed->places, err);

	if (r < 0)
		return r;
	snprintf(send, sizeof(send), "%" PRId32, bed->places.send);
	snprintf(carrier, sizeof(carrier), "%" PRId32, bed->places.carrier);
	cpus_text(&bed->places.target, left, sizeof(left));
	return store_put_facts(store, facts, sizeof(facts) / sizeof(facts[0]), err);
}

int line_begin(struct line_bed *bed, const struct measure_setup *setup, struct store *store, struct err *err)
{
	int r;

	*bed = (struct line_bed){ .plan = setup->plan, .interrupted = setup->interrupted };
	arena_init(&bed->arena, 0);
	r = netns_permit(err);
	return r < 0 ? r : choose_places(bed, store, err);
}

int line_open(struct line_bed *bed, const struct turn *turn, uint64_t seed, line_outline *outline, struct err *err)
{
	const struct plan *plan = bed->plan;
	struct target_setup setup = { .directory = plan->directory, .seed = seed };
	struct stream_outline stream;
	int r;

	if (plan_cell_setup(plan, &plan->cells[turn->cell], &bed->arena, &bed->cell) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	r = outline(&bed->cell.probes, plan->directory, &stream, err);
	if (r < 0)
		return r;
	setup.settings = &bed->cell.target;
	setup.program = bed->cell.program;
	setup.frame_bytes = stream.longest_bytes;
	setup.cpus = &bed->places.target;
	setup.probe_count = setup.frame_count = stream.probe_count;
	r = plan->target->open(&setup, &bed->target, err);
	if (r == 0)
		plan->target->line(bed->target, &bed->line);
	return r;
}

int line_wait(const struct line_bed *bed, int64_t ns, struct err *err)
{
	return restart_wait(bed->interrupted, ns, err);
}

int line_outcome(const struct line_bed *bed, int r, struct err *err)
{
	return restart_outcome(bed->target, r, err);
}

void line_watched(const struct line_bed *bed, struct watched *ret)
{
	if (bed->target)
		watched_line(bed->line.line, ret);
}

const char *line_facts(const struct line_bed *bed)
{
	return restart_facts(bed->target);
}

void line_close(struct line_bed *bed)
{
	if (bed->target)
		bed->plan->target->close(bed->target);
	bed->target = NULL;
	arena_release(&bed->arena);
}
