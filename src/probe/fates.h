/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_FATES_H
#define TARE_PROBE_FATES_H

#include <stdint.h>

#include "probe/ledger.h"
#include "probe/receiver.h"

/*
 * After a run: one fate for every probe sent, from what arrived at each port.
 *
 * Frames that carry no readable id, or one that several probes share, are
 * attributed for the account only: among the probes that are missing at that
 * port (and have that id) to the one that would have been under way for a time
 * nearest to the port's median m, if it differs from m by no more than
 * m + 4 (p99 - m) and the frame's poll gap. Their stamps are used in no figure. What is
 * left over came from nobody: foreign, or with a shared id a duplicate.
 *
 * When the two copies of a probe differ, the first of this order holds:
 * lost, late, unparsed, shadowed, unstamped.
 */
struct fates_input {
	const struct stream *stream;
	uint32_t sent;            /* probes 0 to sent - 1 */
	const uint64_t *tx_ticks; /* raw TSC, ascending */
	uint64_t deadline_ticks;
	struct receiver *receivers[2];
};

/* Writes `sent` fates, and the ledger but for `arrived` and `set_apart`. 0 or -ENOMEM. */
int fates_assign(const struct fates_input *in, uint8_t *ret_fates, struct ledger *ret, struct err *err);

#endif
