/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe/transit.h"
#include "stats/quantile.h"

enum {
	STEP_NS = 10000000,
	QUIET_NS = 100000000,        /* nothing has come for so long: nothing is under way */
	QUIET_LIMIT_NS = 2000000000, /* a line that does not come to rest loses what has not come by then */
	SHORT_TRIES_MOST = 2,        /* of one that could not send all of it */
	TRIES_MOST = 5,              /* of a trial whose carrier had a hole, or whose probes cannot be accounted for */
};

#define SHORT_SHARE 0.99
#define CONFIDENCE  0.95

struct attempt {
	const struct trial_config *config;
	int64_t rate_bps;
	uint64_t frames;
	struct carrier *carrier; /* NULL: it has not begun */
};

static void sleep_ns(int64_t ns)
{
	const struct timespec time = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	nanosleep(&time, NULL);
}

static bool interrupted(const struct trial_config *c)
{
	return c->interrupted && atomic_load_explicit(c->interrupted, memory_order_relaxed);
}

uint32_t trial_probes(const struct trial_config *config, int64_t duration_ns)
{
	int64_t count = duration_ns / config->interval_ns;

	return count < 1 ? 1 : (uint32_t)count;
}

static int begin_carrier(void *context, struct err *err)
{
	struct attempt *a = context;
	const struct carrier_config config = {
		.line = &a->config->line,
		.rate_bps = a->rate_bps,
		.frame_bytes = a->config->carrier_frame_bytes,
		.frames = a->frames,
		.cpu = a->config->carrier_cpu,
	};
	int rc = carrier_start(&config, &a->carrier, err);

	for (int64_t left_ns = rc == 0 ? a->config->settle_ns : 0; left_ns > 0; left_ns -= STEP_NS) {
		if (interrupted(a->config))
			return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
		sleep_ns(left_ns < STEP_NS ? left_ns : STEP_NS);
	}
	return rc;
}

/* All of it has arrived, or nothing more arrives. */
static int wait_for_quiet(struct carrier *carrier, struct carrier_counts *ret, struct err *err)
{
	int64_t quiet_ns = 0, waited_ns = 0;
	uint64_t before = 0;
	int rc = carrier_counts(carrier, ret, err);

	while (rc == 0 && ret->received < ret->sent && quiet_ns < QUIET_NS && waited_ns < QUIET_LIMIT_NS) {
		before = ret->received;
		sleep_ns(STEP_NS);
		waited_ns += STEP_NS;
		rc = carrier_counts(carrier, ret, err);
		quiet_ns = ret->received == before ? quiet_ns + STEP_NS : 0;
	}
	return rc;
}

static void count_carrier(const struct carrier_counts *counts, int64_t rate_bps, struct trial *ret)
{
	double due = (double)counts->due;

	ret->carrier_due = counts->due;
	ret->carrier_sent = counts->sent;
	ret->carrier_refused = counts->refused;
	ret->carrier_received = counts->received;
	ret->offered_bps = due > 0 ? (double)rate_bps * (double)counts->sent / due : 0;
	ret->received_bps = due > 0 ? (double)rate_bps * (double)counts->received / due : 0;
	ret->hole_ns = counts->hole_ns;
	ret->sender_short = (double)(counts->sent + counts->refused) < SHORT_SHARE * due;
}

static double figure_value(struct figure f)
{
	return f.state == FIGURE_REFUSED ? NAN : f.value;
}

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* `values`: room for as many numbers as there are rows. */
static void count_probes(const struct transit *rows, uint32_t count, double *values, struct trial *ret)
{
	struct sample_set set = { .values = values, .quantum = 1 };

	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].fate != FATE_MATCHED)
			set.lost++;
		else if (!(rows[i].flags & TRANSIT_SET_APART))
			values[set.finite++] = (double)(rows[i].p4_out_us - rows[i].p4_in_us);
	}
	qsort(values, set.finite, sizeof(*values), compare_values);
	ret->probes_sent = count;
	ret->probes_arrived = count - (uint32_t)set.lost;
	ret->p50_us = figure_value(quantile_figure(&set, 0.5, CONFIDENCE));
	ret->p99_us = figure_value(quantile_figure(&set, 0.99, CONFIDENCE));
}

/* The probes; the carrier begins when one has come through. */
static int send_probes(struct attempt *a, struct transit *rows, uint32_t count, struct run_record *record,
		       struct err *err)
{
	const struct trial_config *c = a->config;
	const struct transit_config config = {
		.line = c->line,
		.count = count,
		.interval_ns = c->interval_ns,
		.deadline_ns = c->deadline_ns,
		.frame_bytes = c->frame_bytes,
		.cpu = c->cpu,
		.unprotected = c->unprotected,
		.interrupted = c->interrupted,
		.begin = begin_carrier,
		.begin_context = a,
	};
	struct transit_conditions conditions;
	int rc = transit_run(&config, rows, record, &conditions, err);

	if (rc != -ETIMEDOUT || !a->carrier)
		return rc;
	/* It came through when the line was idle: what swallowed all of them is the load. */
	*record = (struct run_record){ .ledger.sent = count };
	for (uint32_t i = 0; i < count; i++)
		rows[i] = (struct transit){ .seq = i, .packet = i, .fate = FATE_LOST };
	return 0;
}

/* `rows` and `values` have room for `count`. */
static int measure(struct attempt *a, struct transit *rows, double *values, uint32_t count, struct trial *ret,
		   struct run_record *record, struct err *err)
{
	struct carrier_counts counts = { 0 };
	int rc = send_probes(a, rows, count, record, err);

	if (rc == 0) {
		carrier_halt(a->carrier);
		rc = wait_for_quiet(a->carrier, &counts, err);
	}
	if (rc == 0) {
		count_carrier(&counts, a->rate_bps, ret);
		count_probes(rows, (uint32_t)record->ledger.sent, values, ret);
	}
	carrier_stop(a->carrier);
	a->carrier = NULL;
	return rc;
}

static int attempt(struct attempt *a, uint32_t count, struct trial *ret, struct run_record *record, struct err *err)
{
	struct transit *rows = calloc(count, sizeof(*rows));
	double *values = calloc(count, sizeof(*values));
	int rc;

	if (rows && values)
		rc = measure(a, rows, values, count, ret, record, err);
	else
		rc = err_set(err, ERR_HOST, ENOMEM, "out of memory for a trial of %" PRIu32 " probes", count);
	free(values);
	free(rows);
	return rc;
}

static bool even(const struct trial_config *config, const struct trial *t)
{
	return t->hole_ns <= TRIAL_HOLE_NS || (double)t->hole_ns <= config->goal_loss * (double)t->duration_ns;
}

int trial_run(const struct trial_config *config, int64_t rate_bps, int64_t duration_ns, struct trial *ret,
	      struct err *err)
{
	const double frame_bits = (config->carrier_frame_bytes + 4) * 8.0;
	double frames = (double)rate_bps * (double)(config->settle_ns + duration_ns) / 1e9 / frame_bits;
	struct attempt a = { .config = config, .rate_bps = rate_bps, .frames = frames < 1 ? 1 : (uint64_t)frames };
	struct run_record record = { 0 };
	struct timespec now;

	for (unsigned i = 1; i <= TRIES_MOST; i++) {
		int rc;

		clock_gettime(CLOCK_REALTIME, &now);
		*ret = (struct trial){ .started_utc_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec,
				       .rate_bps = rate_bps,
				       .duration_ns = duration_ns,
				       .tries = i };
		rc = attempt(&a, trial_probes(config, duration_ns), ret, &record, err);
		if (rc < 0)
			return rc;
		if (interrupted(config))
			return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
		if (!record.invalid[0] && even(config, ret) && !ret->sender_short)
			return 0;
		/* once may be a hole, so often it is the rate */
		if (!record.invalid[0] && ret->sender_short && i >= SHORT_TRIES_MOST)
			return 0;
	}
	ret->sender_short = 1;
	return !record.invalid[0] ? 0
				  : err_set(err, ERR_RESULT, EIO,
					    "a trial at %" PRId64 " bit/s cannot be accounted for, tried %d times: %s",
					    rate_bps, TRIES_MOST, record.invalid);
}

double trial_carrier_loss(const struct trial *t)
{
	uint64_t expected = t->sender_short ? t->carrier_due : t->carrier_sent + t->carrier_refused;

	return expected == 0                     ? 0
	       : t->carrier_received >= expected ? 0
						 : 1 - (double)t->carrier_received / (double)expected;
}

double trial_probe_loss(const struct trial *t)
{
	return t->probes_sent ? 1 - (double)t->probes_arrived / t->probes_sent : 0;
}

struct rate_trial trial_outcome(const struct trial *t)
{
	return (struct rate_trial){
		.rate_bps = t->rate_bps,
		.duration_ns = t->duration_ns,
		.probe_loss = trial_probe_loss(t),
		.carrier_loss = trial_carrier_loss(t),
		.sender_short = t->sender_short,
	};
}
