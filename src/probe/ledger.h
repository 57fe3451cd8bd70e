/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_LEDGER_H
#define TARE_PROBE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

/* What became of a probe. Every probe sent has exactly one fate. */
enum fate {
	FATE_MATCHED = 0,   /* every copy arrived, in time, with a stamp */
	FATE_LOST = 1,      /* a copy never arrived */
	FATE_LATE = 2,      /* a copy arrived after the run's deadline for it */
	FATE_UNPARSED = 3,  /* arrived, but no id could be read */
	FATE_SHADOWED = 4,  /* its id was taken by another probe */
	FATE_UNSTAMPED = 5, /* arrived without a usable time: zero or missing */
	FATES = 6
};

/*
 * The account of a run. It balances when
 *   sent = matched + lost + late + unparsed + shadowed + unstamped
 * and, at every receiving port, what the port delivered equals what was
 * classified there. The second equation is counted apart from the first, so that
 * a matcher that forgets a frame is found out; `arrived` comes from the port,
 * `classified` from the matcher.
 */
struct ledger {
	uint64_t sent;
	uint64_t fate[FATES];
	uint64_t duplicates; /* further copies of a probe already seen at that port */
	uint64_t reordered;  /* arrived after a later-sent probe, at that port */
	uint64_t foreign;    /* frames that are not probes of this run */
	uint64_t set_apart;  /* matched, but a poll gap over the limit makes a stamp unsure: in no figure */
	uint64_t arrived;
	uint64_t classified;
};

bool ledger_balances(const struct ledger *l);
void ledger_add(struct ledger *sum, const struct ledger *l);

/* The words of the report: "matched", "lost", ... */
const char *fate_name(enum fate fate);

#endif
