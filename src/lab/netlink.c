/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* The kernel answers at once; a lost answer must not become a hang. */
enum { ANSWER_LIMIT_S = 10 };

int netlink_open(const struct netns *ns, unsigned groups, struct netlink *ret, struct err *err)
{
	const struct timeval limit = { .tv_sec = ANSWER_LIMIT_S };
	int back, r = netns_enter(ns, &back, err);

	if (r < 0)
		return r;
	ret->seq = 0;
	ret->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	r = !ret->socket || mnl_socket_bind(ret->socket, groups, MNL_SOCKET_AUTOPID) < 0 ? -errno : 0;
	netns_leave(back);
	if (r == 0 && setsockopt(mnl_socket_get_fd(ret->socket), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	netlink_close(ret);
	return err_set(err, ERR_HOST, -r, "%s: cannot open a netlink socket: %s", ns ? ns->name : "netlink",
		       strerror(-r));
}

void netlink_close(struct netlink *n)
{
	if (n->socket)
		mnl_socket_close(n->socket);
	n->socket = NULL;
}

struct nlmsghdr *netlink_begin(void *buf, uint16_t type, uint16_t flags, size_t extra_bytes, void **ret_extra)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buf);

	message->nlmsg_type = type;
	message->nlmsg_flags = NLM_F_REQUEST | flags;
	*ret_extra = mnl_nlmsg_put_extra_header(message, extra_bytes);
	return message;
}

int netlink_ask(struct netlink *n, struct nlmsghdr *message, mnl_cb_t fn, void *context)
{
	/* Room for one datagram of a dump: the kernel fills up to 32 KiB where it is offered. */
	union {
		struct nlmsghdr header;
		char bytes[32768];
	} in;
	int r;

	message->nlmsg_seq = ++n->seq;
	/* Both bits: one of them alone is NLM_F_EXCL or NLM_F_REPLACE. */
	if ((message->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		message->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(n->socket, message, message->nlmsg_len) < 0)
		return -errno;
	do {
		ssize_t got = mnl_socket_recvfrom(n->socket, &in, sizeof(in));

		if (got < 0 && errno == EINTR) {
			r = MNL_CB_OK;
			continue;
		}
		if (got < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		r = mnl_cb_run(&in, (size_t)got, n->seq, mnl_socket_get_portid(n->socket), fn, context);
	} while (r > MNL_CB_STOP);
	return r < 0 ? -errno : 0;
}
