/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/unit/text_proto.h"
#include "control/control_private.h"
#include "proto/p4info.pb-c.h"

/*
 * Requests as a socket would bring them, to the P4Runtime server of a program
 * that has something of every kind. The input is a list of records: a method
 * (one byte, see methods), a length (two bytes, little-endian), and the message.
 * This file stands in for the gRPC library: a call is what it finished with.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

struct grpc_call {
	void *context, *user;
	uint8_t *message;
	bool finished;
};

int grpc_server_create(struct loop *loop, const struct grpc_server_config *config, struct grpc_server **ret_server,
		       struct err *err)
{
	(void)loop;
	(void)config;
	(void)err;
	*ret_server = NULL;
	return 0;
}

void grpc_server_destroy(struct grpc_server *server)
{
	(void)server;
}

unsigned grpc_server_port(const struct grpc_server *server)
{
	(void)server;
	return 0;
}

void *grpc_call_context(const struct grpc_call *call)
{
	return call->context;
}

void *grpc_call_user(const struct grpc_call *call)
{
	return call->user;
}

void grpc_call_set_user(struct grpc_call *call, void *user)
{
	call->user = user;
}

uint8_t *grpc_call_reserve(struct grpc_call *call, size_t length_bytes)
{
	if (call->finished)
		return NULL;
	free(call->message);
	call->message = malloc(length_bytes + 1);
	return call->message;
}

void grpc_call_commit(struct grpc_call *call)
{
	(void)call;
}

size_t grpc_call_queued_bytes(const struct grpc_call *call)
{
	(void)call;
	return 0;
}

void grpc_call_finish(struct grpc_call *call, enum grpc_status status, const char *message, const uint8_t *details,
		      size_t details_bytes)
{
	TARE_ASSERT((unsigned)status < GRPC_STATUSES);
	if (details_bytes > 0) {
		P4__V1__Status *s = p4__v1__status__unpack(NULL, details_bytes, details);

		TARE_ASSERT(s != NULL && message != NULL);
		p4__v1__status__free_unpacked(s, NULL);
	}
	call->finished = true;
}

size_t grpc_call_details_limit(const struct grpc_call *call)
{
	(void)call;
	return 4096;
}

/* --- the program, read once --- */

static char *read_file(const char *name, size_t *ret_length)
{
	char path[512], *text = NULL;
	long length = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/p4/%s", TESTS_DIR, name);
	f = fopen(path, "rb");
	if (f != NULL && fseek(f, 0, SEEK_END) == 0 && (length = ftell(f)) > 0) {
		rewind(f);
		text = calloc(1, (size_t)length + 1);
	}
	if (text == NULL || fread(text, 1, (size_t)length, f) != (size_t)length) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(2);
	}
	fclose(f);
	*ret_length = (size_t)length;
	return text;
}

static P4__V1__ForwardingPipelineConfig *the_config(void)
{
	static P4__V1__ForwardingPipelineConfig config = P4__V1__FORWARDING_PIPELINE_CONFIG__INIT;
	P4__Config__V1__P4Info info = P4__CONFIG__V1__P4_INFO__INIT;
	size_t length;
	char *text;

	if (config.p4info.data != NULL)
		return &config;
	text = read_file("control.p4info.txtpb", &length);
	config.p4info.data = text_proto_pack(text, &info.base, &config.p4info.len);
	text_proto_free();
	free(text);
	config.p4_device_config.data = (uint8_t *)read_file("control.json", &config.p4_device_config.len);
	return &config;
}

/* --- a session: one primary, a pipeline, then whatever comes --- */

static bool take_packet(void *context, const uint8_t *frame, size_t length_bytes)
{
	uint8_t sum = 0;

	(void)context;
	for (size_t i = 0; i < length_bytes; i++)
		sum ^= frame[i];
	return sum != 0xa5; /* reads every byte, and refuses some */
}

static void become_primary(struct control *c, struct grpc_call *stream)
{
	/* arbitration { device_id: 1 election_id { low: 1 } } */
	static const uint8_t update[] = { 0x0a, 0x06, 0x08, 0x01, 0x1a, 0x02, 0x10, 0x01 };

	stream->context = c;
	stream_opened(stream);
	stream_message(stream, update, sizeof(update));
	TARE_ASSERT(!stream->finished && c->role_count == 1 && c->roles[0].primary != NULL);
}

static void set_program(struct control *c)
{
	struct verdict v;

	if (pipeline_create(c, the_config(), &c->running, &v) < 0) {
		fprintf(stderr, "%s\n", v.message);
		abort();
	}
}

static void run(struct control *c, struct grpc_call *stream, unsigned method, const uint8_t *bytes, size_t length)
{
	static void (*const methods[])(struct grpc_call *, const uint8_t *, size_t) = {
		write_message,
		read_message,
		set_pipeline_message,
		get_pipeline_message,
	};
	struct grpc_call call = { .context = c };

	if (method % 5 == 4) {
		if (!stream->finished)
			stream_message(stream, bytes, length);
		return;
	}
	methods[method % 5](&call, bytes, length);
	TARE_ASSERT(call.finished);
	free(call.message);
}

/* What a table has read back is what it can find again. */
static void check_tables(const struct pipeline *p)
{
	for (uint32_t t = 0; t < p->program->table_count; t++) {
		struct entry_cursor cursor = { 0 };
		const struct entry *e;
		uint32_t count = 0;

		for (; (e = table_next(p->state, t, &cursor)) != NULL; count++) {
			struct match_spec match = { entry_value(e), entry_mask(p->state, e), e->prefix_bits,
						    e->priority };

			TARE_ASSERT(table_find(p->state, t, &match) == e);
		}
		TARE_ASSERT(count == table_entries(p->state, t));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct control_ops ops = { NULL, take_packet };
	struct control_config config = { .address = "", .device_id = 1, .quiesce = quiesce_create(), .ops = &ops };
	struct grpc_call stream = { 0 };
	struct control *c;
	size_t at = 0;

	TARE_ASSERT(control_create(NULL, &config, &c, NULL) == 0);
	become_primary(c, &stream);
	set_program(c);
	while (length - at >= 3) {
		size_t n = bytes[at + 1] | (size_t)bytes[at + 2] << 8;
		unsigned method = bytes[at];

		at += 3;
		if (n > length - at)
			n = length - at;
		run(c, &stream, method, bytes + at, n);
		at += n;
	}
	if (c->running->names != NULL)
		check_tables(c->running);
	stream_closed(&stream);
	free(stream.message);
	control_destroy(c);
	quiesce_destroy(config.quiesce);
	return 0;
}
