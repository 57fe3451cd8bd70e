/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_QUANTITY_H
#define TARE_BASE_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Quantities as people write them: a decimal number and a unit, "60ms", "25Mbps",
 * "64B", "2.5kpps", "0.5%". Plans and the command line are read with this and
 * nothing else. Values are exact integers in the dimension's base unit; what the
 * base unit cannot hold exactly is refused, not rounded.
 */
enum quantity_dim {
	QUANTITY_COUNT,     /* no unit; base 1. Suffixes k and M allowed: "20k" */
	QUANTITY_TIME,      /* ns us ms s min h; base ns */
	QUANTITY_SIZE,      /* B kB MB GB (1000) KiB MiB GiB; base byte */
	QUANTITY_BITRATE,   /* bps kbps Mbps Gbps; base bit/s */
	QUANTITY_RATE,      /* pps kpps Mpps; base 1/1000 packet/s */
	QUANTITY_FREQUENCY, /* Hz kHz MHz GHz; base Hz */
	QUANTITY_SHARE,     /* % ppm; base ppm, 0 to 1,000,000 */
};

/*
 * Parse `text` whole (spaces between number and unit allowed). Zero may stand
 * without a unit. Negative, overflowing, unit missing or of another dimension:
 * -EINVAL or -ERANGE and a message that quotes the text and says what was expected.
 */
int quantity_parse(const char *text, enum quantity_dim dim, int64_t *ret_value, struct err *err);

/* The units of a dimension as text for messages and help: "ns, us, ms, s, min or h". */
const char *quantity_units(enum quantity_dim dim);

/*
 * Write a value so that quantity_parse reads the same value back, with the
 * largest unit that keeps it an integer ("60ms", "1500B"). Returns buf.
 */
const char *quantity_format(int64_t value, enum quantity_dim dim, char *buf, size_t size_bytes);

#endif
