/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

/*
 * Expressions. BMv2 computes with numbers of any size and the compiler writes
 * masks where P4 wants a width; we get the same results in words by computing
 * either exactly, in as many words as the result can need, or modulo a power of
 * two where only low bits are asked for (`demand`), as under such a mask.
 */

struct scope {
	struct build *b;
	const json_t *owner;
	unsigned depth;
};

static int compile(struct scope *s, const json_t *json, uint32_t demand, struct value *ret);

static uint32_t signed_bits(const struct value *v)
{
	return v->bits + (v->is_signed ? 0 : 1);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static int too_wide(struct scope *s, uint32_t bits)
{
	return js_refuse(s->owner, s->b->err, "an expression of %u bits is wider than the %d there may be", bits,
			 SLOTS_A_VALUE_MOST * 64);
}

static int result_temp(struct scope *s, uint32_t bits, bool is_signed, struct value *ret)
{
	struct value v = { .bits = bits, .is_signed = is_signed, .slots = slots_for(bits), .is_temp = true };

	if (v.slots > SLOTS_A_VALUE_MOST)
		return too_wide(s, bits);
	v.slot = temp_take(s->b, v.slots);
	if (v.slot == NOWHERE)
		return -E2BIG;
	*ret = v;
	return 0;
}

/* v in at least `slots` words, extended by its sign. */
static int widen(struct scope *s, const struct value *v, uint32_t slots, struct value *ret)
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
static int settle(struct scope *s, struct value *v)
{
	struct value cut;
	int rc;

	if (!v->modular)
		return 0;
	rc = result_temp(s, v->bits, false, &cut);
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

static int exact(struct scope *s, const json_t *json, struct value *ret)
{
	int rc = compile(s, json, 0, ret);

	return rc < 0 ? rc : settle(s, ret);
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

static int pair(const json_t *json, const char **first, const char **second)
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

	if (pair(json, &header, &field) < 0)
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
	rc = result_temp(s, (uint32_t)bits, false, ret);
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
	rc = result_temp(s, f->bits, f->is_signed, ret);
	if (rc < 0)
		return rc;
	emit(b, OP_LAST_FIELD, f->slots, ret->slot, f->slot - first->slot, index);
	return 0;
}

/* --- headers and stacks in expressions --- */

static const json_t *unwrap(const json_t *json)
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
	const char *op = json_string_value(json_object_get(unwrap(json), "op"));

	return op && strcmp(op, "dereference_header_stack") == 0;
}

int stack_element(struct build *b, const json_t *json, const json_t *owner, uint32_t *ret_stack,
		  uint32_t *ret_index_slot)
{
	const json_t *inner = unwrap(json);
	const char *name = json_string_value(json_object_get(json_object_get(inner, "left"), "value"));
	uint32_t index = name ? build_find(b->stacks, name) : NOWHERE;

	if (index == NOWHERE || b->p->stacks[index].unions)
		return js_refuse(owner, b->err, "there is no header stack '%s'", name ? name : "(not a string)");
	*ret_stack = index;
	return expression_slot(b, json_object_get(inner, "right"), owner, ret_index_slot);
}

/* access_field of an element by a computed index, or of a header. */
static int access_field(struct scope *s, const json_t *json, struct value *ret)
{
	struct build *b = s->b;
	const json_t *left = json_object_get(json, "left");
	json_int_t member = json_integer_value(json_object_get(json, "right"));
	const struct p4_header *first;
	const struct p4_field *f;
	uint32_t stack, index, header;
	int rc;

	if (!is_stack_element(left)) {
		rc = header_reference(b, json_object_get(unwrap(left), "value"), s->owner, &header);
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
	rc = result_temp(s, f->bits, f->is_signed, ret);
	if (rc < 0)
		return rc;
	emit(b, OP_LOAD_AT, f->slots, ret->slot, f->slot, index);
	emit(b, OP_LOAD_AT, 0, 0, first->slots, b->p->stacks[stack].count);
	return 0;
}

static int stack_number(struct scope *s, const json_t *json, bool last, struct value *ret)
{
	struct build *b = s->b;
	const char *name = json_string_value(json_object_get(unwrap(json_object_get(json, "right")), "value"));
	uint32_t index = name ? build_find(b->stacks, name) : NOWHERE;
	int rc;

	if (index == NOWHERE)
		return js_refuse(s->owner, b->err, "there is no header stack '%s'", name ? name : "(not a string)");
	rc = result_temp(s, 33, true, ret);
	if (rc < 0)
		return rc;
	emit(b, OP_STACK_NEXT, 0, ret->slot, index, 0);
	if (last)
		emit(b, OP_SUB, 0, ret->slot, ret->slot, constant_u64(b, 1));
	return 0;
}

static int valid(struct scope *s, const json_t *json, struct value *ret)
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
		rc = result_temp(s, 1, false, ret);
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

static int valid_union(struct scope *s, const json_t *json, struct value *ret)
{
	const char *name = json_string_value(json_object_get(unwrap(json_object_get(json, "right")), "value"));
	uint32_t index = name ? build_find(s->b->unions, name) : NOWHERE;
	int rc;

	if (index == NOWHERE)
		return js_refuse(s->owner, s->b->err, "there is no header union '%s'", name ? name : "(not a string)");
	rc = result_temp(s, 1, false, ret);
	if (rc == 0)
		emit(s->b, OP_VALID_UNION, 0, ret->slot, index, 0);
	return rc;
}

/* --- operators --- */

static bool constant_mask(struct scope *s, const json_t *json, uint32_t *ret_bits)
{
	const json_t *inner = unwrap(json);
	const char *type = json_string_value(json_object_get(inner, "type"));
	const char *text = json_string_value(json_object_get(inner, "value"));
	uint64_t words[SLOTS_A_VALUE_MOST];
	bool negative;

	(void)s;
	return type && text && strcmp(type, "hexstr") == 0 &&
	       js_hex(text, words, SLOTS_A_VALUE_MOST, ret_bits, &negative) == 0 && !negative && *ret_bits;
}

/* Both sides, each exact or in `demand` low bits, in the same number of words. */
static int both(struct scope *s, const json_t *json, uint32_t demand, struct value *l, struct value *r)
{
	const json_t *left = json_object_get(json, "left"), *right = json_object_get(json, "right");
	int rc = demand ? compile(s, left, demand, l) : exact(s, left, l);

	if (rc == 0)
		rc = demand ? compile(s, right, demand, r) : exact(s, right, r);
	return rc;
}

static int combine(struct scope *s, enum op narrow, enum op wide, const struct value *l, const struct value *r,
		   uint32_t bits, bool is_signed, struct value *ret)
{
	struct value wl, wr;
	int rc = result_temp(s, bits, is_signed, ret);

	if (rc < 0)
		return rc;
	if (ret->slots == 1) {
		emit(s->b, narrow, 0, ret->slot, l->slot, r->slot);
		return 0;
	}
	rc = widen(s, l, ret->slots, &wl);
	if (rc == 0)
		rc = widen(s, r, ret->slots, &wr);
	if (rc == 0)
		emit(s->b, wide, ret->slots, ret->slot, wl.slot, wr.slot);
	return rc;
}

static int arithmetic(struct scope *s, const json_t *json, char op, uint32_t demand, struct value *ret)
{
	const enum op narrow = op == '+' ? OP_ADD : op == '-' ? OP_SUB : OP_MUL;
	const enum op wide = op == '+' ? OPW_ADD : op == '-' ? OPW_SUB : OPW_MUL;
	struct value l, r;
	bool is_signed;
	uint32_t bits;
	int rc = both(s, json, demand, &l, &r);

	if (rc < 0)
		return rc;
	if (demand) {
		rc = combine(s, narrow, wide, &l, &r, demand, false, ret);
		ret->modular = true;
		return rc;
	}
	is_signed = op == '-' || l.is_signed || r.is_signed;
	if (op == '*')
		bits = is_signed ? signed_bits(&l) + signed_bits(&r) : l.bits + r.bits;
	else
		bits = is_signed ? larger(signed_bits(&l), signed_bits(&r)) + 1 : larger(l.bits, r.bits) + 1;
	return combine(s, narrow, wide, &l, &r, bits, is_signed, ret);
}

static int divide(struct scope *s, const json_t *json, bool modulo, struct value *ret)
{
	struct value l, r;
	int rc = both(s, json, 0, &l, &r);

	if (rc < 0)
		return rc;
	if (l.slots > 1 || r.slots > 1 || l.is_signed || r.is_signed)
		return js_refuse(s->owner, s->b->err,
				 "division of more than 64 bits, or of signed numbers, is not supported");
	return combine(s, modulo ? OP_MOD : OP_DIV, OP_MOVE, &l, &r, l.bits, false, ret);
}

static int bitwise(struct scope *s, const json_t *json, char op, uint32_t demand, struct value *ret)
{
	const enum op narrow = op == '&' ? OP_AND : op == '|' ? OP_OR : OP_XOR;
	const enum op wide = op == '&' ? OPW_AND : op == '|' ? OPW_OR : OPW_XOR;
	uint32_t mask = 0, inner = demand;
	bool is_signed, masked = false;
	struct value l, r;
	uint32_t bits;
	int rc;

	if (op == '&') {
		masked = constant_mask(s, json_object_get(json, "right"), &mask) ||
			 constant_mask(s, json_object_get(json, "left"), &mask);
		if (masked && (!demand || mask < demand))
			inner = mask;
	}
	rc = both(s, json, inner, &l, &r);
	if (rc < 0)
		return rc;
	if (masked)
		return combine(s, narrow, wide, &l, &r, mask, false, ret); /* the mask makes it exact */
	if (demand) {
		rc = combine(s, narrow, wide, &l, &r, demand, false, ret);
		ret->modular = true;
		return rc;
	}
	is_signed = l.is_signed || r.is_signed;
	if (is_signed)
		bits = larger(signed_bits(&l), signed_bits(&r));
	else if (op == '&')
		bits = l.bits < r.bits ? l.bits : r.bits;
	else
		bits = larger(l.bits, r.bits);
	return combine(s, narrow, wide, &l, &r, bits, is_signed, ret);
}

static int complement(struct scope *s, const json_t *json, uint32_t demand, struct value *ret)
{
	struct value r, w;
	int rc = demand ? compile(s, json_object_get(json, "right"), demand, &r)
			: exact(s, json_object_get(json, "right"), &r);

	if (rc == 0)
		rc = result_temp(s, demand ? demand : signed_bits(&r), !demand, ret);
	if (rc < 0)
		return rc;
	ret->modular = demand != 0;
	if (ret->slots == 1) {
		emit(s->b, OP_NOT, 0, ret->slot, r.slot, 0);
		return 0;
	}
	rc = widen(s, &r, ret->slots, &w);
	if (rc == 0)
		emit(s->b, OPW_NOT, ret->slots, ret->slot, w.slot, 0);
	return rc;
}

/* A shift amount as one slot; one that does not fit a word counts as its largest. */
static int shift_amount(struct scope *s, const json_t *json, uint32_t *ret_slot, uint32_t *ret_most)
{
	struct value v, high;
	int rc = exact(s, json, &v);

	if (rc < 0)
		return rc;
	*ret_most = v.bits >= 13 ? 4096 : (1u << v.bits) - 1;
	if (v.is_constant) {
		uint64_t n = v.slots == 1 ? s->b->constants.items[v.slot - s->b->p->constants_slot] : UINT64_MAX;

		if (v.is_signed)
			return js_refuse(s->owner, s->b->err, "a shift by a negative number");
		*ret_most = n > 4096 ? 4096 : (uint32_t)n;
	}
	*ret_slot = v.slot;
	if (v.slots == 1)
		return 0;
	rc = result_temp(s, 64, false, &high);
	if (rc < 0)
		return rc;
	emit(s->b, OPW_BOOL, v.slots - 1, high.slot, v.slot + 1, 0);
	emit(s->b, OP_SUB, 0, high.slot, constant_u64(s->b, 0), high.slot);
	emit(s->b, OP_OR, 0, high.slot, high.slot, v.slot);
	*ret_slot = high.slot;
	return 0;
}

static int shift(struct scope *s, const json_t *json, bool left, uint32_t demand, struct value *ret)
{
	const json_t *operand = json_object_get(json, "left");
	struct value l, w;
	uint32_t amount = 0, most = 0, bits;
	bool modular = left && demand;
	int rc = modular ? compile(s, operand, demand, &l) : exact(s, operand, &l);

	if (rc == 0)
		rc = shift_amount(s, json_object_get(json, "right"), &amount, &most);
	if (rc < 0)
		return rc;
	bits = modular ? demand : left ? l.bits + most : l.bits;
	rc = result_temp(s, bits, !modular && l.is_signed, ret);
	if (rc < 0)
		return rc;
	ret->modular = modular;
	if (ret->slots == 1 && l.slots == 1) {
		emit(s->b, left ? OP_SHL : l.is_signed ? OP_SAR : OP_SHR, 0, ret->slot, l.slot, amount);
		return 0;
	}
	rc = widen(s, &l, ret->slots, &w);
	if (rc == 0)
		emit(s->b, left ? OPW_SHL : l.is_signed ? OPW_SAR : OPW_SHR, ret->slots, ret->slot, w.slot, amount);
	return rc;
}

static uint32_t variable_field(struct scope *s, const json_t *json)
{
	const json_t *inner = unwrap(json);
	const char *type = json_string_value(json_object_get(inner, "type")), *header, *name;
	char both_names[512];
	uint32_t index;

	if (!type || strcmp(type, "field") != 0 || pair(json_object_get(inner, "value"), &header, &name) < 0)
		return NOWHERE;
	snprintf(both_names, sizeof(both_names), "%s.%s", header, name);
	index = build_find(s->b->fields, both_names);
	return index != NOWHERE && s->b->p->fields[index].is_variable ? index : NOWHERE;
}

static int compare(struct scope *s, const json_t *json, const char *op, struct value *ret)
{
	uint32_t left = variable_field(s, json_object_get(json, "left"));
	uint32_t right = variable_field(s, json_object_get(json, "right"));
	bool swap = op[0] == '>';
	bool or_equal = op[1] == '=' && (op[0] == '<' || op[0] == '>');
	bool equality = !swap && op[0] != '<';
	struct value l, r, wl, wr;
	bool is_signed;
	uint32_t slots;
	int rc;

	if (equality && left != NOWHERE && right != NOWHERE) {
		rc = result_temp(s, 1, false, ret);
		if (rc < 0)
			return rc;
		emit(s->b, OP_EQ_VARIABLE, 0, ret->slot, left, right);
		if (op[0] == '!')
			emit(s->b, OP_LOGNOT, 0, ret->slot, ret->slot, 0);
		return 0;
	}
	rc = both(s, json, 0, &l, &r);
	if (rc == 0)
		rc = result_temp(s, 1, false, ret);
	if (rc < 0)
		return rc;
	is_signed = l.is_signed || r.is_signed;
	slots = is_signed ? slots_for(larger(signed_bits(&l), signed_bits(&r)))
			  : (l.slots > r.slots ? l.slots : r.slots);
	if (slots > SLOTS_A_VALUE_MOST)
		return too_wide(s, slots * 64);
	if (slots == 1) {
		enum op code = equality   ? (op[0] == '!' ? OP_NE : OP_EQ)
			       : or_equal ? (is_signed ? OP_LES : OP_LEU)
					  : (is_signed ? OP_LTS : OP_LTU);

		emit(s->b, code, 0, ret->slot, swap ? r.slot : l.slot, swap ? l.slot : r.slot);
		return 0;
	}
	rc = widen(s, &l, slots, &wl);
	if (rc == 0)
		rc = widen(s, &r, slots, &wr);
	if (rc < 0)
		return rc;
	if (equality) {
		emit(s->b, OPW_EQ, slots, ret->slot, wl.slot, wr.slot);
		if (op[0] == '!')
			emit(s->b, OP_LOGNOT, 0, ret->slot, ret->slot, 0);
		return 0;
	}
	/* a <= b is not (b < a) */
	if (or_equal)
		swap = !swap;
	emit(s->b, is_signed ? OPW_LTS : OPW_LTU, slots, ret->slot, swap ? wr.slot : wl.slot, swap ? wl.slot : wr.slot);
	if (or_equal)
		emit(s->b, OP_LOGNOT, 0, ret->slot, ret->slot, 0);
	return 0;
}

static int truth(struct scope *s, const json_t *json, struct value *ret)
{
	struct value v;
	int rc = exact(s, json, &v);

	if (rc < 0)
		return rc;
	if (v.bits == 1 && !v.is_signed && v.slots == 1) {
		*ret = v;
		return 0;
	}
	rc = result_temp(s, 1, false, ret);
	if (rc == 0)
		emit(s->b, v.slots == 1 ? OP_BOOL : OPW_BOOL, v.slots, ret->slot, v.slot, 0);
	return rc;
}

static int logical(struct scope *s, const json_t *json, const char *op, struct value *ret)
{
	struct value l = { 0 }, r;
	bool negation = strcmp(op, "not") == 0;
	int rc = negation ? 0 : truth(s, json_object_get(json, "left"), &l);

	if (rc == 0)
		rc = truth(s, json_object_get(json, "right"), &r);
	if (rc == 0)
		rc = result_temp(s, 1, false, ret);
	if (rc < 0)
		return rc;
	if (negation)
		emit(s->b, OP_LOGNOT, 0, ret->slot, r.slot, 0);
	else
		emit(s->b, op[0] == 'a' ? OP_AND : OP_OR, 0, ret->slot, l.slot, r.slot);
	return 0;
}

static int width_argument(struct scope *s, const json_t *json, uint32_t *ret)
{
	const json_t *inner = unwrap(json);
	const char *text = json_string_value(json_object_get(inner, "value"));
	uint64_t width;
	uint32_t bits;
	bool negative;

	if (!text || js_hex(text, &width, 1, &bits, &negative) < 0 || negative || width < 1 ||
	    width > SLOTS_A_VALUE_MOST * 64)
		return js_refuse(s->owner, s->b->err, "a cast needs a constant width of 1 to %d bits",
				 SLOTS_A_VALUE_MOST * 64);
	*ret = (uint32_t)width;
	return 0;
}

static int cast_signed(struct scope *s, const json_t *json, struct value *ret)
{
	struct value v, w;
	uint32_t width;
	int rc = width_argument(s, json_object_get(json, "right"), &width);

	if (rc == 0)
		rc = compile(s, json_object_get(json, "left"), width, &v);
	if (rc == 0)
		rc = result_temp(s, width, true, ret);
	if (rc < 0)
		return rc;
	if (ret->slots == 1) {
		emit(s->b, OP_SEXT, width, ret->slot, v.slot, 0);
		return 0;
	}
	rc = widen(s, &v, ret->slots, &w);
	if (rc < 0)
		return rc;
	emit(s->b, OPW_MOVE, ret->slots, ret->slot, w.slot, 0);
	emit(s->b, OPW_SEXT, ret->slots, ret->slot, 0, width);
	return 0;
}

static int saturate(struct scope *s, const json_t *json, bool is_signed, struct value *ret)
{
	struct value v, w;
	uint32_t width, slots;
	int rc = width_argument(s, json_object_get(json, "right"), &width);

	if (rc == 0)
		rc = exact(s, json_object_get(json, "left"), &v);
	if (rc < 0)
		return rc;
	slots = slots_for(larger(signed_bits(&v), width + 1));
	rc = result_temp(s, slots * 64, is_signed, ret);
	if (rc == 0)
		rc = widen(s, &v, slots, &w);
	if (rc < 0)
		return rc;
	if (slots == 1)
		emit(s->b, is_signed ? OP_SAT_S : OP_SAT_U, width, ret->slot, w.slot, 0);
	else
		emit(s->b, is_signed ? OPW_SAT_S : OPW_SAT_U, slots, ret->slot, w.slot, width);
	ret->bits = width;
	ret->slots = slots_for(width);
	return 0;
}

static void move_into(struct scope *s, const struct value *to, const struct value *from)
{
	if (to->slots == 1)
		emit(s->b, OP_MOVE, 0, to->slot, from->slot, 0);
	else
		emit(s->b, OPW_MOVE, to->slots, to->slot, from->slot, 0);
}

/* cond ? left : right. The width is known only after both are compiled, so both are, then one is chosen by a jump. */
static int choose(struct scope *s, const json_t *json, struct value *ret)
{
	struct value cond, l, r, wl, wr;
	uint32_t to_right, to_end;
	bool is_signed;
	int rc = truth(s, json_object_get(json, "cond"), &cond);

	if (rc == 0)
		rc = both(s, json, 0, &l, &r);
	if (rc < 0)
		return rc;
	is_signed = l.is_signed || r.is_signed;
	rc = result_temp(s, is_signed ? larger(signed_bits(&l), signed_bits(&r)) : larger(l.bits, r.bits), is_signed,
			 ret);
	if (rc == 0)
		rc = widen(s, &l, ret->slots, &wl);
	if (rc == 0)
		rc = widen(s, &r, ret->slots, &wr);
	if (rc < 0)
		return rc;
	to_right = emit(s->b, OP_JUMP_IFN, 0, 0, cond.slot, 0);
	move_into(s, ret, &wl);
	to_end = emit(s->b, OP_JUMP, 0, 0, 0, 0);
	if (emit_failed(s->b))
		return -ENOMEM;
	s->b->code.items[to_right].d = (uint32_t)s->b->code.count;
	move_into(s, ret, &wr);
	s->b->code.items[to_end].d = (uint32_t)s->b->code.count;
	ret->is_temp = false; /* two instructions make it: neither may be retargeted alone */
	return 0;
}

static int operation(struct scope *s, const json_t *json, uint32_t demand, struct value *ret)
{
	const char *op = json_string_value(json_object_get(json, "op"));

	if (!op)
		return js_refuse(s->owner, s->b->err, "an expression has neither a type nor an operator");
	if (op[0] && !op[1] && strchr("+-*", op[0]))
		return arithmetic(s, json, op[0], demand, ret);
	if (op[0] && !op[1] && strchr("&|^", op[0]))
		return bitwise(s, json, op[0], demand, ret);
	if (op[0] && !op[1] && strchr("/%", op[0]))
		return divide(s, json, op[0] == '%', ret);
	if (strcmp(op, "~") == 0)
		return complement(s, json, demand, ret);
	if (strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0)
		return shift(s, json, op[0] == '<', demand, ret);
	if (strcmp(op, "==") == 0 || strcmp(op, "!=") == 0 || op[0] == '<' || op[0] == '>')
		return compare(s, json, op, ret);
	if (strcmp(op, "and") == 0 || strcmp(op, "or") == 0 || strcmp(op, "not") == 0)
		return logical(s, json, op, ret);
	if (strcmp(op, "d2b") == 0 || strcmp(op, "b2d") == 0)
		return truth(s, json_object_get(json, "right"), ret);
	if (strcmp(op, "two_comp_mod") == 0)
		return cast_signed(s, json, ret);
	if (strcmp(op, "sat_cast") == 0 || strcmp(op, "usat_cast") == 0)
		return saturate(s, json, op[0] == 's', ret);
	if (strcmp(op, "?") == 0)
		return choose(s, json, ret);
	if (strcmp(op, "valid") == 0)
		return valid(s, json, ret);
	if (strcmp(op, "valid_union") == 0)
		return valid_union(s, json, ret);
	if (strcmp(op, "access_field") == 0)
		return access_field(s, json, ret);
	if (strcmp(op, "last_stack_index") == 0 || strcmp(op, "size_stack") == 0)
		return stack_number(s, json, op[0] == 'l', ret);
	return js_refuse(s->owner, s->b->err, "operator '%s' is not supported", op);
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

static int compile(struct scope *s, const json_t *json, uint32_t demand, struct value *ret)
{
	const char *type = json_string_value(json_object_get(json, "type"));
	int rc;

	if (!json_is_object(json))
		return js_refuse(s->owner, s->b->err, "an expression lacks an operand");
	if (++s->depth > NESTING_MOST)
		return js_refuse(s->owner, s->b->err, "an expression is nested deeper than %d", NESTING_MOST);
	if (!type)
		rc = operation(s, json, demand, ret);
	else if (strcmp(type, "expression") == 0)
		rc = compile(s, json_object_get(json, "value"), demand, ret);
	else
		rc = leaf(s, type, json_object_get(json, "value"), ret);
	s->depth--;
	return rc == 0 && emit_failed(s->b) ? -ENOMEM : rc;
}

int expression(struct build *b, const json_t *json, const json_t *owner, uint32_t demand_bits, struct value *ret)
{
	struct scope s = { .b = b, .owner = owner };
	int rc;

	rc = compile(&s, json, demand_bits, ret);
	if (rc == 0 && !demand_bits)
		rc = settle(&s, ret);
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
