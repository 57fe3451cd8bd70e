/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "lab/netlink.h"

union message {
	struct nlmsghdr header;
	char bytes[1024];
};

struct link_state {
	uint32_t index, flags;
	uint8_t oper;
	bool queue_works; /* its queue discipline is attached: before that, what is sent is dropped */
};

static const char *where(const struct link_end *end)
{
	return end->netns ? end->netns->name : "this namespace";
}

static int fail(const struct link_end *end, int r, const char *what, struct err *err)
{
	return err_set(err, ERR_HOST, -r, "%s: %s: cannot %s: %s", where(end), end->name, what, strerror(-r));
}

/* One message in the end's namespace. 0, or -errno with "cannot WHAT". */
static int ask(const struct link_end *end, struct nlmsghdr *message, const char *what, struct err *err)
{
	struct netlink n;
	int r = netlink_open(end->netns, 0, &n, err);

	if (r < 0)
		return r;
	r = netlink_ask(&n, message, NULL, NULL);
	netlink_close(&n);
	return r < 0 ? fail(end, r, what, err) : 0;
}

static int state_take(const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	struct link_state *state = context;
	const struct nlattr *a;

	if (message->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	state->index = (uint32_t)info->ifi_index;
	state->flags = info->ifi_flags;
	mnl_attr_for_each(a, message, sizeof(*info))
	{
		if (mnl_attr_get_type(a) == IFLA_OPERSTATE)
			state->oper = mnl_attr_get_u8(a);
		else if (mnl_attr_get_type(a) == IFLA_QDISC)
			state->queue_works = strcmp(mnl_attr_get_str(a), "noop") != 0;
	}
	return MNL_CB_OK;
}

static int state_read(struct netlink *n, const char *name, struct link_state *ret)
{
	union message buf;
	void *info;
	struct nlmsghdr *m = netlink_begin(&buf, RTM_GETLINK, 0, sizeof(struct ifinfomsg), &info);

	*ret = (struct link_state){ 0 };
	mnl_attr_put_strz(m, IFLA_IFNAME, name);
	return netlink_ask(n, m, state_take, ret);
}

/* Name, size, address and place of one end, as attributes of it or of the peer. */
static void describe(struct nlmsghdr *m, const struct link_end *end, uint32_t mtu_bytes)
{
	mnl_attr_put_strz(m, IFLA_IFNAME, end->name);
	mnl_attr_put(m, IFLA_ADDRESS, sizeof(end->mac), end->mac);
	mnl_attr_put_u32(m, IFLA_MTU, mtu_bytes);
	/* One queue, on every host; else the kernel makes one a CPU. */
	mnl_attr_put_u32(m, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(m, IFLA_NUM_RX_QUEUES, 1);
	if (end->netns)
		mnl_attr_put_u32(m, IFLA_NET_NS_FD, (uint32_t)end->netns->fd);
}

static int index_find(struct link_end *end, struct err *err)
{
	struct link_state state;
	struct netlink n;
	int r = netlink_open(end->netns, 0, &n, err);

	if (r < 0)
		return r;
	r = state_read(&n, end->name, &state);
	netlink_close(&n);
	if (r < 0)
		return fail(end, r, "find it", err);
	end->index = state.index;
	return 0;
}

int link_create(struct link_end *a, struct link_end *b, uint32_t mtu_bytes, struct err *err)
{
	union message buf;
	void *info;
	struct nlmsghdr *m =
		netlink_begin(&buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg), &info);
	struct nlattr *link, *data, *peer;
	struct netlink n;
	int r;

	describe(m, a, mtu_bytes);
	link = mnl_attr_nest_start(m, IFLA_LINKINFO);
	mnl_attr_put_strz(m, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(m, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(m, VETH_INFO_PEER);
	memset(mnl_nlmsg_put_extra_header(m, sizeof(struct ifinfomsg)), 0, sizeof(struct ifinfomsg));
	describe(m, b, mtu_bytes);
	mnl_attr_nest_end(m, peer);
	mnl_attr_nest_end(m, data);
	mnl_attr_nest_end(m, link);
	r = netlink_open(NULL, 0, &n, err);
	if (r < 0)
		return r;
	r = netlink_ask(&n, m, NULL, NULL);
	netlink_close(&n);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "cable %s:%s to %s:%s, MTU %u: cannot make it: %s", where(a), a->name,
			       where(b), b->name, (unsigned)mtu_bytes,
			       r == -EOPNOTSUPP ? "the kernel has no veth (modprobe veth)" : strerror(-r));
	r = index_find(a, err);
	return r < 0 ? r : index_find(b, err);
}

int link_delete(const struct link_end *end, struct err *err)
{
	union message buf;
	void *info;
	struct nlmsghdr *m = netlink_begin(&buf, RTM_DELLINK, 0, sizeof(struct ifinfomsg), &info);
	struct netlink n;
	int r = netlink_open(end->netns, 0, &n, err);

	if (r < 0)
		return r;
	mnl_attr_put_strz(m, IFLA_IFNAME, end->name);
	r = netlink_ask(&n, m, NULL, NULL);
	netlink_close(&n);
	return r < 0 && r != -ENODEV ? fail(end, r, "remove it", err) : 0;
}

int link_address(const struct link_end *end, uint32_t ipv4, unsigned prefix_bits, struct err *err)
{
	union message buf;
	struct ifaddrmsg *info;
	struct nlmsghdr *m = netlink_begin(&buf, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*info), (void **)&info);

	info->ifa_family = AF_INET;
	info->ifa_prefixlen = (uint8_t)prefix_bits;
	info->ifa_index = end->index;
	mnl_attr_put_u32(m, IFA_LOCAL, htonl(ipv4));
	mnl_attr_put_u32(m, IFA_ADDRESS, htonl(ipv4));
	return ask(end, m, "give it an address", err);
}

int link_route(const struct link_end *end, uint32_t ipv4, unsigned prefix_bits, uint32_t gateway, struct err *err)
{
	union message buf;
	struct rtmsg *info;
	struct nlmsghdr *m =
		netlink_begin(&buf, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof(*info), (void **)&info);

	info->rtm_family = AF_INET;
	info->rtm_dst_len = (uint8_t)prefix_bits;
	info->rtm_table = RT_TABLE_MAIN;
	info->rtm_protocol = RTPROT_STATIC;
	info->rtm_scope = gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	info->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(m, RTA_DST, htonl(ipv4));
	mnl_attr_put_u32(m, RTA_OIF, end->index);
	if (gateway)
		mnl_attr_put_u32(m, RTA_GATEWAY, htonl(gateway));
	return ask(end, m, "give it a route", err);
}

int link_neighbour(const struct link_end *end, uint32_t ipv4, const uint8_t mac[6], struct err *err)
{
	union message buf;
	struct ndmsg *info;
	struct nlmsghdr *m =
		netlink_begin(&buf, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*info), (void **)&info);

	info->ndm_family = AF_INET;
	info->ndm_ifindex = (int)end->index;
	info->ndm_state = NUD_PERMANENT;
	mnl_attr_put_u32(m, NDA_DST, htonl(ipv4));
	mnl_attr_put(m, NDA_LLADDR, 6, mac);
	return ask(end, m, "give it a neighbour", err);
}

int link_up(const struct link_end *end, struct err *err)
{
	union message buf;
	struct ifinfomsg *info;
	struct nlmsghdr *m = netlink_begin(&buf, RTM_NEWLINK, 0, sizeof(*info), (void **)&info);

	info->ifi_index = (int)end->index;
	info->ifi_flags = IFF_UP;
	info->ifi_change = IFF_UP;
	return ask(end, m, "bring it up", err);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Something changed in the namespace, or time is up. What changed is asked for anew, so events are only emptied. */
static void event_wait(int fd, int64_t left_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char drop[8192];

	if (poll(&p, 1, (int)left_ms) > 0)
		while (recv(fd, drop, sizeof(drop), MSG_DONTWAIT) > 0)
			;
}

int link_wait_up(const struct link_end *end, int64_t limit_ms, struct err *err)
{
	struct netlink events = { 0 }, n = { 0 };
	int64_t end_ms = now_ms() + limit_ms;
	struct link_state state;
	int r = netlink_open(end->netns, RTMGRP_LINK, &events, err);

	if (r == 0)
		r = netlink_open(end->netns, 0, &n, err);
	while (r == 0) {
		int64_t left_ms = end_ms - now_ms();

		r = state_read(&n, end->name, &state);
		if (r < 0)
			r = fail(end, r, "see whether it is up", err);
		else if (state.oper == IF_OPER_UP && state.queue_works)
			break;
		else if (left_ms <= 0)
			r = err_set(err, ERR_HOST, ETIMEDOUT, "%s: %s: not up after %d ms (state %u, flags %x)",
				    where(end), end->name, (int)limit_ms, state.oper, (unsigned)state.flags);
		else
			event_wait(mnl_socket_get_fd(events.socket), left_ms);
	}
	netlink_close(&n);
	netlink_close(&events);
	return r;
}

int link_check(const struct link_end *end, struct err *err)
{
	struct link_state state;
	struct netlink n;
	int r = netlink_open(end->netns, 0, &n, err);

	if (r < 0)
		return r;
	r = state_read(&n, end->name, &state);
	netlink_close(&n);
	if (r == -ENODEV || (r == 0 && state.index != end->index))
		return err_set(err, ERR_HOST, ENODEV, "%s: %s: the interface is gone", where(end), end->name);
	if (r < 0)
		return fail(end, r, "look at it", err);
	if (state.oper != IF_OPER_UP)
		return err_set(err, ERR_HOST, ENETDOWN, "%s: %s: the interface is down", where(end), end->name);
	return 0;
}
