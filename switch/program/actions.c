/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

/* Actions: primitives in order, with jumps by their number. */

static int jump(struct build *b, const json_t *json, const char *op, size_t primitive_count)
{
	const json_t *params = json_object_get(json, "parameters");
	bool conditional = strcmp(op, "_jump_if_zero") == 0;
	const char *text = json_string_value(json_object_get(json_array_get(params, conditional ? 1 : 0), "value"));
	uint32_t condition = 0, bits;
	uint64_t target;
	bool negative;
	int rc = 0;

	b->temp = 0;
	if (!text || js_hex(text, &target, 1, &bits, &negative) < 0 || negative || target > primitive_count)
		return js_refuse(json, b->err,
				 "a jump inside an action goes to a constant number of primitive, at most %zu",
				 primitive_count);
	if (conditional)
		rc = expression_slot(b, json_array_get(params, 0), json, &condition);
	if (rc == 0)
		emit(b, conditional ? OP_JUMP_IFN : OP_JUMP, 1, (uint32_t)target, condition, 0);
	return rc;
}

static int load_action(struct build *b, const json_t *json, struct p4_action *a)
{
	const json_t *list;
	uint32_t *at, i;
	size_t count;
	int rc = js_array(json, "primitives", a->name, &list, b->err);

	if (rc < 0)
		return rc;
	count = json_array_size(list);
	at = arena_array(&b->p->arena, count + 1, sizeof(*at));
	if (!at)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	b->action = a;
	a->code = (uint32_t)b->code.count;
	for (i = 0; rc == 0 && i < count; i++) {
		const json_t *one = json_array_get(list, i);
		const char *op = json_string_value(json_object_get(one, "op"));

		at[i] = (uint32_t)b->code.count;
		if (op && (strcmp(op, "_jump") == 0 || strcmp(op, "_jump_if_zero") == 0)) {
			rc = jump(b, one, op, count);
		} else {
			rc = primitive(b, one);
		}
	}
	b->action = NULL;
	if (rc < 0)
		return rc;
	at[count] = (uint32_t)b->code.count;
	/* our own jumps carry n = 1 until their numbers are addresses */
	for (uint32_t k = a->code; k < b->code.count; k++) {
		struct insn *insn = &b->code.items[k];

		if ((insn->op == OP_JUMP || insn->op == OP_JUMP_IFN) && insn->n == 1) {
			insn->d = at[insn->d];
			insn->n = 0;
		}
	}
	emit(b, OP_RETURN, 0, 0, 0, 0);
	return emit_failed(b) ? -ENOMEM : 0;
}

int load_actions(struct build *b)
{
	const json_t *json = json_object_get(b->root, "actions");
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < b->p->action_count; i++)
		rc = load_action(b, json_array_get(json, i), &b->p->actions[i]);
	return rc;
}
