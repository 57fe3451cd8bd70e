/* SPDX-License-Identifier: Apache-2.0 */
#include "target/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/spec_private.h"

int spec_no_memory(struct spec_parser *p)
{
	return err_set(p->err, ERR_HOST, ENOMEM, "%s: no memory for the program", p->text.path);
}

int spec_want_tokens(struct spec_parser *p, const struct spec_line *line, uint32_t count, const char *form)
{
	if (line->count == count)
		return 0;
	return spec_fail_at(p, line->number, "%s: %u tokens, expected \"%s\"", line->tokens[0], line->count, form);
}

int spec_want_u32(struct spec_parser *p, const struct spec_line *line, const char *token, const char *what,
		  uint32_t *ret_value)
{
	uint64_t value;

	if (!spec_number(token, &value) || value > UINT32_MAX)
		return spec_fail_at(p, line->number, "%s \"%s\": expected a number below 2^32", what, token);
	*ret_value = (uint32_t)value;
	return 0;
}

int spec_block_lines(struct spec_parser *p, uint32_t opened, const char *what, uint32_t *ret_count)
{
	for (uint32_t i = p->at; i < p->text.count; i++) {
		if (strcmp(p->text.lines[i].tokens[0], "}") == 0) {
			*ret_count = i - p->at;
			return spec_want_tokens(p, &p->text.lines[i], 1, "}");
		}
	}
	return spec_fail_at(p, opened, "%s is never closed, expected \"}\" before the end of the file", what);
}

#define FIND(spec, kind, wanted)                                                                                       \
	do {                                                                                                           \
		for (uint32_t i_ = 0; i_ < (spec)->kind##_count; i_++)                                                 \
			if (strcmp((spec)->kind##s[i_].name, (wanted)) == 0)                                           \
				return &(spec)->kind##s[i_];                                                           \
		return NULL;                                                                                           \
	} while (0)

const struct spec_struct *spec_find_struct(const struct spec *spec, const char *name)
{
	FIND(spec, struct, name);
}

const struct spec_header *spec_find_header(const struct spec *spec, const char *name)
{
	FIND(spec, header, name);
}

const struct spec_action *spec_find_action(const struct spec *spec, const char *name)
{
	FIND(spec, action, name);
}

const struct spec_table *spec_find_table(const struct spec *spec, const char *name)
{
	FIND(spec, table, name);
}

static const struct spec_selector *find_selector(const struct spec *spec, const char *name)
{
	FIND(spec, selector, name);
}

static const struct spec_array *find_array(const struct spec *spec, const char *name)
{
	FIND(spec, array, name);
}

uint32_t spec_operand_bits(const struct spec *spec, const char *operand)
{
	const struct spec_struct *type = NULL;
	const char *field = NULL;

	if (strncmp(operand, "m.", 2) == 0) {
		type = spec->metadata;
		field = operand + 2;
	} else if (strncmp(operand, "h.", 2) == 0) {
		const char *dot = strchr(operand + 2, '.');

		for (uint32_t i = 0; dot && i < spec->header_count; i++) {
			const struct spec_header *h = &spec->headers[i];
			size_t length = (size_t)(dot - operand - 2);

			if (strncmp(h->name, operand + 2, length) == 0 && !h->name[length])
				type = h->type;
		}
		field = dot ? dot + 1 : NULL;
	}
	for (uint32_t i = 0; type && field && i < type->field_count; i++)
		if (strcmp(type->fields[i].name, field) == 0)
			return type->fields[i].bits;
	return 0;
}

/* "bit<N>" or "varbit<N>". */
static int parse_field(struct spec_parser *p, const struct spec_line *line, struct spec_struct *s)
{
	static const char form[] = "bit<N> NAME or, last in its struct, varbit<N> NAME";
	struct spec_field field = { .line = line->number };
	const char *type = line->tokens[0], *number;
	char digits[8];
	size_t length;
	uint64_t bits;
	int rc = spec_want_tokens(p, line, 2, form);

	if (rc)
		return rc;
	if (s->variable)
		return spec_fail_at(p, line->number, "field %s comes after a varbit, which must be the last of %s",
				    line->tokens[1], s->name);
	s->variable = strncmp(type, "varbit<", 7) == 0;
	number = type + (s->variable ? 7 : 4);
	if (!s->variable && strncmp(type, "bit<", 4) != 0)
		return spec_fail_at(p, line->number, "type \"%s\": expected %s", type, form);
	length = strcspn(number, ">");
	if (length == 0 || length >= sizeof(digits) || strcmp(number + length, ">") != 0)
		return spec_fail_at(p, line->number, "type \"%s\": expected %s", type, form);
	memcpy(digits, number, length);
	digits[length] = '\0';
	if (!spec_number(digits, &bits) || bits == 0 || bits > 65535 || bits % 8)
		return spec_fail_at(p, line->number, "type \"%s\": expected a width of whole bytes, 8 to 65528 bits",
				    type);
	field.name = line->tokens[1];
	field.bits = (uint32_t)bits;
	for (uint32_t i = 0; i < s->field_count; i++)
		if (strcmp(s->fields[i].name, field.name) == 0)
			return spec_fail_at(p, line->number, "field %s of %s stands at line %u already", field.name,
					    s->name, s->fields[i].line);
	s->bits += field.bits;
	s->fields[s->field_count++] = field;
	return 0;
}

static int parse_struct(struct spec_parser *p)
{
	const struct spec_line *line = &p->text.lines[p->at++];
	struct spec_struct s = { .line = line->number };
	const struct spec_struct *other;
	uint32_t lines = 0;
	int rc = spec_want_tokens(p, line, 3, "struct NAME {");

	if (rc)
		return rc;
	s.name = line->tokens[1];
	other = spec_find_struct(p->spec, s.name);
	if (other)
		return spec_fail_at(p, line->number, "struct %s stands at line %u already", s.name, other->line);
	rc = spec_block_lines(p, line->number, "struct", &lines);
	if (rc)
		return rc;
	if (lines > SPEC_ITEMS_MAX)
		return spec_fail_at(p, line->number, "struct %s: %u fields, expected %u at most", s.name, lines,
				    SPEC_ITEMS_MAX);
	s.fields = arena_array(p->arena, lines + 1u, sizeof(*s.fields));
	if (!s.fields)
		return spec_no_memory(p);
	while (lines--) {
		rc = parse_field(p, &p->text.lines[p->at++], &s);
		if (rc)
			return rc;
	}
	p->at++;
	p->spec->structs[p->spec->struct_count++] = s;
	return 0;
}

static int want_struct(struct spec_parser *p, const struct spec_line *line, const char *name,
		       const struct spec_struct **ret)
{
	*ret = spec_find_struct(p->spec, name);
	return *ret ? 0 : spec_fail_at(p, line->number, "struct %s is not declared before this line", name);
}

static int parse_header(struct spec_parser *p)
{
	const struct spec_line *line = &p->text.lines[p->at++];
	struct spec_header h = { .line = line->number };
	const struct spec_header *other;
	int rc = spec_want_tokens(p, line, 4, "header NAME instanceof STRUCT");

	if (rc)
		return rc;
	h.name = line->tokens[1];
	other = spec_find_header(p->spec, h.name);
	if (other)
		return spec_fail_at(p, line->number, "header %s stands at line %u already", h.name, other->line);
	rc = want_struct(p, line, line->tokens[3], &h.type);
	if (!rc)
		p->spec->headers[p->spec->header_count++] = h;
	return rc;
}

static int parse_metadata(struct spec_parser *p)
{
	const struct spec_line *line = &p->text.lines[p->at++];
	int rc = spec_want_tokens(p, line, 3, "metadata instanceof STRUCT");

	if (rc)
		return rc;
	if (p->spec->metadata)
		return spec_fail_at(p, line->number, "metadata stands at line %u already", p->spec->metadata_line);
	p->spec->metadata_line = line->number;
	return want_struct(p, line, line->tokens[2], &p->spec->metadata);
}

static int parse_array(struct spec_parser *p, bool meters)
{
	const struct spec_line *line = &p->text.lines[p->at++];
	struct spec_array a = { .line = line->number, .meters = meters };
	const struct spec_array *other;
	int rc = meters ? spec_want_tokens(p, line, 4, "metarray NAME size N")
			: spec_want_tokens(p, line, 6, "regarray NAME size N initval N");

	if (rc)
		return rc;
	a.name = line->tokens[1];
	other = find_array(p->spec, a.name);
	if (other)
		return spec_fail_at(p, line->number, "%s %s stands at line %u already", line->tokens[0], a.name,
				    other->line);
	rc = spec_want_u32(p, line, line->tokens[3], "size", &a.size);
	if (!rc && !meters && !spec_number(line->tokens[5], &a.initial))
		rc = spec_fail_at(p, line->number, "initval \"%s\": expected a number", line->tokens[5]);
	if (!rc)
		p->spec->arrays[p->spec->array_count++] = a;
	return rc;
}

static int parse_action(struct spec_parser *p)
{
	const struct spec_line *line = &p->text.lines[p->at++];
	const char *form = "action NAME args none|instanceof STRUCT {";
	struct spec_action a = { .line = line->number };
	const struct spec_action *other;
	bool none = line->count > 3 && strcmp(line->tokens[3], "none") == 0;
	int rc = spec_want_tokens(p, line, none ? 5 : 6, form);

	if (rc)
		return rc;
	a.name = line->tokens[1];
	other = spec_find_action(p->spec, a.name);
	if (other)
		return spec_fail_at(p, line->number, "action %s stands at line %u already", a.name, other->line);
	if (!none) {
		rc = want_struct(p, line, line->tokens[4], &a.args);
		if (rc)
			return rc;
	}
	rc = spec_parse_code(p, line->number, "action", &a.code);
	if (!rc)
		p->spec->actions[p->spec->action_count++] = a;
	return rc;
}

static int parse_table(struct spec_parser *p, bool learner)
{
	const struct spec_line *line = &p->text.lines[p->at];
	const struct spec_table *other;
	struct spec_table t = { 0 };
	int rc = spec_parse_table(p, learner, &t);

	if (rc)
		return rc;
	other = spec_find_table(p->spec, t.name);
	if (other)
		return spec_fail_at(p, line->number, "%s %s stands at line %u already", line->tokens[0], t.name,
				    other->line);
	if (p->spec->table_count == SPEC_ITEMS_MAX)
		return spec_fail_at(p, line->number, "more than %u tables", SPEC_ITEMS_MAX);
	p->spec->tables[p->spec->table_count++] = t;
	return 0;
}

static int parse_selector(struct spec_parser *p)
{
	const struct spec_selector *other;
	struct spec_selector s = { 0 };
	int rc = spec_parse_selector(p, &s);

	if (rc)
		return rc;
	other = find_selector(p->spec, s.name);
	if (other)
		return spec_fail_at(p, s.line, "selector %s stands at line %u already", s.name, other->line);
	p->spec->selectors[p->spec->selector_count++] = s;
	return 0;
}

static int parse_apply(struct spec_parser *p)
{
	const struct spec_line *line = &p->text.lines[p->at++];
	int rc = spec_want_tokens(p, line, 2, "apply {");

	if (rc)
		return rc;
	if (p->spec->apply_line)
		return spec_fail_at(p, line->number, "apply stands at line %u already", p->spec->apply_line);
	p->spec->apply_line = line->number;
	return spec_parse_code(p, line->number, "apply", &p->spec->apply);
}

static int parse_other(struct spec_parser *p)
{
	const struct spec_line *line = &p->text.lines[p->at++];
	struct spec_other other = { .keyword = line->tokens[0], .line = line->number };

	other.name = line->count > 1 ? line->tokens[1] : "";
	p->spec->others[p->spec->other_count++] = other;
	return 0;
}

static int parse_statement(struct spec_parser *p)
{
	const struct spec_line *line = spec_peek(p);
	const char *word = line->tokens[0];

	if (strcmp(word, "struct") == 0)
		return parse_struct(p);
	if (strcmp(word, "header") == 0)
		return parse_header(p);
	if (strcmp(word, "metadata") == 0)
		return parse_metadata(p);
	if (strcmp(word, "regarray") == 0 || strcmp(word, "metarray") == 0)
		return parse_array(p, word[0] == 'm');
	if (strcmp(word, "action") == 0)
		return parse_action(p);
	if (strcmp(word, "table") == 0 || strcmp(word, "learner") == 0)
		return parse_table(p, word[0] == 'l');
	if (strcmp(word, "selector") == 0)
		return parse_selector(p);
	if (strcmp(word, "apply") == 0)
		return parse_apply(p);
	if (strcmp(word, "extobj") == 0 || strcmp(word, "rss") == 0)
		return parse_other(p);
	return spec_fail_at(p, line->number,
			    "\"%s\": expected struct, header, metadata, regarray, metarray, action, table, learner, "
			    "selector or apply",
			    word);
}

/* Room for as many as lines begin with the word: things keep their place, so that they can be pointed to. */
static int make_room(struct spec_parser *p)
{
	struct spec *s = p->spec;
	struct {
		const char *word;
		uint32_t count;
	} kinds[] = { { "struct", 0 },   { "header", 0 },   { "action", 0 },   { "table", 0 },  { "learner", 0 },
		      { "selector", 0 }, { "regarray", 0 }, { "metarray", 0 }, { "extobj", 0 }, { "rss", 0 } };

	for (uint32_t i = 0; i < p->text.count; i++) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			if (strcmp(p->text.lines[i].tokens[0], kinds[k].word) != 0)
				continue;
			if (++kinds[k].count > SPEC_ITEMS_MAX && strcmp(kinds[k].word, "table") != 0)
				return spec_fail_at(p, p->text.lines[i].number, "more than %u lines \"%s\"",
						    SPEC_ITEMS_MAX, kinds[k].word);
		}
	}
	s->structs = arena_array(p->arena, kinds[0].count + 1u, sizeof(*s->structs));
	s->headers = arena_array(p->arena, kinds[1].count + 1u, sizeof(*s->headers));
	s->actions = arena_array(p->arena, kinds[2].count + 1u, sizeof(*s->actions));
	s->tables = arena_array(p->arena, kinds[3].count + kinds[4].count + 1u, sizeof(*s->tables));
	s->selectors = arena_array(p->arena, kinds[5].count + 1u, sizeof(*s->selectors));
	s->arrays = arena_array(p->arena, kinds[6].count + kinds[7].count + 1u, sizeof(*s->arrays));
	s->others = arena_array(p->arena, kinds[8].count + kinds[9].count + 1u, sizeof(*s->others));
	if (!s->structs || !s->headers || !s->actions || !s->tables || !s->selectors || !s->arrays || !s->others)
		return spec_no_memory(p);
	return 0;
}

int spec_parse(const char *text, size_t length, const char *path, struct arena *arena, struct spec **ret_spec,
	       struct err *err)
{
	struct spec_parser p = { .arena = arena, .err = err };
	int rc = spec_text_split(text, length, path, arena, &p.text, err);

	if (rc)
		return rc;
	p.spec = arena_alloc(arena, sizeof(*p.spec));
	if (!p.spec)
		return spec_no_memory(&p);
	p.spec->path = p.text.path;
	p.spec->origin = p.text.origin;
	rc = make_room(&p);
	while (!rc && spec_peek(&p))
		rc = parse_statement(&p);
	if (rc)
		return rc;
	if (!p.spec->apply_line)
		return err_set(err, ERR_USAGE, EINVAL, "%s: no apply block, expected \"apply {\" and instructions",
			       path);
	if (!p.spec->metadata)
		return err_set(err, ERR_USAGE, EINVAL, "%s: no metadata, expected \"metadata instanceof STRUCT\"",
			       path);
	*ret_spec = p.spec;
	return 0;
}
