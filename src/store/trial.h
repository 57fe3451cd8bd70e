/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_TRIAL_H
#define TARE_STORE_TRIAL_H

#include "probe/trial.h"
#include "store/store.h"

/* Searches for a rate and their trials: a row of `search` a run, a row of `trial` each. */

/* Of the run put last in the restart that is open. */
int store_put_search(struct store *store, const struct search_record *search, const struct trial *trials,
		     uint32_t count, struct err *err);

/*
 * The search of a run, and its trials in order, which the arena then holds. *ret_found false: the run has none (it
 * is of another measure, or did not come to its end).
 */
int store_read_search(struct store *store, const struct stored_run *run, struct arena *arena,
		      struct search_record *ret_search, struct trial **ret_trials, uint32_t *ret_count, bool *ret_found,
		      struct err *err);

#endif
