/* SPDX-License-Identifier: Apache-2.0 */
#include "port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

enum { NAME_BYTES = 4096 };

static int64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool try_open(struct port *port, struct err *err)
{
	struct afpacket_config config = { .interface = port->interface, .send_only = !port->receives };

	if (afpacket_open(&config, &port->io, err) < 0) {
		port->io = NULL;
		return false;
	}
	port->down = false;
	return true;
}

bool port_open(struct port *port)
{
	struct err err = { 0 };

	if (try_open(port, &err)) {
		if (port->receives)
			log_info("port %u: interface %s", port->number, port->interface);
		return true;
	}
	if (port->receives)
		log_warn("port %u: %s; it is taken once it can be had", port->number, err.message);
	return false;
}

void port_close(struct port *port)
{
	if (port->io)
		port->io->ops->close(port->io);
	port->io = NULL;
	port->pending_count = 0;
	record_close(port->in);
	record_close(port->out);
	port->in = port->out = NULL;
}

int port_record(struct port *port, const char *directory, struct err *err)
{
	char path[NAME_BYTES];
	int rc = 0;

	if (port->receives) {
		snprintf(path, sizeof(path), "%s/%s_in.pcap", directory, port->interface);
		rc = record_open(path, &port->in, err);
		if (rc < 0)
			return rc;
		snprintf(path, sizeof(path), "%s/%s_out.pcap", directory, port->interface);
		rc = record_open(path, &port->out, err);
	}
	return rc;
}

void port_recorded(struct port *port, struct record **record, int64_t time_ns, const struct io_frame *frame)
{
	if (!*record || record_put(*record, time_ns, frame->data, frame->length_bytes))
		return;
	log_error("port %u: frames cannot be written to file, and no more are", port->number);
	record_close(*record);
	*record = NULL;
}

bool port_check(struct port *port)
{
	struct err err;
	int rc;

	if (!port->io) {
		if (!try_open(port, &err))
			return false;
		if (port->receives)
			log_info("port %u: interface %s is there", port->number, port->interface);
		return true;
	}
	rc = afpacket_check(port->io);
	if (rc == -ENODEV) {
		if (port->receives)
			log_warn("port %u: interface %s has gone; it is taken again once it is back", port->number,
				 port->interface);
		port->io->ops->close(port->io);
		port->io = NULL;
		port->pending_count = 0;
		return true;
	}
	if (port->receives && port->down != (rc < 0))
		log_warn("port %u: interface %s is %s", port->number, port->interface, rc < 0 ? "down" : "up");
	port->down = rc < 0;
	return false;
}

void port_send(struct port *port, const uint8_t *bytes, uint32_t length_bytes)
{
	struct io_frame *frame;

	if (!port->io) {
		port->missed++;
		return;
	}
	if (port->pending_count == AFPACKET_BURST)
		port_flush(port);
	frame = &port->pending[port->pending_count];
	if (io_reserve(port->io, frame, 1, length_bytes) == 0) {
		port_flush(port);
		frame = &port->pending[0];
		if (io_reserve(port->io, frame, 1, length_bytes) == 0) {
			port->missed++;
			return;
		}
	}
	if (length_bytes)
		memcpy(frame->data, bytes, length_bytes);
	port->pending_count++;
}

void port_flush(struct port *port)
{
	if (!port->pending_count)
		return;
	for (unsigned i = 0; i < port->pending_count; i++)
		port_recorded(port, &port->out, real_ns(), &port->pending[i]);
	if (port->out)
		record_flush(port->out);
	if (port->io)
		io_send(port->io, port->pending, port->pending_count);
	port->pending_count = 0;
}
