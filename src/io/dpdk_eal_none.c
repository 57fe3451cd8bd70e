/* SPDX-License-Identifier: Apache-2.0 */
#include "io/dpdk_eal.h"

#include <errno.h>
#include <stddef.h>

int dpdk_eal_start(struct err *err)
{
	return err_set(err, ERR_HOST, ENOSYS,
		       "this tare was built without DPDK; install libdpdk-dev and build again to have it");
}

const char *dpdk_eal_version(void)
{
	return "built without DPDK";
}

const char *dpdk_eal_memory(void)
{
	return NULL;
}
