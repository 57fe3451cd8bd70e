/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "target/bmv2_line.h"

/*
 * Switches side by side: each alone between two hosts of its own, so that each has its
 * own loopback, and the same address there. All are started before any is waited for.
 */
enum {
	PORT = 9559,
	ARGS_MOST = 32,
	STOP_MS = 2000,
	SERIAL_FIRST = 10000, /* names apart from those of lines that transit plans open */
};

struct group {
	struct target target;
	struct arena arena;
	struct switch_binary binary;
	struct lab_line *lines[LAB_SWITCHES_MOST];
	uint32_t count;
	char *description;
};

static const struct target_ops group_ops;

/* False: anywhere. `auto` is that too: the one thread of the client is moved out of a switch's way by the kernel. */
static bool cpus_of(const struct settings *settings, cpu_set_t *ret)
{
	const char *text = settings_text(settings, "cpus");

	return strcmp(text, "auto") != 0 && strcmp(text, "any") != 0 && cpus_parse("cpus", text, ret, NULL) == 0;
}

static int start(struct group *g, const struct target_setup *setup, struct lab_line *line, uint32_t number,
		 struct err *err)
{
	static const char *const fixed[] = { "--no-p4", "--device-id", "1",           "-i", "1@p1",
					     "-i",      "2@p2",        "--log-level", NULL };
	const char *argv[ARGS_MOST + 16] = { g->binary.path }, *args = settings_text(setup->settings, "args");
	const struct setting *log = setting_find(setup->settings->table, "log");
	cpu_set_t cpus;
	bool confined = cpus_of(setup->settings, &cpus);
	char name[16];
	int n = 1, words;
	char *own;

	for (const char *const *word = fixed; *word; word++)
		argv[n++] = *word;
	argv[n++] = log->choices[settings_number(setup->settings, "log")];
	if (args) {
		words = bmv2_args_of(args, number, g->count, &g->arena, &own, err);
		if (words < 0)
			return words;
		words = words_split(own, argv + n, ARGS_MOST);
		if (words < 0)
			return err_set(err, ERR_USAGE, -words, "args: more than %d words", ARGS_MOST);
		n += words;
	}
	argv[n++] = "--";
	argv[n++] = "--grpc-server-addr";
	argv[n++] = BMV2_ADDRESS;
	argv[n] = NULL;
	snprintf(name, sizeof(name), "switch %" PRIu32, number);
	return process_start(&(struct process_options){ .name = name,
							.argv = argv,
							.netns = &line->switches[0].netns,
							.label = line->label,
							.cpus = confined ? &cpus : NULL },
			     &line->switches[0].process, err);
}

/* It listens: all that is asked before the measurement, which is of the rest. */
static int listens(void *context, struct err *err)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(PORT),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct lab_line *line = context;
	int fd = netns_socket(&line->switches[0].netns, AF_INET, SOCK_STREAM, 0, err), rc;

	if (fd < 0)
		return fd;
	rc = connect(fd, (const struct sockaddr *)&address, sizeof(address));
	close(fd);
	return rc == 0;
}

static char *describe_group(const struct group *g, const struct target_setup *setup)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:i}", "switch", g->binary.path, "version", g->binary.version, "program",
			      setup->program ? setup->program : "", "switches", (int)g->count);
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;

	json_decref(o);
	return text;
}

static void close_group(struct target *target)
{
	struct group *g = (struct group *)target;

	if (!g)
		return;
	/* asked to end together, so that they end at the same time */
	for (uint32_t i = 0; i < g->count; i++)
		if (g->lines[i])
			process_ask_to_end(g->lines[i]->switches[0].process);
	for (uint32_t i = 0; i < g->count; i++)
		lab_line_close(g->lines[i]);
	free(g->description);
	arena_release(&g->arena);
	free(g);
}

static int open_all(struct group *g, const struct target_setup *setup, struct err *err)
{
	static atomic_uint serial = SERIAL_FIRST;
	int64_t limit_ms = settings_number(setup->settings, "start_limit") / 1000000;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < g->count; i++) {
		const struct lab_line_options options = {
			.switches = 1,
			.serial = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed),
		};

		rc = lab_line_open(&options, &g->lines[i], err);
	}
	for (uint32_t i = 0; rc == 0 && i < g->count; i++)
		rc = start(g, setup, g->lines[i], i + 1, err);
	for (uint32_t i = 0; rc == 0 && i < g->count; i++)
		rc = process_wait_ready(g->lines[i]->switches[0].process, listens, g->lines[i], limit_ms, err);
	return rc;
}

int bmv2_open_agents(const struct target_setup *setup, uint32_t count, struct target **ret_target, struct err *err)
{
	struct group *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	g->target.ops = &group_ops;
	g->count = count;
	arena_init(&g->arena, 0);
	rc = count > LAB_SWITCHES_MOST ? err_set(err, ERR_USAGE, EINVAL, "%" PRIu32 " switches: at most %d are started",
						 count, LAB_SWITCHES_MOST)
				       : switch_binary_find(settings_text(setup->settings, "switch"), &g->binary, err);
	if (rc == 0)
		switch_binary_ask_version(&g->binary);
	if (rc == 0)
		rc = open_all(g, setup, err);
	if (rc < 0) {
		close_group(&g->target);
		return rc;
	}
	g->description = describe_group(g, setup);
	*ret_target = &g->target;
	return 0;
}

void bmv2_agent(struct target *target, uint32_t index, struct target_agent *ret)
{
	const struct group *g = (const struct group *)target;
	const struct lab_line *line = g->lines[index];

	*ret = (struct target_agent){
		.address = BMV2_ADDRESS,
		.device_id = BMV2_DEVICE_ID,
		.election_low = 1,
		.netns = &line->switches[0].netns,
		.line = line,
		.pid = process_pid(line->switches[0].process),
	};
}

int bmv2_load_program(const struct target_setup *setup, struct arena *arena, struct v1model_program *ret,
		      struct err *err)
{
	return v1model_program_load(setup->program, setup->directory, settings_text(setup->settings, "p4info"), NULL,
				    arena, ret, err);
}

static int check_alive(struct target *target, struct err *err)
{
	struct group *g = (struct group *)target;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < g->count; i++)
		rc = process_check(g->lines[i]->switches[0].process, err);
	return rc;
}

static const char *describe(const struct target *target)
{
	return ((const struct group *)target)->description;
}

static const struct target_ops group_ops = {
	.kind = "bmv2",
	.agent = bmv2_agent,
	.check_alive = check_alive,
	.describe = describe,
	.close = close_group,
};
