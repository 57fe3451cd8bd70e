/* SPDX-License-Identifier: Apache-2.0 */
#include "line_bed.h"

#include <stdio.h>
#include <stdlib.h>

#include "lab/netns.h"

static struct transit_places places;

void must(int rc, const struct err *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "bench: %s\n", err->message);
	exit(1);
}

void line_bed_permit(void)
{
	struct err err = { 0 };

	must(netns_permit(&err), &err);
	must(transit_places_choose(&places, &err), &err);
}

const struct transit_places *line_bed_places(void)
{
	return &places;
}

static void set(struct line_bed *bed, const char *name, const char *value)
{
	struct err err = { 0 };

	must(settings_set(&bed->settings, name, value, &err), &err);
}

void line_bed_open(struct line_bed *bed, const char *hops, const char *args, const char *program, uint64_t seed,
		   uint32_t frame_bytes)
{
	struct err err = { 0 };

	arena_init(&bed->arena, 0);
	must(settings_init(&bed->settings, target_bmv2.settings, &bed->arena), &err);
	set(bed, "switch", TARE_SWITCH);
	set(bed, "hops", hops);
	if (args)
		set(bed, "args", args);
	must(target_bmv2.open(&(struct target_setup){ .settings = &bed->settings,
						      .program = program,
						      .directory = ".",
						      .seed = seed,
						      .frame_bytes = frame_bytes,
						      .cpus = &places.target },
			      &bed->target, &err),
	     &err);
	target_bmv2.line(bed->target, &bed->line);
}

void line_bed_close(struct line_bed *bed)
{
	target_bmv2.close(bed->target);
	arena_release(&bed->arena);
}

struct carrier *line_bed_load(const struct line_bed *bed, int64_t rate_bps, uint32_t frame_bytes)
{
	struct carrier *carrier = NULL;
	struct err err = { 0 };

	must(carrier_start(&(struct carrier_config){ .line = &bed->line,
						     .rate_bps = rate_bps,
						     .frame_bytes = frame_bytes,
						     .cpu = places.carrier },
			   &carrier, &err),
	     &err);
	return carrier;
}
