/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/hash.h"

#include <string.h>

uint16_t checksum16(const uint8_t *bytes, size_t length)
{
	uint64_t sum = 0;
	size_t i = 0;

	for (; i + 2 <= length; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	if (i < length)
		sum += (uint32_t)bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* CRC-16/ARC: polynomial 0x8005 reflected, from zero. */
static uint16_t crc16(const uint8_t *bytes, size_t length)
{
	uint16_t crc = 0;

	for (size_t i = 0; i < length; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (uint16_t)(crc >> 1 ^ (crc & 1 ? 0xa001 : 0));
	}
	return crc;
}

/* CRC-32 as in Ethernet: polynomial 0x04c11db7 reflected, from and into ones. */
static uint32_t crc32(const uint8_t *bytes, size_t length)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < length; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static uint16_t xor16(const uint8_t *bytes, size_t length)
{
	uint16_t sum = 0;

	for (size_t i = 0; i < length; i++)
		sum ^= (uint16_t)(i % 2 ? bytes[i] : bytes[i] << 8);
	return sum;
}

static uint64_t identity(const uint8_t *bytes, size_t length)
{
	uint64_t value = 0;

	for (size_t i = 0; i < length && i < sizeof(value); i++)
		value = value << 8 | bytes[i];
	return value;
}

uint64_t hash_bytes(enum hash_algorithm algorithm, const uint8_t *bytes, size_t length)
{
	switch (algorithm) {
	case HASH_CRC32:
	case HASH_CRC32_CUSTOM: /* as long as nobody configures another polynomial */
		return crc32(bytes, length);
	case HASH_CRC16:
	case HASH_CRC16_CUSTOM:
		return crc16(bytes, length);
	case HASH_CSUM16:
		return checksum16(bytes, length);
	case HASH_XOR16:
		return xor16(bytes, length);
	case HASH_IDENTITY:
		return identity(bytes, length);
	}
	return 0;
}
