/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_EXEC_HASH_H
#define TARE_SWITCH_EXEC_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "program/program.h"

/* The hash algorithms that v1model names, over bytes. */
uint64_t hash_bytes(enum hash_algorithm algorithm, const uint8_t *bytes, size_t length);

/* The ones' complement checksum of 16-bit words, an odd last byte padded with zero. */
uint16_t checksum16(const uint8_t *bytes, size_t length);

#endif
