/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "campaign/line.h"
#include "campaign/restart.h"
#include "probe/calibrate_settings.h"
#include "probe/carrier.h"
#include "store/trial.h"

/* A restart of a calibration: a line with a switch, and in each run a whole search for the rate that it carries. */
struct measuring {
	struct line_bed bed;

	/* of the restart that is open */
	struct ratesearch_config search;
	struct trial_config config;
	int64_t rates_bps[CALIBRATE_RATES_MOST];

	/* of the run that was measured last */
	struct trial *trials;
	uint32_t count;
	struct search_record found;
	struct run_record record;
};

static int begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	return line_begin(sizeof(struct measuring), setup, store, ret, err);
}

/* The lowest rate runs through the switch, so that the first trial does not find it cold. */
static int warm_up(const struct measuring *m, struct err *err)
{
	const struct carrier_config config = {
		.line = &m->config.line,
		.rate_bps = m->search.rate_count ? m->search.rates_bps[0] : m->search.least_bps,
		.frame_bytes = m->config.carrier_frame_bytes,
		.cpu = m->bed.places.carrier,
	};
	struct carrier *carrier = NULL;
	int r;

	if (m->bed.plan->warmup_ns == 0)
		return 0;
	r = carrier_start(&config, &carrier, err);
	if (r < 0)
		return r;
	r = line_wait(&m->bed, m->bed.plan->warmup_ns, err);
	carrier_stop(carrier);
	return r;
}

static int open_restart(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	int r = line_open(&m->bed, turn, seed, calibrate_outline, err);

	if (r < 0)
		return r;
	calibrate_config_from(&m->bed.cell.probes, &m->search, m->rates_bps, &m->config);
	m->config.line = m->bed.line;
	m->config.cpu = m->bed.places.send;
	m->config.carrier_cpu = m->bed.places.carrier;
	m->config.interrupted = m->bed.interrupted;
	m->trials = calloc(ratesearch_trials_most(&m->search), sizeof(*m->trials));
	if (!m->trials)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the trials of a search");
	return warm_up(m, err);
}

/* Nothing at all came through: too much load, unless the switch answers no more. */
static int outcome(const struct measuring *m, int r, const struct trial *trial, struct err *err)
{
	if (r < 0 || trial->probes_arrived || trial->carrier_received)
		return line_outcome(&m->bed, r, err);
	r = line_outcome(&m->bed, -ETIMEDOUT, err);
	return r == -ETIMEDOUT ? 0 : r;
}

static int try_rates(struct measuring *m, struct ratesearch *search, struct err *err)
{
	const int64_t rest_ns = settings_number(&m->bed.cell.probes, "rest");
	int64_t rate_bps, duration_ns;
	int r = 0;

	m->count = 0;
	while (r == 0 && ratesearch_next(search, &rate_bps, &duration_ns)) {
		struct trial *trial = &m->trials[m->count];
		struct rate_trial loss;

		r = outcome(m, trial_run(&m->config, rate_bps, duration_ns, trial, err), trial, err);
		if (r < 0)
			break;
		loss = trial_outcome(trial);
		trial->high = rate_trial_high(&m->search.goal, &loss);
		ratesearch_add(search, &loss);
		m->count++;
		r = line_wait(&m->bed, rest_ns, err);
	}
	return r;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int run(struct measuring *m, uint32_t number, const char **ret_invalid, struct err *err)
{
	struct ratesearch *search = ratesearch_create(&m->search);
	int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	int r;

	(void)ret_invalid; /* a trial that cannot be trusted is tried again, or is an error */
	if (!search)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a search");
	m->record = (struct run_record){
		.run = number,
		.started_utc_ns = clock_ns(CLOCK_REALTIME),
		.tsc_hz = NAN,
		.tsc_hz_u_ppm = NAN,
		.tsc_tick_ns = NAN,
		.offered_pps = NAN,
		.intended_pps = NAN,
		.pingpong_p50_ns = NAN,
		.core_send = m->bed.places.send,
		.core_receive = -1,
	};
	r = try_rates(m, search, err);
	m->record.elapsed_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
	m->found = (struct search_record){
		.goal = m->search.goal,
		.sweep = m->search.rate_count > 0,
		.least_bps = m->search.least_bps,
		.most_bps = m->search.most_bps,
	};
	ratesearch_result(search, &m->found.result);
	ratesearch_destroy(search);
	return r;
}

static double mbps(int64_t bps, double none)
{
	return bps ? (double)bps / 1e6 : none;
}

static int put(struct measuring *m, struct store *store, struct err *err)
{
	const struct ratesearch_result *found = &m->found.result;
	const struct run_value values[] = {
		/* no rate at all is known to be carried; none is known not to be */
		{ "lower_bound", "Mbit/s", mbps(found->lower_bps, 0) },
		{ "upper_bound", "Mbit/s", mbps(found->upper_bps, INFINITY) },
		{ "throughput", "Mbit/s", isnan(found->conditional_bps) ? 0 : found->conditional_bps / 1e6 },
		{ "trials", "", found->trials },
		{ "trial_time", "s", (double)found->length_ns / 1e9 },
		{ "irregularities", "", __builtin_popcount(found->irregular) },
	};
	int r = store_put_run(store, &m->record, NULL, 0, err);

	if (r == 0)
		r = store_put_values(store, values, sizeof(values) / sizeof(values[0]), err);
	return r < 0 ? r : store_put_search(store, &m->found, m->trials, m->count, err);
}

static void close_restart(struct measuring *m)
{
	line_close(&m->bed);
	free(m->trials);
	m->trials = NULL;
}

const struct measure_ops measure_calibrate = {
	.measure = MEASURE_CALIBRATE,
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
