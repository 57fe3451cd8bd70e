/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/build.h"
#include "stats/bound.h"

/* The vendor's worst case against each packet's net latency: its median over all runs, less the same packet's tare. */

enum { WORST_KEPT = 8 };

static const char *const names[] = { "bound_cycles", "bound_clock", "bound_bus", "bound_inserted" };

bool bound_is_setting(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static double value_of(const struct run_trace *t, const char *name)
{
	for (uint32_t k = 0; k < t->value_count; k++)
		if (strcmp(t->values[k].name, name) == 0)
			return t->values[k].value;
	return NAN;
}

/* As the first valid run has it: the plan is one, and so they all do. */
static bool find_vendor(const struct cell_work *w, struct vendor_bound *ret, uint32_t *ret_inserted)
{
	for (uint32_t i = 0; i < w->restart_count; i++)
		for (uint32_t j = 0; j < w->restarts[i]->run_count; j++) {
			const struct run_trace *t = &w->traces[i][j];
			double cycles = value_of(t, names[0]), clock = value_of(t, names[1]);
			double bus = value_of(t, names[2]), inserted = value_of(t, names[3]);

			/* what a damaged store may hold is no bound */
			if (!w->restarts[i]->runs[j].valid || !(cycles > 0 && cycles <= 1e9) ||
			    !(clock > 0 && clock <= 1e11) || !(bus >= 1 && bus <= 65536) ||
			    !(inserted >= 0 && inserted <= 1e6))
				continue;
			*ret = (struct vendor_bound){ .cycles = cycles, .clock_hz = clock, .bus_bytes = (uint32_t)bus };
			*ret_inserted = (uint32_t)inserted;
			return true;
		}
	return false;
}

/*
 * Standard uncertainty of one packet's net beyond what the cell's figure has: that of two medians, of its readings and of
 * its tare's, at the spread of single readings that the tare shows, which is the instrument's and not the program's.
 */
static double packet_u_ns(const struct cell_work *w, const struct cell_work *tare)
{
	double sd = tare->cell->iqr_ns / 1.349;
	uint32_t n = w->packets[w->packet_count / 2].count, m = tare->packets[tare->packet_count / 2].count;

	return 1.2533 * sd * sqrt(1.0 / (n ? n : 1) + 1.0 / (m ? m : 1));
}

static int keep_worst(struct bound_result *b, const struct bound_margin *margins, uint32_t count, struct arena *arena)
{
	uint32_t n = count < WORST_KEPT ? count : WORST_KEPT;

	b->worst_packet = arena_array(arena, WORST_KEPT, sizeof(double));
	b->worst_cycles = arena_array(arena, WORST_KEPT, sizeof(double));
	if (!b->worst_packet || !b->worst_cycles)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && margins[i].verdict != BOUND_UNDER; i++) {
		b->worst_packet[i] = margins[i].packet;
		b->worst_cycles[i] = margins[i].margin_cycles;
		b->worst_count = i + 1;
	}
	return 0;
}

static int check(struct cell_work *w, const struct cell_work *tare, const struct vendor_bound *vendor,
		 struct packet_net *nets, struct bounded_packet *packets, struct bound_margin *margins,
		 struct arena *arena)
{
	struct bound_result *b = w->cell->bound;
	uint32_t count =
		packet_nets(w->packets, w->packet_count, tare->packets, tare->packet_count, w->cell->net_ns, nets);
	struct bound_summary s;

	for (uint32_t i = 0; i < count; i++)
		packets[i] = (struct bounded_packet){ .packet = nets[i].packet,
						      .latency_ns = nets[i].net_ns,
						      .inserted_bytes = b->inserted_bytes };
	b->uncertainty_ns = count ? hypot(w->cell->expanded_ns, 2 * packet_u_ns(w, tare)) : NAN;
	/* an uncertainty that is not known is over any margin */
	bound_check(vendor, packets, count, isnan(b->uncertainty_ns) ? INFINITY : b->uncertainty_ns, margins, &s);
	b->packets = s.packets;
	b->under = s.under;
	b->unsure = s.unsure;
	b->over = s.over;
	b->without = w->packet_count - count;
	b->least_cycles = s.least_cycles;
	b->median_cycles = s.median_cycles;
	b->most_cycles = s.most_cycles;
	return keep_worst(b, margins, count, arena);
}

int cell_bound(struct cell_work *w, const struct cell_work *tare, struct arena *arena)
{
	struct vendor_bound vendor;
	struct packet_net *nets;
	struct bounded_packet *packets;
	struct bound_margin *margins;
	struct bound_result *b;
	uint32_t inserted;
	size_t room = w->packet_count ? w->packet_count : 1;
	int rc = -ENOMEM;

	if (w->cell->is_tare || !find_vendor(w, &vendor, &inserted))
		return 0;
	b = arena_alloc(arena, sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct bound_result){
		.cycles = vendor.cycles,
		.clock_hz = vendor.clock_hz,
		.bus_bytes = vendor.bus_bytes,
		.inserted_bytes = inserted,
		.bound_ns = bound_ns(&vendor, inserted),
		.uncertainty_ns = NAN,
		.least_cycles = NAN,
		.median_cycles = NAN,
		.most_cycles = NAN,
	};
	w->cell->bound = b;
	w->cell->bound_count = 1;
	if (!w->packets || !tare || !tare->packets)
		return 0;
	nets = calloc(room, sizeof(*nets));
	packets = calloc(room, sizeof(*packets));
	margins = calloc(room, sizeof(*margins));
	if (nets && packets && margins)
		rc = check(w, tare, &vendor, nets, packets, margins, arena);
	free(nets);
	free(packets);
	free(margins);
	return rc;
}
