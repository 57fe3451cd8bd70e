/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PACKET_INT_SHIM_H
#define TARE_PACKET_INT_SHIM_H

#include <stddef.h>
#include <stdint.h>

/*
 * The stacked INT shim of the published programs: one byte with the number of
 * hops, then for each hop its switch id (8 bits), ingress and egress stamp (48
 * bits each, us since that switch process started), big-endian, newest first.
 */
enum {
	INT_HOPS_MAX = 8,
	INT_HOP_BYTES = 13,
	INT_COUNT_BYTES = 1,
};

struct int_hop {
	uint8_t switch_id;
	uint64_t ingress_us, egress_us; /* 48 bits; they wrap */
};

/* What can be wrong with a shim; each has its counter. */
enum int_fault {
	INT_OK = 0,
	INT_CUT,      /* no room for the count, or for the hops it states */
	INT_EMPTY,    /* no hop */
	INT_TOO_MANY, /* more hops than INT_HOPS_MAX */
	INT_NO_STAMP, /* a hop with a zero stamp: its switch never wrote it */
	INT_FAULTS
};

struct int_counts {
	uint64_t by_fault[INT_FAULTS]; /* by_fault[INT_OK]: good ones */
};

/*
 * Decode at `bytes`, of which `length_bytes` are there. Hops come out oldest
 * first, in the order travelled. *ret_count is set on INT_OK and INT_NO_STAMP
 * (all hops are there then, zero stamps as zero), else 0. Returns the fault and counts it
 * (`counts` may be NULL).
 */
enum int_fault int_shim_decode(const uint8_t *bytes, size_t length_bytes, struct int_hop ret_hops[INT_HOPS_MAX],
			       uint32_t *ret_count, struct int_counts *counts);

/* Encode hops given oldest first; returns bytes written, 0 if there is no room or count is not 1 to INT_HOPS_MAX. */
size_t int_shim_encode(const struct int_hop *hops, uint32_t count, uint8_t *ret_bytes, size_t room_bytes);

const char *int_fault_name(enum int_fault fault);

#endif
