/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/campaign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "campaign/effective.h"
#include "campaign/stopper.h"
#include "campaign/watch.h"
#include "probe/transit_places.h"

struct campaign {
	const struct plan *plan;
	struct store *store;
	const struct campaign_options *options;
	const struct measure_ops *ops;
	const atomic_bool *interrupted;
	struct measuring *measuring;
	struct watch watch;
	int32_t watch_cpu; /* -1: any */
	struct stopper *stopper;
	struct campaign_counts counts;
	uint32_t left;     /* turns still to run in this call, as far as can be told */
	uint32_t ran;      /* turns that ran in this call */
	uint32_t in_a_row; /* failures without a success between */
	int64_t start_ns;  /* CLOCK_MONOTONIC */
	int64_t turn_ns;   /* when the turn in flight began */
	int64_t spent_ns;  /* in the turns that ran */
	bool store_failed; /* the error that is on its way is the store's, not the restart's */
};

static int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool is_interrupted(const struct campaign *c)
{
	return atomic_load_explicit(c->interrupted, memory_order_relaxed);
}

uint64_t campaign_restart_seed(const struct plan *plan, uint32_t position)
{
	struct rng rng;

	/* stream 0 is the order of the plan itself */
	rng_init_stream(&rng, plan->seed, (uint64_t)position + 1);
	return rng_u64(&rng);
}

/* --- progress --- */

/* By the turns of this call where there are any, else by what the plan expects. */
static int64_t remaining_ns(const struct campaign *c, int64_t now_ns)
{
	int64_t each_ns, in_flight_ns = c->turn_ns ? now_ns - c->turn_ns : 0, left_ns;

	if (c->ran > 0)
		each_ns = c->spent_ns / c->ran;
	else if (c->plan->expected_ns > 0 && c->plan->turn_count > 0)
		each_ns = c->plan->expected_ns / c->plan->turn_count;
	else
		return c->left ? -1 : 0;
	left_ns = each_ns * c->left - in_flight_ns;
	return left_ns > 0 ? left_ns : 0;
}

static void report_step(const struct campaign *c, enum campaign_step step, const struct turn *turn, uint32_t run,
			const char *message)
{
	int64_t now_ns = monotonic_ns();
	struct campaign_progress p = {
		.step = step,
		.counts = c->counts,
		.turn = turn,
		.cell = turn ? &c->plan->cells[turn->cell] : NULL,
		.run = run,
		.elapsed_ns = now_ns - c->start_ns,
		.remaining_ns = remaining_ns(c, now_ns),
		.message = message,
	};

	if (c->options->progress)
		c->options->progress(c->options->context, &p);
}

/* --- one restart --- */

/* What is sampled beside runs is sampled where the carrier and the sender are, not where switches are. */
static void choose_watch_cpu(struct campaign *c)
{
	struct transit_places places;

	c->watch_cpu = transit_places_choose(&places, NULL) == 0 ? places.carrier : -1;
}

/* A run with the sampler beside it. What went wrong with the run says more than what then went wrong with the sampler. */
static int do_run(struct campaign *c, uint32_t run, const char **ret_invalid, struct err *err)
{
	struct err watch_err = { 0 };
	int r, w;

	if (!c->ops->watched || c->plan->resources_ns == 0)
		return c->ops->run(c->measuring, run, ret_invalid, err);
	c->watch.what = (struct watched){ 0 };
	c->ops->watched(c->measuring, &c->watch.what);
	w = watch_begin(&c->watch, c->plan->resources_ns, c->watch_cpu, &watch_err);
	r = c->ops->run(c->measuring, run, ret_invalid, err);
	if (w == 0)
		w = watch_end(&c->watch, &watch_err);
	if (r < 0 || w == 0)
		return r;
	if (err)
		*err = watch_err;
	return w;
}

static int put_run(struct campaign *c, struct err *err)
{
	int r = c->ops->put(c->measuring, c->store, err);

	if (r == 0 && c->ops->watched && c->plan->resources_ns > 0)
		r = watch_put(&c->watch, false, c->store, err);
	return r;
}

static int do_runs(struct campaign *c, const struct turn *turn, struct err *err)
{
	int r = 0;

	for (uint32_t run = 0; r == 0 && run < c->plan->runs; run++) {
		const char *invalid = NULL;

		if (is_interrupted(c))
			return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
		r = do_run(c, run, &invalid, err);
		if (r < 0)
			break;
		r = put_run(c, err);
		c->store_failed = r < 0;
		if (r == 0)
			report_step(c, CAMPAIGN_RUN_ENDS, turn, run + 1, invalid);
	}
	return r;
}

static void count_turn(struct campaign *c, enum store_turn before, bool good)
{
	c->counts.failed -= before == STORE_TURN_FAILED;
	c->counts.done += good;
	c->counts.failed += !good;
	c->in_a_row = good ? 0 : c->in_a_row + 1;
	c->spent_ns += monotonic_ns() - c->turn_ns;
	c->turn_ns = 0;
	c->ran++;
	c->left -= c->left > 0;
}

/* Measure and commit; a restart that fails is committed as such. *err is set only when the campaign cannot go on. */
static int do_turn(struct campaign *c, uint32_t position, struct err *err)
{
	const struct turn *turn = &c->plan->turns[position];
	enum store_turn before = store_turn_state(c->store, position);
	struct err why = { 0 };
	int r;

	c->turn_ns = monotonic_ns();
	c->store_failed = false;
	report_step(c, CAMPAIGN_RESTART_BEGINS, turn, 0, NULL);
	r = store_begin_restart(c->store, position, err);
	if (r < 0)
		return r;
	r = c->ops->open(c->measuring, turn, campaign_restart_seed(c->plan, position), &why);
	if (r == 0)
		r = do_runs(c, turn, &why);
	if (c->store_failed || r == -EINTR || (r < 0 && is_interrupted(c))) {
		c->ops->close(c->measuring);
		store_abandon_restart(c->store);
		if (!c->store_failed)
			r = err_set(&why, ERR_INTERRUPTED, EINTR, "interrupted");
		if (err)
			*err = why;
		return r;
	}
	if (r < 0 && !why.message[0])
		err_set(&why, ERR_HOST, -r, "%s", strerror(-r));
	/* the target is asked before it goes, and has gone before the disk is busy with the commit */
	r = store_commit_restart(c->store, c->ops->facts(c->measuring), r < 0 ? why.message : NULL, err);
	c->ops->close(c->measuring);
	if (r < 0)
		return r;
	count_turn(c, before, why.kind == ERR_NONE);
	if (why.kind == ERR_NONE)
		report_step(c, CAMPAIGN_RESTART_ENDS, turn, c->plan->runs, NULL);
	else
		report_step(c, CAMPAIGN_RESTART_FAILS, turn, 0, why.message);
	if (c->in_a_row < CAMPAIGN_FAILURES)
		return 0;
	return err_set(err, why.kind, why.code,
		       "%d restarts in a row failed, so the campaign stops; the last of them: %s", CAMPAIGN_FAILURES,
		       why.message);
}

/* --- the campaign --- */

static bool turn_due(const struct campaign *c, uint32_t position)
{
	const struct turn *turn = &c->plan->turns[position];
	const struct campaign_blocks *blocks = &c->options->blocks;

	if (stopper_passes(c->stopper, turn))
		return false;
	if (blocks->only && (turn->block < blocks->first || turn->block > blocks->last))
		return false;
	switch (store_turn_state(c->store, position)) {
	case STORE_TURN_OPEN:
		return true;
	case STORE_TURN_FAILED:
		return c->options->retry_failed;
	default:
		return false;
	}
}

/* What there is, what is due, and what cells that stop leave out. Again after each look at them. */
static void count_what_is_there(struct campaign *c)
{
	struct campaign_counts *n = &c->counts;

	*n = (struct campaign_counts){ .invalid_runs = n->invalid_runs };
	c->left = 0;
	stopper_counts(c->stopper, &n->cells_stopped, &n->cells);
	for (uint32_t t = 0; t < c->plan->turn_count; t++) {
		enum store_turn state = store_turn_state(c->store, t);
		bool due = turn_due(c, t);

		n->done += state == STORE_TURN_DONE;
		n->failed += state == STORE_TURN_FAILED;
		n->turns += due || state != STORE_TURN_OPEN;
		c->left += due && stopper_expects(c->stopper, &c->plan->turns[t]);
	}
	n->expected = n->done + n->failed + c->left;
	for (uint32_t t = 0; t < c->plan->turn_count; t++)
		n->expected -= turn_due(c, t) && store_turn_state(c->store, t) == STORE_TURN_FAILED;
}

static bool any_due(const struct campaign *c)
{
	for (uint32_t t = 0; t < c->plan->turn_count; t++)
		if (turn_due(c, t))
			return true;
	return false;
}

/* Cells are judged by whole blocks: before the first turn that is due in one. */
static int look(struct campaign *c, uint32_t block, struct err *err)
{
	int r = stopper_look(c->stopper, block, err);

	if (r == 0)
		count_what_is_there(c);
	return r;
}

static int do_turns(struct campaign *c, struct err *err)
{
	uint32_t looked = UINT32_MAX;
	int r = 0;

	for (uint32_t t = 0; r == 0 && t < c->plan->turn_count; t++) {
		uint32_t block = c->plan->turns[t].block;

		if (c->plan->stop.on && turn_due(c, t) && block != looked) {
			r = look(c, block, err);
			looked = block;
		}
		if (r < 0 || !turn_due(c, t))
			continue;
		r = is_interrupted(c) ? err_set(err, ERR_INTERRUPTED, EINTR, "interrupted") : do_turn(c, t, err);
	}
	if (r == 0)
		r = stopper_finish(c->stopper, err);
	if (r == 0 && c->plan->stop.on)
		count_what_is_there(c);
	return r;
}

/* How this call ended, for the report. On a disk that is full it cannot be written; the error that is returned says why. */
static void put_end(struct campaign *c, int r, const struct err *why)
{
	char text[640];

	snprintf(text, sizeof(text), "%u of %u restarts done, %u failed%s%s", c->counts.done, c->counts.turns,
		 c->counts.failed, r < 0 ? ": " : "", r < 0 ? why->message : "");
	(void)store_put_event(c->store, r == -EINTR ? "interrupted" : r < 0 ? "stopped" : "finished", text, NULL);
}

static const atomic_bool never;

static struct measure_setup setup_of(const struct plan *plan, const struct campaign_options *options)
{
	return (struct measure_setup){
		.plan = plan,
		.faults = options->faults,
		.allow_unstable_tsc = options->allow_unstable_tsc,
		.interrupted = options->interrupted ? options->interrupted : &never,
	};
}

static int begin(struct campaign *c, struct err *err)
{
	const struct measure_setup setup = setup_of(c->plan, c->options);
	bool resumed = c->counts.done + c->counts.failed > 0;
	char text[96];
	int r;

	if (c->plan->stop.on)
		snprintf(text, sizeof(text), "about %u of at most %u restarts to run", c->left, c->counts.turns);
	else
		snprintf(text, sizeof(text), "%u of %u restarts to run", c->left, c->counts.turns);
	r = store_put_event(c->store, resumed ? "resumed" : "started", text, err);
	if (r == 0 && c->options->fact_count)
		r = store_put_facts(c->store, c->options->facts, c->options->fact_count, err);
	if (r == 0)
		r = effective_settings_put(c->plan, c->store, err);
	return r < 0 ? r : c->ops->begin(&setup, c->store, &c->measuring, err);
}

static int cannot_run(const struct plan *plan, struct err *err)
{
	return err_set(err, ERR_USAGE, ENOTSUP, "%s: measure: %s: this tare cannot run it yet", plan->path,
		       measure_name(plan->measure));
}

int campaign_check(const struct plan *plan, const struct campaign_options *options, struct err *err)
{
	const struct measure_ops *ops = options->ops ? options->ops : measure_find_ops(plan->measure);
	const struct measure_setup setup = setup_of(plan, options);

	if (!ops)
		return cannot_run(plan, err);
	return ops->check ? ops->check(&setup, err) : 0;
}

int campaign_run(const struct plan *plan, struct store *store, const struct campaign_options *options,
		 struct campaign_counts *ret_counts, struct err *err)
{
	struct campaign c = {
		.plan = plan,
		.store = store,
		.options = options,
		.ops = options->ops ? options->ops : measure_find_ops(plan->measure),
		.interrupted = options->interrupted ? options->interrupted : &never,
		.start_ns = monotonic_ns(),
	};
	struct err why = { 0 };
	int r = stopper_create(plan, store, &c.stopper, &why);

	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	count_what_is_there(&c);
	choose_watch_cpu(&c);
	if (!c.ops) {
		r = cannot_run(plan, &why);
	} else if (any_due(&c)) {
		r = begin(&c, &why);
		report_step(&c, CAMPAIGN_BEGINS, NULL, 0, NULL);
		if (r == 0)
			r = do_turns(&c, &why);
		put_end(&c, r, &why);
		watch_release(&c.watch);
		c.ops->end(c.measuring);
	}
	if (r == 0)
		r = store_count_invalid_runs(store, &c.counts.invalid_runs, &why);
	*ret_counts = c.counts;
	stopper_destroy(c.stopper);
	if (r < 0 && err)
		*err = why;
	return r;
}
