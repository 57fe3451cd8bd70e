/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_ENGINE_BED_H
#define TARE_TESTS_ENGINE_BED_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "clock/tsc.h"
#include "probe/differential.h"
#include "target/card.h"

/*
 * What is counted must be exact on any machine. What is timed is asked up to ATTEMPTS times, as a host may
 * take the core away in the middle of a run; a wrong engine fails all of them.
 */
enum { ATTEMPTS = 8 };

/* Longer than a host keeps a core away, or a probe is late, and rightly so. Only runs that lose probes wait for it. */
#define DEADLINE_NS 2000000000

/* A sanitizer's checks, or code that is not optimised, stand between emission and stamp. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define LIMIT_NS     400
#define GAP_LIMIT_NS 20000
#define SANITIZED    true
#else
#define LIMIT_NS     10
#define GAP_LIMIT_NS 400
#define SANITIZED    false
#endif

static struct tsc tsc;

static inline int calibrate_tsc(void **state)
{
	(void)state;
	return tsc_calibrate(&tsc, 50000000, true, NULL);
}

static inline struct stream *stream_of(uint32_t count, uint64_t rate_pps, uint32_t frame_bytes)
{
	struct stream_spec spec = { .count = count, .format = ID_NATIVE, .rate_mpps = rate_pps * 1000, .flows = 16 };
	struct stream *stream;
	struct err err = { 0 };

	frame_template_default(&spec.frame, FRAME_KIND_UDP4, frame_bytes);
	assert_int_equal(stream_create(&spec, &stream, &err), 0);
	return stream;
}

static inline struct target *card_of(const char *program, const struct stream *stream, uint32_t train, uint64_t seed,
				     const char *const *settings_text)
{
	struct arena arena;
	struct settings settings;
	struct target *card;
	struct err err = { 0 };

	arena_init(&arena, 0);
	assert_int_equal(settings_init(&settings, target_card.settings, &arena), 0);
	for (; settings_text && *settings_text; settings_text += 2)
		assert_int_equal(settings_set(&settings, settings_text[0], settings_text[1], &err), 0);
	assert_int_equal(target_card.open(&(struct target_setup){ .settings = &settings,
								  .program = program,
								  .seed = seed,
								  .frame_bytes = stream->longest_bytes,
								  .probe_count = stream->count,
								  .frame_count = differential_frames(stream, train) },
					  &card, &err),
			 0);
	arena_release(&arena);
	return card;
}

static inline struct differential_config config_of(struct target *target, const struct stream *stream)
{
	struct differential_config config;

	differential_config_init(&config);
	config.target = target;
	config.stream = stream;
	config.tsc = &tsc;
	config.cores = 1;
	config.deadline_ns = DEADLINE_NS;
	config.gap_limit_ns = GAP_LIMIT_NS;
	return config;
}

static inline struct pair *pairs_of(const struct stream *stream)
{
	struct pair *pairs = calloc(stream->count, sizeof(*pairs));

	assert_non_null(pairs);
	return pairs;
}

static inline struct run_record run(const struct differential_config *config, struct pair *pairs)
{
	struct run_record record;
	struct err err = { 0 };

	assert_int_equal(differential_run(config, pairs, config->stream->count, &record, &err), 0);
	return record;
}

static inline int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Median of recovered minus recorded over the good pairs, in ns; how many those are. */
static inline double error_ns(const struct pair *pairs, uint32_t count, uint32_t *ret_good)
{
	int64_t *off = malloc(count * sizeof(*off));
	double sum = 0;
	uint32_t n = 0;

	assert_non_null(off);
	for (uint32_t i = 0; i < count; i++)
		if (pairs[i].fate == FATE_MATCHED && !(pairs[i].flags & PAIR_SET_APART))
			off[n++] = pairs[i].path_ticks - pairs[i].bypass_ticks - pairs[i].truth_ticks;
	*ret_good = n;
	qsort(off, n, sizeof(*off), by_value);
	/* The counter's step makes ties: the mean of the middle half moves within a step, the median does not. */
	for (uint32_t i = n / 4; i < n - n / 4; i++)
		sum += (double)off[i];
	free(off);
	return n ? sum / (double)(n - n / 4 - n / 4) * 1e9 / tsc.hz : INFINITY;
}

#endif
