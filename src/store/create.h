/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_CREATE_H
#define TARE_STORE_CREATE_H

#include "store/store_private.h"

/* A new tare.db: made whole under another name (tare.db.new), then renamed. Nothing is left on failure. */
int store_create_file(struct store *store, const struct plan *plan, struct err *err);

/* 0: the store that is open holds this plan, with the same cells and order. Else -EEXIST and what to do. */
int store_match_plan(struct store *store, const struct plan *plan, struct err *err);

/* Give a store of an older schema the parts that it lacks, all or nothing. */
int store_upgrade(struct store *store, struct err *err);

#endif
