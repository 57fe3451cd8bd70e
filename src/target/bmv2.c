/* SPDX-License-Identifier: Apache-2.0 */
#include "target/bmv2.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/bmv2_line.h"
#include "target/compile.h"

/* What telemetry may add to a frame: once, and at each switch. */
enum { SHIM_BYTES = 96, HOP_BYTES = 32 };

#define DESTINATION 0x0a000202 /* 10.0.2.2: behind host b's route, and nobody's address */
#define SOURCE      0x0a000101

static const uint8_t destination_mac[6] = { 0x02, 0x54, 0x00, 0x00, 0xff, 0x02 };

struct bmv2 {
	struct target target;
	struct arena arena;
	struct v1model_program program;
	struct switch_binary binary;
	struct bmv2_line line;
	char *description;
	char words[PATH_MAX + 128];
};

static const char *const log_choices[] = { "off", "error", "warn", "info", "debug", "trace", NULL };

static const struct setting settings[] = {
	{ .name = "switch",
	  .type = SETTING_TEXT,
	  .fallback = "auto",
	  .value_name = "PROGRAM",
	  .help = "auto, simple_switch_grpc, tare-switch, or a path; auto: the first that is there" },
	{ .name = "p4info",
	  .type = SETTING_TEXT,
	  .value_name = "FILE",
	  .help = "of a program x.json (x.p4info.txtpb)" },
	{ .name = "entries", .type = SETTING_TEXT, .value_name = "FILE", .help = "table entries (the program's own)" },
	{ .name = "log",
	  .type = SETTING_CHOICE,
	  .choices = log_choices,
	  .fallback = "off",
	  .help = "what the switch logs; it costs latency" },
	{ .name = "hops",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "1",
	  .least = 1,
	  .most = LAB_SWITCHES_MOST,
	  .help = "switches in a line between the two hosts" },
	{ .name = "args",
	  .type = SETTING_TEXT,
	  .value_name = "WORDS",
	  .help = "further arguments, before `--`; `|` parts those of one switch from the next's" },
	{ .name = "cpus",
	  .type = SETTING_TEXT,
	  .fallback = "auto",
	  .value_name = "LIST",
	  .help = "where switches may run: auto (what who sends leaves, if it is a CPU a switch), any, or such as "
		  "0-3,6" },
	{ .name = "start_limit",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "10s",
	  .least = 100000000,
	  .most = 600000000000,
	  .help = "a switch that does not answer by then has failed" },
	{ .name = NULL },
};

static struct bmv2 *self(struct target *target)
{
	return (struct bmv2 *)target;
}

static int probe(struct err *err)
{
	struct switch_binary binary;
	char how[64];

	if (switch_binary_find("auto", &binary, err) < 0)
		return -err->code;
	return lab_try(how, sizeof(how), err);
}

static int load(const struct target_setup *setup, struct arena *arena, struct v1model_program *ret, struct err *err)
{
	return v1model_program_load(setup->program, setup->directory, settings_text(setup->settings, "p4info"),
				    settings_text(setup->settings, "entries"), arena, ret, err);
}

/* What each switch of the line is given. */
static int check_switches(const struct settings *s, const struct v1model_program *program, struct arena *arena,
			  struct err *err)
{
	uint32_t count = (uint32_t)settings_number(s, "hops");
	const char *args = settings_text(s, "args");
	int rc = 0;

	for (uint32_t i = 1; rc == 0 && i <= count; i++) {
		struct p4rt_entries *entries = NULL;
		struct p4info *info = NULL;
		char *own;

		rc = bmv2_understand(program, i, count, arena, &info, &entries, err);
		p4rt_entries_destroy(entries);
		p4info_destroy(info);
		if (rc == 0 && args)
			rc = bmv2_args_of(args, i, count, arena, &own, err);
	}
	return rc;
}

/* Loaded, and what its switches are given understood. */
static int check_program(const struct target_setup *setup, struct err *err)
{
	struct v1model_program program;
	struct arena arena;
	int rc;

	arena_init(&arena, 0);
	rc = load(setup, &arena, &program, err);
	if (rc == 0)
		rc = check_switches(setup->settings, &program, &arena, err);
	arena_release(&arena);
	return rc;
}

static int check_source(const struct target_setup *setup, struct err *err)
{
	const char *path;
	struct arena arena;
	int rc;

	arena_init(&arena, 0);
	path = v1model_path(setup->directory, setup->program, &arena);
	rc = path ? p4_check_source(path, err) : err_set(err, ERR_HOST, ENOMEM, "out of memory");
	arena_release(&arena);
	return rc;
}

/* A source is compiled once before anything runs: what is wrong with it is said then. */
static int prepare(const struct target_setup *setup, struct err *err)
{
	return p4_is_source(setup->program) ? check_program(setup, err) : 0;
}

static int check(const struct target_setup *setup, struct err *err)
{
	int rc;

	if (!setup->program)
		return err_set(err, ERR_USAGE, EINVAL, "no program is named; expected program: l3_lpm or such");
	rc = bmv2_cpus_check(setup->settings, err);
	if (rc < 0)
		return rc;
	return p4_is_source(setup->program) ? check_source(setup, err) : check_program(setup, err);
}

static int check_host(const struct settings *s, struct err *err)
{
	struct switch_binary binary;
	char how[64];
	int rc = switch_binary_find(settings_text(s, "switch"), &binary, err);

	if (rc == 0)
		rc = bmv2_cpus_check_host(s, err);
	return rc < 0 ? rc : lab_try(how, sizeof(how), err);
}

/* --- a restart --- */

static char *describe_switch(const struct bmv2 *b)
{
	char json[17], p4info[17], entries[17], *text;
	bool written = true;
	json_t *o;

	snprintf(json, sizeof(json), "%016" PRIx64, b->program.json.hash);
	snprintf(p4info, sizeof(p4info), "%016" PRIx64, b->program.p4info.hash);
	snprintf(entries, sizeof(entries), "%016" PRIx64, b->program.entries.hash);
	for (uint32_t i = 0; i < b->line.lab->switch_count; i++)
		written = written && !b->line.switches[i].registers_unwritten;
	o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:i, s:s, s:s*}", "switch", b->binary.path, "version",
		      b->binary.version, "program", b->program.name, "json_fnv1a64", json, "p4info_fnv1a64", p4info,
		      "entries_fnv1a64", entries, "registers_written", written, "switches",
		      (int)b->line.lab->switch_count, "cpus", b->line.cpu_words, "compiler", b->program.compiler);
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	return text;
}

static void close_target(struct target *target)
{
	struct bmv2 *b = self(target);

	if (!b)
		return;
	bmv2_line_release(&b->line);
	loop_destroy(b->line.loop);
	lab_line_close(b->line.lab);
	free(b->description);
	arena_release(&b->arena);
	free(b);
}

static int open_line(struct bmv2 *b, const struct target_setup *setup, struct err *err)
{
	static atomic_uint serial; /* names are unique in the process */
	const uint32_t switches = (uint32_t)settings_number(setup->settings, "hops");
	const uint32_t grows = SHIM_BYTES + switches * HOP_BYTES;
	const uint32_t mtu = setup->frame_bytes > LAB_MTU_BYTES - grows ? LAB_MTU_BYTES + grows : 0;
	const struct lab_line_options options = {
		.switches = switches,
		.serial = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed),
		.mtu_bytes = mtu,
	};

	return lab_line_open(&options, &b->line.lab, err);
}

static int open_target(const struct target_setup *setup, struct target **ret_target, struct err *err)
{
	struct bmv2 *b = calloc(1, sizeof(*b));
	const char *name;
	int rc;

	if (!b)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	b->target.ops = &target_bmv2;
	arena_init(&b->arena, 0);
	rc = load(setup, &b->arena, &b->program, err);
	if (rc == 0)
		rc = switch_binary_find(settings_text(setup->settings, "switch"), &b->binary, err);
	if (rc == 0)
		switch_binary_ask_version(&b->binary);
	if (rc == 0)
		rc = open_line(b, setup, err);
	if (rc == 0)
		rc = loop_create(&b->line.loop, err);
	b->line.program = &b->program;
	b->line.binary = &b->binary;
	if (rc == 0)
		rc = bmv2_line_start(&b->line, setup, &b->arena, err);
	if (rc < 0) {
		close_target(&b->target);
		return rc;
	}
	b->description = describe_switch(b);
	name = strrchr(b->binary.path, '/');
	snprintf(b->words, sizeof(b->words), "%s %s", name ? name + 1 : b->binary.path, b->binary.version);
	*ret_target = &b->target;
	return 0;
}

static void line(struct target *target, struct target_line *ret)
{
	struct bmv2 *b = self(target);

	*ret = (struct target_line){
		.line = b->line.lab,
		.switches = b->line.told,
		.source_ipv4 = SOURCE,
		.destination_ipv4 = DESTINATION,
		.ended_fd = b->line.ended_fd,
		.switch_words = b->words,
		.int_md = strstr(b->program.json.text, "\"int_md_h\"") != NULL,
		.ether_probes = strstr(b->program.json.text, "\"0x88b5\"") != NULL,
	};
	memcpy(ret->destination_mac, destination_mac, sizeof(destination_mac));
}

static int check_alive(struct target *target, struct err *err)
{
	return bmv2_line_check(&self(target)->line, err);
}

static int check_answers(struct target *target, struct err *err)
{
	return bmv2_line_check_answers(&self(target)->line, err);
}

static const char *describe(const struct target *target)
{
	return ((const struct bmv2 *)target)->description;
}

const struct target_ops target_bmv2 = {
	.kind = "bmv2",
	.summary = "a v1model software switch in the kernel's network: BMv2, or tare-switch",
	.settings = settings,
	.probe = probe,
	.check = check,
	.check_host = check_host,
	.prepare = prepare,
	.open = open_target,
	.line = line,
	.open_agents = bmv2_open_agents,
	.agent = bmv2_agent,
	.load_program = bmv2_load_program,
	.check_alive = check_alive,
	.check_answers = check_answers,
	.describe = describe,
	.close = close_target,
};
