/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "campaign/control_values.h"

/* The figures of a control plan's run, from rows whose figures can be worked out by hand. */

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static struct run_value values[CONTROL_VALUES_MOST];
static int value_count;

static double value(const char *name, const char *unit)
{
	for (int i = 0; i < value_count; i++)
		if (strcmp(values[i].name, name) == 0) {
			assert_string_equal(values[i].unit, unit);
			return values[i].value;
		}
	fail_msg("no %s", name);
	return 0;
}

static bool has(const char *name)
{
	for (int i = 0; i < value_count; i++)
		if (strcmp(values[i].name, name) == 0)
			return true;
	return false;
}

static void near(double is, double should)
{
	if (!(fabs(is - should) <= 1e-9 * fabs(should)))
		fail_msg("%g, not %g", is, should);
}

static struct operation row(uint32_t at, uint32_t seq, int64_t sent_ns, int64_t answered_ns)
{
	return (struct operation){ .at = at,
				   .seq = seq,
				   .queued_ns = 0,
				   .sent_ns = sent_ns,
				   .answered_ns = answered_ns,
				   .acting_low_ns = OPERATION_NONE,
				   .acting_high_ns = OPERATION_NONE };
}

/* Four operations on each of two switches: the first takes 1 ms, the second 3 ms. */
static struct control_account two_switches(struct operation rows[8])
{
	for (uint32_t i = 0; i < 4; i++) {
		rows[i] = row(0, i, i * 250 * US, (i + 1) * 250 * US);
		rows[4 + i] = row(1, i, i * 750 * US, (i + 1) * 750 * US);
	}
	return (struct control_account){ .switches = 2,
					 .count = 4,
					 .operations = 8,
					 .sent = 8,
					 .answered_ok = 8,
					 .wall_ns = 4 * MS,
					 .client_cpu_ns = 80 * US,
					 .server_cpu_ns = 240 * US };
}

static void of_a_batch(void **state)
{
	struct operation rows[8];
	struct control_account a = two_switches(rows);

	(void)state;
	value_count = control_values(&a, rows, 8, values);
	near(value("batch_wall", "ms"), 4);
	near(value("entries_per_second", "1/s"), 2000);
	near(value("latency_p50", "us"), 500); /* 250 four times, 750 four times */
	near(value("latency_max", "us"), 750);
	assert_false(has("latency_p99")); /* 368 are needed */
	/* rates 1 and 1/3: (4/3)^2 / (2 (1 + 1/9)) */
	near(value("fairness", ""), 0.8);
	near(value("slowest_fastest", ""), 3);
	near(value("client_cpu_per_entry", "us"), 10);
	near(value("server_cpu_per_entry", "us"), 30);
	near(value("failed", ""), 0);
	assert_false(has("answered_to_acting_max"));
}

static void sync_is_fair_when_it_takes_equally_long(void **state)
{
	struct operation rows[8];
	struct control_account a = two_switches(rows);

	(void)state;
	/* the second switch is begun with when the first is done, and takes as long */
	for (uint32_t i = 0; i < 4; i++) {
		rows[4 + i] = row(1, i, MS + i * 250 * US, MS + (i + 1) * 250 * US);
		rows[4 + i].queued_ns = MS;
	}
	value_count = control_values(&a, rows, 8, values);
	near(value("fairness", ""), 1);
	near(value("slowest_fastest", ""), 1);
}

static void a_failure_is_an_infinite_latency(void **state)
{
	struct operation rows[8];
	struct control_account a = two_switches(rows);

	(void)state;
	rows[3].status = GRPC_RESOURCE_EXHAUSTED;
	rows[7].sent_ns = rows[7].answered_ns = OPERATION_NONE;
	rows[7].status = GRPC_CANCELLED;
	a.answered_ok = 6;
	a.failed = a.unsent = 1;
	a.server_cpu_ns = -1;
	value_count = control_values(&a, rows, 8, values);
	assert_true(isinf(value("latency_max", "us")));
	near(value("latency_p50", "us"), 750); /* the fourth of seven that were sent: 250 250 250 750 750 750 inf */
	near(value("failed", ""), 1);
	assert_false(has("server_cpu_per_entry"));
}

static void a_wildcard_read_is_of_all_entries(void **state)
{
	struct operation rows[2] = { row(0, 0, 0, MS), row(1, 0, 0, MS) };
	const struct control_account a = { .switches = 2,
					   .count = 500,
					   .operations = 2,
					   .sent = 2,
					   .answered_ok = 2,
					   .wall_ns = MS,
					   .client_cpu_ns = MS };

	(void)state;
	value_count = control_values(&a, rows, 2, values);
	near(value("entries_per_second", "1/s"), 1e6);
	near(value("client_cpu_per_entry", "us"), 1);
}

static void when_entries_act(void **state)
{
	struct operation rows[8];
	struct control_account a = two_switches(rows);

	(void)state;
	a.switches = 1;
	a.watched = 8;
	a.acting_seen = 7;
	a.acting_unbound = 1;
	a.acting_early = 2;
	a.clock_u_ns = 1000;
	for (uint32_t i = 0; i < 8; i++) {
		rows[i].flags = OPERATION_WATCHED;
		/* from 30 us before the answer on: -30, -20, ... 40 */
		rows[i].acting_high_ns = rows[i].answered_ns + ((int64_t)i - 3) * 10 * US;
		rows[i].acting_low_ns = rows[i].acting_high_ns - 100 * US;
	}
	rows[0].acting_low_ns = OPERATION_NONE;
	value_count = control_values(&a, rows, 8, values);
	near(value("answered_to_acting", "us"), 5);
	near(value("answered_to_acting_max", "us"), 40);
	near(value("acting_resolution", "us"), 101);
	near(value("acting_bracketed", "%"), 75);
	near(value("answered_early", "%"), 25);
	/* one that never acted is later than all */
	rows[2].acting_high_ns = rows[2].acting_low_ns = OPERATION_NONE;
	value_count = control_values(&a, rows, 8, values);
	assert_true(isinf(value("answered_to_acting_max", "us")));
	near(value("answered_to_acting", "us"), 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_batch),
		cmocka_unit_test(sync_is_fair_when_it_takes_equally_long),
		cmocka_unit_test(a_failure_is_an_infinite_latency),
		cmocka_unit_test(a_wildcard_read_is_of_all_entries),
		cmocka_unit_test(when_entries_act),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
