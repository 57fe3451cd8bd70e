/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/wire.h"

static bool varint(struct wire_cursor *c, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static bool take(struct wire_cursor *c, uint64_t length, struct wire_field *field)
{
	if (length > (uint64_t)(c->end - c->at))
		return false;
	field->data = c->at;
	field->length = (size_t)length;
	c->at += length;
	return true;
}

int wire_next(struct wire_cursor *cursor, struct wire_field *ret_field)
{
	uint64_t tag, length;

	if (cursor->at == cursor->end)
		return 0;
	if (!varint(cursor, &tag) || tag >> 3 == 0 || tag >> 3 > 536870911)
		return -1;
	*ret_field = (struct wire_field){ .id = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7) };
	switch (tag & 7) {
	case WIRE_VARINT:
		return varint(cursor, &ret_field->number) ? 1 : -1;
	case WIRE_BYTES:
		return varint(cursor, &length) && take(cursor, length, ret_field) ? 1 : -1;
	case WIRE_FIXED64:
		return take(cursor, 8, ret_field) ? 1 : -1;
	case WIRE_FIXED32:
		return take(cursor, 4, ret_field) ? 1 : -1;
	default:
		return -1;
	}
}
