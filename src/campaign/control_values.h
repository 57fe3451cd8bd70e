/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_CONTROL_VALUES_H
#define TARE_CAMPAIGN_CONTROL_VALUES_H

#include "probe/control.h"
#include "store/store.h"

/* The figures of a run of a control plan, as docs/method.md defines them. Pure. Names and units are constants. */
enum { CONTROL_VALUES_MOST = 24 };

/* How many; -ENOMEM. */
int control_values(const struct control_account *account, const struct operation *rows, uint32_t count,
		   struct run_value ret[CONTROL_VALUES_MOST]);

#endif
