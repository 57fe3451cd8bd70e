/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { START_TRIES = 8 };

enum { FCS_BYTES = 4 };

static int64_t clock_ns(bool wall)
{
	struct timespec t;

	clock_gettime(wall ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void switch_clock_start(struct switch_clock *clock, bool wall, const struct truth *truth)
{
	int64_t narrowest = 0;

	clock->wall = wall;
	clock->truth = *truth;
	clock->start_ns = clock->start_utc_ns = clock_ns(wall);
	/* both clocks at one moment: the narrowest of some brackets */
	for (int i = 0; !wall && i < START_TRIES; i++) {
		int64_t before = clock_ns(false), utc = clock_ns(true), after = clock_ns(false);

		if (i > 0 && after - before >= narrowest)
			continue;
		narrowest = after - before;
		clock->start_ns = before + narrowest / 2;
		clock->start_utc_ns = utc;
	}
}

uint64_t switch_clock_us(const struct switch_clock *clock)
{
	int64_t ns = clock_ns(clock->wall) - clock->start_ns, us;

	if (clock->truth.clock_drift_ppm)
		ns += ns / 1000000 * clock->truth.clock_drift_ppm +
		      ns % 1000000 * clock->truth.clock_drift_ppm / 1000000;
	us = ns / 1000;
	if (clock->truth.clock_step_us && us >= (int64_t)clock->truth.clock_step_at_us)
		us += clock->truth.clock_step_us;
	us += clock->truth.clock_offset_us;
	return us < 0 ? 0 : (uint64_t)us;
}

int switch_clock_tell(const struct switch_clock *clock, const char *path)
{
	const struct truth *t = &clock->truth;
	FILE *file = fopen(path, "we");
	int rc = 0;

	if (!file)
		return -errno;
	if (fprintf(file,
		    "clock zero_utc_ns=%" PRId64 " offset_us=%" PRId64 " drift_ppm=%" PRId32 " step_us=%" PRId64
		    " step_at_us=%" PRIu64 "\n",
		    clock->start_utc_ns, t->clock_offset_us, t->clock_drift_ppm, t->clock_step_us,
		    t->clock_step_at_us) < 0)
		rc = -EIO;
	return fclose(file) == 0 ? rc : -errno;
}

bool truth_any(const struct truth *t)
{
	return t->hold_us || t->answer_early_us || t->rate_bps || t->loss_ppm || t->duplicate_ppm ||
	       t->clock_offset_us || t->clock_step_us || t->clock_drift_ppm || t->cold_sleep_us;
}

bool truth_over_rate(const struct truth *t, struct truth_bucket *b, int64_t stamp_ns, uint32_t length_bytes)
{
	const double bits = (length_bytes + FCS_BYTES) * 8.0;
	const double most_bits = (double)t->rate_bps * (double)t->rate_over_ns / 1e9;

	if (!t->rate_bps)
		return false;
	if (stamp_ns > b->last_ns) {
		b->spent_bits -= (double)t->rate_bps * (double)(stamp_ns - b->last_ns) / 1e9;
		b->spent_bits = b->spent_bits < 0 ? 0 : b->spent_bits;
		b->last_ns = stamp_ns;
	}
	if (b->spent_bits + bits > most_bits)
		return true;
	b->spent_bits += bits;
	return false;
}

void truth_describe(const struct truth *t, char *ret, unsigned size_bytes)
{
	unsigned n = 0;

	ret[0] = '\0';
#define SAY(condition, ...)                                                                                            \
	if ((condition) && n < size_bytes)                                                                             \
	n += (unsigned)snprintf(ret + n, size_bytes - n, __VA_ARGS__)
	SAY(t->hold_us, ", delay %" PRIu64 " us", t->hold_us);
	SAY(t->rate_bps, ", no more than %" PRId64 " bit/s over %" PRId64 " us", t->rate_bps, t->rate_over_ns / 1000);
	SAY(t->loss_ppm, ", loss %" PRIu32 " ppm", t->loss_ppm);
	SAY(t->duplicate_ppm, ", duplication %" PRIu32 " ppm", t->duplicate_ppm);
	SAY(t->clock_offset_us, ", clock off by %" PRId64 " us", t->clock_offset_us);
	SAY(t->clock_step_us, ", clock steps by %" PRId64 " us at %" PRIu64 " us", t->clock_step_us,
	    t->clock_step_at_us);
	SAY(t->clock_drift_ppm, ", clock %" PRId32 " ppm fast", t->clock_drift_ppm);
	SAY(t->answer_early_us, ", Writes answered %" PRIu64 " us early", t->answer_early_us);
	SAY(t->cold_sleep_us, ", sleeps %" PRIu64 " us after %" PRIu64 " us idle", t->cold_sleep_us, t->cold_after_us);
#undef SAY
	if (n >= 2)
		memmove(ret, ret + 2, strlen(ret + 2) + 1);
}
