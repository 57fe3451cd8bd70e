/* SPDX-License-Identifier: Apache-2.0 */
#include "target/spec_private.h"

#include <string.h>

/* `KEYWORD {`: the lines of the inner block that begins after `line`. */
static int open_block(struct spec_parser *p, const struct spec_line *line, const char *form, uint32_t *ret_lines)
{
	int rc = spec_want_tokens(p, line, 2, form);

	if (!rc && strcmp(line->tokens[1], "{") != 0)
		rc = spec_fail_at(p, line->number, "\"%s\": expected \"%s\"", line->tokens[1], form);
	if (!rc)
		rc = spec_block_lines(p, line->number, line->tokens[0], ret_lines);
	if (!rc && *ret_lines > SPEC_ITEMS_MAX)
		rc = spec_fail_at(p, line->number, "%s: %u lines, expected %u at most", line->tokens[0], *ret_lines,
				  SPEC_ITEMS_MAX);
	return rc;
}

static int parse_field_name(struct spec_parser *p, const struct spec_line *line, const char *name, uint32_t *ret_bits)
{
	*ret_bits = spec_operand_bits(p->spec, name);
	if (*ret_bits)
		return 0;
	return spec_fail_at(p, line->number,
			    "%s: no such field, expected h.HEADER.FIELD or m.FIELD of what is declared before", name);
}

static int parse_keys(struct spec_parser *p, struct spec_table *t, uint32_t lines)
{
	static const char *const matches[] = { "exact", "wildcard", "lpm" };

	t->keys = arena_array(p->arena, lines + 1u, sizeof(*t->keys));
	if (!t->keys)
		return spec_no_memory(p);
	for (; t->key_count < lines; t->key_count++) {
		const struct spec_line *line = &p->text.lines[p->at++];
		struct spec_key *key = &t->keys[t->key_count];
		int match = 0, rc = spec_want_tokens(p, line, t->learner ? 1 : 2,
						     t->learner ? "FIELD" : "FIELD exact|wildcard|lpm");

		if (!rc)
			rc = parse_field_name(p, line, line->tokens[0], &key->bits);
		if (rc)
			return rc;
		while (!t->learner && match < 3 && strcmp(line->tokens[1], matches[match]) != 0)
			match++;
		if (match == 3)
			return spec_fail_at(p, line->number, "match \"%s\": expected exact, wildcard or lpm",
					    line->tokens[1]);
		key->field = line->tokens[0];
		key->line = line->number;
		key->match = (enum spec_match)match;
	}
	return 0;
}

static const struct spec_table_action *find_action(const struct spec_table *t, const char *name)
{
	for (uint32_t i = 0; i < t->action_count; i++)
		if (strcmp(t->actions[i].action->name, name) == 0)
			return &t->actions[i];
	return NULL;
}

static int parse_actions(struct spec_parser *p, struct spec_table *t, uint32_t lines)
{
	t->actions = arena_array(p->arena, lines + 1u, sizeof(*t->actions));
	if (!t->actions)
		return spec_no_memory(p);
	while (lines--) {
		const struct spec_line *line = &p->text.lines[p->at++];
		struct spec_table_action a = { .line = line->number, .for_entries = true, .for_default = true };
		int rc = line->count == 1 ? 0 : spec_want_tokens(p, line, 2, "ACTION [@tableonly|@defaultonly]");

		if (rc)
			return rc;
		if (line->count == 2) {
			a.for_default = strcmp(line->tokens[1], "@defaultonly") == 0;
			a.for_entries = strcmp(line->tokens[1], "@tableonly") == 0;
			if (a.for_default == a.for_entries)
				return spec_fail_at(p, line->number, "\"%s\": expected @tableonly or @defaultonly",
						    line->tokens[1]);
		}
		a.action = spec_find_action(p->spec, line->tokens[0]);
		if (!a.action)
			return spec_fail_at(p, line->number, "action %s is not declared before this line",
					    line->tokens[0]);
		if (find_action(t, line->tokens[0]))
			return spec_fail_at(p, line->number, "action %s stands in %s already", line->tokens[0],
					    t->name);
		t->actions[t->action_count++] = a;
	}
	return 0;
}

static int parse_default(struct spec_parser *p, const struct spec_line *line, struct spec_table *t)
{
	static const char form[] = "default_action NAME args none|ARGUMENTS [const]";
	const struct spec_table_action *a;
	uint32_t end = line->count;

	if (end > 4 && strcmp(line->tokens[end - 1], "const") == 0) {
		t->default_const = true;
		end--;
	}
	if (end < 4 || strcmp(line->tokens[2], "args") != 0)
		return spec_fail_at(p, line->number, "default_action: expected \"%s\"", form);
	a = find_action(t, line->tokens[1]);
	if (!a || !a->for_default)
		return spec_fail_at(p, line->number,
				    "default_action %s: expected one of the actions of %s that may be it",
				    line->tokens[1], t->name);
	t->default_action = a->action;
	if (end == 4 && strcmp(line->tokens[3], "none") == 0)
		return 0;
	t->default_args = spec_line_join(line, 3, end, p->arena);
	return t->default_args ? 0 : spec_no_memory(p);
}

static int parse_timeouts(struct spec_parser *p, struct spec_table *t, uint32_t lines)
{
	t->timeouts_s = arena_array(p->arena, lines + 1u, sizeof(*t->timeouts_s));
	if (!t->timeouts_s)
		return spec_no_memory(p);
	for (; t->timeout_count < lines; t->timeout_count++) {
		const struct spec_line *line = &p->text.lines[p->at++];
		int rc = spec_want_tokens(p, line, 1, "SECONDS");

		if (!rc)
			rc = spec_want_u32(p, line, line->tokens[0], "timeout", &t->timeouts_s[t->timeout_count]);
		if (rc)
			return rc;
	}
	return 0;
}

static int parse_text(struct spec_parser *p, const struct spec_line *line, const char **ret)
{
	int rc = spec_want_tokens(p, line, 2, "WORD VALUE");

	if (!rc)
		*ret = line->tokens[1];
	return rc;
}

/* One of the blocks in a table: key, actions, timeout. */
static int parse_table_block(struct spec_parser *p, const struct spec_line *line, struct spec_table *t)
{
	const char *word = line->tokens[0];
	uint32_t lines = 0;
	bool again = (*word == 'k' && t->keys) || (*word == 'a' && t->actions) || (*word == 't' && t->timeouts_s);
	int rc = again ? spec_fail_at(p, line->number, "%s stands in %s already", word, t->name)
		       : open_block(p, line, "key|actions|timeout {", &lines);

	if (rc)
		return rc;
	if (*word == 'k')
		rc = parse_keys(p, t, lines);
	else if (*word == 'a')
		rc = parse_actions(p, t, lines);
	else
		rc = parse_timeouts(p, t, lines);
	p->at++;
	return rc;
}

static int parse_table_line(struct spec_parser *p, const struct spec_line *line, struct spec_table *t)
{
	const char *word = line->tokens[0];

	if (strcmp(word, "key") == 0 || strcmp(word, "actions") == 0 || (t->learner && strcmp(word, "timeout") == 0))
		return parse_table_block(p, line, t);
	if (strcmp(word, "default_action") == 0)
		return parse_default(p, line, t);
	if (strcmp(word, "hash") == 0)
		return parse_text(p, line, &t->hash);
	if (strcmp(word, "instanceof") == 0)
		return parse_text(p, line, &t->type);
	if (strcmp(word, "pragma") == 0)
		return parse_text(p, line, &t->pragma);
	if (strcmp(word, "size") == 0) {
		int rc = spec_want_tokens(p, line, 2, "size N");

		return rc ? rc : spec_want_u32(p, line, line->tokens[1], "size", &t->size);
	}
	return spec_fail_at(
		p, line->number,
		"\"%s\" in %s: expected key, actions, default_action, hash, instanceof, pragma, size%s or }", word,
		t->name, t->learner ? ", timeout" : "");
}

int spec_parse_table(struct spec_parser *p, bool learner, struct spec_table *ret)
{
	const struct spec_line *opened = &p->text.lines[p->at++], *line;
	struct spec_table t = { .line = opened->number, .learner = learner };
	int rc = spec_want_tokens(p, opened, 3, "table|learner NAME {");

	if (rc)
		return rc;
	t.name = opened->tokens[1];
	while ((line = spec_peek(p)) && strcmp(line->tokens[0], "}") != 0) {
		p->at++;
		rc = parse_table_line(p, line, &t);
		if (rc)
			return rc;
	}
	if (!line)
		return spec_fail_at(p, opened->number, "%s is never closed, expected \"}\" before the end of the file",
				    t.name);
	p->at++;
	if (!t.default_action)
		return spec_fail_at(p, opened->number,
				    "%s has no default action, expected \"default_action NAME args ...\"", t.name);
	if (learner && (!t.key_count || !t.timeout_count || !t.size))
		return spec_fail_at(p, opened->number, "learner %s lacks %s", t.name,
				    !t.key_count       ? "keys"
				    : !t.timeout_count ? "timeouts"
						       : "a size over 0");
	*ret = t;
	return 0;
}

static int parse_selector_fields(struct spec_parser *p, struct spec_selector *s, uint32_t lines)
{
	s->fields = arena_array(p->arena, lines + 1u, sizeof(*s->fields));
	if (!s->fields)
		return spec_no_memory(p);
	for (; s->field_count < lines; s->field_count++) {
		const struct spec_line *line = &p->text.lines[p->at++];
		uint32_t bits = 0;
		int rc = spec_want_tokens(p, line, 1, "FIELD");

		if (!rc)
			rc = parse_field_name(p, line, line->tokens[0], &bits);
		if (rc)
			return rc;
		s->fields[s->field_count] = line->tokens[0];
	}
	p->at++;
	return 0;
}

static int parse_selector_line(struct spec_parser *p, const struct spec_line *line, struct spec_selector *s)
{
	const char *word = line->tokens[0];
	uint32_t lines = 0, bits = 0;
	int rc;

	if (strcmp(word, "selector") == 0) {
		rc = s->fields ? spec_fail_at(p, line->number, "selector fields stand in %s already", s->name)
			       : open_block(p, line, "selector {", &lines);
		return rc ? rc : parse_selector_fields(p, s, lines);
	}
	rc = spec_want_tokens(p, line, 2, "group_id|member_id FIELD or n_groups_max|n_members_per_group_max N");
	if (rc)
		return rc;
	if (strcmp(word, "n_groups_max") == 0)
		return spec_want_u32(p, line, line->tokens[1], word, &s->groups_max);
	if (strcmp(word, "n_members_per_group_max") == 0)
		return spec_want_u32(p, line, line->tokens[1], word, &s->members_max);
	rc = parse_field_name(p, line, line->tokens[1], &bits);
	if (rc)
		return rc;
	if (strcmp(word, "group_id") == 0)
		s->group_id = line->tokens[1];
	else if (strcmp(word, "member_id") == 0)
		s->member_id = line->tokens[1];
	else
		return spec_fail_at(p, line->number,
				    "\"%s\" in selector %s: expected group_id, selector, member_id, "
				    "n_groups_max or n_members_per_group_max",
				    word, s->name);
	return 0;
}

int spec_parse_selector(struct spec_parser *p, struct spec_selector *ret)
{
	const struct spec_line *opened = &p->text.lines[p->at++], *line;
	struct spec_selector s = { .line = opened->number };
	int rc = spec_want_tokens(p, opened, 3, "selector NAME {");

	if (rc)
		return rc;
	s.name = opened->tokens[1];
	while ((line = spec_peek(p)) && strcmp(line->tokens[0], "}") != 0) {
		p->at++;
		rc = parse_selector_line(p, line, &s);
		if (rc)
			return rc;
	}
	if (!line)
		return spec_fail_at(p, opened->number, "%s is never closed, expected \"}\" before the end of the file",
				    s.name);
	p->at++;
	if (!s.group_id || !s.member_id || !s.field_count || !s.groups_max || !s.members_max)
		return spec_fail_at(p, opened->number, "selector %s lacks %s", s.name,
				    !s.group_id      ? "group_id"
				    : !s.member_id   ? "member_id"
				    : !s.field_count ? "fields"
						     : "n_groups_max or n_members_per_group_max over 0");
	*ret = s;
	return 0;
}
