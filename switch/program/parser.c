/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

/* The parser: each state is its operations and a select or a jump. States call each other by address, patched last. */

struct states {
	struct build *b;
	const json_t *list;
	json_t *names;
	uint32_t count;
	uint32_t *code;    /* where each begins */
	bool *takes;       /* extracts or advances: a loop through it ends with the packet */
	uint32_t *selects; /* its select, or NOWHERE */
	uint32_t *next;    /* where it goes without a select, or NOWHERE: accept */
	uint32_t *jumps;   /* address of the jump to patch */
};

static int state_index(struct states *s, const json_t *name, const json_t *owner, uint32_t *ret)
{
	if (json_is_null(name) || !name) {
		*ret = NOWHERE;
		return 0;
	}
	*ret = json_is_string(name) ? build_find(s->names, json_string_value(name)) : NOWHERE;
	if (*ret == NOWHERE)
		return js_refuse(owner, s->b->err, "there is no parser state '%s'",
				 json_is_string(name) ? json_string_value(name) : "(not a string)");
	return 0;
}

static int stack_of(struct build *b, const json_t *name, const json_t *owner, bool of_unions, uint32_t *ret)
{
	*ret = json_is_string(name) ? build_find(b->stacks, json_string_value(name)) : NOWHERE;
	if (*ret == NOWHERE || (b->p->stacks[*ret].unions != NULL) != of_unions)
		return js_refuse(owner, b->err, "there is no such header stack '%s'",
				 json_is_string(name) ? json_string_value(name) : "(not a string)");
	return 0;
}

/* [union stack, member name]: the member's place in each union */
static int union_member(struct build *b, const json_t *value, const json_t *owner, uint32_t *ret_stack,
			uint32_t *ret_member)
{
	const char *member = json_string_value(json_array_get(value, 1));
	const json_t *types = json_object_get(b->root, "header_union_types");
	const json_t *unions = json_object_get(b->root, "header_unions");
	const char *type_name;
	int rc = stack_of(b, json_array_get(value, 0), owner, true, ret_stack);

	if (rc < 0)
		return rc;
	type_name = json_string_value(
		json_object_get(json_array_get(unions, b->p->stacks[*ret_stack].unions[0]), "union_type"));
	for (size_t i = 0; member && type_name && i < json_array_size(types); i++) {
		const json_t *type = json_array_get(types, i), *headers = json_object_get(type, "headers");
		const char *name = json_string_value(json_object_get(type, "name"));

		if (!name || strcmp(name, type_name) != 0)
			continue;
		for (size_t k = 0; k < json_array_size(headers); k++) {
			const char *have = json_string_value(json_array_get(json_array_get(headers, k), 0));

			if (have && strcmp(have, member) == 0 &&
			    k < b->p->unions[b->p->stacks[*ret_stack].unions[0]].header_count) {
				*ret_member = (uint32_t)k;
				return 0;
			}
		}
	}
	return js_refuse(owner, b->err, "the unions of this stack have no member '%s'", member ? member : "(no name)");
}

static int extract(struct build *b, const json_t *op, const json_t *params, bool variable)
{
	const json_t *first = json_array_get(params, 0), *value = json_object_get(first, "value");
	const char *type = json_string_value(json_object_get(first, "type"));
	uint32_t length = NOWHERE, header, stack, member = 0;
	int rc = 0;

	if (!type)
		return js_refuse(op, b->err, "an extraction needs a header");
	if (variable)
		rc = expression_slot(b, json_array_get(params, 1), op, &length);
	if (rc < 0)
		return rc;
	if (strcmp(type, "regular") == 0) {
		rc = header_reference(b, value, op, &header);
		if (rc == 0 && variable != (b->p->headers[header].variable != NOWHERE))
			return js_refuse(op, b->err, "header '%s' %s a variable length", b->p->headers[header].name,
					 variable ? "has not" : "has");
		if (rc == 0)
			emit(b, variable ? OP_EXTRACT_VARIABLE : OP_EXTRACT, 0, header, length, 0);
	} else if (strcmp(type, "stack") == 0) {
		rc = stack_of(b, value, op, false, &stack);
		if (rc == 0 && variable != (b->p->headers[b->p->stacks[stack].first_header].variable != NOWHERE))
			return js_refuse(op, b->err, "the headers of '%s' %s a variable length",
					 b->p->stacks[stack].name, variable ? "have not" : "have");
		if (rc == 0)
			emit(b, OP_EXTRACT_NEXT, 0, stack, length, 0);
	} else if (strcmp(type, "union_stack") == 0) {
		rc = union_member(b, value, op, &stack, &member);
		if (rc == 0 &&
		    variable != (b->p->headers[b->p->unions[b->p->stacks[stack].unions[0]].headers[member]].variable !=
				 NOWHERE))
			return js_refuse(op, b->err, "this member %s a variable length", variable ? "has not" : "has");
		if (rc == 0)
			emit(b, OP_EXTRACT_UNION, 0, stack, length, member);
	} else {
		return js_refuse(op, b->err, "an extraction into '%s' is not supported", type);
	}
	return rc;
}

static int set(struct build *b, const json_t *op, const json_t *params)
{
	json_t *as_assign = json_pack("{s:s, s:O}", "op", "assign", "parameters", params);
	const json_t *info = json_object_get(op, "source_info");
	int rc;

	if (!as_assign)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	if (info)
		json_object_set(as_assign, "source_info", (json_t *)(uintptr_t)info);
	rc = primitive(b, as_assign);
	json_decref(as_assign);
	return rc;
}

static int operation(struct states *s, uint32_t index, const json_t *op)
{
	struct build *b = s->b;
	const json_t *params;
	const char *name;
	uint32_t first, second;
	int rc = js_string(op, "op", "a parser operation", &name, b->err);

	if (rc == 0)
		rc = js_array(op, "parameters", name, &params, b->err);
	if (rc < 0)
		return rc;
	b->temp = 0;
	if (strcmp(name, "extract") == 0 || strcmp(name, "extract_VL") == 0) {
		s->takes[index] = true;
		return extract(b, op, params, name[7] == '_');
	}
	if (strcmp(name, "set") == 0)
		return set(b, op, params);
	if (strcmp(name, "primitive") == 0)
		return primitive(b, json_array_get(params, 0));
	if (strcmp(name, "verify") == 0) {
		rc = expression_slot(b, json_array_get(params, 0), op, &first);
		if (rc == 0)
			rc = expression_slot(b, json_array_get(params, 1), op, &second);
		if (rc == 0)
			emit(b, OP_VERIFY, 0, 0, first, second);
		return rc;
	}
	if (strcmp(name, "advance") == 0) {
		s->takes[index] = true;
		rc = expression_slot(b, json_array_get(params, 0), op, &first);
		if (rc == 0)
			emit(b, OP_ADVANCE, 0, 0, first, 0);
		return rc;
	}
	return js_refuse(op, b->err, "parser operation '%s' is not supported", name);
}

/* Values are the keys' bytes one after the other, each padded to whole bytes; ours are words a key. */
static int case_words(struct build *b, const char *hex, const struct p4_select *sel, const json_t *owner, uint64_t *ret)
{
	char digits[2 * SLOTS_A_VALUE_MOST * 8 + 3];
	size_t total = 0, at = 0, have;

	for (uint32_t i = 0; i < sel->key_count; i++)
		total += (sel->key_bits[i] + 7) / 8 * 2;
	if (hex[0] == '0' && (hex[1] == 'x' || hex[1] == 'X'))
		hex += 2;
	have = strlen(hex);
	while (have > total && *hex == '0')
		hex++, have--;
	if (have > total)
		return js_refuse(owner, b->err, "a select value of %zu digits; its keys have %zu", have, total);
	at = total - have; /* leading zeros that are not written */
	for (uint32_t i = 0; i < sel->key_count; i++) {
		size_t want = (sel->key_bits[i] + 7) / 8 * 2, n = 0;
		uint32_t bits;
		bool negative;

		for (; n < want; n++) {
			digits[n] = at ? '0' : *hex;
			if (at)
				at--;
			else
				hex++;
		}
		digits[n] = '\0';
		if (js_hex(digits, ret + sel->word[i], slots_for(sel->key_bits[i]), &bits, &negative) < 0)
			return js_refuse(owner, b->err, "a select value that is no number");
	}
	return 0;
}

static int load_case(struct states *s, const json_t *json, const json_t *state, struct p4_select *sel,
		     struct p4_case *c)
{
	struct build *b = s->b;
	const json_t *value = json_object_get(json, "value"), *mask = json_object_get(json, "mask");
	const char *type;
	int rc = js_string(json, "type", "a transition", &type, b->err);

	if (rc == 0)
		rc = state_index(s, json_object_get(json, "next_state"), state, &c->target);
	if (rc < 0)
		return rc;
	c->kind = CASE_DEFAULT;
	if (strcmp(type, "default") == 0)
		return 0;
	if (json_is_string(mask)) {
		c->mask = arena_array(&b->p->arena, sel->words + 1, sizeof(*c->mask));
		if (!c->mask)
			return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
		rc = case_words(b, json_string_value(mask), sel, state, c->mask);
		if (rc < 0)
			return rc;
	}
	if (strcmp(type, "parse_vset") == 0) {
		c->kind = CASE_SET;
		c->set = json_is_string(value) ? build_find(b->value_sets, json_string_value(value)) : NOWHERE;
		if (c->set == NOWHERE)
			return js_refuse(state, b->err, "there is no value set '%s'",
					 json_is_string(value) ? json_string_value(value) : "(not a string)");
		b->p->value_sets[c->set].select = (uint32_t)b->selects.count;
		return 0;
	}
	if (strcmp(type, "hexstr") != 0 || !json_is_string(value))
		return js_refuse(state, b->err, "a transition of type '%s' is not supported", type);
	c->kind = CASE_VALUE;
	c->value = arena_array(&b->p->arena, sel->words + 1, sizeof(*c->value));
	if (!c->value)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	rc = case_words(b, json_string_value(value), sel, state, c->value);
	for (uint32_t w = 0; rc == 0 && c->mask && w < sel->words; w++)
		c->value[w] &= c->mask[w];
	return rc;
}

static int load_select(struct states *s, uint32_t index, const json_t *state, const json_t *keys,
		       const json_t *transitions)
{
	struct build *b = s->b;
	struct arena *arena = &b->p->arena;
	struct p4_select sel = { .key_count = (uint32_t)json_array_size(keys),
				 .case_count = (uint32_t)json_array_size(transitions) };
	uint32_t total_bits = 0;
	int rc = 0;

	sel.keys = arena_array(arena, sel.key_count + 1, sizeof(*sel.keys));
	sel.key_bits = arena_array(arena, sel.key_count + 1, sizeof(*sel.key_bits));
	sel.word = arena_array(arena, sel.key_count + 1, sizeof(*sel.word));
	sel.cases = arena_array(arena, sel.case_count + 1, sizeof(*sel.cases));
	if (!sel.keys || !sel.key_bits || !sel.word || !sel.cases)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	b->temp = 0;
	for (uint32_t i = 0; rc == 0 && i < sel.key_count; i++) {
		struct value v;

		rc = expression(b, json_array_get(keys, i), state, 0, &v);
		if (rc < 0)
			return rc;
		sel.keys[i] = v.slot;
		sel.key_bits[i] = v.bits ? v.bits : 1;
		sel.word[i] = sel.words;
		sel.words += slots_for(v.bits);
		total_bits += v.bits;
	}
	if (total_bits > SLOTS_A_VALUE_MOST * 64 || sel.words > SLOTS_A_VALUE_MOST)
		return js_refuse(state, b->err, "a select over %u bits; at most %d are supported", total_bits,
				 SLOTS_A_VALUE_MOST * 64);
	for (uint32_t i = 0; rc == 0 && i < sel.case_count; i++)
		rc = load_case(s, json_array_get(transitions, i), state, &sel, &sel.cases[i]);
	if (rc < 0)
		return rc;
	s->selects[index] = (uint32_t)b->selects.count;
	emit(b, OP_SELECT, 0, s->selects[index], 0, 0);
	return vec_push(&b->selects, sel) < 0 ? err_set(b->err, ERR_HOST, ENOMEM, "out of memory") : 0;
}

static int load_state(struct states *s, uint32_t index)
{
	struct build *b = s->b;
	const json_t *state = json_array_get(s->list, index), *ops, *keys, *transitions, *only;
	const char *name = json_string_value(json_object_get(state, "name"));
	int rc = js_array(state, "parser_ops", name, &ops, b->err);

	if (rc == 0)
		rc = js_array(state, "transition_key", name, &keys, b->err);
	if (rc == 0)
		rc = js_array(state, "transitions", name, &transitions, b->err);
	s->code[index] = (uint32_t)b->code.count;
	s->selects[index] = s->next[index] = NOWHERE;
	for (size_t i = 0; rc == 0 && i < json_array_size(ops); i++)
		rc = operation(s, index, json_array_get(ops, i));
	if (rc < 0)
		return rc;
	only = json_array_get(transitions, 0);
	if (json_array_size(keys) == 0 && json_array_size(transitions) <= 1) {
		rc = only ? state_index(s, json_object_get(only, "next_state"), state, &s->next[index]) : 0;
		s->jumps[index] = emit(b, OP_JUMP, 0, 0, 0, 0);
	} else {
		rc = load_select(s, index, state, keys, transitions);
	}
	return rc == 0 && emit_failed(b) ? -ENOMEM : rc;
}

/* A loop in which no state takes a bit of the packet would never end. Depth first over states that take nothing. */
static int check_loops(struct states *s, uint32_t index, uint8_t *seen)
{
	const struct p4_select *sel = s->selects[index] == NOWHERE ? NULL : &s->b->selects.items[s->selects[index]];
	uint32_t ways = sel ? sel->case_count : 1;

	if (seen[index] == 2 || s->takes[index])
		return 0;
	if (seen[index] == 1)
		return js_refuse(json_array_get(s->list, index), s->b->err,
				 "the parser can go round through state '%s' for ever: no state on the way takes "
				 "anything from the packet",
				 json_string_value(json_object_get(json_array_get(s->list, index), "name")));
	seen[index] = 1;
	for (uint32_t i = 0; i < ways; i++) {
		uint32_t to = sel ? sel->cases[i].target : s->next[index];
		int rc = to == NOWHERE ? 0 : check_loops(s, to, seen);

		if (rc < 0)
			return rc;
	}
	seen[index] = 2;
	return 0;
}

static void patch(struct states *s, uint32_t accept)
{
	for (uint32_t i = 0; i < s->count; i++) {
		if (s->selects[i] == NOWHERE) {
			s->b->code.items[s->jumps[i]].d = s->next[i] == NOWHERE ? accept : s->code[s->next[i]];
			continue;
		}
		for (uint32_t k = 0; k < s->b->selects.items[s->selects[i]].case_count; k++) {
			struct p4_case *c = &s->b->selects.items[s->selects[i]].cases[k];

			c->target = c->target == NOWHERE ? accept : s->code[c->target];
		}
	}
}

static int load_states(struct states *s, const json_t *parser)
{
	struct build *b = s->b;
	uint8_t *seen = arena_array(&b->p->arena, s->count + 1, 1);
	uint32_t start, accept;
	int rc = 0;

	if (!seen)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; rc == 0 && i < s->count; i++) {
		const char *name;

		rc = js_string(json_array_get(s->list, i), "name", "a parser state", &name, b->err);
		if (rc == 0)
			rc = build_name(b, s->names, name, i, "parser state");
	}
	if (rc == 0)
		rc = state_index(s, json_object_get(parser, "init_state"), parser, &start);
	accept = emit(b, OP_ACCEPT, 0, 0, 0, 0);
	for (uint32_t i = 0; rc == 0 && i < s->count; i++)
		rc = load_state(s, i);
	for (uint32_t i = 0; rc == 0 && i < s->count; i++)
		rc = check_loops(s, i, seen);
	if (rc < 0)
		return rc;
	patch(s, accept);
	b->p->parser = start == NOWHERE ? accept : s->code[start];
	return 0;
}

int load_parser(struct build *b)
{
	const json_t *parsers, *parser;
	struct arena *arena = &b->p->arena;
	struct states s = { .b = b };
	int rc = js_array(b->root, "parsers", "the program", &parsers, b->err);

	if (rc < 0)
		return rc;
	if (json_array_size(parsers) != 1)
		return err_set(b->err, ERR_USAGE, EINVAL, "the program has %zu parsers; v1model has one",
			       json_array_size(parsers));
	parser = json_array_get(parsers, 0);
	rc = js_array(parser, "parse_states", "the parser", &s.list, b->err);
	if (rc < 0)
		return rc;
	s.count = (uint32_t)json_array_size(s.list);
	if (s.count > OBJECTS_MOST / 10)
		return err_set(b->err, ERR_USAGE, E2BIG, "the parser has %u states; at most %d are expected", s.count,
			       OBJECTS_MOST / 10);
	s.names = json_object();
	s.code = arena_array(arena, s.count + 1, sizeof(*s.code));
	s.takes = arena_array(arena, s.count + 1, sizeof(*s.takes));
	s.selects = arena_array(arena, s.count + 1, sizeof(*s.selects));
	s.next = arena_array(arena, s.count + 1, sizeof(*s.next));
	s.jumps = arena_array(arena, s.count + 1, sizeof(*s.jumps));
	if (!s.names || !s.code || !s.takes || !s.selects || !s.next || !s.jumps)
		rc = err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	else
		rc = load_states(&s, parser);
	json_decref(s.names);
	return rc;
}
