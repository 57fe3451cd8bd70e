/* SPDX-License-Identifier: Apache-2.0 */
#include "target/bmv2.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grpc/loop.h"
#include "grpc/status.h"
#include "lab/topology.h"
#include "p4rt/blocking.h"
#include "target/bmv2_private.h"
#include "target/v1model_program.h"

enum {
	DEVICE_ID = 1,
	ARGS_MOST = 32,
	REGISTERS_MOST = 16,
	STOP_MS = 2000,
	TRY_MS = 500,     /* one attempt to reach a switch that starts */
	SHIM_BYTES = 128, /* what telemetry may add to a frame */
};

#define ADDRESS     "127.0.0.1:9559"
#define PROGRAM_NS  INT64_C(30000000000)
#define DESTINATION 0x0a000202 /* 10.0.2.2: behind host b's route, and nobody's address */
#define SOURCE      0x0a000101

static const uint8_t destination_mac[6] = { 0x02, 0x54, 0x00, 0x00, 0xff, 0x02 };

struct bmv2 {
	struct target target;
	struct arena arena;
	struct v1model_program program;
	struct switch_binary binary;
	struct lab_line *line;
	struct loop *loop;
	struct p4rt_client *client;
	char *description;
	bool registers_unwritten;
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
	{ .name = "args", .type = SETTING_TEXT, .value_name = "WORDS", .help = "further arguments, before `--`" },
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

/* P4Info and entries, read together: entries that the program cannot take are found before anything starts. */
static int understand(const struct v1model_program *program, struct p4info **ret_info,
		      struct p4rt_entries **ret_entries, struct err *err)
{
	int rc = p4info_parse(program->p4info.text, program->p4info.length_bytes, program->p4info.where, ret_info, err);

	if (rc < 0)
		return rc;
	rc = p4rt_entries_parse(*ret_info, program->entries.text, program->entries.length_bytes, program->entries.where,
				ret_entries, err);
	if (rc < 0) {
		p4info_destroy(*ret_info);
		*ret_info = NULL;
	}
	return rc;
}

static int check(const struct target_setup *setup, struct err *err)
{
	struct v1model_program program;
	struct p4rt_entries *entries = NULL;
	struct p4info *info = NULL;
	struct arena arena;
	int rc;

	if (!setup->program)
		return err_set(err, ERR_USAGE, EINVAL, "no program is named; expected program: l3_lpm or such");
	arena_init(&arena, 0);
	rc = load(setup, &arena, &program, err);
	if (rc == 0)
		rc = understand(&program, &info, &entries, err);
	p4rt_entries_destroy(entries);
	p4info_destroy(info);
	arena_release(&arena);
	return rc;
}

static int check_host(const struct settings *s, struct err *err)
{
	struct switch_binary binary;
	char how[64];
	int rc = switch_binary_find(settings_text(s, "switch"), &binary, err);

	return rc < 0 ? rc : lab_try(how, sizeof(how), err);
}

/* --- a restart --- */

static int start(struct bmv2 *b, const struct target_setup *setup, struct err *err)
{
	static const char *const fixed[] = {
		"--no-p4", "--device-id", "1", "-i", "1@p1", "-i", "2@p2", "--log-level",
	};
	const char *argv[ARGS_MOST + 16] = { b->binary.path }, *args = settings_text(setup->settings, "args");
	struct lab_switch *sw = &b->line->switches[0];
	size_t n = 1;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		argv[n++] = fixed[i];
	argv[n++] = log_choices[settings_number(setup->settings, "log")];
	if (args) {
		char *copy = arena_strdup(&b->arena, args);
		int words = copy ? words_split(copy, argv + n, ARGS_MOST) : -ENOMEM;

		if (words < 0)
			return err_set(err, ERR_USAGE, -words, "args: more than %d words", ARGS_MOST);
		n += (size_t)words;
	}
	argv[n++] = "--";
	argv[n++] = "--grpc-server-addr";
	argv[n++] = ADDRESS;
	argv[n] = NULL;
	return process_start(
		&(struct process_options){
			.name = "switch", .argv = argv, .netns = &sw->netns, .label = b->line->label },
		&sw->process, err);
}

/* Does P4Runtime answer, and are we its primary? */
static int answers(void *context, struct err *err)
{
	struct bmv2 *b = context;
	const struct p4rt_client_config config = {
		.address = ADDRESS,
		.device_id = DEVICE_ID,
		.election_low = 1,
		.connect_timeout_ns = TRY_MS * INT64_C(1000000),
	};
	int back, rc = netns_enter(&b->line->switches[0].netns, &back, err);

	if (rc < 0)
		return rc;
	rc = p4rt_connect(b->loop, &config, TRY_MS * INT64_C(1000000), &b->client, NULL);
	netns_leave(back);
	return rc == 0;
}

/*
 * BMv2 does not write registers by P4Runtime. One that cannot be written keeps its zero, and that is told with the
 * restart; any other refusal is an error.
 */
static int program_registers(struct bmv2 *b, struct p4rt_entries *registers, struct err *err)
{
	struct p4rt_record records[REGISTERS_MOST] = { 0 };
	struct p4rt_updates updates = { 0 };
	const struct p4rt_write write = { .updates = &updates, .count = registers->count, .records = records };
	int rc;

	if (registers->count == 0)
		return 0;
	if (registers->count > REGISTERS_MOST)
		return err_set(err, ERR_USAGE, E2BIG, "%zu registers to write; at most %d are expected",
			       registers->count, REGISTERS_MOST);
	rc = p4rt_entries_encode(registers, &updates) < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory")
							  : p4rt_write(b->client, &write, PROGRAM_NS, NULL, err);
	p4rt_updates_release(&updates);
	for (size_t i = 0; rc == 0 && i < registers->count; i++) {
		if (records[i].status == GRPC_UNIMPLEMENTED)
			b->registers_unwritten = true;
		else if (records[i].status != GRPC_OK)
			rc = err_set(err, ERR_RESULT, EPROTO, "line %u: the switch does not write the register: %s",
				     registers->items[i].line, grpc_status_name(records[i].status));
	}
	return rc;
}

/* Registers to the end of the list, the rest in their order. Returns how many are no registers. */
static size_t registers_last(struct p4rt_entries *entries, struct p4rt_update *scratch)
{
	size_t n = 0, registers = 0;

	for (size_t i = 0; i < entries->count; i++)
		if (entries->items[i].kind == P4RT_UPDATE_REGISTER)
			scratch[registers++] = entries->items[i];
		else
			entries->items[n++] = entries->items[i];
	memcpy(entries->items + n, scratch, registers * sizeof(*scratch));
	return n;
}

static int program_entries(struct bmv2 *b, const struct p4rt_entries *entries, struct err *err)
{
	struct p4rt_update *scratch = malloc((entries->count + 1) * sizeof(*scratch));
	struct p4rt_entries first = *entries, rest = *entries;
	int rc;

	if (!scratch)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	first.count = registers_last(&first, scratch);
	free(scratch);
	rest.items += first.count;
	rest.count -= first.count;
	rc = first.count ? p4rt_program(b->client, &first, PROGRAM_NS, err) : 0;
	return rc < 0 ? rc : program_registers(b, &rest, err);
}

static int program(struct bmv2 *b, struct err *err)
{
	struct p4rt_entries *entries = NULL;
	struct p4info *info = NULL;
	int rc = understand(&b->program, &info, &entries, err);

	if (rc == 0)
		rc = p4rt_set_pipeline(b->client, info, b->program.json.text, b->program.json.length_bytes, PROGRAM_NS,
				       err);
	if (rc == 0)
		rc = program_entries(b, entries, err);
	if (rc < 0 && err)
		err_wrap(err, "program %s", b->program.name);
	p4rt_entries_destroy(entries);
	p4info_destroy(info);
	return rc;
}

static char *describe_switch(const struct bmv2 *b)
{
	char json[17], p4info[17], entries[17], *text;
	json_t *o;

	snprintf(json, sizeof(json), "%016" PRIx64, b->program.json.hash);
	snprintf(p4info, sizeof(p4info), "%016" PRIx64, b->program.p4info.hash);
	snprintf(entries, sizeof(entries), "%016" PRIx64, b->program.entries.hash);
	o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "switch", b->binary.path, "version", b->binary.version,
		      "program", b->program.name, "json_fnv1a64", json, "p4info_fnv1a64", p4info, "entries_fnv1a64",
		      entries, "registers_written", !b->registers_unwritten);
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	return text;
}

static void close_target(struct target *target)
{
	struct bmv2 *b = self(target);

	if (!b)
		return;
	p4rt_client_destroy(b->client);
	loop_destroy(b->loop);
	if (b->line && b->line->switches[0].process) {
		process_stop(b->line->switches[0].process, STOP_MS);
		b->line->switches[0].process = NULL;
	}
	lab_line_close(b->line);
	free(b->description);
	arena_release(&b->arena);
	free(b);
}

static int open_line(struct bmv2 *b, const struct target_setup *setup, struct err *err)
{
	static atomic_uint serial; /* names are unique in the process */
	const uint32_t mtu = setup->frame_bytes > LAB_MTU_BYTES - SHIM_BYTES ? LAB_MTU_BYTES + SHIM_BYTES : 0;
	const struct lab_line_options options = {
		.switches = 1,
		.serial = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed),
		.mtu_bytes = mtu,
	};

	return lab_line_open(&options, &b->line, err);
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
		rc = loop_create(&b->loop, err);
	if (rc == 0)
		rc = start(b, setup, err);
	if (rc == 0)
		rc = process_wait_ready(b->line->switches[0].process, answers, b,
					settings_number(setup->settings, "start_limit") / 1000000, err);
	if (rc == 0)
		rc = program(b, err);
	if (rc < 0) {
		close_target(&b->target);
		return rc;
	}
	/* Nothing is to be asked any more, and a connection would wake threads of the switch. */
	p4rt_client_destroy(b->client);
	b->client = NULL;
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
		.line = b->line,
		.source_ipv4 = SOURCE,
		.destination_ipv4 = DESTINATION,
		.ended_fd = process_fd(b->line->switches[0].process),
		.switch_words = b->words,
		.ether_probes = strstr(b->program.json.text, "\"0x88b5\"") != NULL,
	};
	memcpy(ret->destination_mac, destination_mac, sizeof(destination_mac));
}

static int check_alive(struct target *target, struct err *err)
{
	struct bmv2 *b = self(target);
	int rc = process_check(b->line->switches[0].process, err);

	return rc < 0 ? rc : lab_line_check(b->line, err);
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
	.open = open_target,
	.line = line,
	.open_agents = bmv2_open_agents,
	.agent = bmv2_agent,
	.load_program = bmv2_load_program,
	.check_alive = check_alive,
	.describe = describe,
	.close = close_target,
};
