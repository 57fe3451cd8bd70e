/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BENCH_LINE_BED_H
#define TARE_BENCH_LINE_BED_H

#include "probe/transit.h"
#include "probe/transit_places.h"
#include "target/bmv2.h"

/* A line of tare-switch for a bench, in namespaces of its own. What does not work ends the program, told. */
struct line_bed {
	struct arena arena;
	struct settings settings;
	struct target *target;
	struct target_line line;
};

/* Enter the namespaces and choose the CPUs; before the first bed. */
void line_bed_permit(void);
const struct transit_places *line_bed_places(void);

/* `args`: of the switches, NULL for none. */
void line_bed_open(struct line_bed *bed, const char *hops, const char *args, const char *program, uint64_t seed,
		   uint32_t frame_bytes);
void line_bed_close(struct line_bed *bed);

/* Background load through the line; its end is carrier_stop. */
struct carrier *line_bed_load(const struct line_bed *bed, int64_t rate_bps, uint32_t frame_bytes);

void must(int rc, const struct err *err);

#endif
