/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_PORT_H
#define TARE_SWITCH_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "io/afpacket.h"
#include "record.h"

/*
 * A port of the switch: a number and an interface, which may be missing, go and
 * come back while the switch runs; each change is said once in the log. A thread
 * has ports of its own: what it sends is gathered until port_flush.
 */
struct port {
	uint32_t number;
	const char *interface;
	bool receives;      /* else it only sends */
	struct io_port *io; /* NULL: the interface is not there */
	struct io_frame pending[AFPACKET_BURST];
	unsigned pending_count;
	bool down;
	uint64_t missed;         /* frames for a port without an interface, or without room */
	struct record *in, *out; /* --pcap; NULL: not */
};

/* Tries to open the interface; without it the port waits for port_retry. Logs what happened. True: it is there. */
bool port_open(struct port *port);
void port_close(struct port *port);

/* pcap files <directory>/<interface>_in.pcap and _out.pcap. */
int port_record(struct port *port, const char *directory, struct err *err);

/* A frame into port->in or ->out, if there is one; says once when that fails. */
void port_recorded(struct port *port, struct record **record, int64_t time_ns, const struct io_frame *frame);

/* After POLLERR, or now and then: has the interface gone, or come back? True: its descriptor is another one. */
bool port_check(struct port *port);

void port_send(struct port *port, const uint8_t *bytes, uint32_t length_bytes);
void port_flush(struct port *port);

#endif
