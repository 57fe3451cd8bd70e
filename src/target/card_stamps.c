/* SPDX-License-Identifier: Apache-2.0 */
#include "target/card_stamps.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct stamps {
	struct io_port port;
	struct io_port *inner;
};

static struct io_port *inner_of(const struct io_port *port)
{
	return ((const struct stamps *)port)->inner;
}

static unsigned receive(struct io_port *port, struct io_frame *ret_frames, unsigned count)
{
	return io_take_hold(inner_of(port), ret_frames, count);
}

/* Whoever stamps has done so by now. */
static void open_frames(struct io_port *port, struct io_frame *frames, unsigned count)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	io_open(inner_of(port), frames, count);
	for (unsigned i = 0; i < count; i++)
		frames[i].stamp_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void release(struct io_port *port, struct io_frame *frames, unsigned count)
{
	io_release(inner_of(port), frames, count);
}

static unsigned reserve(struct io_port *port, struct io_frame *ret_frames, unsigned count, uint32_t length_bytes)
{
	return io_reserve(inner_of(port), ret_frames, count, length_bytes);
}

static unsigned send_frames(struct io_port *port, struct io_frame *frames, unsigned count)
{
	return io_send(inner_of(port), frames, count);
}

static void abandon(struct io_port *port, struct io_frame *frames, unsigned count)
{
	inner_of(port)->ops->abandon(inner_of(port), frames, count);
}

static void counters(const struct io_port *port, struct io_counters *ret)
{
	inner_of(port)->ops->counters(inner_of(port), ret);
}

static void close_port(struct io_port *port)
{
	if (port)
		inner_of(port)->ops->close(inner_of(port));
	free(port);
}

static const struct io_ops stamps_ops = {
	.name = "stamped",
	.flags = IO_STAMPS,
	.receive = receive,
	.open = open_frames,
	.release = release,
	.reserve = reserve,
	.send = send_frames,
	.abandon = abandon,
	.counters = counters,
	.close = close_port,
};

int card_stamps_open(struct io_port *inner, struct io_port **ret_port, struct err *err)
{
	struct stamps *s = malloc(sizeof(*s));

	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for a card's port that stamps");
	*s = (struct stamps){ .port = { .ops = &stamps_ops }, .inner = inner };
	*ret_port = &s->port;
	return 0;
}
