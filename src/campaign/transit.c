/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "campaign/attribution.h"
#include "campaign/line.h"
#include "campaign/restart.h"

/* A restart of the transit method: a line with a switch, a carrier from before the warm-up to the end, runs of probes. */
struct measuring {
	struct line_bed bed;

	struct line_probes probes;
	bool traced;
	struct attribution attribution;
};

static int begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	return line_begin(sizeof(struct measuring), setup, store, ret, err);
}

static int open_restart(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	int r = line_probes_open(&m->bed, &m->probes, turn, seed, err);

	if (r == 0)
		m->traced = settings_number(&m->bed.cell.probes, "tracer") != 0;
	return r;
}

/* What went wrong with the run says more than what then went wrong with the tracer. */
static int traced_run(struct measuring *m, struct err *err)
{
	struct err ignored;
	int r = attribution_begin(&m->attribution, m->bed.line.line, m->bed.places.carrier, err), end;

	if (r < 0)
		return r;
	r = transit_run(&m->probes.config, m->probes.rows, &m->probes.record, &m->probes.conditions, err);
	end = attribution_end(&m->attribution, r == 0 ? m->probes.rows : NULL, (uint32_t)m->probes.record.ledger.sent,
			      m->probes.record.started_utc_ns, m->probes.config.drift_ppm, r == 0 ? err : &ignored);
	return r < 0 ? r : end;
}

static int run(struct measuring *m, uint32_t number, const char **ret_invalid, struct err *err)
{
	int r;

	m->probes.config.run = number;
	r = m->traced ? traced_run(m, err)
		      : transit_run(&m->probes.config, m->probes.rows, &m->probes.record, &m->probes.conditions, err);
	r = line_outcome(&m->bed, r, err);
	if (r == 0)
		*ret_invalid = m->probes.record.invalid[0] ? m->probes.record.invalid : NULL;
	return r;
}

static int put(struct measuring *m, struct store *store, struct err *err)
{
	int r = store_put_transit_run(store, &m->probes.record, &m->probes.conditions, m->probes.rows,
				      (uint32_t)m->probes.record.ledger.sent, err);

	return r == 0 && m->traced ? attribution_put(&m->attribution, store, err) : r;
}

static void close_restart(struct measuring *m)
{
	attribution_release(&m->attribution);
	line_probes_close(&m->bed, &m->probes);
}

const struct measure_ops measure_transit = {
	.measure = MEASURE_TRANSIT,
	.check = line_check,
	.begin = begin,
	.open = open_restart,
	.run = run,
	.put = put,
	.watched = line_watched,
	.facts = line_facts,
	.close = close_restart,
	.end = restart_end,
};
