/* SPDX-License-Identifier: Apache-2.0 */
#include "io/dpdk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_ring.h>

#include "io/dpdk_eal.h"

enum { BURST_MOST = 64, DESCRIPTORS = 512 };

/* What both ends of a port stand on. */
struct device {
	uint16_t id;
	struct rte_mempool *pool;
	struct rte_ring *ring; /* of a cable; else NULL */
	bool made;             /* the port is there */
	bool started;
	/* Of frames that the adapter stamped; 0: it stamps none. */
	uint64_t stamp_flag;
	int stamp_offset;     /* in an mbuf */
	uint64_t stamp_scale; /* ns of a count, in 2^-32 */
	atomic_uint ends;
};

struct dpdk_port {
	struct io_port port;
	struct device *device;
	uint32_t frame_bytes;
	uint32_t lent; /* reserved and not sent yet */
	int stamp_offset;
	uint64_t stamp_flag;
	uint64_t stamp_scale;
	struct io_counters counters;
};

static inline struct dpdk_port *dpdk_of(const struct io_port *port)
{
	return (struct dpdk_port *)(uintptr_t)port;
}

static unsigned dpdk_receive(struct io_port *port, struct io_frame *ret_frames, unsigned count)
{
	struct dpdk_port *p = dpdk_of(port);
	struct rte_mbuf *mbufs[BURST_MOST];
	unsigned n = rte_eth_rx_burst(p->device->id, 0, mbufs, count < BURST_MOST ? (uint16_t)count : BURST_MOST);

	/* Nothing of a frame is read here: its lines are the receiver's to touch, after its stamp. */
	for (unsigned i = 0; i < n; i++)
		ret_frames[i].handle = mbufs[i];
	p->counters.received += n;
	return n;
}

/* In whole numbers: a double has not the digits of ns since 1970. */
static int64_t stamp_ns(const struct dpdk_port *p, struct rte_mbuf *m)
{
	__extension__ typedef unsigned __int128 wide;

	return (int64_t)((wide)*RTE_MBUF_DYNFIELD(m, p->stamp_offset, rte_mbuf_timestamp_t *) * p->stamp_scale >> 32);
}

/* The part of receiving that reads the mbufs. */
static void dpdk_open_frames(struct io_port *port, struct io_frame *frames, unsigned count)
{
	const struct dpdk_port *p = dpdk_of(port);

	for (unsigned i = 0; i < count; i++) {
		struct rte_mbuf *m = frames[i].handle;

		frames[i].data = rte_pktmbuf_mtod(m, uint8_t *);
		frames[i].length_bytes = rte_pktmbuf_data_len(m);
		frames[i].capacity_bytes = rte_pktmbuf_data_len(m);
		frames[i].stamp_ns = 0;
		if (__builtin_expect((m->ol_flags & p->stamp_flag) != 0, 0))
			frames[i].stamp_ns = stamp_ns(p, m);
	}
}

static void dpdk_release(struct io_port *port, struct io_frame *frames, unsigned count)
{
	(void)port;
	for (unsigned i = 0; i < count; i++)
		rte_pktmbuf_free(frames[i].handle);
}

static unsigned dpdk_reserve(struct io_port *port, struct io_frame *ret_frames, unsigned count, uint32_t length_bytes)
{
	struct dpdk_port *p = dpdk_of(port);
	unsigned i;

	if (length_bytes > p->frame_bytes)
		return 0;
	/* A ring has one sender, so room that is seen stays. Of a device nothing is known before it is tried. */
	if (p->device->ring) {
		uint32_t room = rte_ring_free_count(p->device->ring);

		room = room > p->lent ? room - p->lent : 0;
		count = count < room ? count : room;
	}
	for (i = 0; i < count; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(p->device->pool);

		if (!m)
			break;
		ret_frames[i].handle = m;
		ret_frames[i].data = rte_pktmbuf_mtod(m, uint8_t *);
		ret_frames[i].length_bytes = length_bytes;
		ret_frames[i].capacity_bytes = p->frame_bytes;
		ret_frames[i].stamp_ns = 0;
	}
	p->lent += i;
	return i;
}

static unsigned dpdk_send(struct io_port *port, struct io_frame *frames, unsigned count)
{
	struct dpdk_port *p = dpdk_of(port);
	struct rte_mbuf *mbufs[BURST_MOST];
	unsigned sent = 0;

	for (unsigned done = 0; done < count;) {
		unsigned n = count - done < BURST_MOST ? count - done : BURST_MOST;
		unsigned went;

		for (unsigned i = 0; i < n; i++) {
			mbufs[i] = frames[done + i].handle;
			rte_pktmbuf_data_len(mbufs[i]) = (uint16_t)frames[done + i].length_bytes;
			rte_pktmbuf_pkt_len(mbufs[i]) = frames[done + i].length_bytes;
		}
		went = rte_eth_tx_burst(p->device->id, 0, mbufs, (uint16_t)n);
		for (unsigned i = went; i < n; i++)
			rte_pktmbuf_free(mbufs[i]);
		sent += went;
		p->counters.tx_dropped += n - went;
		done += n;
	}
	p->lent -= count;
	p->counters.sent += sent;
	return sent;
}

static unsigned dpdk_forward(struct io_port *port, struct io_frame *frames, unsigned count)
{
	struct dpdk_port *p = dpdk_of(port);
	struct rte_mbuf *mbufs[BURST_MOST];
	unsigned sent = 0;

	for (unsigned done = 0; done < count;) {
		unsigned n = count - done < BURST_MOST ? count - done : BURST_MOST, went;

		for (unsigned i = 0; i < n; i++)
			mbufs[i] = frames[done + i].handle;
		went = rte_eth_tx_burst(p->device->id, 0, mbufs, (uint16_t)n);
		for (unsigned i = went; i < n; i++)
			rte_pktmbuf_free(mbufs[i]);
		sent += went;
		done += n;
	}
	p->counters.sent += sent;
	p->counters.tx_dropped += count - sent;
	return sent;
}

static void dpdk_abandon(struct io_port *port, struct io_frame *frames, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		rte_pktmbuf_free(frames[i].handle);
	dpdk_of(port)->lent -= count;
}

static void dpdk_counters(const struct io_port *port, struct io_counters *ret)
{
	const struct dpdk_port *p = dpdk_of(port);
	struct rte_eth_stats stats;

	*ret = p->counters;
	if (!p->device->ring && rte_eth_stats_get(p->device->id, &stats) == 0)
		ret->rx_dropped = stats.imissed + stats.ierrors + stats.rx_nombuf;
}

static void device_free(struct device *d)
{
	struct rte_eth_dev_info info;

	if (d->started) {
		rte_eth_dev_stop(d->id);
		if (d->ring) /* its mbufs go back to the pool before that goes */
			for (void *m; rte_ring_dequeue(d->ring, &m) == 0;)
				rte_pktmbuf_free(m);
	}
	/* Removing the device closes its port; a closed port alone would leave the device and its name. */
	if (d->made && rte_eth_dev_info_get(d->id, &info) == 0)
		rte_dev_remove(info.device);
	rte_ring_free(d->ring);
	rte_mempool_free(d->pool);
	free(d);
}

static void dpdk_close(struct io_port *port)
{
	struct dpdk_port *p = dpdk_of(port);

	if (!p)
		return;
	if (atomic_fetch_sub_explicit(&p->device->ends, 1, memory_order_acq_rel) == 1)
		device_free(p->device);
	free(p);
}

#define OPS                                                                                                            \
	.name = "dpdk", .open = dpdk_open_frames, .release = dpdk_release, .send = dpdk_send, .forward = dpdk_forward, \
	.abandon = dpdk_abandon, .counters = dpdk_counters, .close = dpdk_close

static unsigned nothing_received(struct io_port *port, struct io_frame *ret_frames, unsigned count)
{
	(void)port;
	(void)ret_frames;
	(void)count;
	return 0;
}

static unsigned nothing_reserved(struct io_port *port, struct io_frame *ret_frames, unsigned count,
				 uint32_t length_bytes)
{
	(void)length_bytes;
	return nothing_received(port, ret_frames, count);
}

static const struct io_ops both_ways_ops = { OPS, .flags = IO_ZERO_COPY, .receive = dpdk_receive,
					     .reserve = dpdk_reserve };
static const struct io_ops stamping_ops = { OPS, .flags = IO_ZERO_COPY | IO_STAMPS, .receive = dpdk_receive,
					    .reserve = dpdk_reserve };
static const struct io_ops send_end_ops = { OPS, .flags = IO_ZERO_COPY, .receive = nothing_received,
					    .reserve = dpdk_reserve };
static const struct io_ops receive_end_ops = { OPS, .flags = IO_ZERO_COPY, .receive = dpdk_receive,
					       .reserve = nothing_reserved };

static struct device *device_new(unsigned ends)
{
	struct device *d = calloc(1, sizeof(*d));

	if (d)
		atomic_init(&d->ends, ends);
	return d;
}

static struct io_port *port_new(struct device *d, uint32_t frame_bytes, const struct io_ops *ops)
{
	struct dpdk_port *p = aligned_alloc(64, (sizeof(*p) + 127) / 64 * 64);

	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->port.ops = ops;
	p->device = d;
	p->frame_bytes = frame_bytes;
	p->stamp_flag = d->stamp_flag;
	p->stamp_offset = d->stamp_offset;
	p->stamp_scale = d->stamp_scale;
	return &p->port;
}

/* One thread takes from the pool and one gives back; no cache, as they are no EAL threads. */
static int pool_create(struct device *d, uint32_t count, uint32_t frame_bytes, struct err *err)
{
	char name[32];

	snprintf(name, sizeof(name), "tare%" PRIxPTR, (uintptr_t)d);
	d->pool = rte_pktmbuf_pool_create(name, count, 0, 0, (uint16_t)(RTE_PKTMBUF_HEADROOM + frame_bytes),
					  SOCKET_ID_ANY);
	if (!d->pool)
		return err_set(err, ERR_HOST, rte_errno, "DPDK has no memory for %u frames of %u bytes: %s", count,
			       frame_bytes, rte_strerror(rte_errno));
	return 0;
}

/* ns of a count of the adapter's clock, from the clock itself over 50 ms; those that cannot be asked count ns. */
static double count_ns(uint16_t id)
{
	struct timespec from, to, wait = { .tv_nsec = 50000000 };
	uint64_t a, b;

	if (rte_eth_read_clock(id, &a) != 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC_RAW, &from);
	nanosleep(&wait, NULL);
	if (rte_eth_read_clock(id, &b) != 0 || b <= a)
		return 1;
	clock_gettime(CLOCK_MONOTONIC_RAW, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)(b - a);
}

/* Once the device has started: does it stamp what it receives, and in which unit? net_pcap always does, in us. */
static void find_stamps(struct device *d, const struct rte_eth_dev_info *info, bool asked)
{
	bool pcap = strcmp(info->driver_name, "net_pcap") == 0;
	int bit = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, NULL);
	int offset = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, NULL);

	if (bit < 0 || offset < 0 || !(asked || pcap))
		return;
	d->stamp_flag = UINT64_C(1) << bit;
	d->stamp_offset = offset;
	d->stamp_scale = (uint64_t)llround((pcap ? 1000 : count_ns(d->id)) * 4294967296.0);
}

static int device_start(struct device *d, const char *what, uint32_t frame_bytes, struct err *err)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	uint32_t mtu = frame_bytes > RTE_ETHER_HDR_LEN ? frame_bytes - RTE_ETHER_HDR_LEN : 0;
	int r;

	if (mtu > RTE_ETHER_MTU)
		conf.rxmode.mtu = mtu;
	r = rte_eth_dev_info_get(d->id, &info);
	if (r == 0 && info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP)
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
	if (r == 0)
		r = rte_eth_dev_configure(d->id, 1, 1, &conf);
	if (r == 0)
		r = rte_eth_rx_queue_setup(d->id, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL, d->pool);
	if (r == 0)
		r = rte_eth_tx_queue_setup(d->id, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL);
	if (r == 0)
		r = rte_eth_dev_start(d->id);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "DPDK port %s does not start: %s", what, rte_strerror(-r));
	d->started = true;
	find_stamps(d, &info, conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP);
	return 0;
}

static int ring_create(struct device *d, uint32_t slots, struct err *err)
{
	char name[32];
	int id;

	snprintf(name, sizeof(name), "tare%" PRIxPTR, (uintptr_t)d);
	d->ring = rte_ring_create(name, slots, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!d->ring)
		return err_set(err, ERR_HOST, rte_errno, "DPDK has no memory for a ring of %u frames: %s", slots,
			       rte_strerror(rte_errno));
	id = rte_eth_from_ring(d->ring);
	if (id < 0)
		return err_set(err, ERR_HOST, rte_errno ? rte_errno : ENOSPC, "DPDK makes no port of a ring: %s",
			       rte_errno ? rte_strerror(rte_errno) : "no port left");
	d->id = (uint16_t)id;
	d->made = true;
	return 0;
}

int dpdk_cable_open(uint32_t slots, uint32_t frame_bytes, struct io_cable *ret_cable, struct err *err)
{
	struct io_port *send_end, *receive_end;
	struct device *d;
	int r = dpdk_eal_start(err);

	if (r < 0)
		return r;
	TARE_ASSERT(slots >= 8 && slots <= 16384 && (slots & (slots - 1)) == 0);
	TARE_ASSERT(frame_bytes >= 14 && frame_bytes <= 16384);
	d = device_new(2);
	if (!d)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for a DPDK port");
	/* As many frames as the ring holds, and as many again that both sides have in hand. */
	r = pool_create(d, 2 * slots - 1, frame_bytes, err);
	if (r == 0)
		r = ring_create(d, slots, err);
	if (r == 0)
		r = device_start(d, "of a ring", frame_bytes, err);
	send_end = r == 0 ? port_new(d, frame_bytes, &send_end_ops) : NULL;
	receive_end = r == 0 ? port_new(d, frame_bytes, &receive_end_ops) : NULL;
	if (!send_end || !receive_end) {
		free(send_end);
		free(receive_end);
		device_free(d);
		return r < 0 ? r : err_set(err, ERR_HOST, ENOMEM, "no memory for a DPDK port");
	}
	*ret_cable = (struct io_cable){ send_end, receive_end };
	return 0;
}

/* "0000:3b:00.0", and what a driver is told behind a comma. */
static bool is_pci(const char *device)
{
	unsigned domain, bus, slot, function;
	int length = 0;

	return (sscanf(device, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &length) == 4 ||
		sscanf(device, "%2x:%2x.%1x%n", &bus, &slot, &function, &length) == 3) &&
	       (device[length] == '\0' || device[length] == ',');
}

/* An adapter on the bus: it must be bound to a driver that DPDK can use (vfio-pci, or its own). */
static int pci_attach(struct device *d, const char *device, struct err *err)
{
	char address[40];
	int r = rte_dev_probe(device);

	snprintf(address, sizeof(address), "%.*s", (int)strcspn(device, ","), device);
	if (r < 0)
		return err_set(err, ERR_HOST, -r,
			       "DPDK cannot use PCI device '%s': %s (is it there, and bound to vfio-pci? "
			       "dpdk-devbind.py --status shows it)",
			       device, rte_strerror(-r));
	r = rte_eth_dev_get_port_by_name(address, &d->id);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "DPDK has no driver that makes an Ethernet port of '%s'", address);
	d->made = true;
	return 0;
}

/* "net_pcap0,iface=eth1": the name up to the comma, then what the driver is told. */
static int vdev_create(struct device *d, const char *device, struct err *err)
{
	size_t length = strcspn(device, ",");
	const char *args = device[length] ? device + length + 1 : "";
	char name[40];
	int r;

	if (length == 0 || length >= sizeof(name))
		return err_set(err, ERR_USAGE, EINVAL,
			       "'%s' names no virtual device of DPDK; expected such as 'net_pcap0,iface=eth1'", device);
	memcpy(name, device, length);
	name[length] = '\0';
	r = rte_eal_hotplug_add("vdev", name, args);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "DPDK cannot make device '%s': %s", device, rte_strerror(-r));
	r = rte_eth_dev_get_port_by_name(name, &d->id);
	if (r < 0) {
		rte_eal_hotplug_remove("vdev", name);
		return err_set(err, ERR_USAGE, -r, "DPDK's device '%s' has no Ethernet port", name);
	}
	d->made = true;
	return 0;
}

int dpdk_port_open(const char *device, uint32_t frame_bytes, struct io_port **ret_port, struct err *err)
{
	struct io_port *port;
	struct device *d;
	int r = dpdk_eal_start(err);

	if (r < 0)
		return r;
	d = device_new(1);
	if (!d)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for a DPDK port");
	/* some drivers take no buffers smaller than DPDK's usual ones */
	r = pool_create(d, 4 * DESCRIPTORS - 1, frame_bytes < 2048 ? 2048 : frame_bytes, err);
	if (r == 0)
		r = is_pci(device) ? pci_attach(d, device, err) : vdev_create(d, device, err);
	if (r == 0)
		r = device_start(d, device, frame_bytes, err);
	port = r == 0 ? port_new(d, frame_bytes, d->stamp_flag ? &stamping_ops : &both_ways_ops) : NULL;
	if (!port) {
		device_free(d);
		return r < 0 ? r : err_set(err, ERR_HOST, ENOMEM, "no memory for a DPDK port");
	}
	*ret_port = port;
	return 0;
}
