/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PACKET_TRACE_H
#define TARE_PACKET_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "packet/probe_id.h"

/*
 * A capture file in memory: pcap (us or ns, either byte order) or pcapng, of
 * Ethernet. It is read to be *sent*, so it is refused unless every packet is
 * whole and 14 to 9018 bytes long; the message names the file, the packet (from
 * 1), what is wrong with it and what to do.
 */
struct trace_packet {
	uint64_t offset_bytes; /* in trace.bytes */
	uint32_t length_bytes;
	int64_t time_ns; /* since the first packet; negative where the file goes back in time */
	uint32_t id;     /* where id_status is ID_OK */
	uint32_t id_offset_bytes;
	uint8_t id_status; /* enum id_status; a warm-up marker in a file counts as unreadable */
	bool id_shared;    /* another packet has the same id */
};

struct trace {
	char *path; /* as given, for messages */
	uint8_t *bytes;
	uint64_t byte_count;
	struct trace_packet *packets;
	uint32_t packet_count;
	uint32_t longest_bytes, shortest_bytes;
	int64_t first_time_ns;   /* of the file, since 1970 */
	enum id_format format;   /* given, or the one that most packets speak; ID_NONE: no packet has an id */
	uint32_t ids_good;       /* packets with an id of their own */
	uint32_t ids_unreadable; /* no id, or not a readable one */
	uint32_t ids_shared;     /* packets whose id another packet has too: they cannot be told apart */
	uint32_t times_back;     /* packets earlier than the one before */
};

/* Limits against a file that would fill memory. */
#define TRACE_PACKETS_MAX UINT32_C(100000000)

/*
 * Read a file; "-" is not special. `format` ID_FORMATS: detect. On success the
 * caller owns *ret_trace (trace_destroy). -ENOENT and the like when it cannot be
 * opened, -EINVAL when its content is refused, -ENOMEM.
 */
int trace_load(const char *path, enum id_format format, struct trace **ret_trace, struct err *err);

/* The same from memory; `name` stands in messages. */
int trace_parse(const uint8_t *bytes, size_t length_bytes, const char *name, enum id_format format,
		struct trace **ret_trace, struct err *err);

void trace_destroy(struct trace *trace);

/*
 * Writing: pcap with ns stamps, Ethernet. Times since 1970. The file is complete
 * after trace_writer_close, whose result counts: a full disk shows there at the
 * latest. NULL may be closed.
 */
struct trace_writer;
int trace_writer_open(const char *path, struct trace_writer **ret_writer, struct err *err);
int trace_writer_put(struct trace_writer *w, int64_t time_ns, const uint8_t *frame, uint32_t length_bytes,
		     struct err *err);
int trace_writer_close(struct trace_writer *w, struct err *err);

#endif
