/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_MODEL_H
#define TARE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "stats/hierarchy.h"
#include "stats/net.h"

/*
 * Differential campaigns of known truth, simulated sample by sample: each restart has its own offset, each
 * block a drift of the tare, each sample its noise, and both stamps of a sample are cut to the step of a
 * clock whose phase moves. What a budget calls Type B is drawn too, once a campaign, so that its terms are
 * tested and not only added.
 */
enum model_shape {
	MODEL_HEAVY_TAILED,    /* one sample in ten waits longer (Pareto, index 1.2); restarts as Student's t(3) */
	MODEL_TWO_MODE,        /* 40 % of the packets take 30 ns more; restarts have two modes too, 2 ns apart */
	MODEL_RESTART_SHIFTED, /* restarts are normal with 3 ns, well over the noise of a restart's median */
	MODEL_SHAPES
};

struct model {
	enum model_shape shape;
	uint32_t blocks, runs, samples; /* restarts of the cell, runs in each, samples in each run */
	double net_ns;                  /* the truth; a fraction that varies by campaign is added */
	double tick_ns;
	double stamp_bias_ns, tsc_u_ppm;
};

struct model_truth {
	double gross_ns; /* median of the distribution that the cell's restart figures come from */
	double net_ns;
};

/* Memory for one campaign at a time; NULL: no memory. */
struct model_run;
struct model_run *model_create(const struct model *m);
void model_destroy(struct model_run *r);

/* Simulate one campaign and evaluate it as a report would. 0 or -ENOMEM. */
int model_campaign(struct model_run *r, struct rng *rng, uint32_t resamples, struct model_truth *ret_truth,
		   struct hierarchy *ret_gross, struct net *ret_net);

/* How often each interval held the truth. */
struct coverage {
	uint32_t campaigns;
	uint32_t interpolated, bootstrap, order; /* of the cell's gross, over restarts */
	uint32_t net, k2, k3;                    /* of the net */
};

/* `campaigns` campaigns from one seed. 0 or -ENOMEM. */
int model_coverage(const struct model *m, uint32_t campaigns, uint32_t resamples, uint64_t seed, struct coverage *ret);

const char *model_shape_name(enum model_shape shape);

#endif
