/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/bound.h"
#include "campaign/measure.h"
#include "campaign/restart.h"
#include "campaign/second.h"
#include "clock/tsc.h"
#include "observe/build.h"
#include "probe/cores.h"
#include "probe/differential.h"
#include "probe/differential_stream.h"

/* A restart of the differential method: a target, a stream, and a pass of the engine for each run. */
struct measuring {
	const struct plan *plan;
	const struct differential_faults *faults;
	const atomic_bool *interrupted;
	struct tsc tsc;

	/* of the restart that is open */
	struct arena arena; /* the cell's settings */
	struct target *target;
	struct stream *stream;
	struct differential_config config;
	struct pair *pairs; /* stream->count */
	/* of the ports' own clock, where the target has one to keep */
	const char *clock; /* its name; NULL: none */
	struct second_match second;
	struct second_pair *second_rows; /* stream->count */
	struct second reflection;        /* copies that go on to where another clock stamps them */
	struct campaign_bound bound;     /* the vendor's worst case, if the plan has one */
	struct run_record record;
	uint32_t pair_count;
};

enum { CALIBRATION_NS = 200000000 };

static int put_tsc_facts(const struct measuring *m, struct store *store, struct err *err)
{
	const char *reason = "";
	char rate[64], tick[32];
	const struct stored_fact facts[] = {
		{ "tsc.rate", rate },
		{ "tsc.tick", tick },
		{ "tsc.invariant", m->tsc.invariant ? "yes" : "no" },
		{ "tsc.doubt", tsc_is_invariant(&reason) || !reason ? "none" : reason },
	};

	/* to the MHz: the rate itself, measured anew at each start, is with every run */
	snprintf(rate, sizeof(rate), "%.0f MHz", m->tsc.hz / 1e6);
	snprintf(tick, sizeof(tick), "%.1f ns", m->tsc.tick_ns);
	return store_put_facts(store, facts, 4, err);
}

/* A cell that asks for more cores than there are, or for a port that is not, would fail in each of its restarts. */
static int check_cells(const struct plan *plan, struct err *err)
{
	struct differential_config config;
	struct cell_setup cell;
	struct cores cores;
	struct arena arena;
	int r = 0;

	arena_init(&arena, 0);
	for (uint32_t i = 0; r == 0 && i < plan->cell_count; i++) {
		if (plan_cell_setup(plan, &plan->cells[i], &arena, &cell) < 0) {
			r = err_set(err, ERR_HOST, ENOMEM, "out of memory");
			break;
		}
		differential_config_init(&config);
		differential_config_from(&config, &cell.probes);
		r = cores_choose(config.cores, &cores, err);
		if (r == 0 && plan->target->check_host)
			r = plan->target->check_host(&cell.target, err);
		if (r == 0)
			r = second_check(&cell.probes, &cell.target, err);
	}
	arena_release(&arena);
	return r;
}

static int check(const struct measure_setup *setup, struct err *err)
{
	int r = setup->plan->target->probe ? setup->plan->target->probe(err) : 0;

	if (r == 0)
		r = tsc_check(setup->allow_unstable_tsc, err);
	return r == 0 ? check_cells(setup->plan, err) : r;
}

static int begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	struct measuring *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	m->plan = setup->plan;
	m->faults = setup->faults;
	m->interrupted = setup->interrupted;
	arena_init(&m->arena, 0);
	r = check(setup, err);
	if (r == 0)
		r = tsc_calibrate(&m->tsc, CALIBRATION_NS, setup->allow_unstable_tsc, err);
	if (r == 0)
		r = put_tsc_facts(m, store, err);
	*ret = m; /* end() takes it after a failure too */
	return r;
}

static int open_target(struct measuring *m, const struct cell_setup *cell, uint64_t seed, struct err *err)
{
	const struct target_setup setup = {
		.settings = &cell->target,
		.program = cell->program,
		.directory = m->plan->directory,
		.seed = seed,
		.frame_bytes = m->stream->longest_bytes,
		.probe_count = m->stream->count,
		.frame_count = differential_frames(m->stream, m->config.warm_train),
		.tool_version = build_version(),
		.plan_text = m->plan->text,
		.plan_hash = m->plan->text_hash,
		.interrupted = m->interrupted,
	};

	return m->plan->target->open(&setup, &m->target, err);
}

/* The ports' own stamps, where the target says that they are to be kept. */
static int second_clock(struct measuring *m, struct err *err)
{
	struct target_ports ports = { 0 };

	m->plan->target->ports(m->target, &ports);
	m->clock = ports.clock;
	if (!m->clock)
		return 0;
	m->second_rows = calloc(m->stream->count + (size_t)1, sizeof(*m->second_rows));
	m->config.second = &m->second;
	return m->second_rows ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory for the stamps of a second clock");
}

/* Anew for each run. */
static int begin_second(struct measuring *m, struct err *err)
{
	int r;

	if (!m->clock)
		return 0;
	second_match_release(&m->second);
	r = second_match_init(&m->second, m->stream->count, err);
	snprintf(m->second.clock.clock, sizeof(m->second.clock.clock), "%s", m->clock);
	snprintf(m->second.clock.source, sizeof(m->second.clock.source), "the receiving ports");
	return r;
}

static int open_restart(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	struct cell_setup cell;
	int r;

	if (plan_cell_setup(m->plan, &m->plan->cells[turn->cell], &m->arena, &cell) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	r = differential_stream_create(&cell.probes, m->plan->directory, &m->stream, err);
	if (r < 0)
		return r;
	r = campaign_bound_from(m->plan, &m->plan->cells[turn->cell], &cell, &m->bound, err);
	if (r < 0)
		return r;
	m->pairs = malloc((m->stream->count ? m->stream->count : 1) * sizeof(*m->pairs));
	if (!m->pairs)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes",
			       m->stream->count);
	differential_config_init(&m->config);
	differential_config_from(&m->config, &cell.probes);
	m->config.stream = m->stream;
	m->config.tsc = &m->tsc;
	m->config.interrupted = m->interrupted;
	if (m->faults && !m->plan->cells[turn->cell].is_tare)
		m->config.faults = *m->faults;
	r = open_target(m, &cell, seed, err);
	if (r < 0)
		return r;
	m->config.target = m->target;
	r = second_clock(m, err);
	if (r < 0)
		return r;
	r = second_open(&m->reflection, &cell.probes, m->stream, err);
	if (r < 0)
		return r;
	m->config.reflect = m->reflection.reflect;
	return restart_wait(m->interrupted, m->plan->warmup_ns, err);
}

/* Of the ids of a run: the second clock must know it as well. */
static uint16_t tag_of_run(uint32_t number)
{
	uint64_t x = (tsc_now() + ((uint64_t)number << 40)) * UINT64_C(0x9E3779B97F4A7C15);

	return (uint16_t)(x >> 49) ? (uint16_t)(x >> 49) : 1;
}

static int run(struct measuring *m, uint32_t number, const char **ret_invalid, struct err *err)
{
	int r;

	m->config.run = number;
	r = begin_second(m, err);
	if (r < 0)
		return r;
	m->config.tag = m->reflection.capture ? tag_of_run(number) : 0;
	r = second_begin(&m->reflection, err);
	if (r < 0)
		return r;
	r = differential_run(&m->config, m->pairs, m->stream->count, &m->record, err);
	if (r == 0)
		r = second_end(&m->reflection, m->config.tag, (uint32_t)m->record.ledger.sent,
			       differential_frames(m->stream, m->config.warm_train), err);
	r = restart_outcome(m->target, r, err);
	if (r < 0)
		return r;
	m->record.tsc_hz *= 1 + m->config.faults.rate_ppm / 1e6;
	/* a row for every probe sent */
	m->pair_count = (uint32_t)m->record.ledger.sent;
	*ret_invalid = m->record.invalid[0] ? m->record.invalid : NULL;
	return 0;
}

static int put(struct measuring *m, struct store *store, struct err *err)
{
	int r = store_put_run(store, &m->record, m->pairs, m->pair_count, err);

	if (r == 0)
		r = store_put_values(store, m->bound.values, m->bound.count, err);
	if (r < 0 || (!m->clock && !m->reflection.capture))
		return r;
	/* one second clock a run: what was captured elsewhere, before what the ports themselves have */
	if (m->reflection.capture)
		return second_put(&m->reflection, store, err);
	second_match_finish(&m->second, m->second_rows);
	return store_put_second(store, &m->second.clock, m->second_rows, err);
}

static const char *facts(struct measuring *m)
{
	return restart_facts(m->target);
}

static void close_restart(struct measuring *m)
{
	if (m->target)
		m->plan->target->close(m->target);
	m->target = NULL;
	second_close(&m->reflection);
	stream_destroy(m->stream);
	m->stream = NULL;
	second_match_release(&m->second);
	free(m->second_rows);
	m->second_rows = NULL;
	m->clock = NULL;
	free(m->pairs);
	m->pairs = NULL;
	arena_release(&m->arena);
}

const struct measure_ops measure_differential = {
	.measure = MEASURE_DIFFERENTIAL,
	.check = check,
	.begin = begin,
	.open = open_restart,
	.run = run,
	.put = put,
	.facts = facts,
	.close = close_restart,
	.end = restart_end,
};
