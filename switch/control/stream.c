/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "control/control_private.h"

/* StreamChannel: who may change things, and the road of packets and digests. */

bool client_send(struct client *client, const P4__V1__StreamMessageResponse *message)
{
	uint8_t *out;

	if (grpc_call_queued_bytes(client->call) > STREAM_QUEUE_BYTES)
		return false;
	out = grpc_call_reserve(client->call, p4__v1__stream_message_response__get_packed_size(message));
	if (out == NULL)
		return false;
	p4__v1__stream_message_response__pack(message, out);
	grpc_call_commit(client->call);
	return true;
}

/* --- arbitration --- */

static int compare(uint64_t a_high, uint64_t a_low, uint64_t b_high, uint64_t b_low)
{
	if (a_high != b_high)
		return a_high < b_high ? -1 : 1;
	return a_low < b_low ? -1 : a_low > b_low;
}

static struct role *find_role(const struct control *c, const char *name, uint64_t id)
{
	for (unsigned i = 0; i < c->role_count; i++)
		if (c->roles[i].id == id && strcmp(c->roles[i].name, name) == 0)
			return (struct role *)&c->roles[i];
	return NULL;
}

static struct role *need_role(struct control *c, const char *name, uint64_t id)
{
	struct role *role = find_role(c, name, id);

	if (role != NULL || c->role_count == ROLES_MOST)
		return role;
	role = &c->roles[c->role_count];
	*role = (struct role){ .name = strdup(name), .id = id };
	if (role->name == NULL)
		return NULL;
	c->role_count++;
	return role;
}

/* How things stand, to one controller of the role. */
static void advise(const struct control *c, struct client *client)
{
	P4__V1__StreamMessageResponse message;
	P4__V1__MasterArbitrationUpdate update = P4__V1__MASTER_ARBITRATION_UPDATE__INIT;
	P4__V1__Role role = P4__V1__ROLE__INIT;
	P4__V1__Uint128 election = P4__V1__UINT128__INIT;
	P4__V1__Status status = P4__V1__STATUS__INIT;
	const struct role *r = client->role;

	p4__v1__stream_message_response__init(&message);
	message.update_case = P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_ARBITRATION;
	message.arbitration = &update;
	update.device_id = c->config.device_id;
	update.status = &status;
	if (r->name[0] != '\0' || r->id != 0) {
		role.name = r->name;
		role.id = r->id;
		update.role = &role;
	}
	if (r->has_past) {
		election.high = r->past_high;
		election.low = r->past_low;
		update.election_id = &election;
	}
	if (r->primary == client) {
		status.code = GRPC_OK;
	} else {
		status.code = r->primary != NULL ? GRPC_ALREADY_EXISTS : GRPC_NOT_FOUND;
		status.message = (char *)(r->primary != NULL ? "another controller is primary" : "there is no primary");
	}
	client_send(client, &message);
}

/* All of a role, the new primary last: the others have heard before it begins. */
static void advise_all(const struct control *c, const struct role *role)
{
	for (struct client *k = c->clients; k != NULL; k = k->next)
		if (k->role == role && role->primary != k)
			advise(c, k);
	if (role->primary != NULL)
		advise(c, role->primary);
}

static void end_stream(struct client *client, int code, const char *message)
{
	grpc_call_finish(client->call, (enum grpc_status)code, message, NULL, 0);
}

static bool election_taken(const struct control *c, const struct client *client, const struct role *role,
			   const P4__V1__Uint128 *election)
{
	for (const struct client *k = c->clients; k != NULL; k = k->next)
		if (k != client && k->role == role && k->has_election &&
		    compare(k->high, k->low, election->high, election->low) == 0)
			return true;
	return false;
}

/* The specification's rules of 5.3, in its order. False: the stream has been ended. */
static bool accept(struct control *c, struct client *client, const P4__V1__MasterArbitrationUpdate *m)
{
	const char *name = m->role != NULL ? m->role->name : "";
	uint64_t id = m->role != NULL ? m->role->id : 0;
	struct role *role;

	if (m->device_id != c->config.device_id) {
		end_stream(client, client->role != NULL ? GRPC_FAILED_PRECONDITION : GRPC_NOT_FOUND,
			   "there is no such device");
		return false;
	}
	if (client->role != NULL && client->role != find_role(c, name, id)) {
		end_stream(client, GRPC_FAILED_PRECONDITION, "a stream keeps its role");
		return false;
	}
	if (m->role != NULL && m->role->config != NULL) {
		end_stream(client, GRPC_INVALID_ARGUMENT,
			   "role configurations are not known here: a role has full access");
		return false;
	}
	role = need_role(c, name, id);
	if (role == NULL) {
		end_stream(client, GRPC_RESOURCE_EXHAUSTED, "too many roles");
		return false;
	}
	if (m->election_id != NULL && election_taken(c, client, role, m->election_id)) {
		end_stream(client, GRPC_INVALID_ARGUMENT, "another controller has this election id");
		return false;
	}
	client->role = role;
	client->has_election = m->election_id != NULL;
	client->high = m->election_id != NULL ? m->election_id->high : 0;
	client->low = m->election_id != NULL ? m->election_id->low : 0;
	return true;
}

static void arbitrate(struct control *c, struct client *client, const P4__V1__MasterArbitrationUpdate *m)
{
	struct role *role;

	if (!accept(c, client, m))
		return;
	role = client->role;
	if (client->has_election &&
	    (!role->has_past || compare(client->high, client->low, role->past_high, role->past_low) >= 0)) {
		role->primary = client;
		role->has_past = true;
		role->past_high = client->high;
		role->past_low = client->low;
		advise_all(c, role);
	} else if (role->primary == client) {
		role->primary = NULL; /* it has stepped down */
		advise_all(c, role);
	} else {
		advise(c, client);
	}
}

int check_device(const struct control *c, uint64_t device_id, struct verdict *v)
{
	if (device_id == c->config.device_id)
		return 0;
	return verdict(v, GRPC_NOT_FOUND, "there is no device %llu; this is %llu", (unsigned long long)device_id,
		       (unsigned long long)c->config.device_id);
}

int stream_check_primary(const struct control *c, uint64_t device_id, const char *role_name, uint64_t role_id,
			 const P4__V1__Uint128 *election, struct verdict *v)
{
	const struct role *role = find_role(c, role_name, role_id);

	if (check_device(c, device_id, v) < 0)
		return -1;
	if (role == NULL && (role_name[0] != '\0' || role_id != 0))
		return verdict(v, GRPC_NOT_FOUND, "there is no role '%.100s'", role_name);
	if (role == NULL || role->primary == NULL || election == NULL ||
	    compare(election->high, election->low, role->primary->high, role->primary->low) != 0)
		return verdict(v, GRPC_PERMISSION_DENIED, "not the primary controller");
	return 0;
}

/* --- the stream --- */

void stream_opened(struct grpc_call *call)
{
	struct control *c = grpc_call_context(call);
	struct client *client = c->client_count < CLIENTS_MOST ? calloc(1, sizeof(*client)) : NULL;

	if (client == NULL) {
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many controllers", NULL, 0);
		return;
	}
	client->call = call;
	client->next = c->clients;
	client->previous = &c->clients;
	if (c->clients != NULL)
		c->clients->previous = &client->next;
	c->clients = client;
	c->client_count++;
	grpc_call_set_user(call, client);
}

void stream_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	struct control *c = grpc_call_context(call);
	struct client *client = grpc_call_user(call);
	const P4__V1__StreamMessageRequest *m =
		p4__v1__stream_message_request__unpack(&c->pool.allocator, length, data);

	if (client == NULL)
		return;
	if (m == NULL) {
		end_stream(client, GRPC_INVALID_ARGUMENT, "not a StreamMessageRequest");
	} else if (m->update_case == P4__V1__STREAM_MESSAGE_REQUEST__UPDATE_ARBITRATION) {
		arbitrate(c, client, m->arbitration);
	} else if (m->update_case == P4__V1__STREAM_MESSAGE_REQUEST__UPDATE_PACKET) {
		packet_out_message(c, client, m->packet);
	} else if (m->update_case == P4__V1__STREAM_MESSAGE_REQUEST__UPDATE_DIGEST_ACK) {
		digest_ack_message(c, client, m->digest_ack);
	} else {
		P4__V1__StreamMessageResponse message;
		P4__V1__StreamError error = P4__V1__STREAM_ERROR__INIT;
		P4__V1__StreamOtherError other = P4__V1__STREAM_OTHER_ERROR__INIT;

		p4__v1__stream_message_response__init(&message);
		message.update_case = P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_ERROR;
		message.error = &error;
		error.canonical_code = GRPC_UNIMPLEMENTED;
		error.message = (char *)"messages of this kind are not known";
		error.details_case = P4__V1__STREAM_ERROR__DETAILS_OTHER;
		error.other = &other;
		client_send(client, &message);
	}
	control_collect(c);
}

void stream_half_closed(struct grpc_call *call)
{
	grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
}

void stream_closed(struct grpc_call *call)
{
	struct control *c = grpc_call_context(call);
	struct client *client = grpc_call_user(call);
	struct role *role;

	if (client == NULL)
		return;
	role = client->role;
	*client->previous = client->next;
	if (client->next != NULL)
		client->next->previous = client->previous;
	c->client_count--;
	if (role != NULL && role->primary == client) {
		role->primary = NULL; /* none until some controller asks anew */
		advise_all(c, role);
	}
	free(client);
}
