/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "campaign/line.h"
#include "campaign/restart.h"
#include "probe/carrier.h"
#include "probe/resources_settings.h"

/*
 * A restart of the resources measure: a line of switches, a carrier through them from before the warm-up to the end, and
 * runs in which nothing is done but to watch.
 */
struct measuring {
	struct line_bed bed;
	struct watch watch;

	/* of the restart that is open */
	struct carrier *carrier;
	int64_t duration_ns, interval_ns, carrier_bps;
	uint32_t carrier_bytes;
	/* of the run */
	struct run_record record;
	double offered_bps, received_bps;
};

static int begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	return line_begin(sizeof(struct measuring), setup, store, ret, err);
}

static int open_restart(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	int r = line_open(&m->bed, turn, seed, resources_outline, err);

	if (r < 0)
		return r;
	m->duration_ns = settings_number(&m->bed.cell.probes, "duration");
	m->interval_ns = settings_number(&m->bed.cell.probes, "interval");
	m->carrier_bps = settings_number(&m->bed.cell.probes, "carrier");
	m->carrier_bytes = (uint32_t)settings_number(&m->bed.cell.probes, "carrier_size");
	if (m->carrier_bps)
		r = carrier_start(&(struct carrier_config){ .line = &m->bed.line,
							    .rate_bps = m->carrier_bps,
							    .frame_bytes = m->carrier_bytes,
							    .cpu = m->bed.places.carrier },
				  &m->carrier, err);
	return r < 0 ? r : line_wait(&m->bed, m->bed.plan->warmup_ns, err);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Sampled while the carrier runs, and the carrier counted over the same time. */
static int watch_for(struct measuring *m, struct err *err)
{
	struct carrier_counts from = { 0 }, to = { 0 };
	struct err ignored;
	int r = 0, end;

	if (m->carrier)
		r = carrier_counts(m->carrier, &from, err);
	if (r == 0)
		r = watch_begin(&m->watch, m->interval_ns, m->bed.places.carrier, err);
	if (r < 0)
		return r;
	r = line_wait(&m->bed, m->duration_ns, err);
	end = watch_end(&m->watch, r < 0 ? &ignored : err);
	if (r == 0)
		r = end;
	if (r == 0 && m->carrier)
		r = carrier_counts(m->carrier, &to, err);
	m->offered_bps = m->received_bps = m->carrier ? NAN : 0;
	if (r == 0 && m->carrier) {
		int64_t elapsed_ns = to.at_ns - from.at_ns;

		m->offered_bps = carrier_bps(to.sent - from.sent, m->carrier_bytes, elapsed_ns);
		m->received_bps = carrier_bps(to.received - from.received, m->carrier_bytes, elapsed_ns);
	}
	return r;
}

/* Nothing is sent that has a fate; there is no clock but the system's. */
static int run(struct measuring *m, uint32_t number, const char **ret_invalid, struct err *err)
{
	int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	int r;

	*ret_invalid = NULL;
	m->record = (struct run_record){
		.run = number,
		.started_utc_ns = clock_ns(CLOCK_REALTIME),
		.tsc_hz = NAN,
		.tsc_hz_u_ppm = NAN,
		.tsc_tick_ns = NAN,
		.offered_pps = NAN,
		.intended_pps = NAN,
		.core_send = m->bed.places.carrier,
		.core_receive = -1,
		.pingpong_p50_ns = NAN,
	};
	watched_line(m->bed.line.line, &m->watch.what);
	r = line_outcome(&m->bed, watch_for(m, err), err);
	m->record.elapsed_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
	return r;
}

static int put(struct measuring *m, struct store *store, struct err *err)
{
	const struct run_value carrier[] = { { "carrier_offered", "Mbit/s", m->offered_bps * 1e-6 },
					     { "carrier_received", "Mbit/s", m->received_bps * 1e-6 } };
	int r = store_put_run(store, &m->record, NULL, 0, err);

	if (r == 0)
		r = watch_put(&m->watch, true, store, err);
	return r == 0 ? store_put_values(store, carrier, 2, err) : r;
}

static void close_restart(struct measuring *m)
{
	watch_release(&m->watch);
	carrier_stop(m->carrier);
	m->carrier = NULL;
	line_close(&m->bed);
}

const struct measure_ops measure_resources = {
	.measure = MEASURE_RESOURCES,
	.check = line_check,
	.begin = begin,
	.open = open_restart,
	.run = run,
	.put = put,
	.facts = line_facts,
	.close = close_restart,
	.end = restart_end,
};
