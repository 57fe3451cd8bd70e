/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "proto/p4runtime.pb-c.h"

static void reply(struct grpc_call *call, const ProtobufCMessage *message)
{
	uint8_t *to = grpc_call_reserve(call, protobuf_c_message_get_packed_size(message));

	if (!to)
		return;
	protobuf_c_message_pack(message, to);
	grpc_call_commit(call);
}

static void reply_bytes(struct grpc_call *call, const char *bytes, size_t length)
{
	uint8_t *to = grpc_call_reserve(call, length);

	if (!to)
		return;
	memcpy(to, bytes, length);
	grpc_call_commit(call);
}

/* Bad in every message: a length beyond the end. */
static void reply_garbage(struct grpc_call *call)
{
	reply_bytes(call, "\x0a\x7f\x01", 3);
}

/* --- StreamChannel --- */

static void send_arbitration(struct fake *fake, struct grpc_call *call, uint64_t low)
{
	P4__V1__StreamMessageResponse response = P4__V1__STREAM_MESSAGE_RESPONSE__INIT;
	P4__V1__MasterArbitrationUpdate update = P4__V1__MASTER_ARBITRATION_UPDATE__INIT;
	P4__V1__Uint128 election = P4__V1__UINT128__INIT;
	P4__V1__Status status = P4__V1__STATUS__INIT;

	election.low = fake->primary_low;
	status.code = low == fake->primary_low ? GRPC_OK : GRPC_ALREADY_EXISTS;
	status.message = low == fake->primary_low ? (char *)"" : (char *)"you are backup";
	update.election_id = &election;
	update.status = &status;
	response.update_case = P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_ARBITRATION;
	response.arbitration = &update;
	reply(call, &response.base);
}

static void on_arbitration(struct fake *fake, struct grpc_call *call, uint64_t low)
{
	switch (fake->arbitration) {
	case FAKE_ELECTS:
		if (low > fake->primary_low)
			fake->primary_low = low;
		send_arbitration(fake, call, low);
		break;
	case FAKE_REFUSES:
		grpc_call_finish(call, GRPC_NOT_FOUND, "no such device", NULL, 0);
		break;
	case FAKE_SILENT:
		break;
	case FAKE_BABBLES:
		reply_garbage(call);
		break;
	}
}

static void stream_opened(struct grpc_call *call)
{
	struct fake *fake = grpc_call_context(call);

	fake->stream = call;
	fake->streams++;
}

static void stream_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	struct fake *fake = grpc_call_context(call);
	P4__V1__StreamMessageRequest *request = p4__v1__stream_message_request__unpack(NULL, length, data);

	if (request->update_case == P4__V1__STREAM_MESSAGE_REQUEST__UPDATE_ARBITRATION) {
		on_arbitration(fake, call, request->arbitration->election_id->low);
	} else if (request->packet->payload.len <= sizeof(fake->last_packet)) {
		fake->last_packet_bytes = request->packet->payload.len;
		memcpy(fake->last_packet, request->packet->payload.data, request->packet->payload.len);
	}
	p4__v1__stream_message_request__free_unpacked(request, NULL);
}

static void stream_closed(struct grpc_call *call)
{
	struct fake *fake = grpc_call_context(call);

	if (fake->stream == call)
		fake->stream = NULL;
}

void fake_end_stream(struct fake *fake)
{
	grpc_call_finish(fake->stream, GRPC_ABORTED, "bye", NULL, 0);
}

void fake_demote(struct fake *fake)
{
	fake->primary_low += 1000;
	send_arbitration(fake, fake->stream, 0);
}

void fake_packet_in(struct fake *fake, const char *payload)
{
	P4__V1__StreamMessageResponse response = P4__V1__STREAM_MESSAGE_RESPONSE__INIT;
	P4__V1__PacketMetadata metadata = P4__V1__PACKET_METADATA__INIT, *list[] = { &metadata };
	P4__V1__PacketIn packet = P4__V1__PACKET_IN__INIT;

	metadata.metadata_id = 1;
	metadata.value = (ProtobufCBinaryData){ 1, (uint8_t *)"\x05" };
	packet.payload = (ProtobufCBinaryData){ strlen(payload), (uint8_t *)payload };
	packet.n_metadata = 1;
	packet.metadata = list;
	response.update_case = P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_PACKET;
	response.packet = &packet;
	reply(fake->stream, &response.base);
}

/* --- Write --- */

/* A write that waits for its time. */
struct held {
	struct loop_timer timer;
	struct grpc_call *call;
	struct fake *fake;
	size_t count; /* updates */
	bool exists;  /* one of them did already */
	bool full;    /* or found no room */
};

/* Where the entry of this key stands; entries.count: nowhere. */
static size_t find_key(struct fake *fake, const P4__V1__TableEntry *entry)
{
	P4__V1__TableEntry key = *entry;
	uint8_t wanted[512], other[512];
	size_t length, i;

	key.action = NULL;
	length = p4__v1__table_entry__pack(&key, wanted);
	for (i = 0; i < fake->entries.count; i++) {
		P4__V1__TableEntry *kept;
		P4__V1__TableAction *action;
		size_t n;
		bool same;

		memcpy(&n, fake->entries.items[i], sizeof(n));
		kept = p4__v1__table_entry__unpack(NULL, n, fake->entries.items[i] + sizeof(n));
		action = kept->action;
		kept->action = NULL;
		same = p4__v1__table_entry__pack(kept, other) == length && memcmp(wanted, other, length) == 0;
		kept->action = action;
		p4__v1__table_entry__free_unpacked(kept, NULL);
		if (same)
			break;
	}
	return i;
}

static bool take_out(struct fake *fake, const P4__V1__TableEntry *entry)
{
	size_t i = find_key(fake, entry);

	if (i == fake->entries.count)
		return false;
	free(fake->entries.items[i]);
	fake->entries.items[i] = fake->entries.items[--fake->entries.count];
	return true;
}

static bool insert(struct fake *fake, const P4__V1__TableEntry *entry)
{
	size_t length = p4__v1__table_entry__get_packed_size(entry);
	uint8_t *bytes = malloc(sizeof(length) + length);

	memcpy(bytes, &length, sizeof(length));
	p4__v1__table_entry__pack(entry, bytes + sizeof(length));
	for (size_t i = 0; i < fake->entries.count; i++)
		if (memcmp(fake->entries.items[i], bytes, sizeof(length)) == 0 && /* as long, then the same */
		    memcmp(fake->entries.items[i], bytes, sizeof(length) + length) == 0) {
			free(bytes);
			return false;
		}
	if (vec_push(&fake->entries, bytes) < 0)
		abort();
	return true;
}

static void finish_details(struct grpc_call *call, size_t count, size_t cut)
{
	P4__V1__Status status = P4__V1__STATUS__INIT;
	P4__V1__Any *any = calloc(count, sizeof(*any)), **list = calloc(count, sizeof(P4__V1__Any *));
	P4__V1__Error good = P4__V1__ERROR__INIT, bad = P4__V1__ERROR__INIT;
	uint8_t good_bytes[64], bad_bytes[64], *bytes;
	size_t good_length, bad_length, length;

	bad.canonical_code = GRPC_RESOURCE_EXHAUSTED;
	bad.message = (char *)"table is full";
	good_length = p4__v1__error__pack(&good, good_bytes);
	bad_length = p4__v1__error__pack(&bad, bad_bytes);
	for (size_t i = 0; i < count; i++) {
		p4__v1__any__init(&any[i]);
		any[i].type_url = (char *)"type.googleapis.com/p4.v1.Error";
		any[i].value = i % 3 == 2 ? (ProtobufCBinaryData){ bad_length, bad_bytes }
					  : (ProtobufCBinaryData){ good_length, good_bytes };
		list[i] = &any[i];
	}
	status.code = GRPC_UNKNOWN;
	status.n_details = count;
	status.details = list;
	bytes = malloc(p4__v1__status__get_packed_size(&status));
	length = p4__v1__status__pack(&status, bytes);
	grpc_call_finish(call, GRPC_UNKNOWN, "some failed", bytes, length - cut);
	free(bytes);
	free(any);
	free(list);
}

static void answer_write(struct held *held)
{
	const P4__V1__WriteResponse response = P4__V1__WRITE_RESPONSE__INIT;
	struct fake *fake = held->fake;
	struct grpc_call *call = held->call;

	switch (fake->write) {
	case FAKE_NEVER:
		return;
	case FAKE_GARBAGE:
		reply_garbage(call);
		break;
	case FAKE_EMPTY:
		break;
	case FAKE_STATUS:
		grpc_call_finish(call, (enum grpc_status)fake->status, "as told", NULL, 0);
		return;
	case FAKE_DETAILS:
		finish_details(call, held->count, 0);
		return;
	case FAKE_FEWER_DETAILS:
		finish_details(call, held->count - 1, 0);
		return;
	case FAKE_BAD_DETAILS:
		finish_details(call, held->count, 1);
		return;
	default:
		if (held->full) {
			grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "table is full", NULL, 0);
			return;
		}
		if (held->exists) {
			grpc_call_finish(call, GRPC_ALREADY_EXISTS, "entry exists", NULL, 0);
			return;
		}
		reply(call, &response.base);
	}
	grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
}

static void held_end(struct loop_timer *timer)
{
	struct held *held = (struct held *)timer;

	held->fake->in_flight--;
	answer_write(held);
	grpc_call_unref(held->call);
	free(held);
}

static void apply(struct fake *fake, struct held *held, const P4__V1__Update *update)
{
	const P4__V1__TableEntry *entry = update->entity->table_entry;

	if (update->type == P4__V1__UPDATE__TYPE__DELETE)
		take_out(fake, entry);
	else if (update->type == P4__V1__UPDATE__TYPE__MODIFY) {
		if (take_out(fake, entry))
			insert(fake, entry);
	} else if (fake->room && fake->entries.count >= fake->room)
		held->full = true;
	else if (fake->forget_every == 0 || ++fake->inserts % fake->forget_every)
		held->exists |= !insert(fake, entry);
}

static void write_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	struct fake *fake = grpc_call_context(call);
	P4__V1__WriteRequest *request = p4__v1__write_request__unpack(NULL, length, data);
	struct held *held = calloc(1, sizeof(*held));

	if (!request || !held || request->n_updates == 0 || !request->election_id)
		abort();
	*held = (struct held){ .timer.fire = held_end, .call = call, .fake = fake, .count = request->n_updates };
	fake->writes++;
	fake->updates += (unsigned)request->n_updates;
	for (size_t i = 0; i < request->n_updates; i++) {
		const P4__V1__Entity *entity = request->updates[i]->entity;

		if (entity->entity_case == P4__V1__ENTITY__ENTITY_TABLE_ENTRY && fake->write == FAKE_ANSWERS)
			apply(fake, held, request->updates[i]);
	}
	p4__v1__write_request__free_unpacked(request, NULL);
	if (++fake->in_flight > fake->most_in_flight)
		fake->most_in_flight = fake->in_flight;
	grpc_call_ref(call);
	loop_timer_set(fake->loop, &held->timer, loop_now_ns() + fake->delay_ns);
	if (fake->writes == fake->die_at_write)
		loop_defer(fake->loop, &fake->die);
}

/* --- Read --- */

static void read_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	struct fake *fake = grpc_call_context(call);
	P4__V1__ReadRequest *request = p4__v1__read_request__unpack(NULL, length, data);
	uint32_t table = request->entities[0]->table_entry ? request->entities[0]->table_entry->table_id : 0;
	size_t end = fake->read == FAKE_HALF ? fake->entries.count / 2 : fake->entries.count;

	p4__v1__read_request__free_unpacked(request, NULL);
	if (fake->read == FAKE_NEVER)
		return;
	if (fake->read == FAKE_GARBAGE)
		reply_garbage(call);
	for (size_t i = 0; i < end; i++) {
		P4__V1__ReadResponse response = P4__V1__READ_RESPONSE__INIT;
		P4__V1__Entity entity, *list[] = { &entity };
		size_t n;

		p4__v1__entity__init(&entity);
		memcpy(&n, fake->entries.items[i], sizeof(n));
		entity.entity_case = P4__V1__ENTITY__ENTITY_TABLE_ENTRY;
		entity.table_entry = p4__v1__table_entry__unpack(NULL, n, fake->entries.items[i] + sizeof(n));
		response.n_entities = 1;
		response.entities = list;
		if (table == 0 || entity.table_entry->table_id == table)
			reply(call, &response.base);
		p4__v1__table_entry__free_unpacked(entity.table_entry, NULL);
	}
	grpc_call_finish(call, fake->read == FAKE_HALF ? GRPC_UNAVAILABLE : GRPC_OK, "half of it", NULL, 0);
}

/* --- pipeline --- */

static void set_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	const P4__V1__SetForwardingPipelineConfigResponse response =
		P4__V1__SET_FORWARDING_PIPELINE_CONFIG_RESPONSE__INIT;
	struct fake *fake = grpc_call_context(call);
	P4__V1__SetForwardingPipelineConfigRequest *request =
		p4__v1__set_forwarding_pipeline_config_request__unpack(NULL, length, data);

	if (!request || request->action != P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_COMMIT)
		abort();
	if (fake->pipeline == FAKE_STATUS) {
		grpc_call_finish(call, (enum grpc_status)fake->status, "it does not fit", NULL, 0);
	} else if (fake->pipeline == FAKE_EMPTY) {
		grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
	} else {
		free(fake->config);
		fake->config_bytes = p4__v1__forwarding_pipeline_config__get_packed_size(request->config);
		fake->config = malloc(fake->config_bytes);
		p4__v1__forwarding_pipeline_config__pack(request->config, fake->config);
		reply(call, &response.base);
		grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
	}
	p4__v1__set_forwarding_pipeline_config_request__free_unpacked(request, NULL);
}

static void get_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	P4__V1__GetForwardingPipelineConfigResponse response = P4__V1__GET_FORWARDING_PIPELINE_CONFIG_RESPONSE__INIT;
	struct fake *fake = grpc_call_context(call);

	(void)data;
	(void)length;
	if (fake->pipeline == FAKE_GARBAGE) {
		reply_garbage(call);
		grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
		return;
	}
	if (!fake->config) {
		grpc_call_finish(call, GRPC_FAILED_PRECONDITION, "no pipeline", NULL, 0);
		return;
	}
	response.config = p4__v1__forwarding_pipeline_config__unpack(NULL, fake->config_bytes, fake->config);
	reply(call, &response.base);
	grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
	p4__v1__forwarding_pipeline_config__free_unpacked(response.config, NULL);
}

static void capabilities_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	P4__V1__CapabilitiesResponse response = P4__V1__CAPABILITIES_RESPONSE__INIT;

	(void)data;
	(void)length;
	response.p4runtime_api_version = (char *)"1.4.0";
	reply(call, &response.base);
	grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
}

static const struct grpc_method methods[] = {
	{ .path = "/p4.v1.P4Runtime/StreamChannel",
	  .opened = stream_opened,
	  .message = stream_message,
	  .closed = stream_closed },
	{ .path = "/p4.v1.P4Runtime/Write", .unary_request = true, .message = write_message },
	{ .path = "/p4.v1.P4Runtime/Read", .unary_request = true, .message = read_message },
	{ .path = "/p4.v1.P4Runtime/SetForwardingPipelineConfig", .unary_request = true, .message = set_message },
	{ .path = "/p4.v1.P4Runtime/GetForwardingPipelineConfig", .unary_request = true, .message = get_message },
	{ .path = "/p4.v1.P4Runtime/Capabilities", .unary_request = true, .message = capabilities_message },
	{ .path = NULL },
};

/* --- life --- */

static void fake_revive(struct loop_timer *timer)
{
	struct fake *fake = (struct fake *)((char *)timer - offsetof(struct fake, revive));

	fake_start(fake, fake->loop);
}

static void fake_die(struct loop_deferred *deferred)
{
	struct fake *fake = (struct fake *)((char *)deferred - offsetof(struct fake, die));

	fake_stop(fake);
	if (fake->revive_ns)
		loop_timer_set(fake->loop, &fake->revive, loop_now_ns() + fake->revive_ns);
}

void fake_start(struct fake *fake, struct loop *loop)
{
	struct grpc_server_config config = {
		.address = fake->address, .methods = methods, .context = fake, .tls = fake->tls
	};
	static unsigned serial;
	struct err err;

	fake->loop = loop;
	fake->die.run = fake_die;
	fake->revive.fire = fake_revive;
	if (!fake->address[0])
		snprintf(fake->address, sizeof(fake->address), "unix:/tmp/p4rt-fake-%d-%u", getpid(), serial++);
	if (strncmp(fake->address, "unix:", 5) == 0)
		unlink(fake->address + strlen("unix:"));
	if (grpc_server_create(loop, &config, &fake->server, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		abort();
	}
}

void fake_stop(struct fake *fake)
{
	grpc_server_destroy(fake->server);
	fake->server = NULL;
	fake->primary_low = 0;
	if (strncmp(fake->address, "unix:", 5) == 0)
		unlink(fake->address + strlen("unix:"));
}

void fake_release(struct fake *fake)
{
	fake_stop(fake);
	for (size_t i = 0; i < fake->entries.count; i++)
		free(fake->entries.items[i]);
	free(fake->entries.items);
	free(fake->config);
}
