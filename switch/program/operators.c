/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/expression_private.h"

/* Arithmetic, bits, shifts, comparisons, casts: one function a kind of operator. */

static bool constant_mask(struct scope *s, const json_t *json, uint32_t *ret_bits)
{
	const json_t *inner = expression_unwrap(json);
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
	int rc = demand ? scope_compile(s, left, demand, l) : scope_exact(s, left, l);

	if (rc == 0)
		rc = demand ? scope_compile(s, right, demand, r) : scope_exact(s, right, r);
	return rc;
}

static int combine(struct scope *s, enum op narrow, enum op wide, const struct value *l, const struct value *r,
		   uint32_t bits, bool is_signed, struct value *ret)
{
	struct value wl, wr;
	int rc = scope_result(s, bits, is_signed, ret);

	if (rc < 0)
		return rc;
	if (ret->slots == 1) {
		emit(s->b, narrow, 0, ret->slot, l->slot, r->slot);
		return 0;
	}
	rc = scope_widen(s, l, ret->slots, &wl);
	if (rc == 0)
		rc = scope_widen(s, r, ret->slots, &wr);
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
		bits = is_signed ? value_signed_bits(&l) + value_signed_bits(&r) : l.bits + r.bits;
	else
		bits = is_signed ? larger(value_signed_bits(&l), value_signed_bits(&r)) + 1
				 : larger(l.bits, r.bits) + 1;
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
		bits = larger(value_signed_bits(&l), value_signed_bits(&r));
	else if (op == '&')
		bits = l.bits < r.bits ? l.bits : r.bits;
	else
		bits = larger(l.bits, r.bits);
	return combine(s, narrow, wide, &l, &r, bits, is_signed, ret);
}

static int complement(struct scope *s, const json_t *json, uint32_t demand, struct value *ret)
{
	struct value r, w;
	int rc = demand ? scope_compile(s, json_object_get(json, "right"), demand, &r)
			: scope_exact(s, json_object_get(json, "right"), &r);

	if (rc == 0)
		rc = scope_result(s, demand ? demand : value_signed_bits(&r), !demand, ret);
	if (rc < 0)
		return rc;
	ret->modular = demand != 0;
	if (ret->slots == 1) {
		emit(s->b, OP_NOT, 0, ret->slot, r.slot, 0);
		return 0;
	}
	rc = scope_widen(s, &r, ret->slots, &w);
	if (rc == 0)
		emit(s->b, OPW_NOT, ret->slots, ret->slot, w.slot, 0);
	return rc;
}

/* A shift amount as one slot; one that does not fit a word counts as its largest. */
static int shift_amount(struct scope *s, const json_t *json, uint32_t *ret_slot, uint32_t *ret_most)
{
	struct value v, high;
	int rc = scope_exact(s, json, &v);

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
	rc = scope_result(s, 64, false, &high);
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
	int rc = modular ? scope_compile(s, operand, demand, &l) : scope_exact(s, operand, &l);

	if (rc == 0)
		rc = shift_amount(s, json_object_get(json, "right"), &amount, &most);
	if (rc < 0)
		return rc;
	bits = modular ? demand : left ? l.bits + most : l.bits;
	rc = scope_result(s, bits, !modular && l.is_signed, ret);
	if (rc < 0)
		return rc;
	ret->modular = modular;
	if (ret->slots == 1 && l.slots == 1) {
		emit(s->b, left ? OP_SHL : l.is_signed ? OP_SAR : OP_SHR, 0, ret->slot, l.slot, amount);
		return 0;
	}
	rc = scope_widen(s, &l, ret->slots, &w);
	if (rc == 0)
		emit(s->b, left ? OPW_SHL : l.is_signed ? OPW_SAR : OPW_SHR, ret->slots, ret->slot, w.slot, amount);
	return rc;
}

static uint32_t variable_field(struct scope *s, const json_t *json)
{
	const json_t *inner = expression_unwrap(json);
	const char *type = json_string_value(json_object_get(inner, "type")), *header, *name;
	char both_names[512];
	uint32_t index;

	if (!type || strcmp(type, "field") != 0 || expression_pair(json_object_get(inner, "value"), &header, &name) < 0)
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
		rc = scope_result(s, 1, false, ret);
		if (rc < 0)
			return rc;
		emit(s->b, OP_EQ_VARIABLE, 0, ret->slot, left, right);
		if (op[0] == '!')
			emit(s->b, OP_LOGNOT, 0, ret->slot, ret->slot, 0);
		return 0;
	}
	rc = both(s, json, 0, &l, &r);
	if (rc == 0)
		rc = scope_result(s, 1, false, ret);
	if (rc < 0)
		return rc;
	is_signed = l.is_signed || r.is_signed;
	slots = is_signed ? slots_for(larger(value_signed_bits(&l), value_signed_bits(&r)))
			  : (l.slots > r.slots ? l.slots : r.slots);
	if (slots > SLOTS_A_VALUE_MOST)
		return scope_too_wide(s, slots * 64);
	if (slots == 1) {
		enum op code = equality   ? (op[0] == '!' ? OP_NE : OP_EQ)
			       : or_equal ? (is_signed ? OP_LES : OP_LEU)
					  : (is_signed ? OP_LTS : OP_LTU);

		emit(s->b, code, 0, ret->slot, swap ? r.slot : l.slot, swap ? l.slot : r.slot);
		return 0;
	}
	rc = scope_widen(s, &l, slots, &wl);
	if (rc == 0)
		rc = scope_widen(s, &r, slots, &wr);
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
	int rc = scope_exact(s, json, &v);

	if (rc < 0)
		return rc;
	if (v.bits == 1 && !v.is_signed && v.slots == 1) {
		*ret = v;
		return 0;
	}
	rc = scope_result(s, 1, false, ret);
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
		rc = scope_result(s, 1, false, ret);
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
	const json_t *inner = expression_unwrap(json);
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
		rc = scope_compile(s, json_object_get(json, "left"), width, &v);
	if (rc == 0)
		rc = scope_result(s, width, true, ret);
	if (rc < 0)
		return rc;
	if (ret->slots == 1) {
		emit(s->b, OP_SEXT, width, ret->slot, v.slot, 0);
		return 0;
	}
	rc = scope_widen(s, &v, ret->slots, &w);
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
		rc = scope_exact(s, json_object_get(json, "left"), &v);
	if (rc < 0)
		return rc;
	slots = slots_for(larger(value_signed_bits(&v), width + 1));
	rc = scope_result(s, slots * 64, is_signed, ret);
	if (rc == 0)
		rc = scope_widen(s, &v, slots, &w);
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
	rc = scope_result(s, is_signed ? larger(value_signed_bits(&l), value_signed_bits(&r)) : larger(l.bits, r.bits),
			  is_signed, ret);
	if (rc == 0)
		rc = scope_widen(s, &l, ret->slots, &wl);
	if (rc == 0)
		rc = scope_widen(s, &r, ret->slots, &wr);
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

int scope_operation(struct scope *s, const json_t *json, uint32_t demand, struct value *ret)
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
		return scope_valid(s, json, ret);
	if (strcmp(op, "valid_union") == 0)
		return scope_valid_union(s, json, ret);
	if (strcmp(op, "access_field") == 0)
		return scope_access_field(s, json, ret);
	if (strcmp(op, "last_stack_index") == 0 || strcmp(op, "size_stack") == 0)
		return scope_stack_number(s, json, op[0] == 'l', ret);
	return js_refuse(s->owner, s->b->err, "operator '%s' is not supported", op);
}
