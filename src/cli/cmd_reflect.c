/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run_signals.h"
#include "cli/verbs.h"
#include "io/afpacket.h"
#include "probe/cores.h"
#include "probe/protect.h"
#include "probe/reflect_run.h"
#include "target/wire_port.h"

enum { PATH, BYPASS, OUT, PORTS };
static const char *const port_options[PORTS] = { "path", "bypass", "out" };

enum { FRAME_BYTES = 9018, SLOTS = 4096, CALIBRATION_NS = 200000000 };

struct role {
	const struct invocation *inv;
	struct io_port *ports[PORTS];
	const char *names[PORTS];
	struct tsc tsc;
	struct protection protection;
	uint8_t to[6];
};

static int ports_open(struct role *role, struct err *err)
{
	int r = 0;

	for (int i = 0; i < PORTS; i++) {
		role->names[i] = settings_text(&role->inv->options, port_options[i]);
		if (!role->names[i])
			return err_set(err, ERR_USAGE, EINVAL,
				       "--%s is missing; expected an interface, or dpdk: and a device",
				       port_options[i]);
		for (int k = 0; k < i; k++)
			if (strcmp(role->names[k], role->names[i]) == 0)
				return err_set(err, ERR_USAGE, EINVAL,
					       "--%s and --%s are the same port '%s'; expected three different ones",
					       port_options[k], port_options[i], role->names[i]);
	}
	for (int i = 0; i < PORTS; i++)
		if (!wire_port_by_dpdk(role->names[i]) && if_nametoindex(role->names[i]) == 0)
			return err_set(err, ERR_HOST, ENODEV,
				       "--%s: there is no interface '%s' here (ip link shows them)", port_options[i],
				       role->names[i]);
	for (int i = 0; r == 0 && i < PORTS; i++)
		r = wire_port_open(role->names[i], i == OUT ? 0 : SLOTS, FRAME_BYTES, &role->ports[i], err);
	return r;
}

static void role_close(struct role *role)
{
	for (int i = 0; i < PORTS; i++)
		if (role->ports[i])
			role->ports[i]->ops->close(role->ports[i]);
}

/* Is a port gone? */
static int ports_check(const struct role *role, struct err *err)
{
	for (int i = 0; i < PORTS; i++) {
		int r = wire_port_by_dpdk(role->names[i]) ? 0 : afpacket_check(role->ports[i]);

		if (r < 0)
			return err_set(err, ERR_HOST, -r, "--%s %s %s", port_options[i], role->names[i],
				       r == -ENETDOWN ? "went down" : "vanished");
	}
	return 0;
}

/* On a core of its own, before whatever else wants it. */
static enum protect_how settle(struct role *role, struct err *err)
{
	struct cores cores;
	cpu_set_t cpus;

	if (cores_choose(1, &cores, err) < 0)
		return PROTECT_NOTHING;
	CPU_ZERO(&cpus);
	CPU_SET(cores.cpu[0], &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	protect_begin(&role->protection, PROTECT_FIFO);
	return protect_thread(&role->protection);
}

static void say_run(const struct role *role, unsigned number, const struct reflect_run *run)
{
	const struct reflector *path = &run->of[PATH], *bypass = &run->of[BYPASS];
	uint64_t frames = path->returned + path->refused + bypass->returned + bypass->refused;

	printf("run %u: %" PRIu32 " pairs; returned %" PRIu64 " path, %" PRIu64 " bypass; %" PRIu64
	       " without an id, %" PRIu64 " refused by %s, %" PRIu64 " more copies; %.0f cycles a packet\n",
	       number, reflect_run_pairs(run), path->returned, bypass->returned, path->unmarked + bypass->unmarked,
	       path->refused + bypass->refused, role->names[OUT], path->duplicates + bypass->duplicates,
	       frames ? (double)run->busy_ticks / (double)frames : 0);
	fflush(stdout);
}

static int write_run(const struct role *role, unsigned number, const struct reflect_run *run, struct err *err)
{
	const char *dir = settings_text(&role->inv->options, "output");
	char path[4096];

	if (!dir)
		return 0;
	if (snprintf(path, sizeof(path), "%s/f_run%02u.csv", dir, number) >= (int)sizeof(path))
		return err_set(err, ERR_USAGE, ENAMETOOLONG, "%s: the name is too long", dir);
	return reflect_run_write(run, &role->tsc, path, err);
}

static int reflect_all(struct role *role, const struct reflect_setup *setup, struct err *err)
{
	unsigned runs = (unsigned)settings_number(&role->inv->options, "runs");
	struct reflect_run run;
	int r = reflect_run_init(&run, setup, err);

	for (unsigned number = 1; r == 0 && (runs == 0 || number <= runs); number++) {
		bool interrupted;

		r = reflect_run_once(&run, setup, err);
		interrupted = r == -EINTR;
		if (interrupted && run.of[PATH].returned + run.of[BYPASS].returned == 0)
			break;
		say_run(role, number, &run);
		r = write_run(role, number, &run, err);
		if (r == 0)
			r = ports_check(role, err);
		if (interrupted && r == 0)
			r = -EINTR;
	}
	reflect_run_release(&run);
	/* until interrupted is how it ends where no number of runs is given */
	return r == -EINTR && runs == 0 ? 0 : r;
}

static bool mac_parse(const char *text, uint8_t ret[6])
{
	unsigned at[6];
	int end = 0;

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &at[0], &at[1], &at[2], &at[3], &at[4], &at[5], &end) != 6 ||
	    text[end])
		return false;
	for (int i = 0; i < 6; i++)
		ret[i] = (uint8_t)at[i];
	return true;
}

static int make_directory(const char *dir, struct err *err)
{
	if (!dir || mkdir(dir, 0777) == 0 || errno == EEXIST)
		return 0;
	return err_set(err, ERR_HOST, errno, "%s: cannot create the directory: %s", dir, strerror(errno));
}

static int reflect_verb(const struct invocation *inv, struct err *err)
{
	static const enum id_format formats[] = { ID_NATIVE, ID_OCT };
	const char *to = settings_text(&inv->options, "to");
	struct role role = { .inv = inv };
	struct reflect_setup setup = {
		.format = formats[settings_number(&inv->options, "format")],
		.ids = (uint32_t)settings_number(&inv->options, "ids"),
		.idle_ns = settings_number(&inv->options, "idle"),
		.tsc = &role.tsc,
	};
	int r;

	if (to && !mac_parse(to, role.to))
		return err_set(err, ERR_USAGE, EINVAL,
			       "--to '%s' is no Ethernet address; expected such as 02:00:00:00:00:01", to);
	setup.destination_mac = to ? role.to : NULL;
	r = make_directory(settings_text(&inv->options, "output"), err);
	if (r == 0)
		r = ports_open(&role, err);
	if (r == 0)
		r = tsc_calibrate(&role.tsc, CALIBRATION_NS, false, err);
	if (r == 0) {
		enum protect_how got = settle(&role, err);
		char words[160];

		setup.path = role.ports[PATH];
		setup.bypass = role.ports[BYPASS];
		setup.out = role.ports[OUT];
		setup.interrupted = run_signals_catch();
		if (!inv->quiet)
			message("reflecting %s (P) and %s (B) to %s; %s%s", role.names[PATH], role.names[BYPASS],
				role.names[OUT], protect_words(&role.protection, got, true, words, sizeof(words)),
				wire_port_by_dpdk(role.names[OUT])
					? ""
					: "; one system call a burst, as the port is the kernel's");
		r = reflect_all(&role, &setup, err);
		protect_end(&role.protection);
	}
	role_close(&role);
	return r;
}

static const char *const format_choices[] = { "tare", "oct", NULL };

static const struct setting reflect_options[] = {
	{ .name = "path",
	  .type = SETTING_TEXT,
	  .value_name = "PORT",
	  .help = "where the copy through the program comes" },
	{ .name = "bypass", .type = SETTING_TEXT, .value_name = "PORT", .help = "where the copy around it comes" },
	{ .name = "out", .type = SETTING_TEXT, .value_name = "PORT", .help = "where both go, marked P and B" },
	{ .name = "format",
	  .type = SETTING_CHOICE,
	  .choices = format_choices,
	  .fallback = "oct",
	  .help = "how a probe carries its id" },
	{ .name = "to", .type = SETTING_TEXT, .value_name = "MAC", .help = "write this destination address into both" },
	{ .name = "runs",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "0",
	  .most = 9999,
	  .help = "end after so many runs; 0: when interrupted" },
	{ .name = "idle",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "1s",
	  .least = 10000000,
	  .most = 3600000000000,
	  .help = "a run ends when no frame has come for so long" },
	{ .name = "ids",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "2097152",
	  .least = 1,
	  .most = 16777216,
	  .help = "stamps are kept for ids under this" },
	{ .name = "output",
	  .short_name = 'o',
	  .type = SETTING_TEXT,
	  .value_name = "DIR",
	  .help = "write each run's stamps there, as f_run01.csv and so on" },
	{ .name = NULL },
};

const struct verb verb_reflect = {
	.name = "reflect",
	.summary = "stamp both copies and send them back, for another clock to stamp",
	.arguments = "",
	.description = "The reflector on a measurement node: receives the copies of probes at two ports, stamps them "
		       "by the TSC "
		       "before anything else is done, marks them P (path) or B (bypass) and returns them through a "
		       "third port, "
		       "where an adapter with a clock of its own can stamp them too. With ports of DPDK the very "
		       "buffers go back, "
		       "without a system call; with interfaces of the kernel sending takes one a burst.\n\n"
		       "A run begins with a frame and ends when none has come for a while; its line says what was "
		       "returned. With "
		       "--output its stamps are written as the FPGA study does, so that 'tare import latencylab' reads "
		       "them beside "
		       "a capture of what was returned (refl_TAG_sN.pcap).\n\n"
		       "Within a campaign on this machine the plan's probes: { reflect: PORT, capture: INTERFACE } "
		       "does the same.",
	.options = reflect_options,
	.run = reflect_verb,
};
