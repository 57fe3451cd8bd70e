/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p4rt/client_private.h"
#include "proto/p4runtime.pb-c.h"

/* Calls with one answer: pipeline and capabilities. */
struct call {
	struct p4rt_client *client;
	p4rt_done done;
	p4rt_got_pipeline got_pipeline;
	void *user;
	uint8_t *answer; /* kept until the status is there */
	size_t answer_bytes;
	bool answered;
};

static void keep_answer(struct grpc_rpc *rpc, const uint8_t *data, size_t length_bytes)
{
	struct call *call = grpc_rpc_user(rpc);

	if (call->answered)
		return; /* gRPC has one answer to a unary call; what follows is ignored */
	call->answer = malloc(length_bytes + 1);
	call->answered = call->answer != NULL;
	call->answer_bytes = length_bytes;
	if (call->answer && length_bytes)
		memcpy(call->answer, data, length_bytes);
}

static void call_free(struct call *call)
{
	free(call->answer);
	free(call);
}

/* OK without an answer, or with one that cannot be read, is a failure. */
static struct p4rt_result result_of(const struct call *call, int status, const char *message, bool readable)
{
	if (status == GRPC_OK && !call->answered)
		return (struct p4rt_result){ GRPC_INTERNAL, "the status is OK, but there was no answer" };
	if (status == GRPC_OK && !readable)
		return (struct p4rt_result){ GRPC_INTERNAL, "the answer cannot be read" };
	return (struct p4rt_result){ status, message };
}

static void set_closed(struct grpc_rpc *rpc, int status, const char *message, const uint8_t *details,
		       size_t details_bytes)
{
	struct call *call = grpc_rpc_user(rpc);
	P4__V1__SetForwardingPipelineConfigResponse *answer = NULL;
	struct p4rt_result result;

	(void)details;
	(void)details_bytes;
	if (call->answered)
		answer =
			p4__v1__set_forwarding_pipeline_config_response__unpack(NULL, call->answer_bytes, call->answer);
	result = result_of(call, status, message, answer != NULL);
	call->done(call->user, &result);
	if (answer)
		p4__v1__set_forwarding_pipeline_config_response__free_unpacked(answer, NULL);
	call_free(call);
}

static void capabilities_closed(struct grpc_rpc *rpc, int status, const char *message, const uint8_t *details,
				size_t details_bytes)
{
	struct call *call = grpc_rpc_user(rpc);
	P4__V1__CapabilitiesResponse *answer = NULL;
	struct p4rt_result result;

	(void)details;
	(void)details_bytes;
	if (call->answered)
		answer = p4__v1__capabilities_response__unpack(NULL, call->answer_bytes, call->answer);
	result = result_of(call, status, message, answer != NULL);
	if (result.status == GRPC_OK)
		result.message = answer->p4runtime_api_version;
	call->done(call->user, &result);
	if (answer)
		p4__v1__capabilities_response__free_unpacked(answer, NULL);
	call_free(call);
}

static void get_closed(struct grpc_rpc *rpc, int status, const char *message, const uint8_t *details,
		       size_t details_bytes)
{
	struct call *call = grpc_rpc_user(rpc);
	P4__V1__GetForwardingPipelineConfigResponse *answer = NULL;
	struct p4rt_pipeline pipeline = { 0 };
	struct p4rt_result result;

	(void)details;
	(void)details_bytes;
	if (call->answered)
		answer =
			p4__v1__get_forwarding_pipeline_config_response__unpack(NULL, call->answer_bytes, call->answer);
	result = result_of(call, status, message, answer != NULL);
	if (answer && answer->config) {
		const P4__V1__ForwardingPipelineConfig *config = answer->config;

		pipeline.p4info = (struct p4rt_bytes){ config->p4info.data, config->p4info.len };
		pipeline.device_config =
			(struct p4rt_bytes){ config->p4_device_config.data, config->p4_device_config.len };
		pipeline.cookie = config->cookie ? config->cookie->cookie : 0;
	}
	call->got_pipeline(call->user, &result, result.status == GRPC_OK ? &pipeline : NULL);
	if (answer)
		p4__v1__get_forwarding_pipeline_config_response__free_unpacked(answer, NULL);
	call_free(call);
}

static const struct grpc_rpc_ops set_ops = { keep_answer, set_closed };
static const struct grpc_rpc_ops get_ops = { keep_answer, get_closed };
static const struct grpc_rpc_ops capabilities_ops = { keep_answer, capabilities_closed };

static int call_start(struct p4rt_client *client, const char *path, const struct grpc_rpc_ops *ops,
		      const struct call *with, const ProtobufCMessage *request, int64_t deadline_ns)
{
	struct call *call;
	struct grpc_rpc *rpc;
	uint8_t *to;

	if (client->destroying)
		return -ENOTCONN;
	call = malloc(sizeof(*call));
	if (!call)
		return -ENOMEM;
	*call = *with;
	call->client = client;
	rpc = grpc_rpc_start(client->channel, path, ops, call, deadline_ns);
	if (!rpc) {
		free(call);
		return -ENOMEM;
	}
	to = grpc_rpc_reserve(rpc, protobuf_c_message_get_packed_size(request));
	if (!to) {
		grpc_rpc_cancel(rpc);
		return 0;
	}
	protobuf_c_message_pack(request, to);
	grpc_rpc_commit(rpc);
	grpc_rpc_end(rpc);
	return 0;
}

int p4rt_client_set_pipeline(struct p4rt_client *client, const struct p4info *info, const void *device_config,
			     size_t device_config_bytes, uint64_t cookie, int64_t deadline_ns, p4rt_done done,
			     void *user)
{
	P4__V1__SetForwardingPipelineConfigRequest request = P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__INIT;
	P4__V1__ForwardingPipelineConfig config = P4__V1__FORWARDING_PIPELINE_CONFIG__INIT;
	P4__V1__ForwardingPipelineConfig__Cookie cookie_of = P4__V1__FORWARDING_PIPELINE_CONFIG__COOKIE__INIT;
	P4__V1__Uint128 election = P4__V1__UINT128__INIT;

	election.high = client->config.election_high;
	election.low = client->config.election_low;
	cookie_of.cookie = cookie;
	config.p4info = (ProtobufCBinaryData){ info->wire_bytes, (uint8_t *)info->wire };
	config.p4_device_config = (ProtobufCBinaryData){ device_config_bytes, (uint8_t *)device_config };
	config.cookie = &cookie_of;
	request.device_id = client->config.device_id;
	request.election_id = &election;
	request.action = P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_COMMIT;
	request.config = &config;
	return call_start(client, "/p4.v1.P4Runtime/SetForwardingPipelineConfig", &set_ops,
			  &(struct call){ .done = done, .user = user }, &request.base, deadline_ns);
}

int p4rt_client_get_pipeline(struct p4rt_client *client, int64_t deadline_ns, p4rt_got_pipeline done, void *user)
{
	P4__V1__GetForwardingPipelineConfigRequest request = P4__V1__GET_FORWARDING_PIPELINE_CONFIG_REQUEST__INIT;

	request.device_id = client->config.device_id;
	return call_start(client, "/p4.v1.P4Runtime/GetForwardingPipelineConfig", &get_ops,
			  &(struct call){ .got_pipeline = done, .user = user }, &request.base, deadline_ns);
}

int p4rt_client_capabilities(struct p4rt_client *client, int64_t deadline_ns, p4rt_done done, void *user)
{
	P4__V1__CapabilitiesRequest request = P4__V1__CAPABILITIES_REQUEST__INIT;

	request.device_id = client->config.device_id;
	return call_start(client, "/p4.v1.P4Runtime/Capabilities", &capabilities_ops,
			  &(struct call){ .done = done, .user = user }, &request.base, deadline_ns);
}
