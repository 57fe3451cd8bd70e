/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_RESTART_H
#define TARE_CAMPAIGN_RESTART_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "target/target.h"

/* What all measures do with the target of a restart. */

/* In steps, so that an interrupt need not wait for it: -EINTR. */
int restart_wait(const atomic_bool *interrupted, int64_t ns, struct err *err);

/*
 * `r` with *err is how a piece of work ended. A target that died, or an interface that vanished, explains
 * whatever else went wrong, and so does one that does not answer while nothing comes through (-ETIMEDOUT): that
 * is the error then.
 */
int restart_outcome(struct target *target, int r, struct err *err);

/* measure_ops.facts; NULL: there is no target. */
const char *restart_facts(const struct target *target);

struct measuring;

/* measure_ops.end, where close has left nothing but the memory of the measuring itself. */
void restart_end(struct measuring *m);

#endif
