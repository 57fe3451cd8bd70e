/* SPDX-License-Identifier: Apache-2.0 */
#include "control/control.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "control/control_private.h"

enum { COLLECT_NS = 20000000 };

void answer(struct grpc_call *call, const ProtobufCMessage *message)
{
	uint8_t *out = grpc_call_reserve(call, protobuf_c_message_get_packed_size(message));

	if (out == NULL)
		return;
	protobuf_c_message_pack(message, out);
	grpc_call_commit(call);
	grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
}

void answer_verdict(struct grpc_call *call, const struct verdict *v)
{
	grpc_call_finish(call, (enum grpc_status)v->code, v->message, NULL, 0);
}

void control_collect(struct control *c)
{
	pool_reset(&c->pool);
	quiesce_collect(c->config.quiesce);
	if (quiesce_backlog_bytes(c->config.quiesce) > 0 && c->loop != NULL && c->collect.place == 0)
		loop_timer_set(c->loop, &c->collect, loop_now_ns() + COLLECT_NS);
}

static void collect_again(struct loop_timer *timer)
{
	control_collect((struct control *)((char *)timer - offsetof(struct control, collect)));
}

static void capabilities_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	P4__V1__CapabilitiesResponse to = P4__V1__CAPABILITIES_RESPONSE__INIT;

	(void)data;
	(void)length;
	to.p4runtime_api_version = (char *)"1.4.0";
	answer(call, &to.base);
}

static const struct grpc_method methods[] = {
	{ .path = "/p4.v1.P4Runtime/Write", .unary_request = true, .message = write_message },
	{ .path = "/p4.v1.P4Runtime/Read", .unary_request = true, .message = read_message },
	{ .path = "/p4.v1.P4Runtime/SetForwardingPipelineConfig",
	  .unary_request = true,
	  .message = set_pipeline_message },
	{ .path = "/p4.v1.P4Runtime/GetForwardingPipelineConfig",
	  .unary_request = true,
	  .message = get_pipeline_message },
	{ .path = "/p4.v1.P4Runtime/StreamChannel",
	  .opened = stream_opened,
	  .message = stream_message,
	  .half_closed = stream_half_closed,
	  .closed = stream_closed },
	{ .path = "/p4.v1.P4Runtime/Capabilities", .unary_request = true, .message = capabilities_message },
	{ 0 },
};

int control_create(struct loop *loop, const struct control_config *config, struct control **ret_control,
		   struct err *err)
{
	struct grpc_server_config server = { .address = config->address,
					     .tls = config->tls,
					     .methods = methods,
					     .message_limit_bytes = config->message_limit_bytes,
					     .connection_limit = config->connection_limit };
	struct control *c = calloc(1, sizeof(*c));
	int rc;

	if (c == NULL || pool_init(&c->pool) < 0) {
		free(c);
		return err_set(err, ERR_HOST, ENOMEM, "P4Runtime: out of memory");
	}
	c->loop = loop;
	c->collect.fire = collect_again;
	c->config = *config;
	server.context = c;
	rc = grpc_server_create(loop, &server, &c->server, err);
	if (rc < 0) {
		control_destroy(c);
		return rc;
	}
	*ret_control = c;
	return 0;
}

void control_destroy(struct control *c)
{
	if (c == NULL)
		return;
	grpc_server_destroy(c->server);
	if (c->loop != NULL) {
		loop_timer_clear(c->loop, &c->collect);
		loop_timer_clear(c->loop, &c->idle);
	}
	write_forget_late(c);
	pipeline_destroy(c->saved);
	pipeline_destroy(c->running);
	for (unsigned i = 0; i < c->role_count; i++)
		free(c->roles[i].name);
	pool_release(&c->pool);
	free(c);
}

unsigned control_port(const struct control *c)
{
	return grpc_server_port(c->server);
}

const struct program *control_program(const struct control *c)
{
	return c->running != NULL ? c->running->program : NULL;
}

struct state *control_state(const struct control *c)
{
	return c->running != NULL ? c->running->state : NULL;
}

const struct control_counters *control_counters(const struct control *c)
{
	return &c->counters;
}
