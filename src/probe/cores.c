/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cores.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
	int32_t cpu;
	int32_t core; /* core_of */
	bool isolated, sibling;
};

static int32_t read_number(int32_t cpu, const char *name)
{
	char path[96];
	int value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

/* Package and core in one number; negative where the kernel does not say. */
static int32_t core_of(int32_t cpu)
{
	int32_t package = read_number(cpu, "physical_package_id"), core = read_number(cpu, "core_id");

	return package < 0 || core < 0 ? -1 : package << 16 | core;
}

/* "2-3,6": the kernel's list of CPUs that it keeps other work away from. */
static void read_isolated(cpu_set_t *ret)
{
	FILE *f = fopen("/sys/devices/system/cpu/isolated", "re");
	int from, to;

	CPU_ZERO(ret);
	if (!f)
		return;
	while (fscanf(f, "%d", &from) == 1) {
		int c = fgetc(f);

		to = from;
		if (c == '-') {
			if (fscanf(f, "%d", &to) != 1)
				break;
			c = fgetc(f);
		}
		for (int cpu = from; cpu <= to && cpu < CPU_SETSIZE; cpu++)
			CPU_SET(cpu, ret);
		if (c != ',')
			break;
	}
	fclose(f);
}

static int by_preference(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->isolated != y->isolated)
		return x->isolated ? -1 : 1;
	if (x->sibling != y->sibling)
		return x->sibling ? 1 : -1;
	return y->cpu - x->cpu;
}

void cores_assign(const int32_t *cpus, uint32_t count, struct cores *ret)
{
	*ret = (struct cores){ .count = count };
	TARE_ASSERT(count >= 1 && count <= CORES_MOST);
	for (uint32_t i = 0; i < count; i++)
		ret->cpu[i] = cpus[i];
	ret->send = ret->cpu[0];
	ret->target = count >= 3 ? ret->cpu[1] : ret->cpu[0];
	ret->bypass = ret->cpu[count - 1];
	ret->path = count == 4 ? ret->cpu[2] : ret->bypass;
}

int cores_choose(uint32_t wanted, struct cores *ret, struct err *err)
{
	struct candidate candidates[CPU_SETSIZE];
	int32_t cpus[CORES_MOST];
	cpu_set_t allowed, isolated;
	uint32_t count = 0, physical = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return err_set(err, ERR_HOST, errno, "cannot ask which CPUs this process may use: %s", strerror(errno));
	read_isolated(&isolated);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
		struct candidate c = { .cpu = cpu };

		if (!CPU_ISSET(cpu, &allowed))
			continue;
		c.isolated = CPU_ISSET(cpu, &isolated);
		c.core = core_of(cpu);
		for (uint32_t i = 0; c.core >= 0 && i < count; i++)
			if (candidates[i].core == c.core)
				c.sibling = true;
		physical += !c.sibling;
		candidates[count++] = c;
	}
	if (wanted > CORES_MOST)
		wanted = CORES_MOST;
	if (wanted > count)
		return err_set(err, ERR_HOST, ENODEV,
			       "%u cores are asked for, but this process may use %u CPU%s; expected more CPUs in its "
			       "affinity, or cores: %u",
			       wanted, count, count == 1 ? "" : "s", count);
	if (wanted == 0)
		wanted = physical < CORES_MOST ? physical : CORES_MOST;
	qsort(candidates, count, sizeof(candidates[0]), by_preference);
	/* The receiver's core is the one that matters, and the last of the order: it gets the best. */
	for (uint32_t i = 0; i < wanted; i++)
		cpus[i] = candidates[wanted - 1 - i].cpu;
	cores_assign(cpus, wanted, ret);
	return 0;
}
