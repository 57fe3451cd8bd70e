/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/hostfacts.h"

#include <cpuid.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "observe/build.h"
#include "observe/hostfile.h"

#define CPU "/sys/devices/system/cpu"

struct file_fact {
	const char *name;
	const char *path;
	const char *key; /* NULL: the whole file */
};

static const struct file_fact file_facts[] = {
	{ "host.name", "/proc/sys/kernel/hostname", NULL },
	{ "host.memory", "/proc/meminfo", "MemTotal" },
	{ "kernel.release", "/proc/sys/kernel/osrelease", NULL },
	{ "kernel.version", "/proc/sys/kernel/version", NULL },
	{ "cpu.model", "/proc/cpuinfo", "model name" },
	{ "cpu.microcode", "/proc/cpuinfo", "microcode" },
	{ "cpu.online", CPU "/online", NULL },
	{ "cpu.isolated", CPU "/isolated", NULL },
	{ "cpu.nohz_full", CPU "/nohz_full", NULL },
	{ "cpu.smt", CPU "/smt/control", NULL },
	{ "cpu.governor", CPU "/cpu0/cpufreq/scaling_governor", NULL },
	{ "cpu.boost", CPU "/cpufreq/boost", NULL },
	{ "cpu.idle_driver", CPU "/cpuidle/current_driver", NULL },
	{ "clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL },
	{ "clock.available", "/sys/devices/system/clocksource/clocksource0/available_clocksource", NULL },
};

/* Isolation and tickless cores: an empty file says "none", which is not the same as not knowing. */
static const char *empty_means(const char *name)
{
	return strcmp(name, "cpu.isolated") == 0 || strcmp(name, "cpu.nohz_full") == 0 ? "none" : "unknown";
}

static void os_name(const char *root, char *buf, size_t size)
{
	char text[4096], *start;

	hostfile_read(root, "/etc/os-release", text, sizeof(text));
	start = strstr(text, "PRETTY_NAME=\"");
	if (start)
		start += strlen("PRETTY_NAME=\"");
	snprintf(buf, size, "%.*s", start ? (int)strcspn(start, "\"\n") : 7, start ? start : "unknown");
}

static void hugepages(const char *root, char *buf, size_t size)
{
	char total[32], free_count[32], page[32];

	if (hostfile_field(root, "/proc/meminfo", "HugePages_Total", total, sizeof(total)) &&
	    hostfile_field(root, "/proc/meminfo", "HugePages_Free", free_count, sizeof(free_count)) &&
	    hostfile_field(root, "/proc/meminfo", "Hugepagesize", page, sizeof(page)))
		snprintf(buf, size, "%s of %s, %s free", total, page, free_count);
	else
		snprintf(buf, size, "unknown");
}

const char *host_idle_states(const char *root, char *buf, size_t size_bytes, long *ret_deepest_us)
{
	size_t n = 0;
	long deepest_us = -1;

	buf[0] = '\0';
	for (int i = 0; i < 16; i++) {
		char path[96], name[64], value[32];

		snprintf(path, sizeof(path), CPU "/cpu0/cpuidle/state%d/name", i);
		if (!hostfile_read(root, path, name, sizeof(name)))
			break;
		snprintf(path, sizeof(path), CPU "/cpu0/cpuidle/state%d/disable", i);
		if (hostfile_read(root, path, value, sizeof(value)) && strcmp(value, "0") != 0)
			continue;
		snprintf(path, sizeof(path), CPU "/cpu0/cpuidle/state%d/latency", i);
		if (hostfile_read(root, path, value, sizeof(value)) && atol(value) > deepest_us)
			deepest_us = atol(value);
		if (n < size_bytes)
			n += (size_t)snprintf(buf + n, size_bytes - n, "%s%s", n ? ", " : "", name);
	}
	if (n == 0)
		snprintf(buf, size_bytes, "none seen");
	else if (deepest_us >= 0 && n < size_bytes)
		snprintf(buf + n, size_bytes - n, " (up to %ld us to wake)", deepest_us);
	*ret_deepest_us = deepest_us;
	return buf;
}

static const char *hypervisor_by_cpuid(void)
{
	static const struct {
		const char *signature, *name;
	} known[] = { { "KVMKVMKVM", "KVM" },        { "Linux KVM Hv", "KVM" },
		      { "Microsoft Hv", "Hyper-V" }, { "VMwareVMware", "VMware" },
		      { "XenVMMXenVMM", "Xen" },     { "TCGTCGTCGTCG", "QEMU without KVM" },
		      { "bhyve bhyve ", "bhyve" },   { "VBoxVBoxVBox", "VirtualBox" },
		      { "ACRNACRNACRN", "ACRN" } };
	unsigned a, b, c, d;
	char signature[13] = "";

	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(signature, known[i].signature, 12) == 0)
			return known[i].name;
	return NULL;
}

static const char *hypervisor_by_dmi(const char *root)
{
	static const struct {
		const char *word, *name;
	} known[] = { { "QEMU", "QEMU" },
		      { "KVM", "KVM" },
		      { "Microsoft", "Hyper-V" },
		      { "VMware", "VMware" },
		      { "innotek", "VirtualBox" },
		      { "Xen", "Xen" },
		      { "Amazon EC2", "Amazon EC2" },
		      { "Google", "Google Compute Engine" } };
	char vendor[128], product[128];

	hostfile_read(root, "/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	hostfile_read(root, "/sys/class/dmi/id/product_name", product, sizeof(product));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(vendor, known[i].word) || strstr(product, known[i].word))
			return known[i].name;
	return NULL;
}

const char *host_virtualisation(const char *root, char *buf, size_t size_bytes)
{
	char release[128], flags[8192], container[64];
	const char *hypervisor = NULL, *inside = "";
	bool guest;

	hostfile_read(root, "/proc/sys/kernel/osrelease", release, sizeof(release));
	guest = hostfile_field(root, "/proc/cpuinfo", "flags", flags, sizeof(flags)) &&
		hostfile_has_word(flags, "hypervisor");
	if (hostfile_read(root, "/run/systemd/container", container, sizeof(container)))
		inside = ", in a container";
	if (strcasestr(release, "microsoft") || strcasestr(release, "WSL")) {
		snprintf(buf, size_bytes, "WSL2 (Hyper-V)%s", inside);
		return buf;
	}
	if (guest && root[0] == '\0')
		hypervisor = hypervisor_by_cpuid();
	if (guest && !hypervisor)
		hypervisor = hypervisor_by_dmi(root);
	snprintf(buf, size_bytes, "%s%s", !guest ? "none" : hypervisor ? hypervisor : "an unknown hypervisor", inside);
	return buf;
}

struct receiver {
	host_fact_fn *fn;
	void *context;
};

static void library_fact(void *context, const char *name, const char *version)
{
	const struct receiver *to = context;
	char whole[64];

	snprintf(whole, sizeof(whole), "library.%s", name);
	to->fn(to->context, whole, version);
}

/* Of the kernel's command line only what bears on measuring; the rest is nobody's business in a report. */
static void command_line(const char *root, char *buf, size_t size)
{
	static const char *const wanted[] = {
		"isolcpus=",    "nohz_full=",   "nohz=",   "rcu_nocbs=",    "irqaffinity=", "idle=",
		"processor.",   "intel_idle.",  "cpuidle", "intel_pstate=", "amd_pstate=",  "tsc=",
		"clocksource=", "mitigations=", "nosmt",   "preempt=",      "hugepages",    "default_hugepagesz=",
		"skew_tick=",   "threadirqs"
	};
	char line[4096], *save = NULL;
	size_t n = 0;

	hostfile_read(root, "/proc/cmdline", line, sizeof(line));
	buf[0] = '\0';
	for (char *word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (strncmp(word, wanted[i], strlen(wanted[i])) == 0 && n < size)
				n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? " " : "", word);
	if (n == 0)
		snprintf(buf, size, "nothing that bears on measuring");
	utf8_repair(buf);
}

static void cpus_allowed(char *buf, size_t size)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		snprintf(buf, size, "%d", CPU_COUNT(&set));
	else
		snprintf(buf, size, "unknown");
}

static void facts_of_files(const char *root, host_fact_fn *fn, void *context)
{
	for (size_t i = 0; i < sizeof(file_facts) / sizeof(file_facts[0]); i++) {
		const struct file_fact *f = &file_facts[i];
		char value[4096];
		bool there = f->key ? hostfile_field(root, f->path, f->key, value, sizeof(value))
				    : hostfile_read(root, f->path, value, sizeof(value));

		utf8_repair(value);
		fn(context, f->name, there && strcmp(value, "(null)") != 0 ? value : empty_means(f->name));
	}
}

int host_facts_at(const char *root, host_fact_fn *fn, void *context)
{
	char value[512];
	long deepest_us;

	os_name(root, value, sizeof(value));
	fn(context, "host.os", value);
	facts_of_files(root, fn, context);
	command_line(root, value, sizeof(value));
	fn(context, "kernel.command_line", value);
	fn(context, "cpu.idle_states", host_idle_states(root, value, sizeof(value), &deepest_us));
	fn(context, "virtualisation", host_virtualisation(root, value, sizeof(value)));
	hugepages(root, value, sizeof(value));
	fn(context, "memory.hugepages", value);
	return 0;
}

int host_facts(host_fact_fn *fn, void *context)
{
	struct receiver to = { fn, context };
	char value[64];

	host_facts_at("", fn, context);
	cpus_allowed(value, sizeof(value));
	fn(context, "cpu.allowed", value);
	fn(context, "tool.version", build_version());
	fn(context, "tool.build", build_flags());
	build_libraries(library_fact, &to);
	return 0;
}
