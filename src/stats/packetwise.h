/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STATS_PACKETWISE_H
#define TARE_STATS_PACKETWISE_H

#include <stdint.h>

#include "base/err.h"

/*
 * The median over runs of each packet of the stream. Noise that has nothing to do with the packet goes; what
 * the packet itself does to the pipeline stays, so two modes by packet show (FiveTuple: 107 and 137 ns). A
 * lost probe counts at +infinity.
 */
struct packet_table;

/* Room for `values_max` values of each of `packets` packets. NULL: no memory. */
struct packet_table *packet_table_create(uint32_t packets, uint32_t values_max);
void packet_table_destroy(struct packet_table *t);
void packet_table_clear(struct packet_table *t);

/*
 * Add the difference of one probe (ns, or INFINITY for a lost one). -ERANGE: no such packet; -ENOSPC: its
 * room is full.
 */
int packet_table_add(struct packet_table *t, uint32_t packet, double diff_ns) __attribute__((warn_unused_result));

struct packet_median {
	uint32_t packet;
	uint32_t count; /* values behind it, lost ones counted */
	uint32_t lost;
	double median_ns; /* INFINITY: half or more are lost */
};

/*
 * Medians with ties spread over quantum_ns (quantile.h), in order of packet; packets never seen are left out.
 * `ret` has room for all packets. Returns how many.
 */
uint32_t packet_table_medians(struct packet_table *t, double quantum_ns, struct packet_median *ret);

/*
 * Net by packet: program's median less the tare's of the same packet, and the residual to `net_ns`, the
 * cell's figure. Only packets finite in both. Returns how many.
 */
struct packet_net {
	uint32_t packet;
	double net_ns, residual_ns;
};

uint32_t packet_nets(const struct packet_median *program, uint32_t program_count, const struct packet_median *tare,
		     uint32_t tare_count, double net_ns, struct packet_net *ret);

#endif
