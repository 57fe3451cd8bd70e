/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "own_host.h"
#include "plan_bed.h"
#include "store/hop.h"

/* Telemetry plans through lines of tare-switch, whose clocks are wrong by what is known: from the text to the store. */

struct outcome {
	struct plan_bed bed;
	struct run_value *values; /* of the first restart's run */
	uint32_t value_count;
};

static void measure(uint32_t hops, const char *args, const char *rest, struct outcome *ret)
{
	struct err err = { 0 };
	char text[2048];

	snprintf(text, sizeof(text),
		 "name: t\nmeasure: telemetry\nseed: 3\nrestarts: 1\nruns: 1\n"
		 "target: { kind: bmv2, switch: %s, start_limit: 30s, hops: %u, args: \"%s\" }\n%s\n",
		 getenv("TARE_SWITCH"), hops, args, rest);
	memset(ret, 0, sizeof(*ret));
	plan_bed_measure(text, &ret->bed);
	if (ret->bed.restarts[0].run_count)
		assert_int_equal(store_read_values(ret->bed.store, &ret->bed.restarts[0].runs[0], &ret->bed.arena,
						   &ret->values, &ret->value_count, &err),
				 0);
}

static void finish(struct outcome *o)
{
	plan_bed_release(&o->bed);
	plan_bed_nothing_left();
}

/* hop 0: of the run as a whole */
static double value(const struct outcome *o, const char *what, unsigned hop)
{
	char name[64];

	snprintf(name, sizeof(name), hop ? "%s_%u" : "%s", what, hop);
	for (uint32_t i = 0; i < o->value_count; i++)
		if (strcmp(o->values[i].name, name) == 0)
			return o->values[i].value;
	return NAN;
}

static void good(const struct outcome *o)
{
	assert_int_equal(o->bed.counts.done, 1);
	if (o->bed.restarts[0].failure)
		fail_msg("%s", o->bed.restarts[0].failure);
	assert_string_equal(o->bed.restarts[0].runs[0].record.invalid, "");
}

#define PROBES "probes: { count: 100, interval: 5ms, deadline: 10s }\n"

static void the_truth_is_inside_by_either_program(void **state)
{
	static const char *const programs[] = { "l3_lpm_int_chain", "int_md" };

	(void)state;
	for (size_t p = 0; p < 2; p++) {
		struct outcome o;
		char rest[256];

		snprintf(rest, sizeof(rest), "matrix: { program: [%s] }\n" PROBES, programs[p]);
		measure(3, "--fault-clock-offset 3ms | --fault-clock-offset 1h | --threads 1", rest, &o);
		good(&o);
		assert_int_equal(o.bed.restarts[0].runs[0].record.ledger.fate[FATE_MATCHED], 100);
		assert_true(value(&o, "hops", 0) == 300);
		for (unsigned k = 1; k <= 3; k++) {
			assert_true(value(&o, "covered", k) == 1);
			/* narrower than how a busy host delays packets, and there */
			assert_true(value(&o, "offset_width", k) > 1 && value(&o, "offset_width", k) < 1e5);
		}
		/* by process start the second is an hour off, the hour that was injected */
		assert_true(fabs(value(&o, "boot_error", 2) - 3.6e9) < 1e7);
		for (unsigned k = 2; k <= 3; k++) {
			assert_true(value(&o, "link", k) > 0);
			assert_true(fabs(value(&o, "link_error", k)) <= value(&o, "link_u", k));
			assert_true(value(&o, "wire", k) > 0);
		}
		assert_true(isnan(value(&o, "int_other_id", 0)) && isnan(value(&o, "int_cut_short", 0)));
		finish(&o);
	}
}

static void lines_of_one_and_of_eight(void **state)
{
	static const uint32_t lines[] = { 1, 8 };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (int md = 0; md < 2; md++) {
			struct outcome o;

			measure(lines[i], "--threads 1",
				md ? "matrix: { program: [int_md] }\nprobes: { count: 20, interval: 5ms, deadline: 10s "
				     "}\n"
				   : "matrix: { program: [l3_lpm_int_chain], size: [1500B] }\n"
				     "probes: { count: 20, interval: 5ms, deadline: 10s }\n",
				&o);
			good(&o);
			assert_true(value(&o, "hops", 0) == 20.0 * lines[i]);
			assert_true(value(&o, "covered", lines[i]) == 1);
			finish(&o);
		}
}

static void a_step_and_a_drift_are_found(void **state)
{
	struct outcome o;

	(void)state;
	/* two seconds after it began, in a run of four */
	measure(2, "--fault-clock-step 750ms@2s | --fault-clock-drift 70000",
		"matrix: { program: [l3_lpm_int_chain] }\nprobes: { count: 400, interval: 10ms, deadline: 10s }\n", &o);
	good(&o);
	assert_true(value(&o, "steps", 0) >= 1);
	assert_true(value(&o, "apart", 0) > 20);
	assert_true(value(&o, "covered", 1) == 1);
	assert_true(value(&o, "rates_off", 0) == 1);
	assert_true(value(&o, "rate", 2) > 50000 && value(&o, "rate", 2) < 90000);
	assert_true(value(&o, "covered", 2) == 1);
	finish(&o);
}

static void hops_are_in_the_store(void **state)
{
	struct outcome o;
	struct hop hops[200];
	struct err err = { 0 };

	(void)state;
	measure(2, "--threads 1", "matrix: { program: [l3_lpm_int_chain] }\n" PROBES, &o);
	good(&o);
	assert_int_equal(store_count_hops(o.bed.store, &o.bed.restarts[0].runs[0], &err), 200);
	assert_int_equal(store_read_hops(o.bed.store, &o.bed.restarts[0].runs[0], hops, 200, &err), 200);
	for (uint32_t i = 0; i < 200; i++) {
		const struct hop *h = &hops[i];

		assert_int_equal(h->hop, i / 100 + 1);
		assert_int_equal(h->seq, i % 100);
		assert_int_equal(h->switch_id, h->hop);
		assert_true(h->sw_in_ns < h->sw_out_ns && h->p4_in_ns <= h->p4_out_ns);
		/* on the host's clock the program's stamps are between the kernel's */
		assert_true((double)h->p4_in_ns + h->causal_ns + h->width_ns / 2 + 1000 >= (double)h->sw_in_ns);
		assert_true((double)h->p4_out_ns + h->causal_ns - h->width_ns / 2 <= (double)h->sw_out_ns);
		assert_true(fabs(h->causal_ns - h->truth_ns) <= h->width_ns / 2);
	}
	assert_int_equal(store_read_hops(o.bed.store, &o.bed.restarts[0].runs[0], hops, 100, &err), -EBADMSG);
	finish(&o);
}

static void a_program_without_telemetry_fails_its_restart(void **state)
{
	struct outcome o;

	(void)state;
	measure(2, "--threads 1", "matrix: { program: [l3_lpm] }\n" PROBES, &o);
	assert_int_equal(o.bed.counts.failed, 1);
	assert_non_null(strstr(o.bed.restarts[0].failure, "came back with the hops of 2 switches (no hop)"));
	finish(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_truth_is_inside_by_either_program),
		cmocka_unit_test(lines_of_one_and_of_eight),
		cmocka_unit_test(a_step_and_a_drift_are_found),
		cmocka_unit_test(hops_are_in_the_store),
		cmocka_unit_test(a_program_without_telemetry_fails_its_restart),
	};

	if (!own_host_enter())
		return 77;
	return cmocka_run_group_tests(tests, plan_bed_make, plan_bed_remove);
}
