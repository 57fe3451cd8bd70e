/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <yaml.h>

#include "base/utf8.h"

/* A list or mapping that is not closed yet, and the key that waits for its value. */
struct level {
	struct node *node;
	const struct node *key;
	bool drop; /* the key was refused: its value is read and forgotten */
};

struct builder {
	struct arena *arena;
	struct problems *problems;
	struct level stack[TREE_DEPTH_MOST];
	unsigned depth;
	uint32_t nodes;
	struct node *root;
	bool stop; /* a problem after which nothing more can be read */
	bool out_of_memory;
};

/*
 * The scanner says little about bytes that are no text, and nothing about their
 * place, so look first. libyaml's own set of characters is checked here.
 */
static bool text_check(const char *text, size_t length, struct problems *problems)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + length;
	uint32_t line = 1, column = 1, code;

	while (p < end) {
		unsigned n = utf8_decode(p, (size_t)(end - p), &code);

		if (n == 0) {
			problem_at(problems, line, column, "byte 0x%02x is not UTF-8; expected a text in UTF-8", *p);
			return false;
		}
		if ((code < 0x20 && code != '\t' && code != '\n' && code != '\r') || (code >= 0x7f && code < 0xa0) ||
		    code == 0xfffe || code == 0xffff || (code == 0xfeff && p != (const unsigned char *)text)) {
			problem_at(problems, line, column, "character U+%04X cannot stand in a plan; expected text",
				   code);
			return false;
		}
		column++;
		if (code == '\n' || (code == '\r' && (p + 1 == end || p[1] != '\n'))) {
			line++;
			column = 1;
		}
		p += n;
	}
	return true;
}

static bool is_control(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return true;
	return false;
}

static struct node *node_new(struct builder *b, enum node_kind kind, const yaml_mark_t *mark)
{
	struct node *node;

	if (++b->nodes > TREE_NODES_MOST) {
		problem_at(b->problems, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1,
			   "the plan has more than %d values; that is more than fit", TREE_NODES_MOST);
		b->stop = true;
		return NULL;
	}
	node = arena_alloc(b->arena, sizeof(*node));
	if (!node) {
		b->out_of_memory = b->stop = true;
		return NULL;
	}
	node->kind = kind;
	node->line = (uint32_t)mark->line + 1;
	node->column = (uint32_t)mark->column + 1;
	return node;
}

/* A scalar where a mapping waits for its next key. */
static void key_take(struct builder *b, struct level *top, struct node *node)
{
	top->key = node;
	top->drop = false;
	if (node->kind != NODE_SCALAR) {
		if (node->kind != NODE_BAD)
			problem_at(b->problems, node->line, node->column, "%s cannot be a key; expected a name",
				   FOUND(node));
		top->drop = true;
		return;
	}
	for (const struct node *n = top->node->first; n; n = n->next) {
		if (strcmp(n->key->text, node->text) == 0) {
			problem_at(b->problems, node->line, node->column,
				   "'%s' is given twice; the first is on line %u", node->text, n->key->line);
			top->drop = true;
			return;
		}
	}
	if (top->node->count == TREE_KEYS_MOST) {
		problem_at(b->problems, node->line, node->column, "a mapping has more than %d keys; no plan needs that",
			   TREE_KEYS_MOST);
		b->stop = true;
	}
}

static void node_add(struct builder *b, struct node *node)
{
	struct level *top = b->depth ? &b->stack[b->depth - 1] : NULL;

	if (!top) {
		b->root = node;
		return;
	}
	TARE_ASSERT(top->node);
	if (top->node->kind == NODE_MAP && !top->key) {
		key_take(b, top, node);
		return;
	}
	if (top->node->kind == NODE_MAP) {
		node->key = top->key;
		top->key = NULL;
		if (top->drop)
			return;
	}
	if (top->node->last)
		top->node->last->next = node;
	else
		top->node->first = node;
	top->node->last = node;
	top->node->count++;
}

static void refuse_decoration(struct builder *b, const yaml_event_t *event, const yaml_char_t *anchor,
			      const yaml_char_t *tag)
{
	uint32_t line = (uint32_t)event->start_mark.line + 1, column = (uint32_t)event->start_mark.column + 1;

	if (anchor)
		problem_at(b->problems, line, column,
			   "anchor '&%s': plans have no anchors; write the value where it is used",
			   (const char *)anchor);
	if (tag)
		problem_at(b->problems, line, column, "tag '%s': plans have no tags; write the plain value",
			   (const char *)tag);
}

static void scalar_take(struct builder *b, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;
	struct node *node = node_new(b, NODE_SCALAR, &event->start_mark);

	if (!node)
		return;
	refuse_decoration(b, event, event->data.scalar.anchor, event->data.scalar.tag);
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	if (is_control(text, length)) {
		problem_at(b->problems, node->line, node->column,
			   "a value with control characters in it; expected one line of text");
		node->kind = NODE_BAD;
	}
	node->text = arena_strndup(b->arena, text, length);
	if (!node->text)
		b->out_of_memory = b->stop = true;
	else
		node_add(b, node);
}

static void open_take(struct builder *b, const yaml_event_t *event, enum node_kind kind)
{
	struct node *node = node_new(b, kind, &event->start_mark);

	if (!node)
		return;
	if (b->depth == TREE_DEPTH_MOST) {
		problem_at(b->problems, node->line, node->column, "nested deeper than %d; no plan needs that",
			   TREE_DEPTH_MOST);
		b->stop = true;
		return;
	}
	node_add(b, node);
	b->stack[b->depth++] = (struct level){ .node = node };
}

static void event_take(struct builder *b, const yaml_event_t *event)
{
	struct node *node;

	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->root) {
			problem_at(b->problems, (uint32_t)event->start_mark.line + 1,
				   (uint32_t)event->start_mark.column + 1,
				   "a second document begins here; expected one plan in a file");
			b->stop = true;
		}
		break;
	case YAML_ALIAS_EVENT:
		problem_at(b->problems, (uint32_t)event->start_mark.line + 1, (uint32_t)event->start_mark.column + 1,
			   "alias '*%s': plans have no aliases; write the value out",
			   (const char *)event->data.alias.anchor);
		node = node_new(b, NODE_BAD, &event->start_mark);
		if (node)
			node_add(b, node);
		break;
	case YAML_SCALAR_EVENT:
		scalar_take(b, event);
		break;
	case YAML_SEQUENCE_START_EVENT:
		refuse_decoration(b, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
		open_take(b, event, NODE_LIST);
		break;
	case YAML_MAPPING_START_EVENT:
		refuse_decoration(b, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
		open_take(b, event, NODE_MAP);
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		TARE_ASSERT(b->depth > 0);
		b->depth--;
		break;
	default:
		break;
	}
}

/* The byte at a place, 0 past the end. Columns count characters; what looks for tabs has only ASCII before it. */
static char byte_at(const char *text, size_t length, size_t line, size_t column)
{
	size_t i = 0;

	for (; line > 0 && i < length; i++)
		line -= text[i] == '\n';
	i += column;
	return i < length ? text[i] : '\0';
}

static void syntax_problem(struct builder *b, const yaml_parser_t *parser, const char *text, size_t length)
{
	const yaml_mark_t *mark = &parser->problem_mark;
	uint32_t line = (uint32_t)mark->line + 1, column = (uint32_t)mark->column + 1;

	if (parser->error == YAML_MEMORY_ERROR) {
		b->out_of_memory = true;
	} else if (byte_at(text, length, mark->line, mark->column) == '\t') {
		problem_at(b->problems, line, column, "not YAML: a tab stands here; expected spaces");
	} else {
		problem_at(b->problems, line, column, "not YAML: %s%s%s",
			   parser->problem ? parser->problem : "cannot be read", parser->context ? " " : "",
			   parser->context ? parser->context : "");
	}
	b->root = NULL;
}

int tree_parse(const char *text, size_t length, struct arena *arena, struct problems *problems, struct node **ret_root)
{
	struct builder b = { .arena = arena, .problems = problems };
	yaml_parser_t parser;
	bool end = false;

	*ret_root = NULL;
	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		length -= 3;
	}
	if (!text_check(text, length, problems))
		return 0;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (!end && !b.stop) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event)) {
			syntax_problem(&b, &parser, text, length);
			break;
		}
		event_take(&b, &event);
		end = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	if (b.out_of_memory)
		return -ENOMEM;
	*ret_root = b.stop && b.depth > 0 ? NULL : b.root; /* a second document leaves the first whole */
	return 0;
}

const struct node *tree_get(const struct node *map, const char *key)
{
	for (const struct node *n = map->first; n; n = n->next)
		if (strcmp(n->key->text, key) == 0)
			return n;
	return NULL;
}

const char *node_found(const struct node *node, char *buf, size_t size_bytes)
{
	switch (node->kind) {
	case NODE_LIST:
		return "a list";
	case NODE_MAP:
		return "a mapping";
	case NODE_SCALAR:
	case NODE_BAD:
		break;
	}
	if (!node->text || (node->plain && node->text[0] == '\0'))
		return "nothing";
	snprintf(buf, size_bytes, "'%s'", node->text);
	return buf;
}
