/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_SYNTHETIC_H
#define TARE_TESTS_SYNTHETIC_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "plan/plan.h"
#include "store/store.h"

/*
 * A differential campaign of known values, written through the store's own
 * functions, for tests and benches of what reads stores. Cells: `programs`, then
 * the tare. Each block: tare, programs (rotated from block to block), tare.
 */
enum { SYNTHETIC_PROGRAMS_MOST = 8, SYNTHETIC_TURNS_MOST = 1024 };

struct synthetic_program {
	const char *name;
	double net_ns;
	double second_ns;  /* odd packets are so much slower: a second mode; 0: none */
	double restart_ns; /* restarts differ by 0, +1, -1, +2, -2, ... times this */
};

struct synthetic {
	const char *name, *plan_text;
	const struct synthetic_program *programs;
	unsigned program_count;
	uint32_t blocks, runs, probes;
	uint32_t packets;     /* in the stream; 0: as many as probes */
	uint32_t packet_step; /* every so many packets of a longer stream; 0: each */
	double tare_ns;       /* of the null; 0: 1000 */
	double drift_ns;      /* what the tare gains from each restart to the next, and the programs with it */
	double noise_ns;      /* 0: probes spread evenly over -10 to +10 ns, the same in every run; else normal */
	double tsc_hz;        /* 0: 1 GHz, so that a tick is a ns */
	double tick_ns;       /* samples lie on this grid; 0: none */
	double tick_said_ns;  /* what the record says of it; 0: the truth */
	uint32_t lost_every;  /* one probe of so many is lost; 0: none */
	uint32_t apart_every;
	bool truth;
	uint32_t unbalanced_turn; /* its first run's ledger misses a probe; UINT32_MAX: none */
	uint32_t failed_turn;     /* this turn fails; UINT32_MAX: none */
	uint32_t turns;           /* how many run; 0: all */
	void (*spoil)(struct run_record *run, uint32_t turn); /* last touch to a record; NULL: none */
	const struct run_value *values;                       /* put with each run of a program */
	uint32_t value_count;
};

static inline struct plan *synthetic_plan(const struct synthetic *s)
{
	static struct cell cells[SYNTHETIC_PROGRAMS_MOST + 1];
	static const char *values[SYNTHETIC_PROGRAMS_MOST + 1][1];
	static char labels[SYNTHETIC_PROGRAMS_MOST][160];
	static const char *const axes[] = { "program" };
	static struct turn turns[SYNTHETIC_TURNS_MOST];
	static struct plan plan;
	uint32_t n = 0, p = s->program_count;

	for (uint32_t i = 0; i < p; i++) {
		values[i][0] = s->programs[i].name;
		snprintf(labels[i], sizeof(labels[i]), "program=%s", s->programs[i].name);
		cells[i] = (struct cell){ .index = i, .tare = p, .label = labels[i], .values = values[i] };
	}
	values[p][0] = "null";
	cells[p] = (struct cell){ .index = p, .is_tare = true, .tare = p, .label = "tare", .values = values[p] };
	for (uint32_t b = 0; b < s->blocks; b++) {
		turns[n++] = (struct turn){ .cell = p, .restart = 2 * b, .block = b };
		for (uint32_t i = 0; i < p; i++)
			turns[n++] = (struct turn){ .cell = (i + b) % p, .restart = b, .block = b };
		turns[n++] = (struct turn){ .cell = p, .restart = 2 * b + 1, .block = b };
	}
	memset(&plan, 0, sizeof(plan));
	plan.path = "synthetic.yaml";
	plan.directory = ".";
	plan.text = s->plan_text ? s->plan_text : "name: synthetic\n";
	plan.text_hash = 1;
	plan.name = s->name ? s->name : "synthetic";
	plan.measure = MEASURE_DIFFERENTIAL;
	plan.seed = 7;
	plan.restarts = s->blocks;
	plan.runs = s->runs;
	plan.axes = axes;
	plan.axis_count = 1;
	plan.cells = cells;
	plan.cell_count = p + 1;
	plan.turns = turns;
	plan.turn_count = n;
	return &plan;
}

/* What restart `n` of a program adds: 0, 1, -1, 2, -2, ... times the program's step. */
static inline double synthetic_restart_ns(const struct synthetic_program *p, uint32_t n)
{
	return p->restart_ns * (n % 2 ? (n + 1) / 2 : -(double)(n / 2));
}

/* The gross median that a turn was given. */
static inline double synthetic_gross_ns(const struct synthetic *s, const struct turn *t, uint32_t position)
{
	double tare = (s->tare_ns > 0 ? s->tare_ns : 1000) + s->drift_ns * position;
	const struct synthetic_program *p = t->cell < s->program_count ? &s->programs[t->cell] : NULL;

	return p ? tare + p->net_ns + synthetic_restart_ns(p, t->restart) : tare;
}

static inline int64_t synthetic_ticks(const struct synthetic *s, double ns)
{
	double hz = s->tsc_hz > 0 ? s->tsc_hz : 1e9;

	if (s->tick_ns > 0)
		ns = (double)(int64_t)(ns / s->tick_ns + 0.5) * s->tick_ns;
	return (int64_t)(ns * hz / 1e9 + 0.5);
}

static inline void synthetic_pairs(const struct synthetic *s, const struct turn *t, double gross_ns, struct pair *pairs,
				   struct run_record *run, struct rng *rng)
{
	const struct synthetic_program *p = t->cell < s->program_count ? &s->programs[t->cell] : NULL;
	uint32_t packets = s->packets ? s->packets : s->probes;

	for (uint32_t i = 0; i < s->probes; i++) {
		struct pair *q = &pairs[i];
		double noise = s->noise_ns > 0 ? s->noise_ns * rng_normal(rng) : (double)(i % 21) - 10;
		double own = gross_ns + (p && i % packets % 2 ? p->second_ns : 0);
		double tx_ns = 100000.0 * i + 40, bypass_ns = tx_ns + 500;

		*q = (struct pair){ .seq = i,
				    .packet = i % packets * (s->packet_step ? s->packet_step : 1),
				    .fate = FATE_MATCHED };
		q->sched_ticks = synthetic_ticks(s, 100000.0 * i);
		q->tx_ticks = synthetic_ticks(s, tx_ns);
		q->bypass_ticks = synthetic_ticks(s, bypass_ns);
		q->path_ticks = synthetic_ticks(s, bypass_ns + own + noise);
		q->gap_path_ticks = q->gap_bypass_ticks = synthetic_ticks(s, 20);
		q->truth_ticks = s->truth ? synthetic_ticks(s, own) : PAIR_NONE;
		if (s->lost_every && i % s->lost_every == s->lost_every - 1) {
			q->fate = FATE_LOST;
			q->path_ticks = q->truth_ticks = PAIR_NONE;
		} else if (s->apart_every && i % s->apart_every == s->apart_every - 1) {
			q->flags = PAIR_SET_APART;
			q->path_ticks += synthetic_ticks(s, 5000);
			run->ledger.set_apart++;
		}
		run->ledger.fate[q->fate]++;
		run->ledger.arrived += q->fate == FATE_LOST ? 1 : 2;
	}
	run->ledger.sent = s->probes;
	run->ledger.classified = run->ledger.arrived;
}

static inline struct run_record synthetic_run(const struct synthetic *s, uint32_t run)
{
	struct run_record r = {
		.run = run,
		.started_utc_ns = 1767225600000000000 + run,
		.tsc_start = 1000,
		.tsc_hz = s->tsc_hz > 0 ? s->tsc_hz : 1e9,
		.tsc_hz_u_ppm = 1.5,
		.tsc_tick_ns = s->tick_said_ns > 0 ? s->tick_said_ns : s->tick_ns,
		.offered_pps = 9990,
		.intended_pps = 10000,
		.lateness_p50_ns = 40,
		.lateness_p99_ns = 40,
		.lateness_max_ns = 40,
		.gap_limit_ns = 400,
		.elapsed_ns = 100000LL * s->probes,
		.core_receive = 1,
		.pingpong_p50_ns = 170,
		.blocks_near = 4,
	};

	strcpy(r.protection, "fifo 50, affinity, mlock");
	return r;
}

static inline int synthetic_write(const struct synthetic *s, const char *dir, struct err *err)
{
	struct plan *plan = synthetic_plan(s);
	struct pair *pairs = calloc(s->probes, sizeof(*pairs));
	const struct stored_fact fact = { "cpu.model", "Synthetic & Sons <1>" };
	struct store *store = NULL;
	struct rng rng;
	int rc = pairs ? store_open_write(dir, plan, &store, err) : err_set(err, ERR_HOST, ENOMEM, "out of memory");
	uint32_t turns = s->turns ? s->turns : plan->turn_count;

	rng_init(&rng, 42);
	if (rc == 0)
		rc = store_put_facts(store, &fact, 1, err);
	for (uint32_t t = 0; rc == 0 && t < turns; t++) {
		double gross_ns = synthetic_gross_ns(s, &plan->turns[t], t);

		rc = store_begin_restart(store, t, err);
		for (uint32_t r = 0; rc == 0 && r < s->runs; r++) {
			struct run_record run = synthetic_run(s, r);

			synthetic_pairs(s, &plan->turns[t], gross_ns, pairs, &run, &rng);
			if (s->spoil)
				s->spoil(&run, t);
			if (t == s->unbalanced_turn && r == 0)
				run.ledger.classified--;
			rc = store_put_run(store, &run, pairs, s->probes, err);
			if (rc == 0 && plan->turns[t].cell < s->program_count)
				rc = store_put_values(store, s->values, s->value_count, err);
		}
		if (rc == 0)
			rc = store_commit_restart(store, "{\"kind\":\"synthetic\"}",
						  t == s->failed_turn ? "the pipeline did not come up" : NULL, err);
	}
	store_close(store);
	free(pairs);
	return rc;
}

#endif
