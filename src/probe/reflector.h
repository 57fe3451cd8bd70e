/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_REFLECTOR_H
#define TARE_PROBE_REFLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "io/io.h"
#include "packet/reflected.h"

/*
 * Sends the copies that a receiver has stamped back through a third port, marked,
 * to where another clock stamps them. The very buffers where both ports are of a
 * backend that can hand them over (dpdk); else one copy into the port's own. No
 * system call but the sending port's: none with dpdk and memory, one a burst
 * with afpacket. One for each receiving port; both send from one thread.
 */
struct reflector {
	struct io_port *out;
	enum id_format format;
	char mark;      /* REFLECTED_PATH or REFLECTED_BYPASS */
	bool hand_over; /* the buffers themselves */
	bool readdress; /* write destination_mac: a capture that is not promiscuous wants it */
	uint8_t destination_mac[6];
	uint16_t hint;
	uint64_t *first_ticks;              /* by id: the stamp of its first copy, 0: none; NULL: kept elsewhere */
	uint32_t ids;                       /* in first_ticks */
	uint64_t first, duplicates, beyond; /* with first_ticks: first copies, later ones, ids that do not fit */
	uint64_t returned;                  /* accepted by the port */
	uint64_t unmarked;                  /* no id of the format in it: not returned */
	uint64_t refused;                   /* by the port */
};

enum { REFLECT_BURST = 64 };

void reflector_init(struct reflector *r, struct io_port *from, struct io_port *out, enum id_format format, char mark);

/*
 * The frames of a burst, at most REFLECT_BURST, stamped and opened: marked, returned, and given back to `from`. `stamp`
 * is for first_ticks.
 */
void reflector_return(struct reflector *r, struct io_port *from, struct io_frame *frames, unsigned count,
		      uint64_t stamp);

#endif
