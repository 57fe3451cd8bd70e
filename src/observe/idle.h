/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_IDLE_H
#define TARE_OBSERVE_IDLE_H

#include <stdint.h>

/*
 * How the CPUs idled and at what frequency they ran, as the kernel tells in
 * /sys/devices/system/cpu: cpuidle's counters, cpufreq's. Counters since the
 * system started; two readings make a run's. What is not there (a virtual machine
 * shows no frequency) is not counted, and its number is NaN.
 */
enum { IDLE_STATES_MOST = 8, IDLE_NAME_BYTES = 16 };

struct idle_counts {
	int64_t at_ns; /* CLOCK_MONOTONIC */
	uint32_t cpus; /* with idle states */
	uint32_t state_count;
	struct idle_state {
		char name[IDLE_NAME_BYTES];
		uint64_t entered, time_us; /* all CPUs together */
	} states[IDLE_STATES_MOST];
	double frequency_mhz;      /* now, mean over CPUs; NaN: not shown */
	double frequency_switches; /* changes of frequency, all CPUs together; NaN */
};

/* `root` before /sys, "" for this host. */
void idle_read(const char *root, struct idle_counts *ret);

/* Between two readings. The deepest state is the one with the highest number. */
struct idle_use {
	double entries_per_s;   /* a CPU went idle, all states and CPUs together; NaN: not shown */
	double deepest_share;   /* time in the deepest state, of all CPUs' time */
	double shallower_share; /* in the others */
	double frequency_mhz, frequency_switches_per_s;
};
void idle_between(const struct idle_counts *from, const struct idle_counts *to, struct idle_use *ret);

#endif
