/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_ACTING_H
#define TARE_PROBE_ACTING_H

#include <stdint.h>

#include "base/err.h"
#include "lab/topology.h"

/*
 * When does an entry begin to act? Packets that it alone forwards go through the switch at a steady rate, from before it is
 * sent until some have come out. The kernel stamps them where they enter the switch and where they leave it, so an entry
 * began to act between the entering of the last packet that stayed inside and the leaving of the first that did not: a
 * bound from both sides, whatever the switch does in between. A thread of its own sends and reads; the entries are
 * watched in the order in which they are sent, each from a little before its turn.
 */
struct acting;

struct acting_config {
	const struct lab_line *line; /* of one switch; entries send to its port 2 */
	uint32_t bits;               /* 32: keys are IPv4 destinations; 48: MAC destinations */
	const uint64_t *keys;        /* of the watched entries; copied */
	const uint32_t *turns;       /* when each is sent: its place among the operations, rising; copied */
	uint32_t count;
	uint64_t prime_key; /* of an entry that is there: a switch may listen before its ports are open */
	double rate_pps;    /* of all its packets */
	int64_t limit_ns;   /* packets for an entry go on so long after acting_finish, unless it is seen */
	int64_t room_ns;    /* memory for so long; what is longer is not watched to its end */
};

/* Opens its sockets, sends for prime_key until a packet has come out with its stamp, and starts its thread. */
int acting_start(const struct acting_config *config, struct acting **ret, struct err *err);

/* Operations below `turn` are to be sent soon: watch those. Any thread. */
void acting_advance(struct acting *a, uint32_t turn);

/* All has been answered. Returns when every watched entry has been seen, or the limit has passed. */
void acting_finish(struct acting *a);

/* CLOCK_MONOTONIC; ACTING_NONE: there is none. */
#define ACTING_NONE INT64_MIN
struct acting_seen {
	int64_t low_ns;  /* the last packet that was not forwarded entered; none: the first one sent was forwarded */
	int64_t high_ns; /* the first that was forwarded left; none: none was */
	uint32_t lost;   /* packets after that one that did not leave */
};
uint32_t acting_count(const struct acting *a);
uint32_t acting_turn(const struct acting *a, uint32_t i);
void acting_result(const struct acting *a, uint32_t i, struct acting_seen *ret);

/* Half of the bracket in which the two clocks were read together, and their drift against one another during the run. */
double acting_clock_u_ns(const struct acting *a);
uint64_t acting_sent(const struct acting *a);

void acting_destroy(struct acting *a); /* NULL is fine */

#endif
