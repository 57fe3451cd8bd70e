/* SPDX-License-Identifier: Apache-2.0 */
#include "target/p4rt.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "grpc/address.h"
#include "p4rt/p4info.h"
#include "target/bmv2_private.h"
#include "target/v1model_program.h"

enum { ADDRESSES_MOST = 8 };

struct agents {
	struct target target;
	struct arena arena;
	const char *addresses[ADDRESSES_MOST];
	struct target_agent common; /* all but the address */
	char *description;
};

static const char *const pipeline_choices[] = { "send", "keep", NULL };

static const struct setting settings[] = {
	{ .name = "address",
	  .type = SETTING_TEXT,
	  .value_name = "HOST:PORT",
	  .help = "of the P4Runtime server; of several, one a switch, separated by blanks" },
	{ .name = "device_id",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "1",
	  .help = "of each of them" },
	{ .name = "election_id",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "1",
	  .least = 1,
	  .help = "the client with the highest is the one that may write" },
	{ .name = "pipeline",
	  .type = SETTING_CHOICE,
	  .choices = pipeline_choices,
	  .fallback = "send",
	  .help = "send the plan's program, or keep what runs, which must be it" },
	{ .name = "p4info",
	  .type = SETTING_TEXT,
	  .value_name = "FILE",
	  .help = "of a program x.json (x.p4info.txtpb)" },
	{ .name = "ca",
	  .type = SETTING_TEXT,
	  .value_name = "FILE",
	  .help = "TLS: whose certificates are believed, PEM" },
	{ .name = "cert", .type = SETTING_TEXT, .value_name = "FILE", .help = "mutual TLS: our certificate, PEM" },
	{ .name = "key", .type = SETTING_TEXT, .value_name = "FILE", .help = "mutual TLS: its key, PEM" },
	{ .name = "server_name",
	  .type = SETTING_TEXT,
	  .value_name = "NAME",
	  .help = "that the server's certificate must bear (the host of its address)" },
	{ .name = NULL },
};

static int probe(struct err *err)
{
	(void)err;
	return 0;
}

static const char *file_in(const char *directory, const char *name, struct arena *arena)
{
	if (!name || name[0] == '/' || !directory || !*directory)
		return name;
	return arena_printf(arena, "%s/%s", directory, name);
}

/* Addresses and files, checked. Everything is the arena's. */
static int understand(const struct target_setup *setup, struct agents *a, uint32_t *ret_count, struct err *err)
{
	const struct settings *s = setup->settings;
	const char *text = settings_text(s, "address");
	char *copy = text ? arena_strdup(&a->arena, text) : NULL;
	SSL_CTX *context = NULL;
	int count, rc = 0;

	if (!text)
		return err_set(err, ERR_USAGE, EINVAL,
			       "address is missing; expected such as target: { kind: p4rt, address: 192.0.2.1:9559 }");
	count = copy ? words_split(copy, a->addresses, ADDRESSES_MOST) : -ENOMEM;
	if (count == -E2BIG)
		return err_set(err, ERR_USAGE, E2BIG, "address: more than %d addresses", ADDRESSES_MOST);
	if (count < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (int i = 0; rc == 0 && i < count; i++) {
		struct grpc_address address;

		rc = grpc_address_parse(a->addresses[i], &address, err);
	}
	a->common = (struct target_agent){
		.device_id = (uint64_t)settings_number(s, "device_id"),
		.election_low = (uint64_t)settings_number(s, "election_id"),
		.keep_pipeline = settings_number(s, "pipeline") == 1,
		.tls = { .ca = file_in(setup->directory, settings_text(s, "ca"), &a->arena),
			 .cert = file_in(setup->directory, settings_text(s, "cert"), &a->arena),
			 .key = file_in(setup->directory, settings_text(s, "key"), &a->arena),
			 .server_name = settings_text(s, "server_name") },
	};
	if (rc == 0 && grpc_tls_wanted(&a->common.tls)) {
		rc = grpc_tls_context(&a->common.tls, false, &context, err);
		if (rc == 0)
			grpc_tls_context_free(context);
	}
	*ret_count = (uint32_t)count;
	return rc;
}

static int load_program(const struct target_setup *setup, struct arena *arena, struct v1model_program *ret,
			struct err *err)
{
	return v1model_program_load(setup->program, setup->directory, settings_text(setup->settings, "p4info"), NULL,
				    arena, ret, err);
}

static int check(const struct target_setup *setup, struct err *err)
{
	struct v1model_program program;
	struct p4info *info = NULL;
	struct agents a = { 0 };
	uint32_t count;
	int rc;

	if (!setup->program)
		return err_set(err, ERR_USAGE, EINVAL, "no program is named; expected program: l3_lpm or such");
	arena_init(&a.arena, 0);
	rc = understand(setup, &a, &count, err);
	if (rc == 0)
		rc = load_program(setup, &a.arena, &program, err);
	if (rc == 0)
		rc = p4info_parse(program.p4info.text, program.p4info.length_bytes, program.p4info.where, &info, err);
	p4info_destroy(info);
	arena_release(&a.arena);
	return rc;
}

static void close_agents(struct target *target)
{
	struct agents *a = (struct agents *)target;

	if (!a)
		return;
	arena_release(&a->arena);
	free(a->description);
	free(a);
}

static int open_agents(const struct target_setup *setup, uint32_t count, struct target **ret_target, struct err *err)
{
	struct agents *a = calloc(1, sizeof(*a));
	uint32_t named = 0;
	json_t *o;
	int rc;

	if (!a)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	a->target.ops = &target_p4rt;
	arena_init(&a->arena, 0);
	rc = understand(setup, a, &named, err);
	if (rc == 0 && count > named)
		rc = err_set(err, ERR_USAGE, EINVAL, "switches: %" PRIu32 ", but address names %" PRIu32 ": %s", count,
			     named, settings_text(setup->settings, "address"));
	if (rc < 0) {
		close_agents(&a->target);
		return rc;
	}
	o = json_pack("{s:s, s:s}", "address", settings_text(setup->settings, "address"), "program",
		      setup->program ? setup->program : "");
	a->description = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	*ret_target = &a->target;
	return 0;
}

static void agent(struct target *target, uint32_t index, struct target_agent *ret)
{
	const struct agents *a = (const struct agents *)target;

	*ret = a->common;
	ret->address = a->addresses[index];
}

static const char *describe(const struct target *target)
{
	return ((const struct agents *)target)->description;
}

const struct target_ops target_p4rt = {
	.kind = "p4rt",
	.summary = "P4Runtime servers that run already, by address: hardware switches' agents, or any other",
	.settings = settings,
	.probe = probe,
	.check = check,
	.open_agents = open_agents,
	.agent = agent,
	.load_program = load_program,
	.describe = describe,
	.close = close_agents,
};
