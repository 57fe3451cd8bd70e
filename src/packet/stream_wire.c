/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/stream_wire.h"

#include <errno.h>
#include <stdlib.h>

/*
 * magic 4, format 1, from_trace 1, zero 2, count 4, packet_count 4;
 * for each packet length 4, id_offset 2, fate 1, zero 1; then the packets one behind the other;
 * then for each probe 8 bytes of intended time.
 */
static const uint8_t magic[4] = { 'T', 'S', 'W', 1 };
enum { HEAD_BYTES = 16, PACKET_BYTES = 8, TIME_BYTES = 8, LINE_BYTES = 64, PACKETS_MOST = 1 << 28 };

int stream_pack(const struct stream *s, uint8_t **ret, size_t *ret_bytes, struct err *err)
{
	size_t size = HEAD_BYTES + (size_t)s->packet_count * PACKET_BYTES + (size_t)s->count * TIME_BYTES;
	uint8_t *all, *to;

	for (uint32_t i = 0; i < s->packet_count; i++)
		size += s->packets[i].length_bytes;
	all = calloc(1, size);
	if (!all)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for %zu bytes of a probe stream", size);
	memcpy(all, magic, sizeof(magic));
	all[4] = (uint8_t)s->format;
	all[5] = s->from_trace;
	store_be32(all + 8, s->count);
	store_be32(all + 12, s->packet_count);
	to = all + HEAD_BYTES;
	for (uint32_t i = 0; i < s->packet_count; i++, to += PACKET_BYTES) {
		store_be32(to, s->packets[i].length_bytes);
		store_be16(to + 4, s->packets[i].id_offset);
		to[6] = s->packets[i].fate;
	}
	for (uint32_t i = 0; i < s->packet_count; i++) {
		memcpy(to, s->bytes + s->packets[i].offset_bytes, s->packets[i].length_bytes);
		to += s->packets[i].length_bytes;
	}
	for (uint32_t i = 0; i < s->count; i++, to += TIME_BYTES)
		store_be64(to, (uint64_t)s->send_ns[i]);
	*ret = all;
	*ret_bytes = size;
	return 0;
}

/* How many bytes from its offset on are written, by format (stream_fill, stream_fill_warm_up). */
static uint32_t id_bytes(enum id_format format, uint8_t fate)
{
	if (format == ID_NATIVE)
		return ID_NATIVE_BYTES;
	return fate == STREAM_UNREADABLE ? 0 : format == ID_INSTRUMENT ? ID_INSTRUMENT_BYTES : 1;
}

/* Lengths and offsets; returns what the packets take in all, or 0: they cannot be. */
static size_t take_packets(struct stream *s, const uint8_t *from)
{
	size_t total = 0;

	for (uint32_t i = 0; i < s->packet_count; i++, from += PACKET_BYTES) {
		struct stream_packet *p = &s->packets[i];

		p->length_bytes = load_be32(from);
		p->id_offset = load_be16(from + 4);
		p->fate = from[6];
		if (p->length_bytes < 14 || p->length_bytes > FRAME_MAX_BYTES || p->fate > STREAM_SHARED ||
		    p->id_offset + id_bytes(s->format, p->fate) > p->length_bytes)
			return 0;
		p->offset_bytes = s->byte_count;
		s->byte_count += (p->length_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
		total += p->length_bytes;
		if (p->length_bytes > s->longest_bytes)
			s->longest_bytes = p->length_bytes;
	}
	return total;
}

static bool take_times(struct stream *s, const uint8_t *from)
{
	for (uint32_t i = 0; i < s->count; i++) {
		s->send_ns[i] = (int64_t)load_be64(from + (size_t)i * TIME_BYTES);
		if (s->send_ns[i] < 0 || (i && s->send_ns[i] < s->send_ns[i - 1]))
			return false;
		s->total_bytes += stream_length(s, i);
	}
	return true;
}

/* 0, -ENOMEM, or -EINVAL. `left`: bytes behind the head. */
static int fill(struct stream *s, const uint8_t *from, size_t left)
{
	size_t heads = (size_t)s->packet_count * PACKET_BYTES, times = (size_t)s->count * TIME_BYTES, total;

	if (heads + times > left)
		return -EINVAL;
	s->packets = calloc(s->packet_count, sizeof(*s->packets));
	s->send_ns = calloc(s->count, sizeof(*s->send_ns));
	if (!s->packets || !s->send_ns)
		return -ENOMEM;
	total = take_packets(s, from);
	if (total == 0 || heads + total + times != left)
		return -EINVAL;
	s->bytes = aligned_alloc(LINE_BYTES, s->byte_count);
	if (!s->bytes)
		return -ENOMEM;
	memset(s->bytes, 0, s->byte_count);
	from += heads;
	for (uint32_t i = 0; i < s->packet_count; i++) {
		memcpy(s->bytes + s->packets[i].offset_bytes, from, s->packets[i].length_bytes);
		from += s->packets[i].length_bytes;
	}
	return take_times(s, from) ? 0 : -EINVAL;
}

int stream_unpack(const uint8_t *bytes, size_t count, struct stream **ret_stream, struct err *err)
{
	struct stream *s;
	int r;

	if (count < HEAD_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
		return err_set(err, ERR_USAGE, EINVAL, "no probe stream: %zu bytes with another beginning", count);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	s->format = bytes[4];
	s->from_trace = bytes[5] != 0;
	s->count = load_be32(bytes + 8);
	s->packet_count = load_be32(bytes + 12);
	r = -EINVAL;
	if (bytes[4] <= ID_NONE && bytes[5] <= 1 && s->count > 0 && s->packet_count > 0 &&
	    s->packet_count <= PACKETS_MOST)
		r = fill(s, bytes + HEAD_BYTES, count - HEAD_BYTES);
	if (r < 0) {
		stream_destroy(s);
		return r == -ENOMEM ? err_set(err, ERR_HOST, ENOMEM, "out of memory")
				    : err_set(err, ERR_USAGE, EINVAL,
					      "no probe stream: %zu bytes whose lengths or times cannot be", count);
	}
	*ret_stream = s;
	return 0;
}
