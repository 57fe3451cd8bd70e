/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "campaign/campaign.h"
#include "fake_plan.h"
#include "scratch.h"

/*
 * The order of things, told by a measure that measures nothing: it writes down
 * what it is asked for, and fails or is interrupted where the script says so.
 */
enum { BLOCKS = 3, TURNS = BLOCKS * FAKE_BLOCK, CALLS_MOST = 400 };

static struct {
	char calls[CALLS_MOST]; /* b begin, o open, r run, p put, f facts, c close, e end */
	unsigned call_count;
	uint64_t seeds[TURNS];
	struct turn turns[TURNS * 2];
	unsigned opened;
	unsigned fail_opens; /* bit n: the nth open fails */
	unsigned fail_run;   /* the nth run (from 1) of all fails */
	unsigned invalid_run;
	unsigned stop_at_run; /* during the nth run the flag is raised */
	unsigned runs;
	int begin_fails;
	unsigned put_fails; /* the nth put (from 1) of all fails, as a full disk does */
	atomic_bool flag;
} fake;

static void called(char what)
{
	TARE_ASSERT(fake.call_count < CALLS_MOST - 1);
	fake.calls[fake.call_count++] = what;
}

static int fake_begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	static const struct stored_fact fact = { "fake.clock", "sundial" };

	(void)setup;
	called('b');
	*ret = (struct measuring *)&fake;
	if (fake.begin_fails)
		return err_set(err, ERR_HOST, ENODEV, "no clock");
	return store_put_facts(store, &fact, 1, err);
}

/* As the flag has it, to show that options reach it. */
static int fake_check(const struct measure_setup *setup, struct err *err)
{
	assert_non_null(setup->interrupted);
	return setup->allow_unstable_tsc ? err_set(err, ERR_HOST, ENODEV, "no clock") : 0;
}

static int fake_open(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	unsigned n = fake.opened++;

	(void)m;
	called('o');
	fake.turns[n] = *turn;
	fake.seeds[n % TURNS] = seed;
	if (fake.fail_opens >> n & 1)
		return err_set(err, ERR_HOST, EIO, "target %u did not open", n);
	return 0;
}

static int fake_run(struct measuring *m, uint32_t run, const char **ret_invalid, struct err *err)
{
	(void)m;
	(void)run;
	called('r');
	fake.runs++;
	if (fake.runs == fake.fail_run)
		return -EPIPE; /* without a message of its own */
	if (fake.runs == fake.invalid_run)
		*ret_invalid = "ledger does not balance";
	if (fake.runs == fake.stop_at_run) {
		atomic_store(&fake.flag, true);
		return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
	}
	return 0;
}

static int fake_put(struct measuring *m, struct store *store, struct err *err)
{
	struct run_record record = { .run = (fake.runs - 1) % 2, .tsc_hz = 1e9 };
	struct pair pair = { .seq = 0 };

	(void)m;
	called('p');
	if (fake.runs == fake.put_fails)
		return err_set(err, ERR_HOST, ENOSPC, "disk full");
	if (fake.runs == fake.invalid_run)
		strcpy(record.invalid, "ledger does not balance");
	return store_put_run(store, &record, &pair, 1, err);
}

static const char *fake_facts(struct measuring *m)
{
	(void)m;
	called('f');
	return "{}";
}

static void fake_close(struct measuring *m)
{
	(void)m;
	called('c');
}

static void fake_end(struct measuring *m)
{
	(void)m;
	called('e');
}

static const struct measure_ops fake_ops = {
	.measure = MEASURE_DIFFERENTIAL,
	.begin = fake_begin,
	.open = fake_open,
	.run = fake_run,
	.put = fake_put,
	.facts = fake_facts,
	.close = fake_close,
	.end = fake_end,
};

static struct {
	unsigned steps[CAMPAIGN_RESTART_FAILS + 1];
	struct campaign_progress last;
	char message[256];
} seen;

static void watch(void *context, const struct campaign_progress *p)
{
	assert_ptr_equal(context, &seen);
	assert_true(p->counts.done + p->counts.failed <= p->counts.turns);
	assert_true(p->elapsed_ns >= 0);
	seen.steps[p->step]++;
	seen.last = *p;
	if (p->message)
		snprintf(seen.message, sizeof(seen.message), "%s", p->message);
}

static struct campaign_options options(void)
{
	return (struct campaign_options){
		.ops = &fake_ops, .interrupted = &fake.flag, .progress = watch, .context = &seen
	};
}

static int setup(void **state)
{
	memset(&fake, 0, sizeof(fake));
	memset(&seen, 0, sizeof(seen));
	return make_scratch(state);
}

static struct store *open_store(void)
{
	struct err err = { 0 };
	struct store *s = NULL;

	if (store_open_write(scratch, fake_plan("text", BLOCKS), &s, &err) != 0)
		fail_msg("%s", err.message);
	return s;
}

static int run_once(struct campaign_options o, struct campaign_counts *ret_counts, struct err *err)
{
	struct store *s = open_store();
	int r;

	fake.call_count = fake.opened = fake.runs = 0;
	memset(fake.calls, 0, sizeof(fake.calls));
	r = campaign_run(fake_plan("text", BLOCKS), s, &o, ret_counts, err);
	store_close(s);
	return r;
}

/* Restarts and events as they are in the store. */
static uint32_t stored(struct arena *arena, struct stored_restart **ret, struct stored_campaign *ret_campaign)
{
	struct err err = { 0 };
	struct store *s;
	uint32_t count;

	arena_init(arena, 0);
	assert_int_equal(store_open_read(scratch, &s, &err), 0);
	assert_int_equal(store_read_restarts(s, arena, ret, &count, &err), 0);
	assert_int_equal(store_read_campaign(s, arena, ret_campaign, &err), 0);
	store_close(s);
	return count;
}

static void all_turns_run_in_the_order_of_the_plan(void **state)
{
	const struct plan *plan = fake_plan("text", BLOCKS);
	struct campaign_counts counts;
	struct stored_restart *restarts;
	struct stored_campaign campaign;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(run_once(options(), &counts, &err), 0);
	assert_int_equal(counts.turns, TURNS);
	assert_int_equal(counts.done, TURNS);
	assert_int_equal(counts.failed, 0);
	assert_int_equal(fake.opened, TURNS);
	for (uint32_t t = 0; t < TURNS; t++) {
		assert_memory_equal(&fake.turns[t], &plan->turns[t], sizeof(struct turn));
		assert_true(fake.seeds[t] == campaign_restart_seed(plan, t));
		for (uint32_t u = 0; u < t; u++)
			assert_true(fake.seeds[t] != fake.seeds[u]);
	}
	/* each run is put before the next; the target is asked, then closed */
	assert_memory_equal(fake.calls, "borprpfcorprpfc", 15);
	assert_int_equal(fake.calls[fake.call_count - 1], 'e');
	assert_int_equal(stored(&arena, &restarts, &campaign), TURNS);
	assert_string_equal(campaign.facts[0].value, "sundial");
	assert_string_equal(campaign.events[0].kind, "started");
	assert_string_equal(campaign.events[1].kind, "finished");
	arena_release(&arena);
	/* nothing is left to do, and nothing is done */
	assert_int_equal(run_once(options(), &counts, &err), 0);
	assert_int_equal(fake.call_count, 0);
	assert_int_equal(counts.done, TURNS);
}

static void progress_counts_to_the_end(void **state)
{
	struct campaign_counts counts;
	struct err err = { 0 };

	(void)state;
	fake.invalid_run = 5;
	assert_int_equal(run_once(options(), &counts, &err), 0);
	assert_int_equal(seen.steps[CAMPAIGN_BEGINS], 1);
	assert_int_equal(seen.steps[CAMPAIGN_RESTART_BEGINS], TURNS);
	assert_int_equal(seen.steps[CAMPAIGN_RUN_ENDS], 2 * TURNS);
	assert_int_equal(seen.steps[CAMPAIGN_RESTART_ENDS], TURNS);
	assert_int_equal(seen.steps[CAMPAIGN_RESTART_FAILS], 0);
	assert_int_equal(seen.last.step, CAMPAIGN_RESTART_ENDS);
	assert_int_equal(seen.last.counts.done, TURNS);
	assert_int_equal(seen.last.remaining_ns, 0);
	assert_int_equal(counts.invalid_runs, 1);
	assert_int_equal(run_once(options(), &counts, &err), 0);
	assert_int_equal(counts.invalid_runs, 1); /* still, when nothing ran */
	assert_string_equal(seen.message, "ledger does not balance");
}

static void failed_restart_is_kept_and_the_campaign_goes_on(void **state)
{
	struct campaign_options again = options();
	struct campaign_counts counts;
	struct stored_restart *restarts;
	struct stored_campaign campaign;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	fake.fail_opens = 1 << 2 | 1 << 3; /* two in a row, which is not yet too many */
	fake.fail_run = 10;                /* the second run of a later restart, the first is in the store */
	assert_int_equal(run_once(options(), &counts, &err), 0);
	assert_int_equal(fake.opened, TURNS);
	assert_int_equal(counts.failed, 3);
	assert_int_equal(counts.done, TURNS - 3);
	assert_int_equal(seen.steps[CAMPAIGN_RESTART_FAILS], 3);
	assert_int_equal(stored(&arena, &restarts, &campaign), TURNS);
	assert_null(restarts[1].failure);
	assert_string_equal(restarts[2].failure, "target 2 did not open");
	assert_int_equal(restarts[2].run_count, 0);
	assert_non_null(strstr(restarts[6].failure, strerror(EPIPE)));
	assert_int_equal(restarts[6].run_count, 1);
	assert_int_equal(campaign.turns_failed, 3);
	arena_release(&arena);

	/* left alone when resumed, run again when asked */
	fake.fail_opens = fake.fail_run = 0;
	assert_int_equal(run_once(options(), &counts, &err), 0);
	assert_int_equal(fake.opened, 0);
	assert_int_equal(counts.failed, 3);
	again.retry_failed = true;
	assert_int_equal(run_once(again, &counts, &err), 0);
	assert_int_equal(fake.opened, 3);
	assert_int_equal(counts.done, TURNS);
	assert_int_equal(counts.failed, 0);
	assert_int_equal(stored(&arena, &restarts, &campaign), TURNS + 3);
	assert_int_equal(campaign.turns_done, TURNS);
	arena_release(&arena);
}

static void campaign_stops_when_nothing_works(void **state)
{
	struct campaign_counts counts;
	struct err err = { 0 };

	(void)state;
	fake.fail_opens = ~0u;
	assert_int_equal(run_once(options(), &counts, &err), -EIO);
	assert_int_equal(err.kind, ERR_HOST);
	assert_non_null(strstr(err.message, "3 restarts in a row failed"));
	assert_non_null(strstr(err.message, "target 2 did not open"));
	assert_int_equal(fake.opened, CAMPAIGN_FAILURES);
	assert_int_equal(counts.failed, CAMPAIGN_FAILURES);
	assert_memory_equal(fake.calls, "bofcofcofce", 11);
}

static void interrupted_restart_leaves_nothing_and_resumes(void **state)
{
	struct campaign_counts counts;
	struct stored_restart *restarts;
	struct stored_campaign campaign;
	struct arena arena;
	struct err err = { 0 };
	unsigned calls = 0;

	(void)state;
	/* at each run in turn: the call before it did one restart more or none */
	for (unsigned at = 1; calls < 100; calls++) {
		int r;

		atomic_store(&fake.flag, false);
		fake.stop_at_run = at;
		r = run_once(options(), &counts, &err);
		if (r == 0)
			break;
		assert_int_equal(r, -EINTR);
		assert_int_equal(err.kind, ERR_INTERRUPTED);
		assert_int_equal(fake.calls[fake.call_count - 2], 'c');
		assert_int_equal(fake.calls[fake.call_count - 1], 'e');
		assert_int_equal(stored(&arena, &restarts, &campaign), counts.done);
		assert_string_equal(campaign.events[campaign.event_count - 1].kind, "interrupted");
		for (uint32_t i = 0; i < counts.done; i++) {
			assert_int_equal(restarts[i].position, i);
			assert_int_equal(restarts[i].run_count, 2);
		}
		arena_release(&arena);
		at = at % 4 + 1;
	}
	assert_true(calls > 3);
	assert_int_equal(counts.done, TURNS);
}

static void flag_between_restarts_stops_too(void **state)
{
	struct campaign_counts counts;
	struct err err = { 0 };

	(void)state;
	atomic_store(&fake.flag, true);
	assert_int_equal(run_once(options(), &counts, &err), -EINTR);
	assert_string_equal(fake.calls, "be");
	assert_int_equal(counts.done, 0);
}

/* A store that cannot be written is not the restart's fault: nothing is marked, and the same call resumes. */
static void store_that_fails_ends_it(void **state)
{
	struct campaign_counts counts;
	struct stored_restart *restarts;
	struct stored_campaign campaign;
	struct arena arena;
	struct err err = { 0 };

	(void)state;
	fake.put_fails = 4; /* the second run of the second restart */
	assert_int_equal(run_once(options(), &counts, &err), -ENOSPC);
	assert_string_equal(err.message, "disk full");
	assert_string_equal(fake.calls, "borprpfcorprpce");
	assert_int_equal(counts.done, 1);
	assert_int_equal(counts.failed, 0);
	assert_int_equal(stored(&arena, &restarts, &campaign), 1);
	assert_string_equal(campaign.events[campaign.event_count - 1].kind, "stopped");
	arena_release(&arena);
	fake.put_fails = 0;
	assert_int_equal(run_once(options(), &counts, &err), 0);
	assert_int_equal(counts.done, TURNS);
}

static void begin_that_fails_ends_it(void **state)
{
	struct campaign_counts counts;
	struct err err = { 0 };

	(void)state;
	fake.begin_fails = 1;
	assert_int_equal(run_once(options(), &counts, &err), -ENODEV);
	assert_string_equal(err.message, "no clock");
	assert_string_equal(fake.calls, "be");
}

/* What the host lacks is asked of the measure before there is a store, and nothing of it begins. */
static void host_is_checked_before(void **state)
{
	struct measure_ops ops = fake_ops;
	struct plan *plan = fake_plan("text", BLOCKS);
	struct campaign_options o = options();
	struct err err = { 0 };

	(void)state;
	assert_int_equal(campaign_check(plan, &o, &err), 0); /* a measure may have nothing to check */
	ops.check = fake_check;
	o.ops = &ops;
	assert_int_equal(campaign_check(plan, &o, &err), 0);
	o.allow_unstable_tsc = true;
	assert_int_equal(campaign_check(plan, &o, &err), -ENODEV);
	assert_int_equal(err.kind, ERR_HOST);
	assert_string_equal(err.message, "no clock");
	assert_int_equal(fake.call_count, 0);
}

/* With defaults, and without what is not set. */
static void settings_that_hold_are_stored(void **state)
{
	static const struct setting table[] = {
		{ .name = "loss", .type = SETTING_QUANTITY, .dim = QUANTITY_SHARE, .fallback = "0.5%" },
		{ .name = "trace", .type = SETTING_TEXT },
		{ .name = NULL },
	};
	struct plan *plan = fake_plan("text", BLOCKS);
	struct campaign_options o = options();
	struct stored_restart *restarts;
	struct stored_campaign campaign;
	struct campaign_counts counts;
	struct arena arena, settings;
	struct store *s = open_store();
	struct err err = { 0 };

	(void)state;
	arena_init(&settings, 0);
	assert_int_equal(settings_init(&plan->target_settings, table, &settings), 0);
	assert_int_equal(settings_init(&plan->probes, table, &settings), 0);
	assert_int_equal(settings_set(&plan->probes, "trace", "a.pcap", &err), 0);
	assert_int_equal(campaign_run(plan, s, &o, &counts, &err), 0);
	store_close(s);
	stored(&arena, &restarts, &campaign);
	assert_int_equal(campaign.fact_count, 4);
	assert_string_equal(campaign.facts[1].name, "plan.probes.loss");
	assert_string_equal(campaign.facts[1].value, "0.5%");
	assert_string_equal(campaign.facts[2].name, "plan.probes.trace");
	assert_string_equal(campaign.facts[2].value, "a.pcap");
	assert_string_equal(campaign.facts[3].name, "plan.target.loss");
	arena_release(&arena);
	arena_release(&settings);
}

static void measure_that_is_not_there_is_refused(void **state)
{
	struct campaign_options o = options();
	struct plan *plan = fake_plan("text", BLOCKS);
	struct campaign_counts counts;
	struct store *s = open_store();
	struct err err = { 0 };

	(void)state;
	o.ops = NULL;
	plan->measure = MEASURES; /* none that any build has */
	assert_true(campaign_run(plan, s, &o, &counts, &err) < 0);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.message, "cannot run it"));
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_turns_run_in_the_order_of_the_plan, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(progress_counts_to_the_end, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(failed_restart_is_kept_and_the_campaign_goes_on, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(campaign_stops_when_nothing_works, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(interrupted_restart_leaves_nothing_and_resumes, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(flag_between_restarts_stops_too, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(store_that_fails_ends_it, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(begin_that_fails_ends_it, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(host_is_checked_before, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(settings_that_hold_are_stored, setup, remove_scratch),
		cmocka_unit_test_setup_teardown(measure_that_is_not_there_is_refused, setup, remove_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
