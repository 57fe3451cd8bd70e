/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "report/build.h"

/* Law 1: every latency names its two stamp points and its clock. */
static const struct name_value differential_points[] = {
	{ "gross",
	  "rx_path - rx_bypass: the copy through the pipeline less the copy around it, both stamped by the TSC "
	  "right after their receive burst returned" },
	{ "tare", "the same difference on the null program, in the same block" },
	{ "net", "gross less tare: transmit time and everything the two paths share cancel" },
	{ "one-way",
	  "rx_path - tx: TSC at sending to TSC at receiving; holds the target, the receiver and their rings" },
	{ "one-way, intended",
	  "rx_path - sched: from the time the probe should have left, free of coordinated omission" },
	{ "truth", "emission of the path copy less that of the bypass copy, as the target itself recorded them" },
};

static const struct name_value differential_method[] = {
	{ "quantiles", "rank over the probes sent, less those set apart; a probe without a latency (lost, late, "
		       "unparsed, shadowed, unstamped) counts as infinite. A quantile that falls there prints 'lost'. "
		       "Ties of the clock's step are spread over the step." },
	{ "refusals", "a percentile is printed only where its 95 % distribution-free interval is finite: p99 from 368 "
		      "probes, p99.9 from 3688, p99.99 from 36,887" },
	{ "levels", "samples make a run figure, the median of run figures is the restart figure, the median of restart "
		    "figures the cell figure; restarts are the independent unit, and their samples are never pooled" },
	{ "net", "per block: gross of the cell less the mean of the two null restarts that bracket the block; the net "
		 "figure is the median over blocks" },
	{ "uncertainty",
	  "U (k=2) is the combined standard uncertainty of the budget times Student's factor with the "
	  "coverage that k = 2 has for a normal distribution (95.45 %), at the effective degrees of freedom" },
	{ "intervals",
	  "to print: order statistics over restarts, interpolated to 95 %, each side widened by the Type B "
	  "terms; beside it the plain order statistics with their real confidence, and a hierarchical "
	  "bootstrap (restarts, then runs) at 95 %; in the net's bootstrap a block keeps its tare" },
	{ "within 20 ns", "share of ranked probes that lie within 20 ns of their run's median" },
	{ "modes", "looked for in the medians of each packet over all runs, its own tare taken off" },
	{ "set apart",
	  "matched, but a receiver had not looked at its ring for longer than the limit, so a stamp may be "
	  "late: counted, and in no figure" },
	{ "invalid",
	  "a run whose ledger does not balance, or disagrees with its own samples, is kept, shown, and in no "
	  "figure" },
};

static const struct name_value transit_points[] = {
	{ "p50, p99",
	  "p4_out - p4_in: the program's egress stamp less its ingress stamp, both by the switch's own clock, "
	  "in steps of 1 us" },
	{ "tx", "kernel stamp at host a's interface, as the probe leaves it (CLOCK_REALTIME)" },
	{ "sw_in, sw_out", "the kernel's stamp (CLOCK_REALTIME) at the switch's ingress and egress interface" },
	{ "rx", "the kernel's stamp (CLOCK_REALTIME) at host b's interface" },
	{ "one-way", "rx - tx" },
	{ "one-way, intended", "rx - sched: from the time the probe should have left, free of coordinated omission" },
	{ "chain", "tx, sw_in, p4_in, p4_out, sw_out, rx; p4 stamps put on the host's clock by the alignment" },
};

static const struct name_value transit_method[] = {
	{ "regimes",
	  "along probe intervals and carrier rates: the one change that explains the levels best, by least squares "
	  "of logarithms with weights 1/u^2, with the places that hold 95 %; levels next to each other by "
	  "Student's t, adjusted over the steps by Holm" },
	{ "alignment",
	  "a packet enters the program after it entered the interface and leaves it before it left: over all "
	  "probes of a run that bounds the offset between the switch's clock and the host's from both "
	  "sides. The middle is used; the width is its uncertainty. No offset fits all: a clock stepped, "
	  "and the probes are aligned in segments." },
	{ "regimes", "cold: no carrier, probes 10 ms apart or more; warm: the carrier runs from before the warm-up to "
		     "after the last probe; dense: no carrier, probes closer than 10 ms" },
	{ "chain", "each link is a difference of medians since tx, so that the links add up to the median of rx - tx" },
	{ "ratios", "of the cells' medians; the interval is Student's, from the spread between restarts, on "
		    "logarithms; differences "
		    "are Student's t of the same model, adjusted over the family by Holm" },
};

static const struct name_value value_points[] = {
	{ "quantities", "numbers that each run found, named and with their units; docs/method.md says what each is" },
};

static const struct name_value value_method[] = {
	{ "levels",
	  "a run gives a number, the median of a restart's valid runs is the restart's figure, the median of the "
	  "restart figures the cell's; restarts are the independent unit" },
	{ "intervals",
	  "order statistics over restarts, interpolated to 95 %; beside them the plain order statistics with "
	  "their real confidence, and a hierarchical bootstrap (restarts, then runs). None below 6 restarts" },
};

/* In the words of RFC 9971. */
static const struct name_value calibrate_method[] = {
	{ "trial",
	  "so many frames of carrier at a constant rate with probes among them, on a line that is quiet before and "
	  "after: what is missing then is lost. What the sender could not send in time is lost with the rest, and "
	  "marked" },
	{ "lower and upper bound",
	  "a rate at which trials are certain to meet the goal, or certain not to (load classification of RFC 9971); "
	  "reported are the relevant ones: the least upper bound, and the highest lower bound below it, so that where "
	  "losses are inverted the lower rate is believed" },
	{ "throughput", "what came through at the lower bound (conditional throughput): the rate less the loss of the "
			"trial that bounds the share which may exceed the goal" },
	{ "search",
	  "trials short at first and long at last, those of each length confirming the bounds of the one before; "
	  "rates below the answer are checked in the end" },
};

static const struct name_value comparison_method[] = {
	{ "ratios",
	  "of the cells' figures; the interval is Student's, from the spread between restarts, on logarithms" },
	{ "differences", "p is Student's t of the same model, adjusted over the family by Holm: the chance of any "
			 "false positive in it is "
			 "below 5 %. 'Intervals apart' says of how many pairs the 95 % intervals do not meet" },
	{ "exponents",
	  "b of the least squares line through logarithms, y = a x^b; its 95 % interval draws restarts again" },
};

static int copy(struct arena *arena, const struct name_value *from, uint32_t count, struct name_value **ret,
		uint32_t *ret_count)
{
	*ret = arena_array(arena, count, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		(*ret)[i] = from[i];
	*ret_count = count;
	return 0;
}

static int describe_transit(struct result *r)
{
	/* refusals, levels, quantiles and what is invalid are the same for both */
	const uint32_t own = sizeof(transit_method) / sizeof(transit_method[0]);
	int rc = copy(&r->arena, transit_points, sizeof(transit_points) / sizeof(transit_points[0]), &r->points,
		      &r->point_count);

	r->method = arena_array(&r->arena, own + 4, sizeof(*r->method));
	if (rc < 0 || !r->method)
		return -ENOMEM;
	for (uint32_t i = 0; i < own; i++)
		r->method[r->method_count++] = transit_method[i];
	for (size_t i = 0; i < sizeof(differential_method) / sizeof(differential_method[0]); i++) {
		const char *name = differential_method[i].name;

		if (strcmp(name, "quantiles") == 0 || strcmp(name, "refusals") == 0 || strcmp(name, "levels") == 0 ||
		    strcmp(name, "invalid") == 0)
			r->method[r->method_count++] = differential_method[i];
	}
	return 0;
}

static int describe_values(struct result *r)
{
	const uint32_t own = sizeof(value_method) / sizeof(value_method[0]);
	const uint32_t shared = sizeof(comparison_method) / sizeof(comparison_method[0]);
	const uint32_t searches =
		strcmp(r->measure, "calibrate") == 0 ? sizeof(calibrate_method) / sizeof(calibrate_method[0]) : 0;
	int rc = copy(&r->arena, value_points, sizeof(value_points) / sizeof(value_points[0]), &r->points,
		      &r->point_count);

	r->method = arena_array(&r->arena, own + searches + shared + 1, sizeof(*r->method));
	if (rc < 0 || !r->method)
		return -ENOMEM;
	for (uint32_t i = 0; i < own; i++)
		r->method[r->method_count++] = value_method[i];
	for (uint32_t i = 0; i < searches; i++)
		r->method[r->method_count++] = calibrate_method[i];
	for (uint32_t i = 0; i < shared; i++)
		r->method[r->method_count++] = comparison_method[i];
	for (size_t i = 0; i < sizeof(differential_method) / sizeof(differential_method[0]); i++)
		if (strcmp(differential_method[i].name, "invalid") == 0)
			r->method[r->method_count++] = differential_method[i];
	return 0;
}

int method_describe(struct result *r)
{
	int rc;

	if (strcmp(r->measure, "transit") == 0)
		return describe_transit(r);
	if (strcmp(r->measure, "differential") != 0)
		return describe_values(r);
	rc = copy(&r->arena, differential_points, sizeof(differential_points) / sizeof(differential_points[0]),
		  &r->points, &r->point_count);
	return rc ? rc
		  : copy(&r->arena, differential_method, sizeof(differential_method) / sizeof(differential_method[0]),
			 &r->method, &r->method_count);
}
