/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>

#include "tables/state_private.h"

/* Registers, counters and meters: arrays by index, and the arithmetic of meters. */

/* --- counters --- */

static inline void add(_Atomic uint64_t *to, uint64_t n, bool shared)
{
	if (shared)
		atomic_fetch_add_explicit(to, n, memory_order_relaxed);
	else /* one thread counts: no locked instruction */
		atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n, memory_order_relaxed);
}

void counter_add(struct counter *counter, bool shared, uint32_t length_bytes)
{
	add(&counter->packets, 1, shared);
	add(&counter->bytes, length_bytes, shared);
}

void counter_read(const struct counter *counter, struct counts *ret)
{
	ret->packets = atomic_load_explicit(&counter->packets, memory_order_relaxed) - counter->base.packets;
	ret->bytes = atomic_load_explicit(&counter->bytes, memory_order_relaxed) - counter->base.bytes;
}

/* The data plane's sum is never written by another thread, so no packet is lost: what is set is a new origin. */
void counter_write(struct counter *counter, const struct counts *counts)
{
	counter->base.packets = atomic_load_explicit(&counter->packets, memory_order_relaxed) - counts->packets;
	counter->base.bytes = atomic_load_explicit(&counter->bytes, memory_order_relaxed) - counts->bytes;
}

bool counter_count(struct state *state, uint32_t array, uint64_t index, uint32_t length_bytes)
{
	if (index >= state->program->counters[array].size)
		return false;
	counter_add(&state->counters[array][index], state->shared, length_bytes);
	return true;
}

bool counter_get(const struct state *state, uint32_t array, uint64_t index, struct counts *ret)
{
	if (state->counters[array] == NULL || index >= state->program->counters[array].size)
		return false;
	counter_read(&state->counters[array][index], ret);
	return true;
}

bool counter_set(struct state *state, uint32_t array, uint64_t index, const struct counts *counts)
{
	if (state->counters[array] == NULL || index >= state->program->counters[array].size)
		return false;
	counter_write(&state->counters[array][index], counts);
	return true;
}

/* --- meters --- */

/*
 * What a rate has made from time 0 on, rounded down, so that intervals add up without loss. The bucket's content is
 * min(made(now) + level, burst) in arithmetic modulo 2^64, level being made at the last packet taken off what was left
 * then: a packet that takes nothing changes nothing.
 */
static uint64_t tokens_made(uint64_t per_s, uint64_t now_us)
{
	uint64_t s = now_us / 1000000, us = now_us % 1000000, part;

	if (!__builtin_mul_overflow(us, per_s, &part))
		return s * per_s + part / 1000000;
	return s * per_s + (uint64_t)((hash_u128)us * per_s / 1000000);
}

static bool rate_take(struct rate *rate, uint64_t amount, uint64_t now_us)
{
	uint64_t made = tokens_made(rate->per_s, now_us);
	uint64_t level = atomic_load_explicit(&rate->level, memory_order_relaxed), left;

	do {
		uint64_t tokens = made + level;

		if (tokens > rate->burst)
			tokens = rate->burst;
		if (tokens < amount)
			return false;
		left = tokens - amount - made;
	} while (!atomic_compare_exchange_weak_explicit(&rate->level, &level, left, memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

/* RFC 2698, section 3, colour-blind mode: the peak bucket first, and what is red takes nothing from the other. */
enum colour meter_run(struct meter *meter, uint64_t amount, uint64_t now_us)
{
	if (!rate_take(&meter->peak, amount, now_us))
		return COLOUR_RED;
	return rate_take(&meter->committed, amount, now_us) ? COLOUR_GREEN : COLOUR_YELLOW;
}

int meter_create(const struct meter_rates *rates, struct meter **ret_meter, struct err *err)
{
	struct meter *meter;

	if (rates->peak_per_s < rates->committed_per_s)
		return err_set(err, ERR_USAGE, EINVAL, "meter: a peak rate of %llu below the committed rate of %llu",
			       (unsigned long long)rates->peak_per_s, (unsigned long long)rates->committed_per_s);
	meter = calloc(1, sizeof(*meter));
	if (meter == NULL)
		return err_set(err, ERR_HOST, ENOMEM, "meter: out of memory");
	meter->committed = (struct rate){ rates->committed_per_s, rates->committed_burst, rates->committed_burst };
	meter->peak = (struct rate){ rates->peak_per_s, rates->peak_burst, rates->peak_burst };
	*ret_meter = meter;
	return 0;
}

void meter_rates_of(const struct meter *meter, struct meter_rates *ret)
{
	*ret = (struct meter_rates){ meter->committed.per_s, meter->committed.burst, meter->peak.per_s,
				     meter->peak.burst };
}

bool meter_execute(struct state *state, uint32_t array, uint64_t index, uint32_t length_bytes, uint64_t now_us,
		   enum colour *ret_colour)
{
	const struct p4_meter *p4 = &state->program->meters[array];
	struct meter *meter;

	if (index >= p4->size)
		return false;
	meter = atomic_load_explicit(&state->meters[array][index], memory_order_acquire);
	*ret_colour = meter == NULL ? COLOUR_GREEN : meter_run(meter, p4->counts_bytes ? length_bytes : 1, now_us);
	return true;
}

static struct meter *meter_at(const struct state *state, uint32_t array, uint64_t index)
{
	if (state->meters[array] == NULL || index >= state->program->meters[array].size)
		return NULL;
	return atomic_load_explicit(&state->meters[array][index], memory_order_relaxed);
}

bool meter_get(const struct state *state, uint32_t array, uint64_t index, struct meter_rates *ret)
{
	const struct meter *meter = meter_at(state, array, index);

	if (meter == NULL)
		return false;
	meter_rates_of(meter, ret);
	return true;
}

int meter_set(struct state *state, uint32_t array, uint64_t index, const struct meter_rates *rates, struct err *err)
{
	const struct p4_meter *p4 = &state->program->meters[array];
	struct meter *meter = NULL, *old = meter_at(state, array, index);
	int rc;

	if (state->meters[array] == NULL || index >= p4->size)
		return err_set(err, ERR_USAGE, EINVAL, "meter %s has %u cells, no cell %llu", p4->name, p4->size,
			       (unsigned long long)index);
	rc = rates == NULL ? 0 : meter_create(rates, &meter, err);
	if (rc < 0)
		return rc;
	atomic_store_explicit(&state->meters[array][index], meter, memory_order_release);
	quiesce_retire(state->quiesce, old, sizeof(*old), free);
	return 0;
}

/* --- registers --- */

bool register_read(const struct state *state, uint32_t array, uint64_t index, uint64_t *ret_slots)
{
	const struct p4_register *p4 = &state->program->registers[array];
	const _Atomic uint64_t *from = state->registers[array] + index * p4->slots;

	if (index >= p4->size)
		return false;
	for (uint32_t i = 0; i < p4->slots; i++)
		ret_slots[i] = atomic_load_explicit(&from[i], memory_order_relaxed);
	return true;
}

bool register_write(struct state *state, uint32_t array, uint64_t index, const uint64_t *slots)
{
	const struct p4_register *p4 = &state->program->registers[array];
	_Atomic uint64_t *to = state->registers[array] + index * p4->slots;

	if (index >= p4->size)
		return false;
	for (uint32_t i = 0; i < p4->slots; i++)
		atomic_store_explicit(&to[i], slots[i], memory_order_relaxed);
	return true;
}

/* --- beginning and end --- */

static int no_room(const char *what, const char *name, uint32_t size, struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "%s %s: no memory for %u cells", what, name, size);
}

int arrays_init(struct state *state, struct err *err)
{
	const struct program *p = state->program;

	state->registers = calloc(p->register_count + 1, sizeof(*state->registers));
	state->counters = calloc(p->counter_count + 1, sizeof(*state->counters));
	state->meters = calloc(p->meter_count + 1, sizeof(*state->meters));
	if (state->registers == NULL || state->counters == NULL || state->meters == NULL)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < p->register_count; i++) {
		const struct p4_register *r = &p->registers[i];

		state->registers[i] = calloc((size_t)r->size * r->slots + 1, sizeof(uint64_t));
		if (state->registers[i] == NULL)
			return no_room("register", r->name, r->size, err);
	}
	for (uint32_t i = 0; i < p->counter_count; i++) {
		if (p->counters[i].table != NOWHERE)
			continue;
		state->counters[i] = calloc((size_t)p->counters[i].size + 1, sizeof(struct counter));
		if (state->counters[i] == NULL)
			return no_room("counter", p->counters[i].name, p->counters[i].size, err);
	}
	for (uint32_t i = 0; i < p->meter_count; i++) {
		if (p->meters[i].table != NOWHERE)
			continue;
		state->meters[i] = calloc((size_t)p->meters[i].size + 1, sizeof(state->meters[0][0]));
		if (state->meters[i] == NULL)
			return no_room("meter", p->meters[i].name, p->meters[i].size, err);
	}
	return 0;
}

void arrays_release(struct state *state)
{
	const struct program *p = state->program;

	for (uint32_t i = 0; state->registers != NULL && i < p->register_count; i++)
		free(state->registers[i]);
	for (uint32_t i = 0; state->counters != NULL && i < p->counter_count; i++)
		free(state->counters[i]);
	for (uint32_t i = 0; state->meters != NULL && i < p->meter_count; i++) {
		for (uint32_t j = 0; state->meters[i] != NULL && j < p->meters[i].size; j++)
			free(atomic_load_explicit(&state->meters[i][j], memory_order_relaxed));
		free(state->meters[i]);
	}
	free(state->registers);
	free(state->counters);
	free(state->meters);
}
