/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/expression_private.h"

/*
 * Expressions. BMv2 computes with numbers of any size and the compiler writes
 * masks where P4 wants a width; we get the same results in words by computing
 * either exactly, in as many words as the result can need, or modulo a power of
 * two where only low bits are asked for (`demand`), as under such a mask.
 */

int scope_too_wide(struct scope *s, uint32_t bits)
{
	return js_refuse(s->owner, s->b->err, "an expression of %u bits is wider than the %d there may be", bits,
			 SLOTS_A_VALUE_MOST * 64);
}

int scope_result(struct scope *s, uint32_t bits, bool is_signed, struct value *ret)
{
	struct value v = { .bits = bits, .is_signed = is_signed, .slots = slots_for(bits), .is_temp = true };

	if (v.slots > SLOTS_A_VALUE_MOST)
		return scope_too_wide(s, bits);
	v.slot = temp_take(s->b, v.slots);
	if (v.slot == NOWHERE)
		return -E2BIG;
	*ret = v;
	return 0;
}

/* v in at least `slots` words, extended by its sign. */
int scope_widen(struct scope *s, const struct value *v, uint32_t slots, struct value *ret)
{
	if (v->slots >= slots) {
		*ret = *v;
		return 0;
	}
	*ret = *v;
	ret->slots = slots;
	ret->slot = temp_take(s->b, slots);
	ret->is_temp = true;
	ret->is_constant = false;
	if (ret->slot == NOWHERE)
		return -E2BIG;
	emit(s->b, v->is_signed ? OPW_WIDEN_S : OPW_WIDEN_U, slots, ret->slot, v->slot, v->slots);
	return 0;
}

/* A modular value made exact: its low `bits`, as an unsigned number. */
int scope_settle(struct scope *s, struct value *v)
{
	struct value cut;
	int rc;

	if (!v->modular)
		return 0;
	rc = scope_result(s, v->bits, false, &cut);
	if (rc < 0)
		return rc;
	if (cut.slots == 1) {
		emit(s->b, OP_ZEXT, v->bits, cut.slot, v->slot, 0);
	} else {
		emit(s->b, OPW_MOVE, cut.slots, cut.slot, v->slot, 0);
		emit(s->b, OPW_ZEXT, cut.slots, cut.slot, 0, v->bits);
	}
	*v = cut;
	return 0;
}

int scope_exact(struct scope *s, const json_t *json, struct value *ret)
{
	int rc = scope_compile(s, json, 0, ret);

	return rc < 0 ? rc : scope_settle(s, ret);
}

/* --- leaves --- */

static int constant(struct scope *s, const char *text, struct value *ret)
{
	uint64_t words[SLOTS_A_VALUE_MOST];
	uint32_t bits;
	bool negative;

	if (js_hex(text, words, SLOTS_A_VALUE_MOST, &bits, &negative) < 0)
		return js_refuse(s->owner, s->b->err, "'%.80s' is not a number of at most %d bits", text,
				 SLOTS_A_VALUE_MOST * 64);
	*ret = (struct value){ .bits = bits + (negative ? 1 : 0), .is_signed = negative, .is_constant = true };
	ret->slots = slots_for(ret->bits);
	ret->slot = constant_add(s->b, words, ret->slots);
	return ret->slot == NOWHERE ? -E2BIG : 0;
}

int expression_pair(const json_t *json, const char **first, const char **second)
{
	*first = json_string_value(json_array_get(json, 0));
	*second = json_string_value(json_array_get(json, 1));
	return json_is_array(json) && json_array_size(json) == 2 && *first && *second ? 0 : -EINVAL;
}

int field_reference(struct build *b, const json_t *json, const json_t *owner, uint32_t *ret_field, uint32_t *ret_slot)
{
	const char *header, *field;
	char name[512];
	uint32_t index;

	if (expression_pair(json, &header, &field) < 0)
		return js_refuse(owner, b->err, "a field is expected as [header, name]");
	if (strcmp(field, "$valid$") == 0) {
		index = build_find(b->headers, header);
		if (index == NOWHERE)
			return js_refuse(owner, b->err, "there is no header '%s'", header);
		*ret_field = NOWHERE;
		*ret_slot = b->p->headers[index].slot;
		return 0;
	}
	snprintf(name, sizeof(name), "%s.%s", header, field);
	index = build_find(b->fields, name);
	if (index == NOWHERE)
		return js_refuse(owner, b->err, "there is no field '%s'", name);
	*ret_field = index;
	*ret_slot = b->p->fields[index].slot;
	return 0;
}

int header_reference(struct build *b, const json_t *json, const json_t *owner, uint32_t *ret_header)
{
	const char *name = json_string_value(json);
	uint32_t index = name ? build_find(b->headers, name) : NOWHERE;

	if (index == NOWHERE)
		return js_refuse(owner, b->err, "there is no header '%s'", name ? name : "(not a string)");
	*ret_header = index;
	return 0;
}

static struct value field_value(const struct p4_field *f)
{
	return (struct value){ .slot = f->slot, .slots = f->slots, .bits = f->bits, .is_signed = f->is_signed };
}

static int field(struct scope *s, const json_t *json, struct value *ret)
{
	uint32_t index, slot;
	int rc = field_reference(s->b, json, s->owner, &index, &slot);

	if (rc < 0)
		return rc;
	if (index == NOWHERE) {
		*ret = (struct value){ .slot = slot, .slots = 1, .bits = 1 };
		return 0;
	}
	if (s->b->p->fields[index].is_variable)
		return js_refuse(s->owner, s->b->err, "'%s' has a variable length and cannot stand in an expression",
				 s->b->p->fields[index].name);
	*ret = field_value(&s->b->p->fields[index]);
	return 0;
}

static int parameter(struct scope *s, const json_t *json, struct value *ret)
{
	const struct p4_action *action = s->b->action;
	json_int_t i = json_integer_value(json);

	if (!json_is_integer(json) || !action || i < 0 || i >= (json_int_t)action->param_count)
		return js_refuse(s->owner, s->b->err,
				 "parameter %" JSON_INTEGER_FORMAT " is not one of the action's %u", i,
				 action ? action->param_count : 0);
	*ret = (struct value){ .slot = action->params[i].slot,
			       .slots = action->params[i].slots,
			       .bits = action->params[i].bits };
	return 0;
}

static int lookahead(struct scope *s, const json_t *json, struct value *ret)
{
	json_int_t offset = json_integer_value(json_array_get(json, 0));
	json_int_t bits = json_integer_value(json_array_get(json, 1));
	int rc;

	if (json_array_size(json) != 2 || offset < 0 || offset > 1 << 20 || bits < 1 || bits > SLOTS_A_VALUE_MOST * 64)
		return js_refuse(s->owner, s->b->err, "a lookahead is expected as [bit offset, 1 to %d bits]",
				 SLOTS_A_VALUE_MOST * 64);
	rc = scope_result(s, (uint32_t)bits, false, ret);
	if (rc < 0)
		return rc;
	emit(s->b, OP_LOOKAHEAD, 0, ret->slot, (uint32_t)offset, (uint32_t)bits);
	return 0;
}

static const struct p4_field *member_by_name(const struct program *p, const struct p4_header *h, const char *name)
{
	size_t prefix = strlen(h->name) + 1;

	for (uint32_t i = 0; i < h->field_count; i++)
		if (strcmp(p->fields[h->first_field + i].name + prefix, name) == 0)
			return &p->fields[h->first_field + i];
	return NULL;
}

/* ["stack", "field"]: of the header extracted last. ["stack", "member", "field"] for a stack of unions. */
static int last_field(struct scope *s, const json_t *json, bool of_union, struct value *ret)
{
	struct build *b = s->b;
	const char *stack = json_string_value(json_array_get(json, 0));
	const char *name = json_string_value(json_array_get(json, of_union ? 2 : 1));
	uint32_t index = stack ? build_find(b->stacks, stack) : NOWHERE;
	const struct p4_header *first;
	const struct p4_field *f;
	int rc;

	if (index == NOWHERE || !name || (b->p->stacks[index].unions != NULL) != of_union)
		return js_refuse(s->owner, b->err, "there is no header stack '%s' with such a field",
				 stack ? stack : "(not a string)");
	if (of_union)
		return js_refuse(s->owner, b->err,
				 "a field of the last member of the union stack '%s' is not supported", stack);
	first = &b->p->headers[b->p->stacks[index].first_header];
	f = member_by_name(b->p, first, name);
	if (!f || f->is_variable)
		return js_refuse(s->owner, b->err, "the headers of '%s' have no field '%s' to read", stack, name);
	rc = scope_result(s, f->bits, f->is_signed, ret);
	if (rc < 0)
		return rc;
	emit(b, OP_LAST_FIELD, f->slots, ret->slot, f->slot - first->slot, index);
	return 0;
}

/* --- headers and stacks in expressions --- */

const json_t *expression_unwrap(const json_t *json)
{
	const json_t *inner = json;

	for (int i = 0; i < NESTING_MOST; i++) {
		const char *type = json_string_value(json_object_get(inner, "type"));
		const json_t *value = json_object_get(inner, "value");

		if (!type || strcmp(type, "expression") != 0 || !value)
			break;
		inner = value;
	}
	return inner;
}

bool is_stack_element(const json_t *json)
{
	const char *op = json_string_value(json_object_get(expression_unwrap(json), "op"));

	return op && strcmp(op, "dereference_header_stack") == 0;
}

int stack_element(struct build *b, const json_t *json, const json_t *owner, uint32_t *ret_stack,
		  uint32_t *ret_index_slot)
{
	const json_t *inner = expression_unwrap(json);
	const char *name = json_string_value(json_object_get(json_object_get(inner, "left"), "value"));
	uint32_t index = name ? build_find(b->stacks, name) : NOWHERE;

	if (index == NOWHERE || b->p->stacks[index].unions)
		return js_refuse(owner, b->err, "there is no header stack '%s'", name ? name : "(not a string)");
	*ret_stack = index;
	return expression_slot(b, json_object_get(inner, "right"), owner, ret_index_slot);
}

/* access_field of an element by a computed index, or of a header. */
int scope_access_field(struct scope *s, const json_t *json, struct value *ret)
{
	struct build *b = s->b;
	const json_t *left = json_object_get(json, "left");
	json_int_t member = json_integer_value(json_object_get(json, "right"));
	const struct p4_header *first;
	const struct p4_field *f;
	uint32_t stack, index, header;
	int rc;

	if (!is_stack_element(left)) {
		rc = header_reference(b, json_object_get(expression_unwrap(left), "value"), s->owner, &header);
		if (rc < 0)
			return rc;
		first = &b->p->headers[header];
		if (member < 0 || member >= (json_int_t)first->field_count)
			return js_refuse(s->owner, b->err, "header '%s' has no field number %" JSON_INTEGER_FORMAT,
					 first->name, member);
		*ret = field_value(&b->p->fields[first->first_field + member]);
		return 0;
	}
	rc = stack_element(b, left, s->owner, &stack, &index);
	if (rc < 0)
		return rc;
	first = &b->p->headers[b->p->stacks[stack].first_header];
	if (member < 0 || member >= (json_int_t)first->field_count)
		return js_refuse(s->owner, b->err, "the headers of '%s' have no field number %" JSON_INTEGER_FORMAT,
				 b->p->stacks[stack].name, member);
	f = &b->p->fields[first->first_field + member];
	if (f->is_variable)
		return js_refuse(s->owner, b->err, "'%s' has a variable length and cannot stand in an expression",
				 f->name);
	rc = scope_result(s, f->bits, f->is_signed, ret);
	if (rc < 0)
		return rc;
	emit(b, OP_LOAD_AT, f->slots, ret->slot, f->slot, index);
	emit(b, OP_LOAD_AT, 0, 0, first->slots, b->p->stacks[stack].count);
	return 0;
}

int scope_stack_number(struct scope *s, const json_t *json, bool last, struct value *ret)
{
	struct build *b = s->b;
	const char *name =
		json_string_value(json_object_get(expression_unwrap(json_object_get(json, "right")), "value"));
	uint32_t index = name ? build_find(b->stacks, name) : NOWHERE;
	int rc;

	if (index == NOWHERE)
		return js_refuse(s->owner, b->err, "there is no header stack '%s'", name ? name : "(not a string)");
	rc = scope_result(s, 33, true, ret);
	if (rc < 0)
		return rc;
	emit(b, OP_STACK_NEXT, 0, ret->slot, index, 0);
	if (last)
		emit(b, OP_SUB, 0, ret->slot, ret->slot, constant_u64(b, 1));
	return 0;
}

int scope_valid(struct scope *s, const json_t *json, struct value *ret)
{
	struct build *b = s->b;
	const json_t *right = json_object_get(json, "right");
	const struct p4_header *first;
	uint32_t header, stack, index;
	int rc;

	if (is_stack_element(right)) {
		rc = stack_element(b, right, s->owner, &stack, &index);
		if (rc < 0)
			return rc;
		first = &b->p->headers[b->p->stacks[stack].first_header];
		rc = scope_result(s, 1, false, ret);
		if (rc < 0)
			return rc;
		emit(b, OP_LOAD_AT, 1, ret->slot, first->slot, index);
		emit(b, OP_LOAD_AT, 0, 0, first->slots, b->p->stacks[stack].count);
		return 0;
	}
	rc = header_reference(b, json_object_get(right, "value"), s->owner, &header);
	if (rc == 0)
		*ret = (struct value){ .slot = b->p->headers[header].slot, .slots = 1, .bits = 1 };
	return rc;
}

int scope_valid_union(struct scope *s, const json_t *json, struct value *ret)
{
	const char *name =
		json_string_value(json_object_get(expression_unwrap(json_object_get(json, "right")), "value"));
	uint32_t index = name ? build_find(s->b->unions, name) : NOWHERE;
	int rc;

	if (index == NOWHERE)
		return js_refuse(s->owner, s->b->err, "there is no header union '%s'", name ? name : "(not a string)");
	rc = scope_result(s, 1, false, ret);
	if (rc == 0)
		emit(s->b, OP_VALID_UNION, 0, ret->slot, index, 0);
	return rc;
}

static int leaf(struct scope *s, const char *type, const json_t *value, struct value *ret)
{
	if (strcmp(type, "field") == 0)
		return field(s, value, ret);
	if (strcmp(type, "hexstr") == 0 && json_is_string(value))
		return constant(s, json_string_value(value), ret);
	if (strcmp(type, "bool") == 0 && json_is_boolean(value))
		return constant(s, json_is_true(value) ? "0x1" : "0x0", ret);
	if (strcmp(type, "local") == 0 || strcmp(type, "runtime_data") == 0)
		return parameter(s, value, ret);
	if (strcmp(type, "lookahead") == 0)
		return lookahead(s, value, ret);
	if (strcmp(type, "stack_field") == 0 || strcmp(type, "union_stack_field") == 0)
		return last_field(s, value, type[0] == 'u', ret);
	return js_refuse(s->owner, s->b->err, "a value of type '%s' is not supported here", type);
}

int scope_compile(struct scope *s, const json_t *json, uint32_t demand, struct value *ret)
{
	const char *type = json_string_value(json_object_get(json, "type"));
	int rc;

	if (!json_is_object(json))
		return js_refuse(s->owner, s->b->err, "an expression lacks an operand");
	if (++s->depth > NESTING_MOST)
		return js_refuse(s->owner, s->b->err, "an expression is nested deeper than %d", NESTING_MOST);
	if (!type)
		rc = scope_operation(s, json, demand, ret);
	else if (strcmp(type, "expression") == 0)
		rc = scope_compile(s, json_object_get(json, "value"), demand, ret);
	else
		rc = leaf(s, type, json_object_get(json, "value"), ret);
	s->depth--;
	return rc == 0 && emit_failed(s->b) ? -ENOMEM : rc;
}

int expression(struct build *b, const json_t *json, const json_t *owner, uint32_t demand_bits, struct value *ret)
{
	struct scope s = { .b = b, .owner = owner };
	int rc;

	rc = scope_compile(&s, json, demand_bits, ret);
	if (rc == 0 && !demand_bits)
		rc = scope_settle(&s, ret);
	return rc;
}

int expression_slot(struct build *b, const json_t *json, const json_t *owner, uint32_t *ret_slot)
{
	struct value v;
	int rc = expression(b, json, owner, 0, &v);

	if (rc < 0)
		return rc;
	if (v.slots != 1)
		return js_refuse(owner, b->err, "a value of %u bits where at most 64 are expected", v.bits);
	*ret_slot = v.slot;
	return 0;
}

int assign(struct build *b, uint32_t slot, uint32_t bits, bool is_signed, const struct value *v)
{
	uint32_t slots = slots_for(bits);
	bool fits = !v->modular && v->is_signed == is_signed && v->bits <= bits;
	struct insn *last = b->code.count ? &b->code.items[b->code.count - 1] : NULL;

	if (!v->modular && is_signed && !v->is_signed && v->bits < bits)
		fits = true;
	if (slots == 1) {
		if (fits && v->is_temp && last && last->d == v->slot && last->op < OP_JUMP && last->op != OP_MOVE)
			last->d = slot;
		else
			emit(b, fits ? OP_MOVE : is_signed ? OP_SEXT : OP_ZEXT, bits, slot, v->slot, 0);
	} else {
		if (v->slots < slots)
			emit(b, v->is_signed ? OPW_WIDEN_S : OPW_WIDEN_U, slots, slot, v->slot, v->slots);
		else
			emit(b, OPW_MOVE, slots, slot, v->slot, 0);
		if (!fits)
			emit(b, is_signed ? OPW_SEXT : OPW_ZEXT, slots, slot, 0, bits);
	}
	return emit_failed(b) ? -ENOMEM : 0;
}
