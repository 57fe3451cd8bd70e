/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PACKET_PROBE_ID_H
#define TARE_PACKET_PROBE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/frame.h"

/*
 * How a probe says which one it is.
 *
 * native ("tare" in plans): 14 bytes, big-endian, at a known place (behind UDP, or behind EtherType 0x88B5), so that in an untagged
 * UDP/IPv4 frame they end at byte 56 and the id costs one cache line:
 *
 *	 0  magic    "TARE"
 *	 4  sequence
 *	 8  tag      of the run, 15 bits; the top bit marks a warm-up packet
 *	10  check    top 16 bits of (tag << 32 | sequence) * 0x9E3779B97F4A7C15 mod 2^64: sees any single flipped bit
 *	12  balance  makes the ones' complement sum of the 14 bytes 0xFFFF: no L4 checksum depends on the id
 *
 * instrument: two 48-bit stamps in us and a 32-bit sequence, big-endian, behind EtherType 0x88B5 or IPv4 protocol 0xFD.
 * It has no check: a damaged sequence is read as another. Sequence 0xFFFFFFFF marks a warm-up packet.
 *
 * oct: the text "oct-fpga-id:N", anywhere in the frame; copies sent back by the reflector begin with P (path) or B
 * (bypass). N is one or more digits that end at a non-digit or at the frame's end, at most 4294967295. A 'w' in the
 * first place marks a warm-up packet. Two markers with different N in a frame: unreadable, not guessed.
 */
enum id_format { ID_NATIVE, ID_INSTRUMENT, ID_OCT, ID_NONE, ID_FORMATS };

enum id_status {
	ID_OK = 0,
	ID_UNREADABLE = 1,  /* it is a probe, but which one cannot be told */
	ID_NOT_A_PROBE = 2, /* nothing of this format here, or an intact probe of another run */
	ID_WARM_UP = 3,     /* a packet of a warm-up train of this run */
};

enum {
	ID_NATIVE_BYTES = 14,
	ID_INSTRUMENT_BYTES = 16,
	ID_OCT_MARKER_BYTES = 12, /* "oct-fpga-id:", digits follow */
	ID_HINTS_MAX = 8,
	ID_TAG_WARM_UP = 0x8000,
	ID_TAG_MASK = 0x7fff,
};

#define ID_MAGIC       UINT32_C(0x54415245)
#define ID_SEQ_WARM_UP UINT32_C(0xffffffff) /* instrument */

/* One row a format. */
struct id_format_info {
	const char *name;     /* in plans: "native", "instrument", "oct", "none" */
	bool patchable;       /* the sender writes the sequence into each packet */
	bool carries_tag;     /* packets of another run are recognised */
	uint32_t least_bytes; /* of payload behind the headers */
};
extern const struct id_format_info id_formats[ID_FORMATS];

/* By name: 0, or -ENOENT. */
int id_format_find(const char *name, enum id_format *ret_format);

/*
 * A reader: one for each receiving thread, because it learns. Offsets where ids
 * were found are tried first, newest first; only where none fits is the frame
 * searched (programs may add or remove headers, so an id can move). Pass it
 * around by pointer; copy it freely.
 */
struct id_reader {
	enum id_format format;
	uint16_t tag; /* native: of this run, ID_TAG_MASK */
	uint16_t hint_count;
	uint16_t hints[ID_HINTS_MAX]; /* offset of the id's first byte in the frame */
	uint64_t searches;            /* frames for which no hint fitted */
	uint64_t moved;               /* of these, ids found elsewhere, and learned */
};

void id_reader_init(struct id_reader *r, enum id_format format, uint16_t tag);

/* Add an offset to try, last. Known, full or over 65535: ignored. */
void id_reader_hint(struct id_reader *r, uint32_t offset_bytes);

/* The slow part of id_read: other hints, then the whole frame. `*ret_id` untouched unless ID_OK. */
enum id_status id_read_search(struct id_reader *r, const uint8_t *frame, uint32_t length_bytes, uint32_t *ret_id);

static inline uint16_t id_native_check(uint32_t sequence, uint16_t tag)
{
	return (uint16_t)(((uint64_t)tag << 32 | sequence) * UINT64_C(0x9E3779B97F4A7C15) >> 48);
}

/*
 * Which probe is this frame? Reads one cache line of a native probe whose id is
 * at the first hint, and little more of the others.
 */
static inline enum id_status id_read(struct id_reader *r, const uint8_t *frame, uint32_t length_bytes, uint32_t *ret_id)
{
	uint32_t at = r->hints[0];

	if (__builtin_expect(r->format == ID_NATIVE && at + ID_NATIVE_BYTES <= length_bytes, 1)) {
		const uint8_t *p = frame + at;
		uint32_t sequence = load_be32(p + 4);
		uint32_t tail = load_be32(p + 8);

		if (__builtin_expect(load_be32(p) == ID_MAGIC &&
					     tail == ((uint32_t)r->tag << 16 | id_native_check(sequence, r->tag)),
				     1)) {
			*ret_id = sequence;
			return ID_OK;
		}
	}
	return id_read_search(r, frame, length_bytes, ret_id);
}

/* Write a whole native id; `tag` may carry ID_TAG_WARM_UP. */
void id_native_write(uint8_t *at, uint32_t sequence, uint16_t tag);

struct instrument_header {
	uint64_t ingress_us, egress_us; /* 48 bits */
	uint32_t sequence;
};

void instrument_write(uint8_t *at, const struct instrument_header *h);
void instrument_read(const uint8_t *at, struct instrument_header *ret);

/* Offset of the instrument header in a frame, by its EtherType or IPv4 protocol; -1: none, or cut. */
int32_t instrument_find(const uint8_t *frame, size_t length_bytes);

/* What stands in an oct frame. */
struct oct_id {
	uint32_t id;
	uint32_t offset_bytes; /* of the marker */
	uint32_t length_bytes; /* marker and digits */
	char copy;             /* 'o' as sent, 'P' or 'B' reflected, 'w' warm-up */
};

/* The whole-frame search, strict. ID_WARM_UP and ID_OK fill *ret; ID_UNREADABLE fills offset_bytes and copy only. */
enum id_status oct_find(const uint8_t *frame, size_t length_bytes, struct oct_id *ret);

/* "oct-fpga-id:N" into room for 22 bytes; returns how many were written (no end byte). */
uint32_t oct_write(uint8_t *at, uint32_t id);

/*
 * Which format does this frame speak, where, and with which id? native and oct
 * are recognised by themselves, instrument by its place; ID_NONE: none of them.
 * Any tag is taken.
 */
struct id_found {
	enum id_format format;
	enum id_status status;
	uint32_t offset_bytes;
	uint32_t id;
};
void id_detect(const uint8_t *frame, size_t length_bytes, struct id_found *ret);

/* The same for a known format. */
void id_find(enum id_format format, const uint8_t *frame, size_t length_bytes, struct id_found *ret);

#endif
