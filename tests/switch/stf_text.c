/* SPDX-License-Identifier: Apache-2.0 */
#include "stf_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

void line_bad(const struct line *line, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%u: ", line->file, line->number);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, ", at '%.40s'\n", line->at);
	exit(2);
}

void line_skip(struct line *line)
{
	while (*line->at == ' ' || *line->at == '\t' || *line->at == '\r')
		line->at++;
}

bool line_ends(struct line *line)
{
	line_skip(line);
	return *line->at == '\0' || *line->at == '#';
}

bool line_take(struct line *line, char c)
{
	line_skip(line);
	if (*line->at != c)
		return false;
	line->at++;
	return true;
}

void line_expect(struct line *line, char c)
{
	if (!line_take(line, c))
		line_bad(line, "'%c' is expected", c);
}

bool line_is_number(struct line *line)
{
	const char *p;

	line_skip(line);
	for (p = line->at; isdigit((unsigned char)*p); p++)
		;
	return p > line->at && (*p == ' ' || *p == '\t' || *p == '\0');
}

void line_name(struct line *line, char *ret)
{
	size_t n = 0;
	bool quoted = line_take(line, '"');

	while (n + 1 < STF_NAME && *line->at &&
	       (quoted ? *line->at != '"' : isalnum((unsigned char)*line->at) || strchr("_$.[]", *line->at)))
		ret[n++] = *line->at++;
	ret[n] = '\0';
	if (quoted)
		line_expect(line, '"');
	if (n == 0)
		line_bad(line, "a name is expected");
}

uint32_t line_uint(struct line *line)
{
	char *end;
	unsigned long value;

	line_skip(line);
	value = strtoul(line->at, &end, 0);
	if (end == line->at || value > UINT32_MAX)
		line_bad(line, "a number is expected");
	line->at = end;
	return (uint32_t)value;
}

double line_real(struct line *line)
{
	char *end;
	double value;

	line_skip(line);
	value = strtod(line->at, &end);
	if (end == line->at)
		line_bad(line, "a number is expected");
	line->at = end;
	return value;
}

/* value = value * base + digit */
static void push_digit(struct line *line, uint64_t *words, unsigned base, unsigned digit)
{
	u128 carry = digit;

	for (int i = 0; i < STF_WORDS; i++) {
		carry += (u128)words[i] * base;
		words[i] = (uint64_t)carry;
		carry >>= 64;
	}
	if (carry)
		line_bad(line, "the number has more than %d bits", STF_WORDS * 64);
}

static int digit_of(char c, unsigned base)
{
	int d = isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower(c) - 'a' + 10 : 99;

	return d < (int)base ? d : -1;
}

/* Digits of one base, "*" for any: into value and mask. */
static void plain_number(struct line *line, struct number *n)
{
	unsigned base = 10, count = 0;

	line_skip(line);
	if (line->at[0] == '0' && strchr("xXbBoO", line->at[1]) && line->at[1]) {
		base = strchr("xX", line->at[1]) ? 16 : strchr("bB", line->at[1]) ? 2 : 8;
		line->at += 2;
	}
	for (;; line->at++, count++) {
		int digit = *line->at == '*' && base != 10 ? 0 : digit_of(*line->at, base);

		if (digit < 0)
			break;
		push_digit(line, n->value, base, (unsigned)digit);
		push_digit(line, n->mask, base, *line->at == '*' ? 0 : base - 1);
		n->has_mask |= *line->at == '*';
	}
	if (count == 0)
		line_bad(line, "a number is expected");
	n->bits = base == 10 ? 0 : count * (base == 16 ? 4 : base == 2 ? 1 : 3);
}

void line_number(struct line *line, struct number *ret)
{
	struct number second = { 0 };

	memset(ret, 0, sizeof(*ret));
	ret->prefix = -1;
	plain_number(line, ret);
	if (strncmp(line->at, "&&&", 3) == 0) {
		line->at += 3;
		plain_number(line, &second);
		memcpy(ret->mask, second.value, sizeof(ret->mask));
		ret->has_mask = true;
	} else if (strncmp(line->at, "..", 2) == 0) {
		line->at += 2;
		plain_number(line, &second);
		memcpy(ret->mask, second.value, sizeof(ret->mask));
		ret->has_range = true;
	} else if (*line->at == '/') {
		line->at++;
		ret->prefix = (int32_t)line_uint(line);
	}
}

size_t line_digits(struct line *line, char *ret, const char *others)
{
	size_t n = 0;

	while (!line_ends(line)) {
		if (!isxdigit((unsigned char)*line->at) && !strchr(others, *line->at))
			line_bad(line, "hexadecimal digits are expected");
		if (n + 1 >= STF_BYTES * 2)
			line_bad(line, "a packet of over %d bytes", STF_BYTES);
		ret[n++] = (char)toupper(*line->at++);
	}
	ret[n] = '\0';
	return n;
}
