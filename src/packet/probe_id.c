/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/probe_id.h"

#include <errno.h>
#include <string.h>

const struct id_format_info id_formats[ID_FORMATS] = {
	[ID_NATIVE] = { "tare", true, true, ID_NATIVE_BYTES },
	[ID_INSTRUMENT] = { "instrument", true, false, ID_INSTRUMENT_BYTES },
	[ID_OCT] = { "oct", false, false, ID_OCT_MARKER_BYTES + 1 },
	[ID_NONE] = { "none", false, false, 0 },
};

int id_format_find(const char *name, enum id_format *ret_format)
{
	for (unsigned i = 0; i < ID_FORMATS; i++) {
		if (strcmp(name, id_formats[i].name) == 0) {
			*ret_format = (enum id_format)i;
			return 0;
		}
	}
	return -ENOENT;
}

/* An id was found where no hint pointed: try there first from now on; the oldest hint goes. */
static void id_reader_learn(struct id_reader *r, uint32_t offset_bytes)
{
	unsigned keep = r->hint_count < ID_HINTS_MAX ? r->hint_count : ID_HINTS_MAX - 1;

	if (offset_bytes > UINT16_MAX)
		return;
	r->moved++;
	memmove(r->hints + 1, r->hints, keep * sizeof(r->hints[0]));
	r->hints[0] = (uint16_t)offset_bytes;
	r->hint_count = (uint16_t)(keep + 1);
}

/* --- native --- */

void id_native_write(uint8_t *at, uint32_t sequence, uint16_t tag)
{
	uint16_t check = id_native_check(sequence, tag);
	uint32_t sum = (ID_MAGIC >> 16) + (ID_MAGIC & 0xffff) + (sequence >> 16) + (sequence & 0xffff) + tag + check;

	store_be32(at, ID_MAGIC);
	store_be32(at + 4, sequence);
	store_be16(at + 8, tag);
	store_be16(at + 10, check);
	store_be16(at + 12, checksum_finish(sum));
}

struct native_id {
	bool magic, check;
	uint32_t sequence;
	uint16_t tag;
};

static struct native_id native_load(const uint8_t *at)
{
	struct native_id n = { .magic = load_be32(at) == ID_MAGIC,
			       .sequence = load_be32(at + 4),
			       .tag = load_be16(at + 8) };

	n.check = load_be16(at + 10) == id_native_check(n.sequence, n.tag);
	return n;
}

/* Offset of the next place with the magic and room for an id, or -1. */
static int32_t native_next(const uint8_t *frame, size_t length_bytes, size_t from)
{
	static const uint8_t magic[4] = { 'T', 'A', 'R', 'E' };
	const uint8_t *hit;

	if (length_bytes < ID_NATIVE_BYTES || from > length_bytes - ID_NATIVE_BYTES)
		return -1;
	hit = memmem(frame + from, length_bytes - (ID_NATIVE_BYTES - sizeof(magic)) - from, magic, sizeof(magic));
	return hit == NULL ? -1 : (int32_t)(hit - frame);
}

static enum id_status native_classify(const struct native_id *n, uint16_t tag)
{
	if ((n->tag & ID_TAG_MASK) != tag)
		return ID_NOT_A_PROBE;
	return n->tag & ID_TAG_WARM_UP ? ID_WARM_UP : ID_OK;
}

static enum id_status native_search(struct id_reader *r, const uint8_t *frame, uint32_t length_bytes, uint32_t *ret_id)
{
	enum id_status status = ID_NOT_A_PROBE;

	for (unsigned i = 0; i < r->hint_count; i++) {
		struct native_id n;

		if (r->hints[i] + (uint32_t)ID_NATIVE_BYTES > length_bytes)
			continue;
		n = native_load(frame + r->hints[i]);
		if (n.magic && n.check) {
			status = native_classify(&n, r->tag);
			if (status == ID_OK)
				*ret_id = n.sequence;
			return status;
		}
		/*
		 * Only the magic is damaged. (The other way round the search below sees it. Zero bytes have a right
		 * check for tag 0, so not for that.)
		 */
		if (n.check && (n.tag & ID_TAG_MASK) == r->tag && r->tag != 0)
			status = ID_UNREADABLE;
	}
	r->searches++;
	for (int32_t at = native_next(frame, length_bytes, 0); at >= 0;
	     at = native_next(frame, length_bytes, (size_t)at + 1)) {
		struct native_id n = native_load(frame + at);

		if (!n.check) {
			status = ID_UNREADABLE;
			continue;
		}
		status = native_classify(&n, r->tag);
		if (status == ID_OK)
			*ret_id = n.sequence;
		if (status != ID_NOT_A_PROBE)
			id_reader_learn(r, (uint32_t)at);
		return status;
	}
	return status;
}

/* --- instrument --- */

void instrument_write(uint8_t *at, const struct instrument_header *h)
{
	store_be48(at, h->ingress_us);
	store_be48(at + 6, h->egress_us);
	store_be32(at + 12, h->sequence);
}

void instrument_read(const uint8_t *at, struct instrument_header *ret)
{
	ret->ingress_us = load_be48(at);
	ret->egress_us = load_be48(at + 6);
	ret->sequence = load_be32(at + 12);
}

/* -1: not an instrument frame; -2: one, but too short for the header. */
static int32_t instrument_place(const uint8_t *frame, size_t length_bytes)
{
	struct frame_view v;
	uint32_t at;

	frame_parse(frame, length_bytes, &v);
	if (v.ethertype == ETHERTYPE_PROBE && v.l3_offset != 0)
		at = v.l3_offset;
	else if (v.ip_version == 4 && v.ip_proto == IP_PROTO_PROBE && v.l4_offset != 0)
		at = v.l4_offset;
	else
		return -1;
	return v.l3_end - at < ID_INSTRUMENT_BYTES ? -2 : (int32_t)at;
}

int32_t instrument_find(const uint8_t *frame, size_t length_bytes)
{
	int32_t at = instrument_place(frame, length_bytes);

	return at < 0 ? -1 : at;
}

/* Does what stands before `at` make it an instrument header? The whole parse, where the frame has the plain shape. */
static bool instrument_at(const uint8_t *frame, uint32_t length_bytes, uint32_t at)
{
	if (at + ID_INSTRUMENT_BYTES > length_bytes)
		return false;
	if (at == FRAME_ETHER_BYTES)
		return load_be16(frame + 12) == ETHERTYPE_PROBE;
	return at == FRAME_ETHER_BYTES + FRAME_IPV4_BYTES && load_be16(frame + 12) == ETHERTYPE_IPV4 &&
	       frame[14] == 0x45 && frame[23] == IP_PROTO_PROBE && (load_be16(frame + 20) & 0x1fff) == 0 &&
	       load_be16(frame + 16) >= FRAME_IPV4_BYTES + ID_INSTRUMENT_BYTES &&
	       load_be16(frame + 16) <= length_bytes - FRAME_ETHER_BYTES;
}

static enum id_status instrument_search(struct id_reader *r, const uint8_t *frame, uint32_t length_bytes,
					uint32_t *ret_id)
{
	int32_t at = -1;
	uint32_t sequence;

	for (unsigned i = 0; i < r->hint_count && at < 0; i++)
		at = instrument_at(frame, length_bytes, r->hints[i]) ? r->hints[i] : -1;
	if (at < 0) {
		r->searches++;
		at = instrument_place(frame, length_bytes);
		if (at < 0)
			return at == -2 ? ID_UNREADABLE : ID_NOT_A_PROBE;
		id_reader_learn(r, (uint32_t)at);
	}
	sequence = load_be32(frame + at + 12);
	if (sequence == ID_SEQ_WARM_UP)
		return ID_WARM_UP;
	*ret_id = sequence;
	return ID_OK;
}

/* --- oct --- */

static const char oct_marker[ID_OCT_MARKER_BYTES + 1] = "oct-fpga-id:";

/* Is a marker at `at`? Twelve bytes are there. */
static bool oct_marker_at(const uint8_t *at)
{
	return memcmp(at + 1, oct_marker + 1, 8) == 0 && memcmp(at + 8, oct_marker + 8, 4) == 0 &&
	       (at[0] == 'o' || at[0] == 'P' || at[0] == 'B' || at[0] == 'w');
}

/* The digits behind a marker: their number, 0 where there is no id that can be read. */
static uint32_t oct_digits(const uint8_t *at, size_t room_bytes, uint32_t *ret_id)
{
	uint64_t id = 0;
	size_t i;

	for (i = 0; i < room_bytes && at[i] >= '0' && at[i] <= '9'; i++) {
		id = id * 10 + (uint64_t)(at[i] - '0');
		if (id > UINT32_MAX)
			return 0;
	}
	*ret_id = (uint32_t)id;
	return (uint32_t)i;
}

enum id_status oct_find(const uint8_t *frame, size_t length_bytes, struct oct_id *ret)
{
	const uint8_t *end = frame + length_bytes, *at = frame;
	bool found = false;

	while (length_bytes >= ID_OCT_MARKER_BYTES && at + ID_OCT_MARKER_BYTES <= end) {
		uint32_t id = 0, digits;

		/* All but the first byte, which differs between copies. */
		at = memmem(at + 1, (size_t)(end - at) - 1, oct_marker + 1, ID_OCT_MARKER_BYTES - 1);
		if (at == NULL)
			break;
		at--;
		if (!oct_marker_at(at)) {
			at += ID_OCT_MARKER_BYTES;
			continue;
		}
		digits = oct_digits(at + ID_OCT_MARKER_BYTES, (size_t)(end - at) - ID_OCT_MARKER_BYTES, &id);
		if (digits == 0 || (found && id != ret->id)) {
			*ret = (struct oct_id){ .offset_bytes = (uint32_t)(at - frame), .copy = (char)at[0] };
			return ID_UNREADABLE;
		}
		if (!found) {
			*ret = (struct oct_id){ .id = id,
						.offset_bytes = (uint32_t)(at - frame),
						.length_bytes = ID_OCT_MARKER_BYTES + digits,
						.copy = (char)at[0] };
			found = true;
		}
		at += ID_OCT_MARKER_BYTES + digits;
	}
	if (!found)
		return ID_NOT_A_PROBE;
	return ret->copy == 'w' ? ID_WARM_UP : ID_OK;
}

static enum id_status oct_search(struct id_reader *r, const uint8_t *frame, uint32_t length_bytes, uint32_t *ret_id)
{
	enum id_status status;
	struct oct_id found;

	for (unsigned i = 0; i < r->hint_count; i++) {
		uint32_t digits_at = r->hints[i] + (uint32_t)ID_OCT_MARKER_BYTES, id;
		const uint8_t *at;

		if (digits_at > length_bytes)
			continue;
		at = frame + r->hints[i];
		if (!oct_marker_at(at))
			continue;
		if (oct_digits(frame + digits_at, length_bytes - digits_at, &id) == 0)
			return ID_UNREADABLE;
		if (at[0] == 'w')
			return ID_WARM_UP;
		*ret_id = id;
		return ID_OK;
	}
	r->searches++;
	status = oct_find(frame, length_bytes, &found);
	if (status == ID_OK || status == ID_WARM_UP)
		id_reader_learn(r, found.offset_bytes);
	if (status == ID_OK)
		*ret_id = found.id;
	return status;
}

uint32_t oct_write(uint8_t *at, uint32_t id)
{
	char digits[10];
	uint32_t count = 0;

	do {
		digits[count++] = (char)('0' + id % 10);
		id /= 10;
	} while (id != 0);
	memcpy(at, oct_marker, ID_OCT_MARKER_BYTES);
	for (uint32_t i = 0; i < count; i++)
		at[ID_OCT_MARKER_BYTES + i] = (uint8_t)digits[count - 1 - i];
	return ID_OCT_MARKER_BYTES + count;
}

/* --- readers --- */

void id_reader_init(struct id_reader *r, enum id_format format, uint16_t tag)
{
	memset(r, 0, sizeof(*r));
	r->format = format;
	r->tag = tag & ID_TAG_MASK;
}

void id_reader_hint(struct id_reader *r, uint32_t offset_bytes)
{
	if (r->hint_count == ID_HINTS_MAX || offset_bytes > UINT16_MAX)
		return;
	for (unsigned i = 0; i < r->hint_count; i++) {
		if (r->hints[i] == offset_bytes)
			return;
	}
	r->hints[r->hint_count++] = (uint16_t)offset_bytes;
}

enum id_status id_read_search(struct id_reader *r, const uint8_t *frame, uint32_t length_bytes, uint32_t *ret_id)
{
	switch (r->format) {
	case ID_NATIVE:
		return native_search(r, frame, length_bytes, ret_id);
	case ID_INSTRUMENT:
		return instrument_search(r, frame, length_bytes, ret_id);
	case ID_OCT:
		return oct_search(r, frame, length_bytes, ret_id);
	case ID_NONE:
	case ID_FORMATS:
		break;
	}
	return ID_NOT_A_PROBE;
}

/* --- frames of which nothing is known --- */

static enum id_status native_find(const uint8_t *frame, size_t length_bytes, struct id_found *ret)
{
	enum id_status status = ID_NOT_A_PROBE;

	for (int32_t at = native_next(frame, length_bytes, 0); at >= 0;
	     at = native_next(frame, length_bytes, (size_t)at + 1)) {
		struct native_id n = native_load(frame + at);

		ret->offset_bytes = (uint32_t)at;
		ret->id = n.sequence;
		if (n.check)
			return n.tag & ID_TAG_WARM_UP ? ID_WARM_UP : ID_OK;
		status = ID_UNREADABLE;
	}
	return status;
}

void id_find(enum id_format format, const uint8_t *frame, size_t length_bytes, struct id_found *ret)
{
	struct oct_id oct = { 0 };
	int32_t at;

	*ret = (struct id_found){ .format = format, .status = ID_NOT_A_PROBE };
	switch (format) {
	case ID_NATIVE:
		ret->status = native_find(frame, length_bytes, ret);
		break;
	case ID_INSTRUMENT:
		at = instrument_place(frame, length_bytes);
		if (at < 0) {
			ret->status = at == -2 ? ID_UNREADABLE : ID_NOT_A_PROBE;
			break;
		}
		ret->offset_bytes = (uint32_t)at;
		ret->id = load_be32(frame + at + 12);
		ret->status = ret->id == ID_SEQ_WARM_UP ? ID_WARM_UP : ID_OK;
		break;
	case ID_OCT:
		ret->status = oct_find(frame, length_bytes, &oct);
		ret->offset_bytes = oct.offset_bytes;
		ret->id = oct.id;
		break;
	case ID_NONE:
	case ID_FORMATS:
		break;
	}
}

void id_detect(const uint8_t *frame, size_t length_bytes, struct id_found *ret)
{
	static const enum id_format order[] = { ID_NATIVE, ID_OCT, ID_INSTRUMENT };

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		id_find(order[i], frame, length_bytes, ret);
		if (ret->status != ID_NOT_A_PROBE)
			return;
	}
	ret->format = ID_NONE;
}
