/* SPDX-License-Identifier: Apache-2.0 */
#include "io/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, HEAD = 4 };

/*
 * A slot: 16 bits of turn and 16 of length in one word, then the frame. The word
 * is written last; the turn is the lap in which the slot holds a frame, so the
 * receiver never writes to a slot and learns of a frame from the line it stands in.
 * Slots begin on pairs of lines, as prefetchers fetch lines in pairs: the line that is looked at must not be the
 * pair of one that is written.
 */
struct slot {
	_Atomic uint32_t word;
	uint8_t frame[];
};

/* Each end's fields on lines of their own: `s` is written by the sender only, `r` by the receiver only. */
struct ring {
	uint8_t *slots;
	uint32_t count_mask, lap_shift, slot_bytes, frame_bytes, publish_mask;
	atomic_uint ends;

	_Alignas(2 * LINE) struct {
		uint64_t next;     /* the frame that is sent next, counted from the ring's start */
		uint64_t reserved; /* lent up to here */
		uint64_t free_to;  /* slots known free: up to here, exclusive */
	} s;
	_Alignas(2 * LINE) struct {
		uint64_t next;     /* the frame that is received next */
		uint64_t released; /* given back up to here */
	} r;
	_Alignas(2 * LINE) _Atomic uint64_t released; /* r.released, published now and then */
};

struct memory_port {
	struct io_port port;
	struct ring *ring;
};

static inline struct ring *ring_of(const struct io_port *port)
{
	return ((const struct memory_port *)port)->ring;
}

static inline struct slot *slot_at(const struct ring *ring, uint64_t n)
{
	return (struct slot *)(ring->slots + (n & ring->count_mask) * ring->slot_bytes);
}

/* Laps count from 1, so that zeroed memory holds no frame; they wrap after 65536, long after the slot was reused. */
static inline uint32_t turn_of(const struct ring *ring, uint64_t n)
{
	return (uint16_t)((n >> ring->lap_shift) + 1);
}

static unsigned memory_receive(struct io_port *port, struct io_frame *ret_frames, unsigned count)
{
	struct ring *ring = ring_of(port);
	uint64_t n = ring->r.next;
	unsigned i;

	for (i = 0; i < count; i++, n++) {
		struct slot *slot = slot_at(ring, n);
		uint32_t word = atomic_load_explicit(&slot->word, memory_order_acquire);

		if (word >> 16 != turn_of(ring, n))
			break;
		ret_frames[i].data = slot->frame;
		ret_frames[i].length_bytes = word & 0xffff;
		ret_frames[i].capacity_bytes = ring->frame_bytes;
		ret_frames[i].handle = slot;
		ret_frames[i].stamp_ns = 0;
	}
	if (i)
		ring->r.next = n;
	return i;
}

static void memory_release(struct io_port *port, struct io_frame *frames, unsigned count)
{
	struct ring *ring = ring_of(port);
	uint64_t before = ring->r.released;

	(void)frames;
	ring->r.released += count;
	/* Only now and then: each time moves a line between the cores. */
	if ((before ^ ring->r.released) & ~(uint64_t)ring->publish_mask)
		atomic_store_explicit(&ring->released, ring->r.released, memory_order_release);
}

static unsigned memory_reserve(struct io_port *port, struct io_frame *ret_frames, unsigned count, uint32_t length_bytes)
{
	struct ring *ring = ring_of(port);
	uint64_t n = ring->s.reserved;
	unsigned i;

	if (length_bytes > ring->frame_bytes)
		return 0;
	if (n + count > ring->s.free_to)
		ring->s.free_to = atomic_load_explicit(&ring->released, memory_order_acquire) + ring->count_mask + 1;
	for (i = 0; i < count && n < ring->s.free_to; i++, n++) {
		struct slot *slot = slot_at(ring, n);

		ret_frames[i].data = slot->frame;
		ret_frames[i].length_bytes = length_bytes;
		ret_frames[i].capacity_bytes = ring->frame_bytes;
		ret_frames[i].handle = slot;
		ret_frames[i].stamp_ns = 0;
	}
	ring->s.reserved = n;
	return i;
}

static unsigned memory_send(struct io_port *port, struct io_frame *frames, unsigned count)
{
	struct ring *ring = ring_of(port);
	uint64_t n = ring->s.next;

	for (unsigned i = 0; i < count; i++, n++) {
		struct slot *slot = frames[i].handle;

		atomic_store_explicit(&slot->word, turn_of(ring, n) << 16 | frames[i].length_bytes,
				      memory_order_release);
	}
	ring->s.next = n;
	return count;
}

static void memory_abandon(struct io_port *port, struct io_frame *frames, unsigned count)
{
	(void)frames;
	ring_of(port)->s.reserved -= count;
}

static void memory_counters(const struct io_port *port, struct io_counters *ret);
static void memory_close(struct io_port *port);

static unsigned nothing_received(struct io_port *port, struct io_frame *ret_frames, unsigned count)
{
	(void)port;
	(void)ret_frames;
	(void)count;
	return 0;
}

static unsigned nothing_reserved(struct io_port *port, struct io_frame *ret_frames, unsigned count,
				 uint32_t length_bytes)
{
	(void)length_bytes;
	return nothing_received(port, ret_frames, count);
}

static void nothing_released(struct io_port *port, struct io_frame *frames, unsigned count)
{
	(void)port;
	(void)frames;
	TARE_ASSERT(count == 0);
}

static unsigned nothing_sent(struct io_port *port, struct io_frame *frames, unsigned count)
{
	(void)port;
	(void)frames;
	TARE_ASSERT(count == 0);
	return 0;
}

static const struct io_ops send_end_ops = {
	.name = "memory",
	.flags = IO_ZERO_COPY,
	.receive = nothing_received,
	.release = nothing_released,
	.reserve = memory_reserve,
	.send = memory_send,
	.abandon = memory_abandon,
	.counters = memory_counters,
	.close = memory_close,
};

static const struct io_ops receive_end_ops = {
	.name = "memory",
	.flags = IO_ZERO_COPY,
	.receive = memory_receive,
	.release = memory_release,
	.reserve = nothing_reserved,
	.send = nothing_sent,
	.abandon = nothing_released,
	.counters = memory_counters,
	.close = memory_close,
};

static void memory_counters(const struct io_port *port, struct io_counters *ret)
{
	const struct ring *ring = ring_of(port);

	*ret = (struct io_counters){ 0 };
	if (port->ops == &send_end_ops)
		ret->sent = ring->s.next;
	else
		ret->received = ring->r.next;
}

static void memory_close(struct io_port *port)
{
	struct ring *ring;

	if (!port)
		return;
	ring = ring_of(port);
	free(port);
	if (atomic_fetch_sub_explicit(&ring->ends, 1, memory_order_acq_rel) == 1) {
		free(ring->slots);
		free(ring);
	}
}

int memory_cable_open(uint32_t slots, uint32_t frame_bytes, struct io_cable *ret_cable, struct err *err)
{
	struct memory_port *ends[2] = { calloc(1, sizeof(*ends[0])), calloc(1, sizeof(*ends[1])) };
	struct ring *ring = NULL;
	uint32_t slot_bytes = (HEAD + frame_bytes + 2 * LINE - 1) / (2 * LINE) * (2 * LINE);

	TARE_ASSERT(slots >= 8 && slots <= 65536 && (slots & (slots - 1)) == 0);
	TARE_ASSERT(frame_bytes >= 14 && frame_bytes <= 16384);
	ring = aligned_alloc(2 * LINE, sizeof(*ring));
	if (ring) {
		memset(ring, 0, sizeof(*ring));
		ring->slots = aligned_alloc(4096, ((size_t)slots * slot_bytes + 4095) / 4096 * 4096);
	}
	if (!ends[0] || !ends[1] || !ring || !ring->slots) {
		free(ends[0]);
		free(ends[1]);
		free(ring);
		return err_set(err, ERR_HOST, ENOMEM, "no memory for a ring of %u frames of %u bytes", slots,
			       frame_bytes);
	}
	memset(ring->slots, 0, (size_t)slots * slot_bytes);
	ring->count_mask = slots - 1;
	ring->lap_shift = (uint32_t)__builtin_ctz(slots);
	ring->slot_bytes = slot_bytes;
	ring->frame_bytes = frame_bytes;
	ring->publish_mask = slots / 8 - 1;
	ring->s.free_to = slots;
	atomic_init(&ring->ends, 2);
	for (int i = 0; i < 2; i++) {
		ends[i]->ring = ring;
		ends[i]->port.ops = i ? &receive_end_ops : &send_end_ops;
	}
	ret_cable->send_end = &ends[0]->port;
	ret_cable->receive_end = &ends[1]->port;
	return 0;
}
