/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/rng.h"
#include "plan/plan_private.h"

/*
 * Randomised complete blocks. Block b takes stream b of the plan's seed and
 * shuffles, in this order, the tares that run first, the cells, and the tares
 * that run last. Stored orders rest on it: never change what is drawn.
 */
static struct turn *block_append(struct turn *turn, struct rng *rng, uint32_t *cells, uint32_t count, uint32_t block,
				 uint32_t restart)
{
	rng_shuffle(rng, cells, count);
	for (uint32_t i = 0; i < count; i++)
		*turn++ = (struct turn){ .cell = cells[i], .restart = restart, .block = block };
	return turn;
}

int turns_build(struct plan *plan)
{
	uint32_t *cells = arena_array(&plan->arena, plan->cell_count + 1, sizeof(*cells));
	uint32_t *tares = arena_array(&plan->arena, plan->cell_count + 1, sizeof(*tares));
	uint32_t cell_count = 0, tare_count = 0;
	struct turn *turn;

	if (!cells || !tares)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->cell_count; i++)
		tare_count += plan->cells[i].is_tare;
	plan->turn_count = plan->restarts * (plan->cell_count + tare_count);
	plan->turns = turn = arena_array(&plan->arena, plan->turn_count + 1u, sizeof(*turn));
	if (!turn)
		return -ENOMEM;
	for (uint32_t b = 0; b < plan->restarts; b++) {
		struct rng rng;

		rng_init_stream(&rng, plan->seed, b);
		cell_count = tare_count = 0;
		for (uint32_t i = 0; i < plan->cell_count; i++) {
			if (plan->cells[i].is_tare)
				tares[tare_count++] = i;
			else
				cells[cell_count++] = i;
		}
		turn = block_append(turn, &rng, tares, tare_count, b, 2 * b);
		turn = block_append(turn, &rng, cells, cell_count, b, b);
		turn = block_append(turn, &rng, tares, tare_count, b, 2 * b + 1);
	}
	TARE_ASSERT(turn == plan->turns + plan->turn_count);
	return 0;
}
