/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_STOPPER_H
#define TARE_CAMPAIGN_STOPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "store/store.h"

/*
 * Decides when cells of a plan with a stop: section have restarts enough. Before a turn of block b each cell is
 * judged (stats/stopping.h) by its figures of the blocks before b, and by nothing else: so a campaign that was killed
 * comes to the same decisions from what is stored. A cell that stops is written down (table stopped), and stays so.
 * Without a stop: section it passes nothing and reads nothing.
 */
struct stopper;

int stopper_create(const struct plan *plan, struct store *store, struct stopper **ret, struct err *err);
void stopper_destroy(struct stopper *s); /* NULL is fine */

/* Before a turn of this block. Reads what is stored since the last look. */
int stopper_look(struct stopper *s, uint32_t block, struct err *err);

/* After the last turn: cells that still go on have had the most that they may have. */
int stopper_finish(struct stopper *s, struct err *err);

/* The turn is not to run: its cell has stopped. */
bool stopper_passes(const struct stopper *s, const struct turn *turn);

/* Will the turn run, as far as the widths tell? For the time that is left. */
bool stopper_expects(const struct stopper *s, const struct turn *turn);

/* Cells that have stopped, and cells in all, tares left out. 0 of 0 without a stop: section. */
void stopper_counts(const struct stopper *s, uint32_t *ret_stopped, uint32_t *ret_cells);

#endif
