/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/wide.h"

#include <string.h>

#include "exec/bits.h"

__extension__ typedef unsigned __int128 u128;

void wide_add(uint64_t *d, const uint64_t *a, const uint64_t *b, uint32_t n)
{
	u128 carry = 0;

	for (uint32_t i = 0; i < n; i++) {
		carry += (u128)a[i] + b[i];
		d[i] = (uint64_t)carry;
		carry >>= 64;
	}
}

void wide_sub(uint64_t *d, const uint64_t *a, const uint64_t *b, uint32_t n)
{
	uint64_t borrow = 0;

	for (uint32_t i = 0; i < n; i++) {
		u128 take = (u128)b[i] + borrow;

		borrow = a[i] < take;
		d[i] = a[i] - (uint64_t)take;
	}
}

void wide_mul(uint64_t *d, const uint64_t *a, const uint64_t *b, uint32_t n)
{
	uint64_t product[64] = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		u128 carry = 0;

		for (uint32_t k = 0; i + k < n; k++) {
			carry += (u128)a[i] * b[k] + product[i + k];
			product[i + k] = (uint64_t)carry;
			carry >>= 64;
		}
	}
	memcpy(d, product, n * sizeof(*d));
}

void wide_shl(uint64_t *d, const uint64_t *a, uint64_t by, uint32_t n)
{
	uint64_t skip = by / 64;
	uint32_t shift = by % 64;

	for (uint32_t i = n; i > 0; i--) {
		uint64_t at = i - 1, value = 0;

		if (skip <= at) {
			value = a[at - skip] << shift;
			if (shift && at > skip)
				value |= a[at - skip - 1] >> (64 - shift);
		}
		d[at] = value;
	}
}

void wide_shr(uint64_t *d, const uint64_t *a, uint64_t by, uint32_t n, bool arithmetic)
{
	uint64_t skip = by / 64, fill = arithmetic && a[n - 1] >> 63 ? UINT64_MAX : 0;
	uint32_t shift = by % 64;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t low = skip < n - i ? a[i + skip] : fill;
		uint64_t high = skip + 1 < n - i ? a[i + skip + 1] : fill;

		d[i] = shift ? low >> shift | high << (64 - shift) : low;
	}
}

bool wide_equal(const uint64_t *a, const uint64_t *b, uint32_t n)
{
	return memcmp(a, b, n * sizeof(*a)) == 0;
}

bool wide_less(const uint64_t *a, const uint64_t *b, uint32_t n, bool is_signed)
{
	if (is_signed && a[n - 1] != b[n - 1])
		return (int64_t)a[n - 1] < (int64_t)b[n - 1];
	for (uint32_t i = n; i > 0; i--)
		if (a[i - 1] != b[i - 1])
			return a[i - 1] < b[i - 1];
	return false;
}

void wide_zext(uint64_t *d, uint32_t bits, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		d[i] &= bits <= i * 64 ? 0 : mask_bits(bits - i * 64);
}

void wide_sext(uint64_t *d, uint32_t bits, uint32_t n)
{
	uint32_t top = bits - 1;
	bool negative = d[top / 64] >> top % 64 & 1;

	wide_zext(d, bits, n);
	for (uint32_t i = 0; negative && i < n; i++)
		d[i] |= bits <= i * 64 ? UINT64_MAX : ~mask_bits(bits - i * 64);
}

void wide_saturate(uint64_t *d, const uint64_t *a, uint32_t bits, uint32_t n, bool is_signed)
{
	uint64_t low[64] = { 0 }, high[64];
	uint32_t magnitude = is_signed ? bits - 1 : bits;

	memset(high, 0xff, sizeof(high));
	wide_zext(high, magnitude, n);
	if (is_signed)
		for (uint32_t i = 0; i < n; i++)
			low[i] = ~high[i];
	if (wide_less(a, low, n, true))
		memcpy(d, low, n * sizeof(*d));
	else if (wide_less(high, a, n, true))
		memcpy(d, high, n * sizeof(*d));
	else
		memmove(d, a, n * sizeof(*d));
}
