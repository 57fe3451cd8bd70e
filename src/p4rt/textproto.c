/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/textproto.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "p4rt/wire.h"

enum { DEPTH_LIMIT = 32, NAME_LIMIT = 256 };

struct reader {
	const char *at, *end;
	unsigned line;
	unsigned depth;
	const char *where;
	struct err *err;
	struct {
		uint8_t *items;
		size_t count, capacity;
	} out;
};

__attribute__((format(printf, 2, 3))) static int bad(struct reader *r, const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(r->err, ERR_USAGE, EINVAL, "%s:%u: %s", r->where, r->line, text);
}

static int no_memory(struct reader *r)
{
	return err_set(r->err, ERR_HOST, ENOMEM, "%s: out of memory", r->where);
}

/* --- bytes out --- */

static int put(struct reader *r, const void *bytes, size_t length)
{
	if (vec_grow((void **)&r->out.items, &r->out.capacity, r->out.count + length, 1) < 0)
		return no_memory(r);
	if (length)
		memcpy(r->out.items + r->out.count, bytes, length);
	r->out.count += length;
	return 0;
}

static int put_varint(struct reader *r, uint64_t value)
{
	uint8_t bytes[10];

	return put(r, bytes, wire_put_varint(bytes, value));
}

static int put_tag(struct reader *r, const struct textproto_field *field, unsigned type)
{
	return put_varint(r, (uint64_t)field->number << 3 | type);
}

/* What was written since `start` becomes the content of a length-delimited field: its length goes before it. */
static int put_length_at(struct reader *r, size_t start)
{
	size_t length = r->out.count - start;
	uint8_t bytes[10];
	size_t n = wire_put_varint(bytes, length);
	int rc = put(r, bytes, n); /* room */

	if (rc < 0)
		return rc;
	memmove(r->out.items + start + n, r->out.items + start, length);
	memcpy(r->out.items + start, bytes, n);
	return 0;
}

/* --- text in --- */

static void skip_space(struct reader *r)
{
	for (; r->at < r->end; r->at++) {
		if (*r->at == '#')
			while (r->at + 1 < r->end && r->at[1] != '\n')
				r->at++;
		else if (*r->at == '\n')
			r->line++;
		else if (!strchr(" \t\r\f\v", *r->at) || !*r->at)
			return;
	}
}

static char peek(struct reader *r)
{
	skip_space(r);
	return r->at < r->end ? *r->at : '\0';
}

static bool accept(struct reader *r, char c)
{
	if (peek(r) != c || r->at >= r->end)
		return false;
	r->at++;
	return true;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
	       c == '-' || c == '+';
}

/* A name, a number or an enumerator. */
static int word(struct reader *r, char buf[NAME_LIMIT], const char *expected)
{
	size_t n = 0;

	skip_space(r);
	while (r->at + n < r->end && is_word(r->at[n]))
		n++;
	if (n == 0) {
		if (r->at >= r->end)
			return bad(r, "ends where %s was expected", expected);
		if (*r->at > ' ' && *r->at < 0x7f)
			return bad(r, "'%c' where %s was expected", *r->at, expected);
		return bad(r, "byte 0x%02x where %s was expected", (unsigned char)*r->at, expected);
	}
	if (n >= NAME_LIMIT)
		return bad(r, "a word of %zu characters where %s was expected", n, expected);
	memcpy(buf, r->at, n);
	buf[n] = '\0';
	r->at += n;
	return 0;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* At most `most` digits of a base, as one byte. */
static uint8_t escape_number(struct reader *r, int base, int most)
{
	unsigned value = 0;

	for (; most > 0 && r->at < r->end && digit(*r->at) < base; most--)
		value = value * (unsigned)base + (unsigned)digit(*r->at++);
	return (uint8_t)value;
}

/* After the backslash. */
static int escape(struct reader *r, uint8_t *ret_byte)
{
	static const char named[] = "a\ab\bf\fn\nr\rt\tv\v\\\\''\"\"??";
	char c;

	if (r->at >= r->end)
		return bad(r, "ends within a string");
	c = *r->at;
	if (c >= '0' && c <= '7') {
		*ret_byte = escape_number(r, 8, 3);
		return 0;
	}
	r->at++;
	if ((c == 'x' || c == 'X') && r->at < r->end && digit(*r->at) < 16) {
		*ret_byte = escape_number(r, 16, 2);
		return 0;
	}
	for (size_t i = 0; i + 1 < sizeof(named) - 1; i += 2)
		if (named[i] == c) {
			*ret_byte = (uint8_t)named[i + 1];
			return 0;
		}
	return bad(r, "unknown escape '\\%c' in a string", c > ' ' && c < 0x7f ? c : '?');
}

static int one_string(struct reader *r, bool keep)
{
	char quote = *r->at++;

	while (r->at < r->end && *r->at != quote) {
		uint8_t byte = (uint8_t)*r->at++;
		int rc = 0;

		if (byte == '\n')
			return bad(r, "a string does not end on its line");
		if (byte == '\\')
			rc = escape(r, &byte);
		if (rc == 0 && keep)
			rc = put(r, &byte, 1);
		if (rc < 0)
			return rc;
	}
	if (r->at >= r->end)
		return bad(r, "ends within a string");
	r->at++;
	return 0;
}

/* One or more literals side by side are one string. */
static int string(struct reader *r, bool keep)
{
	int rc = 0;

	while (rc == 0 && (peek(r) == '"' || peek(r) == '\''))
		rc = one_string(r, keep);
	return rc;
}

static int message(struct reader *r, const struct textproto_message *m, char close);

static int enter(struct reader *r)
{
	return ++r->depth > DEPTH_LIMIT ? bad(r, "nested deeper than %d", DEPTH_LIMIT) : 0;
}

/* A value of a field that is not known. */
static int skip_value(struct reader *r)
{
	char c = peek(r), text[NAME_LIMIT];
	int rc;

	if (c == '"' || c == '\'')
		return string(r, false);
	if (c == '{' || c == '<') {
		r->at++;
		return message(r, NULL, c == '{' ? '}' : '>');
	}
	if (c != '[')
		return word(r, text, "a value");
	r->at++;
	rc = enter(r);
	if (rc == 0 && !accept(r, ']')) {
		do
			rc = skip_value(r);
		while (rc == 0 && accept(r, ','));
		if (rc == 0 && !accept(r, ']'))
			rc = bad(r, "a list does not end with ']'");
	}
	r->depth--;
	return rc;
}

static int integer(struct reader *r, const struct textproto_field *field)
{
	char text[NAME_LIMIT], *end;
	long long value;
	int rc = word(r, text, "a number");

	if (rc < 0)
		return rc;
	errno = 0;
	value = text[0] == '-' ? strtoll(text, &end, 0) : (long long)strtoull(text, &end, 0);
	if (errno || *end || text[0] == '+')
		return bad(r, "%s: '%.64s' is not a whole number", field->name, text);
	rc = put_tag(r, field, WIRE_VARINT);
	return rc < 0 ? rc : put_varint(r, (uint64_t)value);
}

static bool is_one_of(const char *text, const char *const *names)
{
	while (*names && strcmp(*names, text) != 0)
		names++;
	return *names != NULL;
}

static int boolean(struct reader *r, const struct textproto_field *field)
{
	static const char *const yes[] = { "true", "True", "t", "1", NULL };
	static const char *const no[] = { "false", "False", "f", "0", NULL };
	char text[NAME_LIMIT];
	int rc = word(r, text, "true or false");

	if (rc < 0)
		return rc;
	if (!is_one_of(text, yes) && !is_one_of(text, no))
		return bad(r, "%s: '%.64s' is neither true nor false", field->name, text);
	rc = put_tag(r, field, WIRE_VARINT);
	return rc < 0 ? rc : put_varint(r, is_one_of(text, yes));
}

static int enumerator(struct reader *r, const struct textproto_field *field)
{
	const struct textproto_value *value = field->values;
	char text[NAME_LIMIT], *end;
	long number;
	int rc = word(r, text, "a name of its kind");

	if (rc < 0)
		return rc;
	while (value->name && strcmp(value->name, text) != 0)
		value++;
	number = value->name ? value->number : strtol(text, &end, 10);
	if (!value->name && (*end || number < 0 || number > INT32_MAX))
		return bad(r, "%s: unknown '%.64s'", field->name, text);
	rc = put_tag(r, field, WIRE_VARINT);
	return rc < 0 ? rc : put_varint(r, (uint64_t)number);
}

static int delimited(struct reader *r, const struct textproto_field *field)
{
	char open = peek(r);
	bool is_string = field->type == TEXTPROTO_STRING;
	size_t start;
	int rc;

	if (is_string ? open != '"' && open != '\'' : open != '{' && open != '<')
		return bad(r, "%s: %s was expected", field->name, is_string ? "a string in quotes" : "'{'");
	rc = put_tag(r, field, WIRE_BYTES);
	if (rc < 0)
		return rc;
	start = r->out.count;
	if (is_string) {
		rc = string(r, true);
	} else {
		r->at++;
		rc = message(r, field->message, open == '{' ? '}' : '>');
	}
	return rc < 0 ? rc : put_length_at(r, start);
}

static int one_value(struct reader *r, const struct textproto_field *field)
{
	switch (field->type) {
	case TEXTPROTO_INT:
		return integer(r, field);
	case TEXTPROTO_BOOL:
		return boolean(r, field);
	case TEXTPROTO_ENUM:
		return enumerator(r, field);
	case TEXTPROTO_STRING:
	case TEXTPROTO_MESSAGE:
		break;
	}
	return delimited(r, field);
}

/* `name: value`, `name { ... }`, `name: [value, value]`. */
static int value(struct reader *r, const struct textproto_field *field, const char *name)
{
	bool colon = accept(r, ':');
	char c = peek(r);
	int rc = 0;

	if (!colon && c != '{' && c != '<')
		return bad(r, "'%.64s' needs ':' and a value, or '{'", name);
	if (!field)
		return skip_value(r);
	if (c != '[')
		return one_value(r, field);
	r->at++;
	if (accept(r, ']'))
		return 0;
	do
		rc = one_value(r, field);
	while (rc == 0 && accept(r, ','));
	if (rc == 0 && !accept(r, ']'))
		rc = bad(r, "the list of '%.64s' does not end with ']'", name);
	return rc;
}

/* "[type.googleapis.com/some.Type]": an Any or an extension, never one we know. */
static int bracketed_name(struct reader *r)
{
	while (r->at < r->end && *r->at != ']' && *r->at != '\n')
		r->at++;
	if (!accept(r, ']'))
		return bad(r, "a name in brackets does not end with ']'");
	return 0;
}

static int field_of(struct reader *r, const struct textproto_message *m)
{
	const struct textproto_field *field = m ? m->fields : NULL;
	char name[NAME_LIMIT] = "[...]";
	int rc;

	if (accept(r, '[')) {
		rc = bracketed_name(r);
		field = NULL;
	} else {
		rc = word(r, name, "a field's name");
	}
	if (rc < 0)
		return rc;
	while (field && field->name && strcmp(field->name, name) != 0)
		field++;
	rc = value(r, field && field->name ? field : NULL, name);
	if (rc == 0 && !accept(r, ','))
		accept(r, ';');
	return rc;
}

/* Fields up to `close`; 0: the end of the input. m NULL: all unknown. */
static int message(struct reader *r, const struct textproto_message *m, char close)
{
	unsigned opened = r->line;
	int rc = enter(r);

	while (rc == 0) {
		if (close && accept(r, close))
			break;
		if (!peek(r) && r->at >= r->end) {
			if (close)
				rc = bad(r, "ends within the message that line %u opened", opened);
			break;
		}
		rc = field_of(r, m);
	}
	r->depth--;
	return rc;
}

int textproto_encode(const struct textproto_message *root, const char *text, size_t length, const char *where,
		     uint8_t **ret_wire, size_t *ret_bytes, struct err *err)
{
	struct reader r = { .at = text, .end = text + length, .line = 1, .where = where, .err = err };
	int rc = message(&r, root, '\0');

	if (rc < 0) {
		free(r.out.items);
		return rc;
	}
	*ret_wire = r.out.items;
	*ret_bytes = r.out.count;
	return 0;
}
