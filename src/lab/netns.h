/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_NETNS_H
#define TARE_LAB_NETNS_H

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

#define NETNS_FOLDER "/run/netns"

/* What to do where netns_permit fails; the end of its message. */
#define NETNS_ADVICE                                                                                                   \
	"run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1 "                            \
	"user.max_user_namespaces=10000; with AppArmor also kernel.apparmor_restrict_unprivileged_userns=0; a "        \
	"container needs --privileged)"

struct netns {
	char name[NETNS_NAME_BYTES];
	int fd; /* of the namespace; -1: none */
};

#define NETNS_NONE ((struct netns){ .fd = -1 })

/*
 * Let this process make namespaces: nothing to do where it may already (root);
 * else this process moves into a user namespace of its own, with a network, a
 * mount namespace and an empty /run (but for /run/user), in which it is root:
 * files it makes still belong to its user, and what is left of a lab dies with
 * it. Call it once, early: a user namespace can only be entered while there is
 * one thread. Returns 0, 1 when it moved, or -EPERM and the like: ERR_HOST with
 * what to do about it.
 */
int netns_permit(struct err *err);

/*
 * A new namespace, loopback up, IPv6 off, pinned to the name. The name is in use: -EEXIST.
 * The kernel or the host refuses: -EPERM and others. *ret is NETNS_NONE on failure.
 */
int netns_create(const char *name, struct netns *ret, struct err *err);

/* One that is there under /run/netns. -ENOENT: no such name; -EINVAL: a name that nothing is pinned to. */
int netns_open(const char *name, struct netns *ret, struct err *err);

void netns_close(struct netns *ns); /* the name stays */

/* Unpin and close. What still runs in it keeps it, nameless. NETNS_NONE is fine. */
void netns_destroy(struct netns *ns);

/* Remove a name, pinned or not. 0 or -errno. */
int netns_unpin(const char *name);

/*
 * The calling thread moves into ns, and back. NULL: it stays where it is.
 * netns_leave always succeeds: a thread that cannot go home is a bug.
 */
int netns_enter(const struct netns *ns, int *ret_back, struct err *err) __attribute__((warn_unused_result));
void netns_leave(int back);

/* As socket(), in that namespace; the descriptor closes on exec. -errno with a message. */
int netns_socket(const struct netns *ns, int family, int type, int protocol, struct err *err);

#endif
