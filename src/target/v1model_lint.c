/* SPDX-License-Identifier: Apache-2.0 */
#include "target/v1model_lint.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	FINDINGS_MOST = 256,
	STAMPS_MOST = 256,
	ROUNDS_MOST = 16, /* assignments from field to field to field */
	DEPTH_MOST = 200, /* of an expression */
	STAMP_BITS = 48,
};

/* Which of the two stamps a value is; NEITHER may be a stamp's difference, which is a duration and fits less. */
enum stamp { NEITHER = 0, INGRESS = 1, EGRESS = 2 };

/* A field that a stamp has been put into. */
struct holder {
	const char *header, *field;
	unsigned stamps; /* of enum stamp */
};

struct lint {
	const char *where;
	json_t *root;
	struct holder holders[STAMPS_MOST];
	uint32_t holder_count;
	unsigned read; /* stamps that are looked at somewhere */
	struct lint_findings *findings;
	bool full, no_memory;
};

/* Through a list, or nothing where there is none. */
#define EACH(list, i, item) for (size_t i = 0; i < json_array_size(list) && ((item) = json_array_get(list, i)); i++)

/* --- reading the JSON, whatever it holds --- */

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static json_t *list_of(const json_t *o, const char *key)
{
	json_t *a = json_object_get(o, key);

	return json_is_array(a) ? a : NULL;
}

static const char *name_at(const json_t *pair, size_t i)
{
	const char *s = json_string_value(json_array_get(pair, i));

	return s ? s : "";
}

static const char *place_of(struct lint *l, const json_t *o)
{
	const json_t *source = json_object_get(o, "source_info");
	const json_t *line = json_object_get(source, "line");
	const char *place;

	if (!json_is_integer(line))
		return l->where;
	place = arena_printf(&l->findings->arena, "%s:%lld", text_of(source, "filename"),
			     (long long)json_integer_value(line));
	l->no_memory = l->no_memory || !place;
	return place ? place : l->where;
}

__attribute__((format(printf, 4, 5))) static void find(struct lint *l, enum lint_kind kind, const json_t *at,
						       const char *fmt, ...)
{
	struct lint_findings *f = l->findings;
	const char *where = at ? place_of(l, at) : l->where;
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (uint32_t i = 0; i < f->count; i++)
		if (f->items[i].kind == kind && strcmp(f->items[i].where, where) == 0 &&
		    strcmp(f->items[i].message, text) == 0)
			return;
	if (f->count == FINDINGS_MOST) {
		l->full = true;
		return;
	}
	f->items[f->count] = (struct lint_finding){ kind, where, arena_strdup(&f->arena, text) };
	l->no_memory = l->no_memory || !f->items[f->count].message;
	f->count++;
}

/* --- stamps and where they go --- */

static unsigned stamps_of_field(const struct lint *l, const json_t *pair)
{
	const char *header = name_at(pair, 0), *field = name_at(pair, 1);

	if (strcmp(field, "ingress_global_timestamp") == 0)
		return INGRESS;
	if (strcmp(field, "egress_global_timestamp") == 0)
		return EGRESS;
	for (uint32_t i = 0; i < l->holder_count; i++)
		if (strcmp(l->holders[i].header, header) == 0 && strcmp(l->holders[i].field, field) == 0)
			return l->holders[i].stamps;
	return NEITHER;
}

/* Is it the field of the queue's 32-bit stamp? */
static bool of_queue(const json_t *pair)
{
	return strcmp(name_at(pair, 1), "enq_timestamp") == 0;
}

/* Any stamp that a value or expression looks at, differences too; *ret_queue: the queue's stamp is among them. */
static unsigned looked_at(const struct lint *l, const json_t *v, int depth, bool *ret_queue)
{
	unsigned stamps = NEITHER;
	json_t *member;

	if (depth > DEPTH_MOST)
		return NEITHER;
	if (json_is_object(v)) {
		const json_t *pair = json_object_get(v, "value");

		if (strcmp(text_of(v, "type"), "field") == 0 && json_is_array(pair)) {
			*ret_queue = *ret_queue || of_queue(pair);
			return stamps_of_field(l, pair);
		}
		for (void *at = json_object_iter((json_t *)v); at; at = json_object_iter_next((json_t *)v, at))
			stamps |= looked_at(l, json_object_iter_value(at), depth + 1, ret_queue);
	} else if (json_is_array(v)) {
		EACH (v, i, member) {
			stamps |= looked_at(l, member, depth + 1, ret_queue);
		}
	}
	return stamps;
}

/* The stamps that an expression *is*: one less another is none. */
static unsigned is_stamp(const struct lint *l, const json_t *v, int depth)
{
	const char *type = text_of(v, "type"), *op;
	const json_t *value = json_object_get(v, "value");
	unsigned left, right;

	if (depth > DEPTH_MOST)
		return NEITHER;
	if (strcmp(type, "field") == 0)
		return stamps_of_field(l, value);
	if (strcmp(type, "expression") == 0 && json_is_object(value))
		return is_stamp(l, value, depth + 1);
	if (!json_object_get(v, "op"))
		return NEITHER;
	op = text_of(v, "op");
	left = is_stamp(l, json_object_get(v, "left"), depth + 1);
	right = is_stamp(l, json_object_get(v, "right"), depth + 1);
	if (strcmp(op, "-") == 0 && left && right)
		return NEITHER;
	if (strcmp(op, "?") == 0 || strchr("+-*&|^", op[0]) || strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0)
		return left | right;
	return NEITHER; /* comparisons and the like */
}

static int bits_of(const struct lint *l, const char *header, const char *field)
{
	const char *type = "";
	json_t *h, *t, *f;

	EACH (list_of(l->root, "headers"), i, h)
		if (strcmp(text_of(h, "name"), header) == 0)
			type = text_of(h, "header_type");
	EACH (list_of(l->root, "header_types"), i, t) {
		if (strcmp(text_of(t, "name"), type) != 0)
			continue;
		EACH (list_of(t, "fields"), k, f)
			if (strcmp(name_at(f, 0), field) == 0)
				return (int)json_integer_value(json_array_get(f, 1));
	}
	return 0;
}

/* An assignment of a stamp makes its destination a holder. Returns whether that was new. */
static bool hold(struct lint *l, const json_t *destination, unsigned stamps)
{
	const json_t *pair = json_object_get(destination, "value");

	if (!stamps || strcmp(text_of(destination, "type"), "field") != 0 ||
	    (stamps_of_field(l, pair) & stamps) == stamps)
		return false;
	for (uint32_t i = 0; i < l->holder_count; i++)
		if (strcmp(l->holders[i].header, name_at(pair, 0)) == 0 &&
		    strcmp(l->holders[i].field, name_at(pair, 1)) == 0) {
			l->holders[i].stamps |= stamps;
			return true;
		}
	if (l->holder_count == STAMPS_MOST) {
		l->full = true;
		return false;
	}
	l->holders[l->holder_count++] = (struct holder){ name_at(pair, 0), name_at(pair, 1), stamps };
	return true;
}

static void follow(struct lint *l)
{
	json_t *action, *p;
	bool moved = true;

	for (int round = 0; moved && round < ROUNDS_MOST; round++) {
		moved = false;
		EACH (list_of(l->root, "actions"), i, action)
			EACH (list_of(action, "primitives"), k, p) {
				const json_t *parameters = json_object_get(p, "parameters");

				if (strcmp(text_of(p, "op"), "assign") == 0)
					moved |= hold(l, json_array_get(parameters, 0),
						      is_stamp(l, json_array_get(parameters, 1), 0));
			}
	}
}

/* --- findings --- */

static const char *stamp_name(unsigned stamps)
{
	return stamps == (INGRESS | EGRESS) ? "both stamps"
	       : stamps == EGRESS           ? "the egress stamp"
					    : "the ingress stamp";
}

static void check_assignment(struct lint *l, const json_t *p)
{
	const json_t *parameters = json_object_get(p, "parameters"), *to = json_array_get(parameters, 0);
	const json_t *pair = json_object_get(to, "value");
	unsigned stamps = is_stamp(l, json_array_get(parameters, 1), 0);
	int bits = bits_of(l, name_at(pair, 0), name_at(pair, 1));

	if (stamps && bits > 0 && bits < STAMP_BITS)
		find(l, LINT_NARROW, p, "%s is put into %s.%s, of %d bits: it wraps every %.3g s, and needs %d bits",
		     stamp_name(stamps), name_at(pair, 0), name_at(pair, 1), bits, (double)(1ULL << bits) / 1e6,
		     STAMP_BITS);
}

static void check_primitive(struct lint *l, const json_t *p, bool at_ingress)
{
	const char *op = text_of(p, "op");
	const json_t *parameters = json_object_get(p, "parameters");
	bool assigns = strcmp(op, "assign") == 0, queue = false;
	unsigned seen =
		assigns ? looked_at(l, json_array_get(parameters, 1), 0, &queue) : looked_at(l, parameters, 0, &queue);

	l->read |= seen;
	if (queue)
		find(l, LINT_NARROW, p,
		     "enq_timestamp has 32 bits of us and wraps every 4290 s; ingress_global_timestamp and "
		     "egress_global_timestamp have 48");
	if (assigns)
		check_assignment(l, p);
	if (at_ingress && (seen & EGRESS))
		find(l, LINT_EARLY, p,
		     "the egress stamp is read at ingress, where the switch has not taken it yet: it is zero, or "
		     "another "
		     "round's");
	if (strcmp(op, "clone_ingress_pkt_to_egress") == 0)
		find(l, LINT_CLONED, p,
		     "packets may be cloned at ingress: the clone's egress stamp is its own, and its ingress stamp "
		     "zero "
		     "unless its field list keeps it");
	if (strcmp(op, "clone_egress_pkt_to_egress") == 0)
		find(l, LINT_CLONED, p,
		     "packets may be cloned at egress: the clone passes egress once more, with an egress stamp of its "
		     "own, "
		     "and its ingress stamp is zero unless its field list keeps it");
	if (strcmp(op, "recirculate") == 0)
		find(l, LINT_RECIRCULATED, p,
		     "packets may be recirculated: their stamps are of the last round, and the time of the rounds "
		     "before is "
		     "in no latency");
	if (strcmp(op, "resubmit") == 0)
		find(l, LINT_RECIRCULATED, p,
		     "packets may be resubmitted: the first round is part of the latency from ingress to egress");
}

/* Does a pipeline run the action, by a table of its own? */
static bool runs(const json_t *pipeline, json_int_t action)
{
	json_t *table, *id;

	EACH (list_of(pipeline, "tables"), i, table)
		EACH (list_of(table, "action_ids"), k, id)
			if (json_integer_value(id) == action)
				return true;
	return false;
}

static const json_t *pipeline_of(const struct lint *l, const char *name)
{
	json_t *pipeline;

	EACH (list_of(l->root, "pipelines"), i, pipeline)
		if (strcmp(text_of(pipeline, "name"), name) == 0)
			return pipeline;
	return NULL;
}

/* Conditions and keys look at stamps too. */
static void check_rest(struct lint *l, const json_t *pipeline, bool at_ingress)
{
	json_t *part;

	EACH (list_of(pipeline, "conditionals"), i, part) {
		bool queue = false;
		unsigned seen = looked_at(l, json_object_get(part, "expression"), 0, &queue);

		l->read |= seen;
		if (at_ingress && (seen & EGRESS))
			find(l, LINT_EARLY, part,
			     "a condition at ingress reads the egress stamp, which is not taken yet");
	}
}

static void check_parsers(struct lint *l)
{
	json_t *parser, *state, *op;

	EACH (list_of(l->root, "parsers"), i, parser)
		EACH (list_of(parser, "parse_states"), k, state)
			EACH (list_of(state, "parser_ops"), n, op) {
				const json_t *parameters = json_object_get(op, "parameters");
				bool queue = false;
				unsigned seen;

				if (strcmp(text_of(op, "op"), "set") != 0)
					continue;
				seen = looked_at(l, json_array_get(parameters, 1), 0, &queue);
				l->read |= seen;
				hold(l, json_array_get(parameters, 0), is_stamp(l, json_array_get(parameters, 1), 0));
				if (seen & EGRESS)
					find(l, LINT_EARLY, state,
					     "the parser reads the egress stamp, which is not taken yet");
			}
}

/* The switch fills in what the aliases of intrinsic metadata lead to, and no other field. */
static void check_intrinsic(struct lint *l)
{
	static const struct {
		const char *field;
		unsigned stamp;
	} wanted[] = { { "ingress_global_timestamp", INGRESS }, { "egress_global_timestamp", EGRESS } };

	for (size_t w = 0; w < 2; w++) {
		bool there = false;
		json_t *alias;
		char name[80];

		snprintf(name, sizeof(name), "intrinsic_metadata.%s", wanted[w].field);
		EACH (list_of(l->root, "field_aliases"), i, alias) {
			there = there || strcmp(name_at(alias, 0), name) == 0;
		}
		if (!there)
			find(l, LINT_MISSING, NULL,
			     "the program has no %s: the switch fills in nothing, and what stands there is zero", name);
		else if (!(l->read & wanted[w].stamp))
			find(l, LINT_MISSING, NULL, "the program never looks at %s: no packet carries it",
			     wanted[w].field);
	}
}

static void check(struct lint *l)
{
	const json_t *ingress = pipeline_of(l, "ingress"), *egress = pipeline_of(l, "egress");
	json_t *action, *p;

	check_parsers(l);
	follow(l);
	EACH (list_of(l->root, "actions"), i, action) {
		json_int_t id = json_integer_value(json_object_get(action, "id"));
		bool at_ingress = runs(ingress, id);

		if (!at_ingress && !runs(egress, id))
			continue; /* nobody calls it */
		EACH (list_of(action, "primitives"), k, p)
			check_primitive(l, p, at_ingress);
	}
	check_rest(l, ingress, true);
	check_rest(l, egress, false);
	check_intrinsic(l);
}

/* A few, and in the order of the kinds. */
static void sort_findings(struct lint_findings *f)
{
	for (uint32_t i = 1; i < f->count; i++)
		for (uint32_t k = i; k > 0 && f->items[k].kind < f->items[k - 1].kind; k--) {
			struct lint_finding t = f->items[k];

			f->items[k] = f->items[k - 1];
			f->items[k - 1] = t;
		}
}

int v1model_lint(const char *text, size_t length, const char *where, struct lint_findings *ret, struct err *err)
{
	struct lint l = { .where = where, .findings = ret };
	json_error_t wrong;
	int rc = 0;

	*ret = (struct lint_findings){ 0 };
	arena_init(&ret->arena, 0);
	l.root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &wrong);
	if (!l.root)
		rc = err_set(err, ERR_USAGE, EINVAL, "%s:%d:%d: not JSON: %s", where, wrong.line, wrong.column,
			     wrong.text);
	else if (!list_of(l.root, "header_types") || !list_of(l.root, "actions") || !pipeline_of(&l, "ingress") ||
		 !pipeline_of(&l, "egress"))
		rc = err_set(err, ERR_USAGE, EINVAL,
			     "%s: not a program of p4c-bm2-ss: header_types, actions and the pipelines ingress and "
			     "egress are "
			     "expected",
			     where);
	ret->items = rc == 0 ? arena_array(&ret->arena, FINDINGS_MOST, sizeof(*ret->items)) : NULL;
	if (rc == 0 && !ret->items)
		rc = err_set(err, ERR_HOST, ENOMEM, "out of memory");
	if (rc == 0)
		check(&l);
	if (rc == 0 && l.no_memory)
		rc = err_set(err, ERR_HOST, ENOMEM, "out of memory");
	if (rc == 0 && l.full)
		rc = err_set(err, ERR_USAGE, E2BIG, "%s: more than %d findings, or fields with stamps", where,
			     FINDINGS_MOST);
	json_decref(l.root);
	if (rc < 0)
		lint_findings_release(ret);
	else
		sort_findings(ret);
	return rc;
}

void lint_findings_release(struct lint_findings *findings)
{
	arena_release(&findings->arena);
	*findings = (struct lint_findings){ 0 };
}

const char *lint_kind_name(enum lint_kind kind)
{
	static const char *const names[LINT_KINDS] = {
		[LINT_MISSING] = "missing-stamp",     [LINT_NARROW] = "narrow-stamp",
		[LINT_EARLY] = "early-egress-stamp",  [LINT_CLONED] = "cloned",
		[LINT_RECIRCULATED] = "recirculated",
	};

	return (unsigned)kind < LINT_KINDS ? names[kind] : "?";
}
