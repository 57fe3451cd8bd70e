/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../tests/unit/import_lab.h"
#include "import/import.h"
#include "say.h"

/* 400 CSV files of 20,000 rows: 4 programs and their nulls, 5 sessions of 10 runs, as the FPGA study publishes them. */

enum { REPEATS = 3 };

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int remove_tree(const char *path)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	return system(command);
}

static int repeat(const char *lab, const char *out, double *ret_s)
{
	const struct import_options options = { .output = out };
	struct import_counts counts;
	struct err err = { 0 };
	double from = now_s();

	if (import_latencylab(lab, &options, &counts, &err) < 0) {
		fprintf(stderr, "bench_import: %s\n", err.message);
		return -1;
	}
	*ret_s = now_s() - from;
	if (counts.runs != 400 || counts.records != 8000000) {
		fprintf(stderr, "bench_import: %u runs, %llu rows; expected 400 and 8,000,000\n", counts.runs,
			(unsigned long long)counts.records);
		return -1;
	}
	return remove_tree(out);
}

int main(void)
{
	static const struct lab_truth programs[] = {
		{ "CS", "NC", 364, 0 }, { "FT", "NT", 107, 30 }, { "FWD", "NF", 149, 0 }, { "RH", "NR", 177, 0 }
	};
	char base[] = "/tmp/tare-bench-import-XXXXXX", lab[64], out[64];
	const struct lab_make m = {
		.dir = lab,
		.programs = programs,
		.program_count = 4,
		.sessions = 5,
		.runs = 10,
		.packets = 20000,
		.offset_ns = 40,
		.noise_ns = 12,
	};
	double seconds[REPEATS];
	int rc = 0;

	if (!mkdtemp(base))
		return 1;
	snprintf(lab, sizeof(lab), "%s/lab", base);
	snprintf(out, sizeof(out), "%s/out", base);
	lab_make(&m);
	for (int i = 0; rc == 0 && i < REPEATS; i++)
		rc = repeat(lab, out, &seconds[i]);
	if (rc == 0) {
		say("import_latencylab_s", median(seconds, REPEATS), "s", REPEATS,
		    "400 CSV files of 20,000 rows to a whole campaign, warm pages, median");
	}
	remove_tree(base);
	return rc ? 1 : 0;
}
