/* SPDX-License-Identifier: Apache-2.0 */
#include "target/spec_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

#include "target/spec_build_private.h"

int builder_no_memory(struct builder *b)
{
	return err_set(b->err, ERR_HOST, ENOMEM, "%s: no memory to build the program", b->spec->path);
}

int builder_refused(struct builder *b, uint32_t line, const char *what, const char *name, int rc)
{
	if (rc == -ENOMEM)
		return err_set(b->err, ERR_HOST, ENOMEM, "%s:%u: DPDK has no memory for %s %s", b->spec->path, line,
			       what, name);
	return builder_fail(b, line, "DPDK refuses %s %s: %s (%d)", what, name, strerror(-rc), rc);
}

static int check_name(struct builder *b, uint32_t line, const char *name)
{
	if (strlen(name) < RTE_SWX_NAME_SIZE)
		return 0;
	return builder_fail(b, line, "name of %zu characters, expected %d at most: %s", strlen(name),
			    RTE_SWX_NAME_SIZE - 1, name);
}

/* What can be said before DPDK is asked. */
static int check_program(struct builder *b)
{
	const struct spec *s = b->spec;
	int rc = 0;

	for (uint32_t i = 0; i < s->other_count; i++)
		return builder_fail(b, s->others[i].line, "%s %s: %s", s->others[i].keyword, s->others[i].name,
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
			rc = builder_check_code(b, &s->actions[i].code, true);
	}
	for (uint32_t i = 0; !rc && i < s->table_count; i++)
		rc = check_name(b, s->tables[i].line, s->tables[i].name);
	return rc ? rc : builder_check_code(b, &s->apply, false);
}

int builder_set_ports(struct builder *b, struct rte_swx_pipeline *p)
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
		return builder_no_memory(b);
	for (uint32_t i = 0; i < s->field_count; i++) {
		fields[i].name = s->fields[i].name;
		fields[i].n_bits = s->fields[i].bits;
	}
	rc = rte_swx_pipeline_struct_type_register(p, s->name, fields, s->field_count, s->variable);
	return rc ? builder_refused(b, s->line, "struct", s->name, rc) : 0;
}

int builder_set_data(struct builder *b, struct rte_swx_pipeline *p)
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
			return builder_refused(b, s->headers[i].line, "header", s->headers[i].name, rc);
	}
	rc = rte_swx_pipeline_packet_metadata_register(p, s->metadata->name);
	if (rc)
		return builder_refused(b, s->metadata_line, "metadata", s->metadata->name, rc);
	for (uint32_t i = 0; i < s->array_count; i++) {
		const struct spec_array *a = &s->arrays[i];

		rc = a->meters ? rte_swx_pipeline_metarray_config(p, a->name, a->size)
			       : rte_swx_pipeline_regarray_config(p, a->name, a->size, a->initial);
		if (rc)
			return builder_refused(b, a->line, a->meters ? "metarray" : "regarray", a->name, rc);
	}
	return 0;
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
		return builder_no_memory(b);
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
	return rc ? builder_refused(b, t->line, t->learner ? "learner" : "table", t->name, rc) : 0;
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

	return rc ? builder_refused(b, s->line, "selector", s->name, rc) : 0;
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
	rc = builder_set_ports(b, b->pipeline);
	if (!rc)
		rc = builder_set_data(b, b->pipeline);
	for (uint32_t i = 0; !rc && i < s->action_count; i++)
		rc = builder_set_action(b, &s->actions[i]);
	for (uint32_t i = 0; !rc && i < s->table_count; i++)
		rc = set_table(b, &s->tables[i]);
	for (uint32_t i = 0; !rc && i < s->selector_count; i++)
		rc = set_selector(b, &s->selectors[i]);
	if (!rc)
		rc = builder_set_apply(b);
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
