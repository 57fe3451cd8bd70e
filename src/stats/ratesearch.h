/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_RATESEARCH_H
#define TARE_STATS_RATESEARCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The search for the highest rate that meets a goal, in the manner of MLRsearch (RFC 9971) with one goal: it says
 * which trial comes next, takes the trial's outcome, and in the end says which rates the answer lies between. It
 * measures nothing itself. Pure.
 *
 * A trial is of high loss if it lost more than the goal allows, of probes or of the carrier. All trials at a rate
 * together make the rate a lower bound (it is certain to meet the goal), an upper bound (it is certain not to), or leave
 * it undecided, by the rule of RFC 9971, section "Load Classification Logic". Short trials find the neighbourhood, longer
 * ones correct it, those of the final length decide; a rate is tried again until it is decided.
 */
enum rate_class { RATE_UNDECIDED, RATE_LOWER, RATE_UPPER };

struct rate_goal {
	double probe_loss, carrier_loss; /* most that a trial may lose, shares: 0 to less than 1 */
	int64_t initial_ns, final_ns;    /* length of the first trials, and of those that decide; initial <= final */
	int64_t sum_ns;                  /* length of all trials at a rate after which it is decided */
	double exceed;                   /* share of them that may be of high loss at a lower bound; less than 1 */
	double width;                    /* (upper - lower) / upper at which the search ends; more than 0 */
};

struct rate_trial {
	int64_t rate_bps, duration_ns;
	double probe_loss, carrier_loss; /* shares */
	bool sender_short;               /* what sends could not offer the rate: its loss is not the switch's alone */
};

struct ratesearch_config {
	struct rate_goal goal;
	int64_t least_bps, most_bps; /* where to search, ends included; 0 < least <= most */
	/* Rates below the bounds found that are tried in the end, for losses that come and go (inversion). */
	uint32_t checks;
	/* A sweep instead of a search: these rates, rising, and no others; least, most, width and checks are idle. */
	const int64_t *rates_bps;
	uint32_t rate_count; /* 0: a search */
	int64_t limit_ns;    /* length of all trials after which it ends; 0: none */
};

enum ratesearch_irregularity {
	RATESEARCH_NO_LOWER = 1 << 0,  /* even the least rate does not meet the goal */
	RATESEARCH_NO_UPPER = 1 << 1,  /* even the most does */
	RATESEARCH_INVERSION = 1 << 2, /* a rate does not meet the goal, though a higher one does */
	RATESEARCH_UNSTEADY = 1 << 3,  /* trials of full length at one of the bounds disagree */
	RATESEARCH_WIDE = 1 << 4,      /* it ended before the bounds were as close as asked */
	RATESEARCH_SENDER = 1 << 5,    /* what sends could not offer the upper bound: the switch may do more */
	RATESEARCH_IRREGULARITIES = 6
};

struct ratesearch_result {
	/*
	 * The least rate that does not meet the goal, and the highest below it that does (the relevant bounds: where losses
	 * are inverted the upper bound is believed). 0: there is none. Without an upper bound, the highest that does.
	 */
	int64_t lower_bps, upper_bps;
	double conditional_bps; /* what came through at the lower bound (conditional throughput); NaN without one */
	double width;           /* (upper - lower) / upper; NaN without both */
	unsigned irregular;     /* ratesearch_irregularity */
	int64_t inverted_bps, inverted_by_bps; /* with RATESEARCH_INVERSION: the least such rate, the highest above */
	uint32_t trials;
	int64_t length_ns; /* of all trials */
};

struct ratesearch;

/* NULL: out of memory. The rates of a sweep are copied. */
struct ratesearch *ratesearch_create(const struct ratesearch_config *config);
void ratesearch_destroy(struct ratesearch *s); /* NULL is fine */

/* Which trial comes next. False: the search is over. */
bool ratesearch_next(struct ratesearch *s, int64_t *ret_rate_bps, int64_t *ret_duration_ns);
/* What became of it. */
void ratesearch_add(struct ratesearch *s, const struct rate_trial *trial);

/* Of the trials so far. */
void ratesearch_result(const struct ratesearch *s, struct ratesearch_result *ret);
const struct rate_trial *ratesearch_trials(const struct ratesearch *s, uint32_t *ret_count);
enum rate_class ratesearch_class(const struct ratesearch *s, int64_t rate_bps);

bool rate_trial_high(const struct rate_goal *goal, const struct rate_trial *trial);

/* What trials at one rate make of it. */
enum rate_class rate_classify(const struct rate_goal *goal, const struct rate_trial *trials, uint32_t count,
			      int64_t rate_bps);

/* So many trials are never exceeded, whatever the device does. */
uint32_t ratesearch_trials_most(const struct ratesearch_config *config);

/* Length of all trials together against a device that loses nothing up to a rate, the middle of what is searched. */
int64_t ratesearch_expected_ns(const struct ratesearch_config *config);

/* In a few words: "loss inversion". One bit. */
const char *ratesearch_irregularity_words(enum ratesearch_irregularity one);

#endif
