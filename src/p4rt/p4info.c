/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/p4info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p4rt/file.h"
#include "p4rt/p4info_schema.h"
#include "p4rt/wire.h"
#include "proto/p4info.pb-c.h"

typedef P4__Config__V1__P4Info Info;
typedef P4__Config__V1__Preamble Preamble;

enum {
	INPUT_LIMIT_BYTES = 16 << 20,
	UNPACKED_LIMIT_BYTES = 256 << 20, /* a small message can ask for much */
	BITS_LIMIT = 1 << 16,
};

/* What turns the unpacked message into the model. */
struct maker {
	struct p4info *info;
	const char *where;
	struct err *err;
};

static int no_memory(struct maker *m)
{
	return err_set(m->err, ERR_HOST, ENOMEM, "%s: out of memory", m->where);
}

static void *array(struct maker *m, size_t count, size_t size)
{
	return arena_array(&m->info->arena, count, size);
}

static int name_of(struct maker *m, const char *what, const Preamble *p, struct p4info_name *ret)
{
	if (!p || !p->name || !p->name[0])
		return err_set(m->err, ERR_USAGE, EINVAL, "%s: %s without a name", m->where, what);
	if (p->id == 0)
		return err_set(m->err, ERR_USAGE, EINVAL, "%s: %s '%.128s' has no id", m->where, what, p->name);
	ret->id = p->id;
	ret->name = arena_strdup(&m->info->arena, p->name);
	ret->alias = p->alias && p->alias[0] ? arena_strdup(&m->info->arena, p->alias) : ret->name;
	return ret->name && ret->alias ? 0 : no_memory(m);
}

static int field_of(struct maker *m, const struct p4info_name *owner, uint32_t id, const char *name, int32_t bits,
		    struct p4info_field *ret)
{
	if (id == 0 || !name || !name[0])
		return err_set(m->err, ERR_USAGE, EINVAL, "%s: '%.128s' has a field without a name or id", m->where,
			       owner->name);
	if (bits < 0 || bits > BITS_LIMIT)
		return err_set(m->err, ERR_USAGE, EINVAL, "%s: '%.64s' of '%.128s' is %d bits wide; expected 0 to %d",
			       m->where, name, owner->name, bits, BITS_LIMIT);
	ret->id = id;
	ret->bits = (uint32_t)bits;
	ret->name = arena_strdup(&m->info->arena, name);
	return ret->name ? 0 : no_memory(m);
}

static int fields_check(struct maker *m, const struct p4info_name *owner, const struct p4info_field *fields,
			size_t count)
{
	if (count > P4INFO_FIELDS_LIMIT)
		return err_set(m->err, ERR_USAGE, EINVAL, "%s: '%.128s' has %zu fields; at most %d are supported",
			       m->where, owner->name, count, P4INFO_FIELDS_LIMIT);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (fields[i].id == fields[k].id || strcmp(fields[i].name, fields[k].name) == 0)
				return err_set(m->err, ERR_USAGE, EINVAL,
					       "%s: '%.128s' has two fields '%.64s' and '%.64s' with one id or name",
					       m->where, owner->name, fields[k].name, fields[i].name);
	return 0;
}

static int make_actions(struct maker *m, const Info *in)
{
	struct p4info_action *actions = array(m, in->n_actions, sizeof(*actions));

	m->info->actions = actions;
	m->info->actions_count = in->n_actions;
	for (size_t i = 0; actions && i < in->n_actions; i++) {
		const P4__Config__V1__Action *from = in->actions[i];
		struct p4info_field *params = array(m, from->n_params, sizeof(*params));
		int rc;

		if (!params)
			return no_memory(m);
		rc = name_of(m, "action", from->preamble, &actions[i].is);
		for (size_t k = 0; rc == 0 && k < from->n_params; k++)
			rc = field_of(m, &actions[i].is, from->params[k]->id, from->params[k]->name,
				      from->params[k]->bitwidth, &params[k]);
		if (rc == 0)
			rc = fields_check(m, &actions[i].is, params, from->n_params);
		if (rc < 0)
			return rc;
		actions[i].params = params;
		actions[i].params_count = from->n_params;
	}
	return actions ? 0 : no_memory(m);
}

static enum p4info_match match_of(const P4__Config__V1__MatchField *f)
{
	if (f->match_case != P4__CONFIG__V1__MATCH_FIELD__MATCH_MATCH_TYPE || (int)f->match_type < P4INFO_EXACT ||
	    (int)f->match_type > P4INFO_OPTIONAL)
		return P4INFO_MATCH_OTHER;
	return (enum p4info_match)f->match_type;
}

static int make_keys(struct maker *m, const P4__Config__V1__Table *from, struct p4info_table *table)
{
	struct p4info_field *keys = array(m, from->n_match_fields, sizeof(*keys));

	if (!keys)
		return no_memory(m);
	for (size_t k = 0; k < from->n_match_fields; k++) {
		const P4__Config__V1__MatchField *f = from->match_fields[k];
		int rc = field_of(m, &table->is, f->id, f->name, f->bitwidth, &keys[k]);

		if (rc < 0)
			return rc;
		keys[k].match = match_of(f);
		if (keys[k].match >= P4INFO_TERNARY)
			table->needs_priority = true;
	}
	table->keys = keys;
	table->keys_count = from->n_match_fields;
	return fields_check(m, &table->is, keys, from->n_match_fields);
}

static int make_refs(struct maker *m, const P4__Config__V1__Table *from, struct p4info_table *table)
{
	struct p4info_action_ref *refs = array(m, from->n_action_refs, sizeof(*refs));

	if (!refs)
		return no_memory(m);
	for (size_t k = 0; k < from->n_action_refs; k++) {
		refs[k].action = p4info_action_by_id(m->info, from->action_refs[k]->id);
		refs[k].in_entries = (int)from->action_refs[k]->scope != 2;
		refs[k].as_default = (int)from->action_refs[k]->scope != 1;
		if (!refs[k].action)
			return err_set(m->err, ERR_USAGE, EINVAL,
				       "%s: table '%.128s' refers to action %u, which is not there", m->where,
				       table->is.name, from->action_refs[k]->id);
	}
	table->actions = refs;
	table->actions_count = from->n_action_refs;
	return 0;
}

static int make_tables(struct maker *m, const Info *in)
{
	struct p4info_table *tables = array(m, in->n_tables, sizeof(*tables));

	m->info->tables = tables;
	m->info->tables_count = in->n_tables;
	for (size_t i = 0; tables && i < in->n_tables; i++) {
		const P4__Config__V1__Table *from = in->tables[i];
		int rc = name_of(m, "table", from->preamble, &tables[i].is);

		if (rc == 0)
			rc = make_keys(m, from, &tables[i]);
		if (rc == 0)
			rc = make_refs(m, from, &tables[i]);
		if (rc < 0)
			return rc;
		tables[i].size = from->size;
		tables[i].implementation_id = from->implementation_id;
		tables[i].is_const = from->is_const_table;
		tables[i].const_default = from->const_default_action_id != 0;
	}
	return tables ? 0 : no_memory(m);
}

/* The width of P4DataTypeSpec { bitstring { bit { bitwidth: W } } }; 0 for any other type. */
static uint32_t type_bits(ProtobufCBinaryData type)
{
	static const uint32_t path[] = { 1, 1 };
	struct wire_cursor c;
	struct wire_field f;
	uint32_t bits = 0;

	if (type.len == 0) /* its data may be NULL, to which nothing is added */
		return 0;
	c = (struct wire_cursor){ type.data, type.data + type.len };
	for (size_t i = 0; i < 2; i++) {
		bool found = false;

		while (!found && wire_next(&c, &f) == 1)
			found = f.id == path[i] && f.type == WIRE_BYTES;
		if (!found)
			return 0;
		c = (struct wire_cursor){ f.data, f.data + f.length };
	}
	while (wire_next(&c, &f) == 1)
		if (f.id == 1 && f.type == WIRE_VARINT && f.number <= BITS_LIMIT)
			bits = (uint32_t)f.number;
	return bits;
}

static int object(struct maker *m, enum p4info_kind kind, const char *what, const Preamble *p,
		  const struct p4info_object *of)
{
	struct p4info_object *to = (struct p4info_object *)&m->info->objects[m->info->objects_count++];

	*to = *of;
	to->kind = kind;
	return name_of(m, what, p, &to->is);
}

#define OBJECTS(TYPE, LIST, KIND, WHAT, ...)                                                                           \
	do {                                                                                                           \
		for (size_t i = 0; rc == 0 && i < in->n_##LIST; i++) {                                                 \
			const TYPE *from = in->LIST[i];                                                                \
			rc = object(m, KIND, WHAT, from->preamble, &(struct p4info_object){ __VA_ARGS__ });            \
		}                                                                                                      \
	} while (0)

static int make_objects(struct maker *m, const Info *in)
{
	size_t count = in->n_counters + in->n_direct_counters + in->n_meters + in->n_direct_meters + in->n_registers +
		       in->n_action_profiles + in->n_digests;
	int rc = 0;

	m->info->objects = array(m, count, sizeof(*m->info->objects));
	if (!m->info->objects)
		return no_memory(m);
	OBJECTS(P4__Config__V1__Counter, counters, P4INFO_COUNTER, "counter", .size = from->size,
		.unit = from->spec ? (uint32_t)from->spec->unit : 0);
	OBJECTS(P4__Config__V1__DirectCounter, direct_counters, P4INFO_DIRECT_COUNTER, "direct counter",
		.direct_table = from->direct_table_id, .unit = from->spec ? (uint32_t)from->spec->unit : 0);
	OBJECTS(P4__Config__V1__Meter, meters, P4INFO_METER, "meter", .size = from->size,
		.unit = from->spec ? (uint32_t)from->spec->unit : 0);
	OBJECTS(P4__Config__V1__DirectMeter, direct_meters, P4INFO_DIRECT_METER, "direct meter",
		.direct_table = from->direct_table_id, .unit = from->spec ? (uint32_t)from->spec->unit : 0);
	OBJECTS(P4__Config__V1__Register, registers, P4INFO_REGISTER, "register", .size = from->size,
		.bits = type_bits(from->type_spec));
	OBJECTS(P4__Config__V1__ActionProfile, action_profiles, P4INFO_ACTION_PROFILE, "action profile",
		.size = from->size);
	OBJECTS(P4__Config__V1__Digest, digests, P4INFO_DIGEST, "digest", .size = 0);
	return rc;
}

static int make_headers(struct maker *m, const Info *in)
{
	size_t count = in->n_controller_packet_metadata;
	struct p4info_header *headers = array(m, count, sizeof(*headers));

	m->info->headers = headers;
	m->info->headers_count = count;
	for (size_t i = 0; headers && i < count; i++) {
		const P4__Config__V1__ControllerPacketMetadata *from = in->controller_packet_metadata[i];
		struct p4info_field *fields = array(m, from->n_metadata, sizeof(*fields));
		int rc;

		if (!fields)
			return no_memory(m);
		rc = name_of(m, "packet header", from->preamble, &headers[i].is);
		for (size_t k = 0; rc == 0 && k < from->n_metadata; k++)
			rc = field_of(m, &headers[i].is, from->metadata[k]->id, from->metadata[k]->name,
				      from->metadata[k]->bitwidth, &fields[k]);
		if (rc == 0)
			rc = fields_check(m, &headers[i].is, fields, from->n_metadata);
		if (rc < 0)
			return rc;
		headers[i].fields = fields;
		headers[i].fields_count = from->n_metadata;
	}
	return headers ? 0 : no_memory(m);
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = (*(const struct p4info_name *const *)a)->id, y = (*(const struct p4info_name *const *)b)->id;

	return (x > y) - (x < y);
}

/* An id names one thing in the whole of P4Info, and so does a full name within its kind; ids are what the wire has. */
static int check_ids(struct maker *m)
{
	const struct p4info *info = m->info;
	size_t n = 0, count = info->tables_count + info->actions_count + info->objects_count + info->headers_count;
	const struct p4info_name **all = array(m, count, sizeof(const struct p4info_name *));

	if (!all)
		return no_memory(m);
	for (size_t i = 0; i < info->tables_count; i++)
		all[n++] = &info->tables[i].is;
	for (size_t i = 0; i < info->actions_count; i++)
		all[n++] = &info->actions[i].is;
	for (size_t i = 0; i < info->objects_count; i++)
		all[n++] = &info->objects[i].is;
	for (size_t i = 0; i < info->headers_count; i++)
		all[n++] = &info->headers[i].is;
	qsort(all, n, sizeof(struct p4info_name *), by_id);
	for (size_t i = 1; i < n; i++)
		if (all[i]->id == all[i - 1]->id)
			return err_set(m->err, ERR_USAGE, EINVAL, "%s: '%.128s' and '%.128s' have one id, %u", m->where,
				       all[i - 1]->name, all[i]->name, all[i]->id);
	return 0;
}

static void *arena_take(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static void arena_leave(void *arena, void *pointer)
{
	(void)arena;
	(void)pointer;
}

/* info->wire into the model. */
static int build(struct p4info *info, const char *where, struct err *err)
{
	struct maker m = { info, where, err };
	struct arena scratch;
	ProtobufCAllocator allocator = { arena_take, arena_leave, &scratch };
	Info *in;
	int rc;

	arena_init(&scratch, UNPACKED_LIMIT_BYTES);
	in = p4__config__v1__p4_info__unpack(&allocator, info->wire_bytes, info->wire);
	if (!in) {
		rc = err_set(err, ERR_USAGE, EINVAL, "%s: not P4Info", where);
	} else {
		info->arch = arena_strdup(&info->arena, in->pkg_info && in->pkg_info->arch ? in->pkg_info->arch : "");
		rc = info->arch ? make_actions(&m, in) : no_memory(&m);
		if (rc == 0)
			rc = make_tables(&m, in);
		if (rc == 0)
			rc = make_objects(&m, in);
		if (rc == 0)
			rc = make_headers(&m, in);
		if (rc == 0)
			rc = check_ids(&m);
	}
	arena_release(&scratch);
	return rc;
}

/* The wire form always holds bytes that no text does: the tag of an id, of a length. */
static bool is_text(const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)bytes[i] < '\t' || (bytes[i] > '\r' && bytes[i] < ' '))
			return false;
	return true;
}

static int take_wire(struct p4info *info, const char *bytes, size_t length, const char *where, struct err *err)
{
	uint8_t *wire = NULL, *copy;
	size_t count = length;

	if (is_text(bytes, length)) {
		int rc = textproto_encode(&p4info_schema, bytes, length, where, &wire, &count, err);

		if (rc < 0)
			return rc;
	}
	if (count == 0) {
		free(wire);
		return err_set(err, ERR_USAGE, EINVAL, "%s: holds no P4Info", where);
	}
	copy = arena_alloc(&info->arena, count);
	if (copy)
		memcpy(copy, wire ? wire : (const uint8_t *)bytes, count);
	free(wire);
	info->wire = copy;
	info->wire_bytes = count;
	return copy ? 0 : err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", where);
}

int p4info_parse(const char *bytes, size_t length_bytes, const char *where, struct p4info **ret_info, struct err *err)
{
	struct p4info *info;
	int rc;

	if (length_bytes > INPUT_LIMIT_BYTES)
		return err_set(err, ERR_USAGE, EFBIG, "%s: %zu bytes; P4Info may have %d", where, length_bytes,
			       INPUT_LIMIT_BYTES);
	info = calloc(1, sizeof(*info));
	if (!info)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", where);
	arena_init(&info->arena, 0);
	rc = take_wire(info, bytes, length_bytes, where, err);
	if (rc == 0)
		rc = build(info, where, err);
	if (rc < 0) {
		p4info_destroy(info);
		return rc;
	}
	*ret_info = info;
	return 0;
}

int p4info_read(const char *path, struct p4info **ret_info, struct err *err)
{
	size_t length;
	char *bytes;
	int rc = file_read(path, INPUT_LIMIT_BYTES, &bytes, &length, err);

	if (rc < 0)
		return rc;
	rc = p4info_parse(bytes, length, path, ret_info, err);
	free(bytes);
	return rc;
}

void p4info_destroy(struct p4info *info)
{
	if (!info)
		return;
	arena_release(&info->arena);
	free(info);
}
