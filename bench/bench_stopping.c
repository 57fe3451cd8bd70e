/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the interval at which a plan with stop: ends hold the truth? Simulated campaigns (tests/model) over laws of restart
 * figures, spreads, and widths asked for; beside it the rule that stops at the first narrow interval. Pure arithmetic from
 * a fixed seed: the same numbers on every machine. The table goes to stderr.
 */
#include <stdio.h>
#include <stdlib.h>

#include "say.h"
#include "stopping_model.h"

static const double spreads[] = { 0.01, 0.02, 0.03, 0.05, 0.08 };
static const struct stopping_rule rules[] = { { 0.05, 6, 40 }, { 0.05, 10, 40 }, { 0.05, 6, 100 } };

static uint32_t campaigns = 4000;

/* Returns the lowest coverage of the rule; of the naive one in *ret_first. */
static double one_rule(const struct stopping_rule *rule, double *ret_first, double *ret_interpolated)
{
	double least = 100;

	fprintf(stderr, "width %.0f %%, restarts %u..%u\n%-16s %7s %9s %12s %9s %8s   %s\n", 100 * rule->width,
		rule->least, rule->most, "law", "spread", "covered %", "interpolated", "restarts", "narrow %",
		"first narrow: covered %, restarts");
	for (int law = 0; law < STOPPING_LAWS; law++)
		for (size_t s = 0; s < sizeof(spreads) / sizeof(spreads[0]); s++) {
			uint64_t seed = 100 * (uint64_t)law + s;
			struct stopping_trial t = stopping_simulate((enum stopping_law)law, spreads[s], rule,
								    STOPPING_IN_A_ROW, campaigns, seed);
			struct stopping_trial first =
				stopping_simulate((enum stopping_law)law, spreads[s], rule, 1, campaigns, seed);
			double percent = 100.0 / campaigns;

			fprintf(stderr, "%-16s %7.2f %9.1f %12.1f %9.1f %8.0f   %.1f  %.1f\n",
				stopping_law_name((enum stopping_law)law), spreads[s], t.covered * percent,
				t.interpolated * percent, t.restarts, t.reached * percent, first.covered * percent,
				first.restarts);
			*ret_interpolated = t.interpolated * percent < *ret_interpolated ? t.interpolated * percent
											 : *ret_interpolated;
			least = t.covered * percent < least ? t.covered * percent : least;
			*ret_first = first.covered * percent < *ret_first ? first.covered * percent : *ret_first;
		}
	return least;
}

int main(int argc, char **argv)
{
	double least = 100, first = 100, interpolated = 100;

	if (argc > 1)
		campaigns = (uint32_t)strtoul(argv[1], NULL, 10);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		double of_rule = one_rule(&rules[i], &first, &interpolated);

		least = of_rule < least ? of_rule : least;
	}
	say("stopping_coverage_min", least, "%", campaigns,
	    "95 % interval at stopping; lowest of 5 laws, 5 spreads, 3 rules; simulated");
	say("stopping_interpolated_min", interpolated, "%", campaigns, "the same of the interpolated interval");
	say("stopping_first_narrow_min", first, "%", campaigns,
	    "the same, had it stopped at the first narrow interval");
	return 0;
}
