/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "own_host.h"
#include "plan_bed.h"
#include "store/operation.h"

/* Control plans on tare-switch, whose faults are known: from the plan's text to what is stored. */

enum { ROWS_MOST = 4096 };

struct outcome {
	struct plan_bed bed;
	struct stored_campaign campaign;
};

/* `args`: of tare-switch. */
static void measure(const char *args, const char *rest, struct outcome *ret)
{
	struct err err = { 0 };
	char text[2048];

	snprintf(text, sizeof(text),
		 "name: t\nmeasure: control\nseed: 3\nrestarts: 1\ntarget: { kind: bmv2, switch: %s, start_limit: "
		 "30s%s%s%s }\n"
		 "%s\n",
		 getenv("TARE_SWITCH"), args[0] ? ", args: \"" : "", args, args[0] ? "\"" : "", rest);
	plan_bed_measure(text, &ret->bed);
	plan_bed_none_failed(&ret->bed);
	assert_int_equal(store_read_campaign(ret->bed.store, &ret->bed.arena, &ret->campaign, &err), 0);
}

static double value_of(struct outcome *o, const struct stored_run *run, const char *name)
{
	struct run_value *values;
	struct err err;
	uint32_t count;

	assert_int_equal(store_read_values(o->bed.store, run, &o->bed.arena, &values, &count, &err), 0);
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(values[i].name, name) == 0)
			return values[i].value;
	fail_msg("no value %s", name);
	return 0;
}

static struct control_account account_of(struct outcome *o, const struct stored_run *run)
{
	struct control_account account;
	struct err err;
	bool there;

	assert_int_equal(store_read_account(o->bed.store, run, &account, &there, &err), 0);
	assert_true(there);
	return account;
}

/* Two switches, every operation and mode that there is, two runs: all good, all there. */
static void all_modes(void **state)
{
	static struct operation rows[ROWS_MOST];
	struct outcome o;
	struct err err;

	(void)state;
	measure("",
		"runs: 2\nmatrix:\n  program: [l3_lpm]\n  mode: [sync, async, pipelined]\n"
		"  operation: [insert, modify, delete, read, read_table, read_single]\n"
		"extra:\n  - { program: l3_lpm, mode: batched, operation: insert }\n"
		"  - { program: l2_forward, mode: batched, operation: modify }\n"
		"  - { program: l3_lpm_acl, table: acl, mode: batched, operation: delete }\n"
		"probes: { switches: 2, count: 60, window: 8, batch: 25 }",
		&o);
	assert_int_equal(o.bed.counts.done, 21);
	assert_int_equal(o.bed.counts.invalid_runs, 0);
	for (uint32_t i = 0; i < o.bed.restart_count; i++)
		for (uint32_t k = 0; k < o.bed.restarts[i].run_count; k++) {
			const struct stored_run *run = &o.bed.restarts[i].runs[k];
			struct control_account a = account_of(&o, run);
			bool whole = strcmp(a.operation, "read") == 0 || strcmp(a.operation, "read_table") == 0;

			assert_int_equal(a.operations, whole ? 2 : 120);
			assert_int_equal(a.answered_ok, a.operations);
			assert_int_equal(store_read_operations(o.bed.store, run, &a, rows, ROWS_MOST, &err),
					 a.operations);
			for (uint32_t r = 0; r < a.operations; r++)
				assert_true(rows[r].status == GRPC_OK && rows[r].sent_ns >= rows[r].queued_ns &&
					    rows[r].answered_ns > rows[r].sent_ns && rows[r].answered_ns <= a.wall_ns);
			assert_true(value_of(&o, run, "batch_wall") > 0);
			assert_true(value_of(&o, run, "server_cpu_per_entry") > 0);
			assert_true(value_of(&o, run, "fairness") <= 1);
		}
	plan_bed_release(&o.bed);
}

/* More entries than the table has room for: counted, named, no success; the other cell is not touched by it. */
static void beyond_the_table(void **state)
{
	struct outcome o;
	unsigned good = 0;

	(void)state;
	measure("", "runs: 1\nmatrix: { program: [l2_forward], count: [1000, 1100] }\nprobes: { mode: batched }", &o);
	assert_int_equal(o.bed.counts.done, 2);
	assert_int_equal(o.bed.counts.invalid_runs, 1);
	for (uint32_t i = 0; i < o.bed.restart_count; i++) {
		const struct stored_run *run = &o.bed.restarts[i].runs[0];
		struct control_account a = account_of(&o, run);

		if (a.count == 1000) {
			assert_string_equal(run->record.invalid, "");
			good++;
			continue;
		}
		assert_int_equal(a.answered_ok, 1024);
		assert_int_equal(a.failed, 76);
		assert_string_equal(a.statuses, "76 RESOURCE_EXHAUSTED");
		assert_int_equal(a.missing + a.extra + a.different + a.undecided, 0);
		assert_non_null(strstr(run->record.invalid, "76 of 1100 operations failed: 76 RESOURCE_EXHAUSTED ("));
		assert_true(value_of(&o, run, "failed") == 76);
	}
	assert_int_equal(good, 1);
	plan_bed_release(&o.bed);
}

static uint32_t read_watched(struct outcome *o, const struct stored_run *run, struct operation *rows)
{
	struct control_account a = account_of(o, run);
	uint32_t watched = 0;
	struct err err;

	assert_int_equal(a.watched, 10);
	assert_int_equal(a.acting_seen, 10);
	assert_int_equal(a.acting_lost, 0);
	assert_int_equal(store_read_operations(o->bed.store, run, &a, rows, ROWS_MOST, &err), a.operations);
	for (uint32_t i = 0; i < a.operations; i++) {
		if (!(rows[i].flags & OPERATION_WATCHED)) {
			assert_true(rows[i].acting_high_ns == OPERATION_NONE);
			continue;
		}
		assert_int_equal(rows[i].seq % 10, 9);
		assert_true(rows[i].acting_low_ns < rows[i].acting_high_ns);
		rows[watched++] = rows[i];
	}
	return watched;
}

/* A good switch's entries act by the time it answers; one that answers 20 ms too early is found out. */
static void when_entries_act(void **state)
{
	static const char rest[] = "runs: 2\nmatrix: { program: [l3_lpm, l2_forward] }\n"
				   "probes: { count: 100, mode: sync, acting: 10% }";
	static struct operation rows[ROWS_MOST];
	struct outcome o;

	(void)state;
	measure("", rest, &o);
	assert_int_equal(o.bed.counts.invalid_runs, 0);
	for (uint32_t i = 0; i < o.bed.restart_count; i++)
		for (uint32_t k = 0; k < 2; k++) {
			const struct stored_run *run = &o.bed.restarts[i].runs[k];
			uint32_t watched = read_watched(&o, run, rows);

			/* what was sent before the request left cannot have been forwarded by it */
			for (uint32_t r = 0; r < watched; r++)
				assert_true(rows[r].acting_high_ns > rows[r].sent_ns);
			assert_true(value_of(&o, run, "answered_early") == 0);
			assert_true(value_of(&o, run, "answered_to_acting") < 1e6);
		}
	plan_bed_release(&o.bed);
	measure("--fault-answer-early 20ms", rest, &o);
	assert_int_equal(o.bed.counts.invalid_runs, 0);
	for (uint32_t i = 0; i < o.bed.restart_count; i++)
		for (uint32_t k = 0; k < 2; k++) {
			const struct stored_run *run = &o.bed.restarts[i].runs[k];
			uint32_t watched = read_watched(&o, run, rows);

			for (uint32_t r = 0; r < watched; r++) {
				assert_true(rows[r].flags & OPERATION_EARLY);
				/* the truth: carried out 20 ms after it came, or later */
				assert_true(rows[r].acting_high_ns >= rows[r].sent_ns + 20000000);
			}
			assert_true(value_of(&o, run, "answered_early") == 100);
			assert_true(value_of(&o, run, "answered_to_acting") > 10000);
		}
	assert_true(o.campaign.event_count > 0);
	plan_bed_release(&o.bed);
}

/* Without packets, reading back finds it: what was answered is not there yet. */
static void early_answers_are_missed_when_read_back(void **state)
{
	struct outcome o;

	(void)state;
	measure("--fault-answer-early 5s",
		"runs: 1\nmatrix: { program: [l3_lpm] }\nprobes: { count: 50, mode: batched }", &o);
	assert_int_equal(o.bed.counts.invalid_runs, 1);
	assert_string_equal(o.bed.restarts[0].runs[0].record.invalid,
			    "read back, 50 entries are missing, 0 too many, 0 different");
	plan_bed_release(&o.bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_modes),
		cmocka_unit_test(beyond_the_table),
		cmocka_unit_test(when_entries_act),
		cmocka_unit_test(early_answers_are_missed_when_read_back),
	};

	if (!own_host_enter())
		return 77;
	return cmocka_run_group_tests(tests, plan_bed_make, plan_bed_remove);
}
