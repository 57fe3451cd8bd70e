/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_RNG_H
#define TARE_BASE_RNG_H

#include <stdint.h>

/*
 * The one random generator of the project: xoshiro256** 1.0 (Blackman and Vigna,
 * 2018), its 256-bit state filled by SplitMix64 from a 64-bit seed. The same seed
 * gives the same sequence on every machine; stored orders and bootstrap
 * intervals rest on that, so neither may ever change.
 */
struct rng {
	uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed);

/* An independent stream of the same seed: `stream` is mixed into the seed by SplitMix64. */
void rng_init_stream(struct rng *r, uint64_t seed, uint64_t stream);

uint64_t rng_u64(struct rng *r);

/* Uniform in [0, bound), without modulo bias (Lemire's multiply and reject). bound > 0. */
uint64_t rng_below(struct rng *r, uint64_t bound);

/* Uniform in [0, 1), 53 bits. */
double rng_unit(struct rng *r);

/* Standard normal (Marsaglia's polar method, one of each pair used). */
double rng_normal(struct rng *r);

/* In-place Fisher-Yates shuffle of `count` indices. */
void rng_shuffle(struct rng *r, uint32_t *items, uint32_t count);

#endif
