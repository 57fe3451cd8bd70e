/* SPDX-License-Identifier: Apache-2.0 */
/* DPDK's ports in a build without DPDK. */
#include "io/dpdk.h"
#include "io/dpdk_eal.h"

int dpdk_cable_open(uint32_t slots, uint32_t frame_bytes, struct io_cable *ret_cable, struct err *err)
{
	(void)slots;
	(void)frame_bytes;
	(void)ret_cable;
	return dpdk_eal_start(err);
}

int dpdk_port_open(const char *device, uint32_t frame_bytes, struct io_port **ret_port, struct err *err)
{
	(void)device;
	(void)frame_bytes;
	(void)ret_port;
	return dpdk_eal_start(err);
}
