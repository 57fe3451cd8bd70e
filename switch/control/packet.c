/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/control_private.h"
#include "proto/p4data.pb-c.h"

/* Packets out and in, and digests, on the streams of the controllers. */

enum { FRAME_MOST_BYTES = 65535 + 4096 };

static bool is_primary(const struct client *client)
{
	return client->role != NULL && client->role->primary == client;
}

bool send_to_primaries(struct control *c, const P4__V1__StreamMessageResponse *message)
{
	bool sent = false;

	for (struct client *k = c->clients; k != NULL; k = k->next)
		if (is_primary(k))
			sent |= client_send(k, message);
	if (!sent)
		c->counters.dropped++;
	return sent;
}

/* --- out --- */

static void packet_error(struct client *client, const struct verdict *v)
{
	P4__V1__StreamMessageResponse message;
	P4__V1__StreamError error = P4__V1__STREAM_ERROR__INIT;
	P4__V1__PacketOutError out = P4__V1__PACKET_OUT_ERROR__INIT;

	p4__v1__stream_message_response__init(&message);
	message.update_case = P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_ERROR;
	message.error = &error;
	error.canonical_code = v->code;
	error.message = (char *)v->message;
	error.details_case = P4__V1__STREAM_ERROR__DETAILS_PACKET_OUT;
	error.packet_out = &out;
	client_send(client, &message);
}

/* The header that the program's parser expects from the CPU port. */
static int build_header(const struct name_packet_header *h, const P4__V1__PacketOut *packet, uint8_t *frame,
			struct verdict *v)
{
	size_t offset = 0;

	if (packet->n_metadata != h->count)
		return verdict(v, GRPC_INVALID_ARGUMENT, "packet-out: %zu metadata fields; packet_out has %u",
			       packet->n_metadata, h->count);
	for (uint32_t k = 0; k < h->count; k++) {
		const P4__V1__PacketMetadata *found = NULL;
		uint64_t words[SLOTS_A_VALUE_MOST];

		for (size_t i = 0; i < packet->n_metadata && found == NULL; i++)
			if (packet->metadata[i]->metadata_id == h->ids[k])
				found = packet->metadata[i];
		if (found == NULL)
			return verdict(v, GRPC_INVALID_ARGUMENT, "packet-out: metadata field %u is missing", h->ids[k]);
		if (bytes_to_words(found->value.data, found->value.len, h->bits[k], words) != BYTES_OK)
			return verdict(v, GRPC_INVALID_ARGUMENT, "packet-out: metadata field %u is no value of %u bits",
				       h->ids[k], h->bits[k]);
		bits_put(frame, offset, words, h->bits[k]);
		offset += h->bits[k];
	}
	return 0;
}

static int packet_out(struct control *c, struct client *client, const P4__V1__PacketOut *packet, struct verdict *v)
{
	const struct pipeline *p = c->running;
	const struct name_packet_header *h;
	uint8_t *frame;

	if (!is_primary(client))
		return verdict(v, GRPC_PERMISSION_DENIED, "packet-out: not the primary controller");
	if (p == NULL || p->names == NULL)
		return verdict(v, GRPC_FAILED_PRECONDITION, "packet-out: no forwarding pipeline runs");
	if (c->config.ops->packet_out == NULL)
		return verdict(v, GRPC_UNIMPLEMENTED, "packet-out: the switch has no CPU port");
	h = &p->names->packet_out;
	if (packet->payload.len + h->bytes > FRAME_MOST_BYTES)
		return verdict(v, GRPC_INVALID_ARGUMENT, "packet-out: %zu bytes are too many", packet->payload.len);
	frame = pool_array(&c->pool, 1, packet->payload.len + h->bytes);
	if (frame == NULL)
		return verdict(v, GRPC_RESOURCE_EXHAUSTED, "out of memory");
	if (build_header(h, packet, frame, v) < 0)
		return -1;
	if (packet->payload.len > 0)
		memcpy(frame + h->bytes, packet->payload.data, packet->payload.len);
	if (!c->config.ops->packet_out(c->config.context, frame, packet->payload.len + h->bytes))
		return verdict(v, GRPC_RESOURCE_EXHAUSTED, "packet-out: the switch takes no more now");
	c->counters.packet_outs++;
	return 0;
}

void packet_out_message(struct control *c, struct client *client, const P4__V1__PacketOut *packet)
{
	struct verdict v;

	if (packet_out(c, client, packet, &v) < 0)
		packet_error(client, &v);
}

/* --- in --- */

static int take_header(struct control *c, const struct name_packet_header *h, const uint8_t *frame,
		       P4__V1__PacketIn *to)
{
	size_t offset = 0;

	to->metadata = pool_pointers(&c->pool, h->count);
	if (to->metadata == NULL)
		return -1;
	for (uint32_t k = 0; k < h->count; k++) {
		P4__V1__PacketMetadata *m = POOL_NEW(&c->pool, P4__V1__PacketMetadata, P4__V1__PACKET_METADATA__INIT);
		uint64_t words[SLOTS_A_VALUE_MOST];

		bits_get(frame, offset, h->bits[k], words);
		offset += h->bits[k];
		if (m == NULL || encode_value(&c->pool, words, h->bits[k], false, &m->value) < 0)
			return -1;
		m->metadata_id = h->ids[k];
		to->metadata[to->n_metadata++] = m;
	}
	return 0;
}

bool control_packet_in(struct control *c, const uint8_t *frame, size_t length)
{
	P4__V1__StreamMessageResponse message;
	P4__V1__PacketIn packet = P4__V1__PACKET_IN__INIT;
	const struct pipeline *p = c->running;
	bool sent = false;

	if (p == NULL || p->names == NULL || length < p->names->packet_in.bytes) {
		c->counters.dropped++;
		return false;
	}
	p4__v1__stream_message_response__init(&message);
	message.update_case = P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_PACKET;
	message.packet = &packet;
	packet.payload.data = (uint8_t *)frame + p->names->packet_in.bytes;
	packet.payload.len = length - p->names->packet_in.bytes;
	if (take_header(c, &p->names->packet_in, frame, &packet) == 0)
		sent = send_to_primaries(c, &message);
	c->counters.packet_ins += sent;
	pool_reset(&c->pool);
	return sent;
}

/* --- digests --- */

static ProtobufCBinaryData pack_data(struct pool *pool, const P4__V1__P4Data *data)
{
	ProtobufCBinaryData packed = { 0, NULL };

	packed.data = pool_alloc(pool, p4__v1__p4_data__get_packed_size(data) + 1);
	if (packed.data != NULL)
		packed.len = p4__v1__p4_data__pack(data, packed.data);
	return packed;
}

static ProtobufCBinaryData pack_item(struct control *c, const struct program *program, const struct p4_list_item *item,
				     const uint64_t *memory)
{
	P4__V1__P4Data data;

	(void)program;
	p4__v1__p4_data__init(&data);
	data.data_case = P4__V1__P4_DATA__DATA_BITSTRING;
	if (encode_value(&c->pool, memory + item->slot, item->bits, false, &data.bitstring) < 0)
		return (ProtobufCBinaryData){ 0, NULL };
	return pack_data(&c->pool, &data);
}

static ProtobufCBinaryData pack_digest(struct control *c, const struct pipeline *p, uint32_t list,
				       const uint64_t *memory)
{
	const struct p4_learn_list *l = &p->program->learn_lists[list];
	P4__V1__P4StructLike members = P4__V1__P4_STRUCT_LIKE__INIT;
	P4__V1__P4Data data;

	if (p->names->digests[list].shape == DIGEST_BITS && l->item_count > 0)
		return pack_item(c, p->program, &l->items[0], memory);
	p4__v1__p4_data__init(&data);
	data.data_case = p->names->digests[list].shape == DIGEST_TUPLE ? P4__V1__P4_DATA__DATA_TUPLE
								       : P4__V1__P4_DATA__DATA_STRUCTURE;
	data.structure = &members; /* tuple is of the same type */
	members.members = pool_array(&c->pool, l->item_count, sizeof(*members.members));
	if (members.members == NULL)
		return (ProtobufCBinaryData){ 0, NULL };
	for (uint32_t i = 0; i < l->item_count; i++)
		members.members[members.n_members++] = pack_item(c, p->program, &l->items[i], memory);
	return pack_data(&c->pool, &data);
}

bool control_digest(struct control *c, uint32_t list, const uint64_t *memory)
{
	P4__V1__StreamMessageResponse message;
	P4__V1__DigestList digest = P4__V1__DIGEST_LIST__INIT;
	const struct pipeline *p = c->running;
	ProtobufCBinaryData data;
	struct timespec now;
	bool sent = false;

	if (p == NULL || p->names == NULL || list >= p->program->learn_list_count || !p->digests[list].wanted)
		return false;
	p4__v1__stream_message_response__init(&message);
	message.update_case = P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_DIGEST;
	message.digest = &digest;
	clock_gettime(CLOCK_REALTIME, &now);
	data = pack_digest(c, p, list, memory);
	digest.digest_id = p->names->digests[list].id;
	digest.list_id = ++c->next_list_id;
	digest.timestamp = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	digest.data = &data;
	digest.n_data = 1;
	if (data.data != NULL)
		sent = send_to_primaries(c, &message);
	c->counters.digests += sent;
	pool_reset(&c->pool);
	return sent;
}

/* Lists are sent once, each whole: there is nothing to send again or to hold back, so an ack is only checked. */
void digest_ack_message(struct control *c, struct client *client, const P4__V1__DigestListAck *ack)
{
	P4__V1__StreamMessageResponse message;
	P4__V1__StreamError error = P4__V1__STREAM_ERROR__INIT;
	P4__V1__DigestListAckError details = P4__V1__DIGEST_LIST_ACK_ERROR__INIT;

	if (c->running != NULL && c->running->names != NULL &&
	    names_find(c->running->names, NAME_DIGEST, ack->digest_id) != NOWHERE)
		return;
	p4__v1__stream_message_response__init(&message);
	message.update_case = P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_ERROR;
	message.error = &error;
	error.canonical_code = GRPC_INVALID_ARGUMENT;
	error.message = (char *)"there is no such digest";
	error.details_case = P4__V1__STREAM_ERROR__DETAILS_DIGEST_LIST_ACK;
	error.digest_list_ack = &details;
	client_send(client, &message);
}
