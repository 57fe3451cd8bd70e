/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_WIRE_H
#define TARE_P4RT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Protobuf's wire form, for the messages that are too frequent for protobuf-c.
 * Pure. Reading never goes past the end and skips fields it is not asked for.
 */
enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static inline size_t wire_put_varint(uint8_t *to, uint64_t value)
{
	size_t n = 0;

	while (value >= 0x80) {
		to[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	to[n++] = (uint8_t)value;
	return n;
}

static inline size_t wire_varint_bytes(uint64_t value)
{
	return value < 0x80 ? 1 : ((size_t)(63 - __builtin_clzll(value)) * 9 + 73) / 64;
}

struct wire_cursor {
	const uint8_t *at, *end;
};

/* One field. `number` is its value where the type is a varint, data and length where it is bytes. */
struct wire_field {
	uint32_t id;
	enum wire_type type;
	uint64_t number;
	const uint8_t *data;
	size_t length;
};

/* 1: a field; 0: the end; -1: this is not protobuf. */
int wire_next(struct wire_cursor *cursor, struct wire_field *ret_field);

#endif
