/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tests/unit/synthetic.h"
#include "report/open.h"
#include "report/output.h"
#include "report/terminal.h"
#include "say.h"

/*
 * How long a report of 8 million samples takes from a store on disk, and how much
 * memory: 8 conditions x 5 restarts x 10 runs x 20,000 probes. Six programs and the
 * tare, which has two restarts in each block. Each repeat is a process of its own,
 * so that its largest memory is its own too; the store's pages are warm.
 */
enum { REPEATS = 3 };

static const struct synthetic_program programs[] = {
	{ .name = "forward", .net_ns = 149, .restart_ns = 0.7 },
	{ .name = "fivetuple", .net_ns = 107, .second_ns = 30 },
	{ .name = "removeheader", .net_ns = 177 },
	{ .name = "checksum", .net_ns = 364, .restart_ns = 1 },
	{ .name = "acl", .net_ns = 210 },
	{ .name = "int", .net_ns = 250 },
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int report(const char *dir)
{
	struct terminal_style style = { .width = 100 };
	struct err err = { 0 };
	struct result *result;
	FILE *out = fopen("/dev/null", "w");
	char html[256];

	snprintf(html, sizeof(html), "%s/report.html", dir);
	if (!out || result_open(dir, &result, &err) != 0 || terminal_write(result, out, &style, 0, &err) != 0 ||
	    output_html(html, result, &err) != 0) {
		fprintf(stderr, "bench_report: %s\n", err.message);
		return 1;
	}
	return 0;
}

static int repeat(const char *dir, double *ret_s, double *ret_mb)
{
	double start = now_s();
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(report(dir));
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
		return -1;
	*ret_s = now_s() - start;
	*ret_mb = (double)usage.ru_maxrss / 1024;
	return 0;
}

static void clean(const char *dir)
{
	static const char *const names[] = {
		"tare.db", "tare.db-wal", "tare.db-shm", "lock", "tare.lock", "report.html"
	};
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

int main(void)
{
	const struct synthetic s = { .programs = programs,
				     .program_count = 6,
				     .blocks = 5,
				     .runs = 10,
				     .probes = 20000,
				     .noise_ns = 8,
				     .tsc_hz = 2.596e9,
				     .tick_ns = 10,
				     .lost_every = 997,
				     .apart_every = 91,
				     .truth = true,
				     .unbalanced_turn = UINT32_MAX,
				     .failed_turn = UINT32_MAX };
	char base[] = "/tmp/tare-bench-report-XXXXXX", dir[64];
	double seconds[REPEATS], megabytes[REPEATS];
	struct err err = { 0 };
	struct stat st;
	int rc = 1;

	if (!mkdtemp(base))
		return 1;
	snprintf(dir, sizeof(dir), "%s/store", base);
	if (synthetic_write(&s, dir, &err) != 0) {
		fprintf(stderr, "bench_report: %s\n", err.message);
		goto out;
	}
	for (int i = 0; i < REPEATS; i++)
		if (repeat(dir, &seconds[i], &megabytes[i]) != 0)
			goto out;
	say("report_8m_s", median(seconds, REPEATS), "s", REPEATS,
	    "8 conditions x 5 restarts x 10 runs x 20,000 probes from the store to terminal and HTML report, warm "
	    "pages, median");
	say("report_8m_mb", median(megabytes, REPEATS), "MB", REPEATS, "largest resident memory of the same");
	snprintf(dir + strlen(dir), sizeof(dir) - strlen(dir), "/tare.db");
	if (stat(dir, &st) == 0)
		fprintf(stderr, "bench_report: the store is %.0f MB\n", (double)st.st_size / 1e6);
	*strrchr(dir, '/') = '\0';
	rc = 0;
out:
	clean(dir);
	rmdir(base);
	return rc;
}
