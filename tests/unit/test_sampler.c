/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "observe/cgroup.h"
#include "observe/idle.h"
#include "observe/sampler_private.h"
#include "observe/usage.h"
#include "scratch.h"

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* --- text --- */

static void interfaces_of_a_namespace(void **state)
{
	static const char text[] = "Inter-|   Receive                                                |  Transmit\n"
				   " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets "
				   "errs drop fifo colls "
				   "carrier compressed\n"
				   "    lo:      10       1    0    0    0     0          0         0       10       1 "
				   "   0    0    0     0 "
				   "      0          0\n"
				   "    p1: 4191564263 2605196    0    7    0     0          0         0 1814661   "
				   "17209    0    9    0     0 "
				   "      0          0\n"
				   "cut:1 2 3";
	int64_t v[INTERFACE_COLUMNS];
	const char *rest = text;
	char name[64];

	(void)state;
	rest = net_dev_line(rest, name, v);
	assert_non_null(rest);
	assert_string_equal(name, "lo");
	rest = net_dev_line(rest, name, v);
	assert_non_null(rest);
	assert_string_equal(name, "p1");
	assert_int_equal(v[INTERFACE_RX_BYTES], 4191564263);
	assert_int_equal(v[INTERFACE_RX_PACKETS], 2605196);
	assert_int_equal(v[INTERFACE_RX_DROPPED], 7);
	assert_int_equal(v[INTERFACE_TX_BYTES], 1814661);
	assert_int_equal(v[INTERFACE_TX_PACKETS], 17209);
	assert_int_equal(v[INTERFACE_TX_DROPPED], 9);
	assert_null(net_dev_line(rest, name, v)); /* a line that is cut short is no interface */
	assert_null(net_dev_line("", name, v));
}

static void a_process_with_an_odd_name(void **state)
{
	int64_t v[PROCESS_COLUMNS] = { 0 };

	(void)state;
	assert_true(process_stat("7 (a) R (b) S 1 7 7 0 -1 4194304 105 1 3 1 0 0 0 0 20 0 5 0 11 3133440 408 1844 9\n",
				 4096, v));
	assert_int_equal(v[PROCESS_MINOR], 105);
	assert_int_equal(v[PROCESS_MAJOR], 3);
	assert_int_equal(v[PROCESS_THREADS], 5);
	assert_int_equal(v[PROCESS_RSS], 408 * 4096);
	assert_false(
		process_stat("7 (a) Z 1 7 7 0 -1 4194304 105 1 3 1 0 0 0 0 20 0 5 0 11 3133440 408 1844 9\n", 4096, v));
	assert_false(process_stat("7 (a) R 1 7", 4096, v));
	assert_false(process_stat("", 4096, v));
}

static void small_files(void **state)
{
	int64_t v[SAMPLER_COLUMNS_MOST];

	(void)state;
	assert_true(schedstat_line("43144 17 3\n", v));
	assert_int_equal(v[THREAD_CPU], 43144);
	assert_int_equal(v[THREAD_WAIT], 17);
	assert_int_equal(v[THREAD_SLICES], 3);
	assert_false(schedstat_line("43144 17\n", v));
	assert_true(stat_cpu_line("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 ", 100, v));
	assert_int_equal(v[MACHINE_BUSY], 19 * INT64_C(10000000));
	assert_int_equal(v[MACHINE_IDLE], 9 * INT64_C(10000000));
	assert_int_equal(v[MACHINE_STEAL], 8 * INT64_C(10000000));
	assert_false(stat_cpu_line("cpu0 1 2 3 4 5 6 7 8 9 10\n", 100, v));
	assert_int_equal(
		pressure_total_ns("some avg10=22.00 avg60=5.59 avg300=9.82 total=6322\nfull avg10=0 total=9\n"),
		6322000);
	assert_int_equal(pressure_total_ns("full avg10=0.00 total=9\n"), SAMPLER_NONE);
	assert_int_equal(pressure_total_ns("some avg10=0.00\nfull total=9\n"), SAMPLER_NONE);
	assert_int_equal(keyed_number("Rss:    1756 kB\nPss:     221 kB\nPss_Dirty: 116 kB\n", "Pss"), 221);
	assert_int_equal(keyed_number("a: 1\n", "b"), SAMPLER_NONE);
}

/* --- figures of a log that is known --- */

static const struct sampler_subject known_subjects[] = {
	{ .kind = SAMPLER_MACHINE, .name = "machine" },
	{ .kind = SAMPLER_PROCESS, .owner = 0, .tid = 10, .name = "switch 1" },
	{ .kind = SAMPLER_PROCESS, .owner = 1, .tid = 20, .name = "switch 2" },
	{ .kind = SAMPLER_INTERFACE, .owner = 1, .name = "switch 2: p1" },
};

enum { S = 1000000000 };

/* Two seconds; the second switch is read 1 ms later than the first. */
static void fill_known(struct sampler_row rows[8])
{
	for (int i = 0; i < 8; i++) {
		rows[i] = (struct sampler_row){ .sample = (uint32_t)i / 4, .subject = (uint32_t)i % 4 };
		rows[i].at_ns = INT64_C(2) * S * (i / 4) + 1000000 * (i % 4 == 2);
		for (int c = 0; c < SAMPLER_COLUMNS_MOST; c++)
			rows[i].v[c] = SAMPLER_NONE;
	}
	for (int i = 0; i < 8; i += 4) {
		int later = i / 4;

		rows[i].v[MACHINE_BUSY] = INT64_C(3) * S * later;
		rows[i].v[MACHINE_IDLE] = S / 2 * later;
		rows[i].v[MACHINE_STEAL] = S / 2 * later;
		rows[i].v[MACHINE_PRESSURE_CPU] = S / 10 * later;
		rows[i + 1].v[PROCESS_CPU] = 5 + S / 2 * later;
		rows[i + 1].v[PROCESS_WAIT] = S / 50 * later;
		rows[i + 1].v[PROCESS_RSS] = 40000000 + 4000000 * later;
		rows[i + 1].v[PROCESS_THREADS] = 3;
		rows[i + 2].v[PROCESS_CPU] = S * later;
		rows[i + 2].v[PROCESS_WAIT] = S / 50 * later;
		rows[i + 2].v[PROCESS_RSS] = 20000000;
		rows[i + 2].v[PROCESS_THREADS] = 4;
		rows[i + 3].v[INTERFACE_RX_PACKETS] = 100 + 400 * later;
	}
}

static struct sampler_log known_log(struct sampler_row rows[8], struct sampler_subject subjects[4])
{
	memcpy(subjects, known_subjects, sizeof(known_subjects));
	fill_known(rows);
	return (struct sampler_log){ .interval_ns = INT64_C(2) * S,
				     .elapsed_ns = INT64_C(2) * S,
				     .samples = 2,
				     .own_cpu_ns = 2000000,
				     .late_max_ns = 1500000,
				     .subjects = subjects,
				     .subject_count = 4,
				     .rows = rows,
				     .row_count = 8 };
}

static void figures_are_rates_over_each_subjects_own_time(void **state)
{
	struct sampler_subject subjects[4];
	struct sampler_row rows[8];
	struct sampler_log log = known_log(rows, subjects);
	struct usage u;

	(void)state;
	assert_int_equal(usage_of(&log, &u), 0);
	assert_int_equal(u.processes, 2);
	assert_int_equal(u.threads, 7);
	assert_float_equal(u.cpu_pct, 75, 1e-9);
	assert_float_equal(u.cpu_each_pct, 37.5, 1e-9);
	assert_float_equal(u.cpu_most_pct, 50, 1e-9);
	assert_float_equal(u.wait_pct, 2, 1e-9);
	assert_float_equal(u.rss_mb, 62, 1e-9);
	assert_float_equal(u.rss_each_mb, 31, 1e-9);
	assert_true(isnan(u.pss_mb));
	assert_true(isnan(u.voluntary_per_s));
	assert_float_equal(u.machine_busy_pct, 75, 1e-9);
	assert_float_equal(u.machine_steal_pct, 12.5, 1e-9);
	assert_float_equal(u.pressure_cpu_pct, 5, 1e-9);
	assert_true(isnan(u.pressure_memory_pct)); /* this host does not tell */
	assert_float_equal(u.sampler_core_pct, 0.1, 1e-9);
	assert_float_equal(u.sampler_late_ms, 1.5, 1e-9);
	assert_float_equal(usage_interface_per_s(&log, 1, "p1", INTERFACE_RX_PACKETS), 200, 1e-9);
	assert_true(isnan(usage_interface_per_s(&log, 1, "p1", INTERFACE_TX_PACKETS)));
	assert_true(isnan(usage_interface_per_s(&log, 0, "p1", INTERFACE_RX_PACKETS)));
}

/* Ten ticks of the machine's counters, and just less: the processes' counters are finer. */
static void a_short_time_says_nothing_of_the_machine(void **state)
{
	struct sampler_subject subjects[4];
	struct sampler_row rows[8];
	struct sampler_log log = known_log(rows, subjects);
	struct usage u;

	(void)state;
	for (int i = 4; i < 8; i++)
		rows[i].at_ns = rows[i - 4].at_ns + 100000000;
	assert_int_equal(usage_of(&log, &u), 0);
	assert_float_equal(u.machine_busy_pct, 75, 1e-9);
	for (int i = 4; i < 8; i++)
		rows[i].at_ns--;
	assert_int_equal(usage_of(&log, &u), 0);
	assert_true(isnan(u.machine_busy_pct) && isnan(u.machine_steal_pct));
	assert_false(isnan(u.cpu_pct));
}

static void a_process_that_ended_makes_no_sum(void **state)
{
	struct sampler_subject subjects[4];
	struct sampler_row rows[8];
	struct sampler_log log = known_log(rows, subjects);
	struct usage u;

	(void)state;
	subjects[2].gone = true;
	assert_int_equal(usage_of(&log, &u), 0);
	assert_true(isnan(u.cpu_pct) && isnan(u.cpu_each_pct) && isnan(u.cpu_most_pct) && isnan(u.rss_mb));
	assert_float_equal(u.machine_busy_pct, 75, 1e-9);
	subjects[3].gone = true;
	assert_true(isnan(usage_interface_per_s(&log, 1, "p1", INTERFACE_RX_PACKETS)));
}

static void nothing_sampled_is_no_number(void **state)
{
	struct sampler_log log = { 0 };
	struct usage u;

	(void)state;
	assert_int_equal(usage_of(&log, &u), 0);
	for (const struct usage_column *c = usage_columns; c->name; c++)
		assert_true(isnan(*(const double *)((const char *)&u + c->offset)));
}

/* --- a made-up host --- */

static void put(const char *path, const char *text)
{
	char whole[256];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", scratch, path);
	for (char *slash = strchr(whole + strlen(scratch) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static const char process_seven[] =
	"7 (switch) S 1 7 7 0 -1 4194304 105 1 3 1 0 0 0 0 20 0 1 0 11 3133440 408 1844 9\n";

static void a_host_without_pressure_and_proportional_memory(void **state)
{
	const struct sampler_process process = { .pid = 7, .name = "switch 1" };
	const struct sampler_network network = { .name = "switch 1" };
	struct sampler_config config = { .interval_ns = 2000000,
					 .cpu = -1,
					 .processes = &process,
					 .process_count = 1,
					 .networks = &network,
					 .network_count = 1 };
	struct sampler *s = NULL;
	struct sampler_log log;
	struct err err = { 0 };
	struct usage u;

	(void)state;
	config.root = scratch;
	put("/proc/7/stat", process_seven);
	put("/proc/7/task/7/schedstat", "1000 10 1\n");
	put("/proc/7/task/7/comm", "main\n");
	put("/proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\n");
	put("/proc/thread-self/net/dev", "  face |bytes\n    p1: 100 10 0 0 0 0 0 0 200 20 0 0 0 0 0 0\n");
	assert_int_equal(sampler_start(&config, &s, &err), 0);
	assert_int_equal(sampler_stop(s, &log, &err), 0);
	assert_true(log.samples >= 2);
	assert_int_equal(usage_of(&log, &u), 0);
	assert_float_equal(u.cpu_pct, 0, 1e-9); /* counters that stand still */
	assert_float_equal(u.rss_mb, 408 * sysconf(_SC_PAGESIZE) / 1e6, 1e-9);
	assert_true(isnan(u.pss_mb) && isnan(u.pressure_cpu_pct) && isnan(u.voluntary_per_s));
	assert_float_equal(usage_interface_per_s(&log, 0, "p1", INTERFACE_TX_PACKETS), 0, 1e-9);
	sampler_log_release(&log);
}

/* Two readings of a host with two CPUs, two idle states and a frequency; and of one that shows nothing. */
static void idle_states_and_frequency(void **state)
{
	char path[128];
	struct idle_counts from, to;
	struct idle_use use;

	(void)state;
	idle_read(scratch, &from);
	idle_between(&from, &from, &use);
	assert_true(isnan(use.entries_per_s) && isnan(use.frequency_mhz) && isnan(use.frequency_switches_per_s));
	for (int round = 0; round < 2; round++) {
		for (int cpu = 0; cpu < 2; cpu++) {
			for (int s = 0; s < 2; s++) {
				snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/usage", cpu,
					 s);
				put(path, round ? "110\n" : "100\n");
				snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/time", cpu,
					 s);
				put(path, round && s ? "1500000\n" : "1000000\n");
			}
			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
			put(path, round ? "3000000\n" : "2000000\n");
			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/stats/total_trans", cpu);
			put(path, round ? "7\n" : "5\n");
		}
		idle_read(scratch, round ? &to : &from);
	}
	assert_int_equal(to.cpus, 2);
	assert_int_equal(to.state_count, 2);
	to.at_ns = from.at_ns + 1000000000;
	idle_between(&from, &to, &use);
	assert_float_equal(use.entries_per_s, 40, 1e-9);
	assert_float_equal(use.deepest_share, 0.5, 1e-9);
	assert_float_equal(use.shallower_share, 0, 1e-9);
	assert_float_equal(use.frequency_mhz, 2500, 1e-9);
	assert_float_equal(use.frequency_switches_per_s, 4, 1e-9);
}

static void a_host_without_control_groups(void **state)
{
	struct cgroup_account account;
	struct err err = { 0 };
	int64_t ns = 0;

	(void)state;
	assert_int_equal(cgroup_account_open(scratch, "tare", &account, &err), -ENOENT);
	assert_non_null(strstr(err.message, "no control group accounts CPU time here"));
	/* of version 2, and of version 1 where both are there */
	put("/sys/fs/cgroup/unified/cgroup.controllers", "\n");
	put("/sys/fs/cgroup/unified/tare/cpu.stat", "usage_usec 250\nuser_usec 200\n");
	assert_int_equal(cgroup_account_open(scratch, "tare", &account, &err), 0);
	assert_int_equal(cgroup_account_cpu_ns(&account, &ns, &err), 0);
	assert_int_equal(ns, 250000);
	assert_int_equal(cgroup_account_add(&account, getpid(), &err), -ENOENT);
	assert_false(cgroup_account_close(&account));
	put("/sys/fs/cgroup/cpuacct/cpuacct.usage", "1\n");
	put("/sys/fs/cgroup/cpuacct/tare/cpuacct.usage", "77\n");
	assert_int_equal(cgroup_account_open(scratch, "tare", &account, &err), 0);
	assert_int_equal(cgroup_account_cpu_ns(&account, &ns, &err), 0);
	assert_int_equal(ns, 77);
}

/* --- this host --- */

static void spin_ns(int64_t ns)
{
	int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void *spin(void *unused)
{
	(void)unused;
	spin_ns(20000000);
	return NULL;
}

static int start_sampling(pid_t pid, struct sampler_process *process, struct sampler **ret, struct err *err)
{
	static struct sampler_config config;

	*process = (struct sampler_process){ .pid = pid, .name = "switch 1" };
	config = (struct sampler_config){ .interval_ns = 5000000, .cpu = -1, .processes = process, .process_count = 1 };
	return sampler_start(&config, ret, err);
}

/* A thread that came and went is in the process's time, and what is sampled is what was used. */
static void cpu_time_is_what_was_used(void **state)
{
	struct sampler_process process;
	struct sampler *s = NULL;
	struct sampler_log log;
	struct err err = { 0 };
	int64_t before_ns, after_ns, used_ns;
	const struct sampler_row *first = NULL, *last = NULL;
	pthread_t thread;

	(void)state;
	before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	assert_int_equal(start_sampling(getpid(), &process, &s, &err), 0);
	assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
	pthread_join(thread, NULL);
	spin_ns(20000000);
	assert_int_equal(sampler_stop(s, &log, &err), 0);
	after_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t i = 0; i < log.row_count; i++) {
		if (log.subjects[log.rows[i].subject].kind != SAMPLER_PROCESS)
			continue;
		first = first ? first : &log.rows[i];
		last = &log.rows[i];
	}
	assert_non_null(first);
	used_ns = last->v[PROCESS_CPU] - first->v[PROCESS_CPU];
	assert_in_range(used_ns, 40000000, after_ns - before_ns);
	assert_true(last->v[PROCESS_RSS] > 0);
	assert_true(last->v[PROCESS_SLICES] > 0);
	assert_true(log.own_cpu_ns > 0);
	sampler_log_release(&log);
}

static void a_process_may_end_while_it_is_sampled(void **state)
{
	struct sampler_process process;
	struct sampler *s = NULL;
	struct sampler_log log;
	struct err err = { 0 };
	struct usage u;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(start_sampling(child, &process, &s, &err), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(sampler_stop(s, &log, &err), 0);
	assert_int_equal(log.subjects[1].kind, SAMPLER_PROCESS);
	assert_true(log.subjects[1].gone);
	assert_int_equal(usage_of(&log, &u), 0);
	assert_true(isnan(u.cpu_pct));
	sampler_log_release(&log);
	/* and one that is gone from the start is named */
	assert_int_equal(start_sampling(child, &process, &s, &err), -ESRCH);
	assert_non_null(strstr(err.message, "cannot sample switch 1 (process "));
	assert_non_null(strstr(err.message, "No such process"));
}

static void the_schedule_does_not_drift(void **state)
{
	struct sampler_process process;
	struct sampler *s = NULL;
	struct sampler_log log;
	struct err err = { 0 };
	const struct timespec wait = { .tv_nsec = 60000000 };

	(void)state;
	assert_int_equal(start_sampling(getpid(), &process, &s, &err), 0);
	nanosleep(&wait, NULL);
	assert_int_equal(sampler_stop(s, &log, &err), 0);
	assert_true(log.samples >= 2);
	/* every sample but the last stands behind its place in the schedule, and before the next place: none is early */
	for (size_t i = 0; i < log.row_count; i++)
		if (log.rows[i].sample > 0 && log.rows[i].sample + 1 < log.samples + log.missed)
			assert_true(log.rows[i].at_ns >= log.rows[i].sample * INT64_C(5000000));
	sampler_log_release(&log);
	assert_int_equal(sampler_stop(NULL, &log, &err), 0);
	assert_int_equal(log.row_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interfaces_of_a_namespace),
		cmocka_unit_test(a_process_with_an_odd_name),
		cmocka_unit_test(small_files),
		cmocka_unit_test(figures_are_rates_over_each_subjects_own_time),
		cmocka_unit_test(a_short_time_says_nothing_of_the_machine),
		cmocka_unit_test(a_process_that_ended_makes_no_sum),
		cmocka_unit_test(nothing_sampled_is_no_number),
		cmocka_unit_test_setup_teardown(a_host_without_pressure_and_proportional_memory, make_scratch,
						remove_scratch),
		cmocka_unit_test_setup_teardown(idle_states_and_frequency, make_scratch, remove_scratch),
		cmocka_unit_test_setup_teardown(a_host_without_control_groups, make_scratch, remove_scratch),
		cmocka_unit_test(cpu_time_is_what_was_used),
		cmocka_unit_test(a_process_may_end_while_it_is_sampled),
		cmocka_unit_test(the_schedule_does_not_drift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
