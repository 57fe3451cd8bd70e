/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/transit_places.h"

#include "lab/cpus.h"
#include "probe/cores.h"

enum { CPUS_WITH_CARRIER = 4 };

void transit_places_assign(const cpu_set_t *allowed, const int32_t best[2], struct transit_places *ret)
{
	*ret = (struct transit_places){ .send = -1, .carrier = -1, .target = *allowed };
	if (CPU_COUNT(allowed) < 2)
		return;
	ret->send = best[1];
	ret->carrier = CPU_COUNT(allowed) < CPUS_WITH_CARRIER ? ret->send : best[0];
	CPU_CLR(ret->send, &ret->target);
	CPU_CLR(ret->carrier, &ret->target);
}

int transit_places_choose(struct transit_places *ret, struct err *err)
{
	struct cores cores;
	cpu_set_t allowed;
	int rc = cpus_allowed(&allowed, err);

	if (rc < 0)
		return rc;
	rc = cores_choose(CPU_COUNT(&allowed) < 2 ? 1 : 2, &cores, err);
	if (rc < 0)
		return rc;
	transit_places_assign(&allowed, (const int32_t[2]){ cores.cpu[0], cores.count < 2 ? -1 : cores.cpu[1] }, ret);
	return 0;
}
