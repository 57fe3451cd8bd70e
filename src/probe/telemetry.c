/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet/probe_id.h"

enum {
	PLACES_MOST = 2 * TELEMETRY_HOPS + 1,
	STAMPS_BYTES = 12,
	SPARE_SLOTS = 256,
	REPORT_AT = 42 /* Ethernet, IPv4, UDP */
};

/* A tap, and where what it sees belongs. Frames wait in its ring until the run is over. */
struct place {
	struct tap tap;
	struct id_reader reader;
	struct telemetry *t;
	uint32_t k;       /* switch, from 0 */
	bool out, arrive; /* at its second interface; at host b */
};

struct places {
	struct place items[PLACES_MOST];
	uint32_t count;
};

static void see(void *context, const struct tap_frame *frame)
{
	struct place *p = context;
	struct telemetry *t = p->t;
	int64_t *to;
	uint32_t id;
	int32_t at;

	if (id_read(&p->reader, frame->bytes, frame->kept_bytes, &id) != ID_OK || id >= t->count)
		return;
	if (p->arrive && t->int_md) {
		if (frame->kept_bytes > REPORT_AT && !t->hops[id].stamped)
			telemetry_take_report(t, id, frame->bytes + REPORT_AT, frame->kept_bytes - REPORT_AT);
		return;
	}
	if (p->arrive) {
		at = instrument_find(frame->bytes, frame->length_bytes);
		if (at >= 0 && !t->hops[id].stamped)
			telemetry_take_stack(t, id, frame->bytes + at + STAMPS_BYTES,
					     frame->kept_bytes - (uint32_t)at - STAMPS_BYTES);
		return;
	}
	to = p->out ? &t->hops[(size_t)p->k * t->count + id].sw_out_ns
		    : &t->hops[(size_t)p->k * t->count + id].sw_in_ns;
	if (*to == TELEMETRY_NONE && frame->stamp_ns != 0)
		*to = frame->stamp_ns - t->started_utc_ns;
}

static int open_place(struct places *all, const struct transit_config *config, struct telemetry *t,
		      const struct link_end *end, enum tap_side side, enum tap_what what, uint32_t k, bool arrive,
		      struct err *err)
{
	struct place *p = &all->items[all->count];
	int rc;

	*p = (struct place){ .tap = TAP_NONE, .t = t, .k = k, .out = side == TAP_OUT, .arrive = arrive };
	all->count++;
	rc = tap_open(end, side, what, config->count * 2 + SPARE_SLOTS, &p->tap, err);
	id_reader_init(&p->reader, ID_NATIVE, config->tag);
	return rc;
}

/*
 * The sink of INT-MD stamps the report, a packet of its own, on its way out: what leaves the last switch is the report
 * there, and what arrives.
 */
static int open_places(struct places *all, const struct transit_config *config, struct telemetry *t, struct err *err)
{
	const enum tap_what on_way = t->int_md ? TAP_WATCHED : TAP_PROBES,
			    at_end = t->int_md ? TAP_REPORTS : TAP_PROBES;
	const struct lab_line *line = config->line.line;
	uint32_t last = line->switch_count - 1;
	int rc = 0;

	for (uint32_t k = 0; rc == 0 && k <= last; k++) {
		const struct link_end *port = line->switches[k].port;

		rc = open_place(all, config, t, &port[0], TAP_IN, on_way, k, false, err);
		if (rc == 0)
			rc = open_place(all, config, t, &port[1], TAP_OUT, k == last ? at_end : on_way, k, false, err);
	}
	return rc < 0 ? rc : open_place(all, config, t, &line->b.port, TAP_IN, at_end, last, true, err);
}

static int drain(struct places *all, struct run_record *record, struct err *err)
{
	for (uint32_t i = 0; i < all->count; i++) {
		struct place *p = &all->items[i];
		uint64_t seen, dropped;
		int rc = tap_counts(&p->tap, &seen, &dropped, err);

		if (rc < 0)
			return rc;
		if (dropped && !record->invalid[0])
			snprintf(record->invalid, sizeof(record->invalid),
				 "there was no room for %" PRIu64 " frames at %s", dropped, p->tap.where);
		while (tap_take(&p->tap, UINT32_MAX, see, p) > 0)
			;
	}
	return 0;
}

/* Probes of INT-MD carry no stamps; their reports do. Whose report did not come, or lacks them, is unstamped. */
static void stamp_rows(const struct telemetry *t, struct transit *rows, struct ledger *ledger)
{
	const struct hop *last = t->hops + (size_t)(t->switches - 1) * t->count;

	for (uint32_t i = 0; i < ledger->sent; i++) {
		if (rows[i].fate != FATE_MATCHED)
			continue;
		if (last[i].stamped && last[i].raw_in && last[i].raw_out) {
			rows[i].p4_in_us = (int64_t)(last[i].raw_in / 1000);
			rows[i].p4_out_us = (int64_t)(last[i].raw_out / 1000);
			continue;
		}
		rows[i].fate = FATE_UNSTAMPED;
		ledger->fate[FATE_MATCHED]--;
		ledger->fate[FATE_UNSTAMPED]++;
	}
}

static void hear_clocks(const struct transit_config *config, struct telemetry *t)
{
	for (uint32_t k = 0; k < t->switches; k++) {
		const struct target_switch *s = &config->line.switches[k];

		t->clocks[k].boot_ns = s->started_utc_ns - t->started_utc_ns;
		t->clocks[k].told = s->clock != NULL;
		if (s->clock)
			t->clocks[k].truth = *s->clock;
	}
}

int telemetry_run(const struct transit_config *given, struct transit *rows, struct telemetry *ret,
		  struct run_record *ret_record, struct transit_conditions *ret_conditions, struct err *err)
{
	struct transit_config config = *given;
	struct places *all = calloc(1, sizeof(*all));
	int rc;

	if (!all)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	config.tag = transit_tag(config.run);
	config.bare = ret->int_md;
	rc = open_places(all, &config, ret, err);
	if (rc == 0)
		rc = transit_run(&config, rows, ret_record, ret_conditions, err);
	if (rc == 0) {
		uint32_t sent = (uint32_t)ret_record->ledger.sent;

		ret->started_utc_ns = ret_record->started_utc_ns;
		ret->drift_ppm = config.drift_ppm;
		for (uint32_t i = 0; i < sent; i++)
			ret->tx_ns[i] = rows[i].tx_ns;
		hear_clocks(&config, ret);
		rc = drain(all, ret_record, err);
		if (rc == 0 && ret->int_md)
			stamp_rows(ret, rows, &ret_record->ledger);
	}
	if (rc == 0 && telemetry_align(ret) < 0)
		rc = err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes", ret->count);
	for (uint32_t i = 0; i < all->count; i++)
		tap_close(&all->items[i].tap);
	free(all);
	return rc;
}
