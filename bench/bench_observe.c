/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <time.h>

#include "../tests/peers/switch_child.h"
#include "observe/cgroup.h"
#include "observe/usage.h"
#include "say.h"

/*
 * The sampler: what it takes for eight switches, its CPU figure against the kernel's
 * account of a control group, and against burners that know what they burned.
 * usage: bench_observe [SWITCH], default tare-switch.
 */
enum { REPEATS = 5, SWITCHES = 8, NETWORKS = 10, INTERVAL_NS = 100000000, PERIOD_NS = 5000000 };

#define BURN_NS  INT64_C(3000000000)
#define WATCH_NS INT64_C(5000000000)

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void sleep_until(int64_t at_ns)
{
	const struct timespec at = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static int fail(const char *what, const struct err *err)
{
	fprintf(stderr, "bench_observe: %s: %s\n", what, err->message);
	return -1;
}

/* --- what it takes --- */

static int watch_switches(const struct switch_child *switches, double *ret_pct)
{
	struct sampler_process processes[SWITCHES];
	struct sampler_network networks[NETWORKS];
	const struct sampler_config config = { .interval_ns = INTERVAL_NS,
					       .cpu = -1,
					       .processes = processes,
					       .process_count = SWITCHES,
					       .networks = networks,
					       .network_count = NETWORKS };
	struct sampler *sampler = NULL;
	struct sampler_log log;
	struct err err = { 0 };

	for (int i = 0; i < SWITCHES; i++)
		processes[i] = (struct sampler_process){ .pid = switches[i].pid, .name = "switch" };
	for (int i = 0; i < NETWORKS; i++)
		networks[i] = (struct sampler_network){ .name = "network" };
	if (sampler_start(&config, &sampler, &err) < 0)
		return fail("eight switches", &err);
	sleep_until(clock_ns(CLOCK_MONOTONIC) + WATCH_NS);
	if (sampler_stop(sampler, &log, &err) < 0)
		return fail("eight switches", &err);
	*ret_pct = 100 * (double)log.own_cpu_ns / (double)log.elapsed_ns;
	sampler_log_release(&log);
	return 0;
}

static int own_cost(const char *path)
{
	struct switch_child switches[SWITCHES] = { 0 };
	double pct[REPEATS];
	int rc = 0;

	for (int i = 0; rc == 0 && i < SWITCHES; i++)
		if (!switch_child_start(&switches[i], path)) {
			fprintf(stderr, "bench_observe: %s does not start\n", path);
			rc = -1;
		}
	sleep_until(clock_ns(CLOCK_MONOTONIC) + 1000000000);
	for (int i = 0; rc == 0 && i < REPEATS; i++)
		rc = watch_switches(switches, &pct[i]);
	for (int i = 0; i < SWITCHES; i++)
		switch_child_kill(&switches[i]);
	if (rc == 0)
		say("sampler_core_pct", median(pct, REPEATS), "% of a core", REPEATS,
		    "its own CPU time, 100 ms, 8 switches, 10 networks; goal under 0.5");
	return rc;
}

/* --- burners --- */

struct burn {
	int64_t cpu_ns, start_ns, end_ns; /* its own CPU time; CLOCK_MONOTONIC */
};

struct burner {
	pid_t pid;
	int go_fd, done_fd;
};

/* A share of every period, by its own CPU clock, until time is up; then it tells, and waits for its end. */
static _Noreturn void burn_child(double share, int go_fd, int done_fd)
{
	struct burn b = { 0 };
	int64_t cpu_ns;
	char go;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go_fd, &go, 1) != 1)
		_exit(1);
	b.start_ns = clock_ns(CLOCK_MONOTONIC);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int64_t n = 0; n * PERIOD_NS < BURN_NS; n++) {
		int64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (int64_t)(share * PERIOD_NS);

		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
			;
		sleep_until(b.start_ns + (n + 1) * PERIOD_NS);
	}
	b.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	b.end_ns = clock_ns(CLOCK_MONOTONIC);
	if (write(done_fd, &b, sizeof(b)) != sizeof(b))
		_exit(1);
	pause();
	_exit(0);
}

static int burner_start(double share, struct burner *ret)
{
	int go[2], done[2];

	if (pipe(go) < 0 || pipe(done) < 0)
		return -1;
	ret->pid = fork();
	if (ret->pid == 0) {
		close(go[1]);
		burn_child(share, go[0], done[1]);
	}
	close(go[0]);
	close(done[1]);
	ret->go_fd = go[1];
	ret->done_fd = done[0];
	return ret->pid > 0 ? 0 : -1;
}

static int burner_run(const struct burner *b, struct burn *ret)
{
	return write(b->go_fd, "g", 1) == 1 && read(b->done_fd, ret, sizeof(*ret)) == sizeof(*ret) ? 0 : -1;
}

static void burner_end(struct burner *b)
{
	kill(b->pid, SIGKILL);
	waitpid(b->pid, NULL, 0);
	close(b->go_fd);
	close(b->done_fd);
}

/* What came of one burn: all of it lies between the sampler's first row and its last, and both readings of the account. */
struct burnt {
	struct burn burn;
	struct sampler_log log;
	int64_t start_ns, account_ns;
};

/* Run a burner that was started, between a sampler's start and its stop. */
static int burn_watched(struct burner *burner, const struct cgroup_account *account, struct burnt *ret, struct err *err)
{
	struct sampler_process process = { .pid = burner->pid, .name = "burner" };
	const struct sampler_config config = {
		.interval_ns = INTERVAL_NS, .cpu = -1, .processes = &process, .process_count = 1
	};
	int64_t before_ns = 0, after_ns = 0;
	struct sampler *sampler = NULL;
	bool burned;

	if (account &&
	    (cgroup_account_add(account, burner->pid, err) < 0 || cgroup_account_cpu_ns(account, &before_ns, err) < 0))
		return -1;
	ret->start_ns = clock_ns(CLOCK_MONOTONIC);
	if (sampler_start(&config, &sampler, err) < 0)
		return -1;
	burned = burner_run(burner, &ret->burn) == 0;
	if (sampler_stop(sampler, &ret->log, err) < 0)
		return -1;
	if (burned && (!account || cgroup_account_cpu_ns(account, &after_ns, err) == 0)) {
		ret->account_ns = after_ns - before_ns;
		return 0;
	}
	sampler_log_release(&ret->log);
	return burned ? -1 : err_set(err, ERR_HOST, EPIPE, "the burner ended");
}

/* -1: told, and *ret holds nothing. */
static int burn_sampled(double share, const struct cgroup_account *account, struct burnt *ret)
{
	struct burner burner;
	struct err err = { 0 };
	int rc;

	*ret = (struct burnt){ 0 };
	if (burner_start(share, &burner) < 0) {
		err_set(&err, ERR_HOST, errno, "cannot be started: %s", strerror(errno));
		return fail("burner", &err);
	}
	rc = burn_watched(&burner, account, ret, &err);
	burner_end(&burner);
	return rc < 0 ? fail("burner", &err) : 0;
}

/* The process's first and last row within a time, on the sampler's clock; -1, told: there are no two. */
static int rows_within(const struct burnt *b, int64_t from_ns, int64_t to_ns, const struct sampler_row **ret_first,
		       const struct sampler_row **ret_last)
{
	const struct sampler_row *first = NULL, *last = NULL;

	for (size_t r = 0; r < b->log.row_count; r++) {
		const struct sampler_row *row = &b->log.rows[r];

		if (b->log.subjects[row->subject].kind != SAMPLER_PROCESS || row->at_ns < from_ns || row->at_ns > to_ns)
			continue;
		first = first ? first : row;
		last = row;
	}
	if (!first || first == last) {
		fprintf(stderr, "bench_observe: no two samples of the burner\n");
		return -1;
	}
	*ret_first = first;
	*ret_last = last;
	return 0;
}

static int account_diff(const struct cgroup_account *account, double *ret_pct)
{
	const struct sampler_row *first, *last;
	struct burnt b;
	int rc = burn_sampled(0.35, account, &b);

	if (rc < 0)
		return rc;
	rc = rows_within(&b, INT64_MIN, INT64_MAX, &first, &last);
	if (rc == 0 && b.account_ns <= 0) {
		fprintf(stderr, "bench_observe: the account counted nothing\n");
		rc = -1;
	}
	if (rc == 0)
		*ret_pct =
			100 * fabs((double)(last->v[PROCESS_CPU] - first->v[PROCESS_CPU]) / (double)b.account_ns - 1);
	sampler_log_release(&b.log);
	return rc;
}

static int against_account(void)
{
	struct cgroup_account account;
	double pct[REPEATS];
	struct err err = { 0 };
	int rc = 0;

	if (cgroup_account_open(NULL, "tare-bench", &account, &err) < 0) {
		fprintf(stderr, "bench_observe: left out: %s\n", err.message);
		return 0;
	}
	for (int i = 0; rc == 0 && i < REPEATS; i++)
		rc = account_diff(&account, &pct[i]);
	if (rc == 0)
		say("sampler_cgroup_diff_pct", median(pct, REPEATS), "%", REPEATS,
		    account.version == 1 ? "CPU time of a burner, against cpuacct (cgroup v1); goal under 1"
					 : "CPU time of a burner, against cpu.stat (cgroup v2); goal under 1");
	sleep_until(clock_ns(CLOCK_MONOTONIC) + 100000000);
	cgroup_account_close(&account);
	return rc;
}

/* The share between the rows that lie inside the burn, against the burner's own. */
static int burn_error(double share, double *ret_pp)
{
	const struct sampler_row *first, *last;
	struct burnt b;
	int rc = burn_sampled(share, NULL, &b);

	if (rc < 0)
		return rc;
	rc = rows_within(&b, b.burn.start_ns - b.start_ns, b.burn.end_ns - b.start_ns, &first, &last);
	if (rc == 0) {
		double sampled =
			(double)(last->v[PROCESS_CPU] - first->v[PROCESS_CPU]) / (double)(last->at_ns - first->at_ns);

		*ret_pp = 100 * fabs(sampled - (double)b.burn.cpu_ns / (double)(b.burn.end_ns - b.burn.start_ns));
	}
	sampler_log_release(&b.log);
	return rc;
}

static int against_burners(void)
{
	static const double shares[] = { 0.10, 0.35, 0.90 };
	double worst = 0;

	for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
		double pp[REPEATS], m;

		for (int i = 0; i < REPEATS; i++)
			if (burn_error(shares[s], &pp[i]) < 0)
				return -1;
		m = median(pp, REPEATS);
		worst = m > worst ? m : worst;
		fprintf(stderr, "bench_observe: burn of %.0f %%: off by %.3f pp\n", 100 * shares[s], m);
	}
	say("burn_error_pp", worst, "pp", REPEATS,
	    "burners of 10, 35 and 90 %, against their own CPU clock over the wall clock; the worst of the three; goal "
	    "under 1");
	return 0;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : TARE_SWITCH;

	return own_cost(path) < 0 || against_account() < 0 || against_burners() < 0;
}
