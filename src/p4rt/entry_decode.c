/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "p4rt/entry.h"
#include "p4rt/wire.h"

static int broken(struct err *err, const char *what)
{
	return err_set(err, ERR_RESULT, EPROTO, "an entry whose %s cannot be read", what);
}

static struct wire_cursor inside(const struct wire_field *f)
{
	return (struct wire_cursor){ f->data, f->data + f->length };
}

static int decode_match(struct wire_cursor c, struct p4rt_entry_storage *storage, struct p4rt_entry *e, struct err *err)
{
	/* the number of each kind within FieldMatch's oneof */
	static const uint8_t kinds[] = {
		[2] = P4INFO_EXACT, [3] = P4INFO_TERNARY, [4] = P4INFO_LPM, [6] = P4INFO_RANGE, [7] = P4INFO_OPTIONAL
	};
	struct p4rt_match m = { 0 };
	const struct p4info_field *key = e->table->keys;
	uint32_t id = 0;
	enum p4info_match kind = P4INFO_MATCH_OTHER;
	struct wire_field f, g;
	int got;

	while ((got = wire_next(&c, &f)) == 1) {
		struct wire_cursor in;

		if (f.id == 1 && f.type == WIRE_VARINT)
			id = (uint32_t)f.number;
		if (f.type != WIRE_BYTES || f.id >= sizeof(kinds) || !kinds[f.id])
			continue;
		kind = kinds[f.id];
		in = inside(&f);
		while ((got = wire_next(&in, &g)) == 1) {
			if (g.id == 1 && g.type == WIRE_BYTES)
				m.value = p4rt_canonical(g.data, g.length);
			else if (g.id == 2 && g.type == WIRE_BYTES)
				m.mask = p4rt_canonical(g.data, g.length);
			else if (g.id == 2 && g.type == WIRE_VARINT)
				m.prefix_bits = (uint32_t)g.number;
		}
		if (got < 0)
			return broken(err, "match");
	}
	if (got < 0)
		return broken(err, "match");
	while (key < e->table->keys + e->table->keys_count && key->id != id)
		key++;
	if (key == e->table->keys + e->table->keys_count || key->match != kind)
		return err_set(err, ERR_RESULT, EPROTO,
			       "an entry of table '%s' with field %u, which its P4Info has not", e->table->is.name, id);
	storage->match[key - e->table->keys] = m;
	return 0;
}

static int decode_param(struct wire_cursor c, const struct p4info_action *action, struct p4rt_entry_storage *storage,
			struct err *err)
{
	struct p4rt_bytes value = { 0 };
	uint32_t id = 0;
	struct wire_field f;
	int got;

	while ((got = wire_next(&c, &f)) == 1) {
		if (f.id == 2 && f.type == WIRE_VARINT)
			id = (uint32_t)f.number;
		else if (f.id == 3 && f.type == WIRE_BYTES)
			value = p4rt_canonical(f.data, f.length);
	}
	if (got < 0)
		return broken(err, "parameter");
	for (size_t i = 0; i < action->params_count; i++)
		if (action->params[i].id == id) {
			storage->params[i] = value;
			return 0;
		}
	return err_set(err, ERR_RESULT, EPROTO, "an entry whose action '%s' has parameter %u, which its P4Info has not",
		       action->is.name, id);
}

/* p4.v1.Action; its id may come after its parameters. */
static int decode_action(const struct p4info *info, struct wire_cursor c, struct p4rt_entry_storage *storage,
			 struct p4rt_entry *e, struct err *err)
{
	struct wire_cursor again = c;
	uint32_t id = 0;
	struct wire_field f;
	int got;

	while ((got = wire_next(&c, &f)) == 1)
		if (f.id == 1 && f.type == WIRE_VARINT)
			id = (uint32_t)f.number;
	if (got < 0)
		return broken(err, "action");
	e->action = p4info_action_by_id(info, id);
	if (!e->action)
		return err_set(err, ERR_RESULT, EPROTO,
			       "an entry of table '%s' with action %u, which its P4Info has not", e->table->is.name,
			       id);
	memset(storage->params, 0, e->action->params_count * sizeof(*storage->params));
	while (wire_next(&again, &f) == 1)
		if (f.id == 4 && f.type == WIRE_BYTES) {
			int rc = decode_param(inside(&f), e->action, storage, err);

			if (rc < 0)
				return rc;
		}
	for (size_t i = 0; i < e->action->params_count; i++)
		if (!storage->params[i].data)
			return err_set(err, ERR_RESULT, EPROTO, "an entry whose action '%s' lacks parameter '%s'",
				       e->action->is.name, e->action->params[i].name);
	return 0;
}

static int decode_field(const struct p4info *info, const struct wire_field *f, struct p4rt_entry_storage *storage,
			struct p4rt_entry *e, struct err *err)
{
	struct wire_cursor in;
	struct wire_field g;

	if (f->type == WIRE_VARINT && f->id == 4)
		e->priority = (int32_t)f->number;
	else if (f->type == WIRE_VARINT && f->id == 8)
		e->is_default = f->number != 0;
	else if (f->type == WIRE_BYTES && f->id == 2)
		return decode_match(inside(f), storage, e, err);
	if (f->type != WIRE_BYTES || f->id != 3)
		return 0;
	in = inside(f);
	while (wire_next(&in, &g) == 1)
		if (g.id == 1 && g.type == WIRE_BYTES)
			return decode_action(info, inside(&g), storage, e, err);
	return 0; /* a member or group of an action profile */
}

int p4rt_entry_decode(const struct p4info *info, const uint8_t *data, size_t length_bytes,
		      struct p4rt_entry_storage *storage, struct p4rt_entry *ret_entry, struct err *err)
{
	struct wire_cursor c = { data, data + length_bytes }, again = c;
	struct p4rt_entry e = { .match = storage->match, .params = storage->params };
	uint32_t table_id = 0;
	struct wire_field f;
	int got, rc = 0;

	while ((got = wire_next(&c, &f)) == 1)
		if (f.id == 1 && f.type == WIRE_VARINT)
			table_id = (uint32_t)f.number;
	if (got < 0)
		return broken(err, "fields");
	e.table = p4info_table_by_id(info, table_id);
	if (!e.table)
		return err_set(err, ERR_RESULT, EPROTO, "an entry of table %u, which its P4Info has not", table_id);
	memset(storage->match, 0, e.table->keys_count * sizeof(*storage->match));
	while (rc == 0 && wire_next(&again, &f) == 1)
		rc = decode_field(info, &f, storage, &e, err);
	if (rc == 0)
		*ret_entry = e;
	return rc;
}
