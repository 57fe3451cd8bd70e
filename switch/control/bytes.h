/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_CONTROL_BYTES_H
#define TARE_SWITCH_CONTROL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * P4Runtime's byte strings: big-endian numbers, sent in the shortest form, taken
 * in any length as long as the value fits.
 */
enum bytes_result { BYTES_OK, BYTES_EMPTY, BYTES_TOO_WIDE };

/* Into (bits + 63) / 64 words, least significant first. */
enum bytes_result bytes_to_words(const uint8_t *bytes, size_t length, uint32_t bits, uint64_t *ret_words);

/* Two's complement, sign-extended to the words. */
enum bytes_result bytes_to_signed_words(const uint8_t *bytes, size_t length, uint32_t bits, uint64_t *ret_words);

/* The shortest form, at least one byte, at most bits / 8 rounded up; the length. */
size_t bytes_from_words(const uint64_t *words, uint32_t bits, uint8_t *ret_bytes);
size_t bytes_from_signed_words(const uint64_t *words, uint32_t bits, uint8_t *ret_bytes);

/* What is above the width: sign (of the top bit there is), or nothing. */
void words_extend(uint64_t *words, uint32_t bits, bool is_signed);

/* Bits into and out of a frame, most significant first, at a bit offset. */
void bits_put(uint8_t *frame, size_t offset_bits, const uint64_t *words, uint32_t bits);
void bits_get(const uint8_t *frame, size_t offset_bits, uint32_t bits, uint64_t *ret_words);

#endif
