/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p4rt/client_private.h"
#include "p4rt/wire.h"

/* Numbers of p4.v1.Entity's oneof. */
enum { ENTITY_TABLE = 2, ENTITY_COUNTER = 6, ENTITY_DIRECT_COUNTER = 8, ENTITY_REGISTER = 11 };

struct reading {
	struct p4rt_client *client;
	struct p4rt_read entries;
	struct p4rt_read_cells cells;
	bool of_cells;
	size_t count;
	bool failed; /* an answer that cannot be understood; `err` says why */
	struct err err;
	struct p4rt_entry_storage storage;
};

static struct wire_cursor inside(const struct wire_field *f)
{
	return (struct wire_cursor){ f->data, f->data + f->length };
}

static void fail(struct reading *r, const char *what)
{
	err_set(&r->err, ERR_RESULT, EPROTO, "%s", what);
	r->failed = true;
}

/* --- answers --- */

static void table_entity(struct reading *r, const struct wire_field *f)
{
	struct p4rt_entry entry;

	if (p4rt_entry_decode(r->entries.info, f->data, f->length, &r->storage, &entry, &r->err) < 0) {
		r->failed = true;
		return;
	}
	r->count++;
	r->entries.entry(r->entries.user, &entry);
}

/* An Index or a CounterData: its varints by number. */
static bool varints(const struct wire_field *f, uint64_t ret[3])
{
	struct wire_cursor c = inside(f);
	struct wire_field g;
	int got;

	while ((got = wire_next(&c, &g)) == 1)
		if (g.type == WIRE_VARINT && g.id < 3)
			ret[g.id] = g.number;
	return got == 0;
}

/* CounterEntry, DirectCounterEntry, RegisterEntry: an id, an index, the data. */
static void cell_entity(struct reading *r, const struct wire_field *entity)
{
	uint32_t data_id = entity->id == ENTITY_DIRECT_COUNTER ? 2 : 3;
	struct wire_cursor c = inside(entity);
	uint64_t index[3] = { 0 }, data[3] = { 0 };
	struct p4rt_cell cell = { 0 };
	struct wire_field f, g;
	bool good = true;
	int got;

	while ((got = wire_next(&c, &f)) == 1) {
		if (f.type != WIRE_BYTES)
			continue;
		if (f.id == 2 && data_id == 3)
			good &= varints(&f, index);
		if (f.id != data_id)
			continue;
		if (entity->id == ENTITY_REGISTER) {
			struct wire_cursor in = inside(&f);

			while (wire_next(&in, &g) == 1)
				if (g.id == 1 && g.type == WIRE_BYTES)
					cell.value = p4rt_canonical(g.data, g.length);
		} else {
			good &= varints(&f, data);
		}
	}
	if (got < 0 || !good) {
		fail(r, "a cell that cannot be read");
		return;
	}
	cell.index = (int64_t)index[1];
	cell.bytes = (int64_t)data[1];
	cell.packets = (int64_t)data[2];
	r->count++;
	r->cells.cell(r->cells.user, &cell);
}

static void entity(struct reading *r, const struct wire_field *f)
{
	struct wire_cursor c = inside(f);
	struct wire_field g;
	int got = 0;

	while (!r->failed && (got = wire_next(&c, &g)) == 1) {
		if (g.type != WIRE_BYTES)
			continue;
		if (!r->of_cells && g.id == ENTITY_TABLE)
			table_entity(r, &g);
		else if (r->of_cells &&
			 (g.id == ENTITY_COUNTER || g.id == ENTITY_DIRECT_COUNTER || g.id == ENTITY_REGISTER))
			cell_entity(r, &g);
		else
			fail(r, "an entity of another kind than was asked for");
	}
	if (got < 0)
		fail(r, "an entity that cannot be read");
}

static void read_message(struct grpc_rpc *rpc, const uint8_t *data, size_t length_bytes)
{
	struct reading *r = grpc_rpc_user(rpc);
	struct wire_cursor c = { data, data + length_bytes };
	struct wire_field f;
	int got = 0;

	if (r->failed || r->client->destroying)
		return;
	while (!r->failed && (got = wire_next(&c, &f)) == 1)
		if (f.id == 1 && f.type == WIRE_BYTES)
			entity(r, &f);
	if (got < 0)
		fail(r, "the answer cannot be read");
	if (r->failed)
		grpc_rpc_cancel(rpc);
}

static void read_closed(struct grpc_rpc *rpc, int status, const char *message, const uint8_t *details,
			size_t details_bytes)
{
	struct reading *r = grpc_rpc_user(rpc);
	struct p4rt_result result = { status, message };

	(void)details;
	(void)details_bytes;
	if (r->failed)
		result = (struct p4rt_result){ GRPC_INTERNAL, r->err.message };
	if (r->of_cells)
		r->cells.done(r->cells.user, &result, r->count);
	else
		r->entries.done(r->entries.user, &result, r->count);
	free(r);
}

static const struct grpc_rpc_ops read_ops = { read_message, read_closed };

/* --- requests --- */

static uint8_t *put_number(uint8_t *at, uint32_t id, uint64_t value)
{
	if (value == 0)
		return at;
	at += wire_put_varint(at, (uint64_t)id << 3 | WIRE_VARINT);
	return at + wire_put_varint(at, value);
}

static uint8_t *put_bytes_header(uint8_t *at, uint32_t id, size_t length)
{
	at += wire_put_varint(at, (uint64_t)id << 3 | WIRE_BYTES);
	return at + wire_put_varint(at, length);
}

/* ReadRequest of one entity, whose content is given. Takes r. */
static int start(struct p4rt_client *client, struct reading *r, uint32_t entity_id, const uint8_t *content,
		 size_t length, int64_t deadline_ns)
{
	uint8_t head[48], *at = put_number(head, 1, client->config.device_id), tail[16], *t;
	struct grpc_rpc *rpc;
	uint8_t *to;

	t = put_bytes_header(tail, entity_id, length);
	at = put_bytes_header(at, 2, (size_t)(t - tail) + length);
	memcpy(at, tail, (size_t)(t - tail));
	at += t - tail;
	r->client = client;
	rpc = grpc_rpc_start(client->channel, "/p4.v1.P4Runtime/Read", &read_ops, r, deadline_ns);
	if (!rpc) {
		free(r);
		return -ENOMEM;
	}
	to = grpc_rpc_reserve(rpc, (size_t)(at - head) + length);
	if (!to) {
		grpc_rpc_cancel(rpc);
		return 0;
	}
	memcpy(to, head, (size_t)(at - head));
	memcpy(to + (at - head), content, length);
	grpc_rpc_commit(rpc);
	grpc_rpc_end(rpc);
	return 0;
}

int p4rt_client_read(struct p4rt_client *client, const struct p4rt_read *read)
{
	struct reading *r = client->destroying ? NULL : calloc(1, sizeof(*r));
	uint8_t small[1024], *content = small, *at = small;
	size_t length;
	int rc;

	if (!r)
		return client->destroying ? -ENOTCONN : -ENOMEM;
	r->entries = *read;
	if (read->single) {
		struct p4rt_entry key = *read->single;

		key.action = NULL;
		length = p4rt_entry_encode(&key, small, sizeof(small));
		if (length != SIZE_MAX && length > sizeof(small)) {
			content = malloc(length);
			if (content)
				p4rt_entry_encode(&key, content, length);
		}
		if (length == SIZE_MAX || !content) {
			free(r);
			return -ENOMEM;
		}
	} else {
		at = put_number(at, 1, read->table ? read->table->is.id : 0);
		length = (size_t)(at - small);
	}
	rc = start(client, r, ENTITY_TABLE, content, length, read->deadline_ns);
	if (content != small)
		free(content);
	return rc;
}

int p4rt_client_read_cells(struct p4rt_client *client, const struct p4rt_read_cells *read)
{
	struct reading *r = client->destroying ? NULL : calloc(1, sizeof(*r));
	uint8_t content[64], inner[16], *at = content, *in = inner;
	uint32_t id = ENTITY_COUNTER;

	if (!r)
		return client->destroying ? -ENOTCONN : -ENOMEM;
	r->cells = *read;
	r->of_cells = true;
	if (read->object->kind == P4INFO_DIRECT_COUNTER) {
		id = ENTITY_DIRECT_COUNTER;
		in = put_number(in, 1, read->object->direct_table);
		at = put_bytes_header(at, 1, (size_t)(in - inner));
		memcpy(at, inner, (size_t)(in - inner));
		at += in - inner;
	} else {
		TARE_ASSERT(read->object->kind == P4INFO_COUNTER || read->object->kind == P4INFO_REGISTER);
		id = read->object->kind == P4INFO_REGISTER ? ENTITY_REGISTER : ENTITY_COUNTER;
		at = put_number(at, 1, read->object->is.id);
		if (read->index >= 0) {
			in = put_number(in, 1, (uint64_t)read->index);
			at = put_bytes_header(at, 2, (size_t)(in - inner));
			memcpy(at, inner, (size_t)(in - inner));
			at += in - inner;
		}
	}
	return start(client, r, id, content, (size_t)(at - content), read->deadline_ns);
}
