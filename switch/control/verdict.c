/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control/control_private.h"

int verdict(struct verdict *v, int code, const char *fmt, ...)
{
	va_list args;

	v->code = code;
	va_start(args, fmt);
	vsnprintf(v->message, sizeof(v->message), fmt, args);
	va_end(args);
	return -1;
}

int verdict_of(struct verdict *v, int rc, const struct err *err)
{
	static const struct {
		int rc, code;
	} words[] = {
		{ -EEXIST, GRPC_ALREADY_EXISTS },     { -ENOENT, GRPC_NOT_FOUND },
		{ -ENOSPC, GRPC_RESOURCE_EXHAUSTED }, { -EPERM, GRPC_PERMISSION_DENIED },
		{ -EINVAL, GRPC_INVALID_ARGUMENT },   { -EBUSY, GRPC_FAILED_PRECONDITION },
		{ -ENOMEM, GRPC_RESOURCE_EXHAUSTED },
	};

	if (rc == 0)
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].rc == rc)
			return verdict(v, words[i].code, "%s", err->message);
	return verdict(v, GRPC_INTERNAL, "%s", err->message);
}

/* --- the details of a failed batch, by hand: a message of this form is nothing but tags and lengths --- */

struct out {
	uint8_t *at, *end; /* at > end: it did not fit */
};

static void put(struct out *o, const void *bytes, size_t length)
{
	if (o->at + length <= o->end)
		memcpy(o->at, bytes, length);
	o->at += length;
}

static void put_varint(struct out *o, uint64_t value)
{
	uint8_t byte;

	do {
		byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		put(o, &byte, 1);
		value >>= 7;
	} while (value != 0);
}

static void put_bytes(struct out *o, uint32_t field, const void *bytes, size_t length)
{
	put_varint(o, field << 3 | 2);
	put_varint(o, length);
	put(o, bytes, length);
}

static void put_number(struct out *o, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	put_varint(o, field << 3);
	put_varint(o, value);
}

static size_t pack(const struct verdict *verdicts, size_t count, const char *message, bool texts, uint8_t *buf,
		   size_t limit_bytes)
{
	static const char type[] = "type.googleapis.com/p4.v1.Error";
	struct out o = { buf, buf + limit_bytes };

	put_number(&o, 1, GRPC_UNKNOWN);
	put_bytes(&o, 2, message, strlen(message));
	for (size_t i = 0; i < count && o.at <= o.end; i++) {
		uint8_t error[32 + sizeof(verdicts[0].message)], any[sizeof(error) + sizeof(type) + 16];
		struct out e = { error, error + sizeof(error) }, a = { any, any + sizeof(any) };

		put_number(&e, 1, (uint64_t)verdicts[i].code);
		if (texts && verdicts[i].code != GRPC_OK)
			put_bytes(&e, 2, verdicts[i].message, strlen(verdicts[i].message));
		put_bytes(&a, 1, type, sizeof(type) - 1);
		if (e.at > error)
			put_bytes(&a, 2, error, (size_t)(e.at - error));
		put_bytes(&o, 3, any, (size_t)(a.at - any));
	}
	return o.at <= o.end ? (size_t)(o.at - buf) : 0;
}

size_t verdicts_pack(const struct verdict *verdicts, size_t count, const char *message, uint8_t *buf,
		     size_t limit_bytes)
{
	size_t length = pack(verdicts, count, message, true, buf, limit_bytes);

	return length > 0 ? length : pack(verdicts, count, message, false, buf, limit_bytes); /* at least the codes */
}
