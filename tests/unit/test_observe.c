/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "observe/attempt.h"
#include "observe/hostcheck.h"
#include "observe/hostfacts.h"
#include "observe/hostfile.h"
#include "scratch.h"

/* A file of the made-up host, with its folders. */
static void put(const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", scratch, path);
	for (char *p = whole + strlen(scratch) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		mkdir(whole, 0700);
		*p = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

struct wanted {
	const char *name;
	char value[512];
	int level;
	unsigned seen;
};

static void fact_look(void *context, const char *name, const char *value)
{
	struct wanted *w = context;

	if (strcmp(name, w->name) == 0) {
		snprintf(w->value, sizeof(w->value), "%s", value);
		w->seen++;
	}
}

static void check_look(void *context, const struct host_check *check)
{
	struct wanted *w = context;

	if (strcmp(check->name, w->name) == 0) {
		snprintf(w->value, sizeof(w->value), "%s", check->value);
		w->level = (int)check->level;
		w->seen++;
		/* Whoever is told of a weakness is told what to do. */
		assert_int_equal(check->level == HOST_GOOD, check->advice[0] == '\0');
	}
}

static void fact_is(const char *name, const char *value)
{
	struct wanted w = { .name = name };

	assert_int_equal(host_facts_at(scratch, fact_look, &w), 0);
	assert_int_equal(w.seen, 1);
	assert_string_equal(w.value, value);
}

static void check_is(const char *name, enum host_level level, const char *value)
{
	struct wanted w = { .name = name };

	host_checks_of_files(scratch, check_look, &w);
	assert_int_equal(w.seen, 1);
	assert_string_equal(w.value, value);
	assert_int_equal(w.level, level);
}

static void a_host_that_tells_nothing(void **state)
{
	(void)state;
	fact_is("host.os", "unknown");
	fact_is("cpu.model", "unknown");
	fact_is("cpu.isolated", "none");
	fact_is("cpu.idle_states", "none seen");
	fact_is("memory.hugepages", "unknown");
	fact_is("virtualisation", "none");
	check_is("clock source", HOST_WEAK, "unknown; tsc is not available");
	check_is("isolation", HOST_WEAK, "no core is isolated");
	check_is("governor", HOST_GOOD, "frequency is not controlled by this system");
	check_is("idle states", HOST_GOOD, "none are shown to this system; a hypervisor may have its own");
}

static void a_laptop(void **state)
{
	(void)state;
	put("/etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n");
	put("/proc/cpuinfo",
	    "processor\t: 0\nmodel name\t: Some CPU @ 3.00GHz\nmicrocode\t: 0xde\nflags\t\t: fpu tsc\n\n"
	    "processor\t: 1\nmodel name\t: Another CPU\n");
	put("/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
	put("/proc/cmdline", "root=/dev/sda1 secret=1 isolcpus=2,3 quiet nohz_full=2,3\n");
	put("/proc/meminfo", "MemTotal:       16384 kB\nHugePages_Total:       4\nHugePages_Free:        3\n"
			     "Hugepagesize:       2048 kB\n");
	put("/sys/devices/system/cpu/isolated", "2-3\n");
	put("/sys/devices/system/cpu/nohz_full", "(null)\n");
	put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C6\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n");
	fact_is("host.os", "Debian GNU/Linux 12 (bookworm)");
	fact_is("cpu.model", "Some CPU @ 3.00GHz");
	fact_is("cpu.microcode", "0xde");
	fact_is("cpu.isolated", "2-3");
	fact_is("cpu.nohz_full", "none");
	fact_is("kernel.command_line", "isolcpus=2,3 nohz_full=2,3");
	fact_is("memory.hugepages", "4 of 2048 kB, 3 free");
	fact_is("virtualisation", "none");
	fact_is("cpu.idle_states", "POLL, C1, C6 (up to 133 us to wake)");
	check_is("isolation", HOST_GOOD, "cores 2-3 are kept free of other work");
	check_is("governor", HOST_WEAK, "powersave");
	check_is("idle states", HOST_WEAK, "POLL, C1, C6 (up to 133 us to wake)");
	check_is("clock source", HOST_WEAK, "hpet; tsc is available");
	check_is("hugepages", HOST_GOOD, "4");
	check_is("virtualisation", HOST_GOOD, "none");
}

static void made_better(void **state)
{
	(void)state;
	put("/sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n");
	put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	check_is("idle states", HOST_GOOD, "POLL, C1 (up to 2 us to wake)");
	check_is("governor", HOST_GOOD, "performance");
	check_is("clock source", HOST_GOOD, "tsc");
}

static void guests(void **state)
{
	(void)state;
	put("/proc/cpuinfo", "model name\t: X\nflags\t\t: fpu hypervisor tsc\n");
	fact_is("virtualisation", "an unknown hypervisor");
	put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
	fact_is("virtualisation", "QEMU");
	put("/run/systemd/container", "docker\n");
	fact_is("virtualisation", "QEMU, in a container");
	check_is("virtualisation", HOST_WEAK, "QEMU, in a container");
	put("/proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
	fact_is("virtualisation", "WSL2 (Hyper-V), in a container");
	/* A flag that only contains the word is another flag. */
	put("/proc/sys/kernel/osrelease", "6.1\n");
	put("/proc/cpuinfo", "model name\t: X\nflags\t\t: fpu nohypervisor hypervisor2\n");
	fact_is("virtualisation", "none, in a container");
}

static void bytes_that_are_no_text(void **state)
{
	(void)state;
	put("/proc/cpuinfo", "model name\t: A\xff"
			     "B\n");
	fact_is("cpu.model", "A?B");
}

static void this_host(void **state)
{
	struct wanted w = { .name = "tool.version" };

	(void)state;
	assert_int_equal(host_facts(fact_look, &w), 0);
	assert_int_equal(w.seen, 1);
	w = (struct wanted){ .name = "library.yaml" };
	assert_int_equal(host_facts(fact_look, &w), 0);
	assert_int_equal(w.seen, 1);
	assert_string_not_equal(w.value, "");
}

static int succeed(void)
{
	return 0;
}

static int no_permission(void)
{
	return 1;
}

static int crash(void)
{
	abort();
}

static void attempts_leave_nothing(void **state)
{
	(void)state;
	assert_int_equal(attempt(succeed), 0);
	assert_int_equal(attempt(no_permission), 1);
	assert_int_equal(attempt(crash), -EIO);
}

static void script(const char *name, const char *text)
{
	char path[512];

	put(name, text);
	snprintf(path, sizeof(path), "%s%s", scratch, name);
	chmod(path, 0755);
}

static void versions_of_programs(void **state)
{
	char *old = strdup(getenv("PATH")), path[4096], version[32];

	(void)state;
	script("/bin/good", "#!/bin/sh\necho\necho \"good 1.2 $1\"\necho more\n");
	script("/bin/silent", "#!/bin/sh\nexit 0\n");
	script("/bin/slow", "#!/bin/sh\nsleep 60\n");
	script("/bin/long", "#!/bin/sh\necho 0123456789012345678901234567890123456789\n");
	script("/bin/failing", "#!/bin/sh\necho oops >&2\nexit 3\n");
	snprintf(path, sizeof(path), "%s/bin:%s", scratch, old);
	setenv("PATH", path, 1);
	assert_int_equal(program_version("good", 10000, version, sizeof(version)), 0);
	assert_string_equal(version, "good 1.2 --version");
	assert_int_equal(program_version("silent", 10000, version, sizeof(version)), -EIO);
	assert_int_equal(program_version("slow", 50, version, sizeof(version)), -ETIMEDOUT);
	assert_int_equal(program_version("long", 10000, version, sizeof(version)), 0);
	assert_string_equal(version, "0123456789012345678901234567890");
	assert_int_equal(program_version("failing", 10000, version, sizeof(version)), 0);
	assert_string_equal(version, "oops");
	assert_int_equal(program_version("no-such-program", 10000, version, sizeof(version)), -ENOENT);
	setenv("PATH", old, 1);
	free(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_that_tells_nothing),
		cmocka_unit_test(a_laptop),
		cmocka_unit_test(made_better),
		cmocka_unit_test(guests),
		cmocka_unit_test(bytes_that_are_no_text),
		cmocka_unit_test(this_host),
		cmocka_unit_test(attempts_leave_nothing),
		cmocka_unit_test(versions_of_programs),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
