/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "import/csv.h"
#include "import/ids.h"
#include "import/import.h"
#include "import/tsc_run.h"
#include "report/result.h"
#include "scratch.h"
#include "store/store.h"

/* Records of the study of BMv2 with known truth; and text files as they come. */

static char out[96], file[96];

static int setup(void **state)
{
	if (make_scratch(state) != 0)
		return -1;
	snprintf(out, sizeof(out), "%s/out", scratch);
	snprintf(file, sizeof(file), "%s/rq.jsonl", scratch);
	return 0;
}

static struct import_counts counts;

static int import(const struct import_options *more, struct err *err)
{
	const char *const files[] = { file };
	struct import_options options = more ? *more : (struct import_options){ 0 };

	options.output = out;
	*err = (struct err){ 0 };
	return import_study(files, 1, &options, &counts, err);
}

static struct result *report(const char *dir)
{
	struct result *result;
	struct store *store;
	struct err err;

	if (store_open_read(dir, &store, &err) < 0 || result_build(store, &result, &err) < 0)
		fail_msg("%s", err.message);
	store_close(store);
	return result;
}

static void transit_line(FILE *f, const char *program, int size, int mbps, int repetition, unsigned sequence,
			 int64_t in, int64_t inside)
{
	fprintf(f,
		"{\"run_id\": \"r\", \"timestamp_utc\": \"2026-05-17T04:48:16Z\", \"rq\": 1, \"config\": "
		"{\"p4_program\": \"%s\", "
		"\"packet_size_bytes\": %d, \"background_load_mbps\": %d, \"repetition\": %d}, \"metric\": "
		"\"switch_transit_us\", "
		"\"value\": %.1f, \"extras\": {\"sequence\": %u, \"ingress_ts_us\": %lld, \"egress_ts_us\": %lld}}\n",
		program, size, mbps, repetition, (double)inside, sequence, (long long)in, (long long)(in + inside));
}

static FILE *create(void)
{
	FILE *f = fopen(file, "we");

	assert_non_null(f);
	return f;
}

/* Six repetitions of two cells; medians 100 + r and 480; probes lost and twice. */
static void transit(void **state)
{
	const struct cell_result *warm = NULL, *cold = NULL;
	struct result *r;
	struct rng rng;
	struct err err;
	FILE *f = create();

	(void)state;
	rng_init(&rng, 3);
	for (int rep = 0; rep < 6; rep++)
		for (unsigned i = 0; i < 1000; i++) {
			unsigned sequence = (unsigned)rep * 1000 + i;

			/* the last 30 of each are lost; one comes twice; one has no stamp */
			if (i < 970)
				transit_line(f, "l3_lpm", 256, 25, rep, sequence, 1000000 + i * 60000,
					     98 + rep + (int64_t)rng_below(&rng, 5));
			if (i == 5)
				transit_line(f, "l3_lpm", 256, 25, rep, sequence, 1000000 + i * 60000, 9999);
			transit_line(f, "l3_lpm", 256, 0, rep, sequence, i == 7 ? 0 : 1000000 + i * 60000,
				     i == 7 ? 0 : 478 + (int64_t)rng_below(&rng, 5));
		}
	fclose(f);
	if (import(NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(counts.campaigns, 1);
	assert_int_equal(counts.restarts, 12);
	r = report(out);
	assert_string_equal(r->measure, "transit");
	for (uint32_t i = 0; i < r->cell_count; i++)
		*(strcmp(r->cells[i].regime, "cold") == 0 ? &cold : &warm) = &r->cells[i];
	assert_non_null(warm);
	assert_non_null(cold);
	assert_string_equal(warm->title, "l3_lpm size=256B carrier=25Mbps");
	assert_string_equal(cold->title, "l3_lpm size=256B carrier=0");
	/* medians of 98 + r to 102 + r over r = 0 to 5, and a little for those lost */
	assert_float_equal(warm->gross.q[QUANTILE_P50].value, 102600, 400);
	assert_int_equal(warm->gross.q[QUANTILE_P99].state, FIGURE_LOST);
	assert_int_equal(warm->ledger.sent, 6000);
	assert_int_equal(warm->ledger.fate[FATE_LOST], 180);
	assert_int_equal(warm->ledger.duplicates, 6);
	assert_int_equal(cold->ledger.fate[FATE_UNSTAMPED], 6);
	assert_float_equal(cold->gross.q[QUANTILE_P50].value, 480000, 400);
	/* the host's stamps were not kept: no one-way figure, no chain */
	assert_int_equal(warm->one_way.q[QUANTILE_P50].state, FIGURE_REFUSED);
	assert_int_equal(warm->chain_count, 0);
	assert_int_equal(r->ratio_count, 1);
	assert_float_equal(r->ratios[0].ratio, 480.0 / 102.6, 0.05);
	result_destroy(r);
}

static double stored_value(const char *dir, const char *name, uint32_t restart)
{
	struct stored_restart *restarts;
	struct run_value *values;
	struct arena arena;
	struct store *store;
	struct err err;
	uint32_t count;
	double value = NAN;

	arena_init(&arena, 0);
	assert_int_equal(store_open_read(dir, &store, &err), 0);
	assert_int_equal(store_read_restarts(store, &arena, &restarts, &count, &err), 0);
	assert_true(restart < count);
	assert_int_equal(store_read_values(store, &restarts[restart].runs[0], &arena, &values, &count, &err), 0);
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(values[i].name, name) == 0)
			value = values[i].value;
	store_close(store);
	arena_release(&arena);
	return value;
}

/* Several measures in one file: a campaign each. */
static void all_measures(void **state)
{
	char dir[160];
	struct result *r;
	struct err err;
	FILE *f = create();

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		transit_line(f, "l2_forward", 64, 1, 0, i, 1000 + i, 80);
	for (int rep = 0; rep < 3; rep++)
		fprintf(f,
			"{\"config\":{\"n_switches\":8,\"n_entries_per_switch\":1000,\"operation\":\"insert\",\"mode\":"
			"\"sync\","
			"\"repetition\":%d},\"metric\":\"control_plane_wall_clock_s\",\"value\":3.73%d,\"extras\":{"
			"\"success_count\":8000,\"failure_count\":0,\"entries_per_second\":2144}}\n",
			rep, rep);
	for (int i = 0; i < 5; i++)
		fprintf(f,
			"{\"config\":{\"p4_program\":\"l3_lpm_int_chain\",\"topology\":\"linear_n\",\"n_switches\":3,"
			"\"background_load_mbps\":25,\"packet_size_bytes\":256,\"repetition\":0},\"metric\":\"int_"
			"drift_us\","
			"\"value\":-1059.5,\"extras\":{\"sequence\":%d,\"hop_count\":3,\"drift_us\":[-1060,%d]}}\n",
			i, -1059 + i);
	for (int i = 0; i < 4; i++)
		fprintf(f,
			"{\"config\":{\"p4_program\":\"\",\"topology\":\"single\",\"n_switches\":1,\"background_load_"
			"mbps\":45,"
			"\"source_workload_type\":\"control\",\"repetition\":0,\"sample_index\":%d},\"metric\":"
			"\"cpu_percent_per_bmv2\",\"value\":%d,\"extras\":{}}\n",
			i, i * 10);
	fputs("{\"config\":{\"p4_program\":\"l3_lpm\",\"rate_mbps\":75,\"n_probes\":100,\"duration_s\":10,\"packet_"
	      "size_bytes\":"
	      "256,\"repetition\":0},\"metric\":\"saturation_probe_loss_pct\",\"value\":2.5,\"extras\":{\"probes_"
	      "received\":97,"
	      "\"median_us\":null,\"iperf3_received_bytes_pct\":96.5}}\n"
	      "{\"config\":{\"workload_type\":\"x\",\"p4_program\":\"l3_lpm_acl\",\"repetition\":1},\"metric\":"
	      "\"config_failure\",\"value\":\"RuntimeError: no\"}\n"
	      "{\"config\":{\"repetition\":0},\"metric\":\"humidity\",\"value\":1}\n",
	      f);
	fclose(f);
	if (import(NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(counts.campaigns, 5);
	snprintf(dir, sizeof(dir), "%s/control", out);
	assert_float_equal(stored_value(dir, "wall", 2), 3732, 1e-6);
	assert_float_equal(stored_value(dir, "entries_per_second", 0), 2144, 1e-6);
	snprintf(dir, sizeof(dir), "%s/telemetry", out);
	assert_float_equal(stored_value(dir, "drift", 0), -1059.5, 1e-6);
	assert_float_equal(stored_value(dir, "hop_2_drift", 0), -1060, 1e-6);
	assert_float_equal(stored_value(dir, "hop_3_drift", 0), -1057, 1e-6);
	assert_true(isnan(stored_value(dir, "hop_4_drift", 0)));
	snprintf(dir, sizeof(dir), "%s/resources", out);
	assert_float_equal(stored_value(dir, "cpu_switches", 0), 15, 1e-6);
	assert_float_equal(stored_value(dir, "cpu_switches_max", 0), 30, 1e-6);
	snprintf(dir, sizeof(dir), "%s/calibrate", out);
	assert_float_equal(stored_value(dir, "probe_loss", 0), 2.5, 1e-6);
	assert_true(isnan(stored_value(dir, "transit_p50", 0)));
	snprintf(dir, sizeof(dir), "%s/transit", out);
	r = report(dir);
	assert_string_equal(r->measure, "transit");
	assert_int_equal(r->cell_count, 1);
	assert_int_equal(r->cells[0].ledger.fate[FATE_MATCHED], 10);
	result_destroy(r);
}

#define CONFIG "\"config\":{\"p4_program\":\"a\",\"packet_size_bytes\":64,\"background_load_mbps\":1,\"repetition\":0}"
#define GOOD                                                                                                           \
	"{" CONFIG ",\"metric\":\"switch_transit_us\",\"value\":5,\"extras\":{\"sequence\":0,\"ingress_ts_us\":10,"    \
	"\"egress_ts_us\":15}}\n"

static void bad_lines(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "rq.jsonl:1: no records; expected a JSON object a line" },
		{ GOOD "{\"a\":\n", "rq.jsonl:2: column " },
		{ GOOD GOOD "[1]\n", "rq.jsonl:3: not a JSON object" },
		{ "{\"a\":1}\n", "rq.jsonl:1: no metric that is a text" },
		{ "{\"metric\":\"switch_transit_us\"}\n",
		  "rq.jsonl:1: switch_transit_us: no config that is an object" },
		{ "{" CONFIG ",\"metric\":\"switch_transit_us\",\"value\":\"5\"}\n", "no value that is a number" },
		{ "{" CONFIG ",\"metric\":\"switch_transit_us\",\"value\":5}\n",
		  "no extras.sequence that is a whole number" },
		{ "{" CONFIG
		  ",\"metric\":\"switch_transit_us\",\"value\":6,\"extras\":{\"sequence\":0,\"ingress_ts_us\":10,"
		  "\"egress_ts_us\":15}}\n",
		  "rq.jsonl:1: switch_transit_us: its value is not egress_ts_us - ingress_ts_us" },
		{ "{\"metric\":\"switch_transit_us\",\"value\":6,\"config\":{\"repetition\":-1}}\n",
		  "no config.repetition that is a whole number" },
		{ "{" CONFIG ",\"metric\":\"control_plane_wall_clock_s\",\"value\":6}\n",
		  "no config.operation that is a short" },
		{ GOOD "{" CONFIG ",\"metric\":\"switch_transit_us\",\"value\":5,\"extr",
		  "rq.jsonl:2: the file ends within" },
		{ "{\"config\":{\"repetition\":0},\"metric\":\"humidity\",\"value\":1}\n",
		  "rq.jsonl: 1 records, none of a metric that is known" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err;
		FILE *f = create();

		fputs(bad[i].text, f);
		fclose(f);
		assert_true(import(NULL, &err) < 0);
		if (!strstr(err.message, bad[i].says))
			fail_msg("'%s' does not say '%s'", err.message, bad[i].says);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_int_not_equal(access(out, F_OK), 0);
	}
}

static void given_twice(void **state)
{
	const char *const files[] = { file, file };
	const struct import_options options = { .output = out };
	struct err err;
	FILE *f = create();

	(void)state;
	fputs(GOOD, f);
	fclose(f);
	assert_true(import_study(files, 2, &options, &counts, &err) < 0);
	assert_non_null(strstr(err.message, "given twice"));
}

/* --- text --- */

static int first_error(const void *bytes, size_t count, struct err *err)
{
	struct lines lines;
	const char *text;
	size_t length;
	int r;

	assert_int_equal(lines_open_memory(&lines, bytes, count, "x", err), 0);
	while ((r = lines_next(&lines, &text, &length, err)) == 1)
		;
	lines_release(&lines);
	return r;
}

static void odd_text(void **state)
{
	char *big = malloc(LINES_LONGEST + 3);
	struct err err;

	(void)state;
	assert_int_equal(first_error("", 0, &err), 0);
	assert_int_equal(first_error("\n\r\na\n", 5, &err), 0);
	assert_true(first_error("a\nb\0c\n", 6, &err) < 0);
	assert_non_null(strstr(err.message, "x:2: holds a byte 0"));
	assert_true(first_error("a\nb", 3, &err) < 0);
	assert_non_null(strstr(err.message, "x:2: the file ends within"));
	memset(big, 'a', LINES_LONGEST + 2);
	big[LINES_LONGEST + 1] = '\n';
	assert_true(first_error(big, LINES_LONGEST + 2, &err) < 0);
	assert_non_null(strstr(err.message, "x:1: a line of over"));
	free(big);
}

/* Ten times what fits, from a pipe that never ends by itself: refused with its line, and in little memory. */
static void *endless(void *context)
{
	static const char header[] = "pkt_id,tx_ts_ns,rx1_ts_ns,rx2_ts_ns,diff_latency_ns\n";
	FILE *f = fdopen(*(int *)context, "w");

	fputs(header, f);
	while (fputs("1,0,400,0,400\n1,0,401,0,401\n1,0,399,0,399\n1,0,400,0,400\n", f) != EOF)
		;
	fclose(f);
	return NULL;
}

static void too_long(void **state)
{
	struct import_seen seen = { 0 };
	struct rusage before, after;
	pthread_t thread;
	struct err err;
	char path[32];
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pthread_create(&thread, NULL, endless, &fds[1]), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(tsc_run_note(path, &seen, &err), -EFBIG);
	getrusage(RUSAGE_SELF, &after);
	assert_non_null(strstr(err.message, ":8388610: over 8388608 rows: no run of probes is so long"));
	assert_true(after.ru_maxrss - before.ru_maxrss < 16 << 10);
	close(fds[0]);
	pthread_join(thread, NULL);
	import_seen_release(&seen);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, remove_scratch)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(transit),     TEST(all_measures),         TEST(bad_lines),
		TEST(given_twice), cmocka_unit_test(odd_text), cmocka_unit_test(too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
