/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_NETLINK_H
#define TARE_LAB_NETLINK_H

#include <stdint.h>

#include <libmnl/libmnl.h>

#include "lab/netns.h"

/* A route netlink socket of one namespace: a question, its answers, the acknowledgement. One thread. */
struct netlink {
	struct mnl_socket *socket;
	uint32_t seq;
};

/* groups: of RTMGRP_*, 0 for none. NULL netns: this thread's. */
int netlink_open(const struct netns *ns, unsigned groups, struct netlink *ret, struct err *err);
void netlink_close(struct netlink *n);

/* A header in buf (MNL_SOCKET_BUFFER_SIZE bytes, at least) with a zeroed extra header of that size behind it. */
struct nlmsghdr *netlink_begin(void *buf, uint16_t type, uint16_t flags, size_t extra_bytes, void **ret_extra);

/* Send, hand each answer to fn (may be NULL) until it is acknowledged. 0 or the kernel's -errno. */
int netlink_ask(struct netlink *n, struct nlmsghdr *message, mnl_cb_t fn, void *context);

#endif
