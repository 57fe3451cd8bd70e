/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/build.h"
#include "store/trial.h"

/* Searches and their trials, from the store to the result. */

static double mbps_or_none(int64_t bps)
{
	return bps ? (double)bps / 1e6 : NAN;
}

static const char *irregular_words(unsigned irregular, struct arena *arena)
{
	const char *words = "";

	for (unsigned bit = 0; words && bit < RATESEARCH_IRREGULARITIES; bit++)
		if (irregular & 1u << bit)
			words = arena_printf(arena, "%s%s%s", words, *words ? "; " : "",
					     ratesearch_irregularity_words((enum ratesearch_irregularity)(1u << bit)));
	return words;
}

static struct trial_result trial_of(const struct trial *t)
{
	return (struct trial_result){
		.rate_mbps = (double)t->rate_bps / 1e6,
		.length_s = (double)t->duration_ns / 1e9,
		.offered_mbps = t->offered_bps / 1e6,
		.probe_loss = 100 * trial_probe_loss(t),
		.carrier_loss = 100 * trial_carrier_loss(t),
		.high = t->high,
		.p50_us = t->p50_us,
		.p99_us = t->p99_us,
		.hole_ms = (double)t->hole_ns / 1e6,
		.sender_short = t->sender_short,
		.tries = t->tries,
	};
}

/* 0 or -ENOMEM. */
static int take(struct result *r, const struct search_record *s, const struct trial *trials, uint32_t count,
		struct search_result *ret)
{
	ret->sweep = s->sweep;
	ret->goal_probe_loss = 100 * s->goal.probe_loss;
	ret->goal_carrier_loss = 100 * s->goal.carrier_loss;
	ret->goal_final_s = (double)s->goal.final_ns / 1e9;
	ret->lower_mbps = mbps_or_none(s->result.lower_bps);
	ret->upper_mbps = mbps_or_none(s->result.upper_bps);
	ret->throughput_mbps = s->result.conditional_bps / 1e6;
	ret->width = 100 * s->result.width;
	ret->total_s = (double)s->result.length_ns / 1e9;
	ret->irregular = irregular_words(s->result.irregular, &r->arena);
	ret->trials = arena_array(&r->arena, count + 1, sizeof(*ret->trials));
	if (!ret->irregular || !ret->trials)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		ret->trials[ret->trial_count++] = trial_of(&trials[i]);
	return 0;
}

static int read_one(struct result *r, struct store *store, const struct stored_run *run, struct search_result *ret,
		    bool *ret_found, struct err *err)
{
	struct search_record search;
	struct trial *trials;
	struct arena arena;
	uint32_t count;
	int rc;

	arena_init(&arena, 0);
	rc = store_read_search(store, run, &arena, &search, &trials, &count, ret_found, err);
	if (rc == 0 && *ret_found && take(r, &search, trials, count, ret) < 0)
		rc = err_set(err, ERR_HOST, ENOMEM, "out of memory for the trials of a search");
	arena_release(&arena);
	return rc;
}

int searches_build(struct result *r, struct store *store, const struct stored_restart *stored, uint32_t count,
		   struct err *err)
{
	uint32_t most = 0;
	int rc = 0;

	for (uint32_t i = 0; i < count; i++)
		most += stored[i].run_count;
	r->searches = arena_array(&r->arena, most + 1, sizeof(*r->searches));
	if (!r->searches)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for %u searches", most);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; rc == 0 && !stored[i].failure && j < stored[i].run_count; j++) {
			struct search_result s = { .cell = stored[i].cell, .order = i, .run = j };
			bool found;

			rc = read_one(r, store, &stored[i].runs[j], &s, &found, err);
			if (rc == 0 && found)
				r->searches[r->search_count++] = s;
		}
	return rc;
}
