/* SPDX-License-Identifier: Apache-2.0 */
#include "stopping_model.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "stats/quantile.h"
#include "stats/sort.h"
#include "stats/special.h"

enum { RESTARTS_MOST = 256 };

#define FAR     3.0
#define NEAR_SD 0.5

const char *stopping_law_name(enum stopping_law law)
{
	static const char *const names[] = { "normal", "skewed", "heavy-tailed", "two modes 70:30", "two modes 60:40" };

	return names[law];
}

static double far_share(enum stopping_law law)
{
	return law == LAW_TWO_MODES ? 0.3 : 0.4;
}

static double draw(enum stopping_law law, struct rng *rng)
{
	double z = rng_normal(rng), a, b, c;

	switch (law) {
	case LAW_SKEWED:
		return exp(0.8 * z) - 1;
	case LAW_HEAVY_TAILED:
		a = rng_normal(rng), b = rng_normal(rng), c = rng_normal(rng);
		return z / sqrt((a * a + b * b + c * c) / 3);
	case LAW_TWO_MODES:
	case LAW_TWO_MODES_60:
		return (rng_unit(rng) < far_share(law) ? FAR : 0) + NEAR_SD * z;
	default:
		return z;
	}
}

static double law_median(enum stopping_law law)
{
	double low = -2, high = FAR + 2, share = far_share(law);

	if (law != LAW_TWO_MODES && law != LAW_TWO_MODES_60)
		return 0;
	for (int i = 0; i < 60; i++) {
		double x = (low + high) / 2;

		if ((1 - share) * normal_cdf(x / NEAR_SD) + share * normal_cdf((x - FAR) / NEAR_SD) < 0.5)
			low = x;
		else
			high = x;
	}
	return (low + high) / 2;
}

/* Where a rule that stops at the first narrow interval would stop; rule->most if nowhere. */
static uint32_t first_narrow(const struct stopping_rule *rule, const double *figures, double *work)
{
	for (uint32_t n = rule->least; n < rule->most; n++) {
		memcpy(work, figures, n * sizeof(*work));
		sort_double(work, n);
		if (stopping_width(work, n) <= rule->width)
			return n;
	}
	return rule->most;
}

struct stopping_trial stopping_simulate(enum stopping_law law, double spread, const struct stopping_rule *rule,
					uint32_t in_a_row, uint32_t campaigns, uint64_t seed)
{
	struct stopping_trial t = { .campaigns = campaigns };
	double figures[RESTARTS_MOST], work[RESTARTS_MOST], median = law_median(law);
	struct rng rng;

	TARE_ASSERT(rule->most <= RESTARTS_MOST);
	rng_init(&rng, seed);
	for (uint32_t c = 0; c < campaigns; c++) {
		struct interval i;
		uint32_t n;

		for (n = 0; n < rule->most; n++)
			figures[n] = 1 + spread * (draw(law, &rng) - median);
		n = in_a_row == 1 ? first_narrow(rule, figures, work)
				  : stopping_judge(rule, figures, rule->most, work).restarts;
		memcpy(work, figures, n * sizeof(*work));
		sort_double(work, n);
		i = median_interval(work, n, 0.95);
		t.covered += i.low <= 1 && 1 <= i.high;
		i = median_interval_interpolated(work, n, 0.95);
		t.interpolated += i.low <= 1 && 1 <= i.high;
		t.reached += n < rule->most;
		t.restarts += (double)n / campaigns;
	}
	return t;
}
