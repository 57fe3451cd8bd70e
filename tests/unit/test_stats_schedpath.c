/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "stats/schedpath.h"

enum { SELECT = 1, INGRESS = 2, EGRESS = 3, OTHER = 0 };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct sched_event on(int64_t at_ns, uint32_t tid, uint8_t flags)
{
	return (struct sched_event){ .at_ns = at_ns, .to = tid, .kind = SCHED_SWITCH, .flags = SCHED_TO_OURS | flags };
}

static struct sched_event off(int64_t at_ns, uint32_t tid, uint8_t flags)
{
	return (struct sched_event){
		.at_ns = at_ns, .from = tid, .kind = SCHED_SWITCH, .flags = SCHED_FROM_OURS | flags
	};
}

static struct sched_event wakes(int64_t at_ns, uint32_t waker, uint32_t woken)
{
	return (struct sched_event){ .at_ns = at_ns,
				     .from = waker ? waker : 99,
				     .to = woken,
				     .kind = SCHED_WAKE,
				     .flags = SCHED_TO_OURS | (waker ? SCHED_FROM_OURS : 0) };
}

static void divide(struct sched_event *events, size_t count, int64_t from_ns, int64_t to_ns, int64_t parts[PATH_PARTS])
{
	struct sched_path *p = sched_path_create(events, count);
	int64_t sum = 0;

	assert_non_null(p);
	sched_path_divide(p, from_ns, to_ns, parts);
	for (int i = 0; i < PATH_PARTS; i++) {
		assert_true(parts[i] >= 0);
		sum += parts[i];
	}
	assert_int_equal(sum, to_ns - from_ns);
	sched_path_destroy(p);
}

static void expect(const int64_t parts[PATH_PARTS], int64_t wake_up, int64_t cpu_wait, int64_t running, int64_t rest)
{
	assert_int_equal(parts[PATH_WAKE_UP], wake_up);
	assert_int_equal(parts[PATH_CPU_WAIT], cpu_wait);
	assert_int_equal(parts[PATH_RUNNING], running);
	assert_int_equal(parts[PATH_REST], rest);
}

/* A packet comes: select takes it and wakes ingress, on an idle CPU; that wakes egress, whose CPU is busy. */
static void through_two_wake_ups(void **state)
{
	struct sched_event events[] = {
		wakes(100, OTHER, SELECT),
		on(120, SELECT, SCHED_FROM_IDLE),
		/* p4_in at 130 */
		wakes(140, SELECT, INGRESS),
		off(150, SELECT, 0),
		on(165, INGRESS, SCHED_FROM_IDLE),
		wakes(215, INGRESS, EGRESS),
		off(225, INGRESS, 0),
		on(245, EGRESS, 0),
		/* p4_out at 250 */
		off(260, EGRESS, 0),
	};
	int64_t parts[PATH_PARTS];

	(void)state;
	divide(events, COUNT(events), 130, 250, parts);
	expect(parts, 165 - 140, 245 - 215, 10 + 50 + 5, 0);
	/* whatever order they were recorded in */
	for (size_t i = 0; i < COUNT(events) / 2; i++) {
		struct sched_event swap = events[i];

		events[i] = events[COUNT(events) - 1 - i];
		events[COUNT(events) - 1 - i] = swap;
	}
	divide(events, COUNT(events), 130, 250, parts);
	expect(parts, 165 - 140, 245 - 215, 10 + 50 + 5, 0);
}

static void taken_off_and_on_again(void **state)
{
	struct sched_event events[] = {
		on(100, SELECT, 0),
		off(150, SELECT, SCHED_FROM_RUNNABLE),
		on(180, SELECT, 0),
		off(200, SELECT, 0),
	};
	int64_t parts[PATH_PARTS];

	(void)state;
	divide(events, COUNT(events), 110, 190, parts);
	expect(parts, 0, 30, 50, 0);
}

/* Woken by somebody else while none of ours ran: before that there is nothing to tell. */
static void blocked_is_rest(void **state)
{
	struct sched_event events[] = {
		on(100, SELECT, 0),  off(150, SELECT, 0), wakes(170, OTHER, SELECT), on(180, SELECT, SCHED_FROM_IDLE),
		off(200, SELECT, 0),
	};
	int64_t parts[PATH_PARTS];

	(void)state;
	divide(events, COUNT(events), 110, 190, parts);
	expect(parts, 10, 0, 10 + 40, 20);
}

/* It is woken while it is about to block: it is ready from when it left its CPU. A later wake-up says that it was not. */
static void woken_before_it_blocks(void **state)
{
	struct sched_event ready[] = {
		on(90, INGRESS, 0),  on(100, EGRESS, 0), wakes(140, INGRESS, EGRESS),
		off(145, EGRESS, 0), on(160, EGRESS, 0), off(170, INGRESS, 0),
	};
	struct sched_event stale[] = {
		on(90, INGRESS, 0),          on(100, EGRESS, 0), wakes(110, INGRESS, EGRESS), off(145, EGRESS, 0),
		wakes(155, INGRESS, EGRESS), on(160, EGRESS, 0), off(170, INGRESS, 0),
	};
	int64_t parts[PATH_PARTS];

	(void)state;
	divide(ready, COUNT(ready), 120, 165, parts);
	expect(parts, 0, 15, 5 + 25, 0);
	divide(stale, COUNT(stale), 120, 165, parts);
	expect(parts, 0, 5, 5 + 35, 0);
}

/* A trace that begins in the middle, and one that knows nothing. */
static void what_is_not_known(void **state)
{
	struct sched_event events[] = { off(150, SELECT, 0) };
	int64_t parts[PATH_PARTS];

	(void)state;
	divide(events, COUNT(events), 110, 190, parts);
	expect(parts, 0, 0, 40, 40);
	divide(NULL, 0, 110, 190, parts);
	expect(parts, 0, 0, 0, 80);
	divide(events, COUNT(events), 150, 150, parts);
	expect(parts, 0, 0, 0, 0);
}

static void parts_add_up_whatever_the_events_are(void **state)
{
	struct sched_event events[300];
	int64_t parts[PATH_PARTS];
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < COUNT(events); i++)
			events[i] = (struct sched_event){ .at_ns = (int64_t)rng_below(&rng, 500),
							  .from = (uint32_t)rng_below(&rng, 4),
							  .to = (uint32_t)rng_below(&rng, 4),
							  .kind = (uint8_t)rng_below(&rng, 2),
							  .flags = (uint8_t)rng_below(&rng, 16) };
		divide(events, COUNT(events), (int64_t)rng_below(&rng, 200), 200 + (int64_t)rng_below(&rng, 400),
		       parts);
	}
}

/* Stamps are taken by running threads: of 60 ns that are possible few are left, and the truth is among them. */
static void stamps_narrow_the_clocks(void **state)
{
	enum { PROBES = 50, TRUTH = 1000 };
	struct sched_event events[PROBES * 2];
	int64_t stamps[PROBES];
	double low = TRUTH - 30, high = TRUTH + 30;
	struct sched_path *p;
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int i = 0; i < PROBES; i++) {
		int64_t in = 10000 * (i + 1), stamp = in + 2 + (int64_t)rng_below(&rng, 6);

		events[2 * i] = on(in, SELECT, 0);
		events[2 * i + 1] = off(in + 10, SELECT, 0);
		stamps[i] = stamp - TRUTH;
	}
	p = sched_path_create(events, COUNT(events));
	assert_non_null(p);
	sched_path_narrow(p, stamps, PROBES, 1, &low, &high);
	assert_true(low <= TRUTH && high >= TRUTH);
	assert_true(high - low < 12);
	low = -INFINITY;
	high = TRUTH;
	sched_path_narrow(p, stamps, PROBES, 1, &low, &high);
	assert_true(isinf(low) && high == TRUTH);
	low = TRUTH - 30;
	sched_path_narrow(p, stamps, 0, 1, &low, &high);
	assert_true(low == TRUTH - 30 && high == TRUTH);
	assert_true(sched_path_runs(p, 10000, 10000) && !sched_path_runs(p, 10011, 19999));
	sched_path_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(through_two_wake_ups),     cmocka_unit_test(taken_off_and_on_again),
		cmocka_unit_test(blocked_is_rest),          cmocka_unit_test(woken_before_it_blocks),
		cmocka_unit_test(what_is_not_known),        cmocka_unit_test(parts_add_up_whatever_the_events_are),
		cmocka_unit_test(stamps_narrow_the_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
