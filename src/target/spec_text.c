/* SPDX-License-Identifier: Apache-2.0 */
#include "target/spec_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool begins_comment(const char *at, const char *end)
{
	return *at == ';' || *at == '#' || (*at == '/' && at + 1 < end && at[1] == '/');
}

int spec_fail(struct err *err, const char *path, uint32_t line, const char *fmt, ...)
{
	char message[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	return err_set(err, ERR_USAGE, EINVAL, "%s:%u: %s", path, line, message);
}

/* One pass with `line` NULL counts the tokens, the second takes them. */
static int split_line(const char *at, const char *end, struct arena *arena, struct spec_line *line, uint32_t *ret_count,
		      const char **ret_comment)
{
	uint32_t count = 0;

	*ret_comment = NULL;
	for (;;) {
		const char *start;

		while (at < end && is_blank(*at))
			at++;
		if (at == end)
			break;
		if (begins_comment(at, end)) {
			*ret_comment = at;
			break;
		}
		start = at;
		while (at < end && !is_blank(*at))
			at++;
		if (line) {
			line->tokens[count] = arena_strndup(arena, start, (size_t)(at - start));
			if (!line->tokens[count])
				return -ENOMEM;
		}
		count++;
	}
	*ret_count = count;
	return 0;
}

static int check_bytes(const char *at, const char *end, const char *path, uint32_t number, struct err *err)
{
	const char *start = at;
	bool comment = false;

	for (; at < end; at++) {
		unsigned char c = (unsigned char)*at;

		if ((at == start || is_blank(at[-1])) && begins_comment(at, end))
			comment = true;
		if (c == 0 || (!comment && !is_blank(*at) && (c < 0x21 || c > 0x7e)))
			return spec_fail(err, path, number, "byte 0x%02x: not text, expected printable ASCII", c);
	}
	return 0;
}

static const char *comment_text(const char *at, const char *end, struct arena *arena)
{
	while (at < end && (*at == ';' || *at == '#' || *at == '/' || is_blank(*at)))
		at++;
	while (end > at && is_blank(end[-1]))
		end--;
	return arena_strndup(arena, at, (size_t)(end - at));
}

static uint32_t count_lines(const char *text, size_t length)
{
	uint32_t count = 1;

	for (size_t i = 0; i < length; i++)
		count += text[i] == '\n';
	return count;
}

int spec_text_split(const char *text, size_t length, const char *path, struct arena *arena, struct spec_text *ret,
		    struct err *err)
{
	const char *at = text, *end = text + length;
	struct spec_text out = { .path = arena_strdup(arena, path) };

	if (length > 4u << 20)
		return err_set(err, ERR_USAGE, EINVAL, "%s: %zu bytes: too long, expected a program of 4 MiB at most",
			       path, length);
	out.lines = arena_array(arena, count_lines(text, length), sizeof(*out.lines));
	if (!out.path || !out.lines)
		goto no_memory;
	for (uint32_t number = 1; at < end; number++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)), *comment;
		struct spec_line line = { .number = number };
		int rc;

		if (!stop)
			stop = end;
		rc = check_bytes(at, stop, path, number, err);
		if (rc)
			return rc;
		split_line(at, stop, arena, NULL, &line.count, &comment);
		if (comment && !out.origin && !out.count && memmem(comment, (size_t)(stop - comment), "p4c", 3)) {
			out.origin = comment_text(comment, stop, arena);
			if (!out.origin)
				goto no_memory;
		}
		if (line.count) {
			line.tokens = arena_array(arena, line.count, sizeof(*line.tokens));
			if (!line.tokens || split_line(at, stop, arena, &line, &line.count, &comment))
				goto no_memory;
			out.lines[out.count++] = line;
		}
		at = stop < end ? stop + 1 : end;
	}
	*ret = out;
	return 0;

no_memory:
	return err_set(err, ERR_HOST, ENOMEM, "%s: no memory for its text (%zu bytes)", path, length);
}

const char *spec_line_join(const struct spec_line *line, uint32_t first, uint32_t end, struct arena *arena)
{
	size_t length = 0;
	char *out, *at;

	for (uint32_t i = first; i < end; i++)
		length += strlen(line->tokens[i]) + 1;
	out = at = arena_alloc(arena, length + 1);
	if (!out)
		return NULL;
	for (uint32_t i = first; i < end; i++) {
		if (i > first)
			*at++ = ' ';
		at = stpcpy(at, line->tokens[i]);
	}
	return out;
}

bool spec_number(const char *token, uint64_t *ret_value)
{
	uint64_t value = 0, base = 10;

	if (token[0] == '0' && token[1] != '\0') {
		if (token[1] != 'x' && token[1] != 'X')
			return false;
		base = 16;
		token += 2;
	}
	if (!*token)
		return false;
	for (; *token; token++) {
		uint64_t digit;

		if (*token >= '0' && *token <= '9')
			digit = (uint64_t)(*token - '0');
		else if (*token >= 'a' && *token <= 'f')
			digit = (uint64_t)(*token - 'a') + 10;
		else if (*token >= 'A' && *token <= 'F')
			digit = (uint64_t)(*token - 'A') + 10;
		else
			return false;
		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret_value = value;
	return true;
}
