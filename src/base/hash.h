/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_HASH_H
#define TARE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits: which text it was, for provenance. Not for keeping anybody from making another with the same. */
static inline uint64_t hash_fnv1a64(const char *text, size_t length_bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length_bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
