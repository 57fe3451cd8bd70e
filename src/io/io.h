/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IO_IO_H
#define TARE_IO_IO_H

#include <stdint.h>

#include "base/err.h"

/*
 * Packet I/O behind one table. A port is one direction-less end: frames are
 * received from it and sent into it, in bursts, without copies: receive lends
 * frames until `release`, `reserve` lends empty ones until `send`. One thread
 * receives and one thread sends on a port at any time; they may differ.
 * Nothing here allocates, locks or logs after open; afpacket and dpdk make the
 * system calls that are the packet I/O itself.
 */
struct io_port;

struct io_frame {
	uint8_t *data;
	uint32_t length_bytes;   /* frame without FCS */
	uint32_t capacity_bytes; /* reserved frames: how much fits */
	void *handle;            /* the backend's */
	int64_t stamp_ns;        /* kernel or hardware stamp where the backend has one, else 0 */
};

struct io_counters {
	uint64_t received, sent; /* frames delivered to the caller; frames accepted from it */
	uint64_t rx_dropped;     /* arrived but lost before the caller could have them, as far as the backend knows */
	uint64_t tx_dropped;
};

enum io_flags {
	IO_ZERO_COPY = 1 << 0,
	IO_STAMPS = 1 << 1, /* frames carry stamp_ns */
};

struct io_ops {
	const char *name;
	unsigned flags;
	/* Up to `count` frames that are there now; 0 when none. Never waits. */
	unsigned (*receive)(struct io_port *port, struct io_frame *ret_frames, unsigned count);
	/*
	 * Optional: the part of receiving that looks at the frames, where `receive` has only taken hold of them
	 * (handle). Who stamps calls it after the stamp; io_receive does both.
	 */
	void (*open)(struct io_port *port, struct io_frame *frames, unsigned count);
	/* Give received frames back, in the order received. */
	void (*release)(struct io_port *port, struct io_frame *frames, unsigned count);
	/* Up to `count` empty frames with room for `length_bytes`; fewer when the port is full. */
	unsigned (*reserve)(struct io_port *port, struct io_frame *ret_frames, unsigned count, uint32_t length_bytes);
	/* Send reserved frames, in order, all of them (reserve has made room); returns how many were accepted. */
	unsigned (*send)(struct io_port *port, struct io_frame *frames, unsigned count);
	/*
	 * Optional: send frames that another port of this backend has lent, the very buffers: they are this port's
	 * from now on, not to be released. Returns how many were accepted; the others are gone.
	 */
	unsigned (*forward)(struct io_port *port, struct io_frame *frames, unsigned count);
	/* Give up the frames that were reserved last, instead of sending them. */
	void (*abandon)(struct io_port *port, struct io_frame *frames, unsigned count);
	void (*counters)(const struct io_port *port, struct io_counters *ret);
	void (*close)(struct io_port *port); /* NULL is fine */
};

/* First member of every backend's port. */
struct io_port {
	const struct io_ops *ops;
};

/* Two ports tied together, one direction. Each end is closed by itself, in any order. */
struct io_cable {
	struct io_port *send_end;    /* its receive returns 0 */
	struct io_port *receive_end; /* its reserve returns 0 */
};

/* Take hold of frames without touching them; io_open before they are read. */
static inline unsigned io_take_hold(struct io_port *p, struct io_frame *f, unsigned n)
{
	return p->ops->receive(p, f, n);
}

static inline void io_open(struct io_port *p, struct io_frame *f, unsigned n)
{
	if (p->ops->open)
		p->ops->open(p, f, n);
}

static inline unsigned io_receive(struct io_port *p, struct io_frame *f, unsigned n)
{
	unsigned got = p->ops->receive(p, f, n);

	if (got && p->ops->open)
		p->ops->open(p, f, got);
	return got;
}

static inline void io_release(struct io_port *p, struct io_frame *f, unsigned n)
{
	p->ops->release(p, f, n);
}

static inline unsigned io_reserve(struct io_port *p, struct io_frame *f, unsigned n, uint32_t length_bytes)
{
	return p->ops->reserve(p, f, n, length_bytes);
}

static inline unsigned io_send(struct io_port *p, struct io_frame *f, unsigned n)
{
	return p->ops->send(p, f, n);
}

#endif
