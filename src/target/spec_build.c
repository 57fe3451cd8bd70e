/* SPDX-License-Identifier: Apache-2.0 */
#include "target/spec_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

#include "target/spec_text.h"

struct builder {
	const struct spec *spec;
	const char *name;
	const struct spec_ports *ports;
	struct rte_swx_pipeline *pipeline;
	struct arena arena;
	struct err *err;
};

#define fail(b, line, ...) spec_fail((b)->err, (b)->spec->path, (line), __VA_ARGS__)

static int no_memory(struct builder *b)
{
	return err_set(b->err, ERR_HOST, ENOMEM, "%s: no memory to build the program", b->spec->path);
}

/* What DPDK said of a construct. */
static int refused(struct builder *b, uint32_t line, const char *what, const char *name, int rc)
{
	if (rc == -ENOMEM)
		return err_set(b->err, ERR_HOST, ENOMEM, "%s:%u: DPDK has no memory for %s %s", b->spec->path, line,
			       what, name);
	return fail(b, line, "DPDK refuses %s %s: %s (%d)", what, name, strerror(-rc), rc);
}

/* Opcodes of 22.11's interpreter; what p4c writes for later versions is refused by name. */
static const char *const opcodes[] = {
	"rx",     "tx",          "drop",       "mirror", "recirculate", "recircid",    "extract", "lookahead",
	"emit",   "validate",    "invalidate", "mov",    "add",         "sub",         "ckadd",   "cksub",
	"and",    "or",          "xor",        "shl",    "shr",         "regprefetch", "regrd",   "regwr",
	"regadd", "metprefetch", "meter",      "table",  "learn",       "rearm",       "forget",  "entryid",
	"hash",   "jmp",         "jmpv",       "jmpnv",  "jmph",        "jmpnh",       "jmpa",    "jmpna",
	"jmpeq",  "jmpneq",      "jmplt",      "jmpgt",  "return",      NULL,
};

static int check_instruction(struct builder *b, const struct spec_instruction *item, bool in_action)
{
	const char *op = item->opcode;
	size_t length = strlen(item->text) + (item->label ? strlen(item->label) + 3 : 0);

	if (strcmp(op, "movh") == 0 || strcmp(op, "rss") == 0)
		return fail(b, item->line,
			    "%s: newer than DPDK 22.11, which runs the program; \"%s\" cannot be expressed", op,
			    item->text);
	if (strcmp(op, "extern") == 0)
		return fail(b, item->line, "extern: no extern objects or functions here; \"%s\" cannot be expressed",
			    item->text);
	if (in_action && (strcmp(op, "tx") == 0 || strcmp(op, "rx") == 0 || strcmp(op, "emit") == 0 ||
			  strcmp(op, "extract") == 0 || strcmp(op, "lookahead") == 0))
		return fail(b, item->line, "%s in an action: expected in apply only", op);
	for (const char *const *known = opcodes; *known; known++) {
		if (strcmp(*known, op) != 0)
			continue;
		if (length >= RTE_SWX_INSTRUCTION_SIZE)
			return fail(b, item->line, "instruction of %zu characters, expected %d at most", length,
				    RTE_SWX_INSTRUCTION_SIZE - 1);
		return 0;
	}
	return fail(b, item->line, "%s: no instruction of DPDK 22.11", op);
}

static int check_code(struct builder *b, const struct spec_code *code, bool in_action)
{
	for (uint32_t i = 0; i < code->count; i++) {
		int rc = check_instruction(b, &code->items[i], in_action);

		if (rc)
			return rc;
		/* p4c unrolls loops; without them every program ends, and its reach into the frame has a bound. */
		for (uint32_t k = 0; code->items[i].target && k <= i; k++)
			if (code->items[k].label && strcmp(code->items[k].label, code->items[i].target) == 0)
				return fail(b, code->items[i].line,
					    "\"%s\" jumps backwards, to line %u: expected no loops",
					    code->items[i].text, code->items[k].line);
	}
	return 0;
}

static int check_name(struct builder *b, uint32_t line, const char *name)
{
	if (strlen(name) < RTE_SWX_NAME_SIZE)
		return 0;
	return fail(b, line, "name of %zu characters, expected %d at most: %s", strlen(name), RTE_SWX_NAME_SIZE - 1,
		    name);
}

/* What can be said before DPDK is asked. */
static int check_program(struct builder *b)
{
	const struct spec *s = b->spec;
	int rc = 0;

	for (uint32_t i = 0; i < s->other_count; i++)
		return fail(b, s->others[i].line, "%s %s: %s", s->others[i].keyword, s->others[i].name,
			    strcmp(s->others[i].keyword, "rss") == 0
				    ? "newer than DPDK 22.11, which runs the program; cannot be expressed"
				    : "no extern objects here; cannot be expressed");
	for (uint32_t i = 0; !rc && i < s->struct_count; i++) {
		rc = check_name(b, s->structs[i].line, s->structs[i].name);
		for (uint32_t f = 0; !rc && f < s->structs[i].field_count; f++)
			rc = check_name(b, s->structs[i].fields[f].line, s->structs[i].fields[f].name);
	}
	for (uint32_t i = 0; !rc && i < s->header_count; i++)
		rc = check_name(b, s->headers[i].line, s->headers[i].name);
	for (uint32_t i = 0; !rc && i < s->action_count; i++) {
		rc = check_name(b, s->actions[i].line, s->actions[i].name);
		if (!rc)
			rc = check_code(b, &s->actions[i].code, true);
	}
	for (uint32_t i = 0; !rc && i < s->table_count; i++)
		rc = check_name(b, s->tables[i].line, s->tables[i].name);
	return rc ? rc : check_code(b, &s->apply, false);
}

static int set_ports(struct builder *b, struct rte_swx_pipeline *p)
{
	int rc = rte_swx_pipeline_port_in_type_register(p, "tare", b->ports->in_ops);

	if (!rc)
		rc = rte_swx_pipeline_port_in_config(p, 0, "tare", b->ports->in_args);
	if (!rc)
		rc = rte_swx_pipeline_port_out_type_register(p, "tare", b->ports->out_ops);
	for (uint32_t i = 0; !rc && i < SPEC_PORTS_ALL; i++)
		rc = rte_swx_pipeline_port_out_config(p, i, "tare", b->ports->out_args[i]);
	return rc ? err_set(b->err, ERR_HOST, -rc, "%s: DPDK refuses the pipeline's ports: %s (%d)", b->spec->path,
			    strerror(-rc), rc)
		  : 0;
}

static int set_struct(struct builder *b, struct rte_swx_pipeline *p, const struct spec_struct *s)
{
	struct rte_swx_field_params *fields = arena_array(&b->arena, s->field_count + 1u, sizeof(*fields));
	int rc;

	if (!fields)
		return no_memory(b);
	for (uint32_t i = 0; i < s->field_count; i++) {
		fields[i].name = s->fields[i].name;
		fields[i].n_bits = s->fields[i].bits;
	}
	rc = rte_swx_pipeline_struct_type_register(p, s->name, fields, s->field_count, s->variable);
	return rc ? refused(b, s->line, "struct", s->name, rc) : 0;
}

/* What instructions name: structs, headers, metadata, arrays. */
static int set_data(struct builder *b, struct rte_swx_pipeline *p)
{
	const struct spec *s = b->spec;
	int rc = 0;

	for (uint32_t i = 0; i < s->struct_count; i++) {
		/* p4c keeps what became of unused structs, without fields; DPDK has no such thing. */
		if (!s->structs[i].field_count && &s->structs[i] != s->metadata)
			continue;
		rc = set_struct(b, p, &s->structs[i]);
		if (rc)
			return rc;
	}
	for (uint32_t i = 0; i < s->header_count; i++) {
		rc = rte_swx_pipeline_packet_header_register(p, s->headers[i].name, s->headers[i].type->name);
		if (rc)
			return refused(b, s->headers[i].line, "header", s->headers[i].name, rc);
	}
	rc = rte_swx_pipeline_packet_metadata_register(p, s->metadata->name);
	if (rc)
		return refused(b, s->metadata_line, "metadata", s->metadata->name, rc);
	for (uint32_t i = 0; i < s->array_count; i++) {
		const struct spec_array *a = &s->arrays[i];

		rc = a->meters ? rte_swx_pipeline_metarray_config(p, a->name, a->size)
			       : rte_swx_pipeline_regarray_config(p, a->name, a->size, a->initial);
		if (rc)
			return refused(b, a->line, a->meters ? "metarray" : "regarray", a->name, rc);
	}
	return 0;
}

#define TEXT(number)  TEXT_(number)
#define TEXT_(number) #number
static const char drop_text[] = "tx " TEXT(SPEC_PORT_DROP), stray_text[] = "tx " TEXT(SPEC_PORT_STRAY);

/* "jmpgt L 5 m.x" as "jmplt L m.x 5": p4c puts constants first too, DPDK wants them second. NULL: nothing to turn. */
static const char *turn_comparison(struct builder *b, const struct spec_instruction *item)
{
	static const char *const turned[][2] = {
		{ "jmpeq", "jmpeq" }, { "jmpneq", "jmpneq" }, { "jmpgt", "jmplt" }, { "jmplt", "jmpgt" }
	};
	char first[RTE_SWX_INSTRUCTION_SIZE], second[RTE_SWX_INSTRUCTION_SIZE];
	uint64_t number;

	/* Sizes were checked before: an operand is shorter than its instruction. */
	if (!item->target || sscanf(item->text, "%*s %*s %255s %255s", first, second) != 2 ||
	    !spec_number(first, &number) || spec_number(second, &number))
		return NULL;
	for (size_t i = 0; i < sizeof(turned) / sizeof(turned[0]); i++)
		if (strcmp(turned[i][0], item->opcode) == 0)
			return arena_printf(&b->arena, "%s %s %s %s", turned[i][1], item->target, second, first);
	return NULL;
}

static const char *instruction_text(struct builder *b, const struct spec_instruction *item, const char *label)
{
	const char *text = turn_comparison(b, item);

	/* DPDK's own drop frees the frame as its kind of buffer, which ours is not. */
	if (strcmp(item->opcode, "drop") == 0)
		text = drop_text;
	if (!text)
		text = item->text;
	return label ? arena_printf(&b->arena, "%s : %s", label, text) : arena_strdup(&b->arena, text);
}

/*
 * DPDK says of a block only that something in it is wrong. Which line? Ask for
 * each alone, in a pipeline of its own, with its jumps led to the next line.
 */
static uint32_t find_refused(struct builder *b, const struct spec_code *code, const struct spec_action *action,
			     const char **ret_text)
{
	const char *rx = b->spec->apply.items[0].text;

	for (uint32_t i = 0; i < code->count; i++) {
		const struct spec_instruction *item = &code->items[i];
		struct rte_swx_pipeline *p = NULL;
		const char *lines[3], *text = instruction_text(b, item, NULL);
		struct err ignored;
		struct err *kept = b->err;
		uint32_t n = 0;
		int rc;

		/* Tables, actions and learners are no part of it; and one rx is there already. */
		if (strcmp(item->opcode, "table") == 0 || strcmp(item->opcode, "jmpa") == 0 ||
		    strcmp(item->opcode, "jmpna") == 0 || strcmp(item->opcode, "learn") == 0 ||
		    (!action && strcmp(item->opcode, "rx") == 0 && i == 0))
			continue;
		if (!action)
			lines[n++] = rx;
		lines[n++] = text;
		lines[n++] = item->target ? arena_printf(&b->arena, "%s : %s", item->target, action ? "return" : "drop")
			     : action     ? "return"
					  : "drop";
		if (!text || !lines[n - 1])
			return 0;
		b->err = &ignored;
		if (rte_swx_pipeline_config(&p, "tare-refused", -1) == 0 && set_ports(b, p) == 0 &&
		    set_data(b, p) == 0) {
			rc = action ? rte_swx_pipeline_action_config(p, action->name,
								     action->args ? action->args->name : NULL, lines, n)
				    : rte_swx_pipeline_instructions_config(p, lines, n);
		} else {
			rc = 0;
		}
		b->err = kept;
		rte_swx_pipeline_free(p);
		if (rc) {
			*ret_text = item->text;
			return item->line;
		}
	}
	return 0;
}

static int code_refused(struct builder *b, const struct spec_code *code, const struct spec_action *action,
			uint32_t block_line, int rc)
{
	const char *text = NULL;
	uint32_t line = rc == -EINVAL ? find_refused(b, code, action, &text) : 0;

	if (line)
		return fail(b, line, "DPDK refuses \"%s\": %s (%d)", text, strerror(-rc), rc);
	return refused(b, block_line, action ? "the instructions of action" : "the instructions of",
		       action ? action->name : "apply", rc);
}

static int set_action(struct builder *b, const struct spec_action *a)
{
	const char **lines = arena_array(&b->arena, a->code.count, sizeof(*lines));
	int rc;

	if (!lines)
		return no_memory(b);
	for (uint32_t i = 0; i < a->code.count; i++) {
		lines[i] = instruction_text(b, &a->code.items[i], a->code.items[i].label);
		if (!lines[i])
			return no_memory(b);
	}
	rc = rte_swx_pipeline_action_config(b->pipeline, a->name, a->args ? a->args->name : NULL, lines, a->code.count);
	return rc ? code_refused(b, &a->code, a, a->line, rc) : 0;
}

/* The arrays that tables and learners both want. */
struct table_lists {
	const char **fields;
	struct rte_swx_match_field_params *matches;
	const char **actions;
	int *for_entries, *for_default;
};

static int table_lists(struct builder *b, const struct spec_table *t, struct table_lists *ret)
{
	static const enum rte_swx_table_match_type types[] = {
		[SPEC_EXACT] = RTE_SWX_TABLE_MATCH_EXACT,
		[SPEC_WILDCARD] = RTE_SWX_TABLE_MATCH_WILDCARD,
		[SPEC_LPM] = RTE_SWX_TABLE_MATCH_LPM,
	};

	ret->fields = arena_array(&b->arena, t->key_count + 1u, sizeof(*ret->fields));
	ret->matches = arena_array(&b->arena, t->key_count + 1u, sizeof(*ret->matches));
	ret->actions = arena_array(&b->arena, t->action_count + 1u, sizeof(*ret->actions));
	ret->for_entries = arena_array(&b->arena, t->action_count + 1u, sizeof(int));
	ret->for_default = arena_array(&b->arena, t->action_count + 1u, sizeof(int));
	if (!ret->fields || !ret->matches || !ret->actions || !ret->for_entries || !ret->for_default)
		return no_memory(b);
	for (uint32_t i = 0; i < t->key_count; i++) {
		ret->fields[i] = t->keys[i].field;
		ret->matches[i].name = t->keys[i].field;
		ret->matches[i].match_type = types[t->keys[i].match];
	}
	for (uint32_t i = 0; i < t->action_count; i++) {
		ret->actions[i] = t->actions[i].action->name;
		ret->for_entries[i] = t->actions[i].for_entries;
		ret->for_default[i] = t->actions[i].for_default;
	}
	return 0;
}

static int set_table(struct builder *b, const struct spec_table *t)
{
	struct table_lists lists;
	int rc = table_lists(b, t, &lists);

	if (rc)
		return rc;
	if (t->learner) {
		struct rte_swx_pipeline_learner_params params = {
			.field_names = lists.fields,
			.n_fields = t->key_count,
			.action_names = lists.actions,
			.action_is_for_table_entries = lists.for_entries,
			.action_is_for_default_entry = lists.for_default,
			.n_actions = t->action_count,
			.default_action_name = t->default_action->name,
			.default_action_args = t->default_args,
			.default_action_is_const = t->default_const,
			.hash_func_name = t->hash,
		};

		rc = rte_swx_pipeline_learner_config(b->pipeline, t->name, &params, t->size, t->timeouts_s,
						     t->timeout_count);
	} else {
		struct rte_swx_pipeline_table_params params = {
			.fields = t->key_count ? lists.matches : NULL,
			.n_fields = t->key_count,
			.action_names = lists.actions,
			.action_is_for_table_entries = lists.for_entries,
			.action_is_for_default_entry = lists.for_default,
			.n_actions = t->action_count,
			.default_action_name = t->default_action->name,
			.default_action_args = t->default_args,
			.default_action_is_const = t->default_const,
			.hash_func_name = t->hash,
		};

		rc = rte_swx_pipeline_table_config(b->pipeline, t->name, &params, t->type, t->pragma, t->size);
	}
	return rc ? refused(b, t->line, t->learner ? "learner" : "table", t->name, rc) : 0;
}

static int set_selector(struct builder *b, const struct spec_selector *s)
{
	struct rte_swx_pipeline_selector_params params = {
		.group_id_field_name = s->group_id,
		.selector_field_names = s->fields,
		.n_selector_fields = s->field_count,
		.member_id_field_name = s->member_id,
		.n_groups_max = s->groups_max,
		.n_members_per_group_max = s->members_max,
	};
	int rc = rte_swx_pipeline_selector_config(b->pipeline, s->name, &params);

	return rc ? refused(b, s->line, "selector", s->name, rc) : 0;
}

/*
 * A guard against ports that are not there stands where the frame for `tx` at
 * `tx` begins to be put together: DPDK joins a run of emits and the tx behind it
 * into one instruction, which must not be torn.
 */
static uint32_t guard_place(const struct spec_code *code, uint32_t tx)
{
	uint32_t at = tx;

	while (at > 0 && !code->items[at].label && strcmp(code->items[at - 1].opcode, "emit") == 0)
		at--;
	return at;
}

static int check_tx(struct builder *b, const struct spec_instruction *item, bool *ret_guard)
{
	const char *operand = strchr(item->text, ' ');
	uint64_t port;

	*ret_guard = false;
	if (!operand)
		return fail(b, item->line, "tx: expected \"tx m.FIELD\" or \"tx PORT\"");
	if (!spec_number(operand + 1, &port)) {
		*ret_guard = true;
		return 0;
	}
	if (port >= SPEC_PORTS_OUT)
		return fail(b, item->line, "\"%s\": expected a port below %d", item->text, SPEC_PORTS_OUT);
	return 0;
}

static int set_apply(struct builder *b)
{
	static const char stray[] = "TARE_STRAY";
	const struct spec_code *code = &b->spec->apply;
	const char **lines = arena_array(&b->arena, 2u * code->count + 1u, sizeof(*lines));
	const struct spec_instruction **guards = arena_array(&b->arena, code->count, sizeof(*guards));
	uint32_t n = 0;
	bool guarded = false;
	int rc;

	if (!lines || !guards)
		return no_memory(b);
	for (uint32_t i = 0; i < code->count; i++) {
		bool guard;

		if (strcmp(code->items[i].opcode, "tx") != 0)
			continue;
		rc = check_tx(b, &code->items[i], &guard);
		if (rc)
			return rc;
		if (guard)
			guards[guard_place(code, i)] = &code->items[i];
		guarded |= guard;
	}
	for (uint32_t i = 0; i < code->count; i++) {
		const char *label = code->items[i].label;

		if (guards[i]) {
			lines[n] = arena_printf(&b->arena, "%s%sjmpgt %s %s %d", label ? label : "", label ? " : " : "",
						stray, strchr(guards[i]->text, ' ') + 1, SPEC_PORTS_OUT - 1);
			if (!lines[n++])
				return no_memory(b);
			label = NULL;
		}
		lines[n] = instruction_text(b, &code->items[i], label);
		if (!lines[n++])
			return no_memory(b);
	}
	if (guarded) {
		lines[n] = arena_printf(&b->arena, "%s : %s", stray, stray_text);
		if (!lines[n++])
			return no_memory(b);
	}
	rc = rte_swx_pipeline_instructions_config(b->pipeline, lines, n);
	return rc ? code_refused(b, code, NULL, b->spec->apply_line, rc) : 0;
}

static int build(struct builder *b)
{
	const struct spec *s = b->spec;
	int rc = check_program(b);

	if (rc)
		return rc;
	rc = rte_swx_pipeline_config(&b->pipeline, b->name, -1);
	if (rc)
		return err_set(b->err, ERR_HOST, -rc, "%s: DPDK gives no pipeline named %s: %s (%d)", s->path, b->name,
			       strerror(-rc), rc);
	rc = set_ports(b, b->pipeline);
	if (!rc)
		rc = set_data(b, b->pipeline);
	for (uint32_t i = 0; !rc && i < s->action_count; i++)
		rc = set_action(b, &s->actions[i]);
	for (uint32_t i = 0; !rc && i < s->table_count; i++)
		rc = set_table(b, &s->tables[i]);
	for (uint32_t i = 0; !rc && i < s->selector_count; i++)
		rc = set_selector(b, &s->selectors[i]);
	if (!rc)
		rc = set_apply(b);
	if (rc)
		return rc;
	rc = rte_swx_pipeline_build(b->pipeline);
	if (rc)
		return err_set(b->err, rc == -ENOMEM ? ERR_HOST : ERR_USAGE, -rc,
			       "%s: DPDK does not build the program: %s (%d)", s->path, strerror(-rc), rc);
	return 0;
}

int spec_build(const struct spec *spec, const char *name, const struct spec_ports *ports, struct spec_built *ret_built,
	       struct err *err)
{
	struct builder b = { .spec = spec, .name = name, .ports = ports, .err = err };
	struct spec_built built = { 0 };
	int rc;

	arena_init(&b.arena, 0);
	rc = build(&b);
	arena_release(&b.arena);
	built.pipeline = b.pipeline;
	if (!rc) {
		built.ctl = rte_swx_ctl_pipeline_create(built.pipeline);
		if (!built.ctl)
			rc = err_set(err, ERR_HOST, ENOMEM, "%s: DPDK gives no control of the pipeline", spec->path);
	}
	if (rc) {
		spec_built_release(&built);
		return rc;
	}
	*ret_built = built;
	return 0;
}

static int enter(const struct spec_built *built, const struct spec_entries *entries, const struct spec_entry *e,
		 struct err *err)
{
	struct rte_swx_table_entry *entry = NULL;
	int blank = 0, rc = 0;

	entry = e->table->learner
			? rte_swx_ctl_pipeline_learner_default_entry_read(built->ctl, e->table->name, e->text, &blank)
			: rte_swx_ctl_pipeline_table_entry_read(built->ctl, e->table->name, e->text, &blank);
	if (!entry)
		return spec_fail(err, entries->path, e->line, "DPDK cannot read the entry \"%s\"", e->text);
	if (e->table->learner)
		rc = rte_swx_ctl_pipeline_learner_default_entry_add(built->ctl, e->table->name, entry);
	else if (e->is_default)
		rc = rte_swx_ctl_pipeline_table_default_entry_add(built->ctl, e->table->name, entry);
	else
		rc = rte_swx_ctl_pipeline_table_entry_add(built->ctl, e->table->name, entry);
	free(entry->key);
	free(entry->key_mask);
	free(entry->action_data);
	free(entry);
	if (rc)
		return spec_fail(err, entries->path, e->line, "DPDK refuses the entry \"%s\": %s (%d)", e->text,
				 strerror(-rc), rc);
	return 0;
}

int spec_built_enter(const struct spec_built *built, const struct spec_entries *entries, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < entries->count; i++)
		rc = enter(built, entries, &entries->items[i], err);
	if (rc) {
		rte_swx_ctl_pipeline_abort(built->ctl);
		return rc;
	}
	rc = rte_swx_ctl_pipeline_commit(built->ctl, 1);
	if (rc)
		return err_set(err, ERR_USAGE, -rc, "%s: DPDK does not commit the %u entries: %s (%d)", entries->path,
			       entries->count, strerror(-rc), rc);
	return 0;
}

void spec_built_release(struct spec_built *built)
{
	rte_swx_ctl_pipeline_free(built->ctl);
	rte_swx_pipeline_free(built->pipeline);
	*built = (struct spec_built){ 0 };
}

static uint32_t header_bytes(const struct spec *spec, const char *opcode)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < spec->apply.count; i++) {
		const struct spec_instruction *item = &spec->apply.items[i];
		char name[RTE_SWX_NAME_SIZE] = "";
		const struct spec_header *h;

		if (strcmp(item->opcode, opcode) != 0 || sscanf(item->text, "%*s h.%63s", name) != 1)
			continue;
		h = spec_find_header(spec, name);
		bytes += h ? h->type->bits / 8 : 0;
	}
	return bytes;
}

uint32_t spec_emit_bytes(const struct spec *spec)
{
	return header_bytes(spec, "emit");
}

uint32_t spec_extract_bytes(const struct spec *spec)
{
	return header_bytes(spec, "extract") + header_bytes(spec, "lookahead");
}
