/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PACKET_STREAM_H
#define TARE_PACKET_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "packet/frame.h"
#include "packet/probe_id.h"
#include "packet/trace.h"

/*
 * The probes of a run, ready to be sent: generated from a template, or a trace
 * with its own ids or with native ids written over it. Packets are prebuilt in
 * one flat array, each on a cache line of its own; the sender copies one and
 * patches the sequence (stream_fill). Never changes after it is built, so all
 * threads may read it; one stream serves all runs of a cell.
 */
enum stream_fate {
	STREAM_OK = 0,
	STREAM_UNREADABLE = 1, /* no id of its own format: sent, but cannot be recognised */
	STREAM_SHARED = 2,     /* its id is also another's: cannot be told apart (ledger: shadowed) */
};

struct stream_packet {
	uint64_t offset_bytes; /* in stream.bytes; a multiple of 64 */
	uint32_t length_bytes;
	uint32_t id;        /* oct: in its text; patched formats: unused, the probe's index is its id */
	uint16_t id_offset; /* in the packet */
	uint8_t fate;       /* enum stream_fate */
};

struct stream {
	enum id_format format;
	uint32_t count;        /* probes in a run */
	uint32_t packet_count; /* distinct packets; probe i is packet i % packet_count */
	struct stream_packet *packets;
	uint8_t *bytes;
	uint64_t byte_count;
	int64_t *send_ns; /* intended send time of each probe, since that of probe 0 */
	uint32_t longest_bytes;
	uint64_t total_bytes;        /* of all probes of a run */
	uint32_t unreadable, shared; /* probes by stream_fate */
	bool from_trace;
	uint16_t hints[ID_HINTS_MAX]; /* where ids stand, the most frequent first; for stream_reader */
	uint16_t hint_count;

	/* id -> probe, for ids that are not the index itself: open addressing, power of two, at most half full. */
	struct stream_slot {
		uint32_t id, probe;
	} * slots;
	uint32_t slot_mask;
};

#define STREAM_NONE UINT32_MAX

struct stream_spec {
	const struct trace *trace; /* NULL: generate. Copied; may be destroyed afterwards */
	uint32_t count;            /* probes in a run; 0 with a trace: one pass */
	enum id_format
		format;     /* generated: native, instrument or oct; trace: its own format, or native (written over) */
	uint64_t rate_mpps; /* 1/1000 packet/s, as plans give rates; 0: the trace's own times */
	/* Generated only: */
	struct frame_template frame;
	uint32_t flows; /* distinct packets, by source port from the template's on; 0 means 1. oct: each probe is one */
};

/* Build. On success the caller owns *ret_stream (stream_destroy). -EINVAL names the value that cannot be. */
int stream_create(const struct stream_spec *spec, struct stream **ret_stream, struct err *err);

/* Can it be built, as far as can be told without building it? 0, or the error that stream_create would give. */
int stream_check(const struct stream_spec *spec, struct err *err);
void stream_destroy(struct stream *s);

/* The packet of probe i: what pair.packet stores for a trace; for generated streams store i itself. */
static inline const struct stream_packet *stream_packet(const struct stream *s, uint32_t i)
{
	return &s->packets[s->packet_count == 1 ? 0 : i % s->packet_count];
}

static inline uint32_t stream_length(const struct stream *s, uint32_t i)
{
	return stream_packet(s, i)->length_bytes;
}

/* Write probe i of the run with this tag into `to` (room: its length). Returns its length. */
static inline uint32_t stream_fill(const struct stream *s, uint32_t i, uint16_t tag, uint8_t *to)
{
	const struct stream_packet *p = stream_packet(s, i);

	memcpy(to, s->bytes + p->offset_bytes, p->length_bytes);
	if (s->format == ID_NATIVE)
		id_native_write(to + p->id_offset, i, tag & ID_TAG_MASK);
	else if (s->format == ID_INSTRUMENT && p->fate == STREAM_OK)
		store_be32(to + p->id_offset + 12, i);
	return p->length_bytes;
}

/* The same packet as one of a warm-up train: its reader answers ID_WARM_UP. A trace packet without id stays as it is. */
uint32_t stream_fill_warm_up(const struct stream *s, uint32_t i, uint16_t tag, uint8_t *to);

/* A reader for the stream's ids, with the offsets where they are as hints, the most frequent first. */
void stream_reader(const struct stream *s, uint16_t tag, struct id_reader *ret_reader);

/*
 * The probe of an id that was read: its index, or STREAM_NONE when no probe has
 * it. An id that several probes share leads to the first of them; its packet's
 * fate says STREAM_SHARED.
 */
static inline uint32_t stream_lookup(const struct stream *s, uint32_t id)
{
	if (s->slots == NULL)
		return id < s->count ? id : STREAM_NONE;
	for (uint32_t at = (id ^ id >> 16) & s->slot_mask; s->slots[at].probe != STREAM_NONE;
	     at = (at + 1) & s->slot_mask) {
		if (s->slots[at].id == id)
			return s->slots[at].probe;
	}
	return STREAM_NONE;
}

/* Write a run's probes as a pcap, with the stream's times from `start_ns` (since 1970) on. */
int stream_write_pcap(const struct stream *s, uint16_t tag, int64_t start_ns, const char *path, struct err *err);

#endif
