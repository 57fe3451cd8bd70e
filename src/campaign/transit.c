/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "campaign/attribution.h"
#include "campaign/line.h"
#include "probe/transit.h"
#include "probe/transit_settings.h"

/* A restart of the transit method: a line with a switch, a carrier from before the warm-up to the end, runs of probes. */
struct measuring {
	struct line_bed bed;

	/* of the restart that is open */
	struct carrier *carrier;
	struct transit_config config;
	struct transit *rows; /* config.count */
	struct run_record record;
	struct transit_conditions conditions;
	bool traced;
	struct attribution attribution;
};

static int begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	struct measuring *m = calloc(1, sizeof(*m));

	if (!m)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	*ret = m; /* end() takes it after a failure too */
	return line_begin(&m->bed, setup, store, err);
}

static int start_carrier(struct measuring *m, struct err *err)
{
	const struct carrier_config config = {
		.line = &m->config.line,
		.rate_bps = m->config.carrier_bps,
		.frame_bytes = m->config.carrier_frame_bytes,
		.cpu = m->bed.places.carrier,
	};
	int r = m->config.carrier_bps ? carrier_start(&config, &m->carrier, err) : 0;

	m->config.carrier = m->carrier;
	return r;
}

static int open_restart(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	int r = line_open(&m->bed, turn, seed, transit_outline, err);

	if (r < 0)
		return r;
	m->config = (struct transit_config){ .line = m->bed.line,
					     .interrupted = m->bed.interrupted,
					     .cpu = m->bed.places.send };
	transit_config_from(&m->config, &m->bed.cell.probes);
	m->traced = settings_number(&m->bed.cell.probes, "tracer") != 0;
	m->rows = malloc(m->config.count * sizeof(*m->rows));
	if (!m->rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes", m->config.count);
	r = start_carrier(m, err);
	return r < 0 ? r : line_wait(&m->bed, m->bed.plan->warmup_ns, err);
}

/* What went wrong with the run says more than what then went wrong with the tracer. */
static int traced_run(struct measuring *m, struct err *err)
{
	struct err ignored;
	int r = attribution_begin(&m->attribution, m->bed.line.line, m->bed.places.carrier, err), end;

	if (r < 0)
		return r;
	r = transit_run(&m->config, m->rows, &m->record, &m->conditions, err);
	end = attribution_end(&m->attribution, r == 0 ? m->rows : NULL, (uint32_t)m->record.ledger.sent,
			      m->record.started_utc_ns, m->config.drift_ppm, r == 0 ? err : &ignored);
	return r < 0 ? r : end;
}

static int run(struct measuring *m, uint32_t number, const char **ret_invalid, struct err *err)
{
	int r;

	m->config.run = number;
	r = m->traced ? traced_run(m, err) : transit_run(&m->config, m->rows, &m->record, &m->conditions, err);
	r = line_outcome(&m->bed, r, err);
	if (r == 0)
		*ret_invalid = m->record.invalid[0] ? m->record.invalid : NULL;
	return r;
}

static int put(struct measuring *m, struct store *store, struct err *err)
{
	int r = store_put_transit_run(store, &m->record, &m->conditions, m->rows, (uint32_t)m->record.ledger.sent, err);

	return r == 0 && m->traced ? attribution_put(&m->attribution, store, err) : r;
}

static void watched(struct measuring *m, struct watched *ret)
{
	line_watched(&m->bed, ret);
}

static const char *facts(struct measuring *m)
{
	return line_facts(&m->bed);
}

static void close_restart(struct measuring *m)
{
	carrier_stop(m->carrier);
	m->carrier = NULL;
	attribution_release(&m->attribution);
	line_close(&m->bed);
	free(m->rows);
	m->rows = NULL;
}

static void end(struct measuring *m)
{
	if (!m)
		return;
	close_restart(m);
	free(m);
}

const struct measure_ops measure_transit = {
	.measure = MEASURE_TRANSIT,
	.check = line_check,
	.begin = begin,
	.open = open_restart,
	.run = run,
	.put = put,
	.watched = watched,
	.facts = facts,
	.close = close_restart,
	.end = end,
};
