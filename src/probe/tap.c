/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet/frame.h"
#include "probe/carrier.h"

enum { ROOM_BYTES = 64 << 20, BURST = 64, CONTROL_BYTES = 128 };

/* Jumps count instructions to skip. The first two look at the direction. */
#define PKTTYPE ((uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE))

static int filter_probes(int fd, enum tap_side side)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, PKTTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, side == TAP_OUT ? 0 : 6, side == TAP_OUT ? 6 : 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_PROBE, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IPV4, 0, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IP_PROTO_PROBE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, TAP_SNAP_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int filter_carrier(int fd, enum tap_side side)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, PKTTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, side == TAP_OUT ? 0 : 7, side == TAP_OUT ? 7 : 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IPV4, 0, 5),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IP_PROTO_UDP, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CARRIER_PORT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int prepare(int fd, const struct link_end *at, enum tap_side side, enum tap_what what)
{
	const struct sockaddr_ll address = { .sll_family = AF_PACKET,
					     .sll_protocol = htons(ETH_P_ALL),
					     .sll_ifindex = (int)at->index };
	int stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	/* what is only counted need not be kept */
	int room = what == TAP_CARRIER ? 0 : ROOM_BYTES;

	if ((what == TAP_CARRIER ? filter_carrier(fd, side) : filter_probes(fd, side)) < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) < 0)
		return -errno;
	if (what == TAP_PROBES && setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof(stamps)) < 0)
		return -errno;
	/* only now: nothing that the filter has not seen is in the socket */
	return bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

int tap_open(const struct link_end *at, enum tap_side side, enum tap_what what, struct tap *ret, struct err *err)
{
	struct tap tap = TAP_NONE;
	int rc;

	*ret = TAP_NONE;
	snprintf(tap.where, sizeof(tap.where), "%s of %.30s", at->name, at->netns ? at->netns->name : "this host");
	tap.fd = netns_socket(at->netns, AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0, err);
	if (tap.fd < 0)
		return tap.fd;
	rc = prepare(tap.fd, at, side, what);
	if (rc < 0) {
		tap_close(&tap);
		return err_set(err, ERR_HOST, -rc, "cannot listen at %s: %s", tap.where, strerror(-rc));
	}
	*ret = tap;
	return 0;
}

void tap_close(struct tap *tap)
{
	if (tap->fd >= 0)
		close(tap->fd);
	tap->fd = -1;
}

static int64_t stamp_of(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPING) {
			struct scm_timestamping t;

			memcpy(&t, CMSG_DATA(c), sizeof(t));
			return t.ts[0].tv_sec * INT64_C(1000000000) + t.ts[0].tv_nsec;
		}
	return 0;
}

int tap_drain(struct tap *tap, tap_take_fn *take, void *context, struct err *err)
{
	uint8_t bytes[BURST][TAP_SNAP_BYTES], control[BURST][CONTROL_BYTES];
	struct mmsghdr messages[BURST];
	struct iovec parts[BURST];
	int total = 0, got;

	do {
		for (int i = 0; i < BURST; i++) {
			parts[i] = (struct iovec){ bytes[i], TAP_SNAP_BYTES };
			messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i],
								     .msg_iovlen = 1,
								     .msg_control = control[i],
								     .msg_controllen = CONTROL_BYTES } };
		}
		got = recvmmsg(tap->fd, messages, BURST, MSG_DONTWAIT, NULL);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			got = 0;
		if (got < 0)
			return err_set(err, ERR_HOST, errno, "%s: %s", tap->where,
				       errno == ENETDOWN ? "the interface went down, or is gone" : strerror(errno));
		for (int i = 0; i < got; i++)
			take(context, bytes[i], messages[i].msg_len, stamp_of(&messages[i].msg_hdr));
		total += got;
	} while (got == BURST);
	return total;
}

int tap_counts(struct tap *tap, uint64_t *ret_seen, uint64_t *ret_dropped, struct err *err)
{
	struct tpacket_stats stats;
	socklen_t length = sizeof(stats);

	if (getsockopt(tap->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length) < 0)
		return err_set(err, ERR_HOST, errno, "%s: cannot ask what was dropped: %s", tap->where,
			       strerror(errno));
	/* tp_packets includes those that were dropped */
	*ret_seen = stats.tp_packets;
	*ret_dropped = stats.tp_drops;
	return 0;
}
