/* SPDX-License-Identifier: Apache-2.0 */
#include "target/wire.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "io/afpacket.h"
#include "target/far_link.h"
#include "target/wire_hooks.h"
#include "target/wire_port.h"

enum wire_port { WIRE_IN, WIRE_PATH, WIRE_BYPASS, WIRE_PORTS };
static const char *const port_names[WIRE_PORTS] = { "in", "path", "bypass" };

static const struct setting wire_settings[] = {
	{ .name = "in",
	  .type = SETTING_TEXT,
	  .value_name = "PORT",
	  .help = "where probes go in: an interface, or dpdk:DEVICE (0000:3b:00.0, net_af_packet0,iface=eth1)" },
	{ .name = "path",
	  .type = SETTING_TEXT,
	  .value_name = "PORT",
	  .help = "where the copy through the program comes" },
	{ .name = "bypass", .type = SETTING_TEXT, .value_name = "PORT", .help = "where the copy around it comes" },
	{ .name = "slots",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "4096",
	  .least = 64,
	  .most = 262144,
	  .help = "frames that an interface's receive ring holds" },
	{ .name = "far",
	  .type = SETTING_TEXT,
	  .value_name = "USER@HOST",
	  .help = "another machine that sends, reached by ssh; `in` is its port" },
	{ .name = "far_tare",
	  .type = SETTING_TEXT,
	  .value_name = "COMMAND",
	  .fallback = "tare",
	  .help = "what starts tare there; the same version" },
	{ .name = "far_limit",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "30s",
	  .least = 100000000,
	  .most = 3600000000000,
	  .help = "how long its answers may take" },
	{ .name = "ssh",
	  .type = SETTING_TEXT,
	  .value_name = "COMMAND",
	  .fallback = "ssh",
	  .help = "with options of yours: ssh -p 2222 -i key" },
	{ .name = "second_clock",
	  .type = SETTING_FLAG,
	  .help = "keep the ports' own stamps beside the TSC: an adapter's where it has a clock, else the kernel's" },
	WIRE_HOOK_SETTINGS("prepare", "60s", "run first in each restart: links, power, reservations"),
	WIRE_HOOK_SETTINGS("flash", "30min", "run next: the device's image"),
	WIRE_HOOK_SETTINGS("load", "5min", "loads the program named in TARE_PROGRAM"),
	WIRE_HOOK_SETTINGS("load_null", "5min", "loads the program that does nothing"),
	{ .name = NULL },
};

struct wire {
	struct target target;
	struct io_port *ports[WIRE_PORTS];
	bool owned[WIRE_PORTS]; /* false: the port is another's as well */
	const char *names[WIRE_PORTS];
	bool by_dpdk[WIRE_PORTS];
	struct arena arena;
	struct far_link *far; /* NULL: this machine sends itself */
	const char *clock;    /* of path and bypass, if it is to be kept */
	json_t *hooks;
	char *description;
};

static bool is_far(const struct settings *s)
{
	return settings_text(s, "far") != NULL;
}

static int wire_probe(struct err *err)
{
	(void)err;
	return 0; /* what it needs depends on the ports: check_host */
}

static int check_ports(const struct settings *s, struct err *err)
{
	const char *ports[WIRE_PORTS];

	for (int i = 0; i < WIRE_PORTS; i++) {
		ports[i] = settings_text(s, port_names[i]);
		if (!ports[i] || !*ports[i])
			return err_set(err, ERR_USAGE, EINVAL,
				       "target wire has no '%s' port; expected an interface, or dpdk: and a device",
				       port_names[i]);
		if (!wire_port_by_dpdk(ports[i]) && strlen(ports[i]) >= IF_NAMESIZE)
			return err_set(err, ERR_USAGE, EINVAL,
				       "'%s' port '%s' is no interface: names have at most %d bytes", port_names[i],
				       ports[i], IF_NAMESIZE - 1);
	}
	if (strcmp(ports[WIRE_PATH], ports[WIRE_BYPASS]) == 0)
		return err_set(
			err, ERR_USAGE, EINVAL,
			"path and bypass are the same port '%s': the copies could not be told apart; expected two",
			ports[WIRE_PATH]);
	return 0;
}

static int wire_check(const struct target_setup *setup, struct err *err)
{
	bool null = strcmp(setup->program, "null") == 0;
	const char *hook = null ? "load_null" : "load";
	int r = check_ports(setup->settings, err);

	if (r == 0 && !settings_text(setup->settings, hook))
		return err_set(err, ERR_USAGE, EINVAL,
			       "target wire: nothing loads program '%s'; expected the command in %s (\"true\" if it is "
			       "there already)",
			       setup->program, hook);
	return r;
}

static int wire_check_host(const struct settings *s, struct err *err)
{
	int r = check_ports(s, err);

	for (int i = 0; r == 0 && i < WIRE_PORTS; i++) {
		const char *port = settings_text(s, port_names[i]);

		if (i == WIRE_IN && is_far(s))
			continue; /* that machine's to say */
		if (!wire_port_by_dpdk(port) && if_nametoindex(port) == 0)
			return err_set(err, ERR_HOST, ENODEV,
				       "target wire: '%s' port: there is no interface '%s' here (ip link shows them)",
				       port_names[i], port);
	}
	return r;
}

static int port_open(struct wire *w, int which, const struct target_setup *setup, struct err *err)
{
	unsigned slots = (unsigned)settings_number(setup->settings, "slots");

	for (int i = 0; i < which; i++)
		if (w->ports[i] && strcmp(w->names[i], w->names[which]) == 0) {
			w->ports[which] = w->ports[i];
			return 0;
		}
	w->owned[which] = true;
	return wire_port_open(w->names[which], slots, setup->frame_bytes, &w->ports[which], err);
}

/* The other machine's tare, with its port open. */
static int far_open(struct wire *w, const struct target_setup *setup, struct err *err)
{
	const struct far_options options = {
		.ssh = settings_text(setup->settings, "ssh"),
		.destination = settings_text(setup->settings, "far"),
		.command = settings_text(setup->settings, "far_tare"),
		.version = setup->tool_version,
		.plan_text = setup->plan_text,
		.plan_hash = setup->plan_hash,
		.limit_ms = settings_number(setup->settings, "far_limit") / 1000000,
		.interrupted = setup->interrupted,
	};
	json_t *port;
	char *text;
	int r;

	TARE_ASSERT(options.version && options.plan_text);
	r = far_link_open(&options, &w->far, err);
	if (r < 0)
		return r;
	port = json_pack("{s:s, s:I}", "port", w->names[WIRE_IN], "frame_bytes", (json_int_t)setup->frame_bytes);
	text = port ? json_dumps(port, JSON_COMPACT) : NULL;
	r = text ? far_link_ask(w->far, FAR_OPEN, text, strlen(text), err)
		 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
	free(text);
	json_decref(port);
	return r;
}

static int describe(struct wire *w, const struct target_setup *setup, struct err *err)
{
	json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O}", "kind", "wire", "program", setup->program, "in",
				 w->names[WIRE_IN], "path", w->names[WIRE_PATH], "bypass", w->names[WIRE_BYPASS],
				 "hooks", w->hooks);

	if (root && w->far)
		json_object_set_new(root, "far", json_loads(far_link_facts(w->far), 0, NULL));
	w->description = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return w->description ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

static void wire_close(struct target *target)
{
	struct wire *w = (struct wire *)target;

	if (!w)
		return;
	far_link_close(w->far);
	for (int i = 0; i < WIRE_PORTS; i++)
		if (w->owned[i] && w->ports[i])
			w->ports[i]->ops->close(w->ports[i]);
	json_decref(w->hooks);
	free(w->description);
	arena_release(&w->arena);
	free(w);
}

/* One clock for both copies, or their difference means nothing. */
static int find_clock(struct wire *w, struct err *err)
{
	const char *path = wire_port_clock(w->names[WIRE_PATH], w->ports[WIRE_PATH]);
	const char *bypass = wire_port_clock(w->names[WIRE_BYPASS], w->ports[WIRE_BYPASS]);

	for (int i = WIRE_PATH; i <= WIRE_BYPASS; i++)
		if (!(i == WIRE_PATH ? path : bypass))
			return err_set(err, ERR_HOST, EOPNOTSUPP, "second_clock: '%s' port %s stamps no frames",
				       port_names[i], w->names[i]);
	if (strcmp(path, bypass) != 0)
		return err_set(err, ERR_HOST, EOPNOTSUPP,
			       "second_clock: path is stamped by %s, bypass by %s; expected one clock for both", path,
			       bypass);
	w->clock = path;
	return 0;
}

/* The hooks come first: a device that is flashed takes its ports away and brings them back. */
static int open_all(struct wire *w, const struct target_setup *setup, struct err *err)
{
	int r;

	w->hooks = json_array();
	for (int i = 0; i < WIRE_PORTS; i++) {
		w->names[i] = arena_strdup(&w->arena, settings_text(setup->settings, port_names[i]));
		if (!w->hooks || !w->names[i])
			return err_set(err, ERR_HOST, ENOMEM, "out of memory");
		w->by_dpdk[i] = wire_port_by_dpdk(w->names[i]);
	}
	r = wire_hooks_run(setup, w->hooks, err);
	for (int i = WIRE_IN + is_far(setup->settings); r == 0 && i < WIRE_PORTS; i++)
		r = port_open(w, i, setup, err);
	if (r == 0 && is_far(setup->settings))
		r = far_open(w, setup, err);
	if (r == 0 && settings_flag(setup->settings, "second_clock"))
		r = find_clock(w, err);
	return r == 0 ? describe(w, setup, err) : r;
}

static int wire_open(const struct target_setup *setup, struct target **ret_target, struct err *err)
{
	struct wire *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	w->target.ops = &target_wire;
	arena_init(&w->arena, 0);
	r = open_all(w, setup, err);
	if (r < 0) {
		wire_close(&w->target);
		return r;
	}
	*ret_target = &w->target;
	return 0;
}

static void wire_ports(struct target *target, struct target_ports *ret_ports)
{
	struct wire *w = (struct wire *)target;

	*ret_ports = (struct target_ports){
		.in = w->ports[WIRE_IN],
		.path = w->ports[WIRE_PATH],
		.bypass = w->ports[WIRE_BYPASS],
		.far = w->far,
		.clock = w->clock,
	};
}

static int wire_check_alive(struct target *target, struct err *err)
{
	struct wire *w = (struct wire *)target;

	for (int i = 0; i < WIRE_PORTS; i++) {
		int r = w->by_dpdk[i] || !w->ports[i] ? 0 : afpacket_check(w->ports[i]);

		if (r < 0)
			return err_set(err, ERR_HOST, -r, "'%s' port %s %s during the run", port_names[i], w->names[i],
				       r == -ENETDOWN ? "went down" : "vanished");
	}
	return 0;
}

static const char *wire_describe(const struct target *target)
{
	return ((const struct wire *)target)->description;
}

const struct target_ops target_wire = {
	.kind = "wire",
	.summary = "two or three real ports with anything between them; commands of yours load it",
	.settings = wire_settings,
	.probe = wire_probe,
	.check = wire_check,
	.check_host = wire_check_host,
	.open = wire_open,
	.ports = wire_ports,
	.check_alive = wire_check_alive,
	.describe = wire_describe,
	.close = wire_close,
};
