/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_LINK_H
#define TARE_LAB_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "lab/netns.h"

/*
 * Virtual cables: a veth pair with its ends in two namespaces, and what an end
 * is given. IPv4 addresses are in host byte order. Errors name the namespace and
 * the interface.
 */
enum { LINK_NAME_BYTES = 16 };

struct link_end {
	const struct netns *netns; /* borrowed; NULL: where the caller is */
	char name[LINK_NAME_BYTES];
	uint8_t mac[6];
	uint32_t index; /* in its namespace; set by link_create */
};

/* A pair, both ends down, of this MTU, with the MACs of the ends. A name is in use there: -EEXIST. */
int link_create(struct link_end *a, struct link_end *b, uint32_t mtu_bytes, struct err *err);

/* Either end goes, both are gone. Gone already: 0. */
int link_delete(const struct link_end *end, struct err *err);

int link_address(const struct link_end *end, uint32_t ipv4, unsigned prefix_bits, struct err *err);
int link_route(const struct link_end *end, uint32_t ipv4, unsigned prefix_bits, uint32_t gateway, struct err *err);
int link_neighbour(const struct link_end *end, uint32_t ipv4, const uint8_t mac[6], struct err *err);

/*
 * Switch off whatever splits, merges, checksums or tags frames beside the
 * program (tso, gso, gro, lro, checksums, VLAN insertion, scatter-gather: every
 * rx- and tx- feature that can be switched), then read back. One that stays on: -ENOTSUP, named.
 */
int link_offloads_off(const struct link_end *end, struct err *err);

/* Those that are on, as "tx-checksum-ip-generic rx-gro"; empty: none. For provenance and checks. */
int link_offloads_read(const struct link_end *end, char *buf, size_t size_bytes, struct err *err);

/* Asked up: frames pass once both ends are. link_wait_up: until they do; not within limit_ms: -ETIMEDOUT. */
int link_up(const struct link_end *end, struct err *err);
int link_wait_up(const struct link_end *end, int64_t limit_ms, struct err *err);

/* Is it still there, and up? 0; -ENODEV: it is gone; -ENETDOWN: it is there, but down. */
int link_check(const struct link_end *end, struct err *err);

#endif
