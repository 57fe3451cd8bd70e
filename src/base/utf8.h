/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_UTF8_H
#define TARE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * One character of UTF-8 (RFC 3629): its length in bytes and *ret_code, or 0
 * where the bytes are none: a stray or missing continuation, an overlong form, a
 * surrogate, or over U+10FFFF. length_bytes > 0.
 */
unsigned utf8_decode(const unsigned char *p, size_t length_bytes, uint32_t *ret_code);

/* Replace each byte that is part of no character by '?', in place: for text of foreign origin, or cut short. */
void utf8_repair(char *text);

#endif
