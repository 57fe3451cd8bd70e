/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/reflected.h"

#include <string.h>

enum { MAGIC_LETTER = 3, BALANCE = 12 };

bool reflected_format(enum id_format format)
{
	return format == ID_NATIVE || format == ID_OCT;
}

void reflected_mark_native(uint8_t *at, char copy)
{
	uint32_t sum = 0;

	at[MAGIC_LETTER] = (uint8_t)copy;
	for (int i = 0; i < BALANCE; i += 2)
		sum += load_be16(at + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	store_be16(at + BALANCE, (uint16_t)~sum);
}

static bool native_at(const uint8_t *frame, uint32_t length_bytes, uint32_t at)
{
	if (at + ID_NATIVE_BYTES > length_bytes || load_be32(frame + at) != ID_MAGIC)
		return false;
	return load_be16(frame + at + 10) == id_native_check(load_be32(frame + at + 4), load_be16(frame + at + 8));
}

enum id_status reflected_mark(enum id_format format, uint16_t *hint, uint8_t *frame, uint32_t length_bytes, char copy,
			      uint32_t *ret_id)
{
	struct id_found found;

	if (format == ID_NATIVE && native_at(frame, length_bytes, *hint)) {
		*ret_id = load_be32(frame + *hint + 4);
		reflected_mark_native(frame + *hint, copy);
		return load_be16(frame + *hint + 8) & ID_TAG_WARM_UP ? ID_WARM_UP : ID_OK;
	}
	if (!reflected_format(format))
		return ID_NOT_A_PROBE;
	/* every marker of oct is looked for: two with different numbers are none */
	id_find(format, frame, length_bytes, &found);
	if (found.status != ID_OK && !(found.status == ID_WARM_UP && format == ID_NATIVE))
		return found.status == ID_WARM_UP ? ID_NOT_A_PROBE : found.status;
	if (format == ID_NATIVE)
		reflected_mark_native(frame + found.offset_bytes, copy);
	else
		frame[found.offset_bytes] = (uint8_t)copy;
	if (found.offset_bytes <= UINT16_MAX)
		*hint = (uint16_t)found.offset_bytes;
	*ret_id = found.id;
	return found.status;
}

static enum id_status native_find(const uint8_t *frame, uint32_t length_bytes, struct reflected_id *ret)
{
	enum id_status status = ID_NOT_A_PROBE;

	for (uint32_t at = 0; at + ID_NATIVE_BYTES <= length_bytes; at++) {
		const uint8_t *hit = memchr(frame + at, 'T', length_bytes - ID_NATIVE_BYTES + 1 - at);

		if (!hit)
			break;
		at = (uint32_t)(hit - frame);
		if (hit[1] != 'A' || hit[2] != 'R' || (hit[3] != REFLECTED_PATH && hit[3] != REFLECTED_BYPASS))
			continue;
		ret->copy = (char)hit[3];
		ret->id = load_be32(hit + 4);
		ret->tag = load_be16(hit + 8);
		if (load_be16(hit + 10) != id_native_check(ret->id, ret->tag)) {
			status = ID_UNREADABLE;
			continue;
		}
		status = ret->tag & ID_TAG_WARM_UP ? ID_WARM_UP : ID_OK;
		ret->tag &= ID_TAG_MASK;
		return status;
	}
	return status;
}

enum id_status reflected_find(enum id_format format, const uint8_t *frame, uint32_t length_bytes,
			      struct reflected_id *ret)
{
	struct oct_id oct = { 0 };
	enum id_status status;

	if (format == ID_NATIVE)
		return native_find(frame, length_bytes, ret);
	if (format != ID_OCT)
		return ID_NOT_A_PROBE;
	status = oct_find(frame, length_bytes, &oct);
	*ret = (struct reflected_id){ .id = oct.id, .copy = oct.copy };
	if (status == ID_NOT_A_PROBE || (oct.copy != REFLECTED_PATH && oct.copy != REFLECTED_BYPASS))
		return ID_NOT_A_PROBE;
	return status;
}
