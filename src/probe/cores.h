/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_CORES_H
#define TARE_PROBE_CORES_H

#include <stdint.h>

#include "base/err.h"

/*
 * Which CPU does what. The loops of a run are four: sender, target (where it has
 * a poll), and a receiver for each port.
 *   1 core:  all in one loop
 *   2 cores: sender and target | both receivers
 *   3 cores: sender | target | both receivers
 *   4 cores: sender | target | path | bypass
 */
enum { CORES_MOST = 4 };

struct cores {
	uint32_t count;
	int32_t cpu[CORES_MOST];            /* in the order above */
	int32_t send, target, path, bypass; /* the same by loop */
};

/*
 * Choose among the CPUs this process may use: isolated ones first, one of each physical core
 * before its siblings, the highest numbers first (interrupts go to the low ones).
 * `wanted` 0: as many as there are physical cores among them, up to 4. More than there are CPUs: ERR_HOST.
 */
int cores_choose(uint32_t wanted, struct cores *ret, struct err *err);

/* Pure part: `cpus` in the order above, 1 to CORES_MOST of them. */
void cores_assign(const int32_t *cpus, uint32_t count, struct cores *ret);

#endif
