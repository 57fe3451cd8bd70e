/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_MERGE_H
#define TARE_STORE_MERGE_H

#include <stdint.h>

#include "base/err.h"

/*
 * Join stores of one campaign, each with a part of its restarts, into a new one at DIR. Every source must hold the same
 * plan in the same order and be of today's schema; a turn may be done in one of them only, and no store may come twice,
 * neither itself nor inside one that was merged before: each of these is an ERR_USAGE that names the stores. Restarts are
 * numbered in the order in which they began, whatever the host; where each comes from, and what its host was, is kept
 * (tables origin, origin_fact, restart_origin). DIR must hold no store. It appears whole or not at all, and the sources
 * are only read.
 */
struct store_merged {
	uint32_t stores, hosts, restarts; /* restarts: good and failed */
	uint32_t turns, turns_done;
};

int store_merge(const char *dir, const char *const *sources, uint32_t count, struct store_merged *ret, struct err *err);

#endif
