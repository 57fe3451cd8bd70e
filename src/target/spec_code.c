/* SPDX-License-Identifier: Apache-2.0 */
#include "target/spec_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse_instruction(struct spec_parser *p, const struct spec_line *line, struct spec_instruction *ret)
{
	uint32_t first = 0;

	if (line->count >= 2 && strcmp(line->tokens[1], ":") == 0) {
		ret->label = line->tokens[0];
		first = 2;
	}
	if (first == line->count)
		return spec_fail_at(p, line->number, "label %s stands alone, expected an instruction after it",
				    ret->label);
	ret->line = line->number;
	ret->opcode = line->tokens[first];
	ret->text = spec_line_join(line, first, line->count, p->arena);
	if (!ret->text)
		return spec_no_memory(p);
	if (strncmp(ret->opcode, "jmp", 3) == 0) {
		if (first + 1 == line->count)
			return spec_fail_at(p, line->number, "%s: expected a label to jump to", ret->opcode);
		ret->target = line->tokens[first + 1];
	}
	return 0;
}

struct label {
	const char *name;
	uint32_t line;
};

static int by_label(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int name_to_label(const void *name, const void *label)
{
	return strcmp(name, ((const struct label *)label)->name);
}

/* Every label stands once, every jump has its label in the same block. */
static int check_labels(struct spec_parser *p, const struct spec_code *code, const char *what)
{
	struct label *labels = arena_array(p->arena, code->count + 1u, sizeof(*labels));
	uint32_t count = 0;

	if (!labels)
		return spec_no_memory(p);
	for (uint32_t i = 0; i < code->count; i++)
		if (code->items[i].label)
			labels[count++] = (struct label){ code->items[i].label, code->items[i].line };
	qsort(labels, count, sizeof(*labels), by_label);
	for (uint32_t i = 1; i < count; i++)
		if (strcmp(labels[i - 1].name, labels[i].name) == 0)
			return spec_fail_at(p, labels[i].line, "label %s stands at line %u already", labels[i].name,
					    labels[i - 1].line);
	for (uint32_t i = 0; i < code->count; i++) {
		const struct spec_instruction *item = &code->items[i];

		if (item->target && !bsearch(item->target, labels, count, sizeof(*labels), name_to_label))
			return spec_fail_at(p, item->line, "%s %s: no such label in %s", item->opcode, item->target,
					    what);
	}
	return 0;
}

int spec_parse_code(struct spec_parser *p, uint32_t opened, const char *what, struct spec_code *ret)
{
	struct spec_code code = { 0 };
	uint32_t lines = 0;
	int rc = spec_block_lines(p, opened, what, &lines);

	if (rc)
		return rc;
	if (!lines)
		return spec_fail_at(p, opened, "%s is empty, expected instructions", what);
	code.items = arena_array(p->arena, lines, sizeof(*code.items));
	if (!code.items)
		return spec_no_memory(p);
	for (; code.count < lines; code.count++) {
		rc = parse_instruction(p, &p->text.lines[p->at++], &code.items[code.count]);
		if (rc)
			return rc;
	}
	p->at++;
	rc = check_labels(p, &code, what);
	if (!rc)
		*ret = code;
	return rc;
}
