/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/quantile.h"
#include "stats/sort.h"
#include "stats/special.h"

#define NOISE_NS      12.0 /* 90 % within 20 ns, as on two cores of a small virtual machine */
#define TARE_NS       40.0
#define TAIL          0.1 /* share of samples that wait longer, heavy-tailed */
#define SLOW          0.4 /* share of packets in the slower mode */
#define SLOW_NS       30.0
#define FAR_NS        2.0   /* between the two modes of restarts */
#define CLOCK_SAMPLES 20000 /* of the runs that the clock's error is taken from, as many as real runs have */
#define DRIFT_NS      0.5   /* standard deviation of a block's drift of the tare, first to last */

struct model_run {
	struct model m;
	int64_t *samples, *scratch;
	double *run_figures;
	uint32_t *runs;
	struct net_block *blocks;
	double program_median_ns, tare_median_ns; /* of the noise */
	double program_clock, tare_clock;         /* quantile_clock_error() */
};

/* The offset of one restart. All laws are symmetric around 0, so that the truth of a median is known exactly. */
static double draw_offset(const struct model *m, struct rng *rng)
{
	double z = rng_normal(rng), a, b, c;

	switch (m->shape) {
	case MODEL_HEAVY_TAILED:
		a = rng_normal(rng), b = rng_normal(rng), c = rng_normal(rng);
		return z / sqrt((a * a + b * b + c * c) / 3);
	case MODEL_TWO_MODE:
		return 0.5 * z + (rng_unit(rng) < 0.5 ? -FAR_NS : FAR_NS) / 2;
	default:
		return 3 * z;
	}
}

/* What a sample of this packet adds to its restart's level. The median over packets is noise_median(). */
static double draw_noise(const struct model *m, struct rng *rng, uint32_t packet, bool program)
{
	double x = NOISE_NS * rng_normal(rng);

	if (m->shape == MODEL_HEAVY_TAILED && rng_unit(rng) < TAIL)
		x += 20 * pow(1 - rng_unit(rng), -1 / 1.2);
	if (m->shape == MODEL_TWO_MODE && program && packet % 10 < 10 * SLOW)
		x += SLOW_NS;
	return x;
}

/* P(noise <= x) over the packets; the tail's law by the midpoint rule. */
static double noise_cdf(const struct model *m, bool program, double x)
{
	double below = normal_cdf(x / NOISE_NS), tail = 0;

	if (m->shape == MODEL_TWO_MODE && program)
		return (1 - SLOW) * below + SLOW * normal_cdf((x - SLOW_NS) / NOISE_NS);
	if (m->shape != MODEL_HEAVY_TAILED)
		return below;
	for (int i = 0; i < 2000; i++)
		tail += normal_cdf((x - 20 * pow((i + 0.5) / 2000, -1 / 1.2)) / NOISE_NS) / 2000;
	return (1 - TAIL) * below + TAIL * tail;
}

static double noise_median(const struct model *m, bool program)
{
	double low = -100, high = 100;

	for (int i = 0; i < 50; i++) {
		double x = (low + high) / 2;

		if (noise_cdf(m, program, x) < 0.5)
			low = x;
		else
			high = x;
	}
	return (low + high) / 2;
}

/*
 * A run at this level, read with the clock, in ticks. The bypass stamp falls anywhere in its step, which is
 * step 0 by choice of origin.
 */
static struct sample_set simulate_run(struct model_run *r, struct rng *rng, double level_ns, bool program,
				      uint32_t samples)
{
	const struct model *m = &r->m;

	for (uint32_t i = 0; i < samples; i++) {
		double bypass = m->tick_ns * rng_unit(rng);
		double path = bypass + level_ns + draw_noise(m, rng, i, program);

		r->samples[i] = (int64_t)floor(path / m->tick_ns);
	}
	sort_i64(r->samples, samples, r->scratch);
	return (struct sample_set){ .ticks = r->samples, .finite = samples, .quantum = 1 };
}

/* A restart at this level; returns its figure, and its runs' in ret_runs (may be NULL). */
static double simulate_restart(struct model_run *r, struct rng *rng, double level_ns, bool program, double *ret_runs)
{
	const struct model *m = &r->m;
	double *medians = r->run_figures + (size_t)m->blocks * m->runs;

	for (uint32_t run = 0; run < m->runs; run++) {
		struct sample_set set = simulate_run(r, rng, level_ns, program, m->samples);

		medians[run] = quantile_point(&set, 0.5).value * m->tick_ns;
		if (ret_runs != NULL)
			ret_runs[run] = medians[run];
	}
	return median_double(medians, m->runs);
}

static double clock_error(struct model_run *r, struct rng *rng, double level_ns, bool program)
{
	struct sample_set set = simulate_run(r, rng, level_ns, program, CLOCK_SAMPLES);

	return quantile_clock_error(&set, 0.5);
}

struct model_run *model_create(const struct model *m)
{
	struct model_run *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->m = *m;
	r->program_median_ns = noise_median(m, true);
	r->tare_median_ns = noise_median(m, false);
	r->samples = calloc((size_t)m->samples + CLOCK_SAMPLES, sizeof(*r->samples));
	r->scratch = calloc((size_t)m->samples + CLOCK_SAMPLES, sizeof(*r->scratch));
	r->run_figures = calloc((size_t)m->blocks * m->runs + m->runs, sizeof(*r->run_figures));
	r->runs = calloc(m->blocks, sizeof(*r->runs));
	r->blocks = calloc(m->blocks, sizeof(*r->blocks));
	if (!r->samples || !r->scratch || !r->run_figures || !r->runs || !r->blocks) {
		model_destroy(r);
		return NULL;
	}
	struct rng rng;

	rng_init(&rng, 1);
	r->program_clock = clock_error(r, &rng, TARE_NS + m->net_ns, true);
	r->tare_clock = clock_error(r, &rng, TARE_NS, false);
	return r;
}

void model_destroy(struct model_run *r)
{
	if (r == NULL)
		return;
	free(r->samples);
	free(r->scratch);
	free(r->run_figures);
	free(r->runs);
	free(r->blocks);
	free(r);
}

int model_campaign(struct model_run *r, struct rng *rng, uint32_t resamples, struct model_truth *ret_truth,
		   struct hierarchy *ret_gross, struct net *ret_net)
{
	const struct model *m = &r->m;
	double net_ns = m->net_ns + m->tick_ns * rng_unit(rng);
	double rate = 1 + m->tsc_u_ppm * 1e-6 * rng_normal(rng);
	double bias = m->stamp_bias_ns * (2 * rng_unit(rng) - 1);
	const struct net_conditions conditions = {
		.tick_ns = m->tick_ns,
		.tsc_u_ppm = m->tsc_u_ppm,
		.stamp_bias_ns = m->stamp_bias_ns,
		.gross_clock = r->program_clock,
		.tare_clock = r->tare_clock,
	};

	for (uint32_t b = 0; b < m->blocks; b++) {
		double drift = DRIFT_NS * rng_normal(rng), place = rng_unit(rng);
		struct net_block *block = &r->blocks[b];
		double gross = (TARE_NS + net_ns) * rate + bias + drift * place + draw_offset(m, rng);

		block->present = NET_GROSS | NET_BEFORE | NET_AFTER;
		block->before_ns = simulate_restart(r, rng, TARE_NS * rate + draw_offset(m, rng), false, NULL);
		block->gross_ns = simulate_restart(r, rng, gross, true, r->run_figures + (size_t)b * m->runs);
		block->after_ns = simulate_restart(r, rng, TARE_NS * rate + drift + draw_offset(m, rng), false, NULL);
		r->runs[b] = m->runs;
	}
	const struct run_figures in = { r->run_figures, r->runs, m->blocks };
	int rc = hierarchy_compute(&in, 0.95, resamples, rng_u64(rng), NULL, ret_gross);

	/* The gross has no budget of its own: what stays the same over a campaign belongs to its truth. */
	ret_truth->gross_ns = (TARE_NS + net_ns) * rate + bias + r->program_median_ns;
	ret_truth->net_ns = net_ns + r->program_median_ns - r->tare_median_ns;
	return rc != 0 ? rc : net_compute(r->blocks, m->blocks, &conditions, NULL, ret_net);
}

static bool holds(const struct interval *i, double truth)
{
	return i->state == FIGURE_NUMBER && i->low <= truth && truth <= i->high;
}

int model_coverage(const struct model *m, uint32_t campaigns, uint32_t resamples, uint64_t seed, struct coverage *ret)
{
	struct model_run *r = model_create(m);
	struct coverage c = { .campaigns = campaigns };
	struct rng rng;
	int rc = r == NULL ? -ENOMEM : 0;

	rng_init(&rng, seed);
	for (uint32_t i = 0; i < campaigns && rc == 0; i++) {
		struct model_truth truth;
		struct hierarchy gross;
		struct net net;

		rc = model_campaign(r, &rng, resamples, &truth, &gross, &net);
		if (rc != 0)
			break;
		double error = fabs(net.figure.value - truth.net_ns);

		c.interpolated += holds(&gross.interpolated, truth.gross_ns);
		c.bootstrap += holds(&gross.bootstrap, truth.gross_ns);
		c.order += holds(&gross.order, truth.gross_ns);
		c.net += holds(&net.interval, truth.net_ns);
		c.k2 += error <= net.budget.expanded_k2_ns;
		c.k3 += error <= net.budget.expanded_k3_ns;
	}
	model_destroy(r);
	if (rc == 0)
		*ret = c;
	return rc;
}

const char *model_shape_name(enum model_shape shape)
{
	static const char *const names[] = { "heavy-tailed", "two-mode", "restart-shifted" };

	return names[shape];
}
