/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_EFFECTIVE_H
#define TARE_CAMPAIGN_EFFECTIVE_H

#include "base/err.h"
#include "plan/plan.h"
#include "store/store.h"

/*
 * Store what a plan means here and now as facts: every setting with the value
 * that holds, defaults too ("plan.runs", "plan.target.loss", "plan.probes.rate"),
 * since a later version may have other defaults. Values of axes are not in it:
 * the cells have them.
 */
int effective_settings_put(const struct plan *plan, struct store *store, struct err *err);

#endif
