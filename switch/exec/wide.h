/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_EXEC_WIDE_H
#define TARE_SWITCH_EXEC_WIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Two's complement numbers of n slots, least significant first. The result may be an operand. */
void wide_add(uint64_t *d, const uint64_t *a, const uint64_t *b, uint32_t n);
void wide_sub(uint64_t *d, const uint64_t *a, const uint64_t *b, uint32_t n);
void wide_mul(uint64_t *d, const uint64_t *a, const uint64_t *b, uint32_t n); /* modulo 2^(64 n) */
void wide_shl(uint64_t *d, const uint64_t *a, uint64_t by, uint32_t n);
void wide_shr(uint64_t *d, const uint64_t *a, uint64_t by, uint32_t n, bool arithmetic);
bool wide_equal(const uint64_t *a, const uint64_t *b, uint32_t n);
bool wide_less(const uint64_t *a, const uint64_t *b, uint32_t n, bool is_signed);
void wide_zext(uint64_t *d, uint32_t bits, uint32_t n); /* keep the low bits */
void wide_sext(uint64_t *d, uint32_t bits, uint32_t n);
void wide_saturate(uint64_t *d, const uint64_t *a, uint32_t bits, uint32_t n, bool is_signed); /* a is signed */

#endif
