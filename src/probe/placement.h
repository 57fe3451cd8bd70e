/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_PLACEMENT_H
#define TARE_PROBE_PLACEMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock/tsc.h"

/*
 * How far apart two cores are: a cache line is passed to and fro. A host may move
 * virtual CPUs between near and far places within seconds, and a run is only as
 * good as its places, so a run is asked again in every block of time. The ball
 * is odd when the asked side must answer.
 */
enum { PLACEMENT_BLOCKS_MOST = 1024, PLACEMENT_ROUNDS = 32 };

/* There and back, in ns; at and over it two cores count as far (near is 140 to 200, far about 600). */
#define PLACEMENT_FAR_NS 350

struct placement {
	_Alignas(128) atomic_uint ball;
	/* By the asking side: */
	_Alignas(128) uint32_t blocks;
	uint32_t rounds_ticks[PLACEMENT_BLOCKS_MOST]; /* median round of each block */
};

/* The asking side. Takes under 30 us, or gives up (false) when there is no answer for `patience_ticks`. */
bool placement_ask(struct placement *p, uint64_t patience_ticks);

/* The other side: answers until nothing is asked any more. Returns at once when nothing is. */
void placement_answer_all(struct placement *p);

static inline void placement_answer(struct placement *p)
{
	if (__builtin_expect(atomic_load_explicit(&p->ball, memory_order_relaxed) & 1, 0))
		placement_answer_all(p);
}

/* Median over blocks in ns, 0 without any; and how many were near and far. */
double placement_summary(struct placement *p, const struct tsc *tsc, uint32_t *ret_near, uint32_t *ret_far);

#endif
