/* SPDX-License-Identifier: Apache-2.0 */
#include "target/wire_port.h"

#include <string.h>

#include "io/afpacket.h"
#include "io/dpdk.h"

#define DPDK_PREFIX "dpdk:"

enum { FRAME_LEAST_BYTES = 1514 }; /* of Ethernet, without FCS: adapters want room for whatever may come */

bool wire_port_by_dpdk(const char *name)
{
	return strncmp(name, DPDK_PREFIX, strlen(DPDK_PREFIX)) == 0;
}

const char *wire_port_clock(const char *name, const struct io_port *port)
{
	if (!wire_port_by_dpdk(name))
		return "kernel, software";
	return port->ops->flags & IO_STAMPS ? "adapter, by DPDK" : NULL;
}

int wire_port_open(const char *name, unsigned slots, uint32_t frame_bytes, struct io_port **ret, struct err *err)
{
	const struct afpacket_config config = { .interface = name, .receive_frames = slots, .send_only = slots == 0 };

	if (wire_port_by_dpdk(name))
		return dpdk_port_open(name + strlen(DPDK_PREFIX),
				      frame_bytes < FRAME_LEAST_BYTES ? FRAME_LEAST_BYTES : frame_bytes, ret, err);
	return afpacket_open(&config, ret, err);
}
