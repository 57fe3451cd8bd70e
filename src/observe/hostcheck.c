/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/hostcheck.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/utf8.h"
#include "clock/tsc.h"
#include "lab/netns.h"
#include "lab/topology.h"
#include "observe/attempt.h"
#include "observe/build.h"
#include "observe/hostcheck_private.h"
#include "observe/hostfacts.h"
#include "observe/hostfile.h"
#include "observe/tracer.h"

#define CPU "/sys/devices/system/cpu"

/* Leaving a state that is deeper takes longer than what is measured. */
enum { DEEP_US = 10, VERSION_LIMIT_MS = 3000, CALIBRATION_NS = 200000000 };

void check_report(const struct checking *to, const char *name, enum host_level level, const char *advice,
		  const char *fmt, ...)
{
	struct host_check check = { .name = name, .level = level, .advice = advice };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(check.value, sizeof(check.value), fmt, ap);
	va_end(ap);
	utf8_repair(check.value);
	to->fn(to->context, &check);
}

static void isolation(const struct checking *to, const char *root)
{
	char cores[128];

	if (hostfile_read(root, CPU "/isolated", cores, sizeof(cores)))
		check_report(to, "isolation", HOST_GOOD, "", "cores %s are kept free of other work", cores);
	else
		check_report(to, "isolation", HOST_WEAK,
			     "boot with isolcpus=A,B nohz_full=A,B (two cores) so that nothing else runs on the "
			     "engine's cores; "
			     "without it, stalls are seen and counted but not avoided",
			     "no core is isolated");
}

static void clock_source(const struct checking *to, const char *root)
{
	char source[64], available[128];

	hostfile_read(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
	hostfile_read(root, "/sys/devices/system/clocksource/clocksource0/available_clocksource", available,
		      sizeof(available));
	if (strcmp(source, "tsc") == 0)
		check_report(to, "clock source", HOST_GOOD, "", "tsc");
	else if (hostfile_has_word(available, "tsc"))
		check_report(to, "clock source", HOST_WEAK,
			     "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource (as root)",
			     "%s; tsc is available", source[0] ? source : "unknown");
	else
		check_report(to, "clock source", HOST_WEAK,
			     "clock readings cost more here, and the kernel may distrust the TSC: see 'tsc'",
			     "%s; tsc is not available", source[0] ? source : "unknown");
}

static void idle_states(const struct checking *to, const char *root)
{
	char states[160];
	long deepest_us;

	host_idle_states(root, states, sizeof(states), &deepest_us);
	if (deepest_us > DEEP_US)
		check_report(to, "idle states", HOST_WEAK,
			     "cpupower idle-set -D 10 (as root), or boot with processor.max_cstate=1: cold figures "
			     "include the "
			     "wake-up",
			     "%s", states);
	else if (deepest_us < 0)
		check_report(to, "idle states", HOST_GOOD, "",
			     "none are shown to this system; a hypervisor may have its own");
	else
		check_report(to, "idle states", HOST_GOOD, "", "%s", states);
}

static void governor(const struct checking *to, const char *root)
{
	char name[64];

	if (!hostfile_read(root, CPU "/cpu0/cpufreq/scaling_governor", name, sizeof(name)))
		check_report(to, "governor", HOST_GOOD, "", "frequency is not controlled by this system");
	else if (strcmp(name, "performance") == 0)
		check_report(to, "governor", HOST_GOOD, "", "performance");
	else
		check_report(to, "governor", HOST_WEAK, "cpupower frequency-set -g performance (as root)", "%s", name);
}

static void virtualisation(const struct checking *to, const char *root)
{
	char kind[128];

	host_virtualisation(root, kind, sizeof(kind));
	if (strcmp(kind, "none") == 0)
		check_report(to, "virtualisation", HOST_GOOD, "", "none");
	else
		check_report(
			to, "virtualisation", HOST_WEAK,
			"the host moves and stops virtual cores: trust what repeats over restarts, and measure final "
			"figures on bare metal",
			"%s", kind);
}

static void hugepages(const struct checking *to, const char *root)
{
	char total[32];

	hostfile_field(root, "/proc/meminfo", "HugePages_Total", total, sizeof(total));
	if (atol(total) > 0)
		check_report(to, "hugepages", HOST_GOOD, "", "%s", total);
	else
		check_report(to, "hugepages", HOST_GOOD, "", "none; virtual devices need none, a real DPDK port does");
}

void host_checks_of_files(const char *root, host_check_fn *fn, void *context)
{
	const struct checking to = { fn, context };

	isolation(&to, root);
	clock_source(&to, root);
	idle_states(&to, root);
	governor(&to, root);
	virtualisation(&to, root);
	hugepages(&to, root);
}

static void cores(const struct checking *to)
{
	cpu_set_t set;
	int count;

	CPU_ZERO(&set);
	count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	if (count >= 3)
		check_report(to, "cores", HOST_GOOD, "", "%d may be used", count);
	else if (count == 2)
		check_report(to, "cores", HOST_WEAK,
			     "three or more let the sender, the receiver and the rest of the system keep out of each "
			     "other's way",
			     "2 may be used");
	else
		check_report(
			to, "cores", HOST_WEAK,
			"one core runs everything in turn (cores: 1): steady, but slower and without real concurrency",
			"1 may be used");
}

static void tsc(const struct checking *to)
{
	const char *reason = NULL;
	struct err err = { 0 };
	struct tsc tsc;

	if (!tsc_is_invariant(&reason))
		check_report(to, "tsc", HOST_LACKING,
			     "measure on another host; or run with --allow-unstable-tsc, and every report says so",
			     "%s", reason);
	else
		check_report(to, "tsc", HOST_GOOD, "", "invariant");
	if (tsc_calibrate(&tsc, CALIBRATION_NS, true, &err) < 0)
		check_report(to, "tsc rate", HOST_LACKING, "run doctor again when less else is running", "%s",
			     err.message);
	else
		check_report(to, "tsc rate", tsc.hz_u_ppm < 50 ? HOST_GOOD : HOST_WEAK,
			     tsc.hz_u_ppm < 50 ? "" : "run doctor again when less else is running",
			     "%.6f MHz, uncertain by %.2g ppm over %d ms; step %.3g ns", tsc.hz / 1e6, tsc.hz_u_ppm,
			     CALIBRATION_NS / 1000000, tsc.tick_ns);
}

static void permission(const struct checking *to, const char *name, int (*what)(void), const char *good,
		       enum host_level level, const char *advice)
{
	int rc = attempt(what);

	if (rc == 0)
		check_report(to, name, HOST_GOOD, "", "%s", good);
	else
		check_report(to, name, level, advice, "not allowed: %s", strerror(abs(rc)));
}

/* Not only whether they are allowed: a switch between two hosts is set up and taken down. */
static void namespaces(const struct checking *to)
{
	static const char advice[] = "switches on this host live in namespaces: " NETNS_ADVICE;
	struct err err = { 0 };
	char how[128], *end;

	if (lab_try(how, sizeof(how), &err) == 0) {
		check_report(to, "namespaces", HOST_GOOD, "", "%s", how);
		return;
	}
	end = strstr(err.message, "; " NETNS_ADVICE);
	if (end)
		*end = '\0';
	check_report(to, "namespaces", HOST_WEAK, advice, "%s", err.message);
}

static void permissions(const struct checking *to)
{
	permission(to, "real-time", attempt_fifo, "SCHED_FIFO is allowed", HOST_WEAK,
		   "run as root, or set 'ulimit -r 50' (rtprio in /etc/security/limits.conf): else autogroup and nice "
		   "have "
		   "to do");
	permission(to, "locked memory", attempt_lock_memory, "mlockall is allowed", HOST_WEAK,
		   "run as root, or set 'ulimit -l unlimited' (memlock in /etc/security/limits.conf): else page faults "
		   "show as "
		   "maxima");
	namespaces(to);
	permission(to, "packet sockets", attempt_packet_socket, "AF_PACKET is allowed", HOST_WEAK,
		   "run as root, or 'setcap cap_net_raw+ep' the program: needed for real ports without DPDK");
}

static void tracing(const struct checking *to)
{
	struct err err = { 0 };
	char *end;

	if (tracer_try(&err) == 0) {
		check_report(to, "tracing", HOST_GOOD, "",
			     "the scheduler can be traced: cold and warm latency by cause");
		return;
	}
	end = strstr(err.message, "; " TRACER_ADVICE);
	if (end)
		*end = '\0';
	check_report(to, "tracing", HOST_WEAK, TRACER_ADVICE, "%s", err.message);
}

static void program(const struct checking *to, const char *name, const char *program, const char *advice)
{
	char version[128];
	int rc = program_version(program, VERSION_LIMIT_MS, version, sizeof(version));

	if (rc == 0)
		check_report(to, name, HOST_GOOD, "", "%s", version);
	else if (rc == -ENOENT)
		check_report(to, name, HOST_WEAK, advice, "%s is not in PATH", program);
	else
		check_report(to, name, HOST_WEAK, advice, "%s --version: %s", program, strerror(-rc));
}

static void dpdk_version(void *context, const char *name, const char *version)
{
	const struct checking *to = context;

	if (strcmp(name, "dpdk") != 0)
		return;
	if (version[0] >= '0' && version[0] <= '9')
		check_report(to, "dpdk", HOST_GOOD, "", "%s", version);
	else
		check_report(to, "dpdk", HOST_WEAK,
			     "install libdpdk-dev and build again: pipeline and DPDK ports need it", "%s", version);
}

void host_checks(host_check_fn *fn, void *context)
{
	const struct checking to = { fn, context };

	cores(&to);
	tsc(&to);
	host_checks_of_files("", fn, context);
	permissions(&to);
	tracing(&to);
	offloads_check(&to);
	build_libraries(dpdk_version, (void *)&to);
	program(&to, "gnuplot", "gnuplot", "apt install gnuplot-nox: figures need it, tables do not");
	program(&to, "p4c", "p4c-bm2-ss",
		"only for plans that name a .p4 of your own: put p4c (p4lang) in PATH; what is shipped is compiled");
	program(&to, "bmv2", "simple_switch_grpc", "only to measure BMv2 itself");
}

const char *host_level_name(enum host_level level)
{
	static const char *const names[] = { "good", "weak", "lacking" };

	return names[level];
}
