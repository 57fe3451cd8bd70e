/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

/* The code of actions: one function a primitive, one row a name. */

struct call {
	struct build *b;
	const json_t *json;   /* the primitive, for its place */
	const json_t *params; /* array */
};

static const json_t *param(const struct call *c, size_t i)
{
	return json_array_get(c->params, i);
}

static const json_t *param_value(const struct call *c, size_t i)
{
	return json_object_get(param(c, i), "value");
}

static bool param_is(const struct call *c, size_t i, const char *type)
{
	const char *have = json_string_value(json_object_get(param(c, i), "type"));

	return have && strcmp(have, type) == 0;
}

static int slot_param(struct call *c, size_t i, uint32_t *ret)
{
	return expression_slot(c->b, param(c, i), c->json, ret);
}

static int object_param(struct call *c, size_t i, const char *type, const json_t *map, uint32_t *ret)
{
	const char *name = json_string_value(param_value(c, i));

	*ret = name && param_is(c, i, type) ? build_find(map, name) : NOWHERE;
	if (*ret == NOWHERE)
		return js_refuse(c->json, c->b->err, "there is no %s '%s'", type, name ? name : "(no name)");
	return 0;
}

static int header_param(struct call *c, size_t i, uint32_t *ret)
{
	if (!param_is(c, i, "header"))
		return js_refuse(c->json, c->b->err, "a header is expected as parameter %zu", i);
	return header_reference(c->b, param_value(c, i), c->json, ret);
}

/* A field of at most 64 bits to be written, as the slot and the width that cuts it. */
static int target_field(struct call *c, size_t i, const struct p4_field **ret)
{
	uint32_t field, slot;
	int rc;

	if (!param_is(c, i, "field"))
		return js_refuse(c->json, c->b->err, "a field is expected as parameter %zu", i);
	rc = field_reference(c->b, param_value(c, i), c->json, &field, &slot);
	if (rc == 0 && (field == NOWHERE || c->b->p->fields[field].is_variable))
		return js_refuse(c->json, c->b->err, "parameter %zu cannot be written", i);
	if (rc == 0)
		*ret = &c->b->p->fields[field];
	return rc;
}

static void cut(struct build *b, const struct p4_field *f)
{
	if (f->slots == 1 && (f->bits < 64 || f->is_signed))
		emit(b, f->is_signed ? OP_SEXT : OP_ZEXT, f->bits, f->slot, f->slot, 0);
	else if (f->slots > 1)
		emit(b, f->is_signed ? OPW_SEXT : OPW_ZEXT, f->slots, f->slot, 0, f->bits);
}

/* --- assignments --- */

/* stack[expression].field = value */
static int assign_element(struct call *c)
{
	struct build *b = c->b;
	const json_t *target = param(c, 0), *left;
	const struct p4_header *first;
	const struct p4_field *f;
	uint32_t stack, index, temp;
	json_int_t member;
	struct value v;
	int rc;

	while (json_object_get(target, "value") && !json_object_get(target, "op"))
		target = json_object_get(target, "value");
	left = json_object_get(target, "left");
	member = json_integer_value(json_object_get(target, "right"));
	if (!is_stack_element(left))
		return js_refuse(c->json, b->err, "this cannot be assigned to");
	rc = stack_element(b, left, c->json, &stack, &index);
	if (rc < 0)
		return rc;
	first = &b->p->headers[b->p->stacks[stack].first_header];
	if (member < 0 || member >= (json_int_t)first->field_count)
		return js_refuse(c->json, b->err, "the headers of '%s' have no field number %" JSON_INTEGER_FORMAT,
				 b->p->stacks[stack].name, member);
	f = &b->p->fields[first->first_field + member];
	if (f->is_variable)
		return js_refuse(c->json, b->err, "'%s' has a variable length and cannot be assigned to", f->name);
	rc = expression(b, param(c, 1), c->json, f->bits, &v);
	temp = rc == 0 ? temp_take(b, f->slots) : NOWHERE;
	if (rc == 0 && temp == NOWHERE)
		return -E2BIG;
	if (rc == 0)
		rc = assign(b, temp, f->bits, f->is_signed, &v);
	if (rc < 0)
		return rc;
	emit(b, OP_STORE_AT, f->slots, f->slot, temp, index);
	emit(b, OP_STORE_AT, 0, 0, first->slots, b->p->stacks[stack].count);
	return 0;
}

static int assign_field(struct call *c)
{
	const struct p4_field *f;
	struct value v;
	int rc;

	if (param_is(c, 0, "expression"))
		return assign_element(c);
	rc = target_field(c, 0, &f);
	if (rc == 0)
		rc = expression(c->b, param(c, 1), c->json, f->bits, &v);
	return rc < 0 ? rc : assign(c->b, f->slot, f->bits, f->is_signed, &v);
}

static int assign_variable(struct call *c)
{
	uint32_t fields[2], slot;

	for (size_t i = 0; i < 2; i++) {
		int rc = field_reference(c->b, param_value(c, i), c->json, &fields[i], &slot);

		if (rc < 0)
			return rc;
		if (fields[i] == NOWHERE || !c->b->p->fields[fields[i]].is_variable)
			return js_refuse(c->json, c->b->err, "assign_VL: two fields of variable length are expected");
	}
	emit(c->b, OP_COPY_VARIABLE, 0, fields[0], fields[1], 0);
	return 0;
}

/* header = stack.last */
static int assign_last(struct call *c, const char *name)
{
	struct build *b = c->b;
	uint32_t to, stack = build_find(b->stacks, name), index = temp_take(b, 1);
	int rc = header_param(c, 0, &to);

	if (rc < 0)
		return rc;
	if (index == NOWHERE)
		return -E2BIG;
	if (stack == NOWHERE || b->p->stacks[stack].unions ||
	    b->p->headers[b->p->stacks[stack].first_header].type != b->p->headers[to].type)
		return js_refuse(c->json, b->err, "there is no stack '%s' of headers like '%s'", name,
				 b->p->headers[to].name);
	emit(b, OP_STACK_NEXT, 0, index, stack, 0);
	emit(b, OP_SUB, 0, index, index, constant_u64(b, 1));
	emit(b, OP_HEADER_AT, HEADER_AT_COPY_FROM, stack, index, to);
	return 0;
}

/* The stack's name in {"type": "stack_field", "value": [stack, "last"]}, or NULL. */
static const char *last_of_stack(const json_t *json)
{
	const json_t *value = json_object_get(json, "value");
	const char *type = json_string_value(json_object_get(value, "type"));
	const json_t *names = json_object_get(value, "value");
	const char *last = json_string_value(json_array_get(names, 1));

	return type && strcmp(type, "stack_field") == 0 && last && strcmp(last, "last") == 0
		       ? json_string_value(json_array_get(names, 0))
		       : NULL;
}

static int assign_header(struct call *c)
{
	struct build *b = c->b;
	const char *last = last_of_stack(param(c, 1));
	bool to_element = is_stack_element(param(c, 0)), from_element = is_stack_element(param(c, 1));
	uint32_t to, from, stack, index;
	int rc;

	if (last && !to_element)
		return assign_last(c, last);
	if (to_element && from_element)
		return js_refuse(c->json, b->err,
				 "a copy between two stack elements, both by computed index, is not supported");
	rc = to_element ? 0 : header_param(c, 0, &to);
	if (rc == 0 && !from_element)
		rc = header_param(c, 1, &from);
	if (rc < 0)
		return rc;
	if (!to_element && !from_element) {
		if (b->p->headers[to].type != b->p->headers[from].type)
			return js_refuse(c->json, b->err, "'%s' and '%s' are of different types",
					 b->p->headers[to].name, b->p->headers[from].name);
		emit(b, OP_COPY_HEADER, 0, to, from, 0);
		return 0;
	}
	rc = stack_element(b, param(c, to_element ? 0 : 1), c->json, &stack, &index);
	if (rc < 0)
		return rc;
	if (b->p->headers[b->p->stacks[stack].first_header].type != b->p->headers[to_element ? from : to].type)
		return js_refuse(c->json, b->err, "the two headers are of different types");
	emit(b, OP_HEADER_AT, to_element ? HEADER_AT_COPY_TO : HEADER_AT_COPY_FROM, stack, index,
	     to_element ? from : to);
	return 0;
}

static int assign_stack(struct call *c)
{
	const struct p4_stack *to, *from;
	uint32_t a, b;
	int rc = object_param(c, 0, "header_stack", c->b->stacks, &a);

	if (rc == 0)
		rc = object_param(c, 1, "header_stack", c->b->stacks, &b);
	if (rc < 0)
		return rc;
	to = &c->b->p->stacks[a];
	from = &c->b->p->stacks[b];
	if (to->unions || from->unions || to->count != from->count ||
	    c->b->p->headers[to->first_header].type != c->b->p->headers[from->first_header].type)
		return js_refuse(c->json, c->b->err, "'%s' and '%s' are stacks of different kinds", to->name,
				 from->name);
	emit(c->b, OP_COPY_STACK, 0, a, b, 0);
	return 0;
}

static int assign_union(struct call *c)
{
	const struct p4_union *to, *from;
	uint32_t a, b;
	int rc = object_param(c, 0, "header_union", c->b->unions, &a);

	if (rc == 0)
		rc = object_param(c, 1, "header_union", c->b->unions, &b);
	if (rc < 0)
		return rc;
	to = &c->b->p->unions[a];
	from = &c->b->p->unions[b];
	for (uint32_t i = 0; i < to->header_count || i < from->header_count; i++)
		if (to->header_count != from->header_count ||
		    c->b->p->headers[to->headers[i]].type != c->b->p->headers[from->headers[i]].type)
			return js_refuse(c->json, c->b->err, "'%s' and '%s' are unions of different types", to->name,
					 from->name);
	emit(c->b, OP_COPY_UNION, 0, a, b, 0);
	return 0;
}

/* --- headers --- */

static int validity(struct call *c, bool add)
{
	uint32_t header, stack, index;
	int rc;

	if (is_stack_element(param(c, 0))) {
		rc = stack_element(c->b, param(c, 0), c->json, &stack, &index);
		if (rc == 0)
			emit(c->b, OP_HEADER_AT, add ? HEADER_AT_ADD : HEADER_AT_REMOVE, stack, index, 0);
		return rc;
	}
	rc = header_param(c, 0, &header);
	if (rc == 0)
		emit(c->b, add ? OP_ADD_HEADER : OP_REMOVE_HEADER, 0, header, 0, 0);
	return rc;
}

static int add_header(struct call *c)
{
	return validity(c, true);
}

static int remove_header(struct call *c)
{
	return validity(c, false);
}

static int push_pop(struct call *c, enum op op)
{
	const char *text = json_string_value(param_value(c, 1));
	uint64_t count;
	uint32_t stack, bits;
	bool negative;
	int rc = object_param(c, 0, "header_stack", c->b->stacks, &stack);

	if (rc < 0)
		return rc;
	if (!text || js_hex(text, &count, 1, &bits, &negative) < 0 || negative || count > 0xffff)
		return js_refuse(c->json, c->b->err, "a stack is pushed and popped by a constant of at most 65535");
	if (c->b->p->stacks[stack].unions)
		return js_refuse(c->json, c->b->err, "pushing and popping a stack of unions is not supported");
	emit(c->b, op, (uint32_t)count, stack, 0, 0);
	return 0;
}

static int push(struct call *c)
{
	return push_pop(c, OP_PUSH);
}

static int pop(struct call *c)
{
	return push_pop(c, OP_POP);
}

/* --- the packet's way --- */

static int mark_to_drop(struct call *c)
{
	emit(c->b, OP_DROP, 0, 0, 0, 0);
	return 0;
}

static int exit_control(struct call *c)
{
	emit(c->b, OP_EXIT, 0, 0, 0, 0);
	return 0;
}

static int no_op(struct call *c)
{
	(void)c;
	return 0;
}

static int clone(struct call *c, enum clone_kind kind)
{
	uint32_t session, list;
	int rc = slot_param(c, 0, &session);

	if (rc == 0)
		rc = slot_param(c, 1, &list);
	if (rc == 0)
		emit(c->b, OP_CLONE, kind, 0, session, list);
	return rc;
}

static int clone_ingress(struct call *c)
{
	return clone(c, CLONE_INGRESS);
}

static int clone_egress(struct call *c)
{
	return clone(c, CLONE_EGRESS);
}

static int one_slot(struct call *c, enum op op)
{
	uint32_t slot;
	int rc = slot_param(c, 0, &slot);

	if (rc == 0)
		emit(c->b, op, 0, 0, slot, 0);
	return rc;
}

static int resubmit(struct call *c)
{
	return one_slot(c, OP_RESUBMIT);
}

static int recirculate(struct call *c)
{
	return one_slot(c, OP_RECIRCULATE);
}

static int truncate_packet(struct call *c)
{
	return one_slot(c, OP_TRUNCATE);
}

static int generate_digest(struct call *c)
{
	const char *text = json_string_value(param_value(c, 1));
	uint64_t id;
	uint32_t bits, index;
	bool negative;
	char name[24];

	if (!text || js_hex(text, &id, 1, &bits, &negative) < 0)
		return js_refuse(c->json, c->b->err, "a digest needs the constant number of its list");
	snprintf(name, sizeof(name), "%llu", (unsigned long long)id);
	index = build_find(c->b->learn_ids, name);
	if (index == NOWHERE)
		return js_refuse(c->json, c->b->err, "there is no learn list %s", name);
	emit(c->b, OP_DIGEST, 0, 0, index, 0);
	return 0;
}

/* --- objects with memory --- */

static int register_read(struct call *c)
{
	const struct p4_field *f;
	uint32_t array, index;
	struct value v;
	int rc = target_field(c, 0, &f);

	if (rc == 0)
		rc = object_param(c, 1, "register_array", c->b->registers, &array);
	if (rc == 0)
		rc = slot_param(c, 2, &index);
	if (rc < 0)
		return rc;
	v = (struct value){ .slots = c->b->p->registers[array].slots, .bits = c->b->p->registers[array].bits };
	if (v.slots == f->slots) {
		/* straight into the field; an index out of bounds leaves it alone, as BMv2 does */
		emit(c->b, OP_REGISTER_READ, v.slots, f->slot, array, index);
		cut(c->b, f);
		return 0;
	}
	v.slot = temp_take(c->b, v.slots);
	if (v.slot == NOWHERE)
		return -E2BIG;
	emit(c->b, OP_REGISTER_READ, v.slots, v.slot, array, index);
	return assign(c->b, f->slot, f->bits, f->is_signed, &v);
}

static int register_write(struct call *c)
{
	struct value v, cell;
	uint32_t array, index;
	int rc = object_param(c, 0, "register_array", c->b->registers, &array);

	if (rc == 0)
		rc = slot_param(c, 1, &index);
	if (rc == 0)
		rc = expression(c->b, param(c, 2), c->json, c->b->p->registers[array].bits, &v);
	if (rc < 0)
		return rc;
	cell = (struct value){ .bits = c->b->p->registers[array].bits, .slots = c->b->p->registers[array].slots };
	cell.slot = temp_take(c->b, cell.slots);
	if (cell.slot == NOWHERE)
		return -E2BIG;
	rc = assign(c->b, cell.slot, cell.bits, false, &v);
	if (rc == 0)
		emit(c->b, OP_REGISTER_WRITE, cell.slots, array, cell.slot, index);
	return rc;
}

static int count(struct call *c)
{
	uint32_t array, index;
	int rc = object_param(c, 0, "counter_array", c->b->counters, &array);

	if (rc == 0)
		rc = slot_param(c, 1, &index);
	if (rc == 0)
		emit(c->b, OP_COUNT, 0, array, index, 0);
	return rc;
}

static int execute_meter(struct call *c)
{
	const struct p4_field *f;
	uint32_t array, index;
	int rc = object_param(c, 0, "meter_array", c->b->meters, &array);

	if (rc == 0)
		rc = slot_param(c, 1, &index);
	if (rc == 0)
		rc = target_field(c, 2, &f);
	if (rc < 0)
		return rc;
	emit(c->b, OP_METER, 0, f->slot, array, index);
	cut(c->b, f);
	return 0;
}

static int hash(struct call *c)
{
	const struct p4_field *f;
	uint32_t calculation, base, size, pair;
	int rc = target_field(c, 0, &f);

	if (rc == 0)
		rc = slot_param(c, 1, &base);
	if (rc == 0)
		rc = object_param(c, 2, "calculation", c->b->calculations, &calculation);
	if (rc == 0)
		rc = slot_param(c, 3, &size);
	if (rc < 0)
		return rc;
	pair = temp_take(c->b, 3);
	if (pair == NOWHERE)
		return -E2BIG;
	emit(c->b, OP_MOVE, 0, pair, base, 0);
	emit(c->b, OP_MOVE, 0, pair + 1, size, 0);
	emit(c->b, OP_HASH, 0, pair + 2, calculation, pair);
	return assign(c->b, f->slot, f->bits, f->is_signed,
		      &(struct value){ .slot = pair + 2, .slots = 1, .bits = 64 });
}

static int random_number(struct call *c)
{
	const struct p4_field *f;
	uint32_t low, high;
	int rc = target_field(c, 0, &f);

	if (rc == 0)
		rc = slot_param(c, 1, &low);
	if (rc == 0)
		rc = slot_param(c, 2, &high);
	if (rc < 0)
		return rc;
	emit(c->b, OP_RANDOM, 0, f->slot, low, high);
	cut(c->b, f);
	return 0;
}

/* --- words to the reader of the log --- */

static int message_add(struct call *c, const char *format, const json_t *values, uint32_t *ret_index)
{
	struct p4_message m = { .count = (uint32_t)json_array_size(values) };

	m.format = arena_strdup(&c->b->p->arena, format);
	m.place = js_place(c->json, &c->b->p->arena);
	m.slots = arena_array(&c->b->p->arena, m.count + 1, sizeof(*m.slots));
	m.slot_counts = arena_array(&c->b->p->arena, m.count + 1, sizeof(*m.slot_counts));
	if (!m.format || !m.slots || !m.slot_counts)
		return err_set(c->b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < m.count; i++) {
		struct value v;
		int rc = expression(c->b, json_array_get(values, i), c->json, 0, &v);

		if (rc < 0)
			return rc;
		m.slots[i] = v.slot;
		m.slot_counts[i] = v.slots;
	}
	*ret_index = (uint32_t)c->b->messages.count;
	return vec_push(&c->b->messages, m) < 0 ? err_set(c->b->err, ERR_HOST, ENOMEM, "out of memory") : 0;
}

static int log_message(struct call *c)
{
	const char *format = json_string_value(param_value(c, 0));
	uint32_t index;
	int rc;

	if (!format)
		return js_refuse(c->json, c->b->err, "log_msg: a text is expected first");
	rc = message_add(c, format, param_value(c, 1), &index);
	if (rc == 0)
		emit(c->b, OP_LOG, 0, index, 0, 0);
	return rc;
}

static int assertion(struct call *c, const char *name, bool is_assume)
{
	uint32_t condition, index;
	int rc = slot_param(c, 0, &condition);

	if (rc == 0)
		rc = message_add(c, name, NULL, &index);
	if (rc == 0)
		emit(c->b, OP_ASSERT, is_assume, index, condition, 0);
	return rc;
}

static int assert_true(struct call *c)
{
	return assertion(c, "assert", false);
}

static int assume(struct call *c)
{
	return assertion(c, "assume", true);
}

static const struct {
	const char *name;
	unsigned params;
	int (*compile)(struct call *c);
} primitives[] = {
	{ "assign", 2, assign_field },
	{ "modify_field", 2, assign_field },
	{ "assign_VL", 2, assign_variable },
	{ "assign_header", 2, assign_header },
	{ "copy_header", 2, assign_header },
	{ "assign_header_stack", 2, assign_stack },
	{ "assign_union", 2, assign_union },
	{ "add_header", 1, add_header },
	{ "remove_header", 1, remove_header },
	{ "push", 2, push },
	{ "pop", 2, pop },
	{ "mark_to_drop", 1, mark_to_drop },
	{ "drop", 0, mark_to_drop },
	{ "exit", 0, exit_control },
	{ "no_op", 0, no_op },
	{ "clone_ingress_pkt_to_egress", 2, clone_ingress },
	{ "clone_egress_pkt_to_egress", 2, clone_egress },
	{ "resubmit", 1, resubmit },
	{ "recirculate", 1, recirculate },
	{ "truncate", 1, truncate_packet },
	{ "generate_digest", 2, generate_digest },
	{ "register_read", 3, register_read },
	{ "register_write", 3, register_write },
	{ "count", 2, count },
	{ "execute_meter", 3, execute_meter },
	{ "modify_field_with_hash_based_offset", 4, hash },
	{ "modify_field_rng_uniform", 3, random_number },
	{ "log_msg", 2, log_message },
	{ "assert", 1, assert_true },
	{ "assume", 1, assume },
};

int primitive(struct build *b, const json_t *json)
{
	struct call c = { .b = b, .json = json };
	const char *op;
	int rc = js_string(json, "op", "a primitive", &op, b->err);

	if (rc == 0)
		rc = js_array(json, "parameters", op, &c.params, b->err);
	if (rc < 0)
		return rc;
	b->temp = 0;
	for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++) {
		if (strcmp(op, primitives[i].name) != 0)
			continue;
		if (json_array_size(c.params) != primitives[i].params)
			return js_refuse(json, b->err, "primitive '%s' has %zu parameters; %u are expected", op,
					 json_array_size(c.params), primitives[i].params);
		rc = primitives[i].compile(&c);
		return rc == 0 && emit_failed(b) ? -ENOMEM : rc;
	}
	return js_refuse(json, b->err, "primitive '%s' is not supported", op);
}
