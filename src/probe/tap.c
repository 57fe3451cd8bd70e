/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet/frame.h"
#include "packet/int_md.h"
#include "probe/carrier.h"

enum { SLOT_BYTES = 512, BLOCK_BYTES = 1 << 16, SLOTS_A_BLOCK = BLOCK_BYTES / SLOT_BYTES };

_Static_assert(TPACKET2_HDRLEN + 32 + TAP_SNAP_BYTES <= SLOT_BYTES, "what is kept has to fit a slot");

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

/* UDP over IPv4 without options, to one of two ports. */
static int filter_udp(int fd, enum tap_side side, uint32_t port, uint32_t other_port, uint32_t keep_bytes)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, PKTTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, side == TAP_OUT ? 0 : 8, side == TAP_OUT ? 8 : 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IPV4, 0, 6),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IP_PROTO_UDP, 0, 4),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other_port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, keep_bytes),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int filter(int fd, enum tap_side side, enum tap_what what)
{
	switch (what) {
	case TAP_CARRIER:
		return filter_udp(fd, side, CARRIER_PORT, CARRIER_PORT, 1);
	case TAP_WATCHED:
		return filter_udp(fd, side, INT_MD_PORT_WATCHED, INT_MD_PORT, TAP_SNAP_BYTES);
	case TAP_REPORTS:
		return filter_udp(fd, side, INT_REPORT_PORT, INT_REPORT_PORT, TAP_SNAP_BYTES);
	case TAP_PROBES:
		break;
	}
	return filter_probes(fd, side);
}

static int number_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* What is only counted finds no room, which costs least. */
static int no_room(int fd)
{
	return number_option(fd, SOL_SOCKET, SO_RCVBUF, 0);
}

static int map_ring(struct tap *tap, uint32_t slots)
{
	struct tpacket_req request = { .tp_block_size = BLOCK_BYTES, .tp_frame_size = SLOT_BYTES };
	uint32_t n = SLOTS_A_BLOCK;
	void *ring;
	int rc = number_option(tap->fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2);

	if (rc < 0)
		return rc;
	while (n < slots && n < TAP_SLOTS_MOST)
		n *= 2;
	request.tp_frame_nr = n;
	request.tp_block_nr = n / SLOTS_A_BLOCK;
	if (setsockopt(tap->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) < 0)
		return -errno;
	ring = mmap(NULL, (size_t)n * SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, tap->fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	tap->ring = ring;
	tap->ring_bytes = (size_t)n * SLOT_BYTES;
	tap->slot_mask = n - 1;
	return 0;
}

static int keep_frames(struct tap *tap, uint32_t slots)
{
	int rc = map_ring(tap, slots);

	return rc < 0 ? rc
		      : number_option(tap->fd, SOL_SOCKET, SO_TIMESTAMPING,
				      SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE);
}

static int prepare(struct tap *tap, const struct link_end *at, enum tap_side side, enum tap_what what, uint32_t slots)
{
	const struct sockaddr_ll address = { .sll_family = AF_PACKET,
					     .sll_protocol = htons(ETH_P_ALL),
					     .sll_ifindex = (int)at->index };
	int rc;

	if (filter(tap->fd, side, what) < 0)
		return -errno;
	/* What leaves is not even copied for a tap of what enters. */
	if (side == TAP_IN)
		number_option(tap->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
	rc = what == TAP_CARRIER ? no_room(tap->fd) : keep_frames(tap, slots);
	if (rc < 0)
		return rc;
	/* only now: nothing that the filter has not seen is in the socket */
	return bind(tap->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

int tap_open(const struct link_end *at, enum tap_side side, enum tap_what what, uint32_t slots, struct tap *ret,
	     struct err *err)
{
	struct tap tap = TAP_NONE;
	int rc;

	*ret = TAP_NONE;
	snprintf(tap.where, sizeof(tap.where), "%s of %.30s", at->name, at->netns ? at->netns->name : "this host");
	tap.fd = netns_socket(at->netns, AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0, err);
	if (tap.fd < 0)
		return tap.fd;
	rc = prepare(&tap, at, side, what, slots);
	if (rc < 0) {
		tap_close(&tap);
		return err_set(err, ERR_HOST, -rc, "cannot listen at %s: %s", tap.where, strerror(-rc));
	}
	*ret = tap;
	return 0;
}

void tap_close(struct tap *tap)
{
	if (tap->ring)
		munmap(tap->ring, tap->ring_bytes);
	if (tap->fd >= 0)
		close(tap->fd);
	tap->ring = NULL;
	tap->fd = -1;
}

unsigned tap_take(struct tap *tap, unsigned most, tap_take_fn *take, void *context)
{
	unsigned n = 0;

	for (; n < most; n++) {
		struct tpacket2_hdr *h = (struct tpacket2_hdr *)(tap->ring + (tap->next & tap->slot_mask) * SLOT_BYTES);
		uint32_t status = atomic_load_explicit((_Atomic uint32_t *)&h->tp_status, memory_order_acquire);
		struct tap_frame frame;

		if (!(status & TP_STATUS_USER))
			break;
		frame = (struct tap_frame){
			.bytes = (const uint8_t *)h + h->tp_mac,
			.length_bytes = h->tp_len,
			.kept_bytes = h->tp_snaplen,
			.stamp_ns = status & TP_STATUS_TS_SOFTWARE ? h->tp_sec * INT64_C(1000000000) + h->tp_nsec : 0,
		};
		take(context, &frame);
		atomic_store_explicit((_Atomic uint32_t *)&h->tp_status, TP_STATUS_KERNEL, memory_order_release);
		tap->next++;
	}
	return n;
}

int tap_check(struct tap *tap, struct err *err)
{
	socklen_t length = sizeof(int);
	int code = 0;

	if (getsockopt(tap->fd, SOL_SOCKET, SO_ERROR, &code, &length) < 0)
		code = errno;
	return code ? err_set(err, ERR_HOST, code, "%s: %s", tap->where,
			      code == ENETDOWN ? "the interface went down, or is gone" : strerror(code))
		    : 0;
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
