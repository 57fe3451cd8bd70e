/* SPDX-License-Identifier: Apache-2.0 */
#include "import/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The next field of a line; *at moves behind its comma, to NULL behind the last. */
static size_t field(const char **at, const char *end, const char **ret_text)
{
	const char *comma = memchr(*at, ',', (size_t)(end - *at));
	size_t length = (size_t)((comma ? comma : end) - *at);

	*ret_text = *at;
	*at = comma ? comma + 1 : NULL;
	return length;
}

/* Spaces around a name, quotes, and the mark that some programs put before the first. */
static size_t trim(const char **text, size_t length)
{
	if (length >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
		*text += 3;
		length -= 3;
	}
	while (length && (**text == ' ' || **text == '"')) {
		(*text)++;
		length--;
	}
	while (length && ((*text)[length - 1] == ' ' || (*text)[length - 1] == '"'))
		length--;
	return length;
}

static int wanted_find(const char *const *wanted, const char *name, size_t length)
{
	for (int i = 0; wanted[i]; i++)
		if (strlen(wanted[i]) == length && memcmp(wanted[i], name, length) == 0)
			return i;
	return -1;
}

bool csv_header_has(const char *line, size_t length, const char *const *wanted)
{
	const char *at = line, *end = line + length, *name;
	unsigned found = 0, all = 0;

	while (at) {
		size_t n = field(&at, end, &name);
		int i;

		n = trim(&name, n);
		i = wanted_find(wanted, name, n);
		if (i >= 0)
			found |= 1u << i;
	}
	for (int i = 0; wanted[i]; i++)
		all |= 1u << i;
	return (found & all) == all;
}

static int header_read(struct csv *c, const char *line, size_t length, struct err *err)
{
	const char *path = c->lines.path, *at = line, *end = line + length, *name;
	unsigned found = 0;

	while (at) {
		size_t n = field(&at, end, &name);
		int i;

		n = trim(&name, n);
		i = wanted_find(c->wanted, name, n);
		if (c->fields == CSV_FIELDS_MOST)
			return err_set(err, ERR_USAGE, EINVAL, "%s:1: over %d columns", path, CSV_FIELDS_MOST);
		if (i >= 0 && (found & 1u << i))
			return err_set(err, ERR_USAGE, EINVAL, "%s:1: column %s is there twice", path, c->wanted[i]);
		if (i >= 0)
			found |= 1u << i;
		c->place[c->fields++] = (int8_t)i;
	}
	for (unsigned i = 0; i < c->wanted_count; i++)
		if (!(found & 1u << i))
			return err_set(err, ERR_USAGE, EINVAL, "%s:1: no column %s; found '%.*s'", path, c->wanted[i],
				       length > 200 ? 200 : (int)length, line);
	return 0;
}

int csv_start(struct csv *c, const char *const *wanted, struct err *err)
{
	const char *line;
	size_t length;
	int r;

	c->wanted = wanted;
	c->wanted_count = c->fields = 0;
	while (wanted[c->wanted_count])
		c->wanted_count++;
	TARE_ASSERT(c->wanted_count <= CSV_WANTED_MOST);
	r = lines_next(&c->lines, &line, &length, err);
	if (r == 0)
		r = err_set(err, ERR_USAGE, EINVAL,
			    "%s:1: the file is empty; expected a line with the names of columns", c->lines.path);
	else if (r == 1)
		r = header_read(c, line, length, err);
	if (r < 0)
		lines_release(&c->lines);
	return r;
}

int csv_open(struct csv *c, const char *path, const char *const *wanted, struct err *err)
{
	int r = lines_open(&c->lines, path, err);

	return r < 0 ? r : csv_start(c, wanted, err);
}

void csv_release(struct csv *c)
{
	lines_release(&c->lines);
}

static int bad_number(const struct csv *c, unsigned index, const char *from, const char *end, struct err *err)
{
	const char *comma = memchr(from, ',', (size_t)(end - from));
	int length = (int)((comma ? comma : end) - from);

	return err_set(err, ERR_USAGE, EINVAL, "%s:%" PRIu64 ": column %s: '%.*s' is no whole number%s", c->lines.path,
		       c->lines.number, c->wanted[c->place[index]], length > 60 ? 60 : length, from,
		       length > 18 ? " of up to 18 digits" : "");
}

/* Digits by hand: strtoll would take most of the time of an import. */
static const char *number(const char *at, const char *end, int64_t *ret)
{
	bool negative = at < end && *at == '-';
	const char *first = at += negative;
	int64_t n = 0;

	while (at < end && (unsigned char)(*at - '0') < 10 && at - first < 19)
		n = n * 10 + (*at++ - '0');
	if (at == first || at - first > 18 || (at < end && *at != ','))
		return NULL;
	*ret = negative ? -n : n;
	return at;
}

int csv_next(struct csv *c, int64_t *ret_values, struct err *err)
{
	const char *at, *end, *stop;
	size_t length = 0;
	unsigned i = 0;
	int r;

	do
		r = lines_next(&c->lines, &at, &length, err);
	while (r == 1 && length == 0);
	if (r <= 0)
		return r;
	end = at + length;
	for (; at && i < c->fields; i++) {
		if (c->place[i] >= 0) {
			stop = number(at, end, &ret_values[c->place[i]]);
			if (!stop)
				return bad_number(c, i, at, end, err);
		} else {
			stop = memchr(at, ',', (size_t)(end - at));
		}
		at = stop && stop < end ? stop + 1 : NULL;
	}
	if (i == c->fields && !at)
		return 1;
	return err_set(err, ERR_USAGE, EINVAL, "%s:%" PRIu64 ": %s fields than the %u columns of line 1", c->lines.path,
		       c->lines.number, at ? "more" : "fewer", c->fields);
}
