/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_VALUE_H
#define TARE_P4RT_VALUE_H

#include "base/arena.h"
#include "base/err.h"
#include "p4rt/entry.h"

/*
 * A number as people write it (decimal, 0x, dotted IPv4, IPv6, MAC with colons) as
 * a canonical byte string of at most `bits` in the arena. Width 0 is a translated
 * type: the text itself is the value.
 */
int p4rt_value_parse(const char *text, uint32_t bits, struct arena *arena, struct p4rt_bytes *ret, struct err *err);

/* The value of a key, by its kind: "*", value/length, value&&&mask, low..high. `text` is cut up. */
int p4rt_match_parse(char *text, const struct p4info_field *key, struct arena *arena, struct p4rt_match *ret,
		     struct err *err);

/* A whole decimal number of least to most, nothing behind it. */
int p4rt_number_parse(const char *text, const char *what, int64_t least, int64_t most, int64_t *ret, struct err *err);

#endif
