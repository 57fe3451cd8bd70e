/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IO_AFPACKET_H
#define TARE_IO_AFPACKET_H

#include <stdbool.h>

#include "io/io.h"

/*
 * A network interface of the kernel, by a packet socket: frames arrive in a ring
 * shared with the kernel, each with its software stamp (CLOCK_REALTIME), and
 * leave by one system call a burst. VLAN tags that the kernel took off are put
 * back. Frames that we send are not received again. Promiscuous.
 *
 * The ring is TPACKET_V2: version 3 hands frames over in blocks, and a lone one
 * only when its block times out, a millisecond later at best. Frames longer than
 * a slot come by the socket's own queue, whole, at their place in the order.
 * Between local processes a frame may arrive with its TCP or UDP checksum left
 * to hardware that is not there; switch that off at the sender (ethtool -K tx off).
 */
struct afpacket_config {
	const char *interface;
	unsigned receive_frames; /* slots of 2 KiB; 0: 1024; rounded up to a power of two */
	bool send_only;          /* no ring: receives nothing */
	bool bypass_qdisc;       /* straight to the driver: faster, but no queue discipline, and drops when busy */
};

enum {
	AFPACKET_BURST = 64,          /* frames that reserve lends at most */
	AFPACKET_FRAME_BYTES = 65535, /* the longest frame, either way */
};

/* ERR_HOST: no such interface, no permission (it says which), not Ethernet; the message names the interface. */
int afpacket_open(const struct afpacket_config *config, struct io_port **ret_port, struct err *err);

/* To poll for POLLIN. POLLERR: ask afpacket_check. */
int afpacket_fd(const struct io_port *port);

/* 0: fine; -ENETDOWN: the interface is down, and works again once it is up; -ENODEV: it is gone: open another. */
int afpacket_check(struct io_port *port);

#endif
