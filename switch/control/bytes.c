/* SPDX-License-Identifier: Apache-2.0 */
#include "control/bytes.h"

#include <string.h>

static uint32_t words_of(uint32_t bits)
{
	return (bits + 63) / 64;
}

enum bytes_result bytes_to_words(const uint8_t *bytes, size_t length, uint32_t bits, uint64_t *ret_words)
{
	uint32_t words = words_of(bits);

	if (length == 0)
		return BYTES_EMPTY;
	while (length > 0 && *bytes == 0) {
		bytes++;
		length--;
	}
	if (length > (bits + 7) / 8 || (length == (bits + 7) / 8 && bits % 8 != 0 && bytes[0] >> bits % 8 != 0))
		return BYTES_TOO_WIDE;
	memset(ret_words, 0, words * sizeof(*ret_words));
	for (size_t i = 0; i < length; i++) {
		size_t place = length - 1 - i; /* of the byte, counted from the least significant */

		ret_words[place / 8] |= (uint64_t)bytes[i] << place % 8 * 8;
	}
	return BYTES_OK;
}

enum bytes_result bytes_to_signed_words(const uint8_t *bytes, size_t length, uint32_t bits, uint64_t *ret_words)
{
	uint32_t words = words_of(bits);
	uint8_t sign = length > 0 && bytes[0] & 0x80 ? 0xff : 0;
	uint64_t top;

	if (length == 0)
		return BYTES_EMPTY;
	while (length > 1 && bytes[0] == sign && (bytes[1] & 0x80) == (sign & 0x80)) {
		bytes++;
		length--;
	}
	if (length > (bits + 7) / 8)
		return BYTES_TOO_WIDE;
	memset(ret_words, sign, words * sizeof(*ret_words));
	for (size_t i = 0; i < length; i++) {
		size_t place = length - 1 - i;

		ret_words[place / 8] &= ~(UINT64_C(0xff) << place % 8 * 8);
		ret_words[place / 8] |= (uint64_t)bytes[i] << place % 8 * 8;
	}
	if (bits % 64 == 0)
		return BYTES_OK;
	/* what is above the sign bit must be all sign */
	top = (uint64_t)((int64_t)(ret_words[words - 1] << (64 - bits % 64)) >> (64 - bits % 64));
	return top == ret_words[words - 1] ? BYTES_OK : BYTES_TOO_WIDE;
}

static uint8_t byte_of(const uint64_t *words, size_t place)
{
	return (uint8_t)(words[place / 8] >> place % 8 * 8);
}

size_t bytes_from_words(const uint64_t *words, uint32_t bits, uint8_t *ret_bytes)
{
	size_t length = (bits + 7) / 8;

	while (length > 1 && byte_of(words, length - 1) == 0)
		length--;
	for (size_t i = 0; i < length; i++)
		ret_bytes[i] = byte_of(words, length - 1 - i);
	return length;
}

size_t bytes_from_signed_words(const uint64_t *words, uint32_t bits, uint8_t *ret_bytes)
{
	size_t length = (bits + 7) / 8;
	uint8_t sign = words[words_of(bits) - 1] >> 63 ? 0xff : 0;

	while (length > 1 && byte_of(words, length - 1) == sign && (byte_of(words, length - 2) & 0x80) == (sign & 0x80))
		length--;
	for (size_t i = 0; i < length; i++)
		ret_bytes[i] = byte_of(words, length - 1 - i);
	return length;
}

void words_extend(uint64_t *words, uint32_t bits, bool is_signed)
{
	uint64_t *top = &words[words_of(bits) - 1];
	unsigned off = 64 - bits % 64;

	if (bits % 64 == 0)
		return;
	*top = is_signed ? (uint64_t)((int64_t)(*top << off) >> off) : *top << off >> off;
}

void bits_put(uint8_t *frame, size_t offset_bits, const uint64_t *words, uint32_t bits)
{
	for (uint32_t i = 0; i < bits; i++) {
		uint32_t from = bits - 1 - i;
		size_t to = offset_bits + i;
		uint8_t mask = (uint8_t)(0x80 >> to % 8);

		if (words[from / 64] >> from % 64 & 1)
			frame[to / 8] |= mask;
		else
			frame[to / 8] &= (uint8_t)~mask;
	}
}

void bits_get(const uint8_t *frame, size_t offset_bits, uint32_t bits, uint64_t *ret_words)
{
	memset(ret_words, 0, words_of(bits) * sizeof(*ret_words));
	for (uint32_t i = 0; i < bits; i++) {
		size_t from = offset_bits + i;
		uint32_t to = bits - 1 - i;

		if (frame[from / 8] >> (7 - from % 8) & 1)
			ret_words[to / 64] |= UINT64_C(1) << to % 64;
	}
}
