/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "control/control_private.h"

/* Forwarding pipelines: made from a request, put to work, and told again. */

void pipeline_destroy(void *object)
{
	struct pipeline *p = object;

	if (p == NULL)
		return;
	state_destroy(p->state);
	names_destroy(p->names);
	program_destroy(p->program);
	free(p->p4info);
	free(p->device_config);
	free(p->digests);
	free(p);
}

/*
 * Some controllers wrap the JSON in p4.tmp.P4DeviceConfig (device_data is field 3), the form that BMv2 asked for at
 * first. JSON begins with a brace, or white space, none of which is a tag of that message.
 */
static ProtobufCBinaryData unwrap(ProtobufCBinaryData config)
{
	size_t at = 0;

	while (at < config.len) {
		uint8_t tag = config.data[at++];
		uint64_t value = 0;
		unsigned shift = 0;

		if (tag != (1 << 3 | 2) && tag != 2 << 3 && tag != (3 << 3 | 2))
			return config;
		do {
			if (at == config.len || shift > 35)
				return config;
			value |= (uint64_t)(config.data[at] & 0x7f) << shift;
			shift += 7;
		} while (config.data[at++] & 0x80);
		if (tag == 2 << 3)
			continue;
		if (value > config.len - at)
			return config;
		if (tag == (3 << 3 | 2))
			return (ProtobufCBinaryData){ (size_t)value, config.data + at };
		at += (size_t)value;
	}
	return config;
}

static uint8_t *copy(const ProtobufCBinaryData *from)
{
	uint8_t *to = malloc(from->len + 1);

	if (to != NULL && from->len > 0)
		memcpy(to, from->data, from->len);
	return to;
}

/* P4Info tells a table of constant entries from one that only begins with some. */
static void free_initial_entries(struct pipeline *p)
{
	for (uint32_t t = 0; t < p->program->table_count; t++)
		if (p->names->tables[t].id != 0 && !p->names->tables[t].is_const)
			table_set_mutable(p->state, t);
}

static int fill(struct control *c, struct pipeline *p, const P4__V1__ForwardingPipelineConfig *config, struct err *err)
{
	ProtobufCBinaryData json = unwrap(config->p4_device_config);
	int rc = program_load((const char *)json.data, json.len, &p->program, err);

	malloc_trim(0); /* the JSON as a tree is many times its text: gone, but still resident */
	if (rc == 0)
		rc = state_create(p->program, c->config.quiesce, c->config.shared, &p->state, err);
	if (rc == 0)
		rc = names_create(config->p4info.data, config->p4info.len, p->program, &p->names, err);
	if (rc < 0)
		return rc;
	p->p4info = copy(&config->p4info);
	p->device_config = copy(&config->p4_device_config);
	p->p4info_bytes = config->p4info.len;
	p->device_config_bytes = config->p4_device_config.len;
	p->has_cookie = config->cookie != NULL;
	p->cookie = config->cookie != NULL ? config->cookie->cookie : 0;
	p->digests = calloc(p->program->learn_list_count + 1, sizeof(*p->digests));
	if (p->p4info == NULL || p->device_config == NULL || p->digests == NULL)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	free_initial_entries(p);
	return 0;
}

int pipeline_create(struct control *c, const P4__V1__ForwardingPipelineConfig *config, struct pipeline **ret_pipeline,
		    struct verdict *v)
{
	struct pipeline *p;
	struct err err;
	int rc;

	if (config == NULL || config->p4_device_config.len == 0)
		return verdict(v, GRPC_INVALID_ARGUMENT, "a config with P4Info and the program's JSON is expected");
	p = calloc(1, sizeof(*p));
	rc = p == NULL ? err_set(&err, ERR_HOST, ENOMEM, "out of memory") : fill(c, p, config, &err);
	if (rc < 0) {
		pipeline_destroy(p);
		return verdict(v, rc == -ENOMEM ? GRPC_RESOURCE_EXHAUSTED : GRPC_INVALID_ARGUMENT, "%s", err.message);
	}
	*ret_pipeline = p;
	return 0;
}

/* What nobody uses any more: behind everything of its state that waits to be freed. */
static void retire(struct control *c, struct pipeline *p)
{
	quiesce_retire(c->config.quiesce, p, 1 << 20, pipeline_destroy);
}

/* From now on packets run it. What ran before goes when the last reader has left it. */
static int commit(struct control *c, struct pipeline *p, struct err *err)
{
	int rc = 0;

	if (c->config.ops->commit != NULL)
		rc = c->config.ops->commit(c->config.context, p->program, p->state, err);
	if (rc < 0) {
		retire(c, p);
		return rc;
	}
	retire(c, c->running);
	c->running = p;
	idle_begin(c);
	return 0;
}

static int commit_verdict(struct control *c, struct pipeline *p, struct verdict *v)
{
	struct err err;
	int rc = commit(c, p, &err);

	return rc < 0 ? verdict(v, rc == -ENOMEM ? GRPC_RESOURCE_EXHAUSTED : GRPC_INVALID_ARGUMENT, "%s", err.message)
		      : 0;
}

int control_run_program(struct control *c, struct program *program, struct err *err)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	int rc;

	if (p == NULL) {
		program_destroy(program);
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	p->program = program;
	rc = state_create(program, c->config.quiesce, c->config.shared, &p->state, err);
	if (rc < 0) {
		pipeline_destroy(p);
		return rc;
	}
	return commit(c, p, err);
}

struct pipeline *current_pipeline(struct control *c)
{
	struct pipeline *p = c->saved != NULL ? c->saved : c->running;

	return p != NULL && p->names != NULL ? p : NULL;
}

/* --- Set --- */

/* A saved pipeline has a state of its own, which Write fills and Read shows: to commit is to let packets have it. */
static int set_pipeline(struct control *c, const P4__V1__SetForwardingPipelineConfigRequest *q, struct verdict *v)
{
	struct pipeline *p = NULL;

	if (stream_check_primary(c, q->device_id, q->role, q->role_id, q->election_id, v) < 0)
		return -1;
	switch (q->action) {
	case P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY:
		if (pipeline_create(c, q->config, &p, v) < 0)
			return -1;
		pipeline_destroy(p);
		return 0;
	case P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_SAVE:
		if (pipeline_create(c, q->config, &p, v) < 0)
			return -1;
		retire(c, c->saved);
		c->saved = p;
		return 0;
	case P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_COMMIT:
		if (pipeline_create(c, q->config, &p, v) < 0)
			return -1;
		retire(c, c->saved);
		c->saved = NULL;
		return commit_verdict(c, p, v);
	case P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__COMMIT:
		if (q->config != NULL)
			return verdict(v, GRPC_INVALID_ARGUMENT, "COMMIT takes no config");
		if (c->saved == NULL)
			return verdict(v, GRPC_NOT_FOUND, "there is no saved config");
		p = c->saved;
		c->saved = NULL;
		return commit_verdict(c, p, v);
	case P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__RECONCILE_AND_COMMIT:
		if (pipeline_create(c, q->config, &p, v) < 0)
			return -1;
		if (reconcile(c, c->running, p, v) < 0) {
			retire(c, p);
			return -1;
		}
		return commit_verdict(c, p, v);
	default:
		return verdict(v, GRPC_INVALID_ARGUMENT, "action %d is not one that there is", (int)q->action);
	}
}

void set_pipeline_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	static const P4__V1__SetForwardingPipelineConfigResponse ok =
		P4__V1__SET_FORWARDING_PIPELINE_CONFIG_RESPONSE__INIT;
	struct control *c = grpc_call_context(call);
	const P4__V1__SetForwardingPipelineConfigRequest *q =
		p4__v1__set_forwarding_pipeline_config_request__unpack(&c->pool.allocator, length, data);
	struct verdict v;

	if (q == NULL)
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT, "not a SetForwardingPipelineConfigRequest", NULL, 0);
	else if (set_pipeline(c, q, &v) < 0)
		answer_verdict(call, &v);
	else
		answer(call, &ok.base);
	control_collect(c);
}

/* --- Get --- */

void get_pipeline_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	struct control *c = grpc_call_context(call);
	const P4__V1__GetForwardingPipelineConfigRequest *q =
		p4__v1__get_forwarding_pipeline_config_request__unpack(&c->pool.allocator, length, data);
	P4__V1__GetForwardingPipelineConfigResponse to = P4__V1__GET_FORWARDING_PIPELINE_CONFIG_RESPONSE__INIT;
	P4__V1__ForwardingPipelineConfig config = P4__V1__FORWARDING_PIPELINE_CONFIG__INIT;
	P4__V1__ForwardingPipelineConfig__Cookie cookie = P4__V1__FORWARDING_PIPELINE_CONFIG__COOKIE__INIT;
	const struct pipeline *p = current_pipeline(c);
	struct verdict v;

	if (q == NULL) {
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT, "not a GetForwardingPipelineConfigRequest", NULL, 0);
	} else if (check_device(c, q->device_id, &v) < 0) {
		answer_verdict(call, &v);
	} else {
		bool all = q->response_type == P4__V1__GET_FORWARDING_PIPELINE_CONFIG_REQUEST__RESPONSE_TYPE__ALL;

		if (p != NULL) {
			to.config = &config;
			cookie.cookie = p->cookie;
			config.cookie = p->has_cookie ? &cookie : NULL;
			if (all ||
			    q->response_type ==
				    P4__V1__GET_FORWARDING_PIPELINE_CONFIG_REQUEST__RESPONSE_TYPE__P4INFO_AND_COOKIE)
				config.p4info = (ProtobufCBinaryData){ p->p4info_bytes, p->p4info };
			if (all ||
			    q->response_type ==
				    P4__V1__GET_FORWARDING_PIPELINE_CONFIG_REQUEST__RESPONSE_TYPE__DEVICE_CONFIG_AND_COOKIE)
				config.p4_device_config =
					(ProtobufCBinaryData){ p->device_config_bytes, p->device_config };
		}
		answer(call, &to.base);
	}
	control_collect(c);
}
