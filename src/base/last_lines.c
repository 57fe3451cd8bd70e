/* SPDX-License-Identifier: Apache-2.0 */
#include "base/last_lines.h"

#include <string.h>

#include "base/utf8.h"

/* Bytes that text[from..to) takes with `between` for its line ends. */
static size_t bytes_of(const char *text, size_t from, size_t to, size_t between_bytes)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += text[i] == '\n' ? between_bytes : 1;
	return n;
}

const char *last_lines(const char *text, size_t length_bytes, unsigned lines, const char *between, char *buf,
		       size_t size_bytes)
{
	size_t end = length_bytes, start, between_bytes = strlen(between), n = 0;

	while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r'))
		end--;
	for (start = end; start > 0; start--)
		if (text[start - 1] == '\n' && --lines == 0)
			break;
	while (bytes_of(text, start, end, between_bytes) >= size_bytes)
		start++;
	for (size_t i = start; i < end; i++) {
		if (text[i] == '\n') {
			memcpy(buf + n, between, between_bytes);
			n += between_bytes;
		} else if (text[i] != '\r' || i + 1 == end || text[i + 1] != '\n') {
			buf[n++] = (unsigned char)text[i] >= ' ' ? text[i] : ' ';
		}
	}
	buf[n] = '\0';
	utf8_repair(buf);
	return buf;
}
