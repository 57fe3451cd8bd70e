/* SPDX-License-Identifier: Apache-2.0 */
#include "io/afpacket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SLOT_BYTES = 2048,
	BLOCK_BYTES = 1 << 16,
	SLOTS_DEFAULT = 1024,
	SLOTS_MOST = 1 << 18,
	TAG_BYTES = 4,
	HEAD_ROOM = 16,        /* before a frame: for its tag */
	LONG_FRAMES = 8,       /* frames over a slot that are lent at a time */
	SEND_BYTES = 1 << 18,  /* frames reserved at a time */
	SOCKET_BYTES = 1 << 20 /* the socket's own queue: long frames */
};

struct afpacket_port {
	struct io_port port;
	int fd;
	int index; /* of the interface */
	char name[IF_NAMESIZE];

	uint8_t *ring;
	size_t ring_bytes;
	uint32_t slot_mask;
	uint64_t next, released; /* slots taken and given back */
	uint8_t *long_frames;    /* NULL until the first one comes */
	uint64_t long_next;

	uint8_t *send_buffer;
	uint32_t send_used;
	struct io_counters counters;
};

static struct afpacket_port *of(const struct io_port *port)
{
	return (struct afpacket_port *)(uintptr_t)port;
}

static struct tpacket2_hdr *slot(const struct afpacket_port *p, uint64_t n)
{
	return (struct tpacket2_hdr *)(p->ring + (n & p->slot_mask) * SLOT_BYTES);
}

/* --- receiving --- */

/* Put a tag back behind the two addresses; there is room before the frame. */
static uint8_t *put_tag(uint8_t *frame, const struct tpacket2_hdr *h)
{
	uint16_t tag[2] = { htons(h->tp_status & TP_STATUS_VLAN_TPID_VALID ? h->tp_vlan_tpid : ETHERTYPE_VLAN),
			    htons(h->tp_vlan_tci) };

	memmove(frame - TAG_BYTES, frame, (size_t)2 * ETHER_ADDR_LEN);
	memcpy(frame - TAG_BYTES + (size_t)2 * ETHER_ADDR_LEN, tag, sizeof(tag));
	return frame - TAG_BYTES;
}

/* A frame over a slot lies whole in the socket's queue. False: it does not, the queue was full. */
static bool take_long(struct afpacket_port *p, struct io_frame *frame)
{
	size_t each = HEAD_ROOM + AFPACKET_FRAME_BYTES + 1;
	ssize_t n;

	if (!p->long_frames) {
		p->long_frames = malloc(LONG_FRAMES * each);
		if (!p->long_frames)
			return false;
	}
	frame->data = p->long_frames + (p->long_next % LONG_FRAMES) * each + HEAD_ROOM;
	n = recv(p->fd, frame->data, AFPACKET_FRAME_BYTES, MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 || n > AFPACKET_FRAME_BYTES)
		return false;
	frame->length_bytes = (uint32_t)n;
	p->long_next++;
	return true;
}

static bool take(struct afpacket_port *p, struct tpacket2_hdr *h, struct io_frame *frame)
{
	*frame = (struct io_frame){ .data = (uint8_t *)h + h->tp_mac,
				    .length_bytes = h->tp_snaplen,
				    .handle = h,
				    .stamp_ns = (int64_t)h->tp_sec * 1000000000 + h->tp_nsec };
	if (h->tp_snaplen < h->tp_len && !(h->tp_status & TP_STATUS_COPY && take_long(p, frame)))
		return false;
	if (h->tp_status & TP_STATUS_VLAN_VALID) {
		if (frame->length_bytes < 2 * ETHER_ADDR_LEN || frame->length_bytes > AFPACKET_FRAME_BYTES - TAG_BYTES)
			return false;
		frame->data = put_tag(frame->data, h);
		frame->length_bytes += TAG_BYTES;
	}
	frame->capacity_bytes = frame->length_bytes;
	return true;
}

static unsigned afpacket_receive(struct io_port *port, struct io_frame *ret_frames, unsigned count)
{
	struct afpacket_port *p = of(port);
	uint64_t long_first = p->long_next;
	unsigned n = 0;

	if (!p->ring)
		return 0;
	while (n < count && p->long_next - long_first < LONG_FRAMES) {
		struct tpacket2_hdr *h = slot(p, p->next);
		uint32_t status = atomic_load_explicit((_Atomic uint32_t *)&h->tp_status, memory_order_acquire);

		if (!(status & TP_STATUS_USER) || p->next - p->released > p->slot_mask)
			break;
		p->next++;
		if (take(p, h, &ret_frames[n])) {
			n++;
			continue;
		}
		/* its place in the ring is given back with the frame before it, or at once */
		p->counters.rx_dropped++;
		h->tp_snaplen = UINT32_MAX;
		if (n == 0 && p->released + 1 == p->next) {
			atomic_store_explicit((_Atomic uint32_t *)&h->tp_status, TP_STATUS_KERNEL,
					      memory_order_release);
			p->released++;
		}
	}
	p->counters.received += n;
	return n;
}

static void give_slot(struct afpacket_port *p)
{
	struct tpacket2_hdr *h = slot(p, p->released++);

	atomic_store_explicit((_Atomic uint32_t *)&h->tp_status, TP_STATUS_KERNEL, memory_order_release);
}

static void afpacket_release(struct io_port *port, struct io_frame *frames, unsigned count)
{
	struct afpacket_port *p = of(port);

	(void)frames;
	while (count && p->released < p->next) {
		count -= slot(p, p->released)->tp_snaplen != UINT32_MAX;
		give_slot(p);
	}
	while (p->released < p->next && slot(p, p->released)->tp_snaplen == UINT32_MAX)
		give_slot(p);
}

/* --- sending --- */

static unsigned afpacket_reserve(struct io_port *port, struct io_frame *ret_frames, unsigned count,
				 uint32_t length_bytes)
{
	struct afpacket_port *p = of(port);
	uint32_t each = (length_bytes + 63) / 64 * 64;
	unsigned n = 0;

	if (length_bytes > AFPACKET_FRAME_BYTES)
		return 0;
	for (; n < count && n < AFPACKET_BURST && p->send_used + each <= SEND_BYTES; n++) {
		ret_frames[n] = (struct io_frame){ .data = p->send_buffer + p->send_used,
						   .length_bytes = length_bytes,
						   .capacity_bytes = length_bytes };
		p->send_used += each;
	}
	return n;
}

static unsigned afpacket_send(struct io_port *port, struct io_frame *frames, unsigned count)
{
	struct afpacket_port *p = of(port);
	struct mmsghdr messages[AFPACKET_BURST];
	struct iovec parts[AFPACKET_BURST];
	unsigned done = 0, sent = 0;

	for (unsigned i = 0; i < count && i < AFPACKET_BURST; i++) {
		parts[i] = (struct iovec){ frames[i].data, frames[i].length_bytes };
		messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i], .msg_iovlen = 1 } };
	}
	while (done < count) {
		int n = sendmmsg(p->fd, messages + done, count - done, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) { /* this one does not go: too long, or no room; the next may */
			p->counters.tx_dropped++;
			done++;
			continue;
		}
		done += (unsigned)n;
		sent += (unsigned)n;
	}
	p->send_used = 0;
	p->counters.sent += sent;
	return sent;
}

static void afpacket_abandon(struct io_port *port, struct io_frame *frames, unsigned count)
{
	struct afpacket_port *p = of(port);

	if (count)
		p->send_used = (uint32_t)(frames[0].data - p->send_buffer);
}

/* --- the rest --- */

static void afpacket_counters(const struct io_port *port, struct io_counters *ret)
{
	struct afpacket_port *p = of(port);
	struct tpacket_stats stats;
	socklen_t length = sizeof(stats);

	/* reading them sets them to zero */
	if (getsockopt(p->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0)
		p->counters.rx_dropped += stats.tp_drops;
	*ret = p->counters;
}

static void afpacket_close(struct io_port *port)
{
	struct afpacket_port *p = of(port);

	if (!port)
		return;
	if (p->ring)
		munmap(p->ring, p->ring_bytes);
	if (p->fd >= 0)
		close(p->fd);
	free(p->long_frames);
	free(p->send_buffer);
	free(p);
}

static const struct io_ops afpacket_ops = {
	.name = "afpacket",
	.flags = IO_STAMPS,
	.receive = afpacket_receive,
	.release = afpacket_release,
	.reserve = afpacket_reserve,
	.send = afpacket_send,
	.abandon = afpacket_abandon,
	.counters = afpacket_counters,
	.close = afpacket_close,
};

int afpacket_fd(const struct io_port *port)
{
	return of(port)->fd;
}

int afpacket_check(struct io_port *port)
{
	struct afpacket_port *p = of(port);
	int code = 0;
	socklen_t length = sizeof(code);
	struct ifreq request = { 0 };

	getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &code, &length); /* which clears it, so that poll waits again */
	if ((int)if_nametoindex(p->name) != p->index)
		return -ENODEV;
	memcpy(request.ifr_name, p->name, sizeof(request.ifr_name));
	if (ioctl(p->fd, SIOCGIFFLAGS, &request) < 0)
		return -ENODEV;
	return request.ifr_flags & IFF_UP ? 0 : -ENETDOWN;
}

/* --- opening --- */

static int option(const struct afpacket_port *p, int name, int value)
{
	return setsockopt(p->fd, SOL_PACKET, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int map_ring(struct afpacket_port *p, unsigned frames)
{
	struct tpacket_req request = { .tp_block_size = BLOCK_BYTES, .tp_frame_size = SLOT_BYTES };
	unsigned slots = BLOCK_BYTES / SLOT_BYTES;
	void *ring;

	while (slots < frames && slots < SLOTS_MOST)
		slots *= 2;
	request.tp_frame_nr = slots;
	request.tp_block_nr = slots / (BLOCK_BYTES / SLOT_BYTES);
	if (setsockopt(p->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) < 0)
		return -errno;
	p->ring_bytes = (size_t)slots * SLOT_BYTES;
	p->slot_mask = slots - 1;
	ring = mmap(NULL, p->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	p->ring = ring;
	return 0;
}

static int open_socket(struct afpacket_port *p, const struct afpacket_config *config, struct err *err)
{
	struct ifreq request = { 0 };

	p->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* receives nothing until it is bound */
	if (p->fd < 0)
		return err_set(err, ERR_HOST, errno,
			       "interface %s: no packet socket: %s (root, CAP_NET_RAW or a namespace of one's own is "
			       "needed)",
			       p->name, strerror(errno));
	p->index = (int)if_nametoindex(p->name);
	if (!p->index)
		return err_set(err, ERR_HOST, ENODEV, "there is no interface '%s'", p->name);
	memcpy(request.ifr_name, p->name, sizeof(request.ifr_name));
	if (ioctl(p->fd, SIOCGIFHWADDR, &request) < 0 ||
	    (request.ifr_hwaddr.sa_family != ARPHRD_ETHER && request.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK))
		return err_set(err, ERR_HOST, EINVAL, "interface %s is not Ethernet", p->name);
	if (config->bypass_qdisc && option(p, PACKET_QDISC_BYPASS, 1) < 0)
		return err_set(err, ERR_HOST, EOPNOTSUPP, "interface %s: the kernel cannot bypass queue disciplines",
			       p->name);
	return 0;
}

static int start(struct afpacket_port *p, const struct afpacket_config *config)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
				       .sll_protocol = config->send_only ? 0 : htons(ETH_P_ALL),
				       .sll_ifindex = p->index };
	struct packet_mreq promiscuous = { .mr_ifindex = p->index, .mr_type = PACKET_MR_PROMISC };
	int bytes = SOCKET_BYTES;
	int rc;

	if (config->send_only)
		return bind(p->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	rc = option(p, PACKET_VERSION, TPACKET_V2);
	if (rc == 0)
		rc = option(p, PACKET_RESERVE, HEAD_ROOM);
	if (rc == 0)
		rc = option(p, PACKET_COPY_THRESH, 1);
	if (rc == 0)
		rc = option(p, PACKET_IGNORE_OUTGOING, 1);
	if (rc == 0)
		rc = map_ring(p, config->receive_frames ? config->receive_frames : SLOTS_DEFAULT);
	if (rc < 0)
		return rc;
	setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (bind(p->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    setsockopt(p->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof(promiscuous)) < 0)
		return -errno;
	return 0;
}

int afpacket_open(const struct afpacket_config *config, struct io_port **ret_port, struct err *err)
{
	struct afpacket_port *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	p->port.ops = &afpacket_ops;
	p->fd = -1;
	p->send_buffer = malloc(SEND_BYTES);
	if (!p->send_buffer) {
		afpacket_close(&p->port);
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	if (strlen(config->interface) >= sizeof(p->name)) {
		afpacket_close(&p->port);
		return err_set(err, ERR_HOST, ENODEV, "there is no interface '%.64s': names have at most %d bytes",
			       config->interface, IF_NAMESIZE - 1);
	}
	strcpy(p->name, config->interface);
	rc = open_socket(p, config, err);
	if (rc == 0) {
		rc = start(p, config);
		if (rc < 0)
			err_set(err, ERR_HOST, -rc, "interface %s: %s", p->name, strerror(-rc));
	}
	if (rc < 0) {
		afpacket_close(&p->port);
		return rc;
	}
	*ret_port = &p->port;
	return 0;
}
