/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/idle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "observe/hostfile.h"

#define CPU "/sys/devices/system/cpu/cpu%u"

enum { CPUS_MOST = 1024 };

static double number(const char *root, const char *path)
{
	char text[64], *end;
	double v;

	if (!hostfile_read(root, path, text, sizeof(text)))
		return NAN;
	v = strtod(text, &end);
	return end == text ? NAN : v;
}

/* False: this CPU has no such state. */
static bool read_state(const char *root, uint32_t cpu, uint32_t state, struct idle_state *to)
{
	double entered, time_us;
	char path[128];

	snprintf(path, sizeof(path), CPU "/cpuidle/state%u/usage", cpu, state);
	entered = number(root, path);
	snprintf(path, sizeof(path), CPU "/cpuidle/state%u/time", cpu, state);
	time_us = number(root, path);
	if (isnan(entered) || isnan(time_us))
		return false;
	snprintf(path, sizeof(path), CPU "/cpuidle/state%u/name", cpu, state);
	hostfile_read(root, path, to->name, sizeof(to->name));
	to->entered += (uint64_t)entered;
	to->time_us += (uint64_t)time_us;
	return true;
}

void idle_read(const char *root, struct idle_counts *ret)
{
	struct idle_counts c = { .frequency_switches = NAN };
	double mhz = 0, with_frequency = 0;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	c.at_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	for (uint32_t cpu = 0; cpu < CPUS_MOST; cpu++) {
		uint32_t state = 0;
		char path[128];
		double v;

		while (state < IDLE_STATES_MOST && read_state(root, cpu, state, &c.states[state]))
			state++;
		c.cpus += state > 0;
		c.state_count = state > c.state_count ? state : c.state_count;
		snprintf(path, sizeof(path), CPU "/cpufreq/scaling_cur_freq", cpu);
		v = number(root, path);
		if (!isnan(v)) {
			mhz += v / 1000;
			with_frequency++;
		}
		snprintf(path, sizeof(path), CPU "/cpufreq/stats/total_trans", cpu);
		v = number(root, path);
		if (!isnan(v))
			c.frequency_switches = v + (isnan(c.frequency_switches) ? 0 : c.frequency_switches);
		if (state == 0 && with_frequency == 0 && cpu > 0)
			break; /* no such CPU, or a host that shows neither */
		if (state == 0 && cpu >= c.cpus && cpu >= with_frequency)
			break;
	}
	c.frequency_mhz = with_frequency > 0 ? mhz / with_frequency : NAN;
	*ret = c;
}

void idle_between(const struct idle_counts *from, const struct idle_counts *to, struct idle_use *ret)
{
	double s = (double)(to->at_ns - from->at_ns) / 1e9, entered = 0, shallower = 0, deepest = 0;

	*ret = (struct idle_use){ NAN, NAN, NAN, (from->frequency_mhz + to->frequency_mhz) / 2,
				  (to->frequency_switches - from->frequency_switches) / s };
	if (to->state_count == 0 || from->state_count != to->state_count || s <= 0)
		return;
	for (uint32_t i = 0; i < to->state_count; i++) {
		double share = (double)(to->states[i].time_us - from->states[i].time_us) / (s * 1e6 * to->cpus);

		entered += (double)(to->states[i].entered - from->states[i].entered);
		if (i + 1 == to->state_count)
			deepest = share;
		else
			shallower += share;
	}
	ret->entries_per_s = entered / s;
	ret->deepest_share = deepest;
	ret->shallower_share = shallower;
}
