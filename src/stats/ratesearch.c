/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/ratesearch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEVELS_MOST = 24,
	LEVEL_RATIO_LOG2 = 3, /* trials of a level are at most eight times as long as those of the level before */
	STRETCH_MOST = 40,
};

#define STRETCH_HALF 0.5 /* away from a bound by no more than this share of the rate in a step */

struct bounds {
	int64_t lower_bps, upper_bps; /* 0: none */
};

struct ratesearch {
	struct ratesearch_config config;
	int64_t *rates_bps;        /* of a sweep, and of the checks */
	struct rate_trial *trials; /* capacity of them */
	uint32_t count, capacity;

	/* One level for each length of trials; the goal of all but the last asks for one trial at a rate. */
	unsigned level_count, level;
	struct rate_goal levels[LEVELS_MOST];
	struct bounds before; /* of the level before; to be confirmed in this one */
	unsigned stretch;     /* steps away from a bound in this level, each twice as far */
	bool bisecting;       /* the neighbourhood is found */
	bool checking;
	int64_t *checks_bps;
};

/* --- classification --- */

bool rate_trial_high(const struct rate_goal *goal, const struct rate_trial *trial)
{
	return trial->probe_loss > goal->probe_loss || trial->carrier_loss > goal->carrier_loss;
}

/* RFC 9971, "Load Classification Logic", with its names. */
enum rate_class rate_classify(const struct rate_goal *goal, const struct rate_trial *trials, uint32_t count,
			      int64_t rate_bps)
{
	double full_high = 0, full_low = 0, short_high = 0, short_low = 0, excess, high, full, whole, missing;

	for (uint32_t i = 0; i < count; i++) {
		bool loses = rate_trial_high(goal, &trials[i]), is_short = trials[i].duration_ns < goal->final_ns;
		double ns = (double)trials[i].duration_ns;

		if (trials[i].rate_bps != rate_bps)
			continue;
		if (is_short)
			*(loses ? &short_high : &short_low) += ns;
		else
			*(loses ? &full_high : &full_low) += ns;
	}
	excess = short_high - short_low * (goal->exceed / (1 - goal->exceed));
	high = full_high + fmax(0, excess);
	full = high + full_low;
	whole = fmax(full, (double)goal->sum_ns);
	missing = whole - full;
	if (high / whole > goal->exceed)
		return RATE_UPPER;
	return (high + missing) / whole <= goal->exceed ? RATE_LOWER : RATE_UNDECIDED;
}

static enum rate_class class_at(const struct ratesearch *s, unsigned level, int64_t rate_bps)
{
	return rate_classify(&s->levels[level], s->trials, s->count, rate_bps);
}

enum rate_class ratesearch_class(const struct ratesearch *s, int64_t rate_bps)
{
	return class_at(s, s->level_count - 1, rate_bps);
}

static struct bounds find_bounds(const struct ratesearch *s, unsigned level)
{
	struct bounds b = { 0 };

	for (uint32_t i = 0; i < s->count; i++) {
		int64_t rate = s->trials[i].rate_bps;

		if ((b.upper_bps == 0 || rate < b.upper_bps) && class_at(s, level, rate) == RATE_UPPER)
			b.upper_bps = rate;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		int64_t rate = s->trials[i].rate_bps;

		if (rate > b.lower_bps && (b.upper_bps == 0 || rate < b.upper_bps) &&
		    class_at(s, level, rate) == RATE_LOWER)
			b.lower_bps = rate;
	}
	return b;
}

static double width_of(struct bounds b)
{
	return b.lower_bps && b.upper_bps ? (double)(b.upper_bps - b.lower_bps) / (double)b.upper_bps : NAN;
}

/* --- set up --- */

static unsigned levels_of(const struct rate_goal *goal)
{
	double ratio = (double)goal->final_ns / (double)goal->initial_ns;
	unsigned steps = ratio > 1 ? (unsigned)ceil(log2(ratio) / LEVEL_RATIO_LOG2) : 0;

	return steps < LEVELS_MOST ? steps + 1 : LEVELS_MOST;
}

static void lay_out_levels(struct ratesearch *s)
{
	const struct rate_goal *goal = &s->config.goal;
	double ratio = (double)goal->final_ns / (double)goal->initial_ns;

	s->level_count = s->config.rate_count ? 1 : levels_of(goal);
	for (unsigned i = 0; i < s->level_count; i++) {
		unsigned to_go = s->level_count - 1 - i;
		struct rate_goal *g = &s->levels[i];

		*g = *goal;
		if (to_go == 0)
			continue;
		g->final_ns = (int64_t)((double)goal->initial_ns * pow(ratio, (double)i / (s->level_count - 1)));
		g->sum_ns = g->final_ns;
		g->width = fmin(goal->width * pow(2, to_go), STRETCH_HALF);
	}
}

/* Rates that one level may try: two to confirm, steps away, halvings. */
static double rates_in_level(const struct ratesearch_config *config)
{
	double span = log((double)config->most_bps / (double)config->least_bps);
	double width = fmin(config->goal.width, STRETCH_HALF);
	double steps = log2(1 / width) + span / log(2) + 3, halvings = fmax(0, log2(fmax(span, 1) / width)) + 2;

	return 4 + steps + halvings;
}

uint32_t ratesearch_trials_most(const struct ratesearch_config *config)
{
	double per_rate = ceil((double)config->goal.sum_ns / (double)config->goal.final_ns);
	double rates;

	if (config->rate_count)
		return (uint32_t)(per_rate * config->rate_count);
	rates = ceil(rates_in_level(config));
	/* the last level once more for every check, which may show that the answer lies below it */
	return (uint32_t)(rates * levels_of(&config->goal) + per_rate * rates * (1 + config->checks));
}

static int compare_rates(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct ratesearch *ratesearch_create(const struct ratesearch_config *config)
{
	struct ratesearch *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->capacity = ratesearch_trials_most(config);
	s->trials = calloc(s->capacity, sizeof(*s->trials));
	s->rates_bps = calloc((size_t)config->rate_count + 1, sizeof(*s->rates_bps));
	s->checks_bps = calloc((size_t)config->checks + 1, sizeof(*s->checks_bps));
	if (!s->trials || !s->rates_bps || !s->checks_bps) {
		ratesearch_destroy(s);
		return NULL;
	}
	if (config->rate_count) {
		memcpy(s->rates_bps, config->rates_bps, config->rate_count * sizeof(*s->rates_bps));
		qsort(s->rates_bps, config->rate_count, sizeof(*s->rates_bps), compare_rates);
	}
	s->config.rates_bps = s->rates_bps;
	lay_out_levels(s);
	return s;
}

void ratesearch_destroy(struct ratesearch *s)
{
	if (!s)
		return;
	free(s->trials);
	free(s->rates_bps);
	free(s->checks_bps);
	free(s);
}

/* --- which rate next --- */

static double stretch_share(struct ratesearch *s)
{
	double share = s->levels[s->level].width * pow(2, s->stretch < STRETCH_MOST ? s->stretch : STRETCH_MOST);

	s->stretch++;
	return fmin(share, STRETCH_HALF);
}

static int64_t below(struct ratesearch *s, int64_t upper_bps)
{
	double rate = (double)upper_bps * (1 - stretch_share(s));
	int64_t least = s->config.least_bps;

	if (rate >= (double)upper_bps - 1)
		rate = (double)upper_bps - 1;
	return rate < (double)least ? least : (int64_t)rate;
}

static int64_t above(struct ratesearch *s, int64_t lower_bps)
{
	double rate = (double)lower_bps / (1 - stretch_share(s));
	int64_t most = s->config.most_bps;

	if (rate <= (double)lower_bps + 1)
		rate = (double)lower_bps + 1;
	return rate > (double)most ? most : (int64_t)rate;
}

static int64_t middle(struct bounds b)
{
	int64_t rate = (int64_t)sqrt((double)b.lower_bps * (double)b.upper_bps);

	return rate <= b.lower_bps ? b.lower_bps + 1 : rate >= b.upper_bps ? b.upper_bps - 1 : rate;
}

/* What came through when too much was offered is a good guess of what can. */
static int64_t forwarded(const struct ratesearch *s)
{
	double rate = (double)s->trials[0].rate_bps * (1 - s->trials[0].carrier_loss);
	double most = (double)s->trials[0].rate_bps * (1 - s->levels[0].width);

	rate = fmin(rate, most);
	return rate < (double)s->config.least_bps ? s->config.least_bps : (int64_t)rate;
}

/* Between two bounds: on from the one found last in growing steps while that is nearer than halving. */
static int64_t between(struct ratesearch *s, struct bounds b)
{
	int64_t last = s->trials[s->count - 1].rate_bps, half = middle(b), rate = half;

	if (!s->bisecting && last == b.lower_bps)
		rate = above(s, last);
	else if (!s->bisecting && last == b.upper_bps)
		rate = below(s, last);
	if (last == b.lower_bps ? rate < half : rate > half)
		return rate;
	s->bisecting = true;
	return half;
}

/* What the level before found is measured first, with the trials of this one, the lower rate first. */
static int64_t to_confirm(const struct ratesearch *s, struct bounds b)
{
	int64_t lower = s->before.lower_bps, upper = s->before.upper_bps;

	if (lower && (!b.upper_bps || lower < b.upper_bps) && class_at(s, s->level, lower) == RATE_UNDECIDED)
		return lower;
	if (upper && (!b.upper_bps || upper < b.upper_bps) && upper > b.lower_bps &&
	    class_at(s, s->level, upper) == RATE_UNDECIDED)
		return upper;
	return 0;
}

/* 0: this level is done. */
static int64_t rate_in_level(struct ratesearch *s)
{
	struct bounds b = find_bounds(s, s->level);
	int64_t rate;

	if (s->count == 0)
		return s->config.most_bps;
	if (class_at(s, s->level, s->trials[s->count - 1].rate_bps) == RATE_UNDECIDED &&
	    s->trials[s->count - 1].duration_ns >= s->levels[s->level].final_ns)
		return s->trials[s->count - 1].rate_bps;
	rate = to_confirm(s, b);
	if (rate)
		return rate;
	if (!b.upper_bps)
		return b.lower_bps == s->config.most_bps ? 0 : above(s, b.lower_bps);
	if (!b.lower_bps && b.upper_bps == s->config.least_bps)
		return 0;
	if (!b.lower_bps)
		return s->count == 1 ? forwarded(s) : below(s, b.upper_bps);
	if (width_of(b) <= s->levels[s->level].width || b.upper_bps - b.lower_bps < 2)
		return 0;
	return between(s, b);
}

/* Once the search is done: rates below its answer, rising, spread evenly by ratio. Those above a bound are idle. */
static int64_t rate_to_check(struct ratesearch *s)
{
	struct bounds b = find_bounds(s, s->level);
	double least = (double)s->config.least_bps, ratio = (double)b.lower_bps / least;

	if (!b.lower_bps)
		return 0;
	if (!s->checking)
		for (uint32_t i = 0; i < s->config.checks; i++)
			s->checks_bps[i] = (int64_t)(least * pow(ratio, (i + 1.0) / (s->config.checks + 1)));
	s->checking = true;
	for (uint32_t i = 0; i < s->config.checks; i++)
		if (s->checks_bps[i] < b.lower_bps && ratesearch_class(s, s->checks_bps[i]) == RATE_UNDECIDED)
			return s->checks_bps[i];
	return 0;
}

static int64_t rate_of_sweep(const struct ratesearch *s)
{
	for (uint32_t i = 0; i < s->config.rate_count; i++)
		if (ratesearch_class(s, s->rates_bps[i]) == RATE_UNDECIDED)
			return s->rates_bps[i];
	return 0;
}

static int64_t length_of(const struct ratesearch *s)
{
	int64_t ns = 0;

	for (uint32_t i = 0; i < s->count; i++)
		ns += s->trials[i].duration_ns;
	return ns;
}

bool ratesearch_next(struct ratesearch *s, int64_t *ret_rate_bps, int64_t *ret_duration_ns)
{
	int64_t rate = 0;

	if (s->count == s->capacity || (s->config.limit_ns && length_of(s) >= s->config.limit_ns))
		return false;
	if (s->config.rate_count)
		rate = rate_of_sweep(s);
	while (!s->config.rate_count && !(rate = rate_in_level(s)) && s->level + 1 < s->level_count) {
		s->before = find_bounds(s, s->level);
		s->stretch = 0;
		s->bisecting = false;
		s->level++;
	}
	if (!rate && !s->config.rate_count)
		rate = rate_to_check(s);
	*ret_rate_bps = rate;
	*ret_duration_ns = s->levels[s->level].final_ns;
	return rate != 0;
}

void ratesearch_add(struct ratesearch *s, const struct rate_trial *trial)
{
	if (s->count < s->capacity)
		s->trials[s->count++] = *trial;
}

const struct rate_trial *ratesearch_trials(const struct ratesearch *s, uint32_t *ret_count)
{
	*ret_count = s->count;
	return s->trials;
}

/* --- the answer --- */

/* RFC 9971, "Conditional Throughput Logic": the loss of the trial that bounds the share which may exceed the goal. */
static double conditional(const struct ratesearch *s, int64_t rate_bps)
{
	const struct rate_goal *goal = &s->config.goal;
	double remaining = 0, loss = -1, seen = -1;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->trials[i].rate_bps == rate_bps && s->trials[i].duration_ns >= goal->final_ns)
			remaining += (double)s->trials[i].duration_ns * (1 - goal->exceed);
	while (remaining > 0) {
		double next = INFINITY;

		for (uint32_t i = 0; i < s->count; i++)
			if (s->trials[i].rate_bps == rate_bps && s->trials[i].duration_ns >= goal->final_ns &&
			    s->trials[i].carrier_loss > seen)
				next = fmin(next, s->trials[i].carrier_loss);
		if (!isfinite(next))
			break;
		for (uint32_t i = 0; i < s->count; i++)
			if (s->trials[i].rate_bps == rate_bps && s->trials[i].duration_ns >= goal->final_ns &&
			    s->trials[i].carrier_loss == next)
				remaining -= (double)s->trials[i].duration_ns;
		loss = seen = next;
	}
	return loss < 0 ? NAN : (double)rate_bps * (1 - loss);
}

static bool unsteady(const struct ratesearch *s, int64_t rate_bps)
{
	const struct rate_goal *goal = &s->config.goal;
	bool high = false, low = false;

	for (uint32_t i = 0; rate_bps && i < s->count; i++)
		if (s->trials[i].rate_bps == rate_bps && s->trials[i].duration_ns >= goal->final_ns)
			*(rate_trial_high(goal, &s->trials[i]) ? &high : &low) = true;
	return high && low;
}

/* Every trial that speaks against the rate is one in which the rate was not offered. */
static bool bound_by_sender(const struct ratesearch *s, int64_t rate_bps)
{
	bool any = false;

	for (uint32_t i = 0; rate_bps && i < s->count; i++) {
		const struct rate_trial *t = &s->trials[i];

		if (t->rate_bps != rate_bps || !rate_trial_high(&s->config.goal, t))
			continue;
		if (!t->sender_short)
			return false;
		any = true;
	}
	return any;
}

static void find_inversion(const struct ratesearch *s, int64_t upper_bps, struct ratesearch_result *ret)
{
	for (uint32_t i = 0; upper_bps && i < s->count; i++) {
		int64_t rate = s->trials[i].rate_bps;

		if (rate > upper_bps && rate > ret->inverted_by_bps && ratesearch_class(s, rate) == RATE_LOWER) {
			ret->inverted_bps = upper_bps;
			ret->inverted_by_bps = rate;
			ret->irregular |= RATESEARCH_INVERSION;
		}
	}
}

static int64_t lowest(const struct ratesearch *s)
{
	return s->config.rate_count ? s->rates_bps[0] : s->config.least_bps;
}

static int64_t highest(const struct ratesearch *s)
{
	return s->config.rate_count ? s->rates_bps[s->config.rate_count - 1] : s->config.most_bps;
}

/* Did it come to an end of its own? */
static bool complete(const struct ratesearch *s, struct bounds b, unsigned irregular)
{
	if (s->config.rate_count)
		return rate_of_sweep(s) == 0;
	if (irregular & (RATESEARCH_NO_LOWER | RATESEARCH_NO_UPPER))
		return true;
	return b.lower_bps && b.upper_bps && (width_of(b) <= s->config.goal.width || b.upper_bps - b.lower_bps < 2);
}

void ratesearch_result(const struct ratesearch *s, struct ratesearch_result *ret)
{
	struct bounds b = find_bounds(s, s->level_count - 1);

	*ret = (struct ratesearch_result){
		.lower_bps = b.lower_bps,
		.upper_bps = b.upper_bps,
		.conditional_bps = b.lower_bps ? conditional(s, b.lower_bps) : NAN,
		.width = width_of(b),
		.trials = s->count,
		.length_ns = length_of(s),
	};
	if (b.upper_bps && b.upper_bps == lowest(s))
		ret->irregular |= RATESEARCH_NO_LOWER;
	if (b.lower_bps && b.lower_bps == highest(s))
		ret->irregular |= RATESEARCH_NO_UPPER;
	if (unsteady(s, b.lower_bps) || unsteady(s, b.upper_bps))
		ret->irregular |= RATESEARCH_UNSTEADY;
	if (bound_by_sender(s, b.upper_bps))
		ret->irregular |= RATESEARCH_SENDER;
	if (!complete(s, b, ret->irregular))
		ret->irregular |= RATESEARCH_WIDE;
	find_inversion(s, b.upper_bps, ret);
}

const char *ratesearch_irregularity_words(enum ratesearch_irregularity one)
{
	switch (one) {
	case RATESEARCH_NO_LOWER:
		return "no rate met the goal";
	case RATESEARCH_NO_UPPER:
		return "every rate met the goal";
	case RATESEARCH_INVERSION:
		return "loss inversion";
	case RATESEARCH_UNSTEADY:
		return "trials at a bound disagree";
	case RATESEARCH_WIDE:
		return "bounds not as close as asked";
	case RATESEARCH_SENDER:
		return "the sender could not offer the upper bound evenly";
	default:
		return "?";
	}
}

/* --- how long it takes --- */

int64_t ratesearch_expected_ns(const struct ratesearch_config *config)
{
	double capacity = sqrt((double)config->least_bps * (double)config->most_bps);
	struct ratesearch *s = ratesearch_create(config);
	struct rate_trial trial = { 0 };
	int64_t ns;

	if (!s)
		return 0;
	while (ratesearch_next(s, &trial.rate_bps, &trial.duration_ns)) {
		trial.carrier_loss = trial.probe_loss = fmax(0, 1 - capacity / (double)trial.rate_bps);
		ratesearch_add(s, &trial);
	}
	ns = length_of(s);
	ratesearch_destroy(s);
	return ns;
}
