/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IO_DPDK_EAL_H
#define TARE_IO_DPDK_EAL_H

#include "base/err.h"

/*
 * DPDK's environment, started once in a process, when something first needs it:
 * no PCI device but those that ports name, no shared files, no telemetry; huge pages where enough are free, else
 * plain memory. The caller keeps its affinity (EAL would pin it). What EAL logs
 * goes to the debug log. Call from the main thread, never from a measured loop.
 *
 * In a build without DPDK both exist, and start says how to get it.
 */
int dpdk_eal_start(struct err *err); /* 0 also when it runs already; a failure stays: EAL starts once */

const char *dpdk_eal_version(void); /* "DPDK 22.11.11"; "built without DPDK" */

/* "huge pages" or "no huge pages"; NULL: not started. */
const char *dpdk_eal_memory(void);

#endif
