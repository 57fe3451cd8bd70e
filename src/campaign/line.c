/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/restart.h"
#include "lab/cpus.h"
#include "lab/netns.h"
#include "probe/carrier.h"
#include "probe/transit_settings.h"

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

/* A measuring as this file knows it. */
static struct line_bed *bed_of(struct measuring *m)
{
	return (struct line_bed *)(void *)m;
}

int line_begin(size_t measuring_bytes, const struct measure_setup *setup, struct store *store, struct measuring **ret,
	       struct err *err)
{
	struct line_bed *bed = calloc(1, measuring_bytes);
	int r;

	if (!bed)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	*ret = (struct measuring *)(void *)bed;
	bed->plan = setup->plan;
	bed->interrupted = setup->interrupted;
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

void line_watched(struct measuring *m, struct watched *ret)
{
	const struct line_bed *bed = bed_of(m);

	if (bed->target)
		watched_line(bed->line.line, ret);
}

const char *line_facts(struct measuring *m)
{
	return restart_facts(bed_of(m)->target);
}

void line_close(struct line_bed *bed)
{
	if (bed->target)
		bed->plan->target->close(bed->target);
	bed->target = NULL;
	arena_release(&bed->arena);
}

static int start_carrier(const struct line_bed *bed, struct line_probes *p, struct err *err)
{
	const struct carrier_config config = {
		.line = &p->config.line,
		.rate_bps = p->config.carrier_bps,
		.frame_bytes = p->config.carrier_frame_bytes,
		.cpu = bed->places.carrier,
	};
	int r = p->config.carrier_bps ? carrier_start(&config, &p->carrier, err) : 0;

	p->config.carrier = p->carrier;
	return r;
}

int line_probes_open(struct line_bed *bed, struct line_probes *p, const struct turn *turn, uint64_t seed,
		     struct err *err)
{
	int r = line_open(bed, turn, seed, transit_outline, err);

	if (r < 0)
		return r;
	p->config =
		(struct transit_config){ .line = bed->line, .interrupted = bed->interrupted, .cpu = bed->places.send };
	transit_config_from(&p->config, &bed->cell.probes);
	p->rows = malloc(p->config.count * sizeof(*p->rows));
	if (!p->rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes", p->config.count);
	r = start_carrier(bed, p, err);
	return r < 0 ? r : line_wait(bed, bed->plan->warmup_ns, err);
}

void line_probes_close(struct line_bed *bed, struct line_probes *p)
{
	carrier_stop(p->carrier);
	p->carrier = NULL;
	line_close(bed);
	free(p->rows);
	p->rows = NULL;
}
