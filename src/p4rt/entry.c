/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "p4rt/wire.h"

/* --- byte strings --- */

struct p4rt_bytes p4rt_canonical(const uint8_t *data, size_t length)
{
	while (length > 1 && *data == 0) {
		data++;
		length--;
	}
	return (struct p4rt_bytes){ data, length };
}

struct p4rt_bytes p4rt_number(uint64_t value, uint8_t storage[8])
{
	size_t n = value ? (size_t)(71 - __builtin_clzll(value)) / 8 : 1;

	for (size_t i = n; i > 0; i--, value >>= 8)
		storage[i - 1] = (uint8_t)value;
	return (struct p4rt_bytes){ storage, n };
}

static bool bytes_equal(struct p4rt_bytes a, struct p4rt_bytes b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* --- comparing --- */

static bool match_equal(const struct p4info_field *key, const struct p4rt_match *a, const struct p4rt_match *b)
{
	if (!a->value.data || !b->value.data)
		return !a->value.data && !b->value.data;
	if (!bytes_equal(a->value, b->value))
		return false;
	if (key->match == P4INFO_LPM)
		return a->prefix_bits == b->prefix_bits;
	return (key->match != P4INFO_TERNARY && key->match != P4INFO_RANGE) || bytes_equal(a->mask, b->mask);
}

bool p4rt_entry_same_key(const struct p4rt_entry *a, const struct p4rt_entry *b)
{
	if (a->table->is.id != b->table->is.id || a->priority != b->priority || a->is_default != b->is_default)
		return false;
	for (size_t i = 0; !a->is_default && i < a->table->keys_count; i++)
		if (!match_equal(&a->table->keys[i], &a->match[i], &b->match[i]))
			return false;
	return true;
}

bool p4rt_entry_equal(const struct p4rt_entry *a, const struct p4rt_entry *b)
{
	if (!p4rt_entry_same_key(a, b) || !a->action != !b->action)
		return false;
	if (!a->action)
		return true;
	if (a->action->is.id != b->action->is.id)
		return false;
	for (size_t i = 0; i < a->action->params_count; i++)
		if (!bytes_equal(a->params[i], b->params[i]))
			return false;
	return true;
}

/* FNV-1a, with a length before each string so that neighbours cannot trade bytes. */
static uint64_t hash_bytes(uint64_t h, const uint8_t *data, size_t length)
{
	h = (h ^ length) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < length; i++)
		h = (h ^ data[i]) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t p4rt_entry_key_hash(const struct p4rt_entry *entry)
{
	uint64_t h = (UINT64_C(0xcbf29ce484222325) ^ entry->table->is.id) * UINT64_C(0x100000001b3);

	h = (h ^ (uint64_t)(uint32_t)entry->priority ^ (uint64_t)entry->is_default << 32) * UINT64_C(0x100000001b3);
	for (size_t i = 0; !entry->is_default && i < entry->table->keys_count; i++) {
		const struct p4rt_match *m = &entry->match[i];

		h = hash_bytes(h, m->value.data, m->value.data ? m->value.length : 0);
		if (m->value.data && entry->table->keys[i].match == P4INFO_LPM)
			h = (h ^ m->prefix_bits) * UINT64_C(0x100000001b3);
		else if (m->value.data && entry->table->keys[i].match >= P4INFO_TERNARY && m->mask.data)
			h = hash_bytes(h, m->mask.data, m->mask.length);
	}
	/* the low bits of FNV mix well, the high ones less so */
	return h ^ h >> 29;
}

/*
 * --- encoding: backwards, from the last byte to the first ---
 * so that each length is known when its turn comes, and nothing is measured first. Fields come out in the order of
 * their numbers, zeros are left out: the same bytes as any protobuf library packs.
 */

static inline uint8_t *back_varint(uint8_t *at, uint64_t value)
{
	size_t n;

	if (value < 0x80) {
		*--at = (uint8_t)value;
		return at;
	}
	n = wire_varint_bytes(value);
	wire_put_varint(at - n, value);
	return at - n;
}

static inline uint8_t *back_number(uint8_t *at, uint8_t tag, uint64_t value)
{
	if (value == 0)
		return at;
	at = back_varint(at, value);
	*--at = tag;
	return at;
}

/* What lies between `at` and `end` becomes the content of a field. */
static inline uint8_t *back_length(uint8_t *at, const uint8_t *end, uint8_t tag)
{
	at = back_varint(at, (uint64_t)(end - at));
	*--at = tag;
	return at;
}

static inline uint8_t *back_bytes(uint8_t *at, uint8_t tag, struct p4rt_bytes bytes)
{
	if (bytes.length == 0)
		return at;
	at -= bytes.length;
	memcpy(at, bytes.data, bytes.length);
	at = back_varint(at, bytes.length);
	*--at = tag;
	return at;
}

#define TAG(NUMBER, TYPE) ((uint8_t)((NUMBER) << 3 | (TYPE)))

static uint8_t *back_match(uint8_t *at, const struct p4info_field *key, const struct p4rt_match *m)
{
	uint8_t *end = at, *inner = at;

	if (key->match == P4INFO_LPM)
		at = back_number(at, TAG(2, WIRE_VARINT), m->prefix_bits);
	else if (key->match == P4INFO_TERNARY || key->match == P4INFO_RANGE)
		at = back_bytes(at, TAG(2, WIRE_BYTES), m->mask);
	at = back_bytes(at, TAG(1, WIRE_BYTES), m->value);
	switch (key->match) {
	case P4INFO_EXACT:
		at = back_length(at, inner, TAG(2, WIRE_BYTES));
		break;
	case P4INFO_TERNARY:
		at = back_length(at, inner, TAG(3, WIRE_BYTES));
		break;
	case P4INFO_LPM:
		at = back_length(at, inner, TAG(4, WIRE_BYTES));
		break;
	case P4INFO_RANGE:
		at = back_length(at, inner, TAG(6, WIRE_BYTES));
		break;
	case P4INFO_OPTIONAL:
		at = back_length(at, inner, TAG(7, WIRE_BYTES));
		break;
	case P4INFO_MATCH_OTHER:
		TARE_ASSERT(!"p4rt_entry_check refuses such keys");
	}
	at = back_number(at, TAG(1, WIRE_VARINT), key->id);
	return back_length(at, end, TAG(2, WIRE_BYTES));
}

static uint8_t *back_action(uint8_t *at, const struct p4info_action *action, const struct p4rt_bytes *params)
{
	uint8_t *end = at;

	for (size_t i = action->params_count; i-- > 0;) {
		uint8_t *param_end = at;

		at = back_bytes(at, TAG(3, WIRE_BYTES), params[i]);
		at = back_number(at, TAG(2, WIRE_VARINT), action->params[i].id);
		at = back_length(at, param_end, TAG(4, WIRE_BYTES));
	}
	at = back_number(at, TAG(1, WIRE_VARINT), action->is.id);
	at = back_length(at, end, TAG(1, WIRE_BYTES)); /* TableAction.action */
	return back_length(at, end, TAG(3, WIRE_BYTES));
}

static uint8_t *back_entry(uint8_t *at, const struct p4rt_entry *e)
{
	at = back_number(at, TAG(8, WIRE_VARINT), e->is_default);
	at = back_number(at, TAG(4, WIRE_VARINT), (uint64_t)(int64_t)e->priority);
	if (e->action)
		at = back_action(at, e->action, e->params);
	for (size_t i = e->is_default ? 0 : e->table->keys_count; i-- > 0;)
		if (e->match[i].value.data)
			at = back_match(at, &e->table->keys[i], &e->match[i]);
	return back_number(at, TAG(1, WIRE_VARINT), e->table->is.id);
}

/* Not less than the entry takes: no tag and length here is over 6 bytes, no number over 10. */
static size_t entry_bound(const struct p4rt_entry *e)
{
	size_t bound = 64;

	for (size_t i = 0; !e->is_default && i < e->table->keys_count; i++)
		bound += e->match[i].value.length + e->match[i].mask.length + 48;
	for (size_t i = 0; e->action && i < e->action->params_count; i++)
		bound += e->params[i].length + 32;
	return bound;
}

size_t p4rt_entry_encode(const struct p4rt_entry *entry, uint8_t *buf, size_t size_bytes)
{
	uint8_t small[1024];
	size_t bound = entry_bound(entry), length;
	uint8_t *scratch = bound <= sizeof(small) ? small : malloc(bound);
	uint8_t *at;

	if (!scratch)
		return SIZE_MAX;
	at = back_entry(scratch + bound, entry);
	length = (size_t)(scratch + bound - at);
	if (length <= size_bytes)
		memcpy(buf, at, length);
	if (scratch != small)
		free(scratch);
	return length;
}

/* --- updates --- */

/* Room for `bound` more bytes and one more end. */
static int updates_reserve(struct p4rt_updates *u, size_t bound)
{
	int rc = vec_grow((void **)&u->bytes, &u->capacity_bytes, u->length_bytes + bound, 1);

	return rc < 0 ? rc : vec_grow((void **)&u->ends, &u->capacity, u->count + 1, sizeof(*u->ends));
}

/* The entity lies at [at, end) at the far end of the room: wrap it as an update, move it down to its place. */
static int updates_finish(struct p4rt_updates *u, enum p4rt_op op, uint8_t *at, const uint8_t *end, uint8_t entity_tag)
{
	at = back_length(at, end, entity_tag);
	at = back_length(at, end, TAG(2, WIRE_BYTES)); /* Update.entity */
	at = back_number(at, TAG(1, WIRE_VARINT), (uint64_t)op);
	at = back_length(at, end, TAG(4, WIRE_BYTES)); /* WriteRequest.updates */
	memmove(u->bytes + u->length_bytes, at, (size_t)(end - at));
	u->length_bytes += (size_t)(end - at);
	u->ends[u->count++] = u->length_bytes;
	return 0;
}

int p4rt_updates_add(struct p4rt_updates *updates, enum p4rt_op op, const struct p4rt_entry *entry)
{
	size_t bound = entry_bound(entry);
	uint8_t *end;
	int rc = updates_reserve(updates, bound);

	if (rc < 0)
		return rc;
	end = updates->bytes + updates->length_bytes + bound;
	return updates_finish(updates, op, back_entry(end, entry), end, TAG(2, WIRE_BYTES));
}

int p4rt_updates_add_register(struct p4rt_updates *updates, const struct p4info_object *reg, int64_t index,
			      struct p4rt_bytes value)
{
	size_t bound = 96 + value.length;
	uint8_t *end, *at, *part;
	int rc = updates_reserve(updates, bound);

	if (rc < 0)
		return rc;
	end = at = updates->bytes + updates->length_bytes + bound;
	at = back_bytes(at, TAG(1, WIRE_BYTES), value); /* P4Data.bitstring */
	at = back_length(at, end, TAG(3, WIRE_BYTES));
	part = at;
	at = back_number(at, TAG(1, WIRE_VARINT), (uint64_t)index);
	at = back_length(at, part, TAG(2, WIRE_BYTES));
	at = back_number(at, TAG(1, WIRE_VARINT), reg->is.id);
	return updates_finish(updates, P4RT_MODIFY, at, end, TAG(11, WIRE_BYTES));
}

/* MulticastGroupEntry (1) and CloneSessionEntry (2) of a PacketReplicationEngineEntry begin alike: id, then replicas. */
static int add_replicas(struct p4rt_updates *updates, enum p4rt_op op, uint32_t kind, uint32_t id,
			const uint32_t *ports, size_t ports_count)
{
	size_t bound = 96 + ports_count * 32;
	uint8_t *end, *at;
	int rc = updates_reserve(updates, bound);

	if (rc < 0)
		return rc;
	end = at = updates->bytes + updates->length_bytes + bound;
	for (size_t i = ports_count; i-- > 0;) {
		uint8_t *part = at;

		at = back_number(at, TAG(2, WIRE_VARINT), i + 1); /* instance */
		/* one of a oneof: sent though it be zero */
		at = back_varint(at, ports[i]);
		*--at = TAG(1, WIRE_VARINT);
		at = back_length(at, part, TAG(2, WIRE_BYTES));
	}
	at = back_number(at, TAG(1, WIRE_VARINT), id);
	at = back_length(at, end, (uint8_t)TAG(kind, WIRE_BYTES));
	return updates_finish(updates, op, at, end, TAG(9, WIRE_BYTES));
}

int p4rt_updates_add_multicast(struct p4rt_updates *updates, enum p4rt_op op, uint32_t group, const uint32_t *ports,
			       size_t ports_count)
{
	return add_replicas(updates, op, 1, group, ports, ports_count);
}

int p4rt_updates_add_clone(struct p4rt_updates *updates, enum p4rt_op op, uint32_t session, const uint32_t *ports,
			   size_t ports_count)
{
	return add_replicas(updates, op, 2, session, ports, ports_count);
}

void p4rt_updates_clear(struct p4rt_updates *updates)
{
	updates->length_bytes = 0;
	updates->count = 0;
}

void p4rt_updates_release(struct p4rt_updates *updates)
{
	free(updates->bytes);
	free(updates->ends);
	memset(updates, 0, sizeof(*updates));
}
