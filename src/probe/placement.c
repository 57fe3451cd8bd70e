/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/placement.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool one_round(struct placement *p, uint64_t patience_ticks, uint32_t *ret_ticks)
{
	unsigned ask = atomic_load_explicit(&p->ball, memory_order_relaxed) + 1;
	uint64_t start = tsc_now();

	atomic_store_explicit(&p->ball, ask, memory_order_release);
	while (atomic_load_explicit(&p->ball, memory_order_acquire) != ask + 1) {
		if (tsc_now() - start > patience_ticks)
			return false;
	}
	*ret_ticks = (uint32_t)(tsc_now() - start);
	return true;
}

bool placement_ask(struct placement *p, uint64_t patience_ticks)
{
	uint32_t rounds[PLACEMENT_ROUNDS], first;

	/* An unanswered ball of an earlier block lies there still. */
	if (p->blocks == PLACEMENT_BLOCKS_MOST || atomic_load_explicit(&p->ball, memory_order_relaxed) & 1)
		return false;
	/* The first one waits until the other side looks; it says nothing of the distance. */
	if (!one_round(p, patience_ticks, &first))
		return false;
	for (int i = 0; i < PLACEMENT_ROUNDS; i++) {
		if (!one_round(p, patience_ticks, &rounds[i]))
			return false;
	}
	/* Insertion sort: no calls that could allocate. */
	for (int i = 1; i < PLACEMENT_ROUNDS; i++) {
		uint32_t x = rounds[i];
		int k = i;

		for (; k > 0 && rounds[k - 1] > x; k--)
			rounds[k] = rounds[k - 1];
		rounds[k] = x;
	}
	p->rounds_ticks[p->blocks++] = rounds[PLACEMENT_ROUNDS / 2];
	return true;
}

void placement_answer_all(struct placement *p)
{
	/* Long enough for the next ball to come from a far core, short enough to be no hole. */
	for (int idle = 0; idle < 400; idle++) {
		unsigned ball = atomic_load_explicit(&p->ball, memory_order_acquire);

		if (ball & 1) {
			atomic_store_explicit(&p->ball, ball + 1, memory_order_release);
			idle = 0;
		}
	}
}

double placement_summary(struct placement *p, const struct tsc *tsc, uint32_t *ret_near, uint32_t *ret_far)
{
	*ret_near = *ret_far = 0;
	if (p->blocks == 0)
		return 0;
	for (uint32_t i = 0; i < p->blocks; i++) {
		if (tsc_to_ns(tsc, p->rounds_ticks[i]) < PLACEMENT_FAR_NS)
			++*ret_near;
		else
			++*ret_far;
	}
	qsort(p->rounds_ticks, p->blocks, sizeof(p->rounds_ticks[0]), by_value);
	return tsc_to_ns(tsc, p->rounds_ticks[p->blocks / 2]);
}
