/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "packet/probe_id.h"
#include "probe/transit.h"

#define STAMP_MASK ((UINT64_C(1) << 48) - 1)
enum { STAMP_RESOLUTION_NS = 1000 };

/* 48 bits that wrap, near the last value seen. */
static int64_t unwrap(uint64_t stamp, int64_t near)
{
	uint64_t ahead = (stamp - (uint64_t)near) & STAMP_MASK;

	return near + (ahead >> 47 ? (int64_t)ahead - (INT64_C(1) << 48) : (int64_t)ahead);
}

static void take_stamps(struct transit *rows, uint32_t count, int64_t start_ns, const struct transit_events *events,
			size_t member)
{
	for (uint32_t i = 0; i < events->count; i++) {
		const struct transit_event *e = &events->items[i];
		int64_t *to;

		if (e->status != ID_OK || e->id >= count || e->stamp_ns == 0)
			continue;
		to = (int64_t *)((char *)&rows[e->id] + member);
		if (*to == TRANSIT_NONE)
			*to = e->stamp_ns - start_ns;
	}
}

/* When it left is the kernel's word; until there is one, when it was asked to. */
static void take_tx(struct transit *rows, uint32_t count, int64_t start_ns, const struct transit_events *events)
{
	for (uint32_t i = 0; i < events->count; i++) {
		const struct transit_event *e = &events->items[i];

		if (e->status != ID_OK || e->id >= count || e->stamp_ns == 0 || !(rows[e->id].flags & TRANSIT_TX_ASKED))
			continue;
		rows[e->id].tx_ns = e->stamp_ns - start_ns;
		rows[e->id].flags &= (uint8_t)~TRANSIT_TX_ASKED;
	}
}

struct rx_state {
	struct transit *rows;
	uint32_t count;
	int64_t start_ns, deadline_ns;
	struct ledger *ledger;
	bool any;        /* a stamp of the switch has been seen, */
	int64_t last_us; /* this one */
	uint32_t newest; /* highest probe arrived, + 1 */
	bool bare;       /* probes carry no stamps */
};

static void arrive(struct rx_state *s, const struct transit_event *e)
{
	struct transit *row = &s->rows[e->id];

	if (row->fate != FATE_LOST) {
		s->ledger->duplicates++;
		return;
	}
	if (e->id < s->newest)
		s->ledger->reordered++;
	else
		s->newest = e->id + 1;
	if (e->stamp_ns != 0)
		row->rx_ns = e->stamp_ns - s->start_ns;
	if (e->instrument && e->p4_in_us && e->p4_out_us) {
		row->p4_in_us = s->any ? unwrap(e->p4_in_us, s->last_us) : (int64_t)e->p4_in_us;
		row->p4_out_us = unwrap(e->p4_out_us, row->p4_in_us);
		s->any = true;
		s->last_us = row->p4_in_us;
	}
	if (row->rx_ns != TRANSIT_NONE && row->rx_ns - row->tx_ns > s->deadline_ns)
		row->fate = FATE_LATE;
	else if (row->rx_ns == TRANSIT_NONE || (row->p4_in_us == TRANSIT_NONE && !s->bare) ||
		 row->flags & TRANSIT_TX_ASKED)
		row->fate = FATE_UNSTAMPED;
	else
		row->fate = FATE_MATCHED;
}

/* Came, but which it is cannot be read: it takes the place of the missing probe that was sent last before it. */
static void attribute(struct rx_state *s, const struct transit_event *e)
{
	int64_t at_ns = e->stamp_ns - s->start_ns;

	for (uint32_t i = s->count; e->stamp_ns && i-- > 0;) {
		struct transit *row = &s->rows[i];

		if (row->tx_ns > at_ns || row->fate != FATE_LOST)
			continue;
		if (at_ns - row->tx_ns > s->deadline_ns)
			break;
		row->fate = FATE_UNPARSED;
		return;
	}
	s->ledger->foreign++;
}

void transit_match(struct transit *rows, uint32_t count, int64_t start_ns, int64_t deadline_ns,
		   const struct transit_seen *seen, struct ledger *ret)
{
	const struct transit_events *rx = seen->rx;
	struct rx_state s = { rows, count, start_ns, deadline_ns, ret, false, 0, 0, seen->bare };

	*ret = (struct ledger){ .sent = count, .classified = rx->count };
	for (uint32_t i = 0; i < count; i++) {
		rows[i].fate = FATE_LOST;
		rows[i].flags = TRANSIT_TX_ASKED;
		rows[i].sw_in_ns = rows[i].sw_out_ns = rows[i].rx_ns = TRANSIT_NONE;
		rows[i].p4_in_us = rows[i].p4_out_us = TRANSIT_NONE;
	}
	take_tx(rows, count, start_ns, seen->tx);
	take_stamps(rows, count, start_ns, seen->sw_in, offsetof(struct transit, sw_in_ns));
	take_stamps(rows, count, start_ns, seen->sw_out, offsetof(struct transit, sw_out_ns));
	for (uint32_t i = 0; i < rx->count; i++)
		if (rx->items[i].status == ID_OK && rx->items[i].id < count)
			arrive(&s, &rx->items[i]);
	/* once all that can be told have their places */
	for (uint32_t i = 0; i < rx->count; i++) {
		const struct transit_event *e = &rx->items[i];

		if (e->status == ID_UNREADABLE)
			attribute(&s, e);
		else if (e->status == ID_NOT_A_PROBE || (e->status == ID_OK && e->id >= count))
			ret->foreign++;
	}
	for (uint32_t i = 0; i < count; i++)
		ret->fate[rows[i].fate]++;
}

/* --- alignment --- */

static int64_t or_none(int64_t ns)
{
	return ns == TRANSIT_NONE ? ALIGN_NONE : ns;
}

static void conclude(const struct alignment *a, struct transit_conditions *c)
{
	const struct align_segment *longest = NULL;

	c->segments = a->count;
	c->align_width_ns = c->align_low_ns = c->align_high_ns = NAN;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct align_segment *s = &a->segments[i];

		if (s->bounding < 2 || isnan(s->offset_ns))
			continue;
		if (!longest || s->bounding > longest->bounding)
			longest = s;
		c->align_width_ns = fmax(c->align_width_ns, align_width(s));
	}
	if (!longest)
		return;
	c->align_low_ns = longest->low_ns;
	c->align_high_ns = longest->high_ns;
}

int transit_align(struct transit *rows, uint32_t count, double drift_ppm, struct ledger *ledger,
		  struct transit_conditions *conditions, struct alignment *ret_alignment)
{
	const struct align_options options = { .resolution_ns = STAMP_RESOLUTION_NS, .drift_ppm = drift_ppm };
	struct align_point *points = calloc(count ? count : 1, sizeof(*points));
	struct alignment a = { 0 };
	int rc = points ? 0 : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const struct transit *r = &rows[i];
		bool has = r->fate == FATE_MATCHED && r->p4_in_us != TRANSIT_NONE;

		points[i] = (struct align_point){
			.sw_in_ns = or_none(r->sw_in_ns),
			.sw_out_ns = or_none(r->sw_out_ns),
			.p4_in_ns = has ? r->p4_in_us * 1000 : ALIGN_NONE,
			.p4_out_ns = has ? r->p4_out_us * 1000 : ALIGN_NONE,
		};
	}
	if (rc == 0)
		rc = align_find(points, count, &options, &a);
	free(points);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0, at = 0; i < count; i++) {
		const struct align_segment *s;
		struct transit *r = &rows[i];

		while (i >= a.segments[at].first + a.segments[at].count)
			at++;
		s = &a.segments[at];
		/* Alone in its segment, or out before it was in: the clock jumped while it was inside. */
		bool apart =
			r->fate == FATE_MATCHED && (r->p4_out_us < r->p4_in_us || (a.count > 1 && s->bounding < 2));

		if (apart)
			r->flags |= TRANSIT_SET_APART;
		ledger->set_apart += apart;
	}
	conclude(&a, conditions);
	if (ret_alignment)
		*ret_alignment = a;
	else
		alignment_release(&a);
	return 0;
}
