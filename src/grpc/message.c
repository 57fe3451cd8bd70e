/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grpc/status.h"

const char *grpc_status_name(int status)
{
	static const char *const names[GRPC_STATUSES] = {
		"OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
		"NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
		"ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
		"DATA_LOSS", "UNAUTHENTICATED",
	};

	return status >= 0 && status < GRPC_STATUSES ? names[status] : NULL;
}

void grpc_reader_init(struct grpc_reader *r, size_t limit_bytes)
{
	memset(r, 0, sizeof(*r));
	r->limit_bytes = limit_bytes;
}

void grpc_reader_release(struct grpc_reader *r)
{
	free(r->data);
	r->data = NULL;
	r->capacity_bytes = 0;
}

/* Room for the message's bytes that have come so far, doubling: a prefix alone cannot make us allocate its length. */
static bool reader_room(struct grpc_reader *r, size_t need)
{
	size_t grown = r->capacity_bytes ? r->capacity_bytes : 512;
	uint8_t *moved;

	if (need <= r->capacity_bytes)
		return true;
	while (grown < need)
		grown *= 2;
	moved = realloc(r->data, grown);
	if (!moved)
		return false;
	r->data = moved;
	r->capacity_bytes = grown;
	return true;
}

enum grpc_read grpc_reader_feed(struct grpc_reader *r, const uint8_t **bytes, size_t *length_bytes)
{
	size_t take;

	if (r->prefix_filled == GRPC_PREFIX_BYTES && r->filled_bytes == r->length_bytes) {
		/* the last call ended a message */
		r->prefix_filled = 0;
		r->filled_bytes = 0;
	}
	while (r->prefix_filled < GRPC_PREFIX_BYTES) {
		if (!*length_bytes)
			return GRPC_READ_MORE;
		r->prefix[r->prefix_filled++] = *(*bytes)++;
		--*length_bytes;
		if (r->prefix_filled < GRPC_PREFIX_BYTES)
			continue;
		if (r->prefix[0] != 0)
			return GRPC_READ_COMPRESSED;
		r->length_bytes = (size_t)r->prefix[1] << 24 | (size_t)r->prefix[2] << 16 | (size_t)r->prefix[3] << 8 |
				  r->prefix[4];
		if (r->length_bytes > r->limit_bytes)
			return GRPC_READ_TOO_LONG;
	}
	take = r->length_bytes - r->filled_bytes;
	if (take > *length_bytes)
		take = *length_bytes;
	if (!reader_room(r, r->filled_bytes + take))
		return GRPC_READ_NO_MEMORY;
	if (take)
		memcpy(r->data + r->filled_bytes, *bytes, take);
	r->filled_bytes += take;
	*bytes += take;
	*length_bytes -= take;
	return r->filled_bytes == r->length_bytes ? GRPC_READ_MESSAGE : GRPC_READ_MORE;
}

bool grpc_reader_clean(const struct grpc_reader *r)
{
	return r->prefix_filled == 0 || (r->prefix_filled == GRPC_PREFIX_BYTES && r->filled_bytes == r->length_bytes);
}

void grpc_prefix(uint8_t prefix[GRPC_PREFIX_BYTES], uint32_t length_bytes)
{
	prefix[0] = 0;
	prefix[1] = (uint8_t)(length_bytes >> 24);
	prefix[2] = (uint8_t)(length_bytes >> 16);
	prefix[3] = (uint8_t)(length_bytes >> 8);
	prefix[4] = (uint8_t)length_bytes;
}

static const struct {
	char unit;
	int64_t ns;
} timeout_units[] = { { 'n', 1 },          { 'u', 1000 },        { 'm', 1000000 },
		      { 'S', 1000000000 }, { 'M', 60000000000 }, { 'H', 3600000000000 } };

int64_t grpc_timeout_parse(const char *text, size_t length)
{
	int64_t value = 0;

	if (length < 2 || length > 9)
		return -1;
	for (size_t i = 0; i + 1 < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	for (size_t i = 0; i < sizeof(timeout_units) / sizeof(timeout_units[0]); i++)
		if (timeout_units[i].unit == text[length - 1])
			return __builtin_mul_overflow(value, timeout_units[i].ns, &value) ? INT64_MAX : value;
	return -1;
}

void grpc_timeout_format(int64_t timeout_ns, char *buf, size_t size_bytes)
{
	for (size_t i = 0; i < sizeof(timeout_units) / sizeof(timeout_units[0]); i++) {
		int64_t value = timeout_ns / timeout_units[i].ns + (timeout_ns % timeout_units[i].ns != 0);

		if (value <= 99999999) {
			snprintf(buf, size_bytes, "%" PRId64 "%c", value, timeout_units[i].unit);
			return;
		}
	}
	snprintf(buf, size_bytes, "99999999H");
}

size_t grpc_message_encode(const char *text, char *buf, size_t size_bytes)
{
	size_t n = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool plain = c >= 0x20 && c <= 0x7e && c != '%';

		if (n + (plain ? 1 : 3) >= size_bytes)
			break;
		if (plain)
			buf[n++] = (char)c;
		else
			n += (size_t)snprintf(buf + n, size_bytes - n, "%%%02X", c);
	}
	if (size_bytes)
		buf[n] = '\0';
	return n;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

size_t grpc_message_decode(const char *text, size_t length, char *buf, size_t size_bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < length && n + 1 < size_bytes; i++) {
		if (text[i] == '%' && i + 2 < length && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
			buf[n++] = (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
			i += 2;
		} else {
			buf[n++] = text[i];
		}
	}
	if (size_bytes)
		buf[n] = '\0';
	return n;
}

size_t grpc_base64_encode(const uint8_t *bytes, size_t length, char *buf, size_t size_bytes)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0;

	for (size_t i = 0; i < length; i += 3) {
		unsigned left = length - i >= 3 ? 3 : (unsigned)(length - i);
		uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (left > 2 ? bytes[i + 2] : 0);

		if (n + left + 1 >= size_bytes)
			break;
		for (unsigned k = 0; k <= left; k++)
			buf[n++] = alphabet[group >> (18 - 6 * k) & 63];
	}
	if (size_bytes)
		buf[n] = '\0';
	return n;
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

long grpc_base64_decode(const char *text, size_t length, uint8_t *buf, size_t size_bytes)
{
	uint32_t group = 0;
	unsigned bits = 0;
	size_t n = 0;

	while (length && text[length - 1] == '=')
		length--;
	if (length % 4 == 1)
		return -1;
	for (size_t i = 0; i < length; i++) {
		int digit = base64_digit(text[i]);

		if (digit < 0)
			return -1;
		group = group << 6 | (uint32_t)digit;
		bits += 6;
		if (bits >= 8) {
			if (n == size_bytes)
				return -1;
			bits -= 8;
			buf[n++] = (uint8_t)(group >> bits);
		}
	}
	return (long)n;
}
