/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <math.h>

#include "base/err.h"

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->s[i] = splitmix64(&seed);
}

void rng_init_stream(struct rng *r, uint64_t seed, uint64_t stream)
{
	uint64_t mixed = stream;

	rng_init(r, seed ^ splitmix64(&mixed));
}

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

uint64_t rng_u64(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
	TARE_ASSERT(bound > 0);
	__extension__ typedef unsigned __int128 u128;
	u128 product = (u128)rng_u64(r) * bound;
	uint64_t low = (uint64_t)product;

	if (low < bound) {
		uint64_t threshold = -bound % bound;

		while (low < threshold) {
			product = (u128)rng_u64(r) * bound;
			low = (uint64_t)product;
		}
	}
	return (uint64_t)(product >> 64);
}

double rng_unit(struct rng *r)
{
	return (double)(rng_u64(r) >> 11) * 0x1.0p-53;
}

double rng_normal(struct rng *r)
{
	double u, v, s;

	do {
		u = 2 * rng_unit(r) - 1;
		v = 2 * rng_unit(r) - 1;
		s = u * u + v * v;
	} while (s >= 1 || s == 0);
	return u * sqrt(-2 * log(s) / s);
}

void rng_shuffle(struct rng *r, uint32_t *items, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)rng_below(r, i);
		uint32_t swap = items[i - 1];

		items[i - 1] = items[j];
		items[j] = swap;
	}
}
