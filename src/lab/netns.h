/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_NETNS_H
#define TARE_LAB_NETNS_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Network namespaces with a name under /run/netns, so that a person can look
 * into one with `ip netns exec NAME`. Made and removed in this process, no
 * program is called.
 *
 * A socket belongs for good to the namespace in which it was opened: enter,
 * open, leave, and use it from any thread. Entering holds for the calling
 * thread only.
 */
enum { NETNS_NAME_BYTES = 48 };

struct netns {
	char name[NETNS_NAME_BYTES];
	int fd; /* of the namespace; -1: none */
};

#define NETNS_NONE ((struct netns){ .fd = -1 })

/*
 * Let this process make namespaces: nothing to do for root; else this process
 * moves into a user namespace of its own, with a network, a mount namespace and
 * an empty /run, in which it is root (files it makes still belong to its user).
 * Call it once, early: a user namespace can only be entered while there is one
 * thread. Neither is possible: ERR_HOST, -EPERM, and what to do about it.
 */
int netns_permit(struct err *err);

/* Inside a user namespace that netns_permit made (or one that maps only some users): leftovers die with it. */
bool netns_is_private(void);

/*
 * A new namespace, loopback up, IPv6 off, pinned to the name. The name is in use: -EEXIST.
 * The kernel or the host refuses: -EPERM and others. *ret is NETNS_NONE on failure.
 */
int netns_create(const char *name, struct netns *ret, struct err *err);

/* Unpin and close. What still runs in it keeps it, nameless. NETNS_NONE is fine. */
void netns_destroy(struct netns *ns);

/*
 * The calling thread moves into ns and back. NULL: stays where it is. `ret_back` is to be handed to netns_leave, which
 * always succeeds (a thread that cannot go home is a bug).
 */
int netns_enter(const struct netns *ns, int *ret_back, struct err *err) __attribute__((warn_unused_result));
void netns_leave(int back);

/* As socket(), in that namespace; the descriptor closes on exec. -errno with a message. */
int netns_socket(const struct netns *ns, int family, int type, int protocol, struct err *err);

#endif
