/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_CARD_PRIVATE_H
#define TARE_TARGET_CARD_PRIVATE_H

#include "base/arena.h"
#include "target/card.h"

/* Shared by card.c (set up, records) and card_loop.c (the measured loop). */

enum {
	CARD_MODES_MOST = 8,
	CARD_HELD_MOST = 512, /* frames in the card at a time; a power of two */
	/*
	 * Room for the 256 frames in flight, each duplicated, and no more: a ring is walked through whole, and what
	 * has left the cache by the next lap is let out unevenly (256-byte frames, far cores, share within 20 ns:
	 * 1024 slots 58 %, 512 67 %, 256 76 %).
	 */
	CARD_RING_SLOTS = 512,
	CARD_HEAD_BYTES = 60, /* of a frame, that share the first cache line of a memory slot */
};

/* How long a program takes, in ns; several modes when it depends on the packet. */
struct card_program {
	uint32_t mode_count;
	uint32_t delay_ns[CARD_MODES_MOST];
	bool by_flow; /* the mode comes from the 5-tuple; else from the frame's number */
};

/* By name or written out: 0, or -EINVAL and what was expected. */
int card_program_parse(const char *text, struct card_program *ret, struct err *err);

/* Which mode a frame takes. Pure. */
uint32_t card_mode(const struct card_program *program, const uint8_t *frame, uint32_t length_bytes, uint32_t nth);

/* What shall be done to a frame, drawn before the run. */
struct card_order {
	int32_t jitter_ticks;
	uint16_t faults; /* path in the low byte, bypass in the high */
};

/* What was done. */
struct card_record {
	uint64_t path, bypass; /* emission, raw TSC; 0: none */
};

/* A frame in the card. */
struct card_held {
	struct io_frame frame; /* borrowed from `in` until both copies are out */
	uint32_t nth;
	bool path_done;
	uint64_t due_ticks; /* of the bypass copy, then of the path copy */
};

/* One way out. */
struct card_lane {
	struct io_port *port;
	uint64_t next;        /* the held frame whose copy goes out next */
	uint64_t held_to;     /* frames that may go out: up to here, exclusive */
	struct io_frame slot; /* where the next copy will stand */
	bool reserved;        /* the slot is there: it must be sent, never given up */
	bool ready;           /* and the tail of `next` stands in it */
	uint32_t frame_bytes; /* longest frame */
	uint32_t last_bytes;  /* of the frame that was let out last */
	unsigned shift;       /* of this lane's faults in card_order.faults */
	uint64_t emitted;
};

struct card {
	struct target target;
	struct arena arena;
	struct target_ports ports;
	struct io_port *in; /* the card's ends of the three cables */
	struct card_program program;

	uint64_t shell_bypass_ticks, shell_gap_ticks; /* of bypass; path minus bypass */
	uint64_t mode_ticks[CARD_MODES_MOST];
	uint64_t spin_ticks, reorder_wait_ticks;
	double hz;

	struct card_lane path, bypass;
	struct card_held held[CARD_HELD_MOST];
	uint64_t taken, released; /* frames taken from `in`, and given back */
	uint64_t base;            /* `taken` when the run began */
	uint64_t deferred;        /* the held frame whose path copy waits to be overtaken; UINT64_MAX: none */
	uint64_t deferred_until;
	uint64_t refused;

	struct card_order *orders; /* by frame of the run */
	struct card_record *records;
	uint16_t *done; /* faults really done */
	uint32_t frame_count;

	uint64_t seed;
	uint32_t loss_ppm, duplicates_ppm, reorder_ppm, unreadable_ppm;
	double jitter_ns, cycle_ns; /* cycle_ns 0: delays are not rounded to the clock */
	int64_t drift_ns_per_min;
	const char *facts;
};

static inline uint64_t card_ticks(const struct card *card, double ns)
{
	return ns > 0 ? (uint64_t)(ns * card->hz / 1e9 + 0.5) : 0;
}

unsigned card_poll(struct target *target);

/* Give back what is held, and forget reserved slots' content; before a run and at the end. */
void card_flush(struct card *card);

#endif
