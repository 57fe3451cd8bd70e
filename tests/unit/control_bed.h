/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_CONTROL_BED_H
#define TARE_TESTS_CONTROL_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/control.h"
#include "grpc/client.h"
#include "proto/p4info.pb-c.h"
#include "proto/p4runtime.pb-c.h"
#include "tables/quiesce.h"
#include "text_proto.h"

/*
 * A P4Runtime server and a client of it in one loop. TESTS_DIR is the folder of
 * the tests' sources.
 */
struct bed {
	struct loop *loop;
	struct quiesce *quiesce;
	struct control *control;
	struct grpc_channel *channel;
	P4__Config__V1__P4Info info; /* of tests/p4/control.p4 */
	uint8_t *p4info;
	size_t p4info_bytes;
	char *json;
	size_t json_bytes;
	int commits;
	uint8_t frame[256]; /* the last packet-out */
	size_t frame_bytes;
	bool refuse_packets, refuse_commits;
	uint64_t now_us;
};

static inline int bed_commit(void *context, const struct program *program, struct state *state, struct err *err)
{
	struct bed *b = context;

	(void)program;
	(void)state;
	if (b->refuse_commits)
		return err_set(err, ERR_HOST, 22, "the data plane does not want it");
	b->commits++;
	return 0;
}

static inline bool bed_packet_out(void *context, const uint8_t *frame, size_t length)
{
	struct bed *b = context;

	if (b->refuse_packets || length > sizeof(b->frame))
		return false;
	memcpy(b->frame, frame, length);
	b->frame_bytes = length;
	return true;
}

static inline uint64_t bed_now_us(void *context)
{
	return ((struct bed *)context)->now_us;
}

static inline char *bed_file(const char *name, size_t *ret_length)
{
	char path[512], *text;
	FILE *f;
	long length;

	snprintf(path, sizeof(path), "%s/p4/%s", TESTS_DIR, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	length = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)length + 1);
	assert_int_equal(fread(text, 1, (size_t)length, f), length);
	fclose(f);
	*ret_length = (size_t)length;
	return text;
}

static inline void bed_open(struct bed *b)
{
	static const struct control_ops ops = { bed_commit, bed_packet_out };
	struct control_config config = {
		.address = "127.0.0.1:0", .device_id = 1, .ops = &ops, .context = b, .now_us = bed_now_us
	};
	struct grpc_channel_config client = { 0 };
	char address[64], *text;
	size_t length;
	struct err err;

	memset(b, 0, sizeof(*b));
	b->now_us = 5000000;
	assert_int_equal(loop_create(&b->loop, NULL), 0);
	b->quiesce = quiesce_create();
	config.quiesce = b->quiesce;
	assert_int_equal(control_create(b->loop, &config, &b->control, &err), 0);
	snprintf(address, sizeof(address), "127.0.0.1:%u", control_port(b->control));
	client.address = address;
	assert_int_equal(grpc_channel_create(b->loop, &client, &b->channel, NULL), 0);
	b->json = bed_file("control.json", &b->json_bytes);
	text = bed_file("control.p4info.txtpb", &length);
	p4__config__v1__p4_info__init(&b->info);
	free(text_proto_pack(text, &b->info.base, &b->p4info_bytes));
	free(text);
	/* types are bytes in our schema, which the text form cannot give: int<12> for the one where it matters */
	for (size_t i = 0; i < b->info.n_registers; i++)
		if (strcmp(b->info.registers[i]->preamble->name, "In.small") == 0)
			b->info.registers[i]->type_spec =
				(ProtobufCBinaryData){ 6, (uint8_t *)(uintptr_t) "\x0a\x04\x12\x02\x08\x0c" };
	b->p4info_bytes = p4__config__v1__p4_info__get_packed_size(&b->info);
	b->p4info = malloc(b->p4info_bytes);
	p4__config__v1__p4_info__pack(&b->info, b->p4info);
}

static inline void bed_close(struct bed *b)
{
	grpc_channel_destroy(b->channel);
	control_destroy(b->control);
	quiesce_destroy(b->quiesce);
	loop_destroy(b->loop);
	free(b->p4info);
	free(b->json);
	text_proto_free();
}

/* --- unary calls --- */

struct answer {
	int closed, status;
	char message[512];
	uint8_t *details;
	size_t details_bytes;
	uint8_t *bytes[64]; /* messages */
	size_t lengths[64];
	int count;
};

static inline void answer_message(struct grpc_rpc *rpc, const uint8_t *data, size_t length)
{
	struct answer *a = grpc_rpc_user(rpc);

	assert_true(a->count < 64);
	a->bytes[a->count] = malloc(length + 1);
	if (length > 0)
		memcpy(a->bytes[a->count], data, length);
	a->lengths[a->count++] = length;
}

static inline void answer_closed(struct grpc_rpc *rpc, int status, const char *message, const uint8_t *details,
				 size_t length)
{
	struct answer *a = grpc_rpc_user(rpc);

	a->closed = 1;
	a->status = status;
	snprintf(a->message, sizeof(a->message), "%s", message);
	a->details = malloc(length + 1);
	if (length > 0)
		memcpy(a->details, details, length);
	a->details_bytes = length;
}

static const struct grpc_rpc_ops answer_ops = { answer_message, answer_closed };

static inline void answer_release(struct answer *a)
{
	for (int i = 0; i < a->count; i++)
		free(a->bytes[i]);
	free(a->details);
	memset(a, 0, sizeof(*a));
}

static inline void bed_turn_until(struct bed *b, const int *counter, int until)
{
	int64_t give_up = loop_now_ns() + INT64_C(10000000000);

	while (*counter < until) {
		assert_true(loop_now_ns() < give_up);
		assert_int_equal(loop_turn(b->loop, 10000000), 0);
	}
}

static inline void bed_call_bytes(struct bed *b, const char *path, const uint8_t *bytes, size_t length,
				  struct answer *ret)
{
	struct grpc_rpc *rpc;

	memset(ret, 0, sizeof(*ret));
	rpc = grpc_rpc_start(b->channel, path, &answer_ops, ret, 0);
	if (length > 0)
		memcpy(grpc_rpc_reserve(rpc, length), bytes, length);
	else
		grpc_rpc_reserve(rpc, 0);
	grpc_rpc_commit(rpc);
	grpc_rpc_end(rpc);
	bed_turn_until(b, &ret->closed, 1);
}

static inline void bed_call(struct bed *b, const char *path, const ProtobufCMessage *request, struct answer *ret)
{
	size_t length = protobuf_c_message_get_packed_size(request);
	uint8_t *bytes = malloc(length + 1);

	protobuf_c_message_pack(request, bytes);
	bed_call_bytes(b, path, bytes, length, ret);
	free(bytes);
}

/* --- streams --- */

struct stream {
	struct grpc_rpc *rpc;
	struct answer answer;
	int read; /* messages looked at */
};

static inline void stream_open(struct bed *b, struct stream *s)
{
	memset(s, 0, sizeof(*s));
	s->rpc = grpc_rpc_start(b->channel, "/p4.v1.P4Runtime/StreamChannel", &answer_ops, &s->answer, 0);
}

static inline void stream_send(struct stream *s, P4__V1__StreamMessageRequest *m)
{
	size_t length = p4__v1__stream_message_request__get_packed_size(m);

	p4__v1__stream_message_request__pack(m, grpc_rpc_reserve(s->rpc, length));
	grpc_rpc_commit(s->rpc);
}

/* The next message; freed by the caller. */
static inline P4__V1__StreamMessageResponse *stream_next(struct bed *b, struct stream *s)
{
	P4__V1__StreamMessageResponse *m;

	bed_turn_until(b, &s->answer.count, s->read + 1);
	m = p4__v1__stream_message_response__unpack(NULL, s->answer.lengths[s->read], s->answer.bytes[s->read]);
	s->read++;
	assert_non_null(m);
	return m;
}

static inline void stream_arbitrate(struct stream *s, uint64_t device, const char *role, int64_t election)
{
	P4__V1__StreamMessageRequest m;
	P4__V1__MasterArbitrationUpdate update = P4__V1__MASTER_ARBITRATION_UPDATE__INIT;
	P4__V1__Uint128 id = P4__V1__UINT128__INIT;
	P4__V1__Role r = P4__V1__ROLE__INIT;

	p4__v1__stream_message_request__init(&m);
	m.update_case = P4__V1__STREAM_MESSAGE_REQUEST__UPDATE_ARBITRATION;
	m.arbitration = &update;
	update.device_id = device;
	id.low = (uint64_t)election;
	update.election_id = election >= 0 ? &id : NULL;
	r.name = (char *)role;
	update.role = role != NULL ? &r : NULL;
	stream_send(s, &m);
}

/* What the stream says of the arbitration: the status code, and the election id if there is one (-1). */
static inline int stream_advice(struct bed *b, struct stream *s, int64_t *ret_election)
{
	P4__V1__StreamMessageResponse *m = stream_next(b, s);
	int code;

	assert_int_equal(m->update_case, P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_ARBITRATION);
	code = m->arbitration->status->code;
	if (ret_election != NULL)
		*ret_election = m->arbitration->election_id != NULL ? (int64_t)m->arbitration->election_id->low : -1;
	p4__v1__stream_message_response__free_unpacked(m, NULL);
	return code;
}

/* Cancel or look at the end, then forget. */
static inline void stream_close(struct bed *b, struct stream *s)
{
	if (!s->answer.closed)
		grpc_rpc_cancel(s->rpc);
	bed_turn_until(b, &s->answer.closed, 1);
	answer_release(&s->answer);
}

static inline void bed_primary(struct bed *b, struct stream *s)
{
	stream_open(b, s);
	stream_arbitrate(s, 1, NULL, 1);
	assert_int_equal(stream_advice(b, s, NULL), 0);
}

/* --- the pipeline --- */

static inline int bed_set_pipeline(struct bed *b, P4__V1__SetForwardingPipelineConfigRequest__Action action,
				   uint64_t cookie, char *message, size_t size)
{
	P4__V1__SetForwardingPipelineConfigRequest q = P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__INIT;
	P4__V1__ForwardingPipelineConfig config = P4__V1__FORWARDING_PIPELINE_CONFIG__INIT;
	P4__V1__ForwardingPipelineConfig__Cookie c = P4__V1__FORWARDING_PIPELINE_CONFIG__COOKIE__INIT;
	P4__V1__Uint128 id = P4__V1__UINT128__INIT;
	struct answer a;
	int status;

	id.low = 1;
	c.cookie = cookie;
	q.device_id = 1;
	q.election_id = &id;
	q.action = action;
	config.p4info = (ProtobufCBinaryData){ b->p4info_bytes, b->p4info };
	config.p4_device_config = (ProtobufCBinaryData){ b->json_bytes, (uint8_t *)b->json };
	config.cookie = &c;
	if (action != P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__COMMIT)
		q.config = &config;
	bed_call(b, "/p4.v1.P4Runtime/SetForwardingPipelineConfig", &q.base, &a);
	status = a.status;
	if (message != NULL)
		snprintf(message, size, "%s", a.message);
	answer_release(&a);
	return status;
}

static inline void bed_ready(struct bed *b, struct stream *s)
{
	char message[512];

	bed_open(b);
	bed_primary(b, s);
	if (bed_set_pipeline(b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_COMMIT, 7, message,
			     sizeof(message)) != 0)
		fail_msg("%s", message);
}

/* The id of a table, action or anything else, by its name. */
static inline uint32_t bed_id(const struct bed *b, const char *name)
{
#define LOOK(list, n)                                                                                                  \
	for (size_t i = 0; i < b->info.n; i++)                                                                         \
		if (strcmp(b->info.list[i]->preamble->name, name) == 0)                                                \
			return b->info.list[i]->preamble->id;
	LOOK(tables, n_tables)
	LOOK(actions, n_actions)
	LOOK(action_profiles, n_action_profiles)
	LOOK(counters, n_counters)
	LOOK(direct_counters, n_direct_counters)
	LOOK(meters, n_meters)
	LOOK(direct_meters, n_direct_meters)
	LOOK(registers, n_registers)
	LOOK(value_sets, n_value_sets)
	LOOK(digests, n_digests)
#undef LOOK
	fail_msg("no %s in the p4info", name);
	return 0;
}

#endif
