/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

/* Ingress and egress: tables and conditionals as code that jumps from one to the next. Checksums and the deparser. */

/* The nodes of one control: its tables first, then its conditionals, then its action calls. */
struct control {
	struct build *b;
	const json_t *json, *tables, *conditionals, *calls;
	json_t *names;
	uint32_t first_table, table_count, conditional_count, call_count;
	uint32_t *code;      /* where each node begins */
	uint32_t (*next)[2]; /* of a conditional: true, false; of a call: both; node numbers or NOWHERE */
	uint32_t *branch;    /* address of a conditional's two jumps, of a call's jump */
};

static int node_index(struct control *c, const json_t *name, const json_t *owner, uint32_t *ret)
{
	*ret = NOWHERE;
	if (!name || json_is_null(name))
		return 0;
	if (json_is_string(name))
		*ret = build_find(c->names, json_string_value(name));
	if (*ret == NOWHERE)
		return js_refuse(owner, c->b->err, "the control goes on at '%s', which there is not",
				 json_is_string(name) ? json_string_value(name) : "(not a string)");
	return 0;
}

static int table_next(struct control *c, const json_t *json, struct p4_table *t)
{
	const json_t *next = json_object_get(json, "next_tables");
	const json_t *hit = json_object_get(next, "__HIT__"), *miss = json_object_get(next, "__MISS__");
	int rc = node_index(c, json_object_get(json, "base_default_next"), json, &t->base_next);

	t->next_hit = t->next_miss = NOWHERE;
	t->by_hit = hit || miss;
	if (rc == 0 && t->by_hit) {
		rc = node_index(c, hit, json, &t->next_hit);
		if (rc == 0)
			rc = node_index(c, miss, json, &t->next_miss);
	}
	for (uint32_t i = 0; rc == 0 && i < t->action_count; i++) {
		const json_t *way = json_object_get(next, c->b->p->actions[t->actions[i]].name);

		if (way)
			rc = node_index(c, way, json, &t->next[i]);
		else
			t->next[i] = t->base_next;
	}
	return rc;
}

static int conditional(struct control *c, uint32_t i)
{
	const json_t *json = json_array_get(c->conditionals, i);
	uint32_t slot;
	int rc;

	c->b->temp = 0;
	rc = expression_slot(c->b, json_object_get(json, "expression"), json, &slot);
	if (rc == 0)
		rc = node_index(c, json_object_get(json, "true_next"), json, &c->next[i][0]);
	if (rc == 0)
		rc = node_index(c, json_object_get(json, "false_next"), json, &c->next[i][1]);
	c->branch[i] = emit(c->b, OP_JUMP_IFN, 0, 0, slot, 0);
	emit(c->b, OP_JUMP, 0, 0, 0, 0);
	return rc;
}

static int action_call(struct control *c, uint32_t i)
{
	const json_t *json = json_array_get(c->calls, i);
	uint32_t at = c->conditional_count + i, action;
	char id[24];
	int rc = node_index(c, json_object_get(json, "next_node"), json, &c->next[at][0]);

	if (rc < 0)
		return rc;
	snprintf(id, sizeof(id), "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(json, "action_id")));
	action = build_find(c->b->action_ids, id);
	if (action == NOWHERE || c->b->p->actions[action].param_count)
		return js_refuse(json, c->b->err, "the control calls action %s, which is none without parameters", id);
	c->next[at][1] = c->next[at][0];
	emit(c->b, OP_ACTION, 0, action, 0, 0);
	c->branch[at] = emit(c->b, OP_JUMP, 0, 0, 0, 0);
	return 0;
}

static uint32_t ways_of(const struct control *c, uint32_t node, uint32_t *ways)
{
	uint32_t n = 0;

	if (node >= c->table_count) {
		ways[n++] = c->next[node - c->table_count][0];
		ways[n++] = c->next[node - c->table_count][1];
		return n;
	}
	{
		const struct p4_table *t = &c->b->p->tables[c->first_table + node];

		ways[n++] = t->base_next;
		ways[n++] = t->next_hit;
		ways[n++] = t->next_miss;
		for (uint32_t i = 0; i < t->action_count; i++)
			ways[n++] = t->next[i];
	}
	return n;
}

/* A control that comes back to a node would never end. */
static int check_loops(struct control *c, uint32_t node, uint8_t *seen)
{
	uint32_t most = 4 + (node < c->table_count ? c->b->p->tables[c->first_table + node].action_count : 0);
	uint32_t *ways, count;
	int rc = 0;

	if (seen[node] == 2)
		return 0;
	if (seen[node] == 1)
		return js_refuse(c->json, c->b->err, "the control comes back to where it was, through '%s'",
				 node < c->table_count ? c->b->p->tables[c->first_table + node].name : "a condition");
	seen[node] = 1;
	ways = arena_array(&c->b->p->arena, most, sizeof(*ways));
	if (!ways)
		return err_set(c->b->err, ERR_HOST, ENOMEM, "out of memory");
	count = ways_of(c, node, ways);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		if (ways[i] != NOWHERE)
			rc = check_loops(c, ways[i], seen);
	seen[node] = 2;
	return rc;
}

static uint32_t address(const struct control *c, uint32_t node, uint32_t end)
{
	return node == NOWHERE ? end : c->code[node];
}

static void patch(struct control *c, uint32_t end)
{
	for (uint32_t i = 0; i < c->table_count; i++) {
		struct p4_table *t = &c->b->p->tables[c->first_table + i];

		t->base_next = address(c, t->base_next, end);
		t->next_hit = address(c, t->next_hit, end);
		t->next_miss = address(c, t->next_miss, end);
		for (uint32_t k = 0; k < t->action_count; k++)
			t->next[k] = address(c, t->next[k], end);
	}
	for (uint32_t i = 0; i < c->conditional_count; i++) {
		c->b->code.items[c->branch[i]].d = address(c, c->next[i][1], end);
		c->b->code.items[c->branch[i] + 1].d = address(c, c->next[i][0], end);
	}
	for (uint32_t i = 0; i < c->call_count; i++) {
		uint32_t at = c->conditional_count + i;

		c->b->code.items[c->branch[at]].d = address(c, c->next[at][0], end);
	}
}

static int name_nodes(struct control *c)
{
	const json_t *lists[] = { c->tables, c->conditionals, c->calls };
	uint32_t node = 0;

	for (size_t l = 0; l < 3; l++)
		for (size_t i = 0; i < json_array_size(lists[l]); i++) {
			const char *name;
			int rc =
				js_string(json_array_get(lists[l], i), "name", "a node of a control", &name, c->b->err);

			if (rc == 0)
				rc = build_name(c->b, c->names, name, node++, "node");
			if (rc < 0)
				return rc;
		}
	return 0;
}

static int load_nodes(struct control *c)
{
	struct build *b = c->b;
	int rc = name_nodes(c);

	for (uint32_t i = 0; rc == 0 && i < c->table_count; i++) {
		struct p4_table *t = &b->p->tables[c->first_table + i];

		rc = load_table(b, json_array_get(c->tables, i), t);
		if (rc == 0)
			rc = table_next(c, json_array_get(c->tables, i), t);
		if (rc == 0)
			rc = build_name(b, b->tables, t->name, c->first_table + i, "table");
		c->code[i] = emit(b, OP_APPLY, 0, c->first_table + i, 0, 0);
	}
	for (uint32_t i = 0; rc == 0 && i < c->conditional_count; i++) {
		c->code[c->table_count + i] = (uint32_t)b->code.count;
		rc = conditional(c, i);
	}
	for (uint32_t i = 0; rc == 0 && i < c->call_count; i++) {
		c->code[c->table_count + c->conditional_count + i] = (uint32_t)b->code.count;
		rc = action_call(c, i);
	}
	return rc;
}

static int load_control(struct build *b, const json_t *json, uint32_t first_table, uint32_t *ret_entry)
{
	struct arena *arena = &b->p->arena;
	struct control c = { .b = b, .json = json, .first_table = first_table };
	uint32_t others, nodes, init, end;
	uint8_t *seen;
	int rc = js_array(json, "tables", "a control", &c.tables, b->err);

	if (rc == 0)
		rc = js_array(json, "conditionals", "a control", &c.conditionals, b->err);
	if (rc < 0)
		return rc;
	c.calls = json_object_get(json, "action_calls");
	c.table_count = (uint32_t)json_array_size(c.tables);
	c.conditional_count = (uint32_t)json_array_size(c.conditionals);
	c.call_count = (uint32_t)json_array_size(c.calls);
	others = c.conditional_count + c.call_count;
	nodes = c.table_count + others;
	if (nodes > OBJECTS_MOST / 10)
		return js_refuse(json, b->err, "a control of %u nodes; at most %d are expected", nodes,
				 OBJECTS_MOST / 10);
	c.names = json_object();
	c.code = arena_array(arena, nodes + 1, sizeof(*c.code));
	c.next = arena_array(arena, others + 1, sizeof(*c.next));
	c.branch = arena_array(arena, others + 1, sizeof(*c.branch));
	seen = arena_array(arena, nodes + 1, 1);
	if (!c.names || !c.code || !c.next || !c.branch || !seen)
		rc = err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	if (rc == 0)
		rc = load_profiles(b, json);
	if (rc == 0)
		rc = load_nodes(&c);
	if (rc == 0)
		rc = node_index(&c, json_object_get(json, "init_table"), json, &init);
	for (uint32_t i = 0; rc == 0 && i < nodes; i++)
		rc = check_loops(&c, i, seen);
	if (rc == 0) {
		end = emit(b, OP_RETURN, 0, 0, 0, 0);
		patch(&c, end);
		*ret_entry = address(&c, init, end);
	}
	json_decref(c.names);
	return rc == 0 && emit_failed(b) ? -ENOMEM : rc;
}

static int load_pipelines(struct build *b)
{
	const json_t *list;
	uint32_t total = 0, done = 0;
	uint32_t *entry[2] = { &b->p->ingress, &b->p->egress };
	static const char *const names[2] = { "ingress", "egress" };
	const json_t *found[2] = { NULL, NULL };
	int rc = js_array(b->root, "pipelines", "the program", &list, b->err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(one, "name"));

		for (int k = 0; k < 2; k++)
			if (name && strcmp(name, names[k]) == 0)
				found[k] = one;
		total += (uint32_t)json_array_size(json_object_get(one, "tables"));
	}
	if (total > OBJECTS_MOST / 10)
		return err_set(b->err, ERR_USAGE, E2BIG, "the program has %u tables; at most %d are expected", total,
			       OBJECTS_MOST / 10);
	b->p->tables = arena_array(&b->p->arena, total + 1, sizeof(*b->p->tables));
	if (!b->p->tables)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (int k = 0; k < 2 && rc == 0; k++) {
		if (!found[k])
			return err_set(b->err, ERR_USAGE, EINVAL,
				       "the program has no control '%s': it is not for v1model", names[k]);
		rc = load_control(b, found[k], done, entry[k]);
		done += (uint32_t)json_array_size(json_object_get(found[k], "tables"));
		b->p->table_count = done;
	}
	return rc;
}

static int load_checksum(struct build *b, const json_t *json, struct p4_checksum *c)
{
	const char *type, *calculation;
	const json_t *condition = json_object_get(json, "if_cond");
	uint32_t slot;
	int rc = js_string(json, "type", "a checksum", &type, b->err);

	if (rc == 0)
		rc = js_string(json, "calculation", "a checksum", &calculation, b->err);
	if (rc == 0 && strcmp(type, "generic") != 0)
		return js_refuse(json, b->err, "a checksum of type '%s' is not supported", type);
	if (rc == 0)
		rc = field_reference(b, json_object_get(json, "target"), json, &c->field, &slot);
	if (rc < 0)
		return rc;
	c->calculation = build_find(b->calculations, calculation);
	if (c->calculation == NOWHERE || c->field == NOWHERE || b->p->fields[c->field].slots != 1)
		return js_refuse(json, b->err, "a checksum needs a calculation and a field of at most 64 bits");
	c->condition = NOWHERE;
	if (!condition || json_is_null(condition))
		return 0;
	c->condition = (uint32_t)b->code.count;
	b->temp = 0;
	rc = expression_slot(b, condition, json, &c->condition_slot);
	emit(b, OP_RETURN, 0, 0, 0, 0);
	return rc;
}

static int load_checksums(struct build *b)
{
	const json_t *list = json_object_get(b->root, "checksums");
	size_t count = json_array_size(list);
	int rc = 0;

	b->p->verify = arena_array(&b->p->arena, count + 1, sizeof(*b->p->verify));
	b->p->update = arena_array(&b->p->arena, count + 1, sizeof(*b->p->update));
	if (!b->p->verify || !b->p->update)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const json_t *json = json_array_get(list, i);
		const json_t *update = json_object_get(json, "update"), *verify = json_object_get(json, "verify");
		struct p4_checksum c;

		rc = load_checksum(b, json, &c);
		if (rc == 0 && !json_is_false(update))
			b->p->update[b->p->update_count++] = c;
		if (rc == 0 && !json_is_false(verify))
			b->p->verify[b->p->verify_count++] = c;
	}
	return rc;
}

static int load_deparser(struct build *b)
{
	const json_t *list, *order;
	int rc = js_array(b->root, "deparsers", "the program", &list, b->err);

	if (rc < 0)
		return rc;
	if (json_array_size(list) != 1)
		return err_set(b->err, ERR_USAGE, EINVAL, "the program has %zu deparsers; v1model has one",
			       json_array_size(list));
	if (json_array_size(json_object_get(json_array_get(list, 0), "primitives")))
		return js_refuse(json_array_get(list, 0), b->err,
				 "a deparser that does more than emit is not supported");
	rc = js_array(json_array_get(list, 0), "order", "the deparser", &order, b->err);
	if (rc < 0)
		return rc;
	b->p->deparse_count = (uint32_t)json_array_size(order);
	b->p->deparse = arena_array(&b->p->arena, b->p->deparse_count + 1, sizeof(*b->p->deparse));
	if (!b->p->deparse)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; rc == 0 && i < b->p->deparse_count; i++)
		rc = header_reference(b, json_array_get(order, i), json_array_get(list, 0), &b->p->deparse[i]);
	return rc;
}

int load_controls(struct build *b)
{
	int rc = load_pipelines(b);

	if (rc == 0)
		rc = load_checksums(b);
	if (rc == 0)
		rc = load_deparser(b);
	return rc;
}
