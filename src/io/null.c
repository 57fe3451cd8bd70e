/* SPDX-License-Identifier: Apache-2.0 */
#include "io/null.h"

#include <errno.h>
#include <stdlib.h>

struct null_port {
	struct io_port port;
	struct io_counters counters;
	uint32_t frame_bytes;
	uint8_t *scratch; /* every reserved frame is this one: nobody reads it */
};

static unsigned null_receive(struct io_port *port, struct io_frame *ret_frames, unsigned count)
{
	(void)port;
	(void)ret_frames;
	(void)count;
	return 0;
}

static void null_release(struct io_port *port, struct io_frame *frames, unsigned count)
{
	(void)port;
	(void)frames;
	TARE_ASSERT(count == 0);
}

static unsigned null_reserve(struct io_port *port, struct io_frame *ret_frames, unsigned count, uint32_t length_bytes)
{
	struct null_port *p = (struct null_port *)port;

	if (length_bytes > p->frame_bytes)
		return 0;
	for (unsigned i = 0; i < count; i++)
		ret_frames[i] = (struct io_frame){ .data = p->scratch,
						   .length_bytes = length_bytes,
						   .capacity_bytes = p->frame_bytes };
	return count;
}

static unsigned null_send(struct io_port *port, struct io_frame *frames, unsigned count)
{
	(void)frames;
	((struct null_port *)port)->counters.sent += count;
	return count;
}

static void null_abandon(struct io_port *port, struct io_frame *frames, unsigned count)
{
	(void)port;
	(void)frames;
	(void)count;
}

static void null_counters(const struct io_port *port, struct io_counters *ret)
{
	*ret = ((const struct null_port *)port)->counters;
}

static void null_close(struct io_port *port)
{
	struct null_port *p = (struct null_port *)port;

	if (p)
		free(p->scratch);
	free(p);
}

static const struct io_ops null_ops = {
	.name = "null",
	.flags = IO_ZERO_COPY,
	.receive = null_receive,
	.release = null_release,
	.reserve = null_reserve,
	.send = null_send,
	.abandon = null_abandon,
	.counters = null_counters,
	.close = null_close,
};

int null_port_open(uint32_t frame_bytes, struct io_port **ret_port, struct err *err)
{
	struct null_port *p = calloc(1, sizeof(*p));

	if (p)
		p->scratch = calloc(1, frame_bytes ? frame_bytes : 1);
	if (!p || !p->scratch) {
		free(p);
		return err_set(err, ERR_HOST, ENOMEM, "no memory for a null port of %u-byte frames", frame_bytes);
	}
	p->port.ops = &null_ops;
	p->frame_bytes = frame_bytes;
	*ret_port = &p->port;
	return 0;
}
