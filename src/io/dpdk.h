/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IO_DPDK_H
#define TARE_IO_DPDK_H

#include <stdint.h>

#include "base/err.h"
#include "io/io.h"

/*
 * DPDK's ethdev ports. Frames are mbufs, not copied. EAL is started by the first
 * call (io/dpdk_eal.h). In a build without DPDK both functions exist and say how
 * to get it (ERR_HOST). Open and close from the main thread only.
 */

/* Two ends of a net_ring port: an rte_ring of mbufs between two threads. `slots`: a power of two from 8 to 16384. */
int dpdk_cable_open(uint32_t slots, uint32_t frame_bytes, struct io_cable *ret_cable, struct err *err);

/*
 * A port of a virtual device made for it, as EAL's --vdev would have it:
 * "net_pcap0,iface=eth1", "net_af_packet0,iface=eth1"; or of an adapter on the PCI bus,
 * "0000:3b:00.0". Closing it removes the device. Frames carry the adapter's receive
 * stamps (IO_STAMPS) where its driver offers that offload.
 */
int dpdk_port_open(const char *device, uint32_t frame_bytes, struct io_port **ret_port, struct err *err);

#endif
