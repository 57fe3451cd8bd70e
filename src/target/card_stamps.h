/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_CARD_STAMPS_H
#define TARE_TARGET_CARD_STAMPS_H

#include "base/err.h"
#include "io/io.h"

/*
 * A receiving port whose frames the kernel's clock stamps (CLOCK_MONOTONIC_RAW), burst by burst, after the receiver has
 * read the TSC: so the first clock is not disturbed by the second. Where the kernel's clock counts the TSC too, it is
 * still a reading of its own, by a rate and arithmetic that are not ours; the counter itself it cannot check.
 */
#define CARD_STAMPS_CLOCK "kernel, CLOCK_MONOTONIC_RAW"

/* Takes over `inner`, which is closed with it; after a failure it is the caller's still. */
int card_stamps_open(struct io_port *inner, struct io_port **ret_port, struct err *err);

#endif
