/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "campaign/measure.h"
#include "lab/netns.h"
#include "probe/cores.h"
#include "probe/transit.h"
#include "probe/transit_settings.h"

/* A restart of the transit method: a line with a switch, a carrier from before the warm-up to the end, runs of probes. */
struct measuring {
	const struct plan *plan;
	const atomic_bool *interrupted;
	int32_t cpu; /* of sender and carrier; -1: none of their own */

	/* of the restart that is open */
	struct arena arena; /* the cell's settings */
	struct target *target;
	struct carrier *carrier;
	struct transit_config config;
	struct transit *rows; /* config.count */
	struct run_record record;
	struct transit_conditions conditions;
};

enum { WAIT_STEP_NS = 20000000 };

/*
 * The switch goes where the kernel puts it: its threads want more than one CPU. What we send with has one, the same for
 * both, so that on two CPUs there is one that we do not use.
 */
static int choose_cpu(struct measuring *m, struct store *store, struct err *err)
{
	struct cores cores;
	char text[64];
	const struct stored_fact facts[] = { { "transit.cpu_send", text }, { "transit.cpu_switch", "any" } };
	int r = cores_choose(1, &cores, err);

	if (r < 0)
		return r;
	m->cpu = cores.send;
	snprintf(text, sizeof(text), "%" PRId32, m->cpu);
	return store_put_facts(store, facts, 2, err);
}

/* Each cell may name another switch. */
static int check(const struct measure_setup *setup, struct err *err)
{
	const struct plan *plan = setup->plan;
	struct cores cores;
	int r = netns_permit(err);

	if (r >= 0)
		r = cores_choose(1, &cores, err);
	for (uint32_t i = 0; r >= 0 && plan->target->check_host && i < plan->cell_count; i++) {
		struct cell_setup cell;
		struct arena arena;

		arena_init(&arena, 0);
		r = plan_cell_setup(plan, &plan->cells[i], &arena, &cell) < 0
			    ? err_set(err, ERR_HOST, ENOMEM, "out of memory")
			    : plan->target->check_host(&cell.target, err);
		arena_release(&arena);
	}
	return r < 0 ? r : 0;
}

static int begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	struct measuring *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	m->plan = setup->plan;
	m->interrupted = setup->interrupted;
	arena_init(&m->arena, 0);
	*ret = m; /* end() takes it after a failure too */
	r = netns_permit(err);
	return r < 0 ? r : choose_cpu(m, store, err);
}

/* In steps, so that an interrupt need not wait for it. */
static int wait_ns(const struct measuring *m, int64_t ns, struct err *err)
{
	for (; ns > 0; ns -= WAIT_STEP_NS) {
		struct timespec step = { .tv_nsec = ns < WAIT_STEP_NS ? ns : WAIT_STEP_NS };

		if (atomic_load_explicit(m->interrupted, memory_order_relaxed))
			return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
		nanosleep(&step, NULL);
	}
	return 0;
}

static int start_carrier(struct measuring *m, struct err *err)
{
	const struct carrier_config config = {
		.line = &m->config.line,
		.rate_bps = m->config.carrier_bps,
		.frame_bytes = m->config.carrier_frame_bytes,
		.cpu = m->cpu,
	};
	int r = m->config.carrier_bps ? carrier_start(&config, &m->carrier, err) : 0;

	m->config.carrier = m->carrier;
	return r;
}

static int open_restart(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	struct target_setup setup = { .directory = m->plan->directory, .seed = seed };
	struct stream_outline outline;
	struct cell_setup cell;
	int r;

	if (plan_cell_setup(m->plan, &m->plan->cells[turn->cell], &m->arena, &cell) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	m->config = (struct transit_config){ .interrupted = m->interrupted, .cpu = m->cpu };
	transit_config_from(&m->config, &cell.probes);
	m->rows = malloc(m->config.count * sizeof(*m->rows));
	if (!m->rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes", m->config.count);
	r = transit_outline(&cell.probes, m->plan->directory, &outline, err);
	if (r < 0)
		return r;
	setup.settings = &cell.target;
	setup.program = cell.program;
	setup.frame_bytes = outline.longest_bytes;
	setup.probe_count = setup.frame_count = outline.probe_count;
	r = m->plan->target->open(&setup, &m->target, err);
	if (r < 0)
		return r;
	m->plan->target->line(m->target, &m->config.line);
	r = start_carrier(m, err);
	return r < 0 ? r : wait_ns(m, m->plan->warmup_ns, err);
}

/* A switch that died, or an interface that vanished, explains whatever else went wrong. */
static int run(struct measuring *m, uint32_t number, const char **ret_invalid, struct err *err)
{
	struct err dead = { 0 };
	int r, alive;

	m->config.run = number;
	r = transit_run(&m->config, m->rows, &m->record, &m->conditions, err);
	if (r == -EINTR)
		return r;
	alive = m->plan->target->check_alive ? m->plan->target->check_alive(m->target, &dead) : 0;
	if (alive < 0) {
		if (err)
			*err = dead;
		return alive;
	}
	if (r == 0)
		*ret_invalid = m->record.invalid[0] ? m->record.invalid : NULL;
	return r;
}

static int put(struct measuring *m, struct store *store, struct err *err)
{
	return store_put_transit_run(store, &m->record, &m->conditions, m->rows, (uint32_t)m->record.ledger.sent, err);
}

static const char *facts(struct measuring *m)
{
	return m->target && m->plan->target->describe ? m->plan->target->describe(m->target) : NULL;
}

static void close_restart(struct measuring *m)
{
	carrier_stop(m->carrier);
	m->carrier = NULL;
	if (m->target)
		m->plan->target->close(m->target);
	m->target = NULL;
	free(m->rows);
	m->rows = NULL;
	arena_release(&m->arena);
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
	.check = check,
	.begin = begin,
	.open = open_restart,
	.run = run,
	.put = put,
	.facts = facts,
	.close = close_restart,
	.end = end,
};
