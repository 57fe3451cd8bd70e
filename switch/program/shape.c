/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

/* Header types, headers, stacks, unions, errors, and where standard metadata lies. */

enum { HEADER_BITS_MOST = 1 << 20 };

static int count_array(struct build *b, const char *key, const json_t **ret, uint32_t *ret_count)
{
	int rc = js_array(b->root, key, "the program", ret, b->err);

	if (rc < 0)
		return rc;
	if (json_array_size(*ret) > OBJECTS_MOST)
		return err_set(b->err, ERR_USAGE, E2BIG, "'%s' has %zu elements; at most %d are expected", key,
			       json_array_size(*ret), OBJECTS_MOST);
	*ret_count = (uint32_t)json_array_size(*ret);
	return 0;
}

static int load_types(struct build *b)
{
	const json_t *types, *fields;
	const char *name;
	uint32_t count;
	int rc = count_array(b, "header_types", &types, &count);

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		json_t *type = json_array_get(types, i);

		rc = js_string(type, "name", "a header type", &name, b->err);
		if (rc == 0)
			rc = js_array(type, "fields", name, &fields, b->err);
		if (rc == 0 && json_object_get(b->header_types, name))
			return err_set(b->err, ERR_USAGE, EINVAL, "two header types are named '%s'", name);
		if (rc == 0 && json_object_set(b->header_types, name, type) < 0)
			return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	}
	return rc;
}

static int load_field(struct build *b, const json_t *type, const json_t *json, struct p4_header *h, struct p4_field *f,
		      uint32_t *slot)
{
	const char *name = json_string_value(json_array_get(json, 0));
	const json_t *width = json_array_get(json, 1);
	json_int_t max_bytes = json_integer_value(json_object_get(type, "max_length"));

	if (!name || !(json_is_integer(width) || (json_is_string(width) && strcmp(json_string_value(width), "*") == 0)))
		return js_refuse(type, b->err, "header '%s': a field is expected as [name, bits, signed]", h->name);
	f->name = arena_printf(&b->p->arena, "%s.%s", h->name, name);
	if (!f->name)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	f->offset_bits = h->bits;
	f->slot = *slot;
	f->is_signed = json_is_true(json_array_get(json, 2));
	if (json_is_string(width)) {
		if (h->variable != NOWHERE || max_bytes < 1 || max_bytes > 65535)
			return js_refuse(type, b->err,
					 "header '%s': one field of variable length and a max_length of "
					 "1 to 65535 bytes are expected",
					 h->name);
		f->is_variable = true;
		f->bits = (uint32_t)max_bytes * 8; /* the fixed part comes off when all fields are known */
		f->slots = 1 + slots_for(f->bits);
		h->variable = (uint32_t)(f - b->p->fields);
	} else {
		json_int_t bits = json_integer_value(width);

		if (bits < 1 || bits > SLOTS_A_VALUE_MOST * 64)
			return js_refuse(type, b->err,
					 "field '%s' has %" JSON_INTEGER_FORMAT " bits; 1 to %d are expected", f->name,
					 bits, SLOTS_A_VALUE_MOST * 64);
		f->bits = (uint32_t)bits;
		f->slots = slots_for(f->bits);
		h->bits += f->bits;
	}
	*slot += f->slots;
	if (h->bits > HEADER_BITS_MOST || *slot > MEMORY_MOST)
		return js_refuse(type, b->err, "header '%s' is too large", h->name);
	return 0;
}

static uint32_t count_fields(struct build *b, const json_t *headers)
{
	uint32_t total = 0;

	for (size_t i = 0; i < json_array_size(headers); i++) {
		const char *type = json_string_value(json_object_get(json_array_get(headers, i), "header_type"));

		if (type)
			total += (uint32_t)json_array_size(
				json_object_get(json_object_get(b->header_types, type), "fields"));
		if (total > OBJECTS_MOST * 10)
			break;
	}
	return total;
}

static int load_header(struct build *b, const json_t *json, uint32_t index, uint32_t *next_field, uint32_t *slot)
{
	struct program *p = b->p;
	struct p4_header *h = &p->headers[index];
	const json_t *type, *fields;
	const char *type_name;
	int rc = js_string(json, "name", "a header", &h->name, b->err);

	if (rc == 0)
		rc = js_string(json, "header_type", h->name, &type_name, b->err);
	if (rc < 0)
		return rc;
	h->name = arena_strdup(&p->arena, h->name);
	type = json_object_get(b->header_types, type_name);
	if (!type || !h->name)
		return js_refuse(json, b->err, "header '%s' is of type '%s', which there is not", h->name, type_name);
	h->type = (uint32_t)json_integer_value(json_object_get(type, "id"));
	h->is_metadata = js_flag(json, "metadata");
	h->stack = h->stack_index = h->group = h->variable = NOWHERE;
	h->first_field = *next_field;
	h->slot = (*slot)++;
	fields = json_object_get(type, "fields");
	for (size_t i = 0; rc == 0 && i < json_array_size(fields); i++, ++*next_field) {
		struct p4_field *f = &p->fields[*next_field];

		f->header = index;
		rc = load_field(b, type, json_array_get(fields, i), h, f, slot);
		if (rc == 0)
			rc = build_name(b, b->fields, f->name, *next_field, "field");
		h->field_count++;
	}
	if (rc < 0)
		return rc;
	h->slots = *slot - h->slot;
	if (h->variable != NOWHERE) {
		struct p4_field *f = &p->fields[h->variable];

		f->bits = f->bits > h->bits ? f->bits - h->bits : 0;
	}
	if (!h->is_metadata && h->bits % 8)
		return js_refuse(type, b->err, "header '%s' has %u bits; a multiple of 8 is expected", h->name,
				 h->bits);
	return build_name(b, b->headers, h->name, index, "header");
}

static int load_headers(struct build *b)
{
	struct program *p = b->p;
	uint32_t next_field = 0, slot = 0;
	const json_t *headers;
	int rc = count_array(b, "headers", &headers, &p->header_count);

	if (rc < 0)
		return rc;
	p->field_count = count_fields(b, headers);
	p->headers = arena_array(&p->arena, p->header_count + 1, sizeof(*p->headers));
	p->fields = arena_array(&p->arena, p->field_count + 1, sizeof(*p->fields));
	if (!p->headers || !p->fields || p->field_count > OBJECTS_MOST * 10)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; rc == 0 && i < p->header_count; i++)
		rc = load_header(b, json_array_get(headers, i), i, &next_field, &slot);
	p->packet_slots = slot;
	return rc;
}

/* Header ids of the JSON are not indices: find the header by its id. */
static uint32_t header_by_id(const struct build *b, const json_t *id)
{
	const json_t *headers = json_object_get(b->root, "headers");

	for (uint32_t i = 0; json_is_integer(id) && i < b->p->header_count; i++)
		if (json_integer_value(json_object_get(json_array_get(headers, i), "id")) == json_integer_value(id))
			return i;
	return NOWHERE;
}

static int load_stack(struct build *b, const json_t *json, struct p4_stack *s, uint32_t index)
{
	const json_t *ids;
	int rc = js_string(json, "name", "a header stack", &s->name, b->err);

	if (rc == 0)
		rc = js_array(json, "header_ids", s->name, &ids, b->err);
	if (rc < 0)
		return rc;
	s->name = arena_strdup(&b->p->arena, s->name);
	s->count = (uint32_t)json_array_size(ids);
	s->next_slot = b->p->packet_slots++;
	if (!s->count || !s->name)
		return js_refuse(json, b->err, "header stack '%s' is empty", s->name);
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t h = header_by_id(b, json_array_get(ids, i));

		if (i == 0)
			s->first_header = h;
		/* the interpreter walks a stack by stride, so its headers must follow each other and be alike */
		if (h == NOWHERE || h != s->first_header + i ||
		    b->p->headers[h].type != b->p->headers[s->first_header].type || b->p->headers[h].stack != NOWHERE)
			return js_refuse(json, b->err,
					 "header stack '%s': its headers are expected to be of one type and "
					 "declared one after the other",
					 s->name);
		b->p->headers[h].stack = index;
		b->p->headers[h].stack_index = i;
	}
	return build_name(b, b->stacks, s->name, index, "header stack");
}

static int load_union(struct build *b, const json_t *json, struct p4_union *u, uint32_t index)
{
	const json_t *ids;
	int rc = js_string(json, "name", "a header union", &u->name, b->err);

	if (rc == 0)
		rc = js_array(json, "header_ids", u->name, &ids, b->err);
	if (rc < 0)
		return rc;
	u->name = arena_strdup(&b->p->arena, u->name);
	u->stack = u->stack_index = NOWHERE;
	u->header_count = (uint32_t)json_array_size(ids);
	u->headers = arena_array(&b->p->arena, u->header_count + 1, sizeof(*u->headers));
	if (!u->headers || !u->name)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < u->header_count; i++) {
		u->headers[i] = header_by_id(b, json_array_get(ids, i));
		if (u->headers[i] == NOWHERE || b->p->headers[u->headers[i]].group != NOWHERE)
			return js_refuse(json, b->err, "header union '%s': member %u is no header of its own", u->name,
					 i);
		b->p->headers[u->headers[i]].group = index;
	}
	return build_name(b, b->unions, u->name, index, "header union");
}

static int load_union_stack(struct build *b, const json_t *json, struct p4_stack *s, uint32_t index)
{
	const json_t *ids, *all = json_object_get(b->root, "header_unions");
	int rc = js_string(json, "name", "a stack of header unions", &s->name, b->err);

	if (rc == 0)
		rc = js_array(json, "header_union_ids", s->name, &ids, b->err);
	if (rc < 0)
		return rc;
	s->name = arena_strdup(&b->p->arena, s->name);
	s->count = (uint32_t)json_array_size(ids);
	s->first_header = NOWHERE;
	s->next_slot = b->p->packet_slots++;
	s->unions = arena_array(&b->p->arena, s->count + 1, sizeof(*s->unions));
	if (!s->unions || !s->name)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < s->count; i++) {
		json_int_t id = json_integer_value(json_array_get(ids, i));

		s->unions[i] = NOWHERE;
		for (uint32_t k = 0; k < b->p->union_count; k++)
			if (json_integer_value(json_object_get(json_array_get(all, k), "id")) == id)
				s->unions[i] = k;
		if (s->unions[i] == NOWHERE || b->p->unions[s->unions[i]].stack != NOWHERE ||
		    b->p->unions[s->unions[i]].header_count != b->p->unions[s->unions[0]].header_count)
			return js_refuse(json, b->err, "stack of header unions '%s': element %u is no union of its own",
					 s->name, i);
		b->p->unions[s->unions[i]].stack = index;
		b->p->unions[s->unions[i]].stack_index = i;
	}
	return build_name(b, b->stacks, s->name, index, "header stack");
}

static int load_stacks(struct build *b)
{
	struct program *p = b->p;
	const json_t *stacks, *unions = json_object_get(b->root, "header_unions");
	const json_t *union_stacks = json_object_get(b->root, "header_union_stacks");
	uint32_t plain;
	int rc = count_array(b, "header_stacks", &stacks, &plain);

	if (rc < 0)
		return rc;
	p->union_count = (uint32_t)json_array_size(unions);
	p->stack_count = plain + (uint32_t)json_array_size(union_stacks);
	p->stacks = arena_array(&p->arena, p->stack_count + 1, sizeof(*p->stacks));
	p->unions = arena_array(&p->arena, p->union_count + 1, sizeof(*p->unions));
	if (!p->stacks || !p->unions)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; rc == 0 && i < plain; i++)
		rc = load_stack(b, json_array_get(stacks, i), &p->stacks[i], i);
	for (uint32_t i = 0; rc == 0 && i < p->union_count; i++)
		rc = load_union(b, json_array_get(unions, i), &p->unions[i], i);
	for (uint32_t i = plain; rc == 0 && i < p->stack_count; i++)
		rc = load_union_stack(b, json_array_get(union_stacks, i - plain), &p->stacks[i], i);
	return rc;
}

static int load_errors(struct build *b)
{
	static const struct {
		const char *name;
		size_t offset;
		uint32_t fallback; /* the number it has in core.p4, where the program lists none */
	} known[] = {
		{ "NoError", offsetof(struct p4_errors, none), 0 },
		{ "PacketTooShort", offsetof(struct p4_errors, packet_too_short), 1 },
		{ "NoMatch", offsetof(struct p4_errors, no_match), 2 },
		{ "StackOutOfBounds", offsetof(struct p4_errors, stack_out_of_bounds), 3 },
		{ "HeaderTooShort", offsetof(struct p4_errors, header_too_short), 4 },
		{ "ParserTimeout", offsetof(struct p4_errors, parser_timeout), 5 },
		{ "ParserInvalidArgument", offsetof(struct p4_errors, parser_invalid_argument), 6 },
	};
	const json_t *errors = json_object_get(b->root, "errors");

	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		uint32_t *at = (uint32_t *)((char *)&b->p->errors + known[k].offset);

		*at = known[k].fallback;
		for (size_t i = 0; i < json_array_size(errors); i++) {
			const char *name = json_string_value(json_array_get(json_array_get(errors, i), 0));

			if (name && strcmp(name, known[k].name) == 0)
				*at = (uint32_t)json_integer_value(json_array_get(json_array_get(errors, i), 1));
		}
	}
	return 0;
}

static uint32_t standard_slot(const struct build *b, const char *header, const char *field)
{
	const json_t *aliases = json_object_get(b->root, "field_aliases");
	char name[256];
	uint32_t index;

	snprintf(name, sizeof(name), "%s.%s", header, field);
	for (size_t i = 0; i < json_array_size(aliases); i++) {
		const json_t *alias = json_array_get(aliases, i);
		const char *from = json_string_value(json_array_get(alias, 0));
		const json_t *to = json_array_get(alias, 1);

		if (from && strcmp(from, name) == 0 && json_string_value(json_array_get(to, 0)) &&
		    json_string_value(json_array_get(to, 1))) {
			snprintf(name, sizeof(name), "%s.%s", json_string_value(json_array_get(to, 0)),
				 json_string_value(json_array_get(to, 1)));
			break;
		}
	}
	index = build_find(b->fields, name);
	if (index == NOWHERE) {
		snprintf(name, sizeof(name), "standard_metadata.%s", field);
		index = build_find(b->fields, name);
	}
	return index == NOWHERE || b->p->fields[index].slots != 1 ? NOWHERE : b->p->fields[index].slot;
}

static int load_standard(struct build *b)
{
	struct p4_standard *s = &b->p->standard;

	s->ingress_port = standard_slot(b, "standard_metadata", "ingress_port");
	s->egress_spec = standard_slot(b, "standard_metadata", "egress_spec");
	s->egress_port = standard_slot(b, "standard_metadata", "egress_port");
	s->instance_type = standard_slot(b, "standard_metadata", "instance_type");
	s->packet_length = standard_slot(b, "standard_metadata", "packet_length");
	s->parser_error = standard_slot(b, "standard_metadata", "parser_error");
	s->checksum_error = standard_slot(b, "standard_metadata", "checksum_error");
	s->ingress_timestamp = standard_slot(b, "intrinsic_metadata", "ingress_global_timestamp");
	s->egress_timestamp = standard_slot(b, "intrinsic_metadata", "egress_global_timestamp");
	s->mcast_grp = standard_slot(b, "intrinsic_metadata", "mcast_grp");
	s->egress_rid = standard_slot(b, "intrinsic_metadata", "egress_rid");
	s->priority = standard_slot(b, "intrinsic_metadata", "priority");
	s->enq_timestamp = standard_slot(b, "queueing_metadata", "enq_timestamp");
	s->enq_qdepth = standard_slot(b, "queueing_metadata", "enq_qdepth");
	s->deq_timedelta = standard_slot(b, "queueing_metadata", "deq_timedelta");
	s->deq_qdepth = standard_slot(b, "queueing_metadata", "deq_qdepth");
	s->qid = standard_slot(b, "queueing_metadata", "qid");
	if (s->ingress_port == NOWHERE || s->egress_spec == NOWHERE || s->egress_port == NOWHERE)
		return err_set(b->err, ERR_USAGE, EINVAL,
			       "the program has no standard_metadata with ingress_port, egress_spec and egress_port: "
			       "it is not for v1model");
	return 0;
}

int load_shape(struct build *b)
{
	int rc = load_types(b);

	if (rc == 0)
		rc = load_headers(b);
	if (rc == 0)
		rc = load_stacks(b);
	if (rc == 0)
		rc = load_errors(b);
	if (rc == 0)
		rc = load_standard(b);
	return rc;
}
