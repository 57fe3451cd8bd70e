/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/client_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p4rt/wire.h"
#include "proto/p4runtime.pb-c.h"

static void client_start(struct p4rt_client *client);

/* --- state --- */

const char *p4rt_status_name(int status, char buf[32])
{
	const char *name = grpc_status_name(status);

	if (name)
		return name;
	snprintf(buf, 32, "status %d", status);
	return buf;
}

void p4rt_status_text(int status, const char *message, char *buf, size_t size_bytes)
{
	char name[32];

	snprintf(buf, size_bytes, "%s%s%s", p4rt_status_name(status, name), message && *message ? ": " : "",
		 message ? message : "");
}

static void state_set(struct p4rt_client *client, enum p4rt_state state, const char *why)
{
	client->state = state;
	snprintf(client->why, sizeof(client->why), "%s", why);
	if (client->config.state && !client->destroying)
		client->config.state(client, state, client->why);
}

static void went_down(struct p4rt_client *client, int status, const char *why)
{
	bool was_up = client->state == P4RT_PRIMARY || client->state == P4RT_BACKUP;

	client->stream = NULL;
	client->end_status = status;
	loop_timer_clear(client->loop, &client->timer);
	if (client->destroying)
		return;
	if (was_up) {
		client->losses++;
		client->reconnecting = client->config.reconnect_ns > 0;
	}
	if (client->reconnecting)
		loop_timer_set(client->loop, &client->timer, loop_now_ns() + client->config.reconnect_ns);
	state_set(client, P4RT_IDLE, why);
}

/* --- the stream --- */

static void on_arbitration(struct p4rt_client *client, const P4__V1__MasterArbitrationUpdate *a)
{
	int code = a->status ? a->status->code : GRPC_OK;
	enum p4rt_state state = code == GRPC_OK ? P4RT_PRIMARY : P4RT_BACKUP;
	char why[P4RT_WHY_BYTES] = "";

	loop_timer_clear(client->loop, &client->timer);
	if (state == P4RT_BACKUP) {
		char text[P4RT_WHY_BYTES / 2];

		p4rt_status_text(code, a->status->message, text, sizeof(text));
		if (a->election_id)
			snprintf(why, sizeof(why), "another client is primary, election id %llu:%llu (%s)",
				 (unsigned long long)a->election_id->high, (unsigned long long)a->election_id->low,
				 text);
		else
			snprintf(why, sizeof(why), "not primary (%s)", text);
	}
	if (state != client->state || strcmp(why, client->why) != 0)
		state_set(client, state, why);
}

static void on_packet(struct p4rt_client *client, const P4__V1__PacketIn *in)
{
	struct p4rt_metadata metadata[P4INFO_FIELDS_LIMIT];
	struct p4rt_packet packet = { .payload = { in->payload.data, in->payload.len }, .metadata = metadata };

	for (size_t i = 0; i < in->n_metadata && i < P4INFO_FIELDS_LIMIT; i++) {
		const P4__V1__PacketMetadata *m = in->metadata[i];

		metadata[packet.metadata_count++] =
			(struct p4rt_metadata){ m->metadata_id, { m->value.data, m->value.len } };
	}
	client->config.packet_in(client, &packet);
}

static void stream_message(struct grpc_rpc *rpc, const uint8_t *data, size_t length_bytes)
{
	struct p4rt_client *client = grpc_rpc_user(rpc);
	P4__V1__StreamMessageResponse *response;

	if (rpc != client->stream || client->destroying)
		return;
	response = p4__v1__stream_message_response__unpack(NULL, length_bytes, data);
	if (!response) {
		grpc_rpc_cancel(rpc);
		went_down(client, GRPC_INTERNAL, "the server sent a stream message that cannot be read");
		return;
	}
	if (response->update_case == P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_ARBITRATION)
		on_arbitration(client, response->arbitration);
	else if (response->update_case == P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_PACKET && client->config.packet_in)
		on_packet(client, response->packet);
	p4__v1__stream_message_response__free_unpacked(response, NULL);
}

static void stream_closed(struct grpc_rpc *rpc, int status, const char *message, const uint8_t *details,
			  size_t details_bytes)
{
	struct p4rt_client *client = grpc_rpc_user(rpc);
	char text[P4RT_WHY_BYTES], why[P4RT_WHY_BYTES + 64];

	(void)details;
	(void)details_bytes;
	if (rpc != client->stream)
		return;
	p4rt_status_text(status, message, text, sizeof(text));
	if ((status == GRPC_UNAVAILABLE || status == GRPC_UNAUTHENTICATED) && message[0])
		snprintf(why, sizeof(why), "%s", message);
	else if (client->state == P4RT_CONNECTING)
		snprintf(why, sizeof(why), "%s refused the arbitration: %s", client->address, text);
	else
		snprintf(why, sizeof(why), "%s ended the stream: %s", client->address, text);
	went_down(client, status == GRPC_OK ? GRPC_CANCELLED : status, why);
}

static const struct grpc_rpc_ops stream_ops = { stream_message, stream_closed };

static int stream_send(struct p4rt_client *client, const P4__V1__StreamMessageRequest *request)
{
	size_t length = p4__v1__stream_message_request__get_packed_size(request);
	uint8_t *to = grpc_rpc_reserve(client->stream, length);

	if (!to)
		return -ENOMEM;
	p4__v1__stream_message_request__pack(request, to);
	grpc_rpc_commit(client->stream);
	return 0;
}

static int arbitrate(struct p4rt_client *client)
{
	P4__V1__Uint128 election = P4__V1__UINT128__INIT;
	P4__V1__MasterArbitrationUpdate update = P4__V1__MASTER_ARBITRATION_UPDATE__INIT;
	P4__V1__StreamMessageRequest request = P4__V1__STREAM_MESSAGE_REQUEST__INIT;

	election.high = client->config.election_high;
	election.low = client->config.election_low;
	update.device_id = client->config.device_id;
	update.election_id = &election;
	request.update_case = P4__V1__STREAM_MESSAGE_REQUEST__UPDATE_ARBITRATION;
	request.arbitration = &update;
	return stream_send(client, &request);
}

int p4rt_client_packet_out(struct p4rt_client *client, const struct p4rt_packet *packet)
{
	P4__V1__PacketMetadata items[P4INFO_FIELDS_LIMIT], *pointers[P4INFO_FIELDS_LIMIT];
	P4__V1__PacketOut out = P4__V1__PACKET_OUT__INIT;
	P4__V1__StreamMessageRequest request = P4__V1__STREAM_MESSAGE_REQUEST__INIT;

	if (client->state != P4RT_PRIMARY || !client->stream)
		return -ENOTCONN;
	TARE_ASSERT(packet->metadata_count <= P4INFO_FIELDS_LIMIT);
	for (size_t i = 0; i < packet->metadata_count; i++) {
		items[i] = (P4__V1__PacketMetadata)P4__V1__PACKET_METADATA__INIT;
		items[i].metadata_id = packet->metadata[i].id;
		items[i].value = (ProtobufCBinaryData){ packet->metadata[i].value.length,
							(uint8_t *)packet->metadata[i].value.data };
		pointers[i] = &items[i];
	}
	out.payload = (ProtobufCBinaryData){ packet->payload.length, (uint8_t *)packet->payload.data };
	out.n_metadata = packet->metadata_count;
	out.metadata = pointers;
	request.update_case = P4__V1__STREAM_MESSAGE_REQUEST__UPDATE_PACKET;
	request.packet = &out;
	return stream_send(client, &request);
}

/* --- connecting --- */

static void on_timer(struct loop_timer *timer)
{
	struct p4rt_client *client = (struct p4rt_client *)((char *)timer - offsetof(struct p4rt_client, timer));
	char why[P4RT_WHY_BYTES];

	if (client->state == P4RT_IDLE) {
		client_start(client);
		return;
	}
	snprintf(why, sizeof(why), "%s did not answer the arbitration within %lld ms", client->address,
		 (long long)(client->config.connect_timeout_ns / 1000000));
	grpc_rpc_cancel(client->stream);
	went_down(client, GRPC_DEADLINE_EXCEEDED, why);
}

static void client_start(struct p4rt_client *client)
{
	loop_timer_set(client->loop, &client->timer, loop_now_ns() + client->config.connect_timeout_ns);
	state_set(client, P4RT_CONNECTING, "");
	client->stream = grpc_rpc_start(client->channel, "/p4.v1.P4Runtime/StreamChannel", &stream_ops, client, 0);
	if (client->stream && arbitrate(client) == 0)
		return;
	if (client->stream)
		grpc_rpc_cancel(client->stream);
	went_down(client, GRPC_RESOURCE_EXHAUSTED, "out of memory");
}

void p4rt_client_connect(struct p4rt_client *client)
{
	if (client->state == P4RT_IDLE)
		client_start(client);
}

/* WriteRequest up to its updates. */
static void prepare_prefix(struct p4rt_client *client)
{
	uint8_t *at = client->write_prefix, election[24];
	size_t n = 0;

	if (client->config.device_id) {
		*at++ = 1 << 3 | WIRE_VARINT;
		at += wire_put_varint(at, client->config.device_id);
	}
	if (client->config.election_high) {
		election[n++] = 1 << 3 | WIRE_VARINT;
		n += wire_put_varint(election + n, client->config.election_high);
	}
	if (client->config.election_low) {
		election[n++] = 2 << 3 | WIRE_VARINT;
		n += wire_put_varint(election + n, client->config.election_low);
	}
	*at++ = 3 << 3 | WIRE_BYTES;
	*at++ = (uint8_t)n;
	memcpy(at, election, n);
	client->write_prefix_bytes = (size_t)(at + n - client->write_prefix);
}

static int open_socket(void *user, int family, int type)
{
	const struct p4rt_client *client = user;

	return client->config.open_socket(client->config.user, family, type);
}

int p4rt_client_create(struct loop *loop, const struct p4rt_client_config *config, struct p4rt_client **ret_client,
		       struct err *err)
{
	struct p4rt_client *client = calloc(1, sizeof(*client));
	struct grpc_channel_config channel = { 0 };
	int rc;

	if (!client)
		return err_set(err, ERR_HOST, ENOMEM, "P4Runtime client: out of memory");
	client->loop = loop;
	client->config = *config;
	client->timer.fire = on_timer;
	client->address = strdup(config->address);
	if (!client->config.connect_timeout_ns)
		client->config.connect_timeout_ns = 5 * INT64_C(1000000000);
	if (!config->election_high && !config->election_low)
		client->config.election_low = 1;
	channel.address = config->address;
	channel.tls = config->tls;
	channel.connect_timeout_ns = client->config.connect_timeout_ns;
	channel.keepalive_ns = config->keepalive_ns;
	channel.message_limit_bytes = config->message_limit_bytes;
	channel.open_socket = config->open_socket ? open_socket : NULL;
	channel.user = client;
	rc = client->address ? grpc_channel_create(loop, &channel, &client->channel, err)
			     : err_set(err, ERR_HOST, ENOMEM, "P4Runtime client: out of memory");
	if (rc < 0) {
		free(client->address);
		free(client);
		return rc;
	}
	prepare_prefix(client);
	*ret_client = client;
	return 0;
}

void p4rt_client_destroy(struct p4rt_client *client)
{
	if (!client)
		return;
	client->destroying = true;
	loop_timer_clear(client->loop, &client->timer);
	p4rt_jobs_end(client);
	grpc_channel_destroy(client->channel);
	TARE_ASSERT(!client->jobs);
	free(client->address);
	free(client);
}

bool p4rt_client_up(const struct p4rt_client *client)
{
	return !client->destroying && (client->state == P4RT_PRIMARY || client->state == P4RT_BACKUP) &&
	       grpc_channel_get_state(client->channel) == GRPC_CHANNEL_READY;
}

enum p4rt_state p4rt_client_state(const struct p4rt_client *client)
{
	return client->state;
}

const char *p4rt_client_why(const struct p4rt_client *client)
{
	return client->why;
}

void *p4rt_client_user(const struct p4rt_client *client)
{
	return client->config.user;
}

const char *p4rt_client_address(const struct p4rt_client *client)
{
	return client->address;
}

struct loop *p4rt_client_loop(const struct p4rt_client *client)
{
	return client->loop;
}

unsigned p4rt_client_losses(const struct p4rt_client *client)
{
	return client->losses;
}
