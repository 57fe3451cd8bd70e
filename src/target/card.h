/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_CARD_H
#define TARE_TARGET_CARD_H

#include <stdint.h>

#include "target/target.h"

/*
 * An emulated SmartNIC of known truth. Every frame that comes in goes out twice:
 * the bypass copy after the shell's bypass delay, the path copy after the shell's
 * path delay and what the program takes. Each emission is stamped by the card
 * itself, apart from the measuring side: not the nominal delay but what really
 * happened is the truth.
 *
 * Programs: null, forward (149 ns), fivetuple (107 or 137 ns by the 5-tuple),
 * removeheader (177 ns), checksum (364 ns), or written out: "149ns", or
 * "107ns/137ns" (up to 8 modes, by a hash of the frame's number in the run, the same in every run).
 * Delays only: no program changes a byte.
 *
 * Injected faults (settings loss, duplicates, reorder, unreadable) are drawn per copy from the
 * restart's seed and the run's number, before the run; what was done is kept per frame.
 */
extern const struct target_ops target_card;

enum card_fault {
	CARD_LOST = 1 << 0,       /* not emitted */
	CARD_DUPLICATED = 1 << 1, /* emitted twice */
	CARD_REORDERED = 1 << 2,  /* emitted behind the copy of a later frame */
	CARD_UNREADABLE = 1 << 3, /* its probe id was damaged */
};

/* What was really done to the frames of a run, for tests: copies by fault. */
struct card_account {
	uint64_t frames; /* that came in */
	uint64_t emitted_path, emitted_bypass;
	uint64_t lost_path, lost_bypass;
	uint64_t duplicated_path, duplicated_bypass;
	uint64_t reordered_path;
	uint64_t unreadable_path, unreadable_bypass;
	uint64_t refused; /* copies dropped for a full ring: not injected, the receiver was too slow */
};

/* After a run only. */
void card_injected(const struct target *card, struct card_account *ret);

/* Faults done to the copies of the nth frame of the run: enum card_fault, path in the low byte, bypass in the high. */
uint16_t card_faults(const struct target *card, uint32_t nth);

/* When each copy of the nth frame was emitted (raw TSC); 0: it was not. */
uint64_t card_emitted_path(const struct target *card, uint32_t nth);
uint64_t card_emitted_bypass(const struct target *card, uint32_t nth);

#endif
