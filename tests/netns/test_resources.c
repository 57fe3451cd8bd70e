/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign/watch.h"
#include "lab/link.h"
#include "observe/tracer.h"
#include "own_host.h"
#include "plan_bed.h"

/* Resources of real switches in a line: from a plan's text to values and rows. */

/* A campaign from start to end; its database stays for the caller to look into. */
static sqlite3 *measure(const char *text, struct campaign_counts *ret_counts)
{
	char path[160];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/tare.db", plan_bed_run(text, ret_counts));
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	return db;
}

/* One number; NaN for NULL. */
static double ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	double value = NAN;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	if (sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		value = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

static void switches_of_a_line_are_watched(void **state)
{
	struct campaign_counts counts;
	sqlite3 *db = measure("name: t\nmeasure: resources\nrestarts: 1\nruns: 1\n"
			      "target: { kind: bmv2, switch: tare-switch, hops: 2 }\nmatrix: { program: [l3_lpm] }\n"
			      "probes: { duration: 600ms, interval: 20ms, carrier: 2Mbps, carrier_size: 500B }\n",
			      &counts);

	(void)state;
	assert_int_equal(counts.done, 1);
	/* 2 Mbit/s of 504 bytes are 496 frames a second, through both switches */
	assert_float_equal(ask(db, "SELECT value FROM value WHERE name = 'first_in'"), 496, 100);
	assert_float_equal(ask(db, "SELECT value FROM value WHERE name = 'last_out'"), 496, 100);
	assert_true(ask(db, "SELECT value FROM value WHERE name = 'switch_cpu'") > 0);
	assert_true(ask(db, "SELECT value FROM value WHERE name = 'switch_rss'") > 2);
	assert_float_equal(ask(db, "SELECT (SELECT value FROM value WHERE name = 'switch_rss') -"
				   " 2 * (SELECT value FROM value WHERE name = 'switch_rss_each')"),
			   0, 1e-9);
	assert_true(ask(db, "SELECT value FROM value WHERE name = 'switch_pss'") > 0);
	assert_true(ask(db, "SELECT value FROM value WHERE name = 'sampler_core'") > 0);
	/* two switches, each with an interface to either side; two hosts with one; the machine */
	assert_float_equal(ask(db, "SELECT count(*) FROM resource_subject WHERE kind = 'process'"), 2, 0);
	assert_float_equal(ask(db, "SELECT count(*) FROM resource_subject WHERE kind = 'interface'"), 6, 0);
	assert_float_equal(ask(db, "SELECT count(*) FROM resource_subject WHERE kind = 'machine'"), 1, 0);
	assert_float_equal(ask(db, "SELECT count(*) FROM resource_subject WHERE gone"), 0, 0);
	assert_true(ask(db, "SELECT count(*) FROM resource_subject WHERE kind = 'thread'") >= 4);
	assert_true(ask(db, "SELECT count(*) FROM resource_process") >= 4);
	assert_float_equal(ask(db, "SELECT count(*) FROM resource_interface") -
				   3 * ask(db, "SELECT count(*) FROM resource_process"),
			   0, 0);
	sqlite3_close(db);
}

/* Beside a measure of another kind: a few values, no rows; and none where the plan says so. */
static void a_transit_run_is_watched_unless_the_plan_says_no(void **state)
{
	static const char plan[] = "name: t\nmeasure: transit\nrestarts: 1\nruns: 1\nresources: %s\n"
				   "target: { kind: bmv2, switch: tare-switch }\nmatrix: { program: [l3_lpm] }\n"
				   "probes: { count: 20, interval: 5ms }\n";
	struct campaign_counts counts;
	char text[512];
	sqlite3 *db;

	(void)state;
	snprintf(text, sizeof(text), plan, "10ms");
	db = measure(text, &counts);
	assert_int_equal(counts.done, 1);
	assert_true(ask(db, "SELECT value FROM value WHERE name = 'switch_cpu'") > 0);
	assert_true(ask(db, "SELECT value FROM value WHERE name = 'switch_cpu_per_packet'") > 0);
	assert_float_equal(ask(db, "SELECT count(*) FROM value WHERE name = 'switch_pss'"), 0, 0);
	assert_float_equal(ask(db, "SELECT count(*) FROM resource_subject"), 0, 0);
	sqlite3_close(db);
	snprintf(text, sizeof(text), plan, "0");
	db = measure(text, &counts);
	assert_int_equal(counts.done, 1);
	assert_float_equal(ask(db, "SELECT count(*) FROM value"), 0, 0);
	sqlite3_close(db);
}

/* Each matched probe is divided, into parts that make its time; where that is not allowed, the store says why. */
static void a_traced_run_is_divided(void **state)
{
	struct campaign_counts counts;
	struct err err = { 0 };
	bool allowed = tracer_try(&err) == 0;
	sqlite3 *db = measure("name: t\nmeasure: transit\nrestarts: 1\nruns: 1\n"
			      "target: { kind: bmv2, switch: tare-switch }\nmatrix: { program: [l3_lpm] }\n"
			      "probes: { count: 60, interval: 5ms, tracer: \"on\" }\n",
			      &counts);

	(void)state;
	assert_int_equal(counts.done, 1);
	if (!allowed) {
		assert_float_equal(ask(db, "SELECT count(*) FROM event WHERE kind = 'not traced'"), 1, 0);
		assert_true(isnan(ask(db, "SELECT value FROM value WHERE name = 'part_running'")));
		assert_float_equal(ask(db, "SELECT count(*) FROM transit_part"), 0, 0);
		/* the counters that stand for it are there */
		assert_true(ask(db, "SELECT value FROM value WHERE name = 'switch_cpu_per_packet'") > 0);
	} else {
		assert_float_equal(ask(db, "SELECT count(*) FROM transit_part"),
				   ask(db, "SELECT matched - set_apart FROM run"), 0);
		assert_true(ask(db, "SELECT count(*) FROM transit_part") > 0);
		assert_float_equal(ask(db,
				       "SELECT max(abs(p.wake_up + p.cpu_wait + p.running + p.rest - 1000 * x.inside))"
				       " FROM transit_part p JOIN transit x ON x.run = p.run AND x.seq = p.seq"),
				   0, 0);
		assert_true(ask(db, "SELECT value FROM value WHERE name = 'trace_events'") > 60);
		assert_true(ask(db, "SELECT (SELECT value FROM value WHERE name = 'trace_align') -"
				    " (SELECT value FROM value WHERE name = 'trace_narrowed')") >= 0);
		/* it is the switch that ran: of what there is to divide, most */
		assert_true(ask(db, "SELECT sum(running) >= sum(rest) FROM transit_part") == 1);
	}
	sqlite3_close(db);
}

static void a_line_of_two_is_not_divided(void **state)
{
	struct campaign_counts counts;
	sqlite3 *db = measure("name: t\nmeasure: transit\nrestarts: 1\nruns: 1\n"
			      "target: { kind: bmv2, switch: tare-switch, hops: 2 }\nmatrix: { program: [l3_lpm] }\n"
			      "probes: { count: 5, interval: 5ms, tracer: \"on\" }\n",
			      &counts);

	(void)state;
	assert_int_equal(counts.failed, 1);
	assert_float_equal(ask(db, "SELECT count(*) FROM restart WHERE failure LIKE '%expected hops: 1%'"), 1, 0);
	sqlite3_close(db);
}

/* A child that waits stands for the switch. */
static void an_interface_that_vanishes_has_no_rate(void **state)
{
	struct watch w = { 0 };
	struct netns netns;
	struct link_end a = { .name = "p1", .mac = { 2, 0, 0, 0, 0, 1 } },
			b = { .name = "p2", .mac = { 2, 0, 0, 0, 0, 2 } };
	struct err err = { 0 };
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(netns_create("tare-watch", &netns, &err), 0);
	a.netns = b.netns = &netns;
	assert_int_equal(link_create(&a, &b, 1500, &err), 0);
	w.what.forwards = true;
	watched_add(&w.what, child, &netns);
	assert_int_equal(watch_begin(&w, 5000000, -1, &err), 0);
	assert_int_equal(link_delete(&a, &err), 0);
	assert_int_equal(watch_end(&w, &err), 0);
	assert_true(isnan(usage_interface_per_s(&w.log, 0, "p1", INTERFACE_RX_PACKETS)));
	assert_true(isfinite(w.usage.cpu_pct)); /* the process is still there */
	watch_release(&w);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	netns_destroy(&netns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_of_a_line_are_watched),
		cmocka_unit_test(a_transit_run_is_watched_unless_the_plan_says_no),
		cmocka_unit_test(a_traced_run_is_divided),
		cmocka_unit_test(a_line_of_two_is_not_divided),
		cmocka_unit_test(an_interface_that_vanishes_has_no_rate),
	};

	if (!own_host_enter())
		return 77;
	return cmocka_run_group_tests(tests, plan_bed_make, plan_bed_remove);
}
