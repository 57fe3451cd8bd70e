/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_PROGRAM_EXPRESSION_PRIVATE_H
#define TARE_SWITCH_PROGRAM_EXPRESSION_PRIVATE_H

#include "program/build.h"

/* What expression.c (leaves, headers, the way in) and operators.c share. */
struct scope {
	struct build *b;
	const json_t *owner;
	unsigned depth;
};

static inline uint32_t value_signed_bits(const struct value *v)
{
	return v->bits + (v->is_signed ? 0 : 1);
}

static inline uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Any expression, exactly (demand 0) or in its low `demand` bits; and exactly whatever it is. */
int scope_compile(struct scope *s, const json_t *json, uint32_t demand, struct value *ret);
int scope_exact(struct scope *s, const json_t *json, struct value *ret);
int scope_operation(struct scope *s, const json_t *json, uint32_t demand, struct value *ret);

/* A fresh temporary for a result of `bits`. */
int scope_result(struct scope *s, uint32_t bits, bool is_signed, struct value *ret);
int scope_widen(struct scope *s, const struct value *v, uint32_t slots, struct value *ret);
int scope_settle(struct scope *s, struct value *v);
int scope_too_wide(struct scope *s, uint32_t bits);

/* The object inside {"type": "expression", "value": ...} wrappers. */
const json_t *expression_unwrap(const json_t *json);

/* [first, second], both strings: 0, or -EINVAL. */
int expression_pair(const json_t *json, const char **first, const char **second);

/* Operators on headers and stacks. */
int scope_access_field(struct scope *s, const json_t *json, struct value *ret);
int scope_stack_number(struct scope *s, const json_t *json, bool last, struct value *ret);
int scope_valid(struct scope *s, const json_t *json, struct value *ret);
int scope_valid_union(struct scope *s, const json_t *json, struct value *ret);

#endif
