/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_EXEC_BITS_H
#define TARE_SWITCH_EXEC_BITS_H

#include <stdint.h>
#include <string.h>

/* Bit strings as they stand in a packet (most significant bit first) to and from slots. */

static inline uint64_t mask_bits(uint32_t bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static inline uint64_t sign_extend(uint64_t value, uint32_t bits)
{
	uint32_t shift = 64 - bits;

	return bits == 0 || bits >= 64 ? value : (uint64_t)((int64_t)(value << shift) >> shift);
}

static inline uint64_t load_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline void store_be64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

/* 1 to 64 bits at a bit offset, `end` bytes being there. */
static inline uint64_t bits_load(const uint8_t *bytes, uint32_t end, uint32_t offset, uint32_t bits)
{
	uint32_t first = offset / 8, shift = offset % 8;
	uint64_t value = 0;

	if (first + 9 <= end) {
		value = load_be64(bytes + first) << shift;
		if (shift + bits > 64)
			value |= bytes[first + 8] >> (8 - shift);
		return value >> (64 - bits);
	}
	for (uint32_t i = first; i <= (offset + bits - 1) / 8; i++) {
		uint32_t have = i == first ? 8 - shift : 8;
		uint32_t left = offset + bits - (i * 8 + (8 - have));
		uint32_t byte = bytes[i] & (0xffu >> (8 - have));

		if (left >= have)
			value = value << have | byte;
		else
			value = value << left | byte >> (have - left);
	}
	return value;
}

/* 1 to 64 low bits of value to a bit offset; the bits around stay. */
static inline void bits_store(uint8_t *bytes, uint32_t offset, uint32_t bits, uint64_t value)
{
	if (offset % 8 == 0 && bits % 8 == 0) {
		for (uint32_t i = bits / 8; i > 0; i--, value >>= 8)
			bytes[offset / 8 + i - 1] = (uint8_t)value;
		return;
	}
	while (bits) {
		uint32_t last = offset + bits - 1; /* its bit in byte last / 8, 7 - last % 8 from the right */
		uint32_t room = last % 8 + 1;      /* bits of that byte up to and with it */
		uint32_t take = room < bits ? room : bits;
		uint32_t shift = 7 - last % 8;
		uint8_t keep = (uint8_t) ~(((1u << take) - 1) << shift);

		bytes[last / 8] = (uint8_t)((bytes[last / 8] & keep) | (value & ((1u << take) - 1)) << shift);
		value >>= take;
		bits -= take;
	}
}

/* The same for values of several slots, least significant first. */
static inline void wide_load(const uint8_t *bytes, uint32_t end, uint32_t offset, uint32_t bits, uint64_t *slots)
{
	uint32_t slot = 0;

	for (; bits > 64; bits -= 64)
		slots[slot++] = bits_load(bytes, end, offset + bits - 64, 64);
	slots[slot] = bits ? bits_load(bytes, end, offset, bits) : 0;
}

static inline void wide_store(uint8_t *bytes, uint32_t offset, uint32_t bits, const uint64_t *slots)
{
	for (; bits > 64; bits -= 64)
		bits_store(bytes, offset + bits - 64, 64, *slots++);
	if (bits)
		bits_store(bytes, offset, bits, *slots);
}

#endif
