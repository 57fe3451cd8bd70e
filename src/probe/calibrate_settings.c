/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/calibrate_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/line_settings.h"

enum search_kind { SEARCH_BOUNDS, SEARCH_SWEEP };

static const char *const searches[] = { [SEARCH_BOUNDS] = "bounds", [SEARCH_SWEEP] = "sweep", NULL };

#define SHARE_UNIT 1e6

const struct setting calibrate_settings[] = {
	{ .name = "search",
	  .type = SETTING_CHOICE,
	  .choices = searches,
	  .fallback = "bounds",
	  .help = "bounds: narrow down where the goal is met; sweep: try the rates of `rates`" },
	{ .name = "probe_loss",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SHARE,
	  .fallback = "0.5%",
	  .most = 999999,
	  .help = "goal: most probes that a trial may lose" },
	{ .name = "carrier_loss",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SHARE,
	  .fallback = "0.5%",
	  .most = 999999,
	  .help = "goal: most of the carrier that a trial may lose" },
	{ .name = "initial",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "500ms",
	  .least = 10000000,
	  .most = 600000000000,
	  .help = "length of the first trials; they grow from it to `final`" },
	{ .name = "final",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "5s",
	  .least = 10000000,
	  .most = 600000000000,
	  .help = "goal: length of a trial that decides" },
	{ .name = "sum",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "15s",
	  .least = 10000000,
	  .most = 3600000000000,
	  .help = "goal: length of all trials at a rate after which it is decided" },
	{ .name = "exceed",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SHARE,
	  .fallback = "50%",
	  .most = 999999,
	  .help = "goal: share of them that may lose more at a rate that meets it" },
	{ .name = "width",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SHARE,
	  .fallback = "2%",
	  .least = 100,
	  .most = 500000,
	  .help = "bounds: ends when they are so close, as a share of the upper one" },
	{ .name = "least",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_BITRATE,
	  .fallback = "1Mbps",
	  .least = 1000,
	  .most = 100000000000,
	  .help = "bounds: the lowest rate to try; also the carrier of the warm-up" },
	{ .name = "most",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_BITRATE,
	  .fallback = "1Gbps",
	  .least = 1000,
	  .most = 100000000000,
	  .help = "bounds: the highest rate to try" },
	{ .name = "checks",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "2",
	  .most = 20,
	  .help = "bounds: rates below the answer that are tried in the end, for losses that come and go" },
	{ .name = "rates",
	  .type = SETTING_TEXT,
	  .value_name = "RATES",
	  .help = "sweep: the rates to try, as in 10Mbps 25Mbps 50Mbps" },
	{ .name = "limit",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "0",
	  .most = 86400000000000,
	  .help = "length of all trials of a search after which it is broken off; 0: none" },
	{ .name = "interval",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "5ms",
	  .least = 100000,
	  .most = 1000000000,
	  .help = "between the probes of a trial" },
	SETTING_PROBE_SIZE,
	SETTING_CARRIER_SIZE("; rates count it"),
	{ .name = "settle",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "100ms",
	  .most = 60000000000,
	  .help = "of the carrier before the first probe of a trial" },
	{ .name = "rest",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "200ms",
	  .most = 60000000000,
	  .help = "between trials, after the last frame has come" },
	SETTING_DEADLINE("lost"),
	{ .name = NULL },
};

int calibrate_rates(const char *text, int64_t *ret_bps, struct err *err)
{
	int count = 0;

	for (;;) {
		char one[32];
		size_t length;
		int rc;

		text += strspn(text, " \t,");
		length = strcspn(text, " \t,");
		if (length == 0)
			return count ? count : err_set(err, ERR_USAGE, EINVAL, "no rate is in it");
		if (length >= sizeof(one))
			return err_set(err, ERR_USAGE, EINVAL, "'%.40s' is no rate", text);
		if (count == CALIBRATE_RATES_MOST)
			return err_set(err, ERR_USAGE, E2BIG, "more than %d rates", CALIBRATE_RATES_MOST);
		memcpy(one, text, length);
		one[length] = '\0';
		rc = quantity_parse(one, QUANTITY_BITRATE, &ret_bps[count], err);
		if (rc < 0)
			return rc;
		if (ret_bps[count] < 1000)
			return err_set(err, ERR_USAGE, ERANGE, "'%s' is less than a frame in a second", one);
		for (int i = 0; i < count; i++)
			if (ret_bps[i] == ret_bps[count])
				return err_set(err, ERR_USAGE, EINVAL, "'%s' is in it twice", one);
		count++;
		text += length;
	}
}

static bool given(const struct settings *s, const char *name)
{
	return settings_get(s, name)->set;
}

/* Settings of the other kind of search are a mistake, not without effect. */
static void check_kind(const struct settings *s, void (*problem)(void *, const char *, const char *), void *context)
{
	static const char *const of_bounds[] = { "width", "least", "most", "checks", "initial", NULL };
	int64_t rates[CALIBRATE_RATES_MOST];
	struct err err = { 0 };

	if (settings_number(s, "search") == SEARCH_BOUNDS) {
		if (settings_text(s, "rates"))
			problem(context, "rates", "they are for search: sweep; leave them out, or say search: sweep");
		return;
	}
	if (!settings_text(s, "rates"))
		problem(context, "search", "sweep needs rates, such as rates: 10Mbps 25Mbps 50Mbps");
	else if (calibrate_rates(settings_text(s, "rates"), rates, &err) < 0)
		problem(context, "rates", err.message);
	for (const char *const *name = of_bounds; *name; name++)
		if (given(s, *name))
			problem(context, *name, "it is for search: bounds; a sweep tries what `rates` says");
}

void calibrate_settings_check(const struct settings *s,
			      void (*problem)(void *context, const char *setting, const char *message), void *context)
{
	check_kind(s, problem, context);
	if (settings_number(s, "search") == SEARCH_BOUNDS &&
	    settings_number(s, "initial") > settings_number(s, "final"))
		problem(context, given(s, "initial") ? "initial" : "final",
			"the first trials would be longer than the last; expected initial no longer than final");
	if (settings_number(s, "final") > settings_number(s, "sum"))
		problem(context, given(s, "final") ? "final" : "sum",
			"a trial would be longer than all trials at a rate; expected final no longer than sum");
	if (settings_number(s, "search") == SEARCH_BOUNDS && settings_number(s, "least") > settings_number(s, "most"))
		problem(context, given(s, "least") ? "least" : "most",
			"the lowest rate is over the highest; expected least no more than most");
	if (settings_number(s, "interval") >
	    settings_number(s, settings_number(s, "search") == SEARCH_BOUNDS ? "initial" : "final"))
		problem(context, "interval", "a trial would have no probe; expected no more than a trial's length");
}

static double share(const struct settings *s, const char *name)
{
	return (double)settings_number(s, name) / SHARE_UNIT;
}

void calibrate_config_from(const struct settings *s, struct ratesearch_config *ret_search, int64_t *rates_bps,
			   struct trial_config *ret_trial)
{
	bool sweep = settings_number(s, "search") == SEARCH_SWEEP;

	*ret_search = (struct ratesearch_config){
		.goal = { .probe_loss = share(s, "probe_loss"),
			  .carrier_loss = share(s, "carrier_loss"),
			  .initial_ns = settings_number(s, sweep ? "final" : "initial"),
			  .final_ns = settings_number(s, "final"),
			  .sum_ns = settings_number(s, "sum"),
			  .exceed = share(s, "exceed"),
			  .width = share(s, "width") },
		.least_bps = settings_number(s, "least"),
		.most_bps = settings_number(s, "most"),
		.checks = (uint32_t)settings_number(s, "checks"),
		.limit_ns = settings_number(s, "limit"),
	};
	*ret_trial = (struct trial_config){
		.interval_ns = settings_number(s, "interval"),
		.deadline_ns = settings_number(s, "deadline"),
		.goal_loss = share(s, "carrier_loss"),
		.settle_ns = settings_number(s, "settle"),
		.frame_bytes = (uint32_t)settings_number(s, "size"),
		.carrier_frame_bytes = (uint32_t)settings_number(s, "carrier_size"),
		.cpu = -1,
		.carrier_cpu = -1,
	};
	if (sweep) {
		int count = calibrate_rates(settings_text(s, "rates"), rates_bps, NULL);

		ret_search->rates_bps = rates_bps;
		ret_search->rate_count = count > 0 ? (uint32_t)count : 0; /* a plan has been checked */
	}
}

int calibrate_outline(const struct settings *probes, const char *directory, struct stream_outline *ret, struct err *err)
{
	int64_t rates_bps[CALIBRATE_RATES_MOST];
	struct ratesearch_config search;
	struct trial_config trial;

	(void)directory;
	(void)err;
	calibrate_config_from(probes, &search, rates_bps, &trial);
	*ret = (struct stream_outline){
		.probe_count = trial_probes(&trial, search.goal.final_ns),
		.frame_count = trial_probes(&trial, search.goal.final_ns),
		.longest_bytes =
			trial.frame_bytes > trial.carrier_frame_bytes ? trial.frame_bytes : trial.carrier_frame_bytes,
		.send_ns = ratesearch_expected_ns(&search),
	};
	return 0;
}
