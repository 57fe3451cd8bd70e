/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine on memory rings: how fast, and how true. Rate: probes a second through
 * sender, card, rings and receivers on two cores without loss. Truth: medians of
 * the card's levels against what the card recorded, levels interleaved.
 *
 * usage: bench_engine [--cores N] [--repeats N] [--probes N] [--verbose] [--io memory|dpdk]
 *                     [--size BYTES] [--unprotected] [--card NAME=VALUE]... [NAME...]
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/tsc.h"
#include "packet/stream.h"
#include "probe/differential.h"
#include "say.h"
#include "target/card.h"

static const char *const levels[] = { "null", "107ns", "149ns", "177ns", "364ns", "107ns/137ns" };
enum { LEVELS = sizeof(levels) / sizeof(levels[0]), REPEATS_MOST = 64 };

static struct options {
	uint32_t cores, repeats, probes;
	bool verbose, unprotected;
	const char *io;
	const char *card[2 * 16 + 1]; /* names and values of the card's settings */
	unsigned card_settings;
} options = { .cores = 2, .repeats = 5, .probes = 20000, .io = "memory" };

static struct tsc tsc;

static void die(const struct err *err)
{
	fprintf(stderr, "bench_engine: %s\n", err->message);
	exit(1);
}

static struct stream *stream_of(uint32_t count, uint64_t rate_pps, uint32_t frame_bytes)
{
	struct stream_spec spec = { .count = count, .format = ID_NATIVE, .rate_mpps = rate_pps * 1000, .flows = 16 };
	struct stream *stream;
	struct err err = { 0 };

	frame_template_default(&spec.frame, FRAME_KIND_UDP4, frame_bytes);
	if (stream_create(&spec, &stream, &err) < 0)
		die(&err);
	return stream;
}

/* A card with this program, as a plan would open it; `pairs` of ("name", "value") end with NULL. */
static struct target *card_with(const char *program, const struct stream *stream, uint32_t train,
				const char *const *pairs)
{
	struct arena arena;
	struct settings settings;
	struct target *card;
	struct err err = { 0 };

	arena_init(&arena, 0);
	if (settings_init(&settings, target_card.settings, &arena) < 0)
		exit(1);
	settings_set(&settings, "io", options.io, &err);
	for (; pairs && *pairs; pairs += 2)
		if (settings_set(&settings, pairs[0], pairs[1], &err) < 0)
			die(&err);
	if (target_card.open(&(struct target_setup){ .settings = &settings,
						     .program = program,
						     .seed = 1,
						     .frame_bytes = stream->longest_bytes,
						     .probe_count = stream->count,
						     .frame_count = differential_frames(stream, train) },
			     &card, &err) < 0)
		die(&err);
	arena_release(&arena);
	return card;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The counter steps by `tick`: equal readings stand for an interval of that width, the median is interpolated in it. */
static double median_of_ticks(double *v, size_t n, double tick)
{
	size_t below = 0, equal = 0;
	double m;

	if (n == 0)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	m = v[n / 2];
	for (size_t i = 0; i < n; i++) {
		below += v[i] < m - tick / 2;
		equal += v[i] >= m - tick / 2 && v[i] <= m + tick / 2;
	}
	return m - tick / 2 + tick * ((double)n / 2 - (double)below) / (double)equal;
}

struct truth {
	double error_ns;  /* recovered minus recorded, medians over the run */
	double within_20; /* share of pairs within 20 ns of the recovered median (of its own mode), in % */
	double recovered_ns, recorded_ns;
};

/* Between two modes 30 ns apart: half-way between the quartiles of what the card recorded. */
static double split_of(const struct pair *pairs, uint32_t count, double *scratch)
{
	size_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		if (pairs[i].truth_ticks != PAIR_NONE)
			scratch[n++] = (double)pairs[i].truth_ticks;
	qsort(scratch, n, sizeof(*scratch), by_value);
	return n ? (scratch[n / 4] + scratch[n - 1 - n / 4]) / 2 : 0;
}

/* Modes are told apart by what the card recorded; each has its own median. */
static struct truth judge(const struct pair *pairs, uint32_t count, const char *program)
{
	struct truth t = { 0 };
	double *net = malloc(count * sizeof(double)), *truth = malloc(count * sizeof(double));
	unsigned modes = strchr(program, '/') ? 2 : 1;
	double within = 0, all = 0, split = 0;
	if (!net || !truth)
		exit(1);
	if (modes == 2)
		split = split_of(pairs, count, truth);
	for (unsigned mode = 0; mode < modes; mode++) {
		size_t n = 0;
		double recovered, recorded;

		for (uint32_t i = 0; i < count; i++) {
			const struct pair *p = &pairs[i];

			if (p->fate != FATE_MATCHED || p->flags & PAIR_SET_APART)
				continue;
			if (modes == 2 && ((double)p->truth_ticks > split) != (mode == 1))
				continue;
			net[n] = tsc_to_ns(&tsc, p->path_ticks - p->bypass_ticks);
			truth[n++] = tsc_to_ns(&tsc, p->truth_ticks);
		}
		recorded = median_of_ticks(truth, n, tsc.tick_ns);
		recovered = median_of_ticks(net, n, tsc.tick_ns);
		for (size_t i = 0; i < n; i++)
			within += fabs(net[i] - recovered) <= 20;
		all += (double)n;
		if (mode == 0 || fabs(recovered - recorded) > fabs(t.error_ns)) {
			t.error_ns = recovered - recorded;
			t.recovered_ns = recovered;
			t.recorded_ns = recorded;
		}
	}
	t.within_20 = all > 0 ? within * 100 / all : 0;
	free(net);
	free(truth);
	return t;
}

static void run_once(struct target *card, const struct stream *stream, uint32_t run, uint32_t train, struct pair *pairs,
		     struct run_record *record)
{
	struct differential_config config;
	struct err err = { 0 };

	differential_config_init(&config);
	config.target = card;
	config.stream = stream;
	config.tsc = &tsc;
	config.run = run;
	config.warm_train = train;
	config.cores = options.cores;
	config.unprotected = options.unprotected;
	if (differential_run(&config, pairs, stream->count, record, &err) < 0)
		die(&err);
	if (record->invalid[0])
		fprintf(stderr, "bench_engine: invalid run: %s\n", record->invalid);
}

static void explain(const char *what, const struct run_record *r, const struct truth *t)
{
	const struct ledger *l = &r->ledger;

	if (!options.verbose)
		return;
	fprintf(stderr,
		"%-12s error %+7.2f recorded %8.2f within20 %5.1f%% | sent %" PRIu64 " matched %" PRIu64
		" lost %" PRIu64 " dup %" PRIu64 " reord %" PRIu64 " foreign %" PRIu64 " apart %" PRIu64
		" | late p50 %" PRId64 " p99 %" PRId64 " max %" PRId64
		" us | pps %.0f | stalls %u %.1f ms | ping %.0f ns near %u "
		"far %u | %s\n",
		what, t ? t->error_ns : 0, t ? t->recorded_ns : 0, t ? t->within_20 : 0, l->sent, l->fate[FATE_MATCHED],
		l->fate[FATE_LOST], l->duplicates, l->reordered, l->foreign, l->set_apart, r->lateness_p50_ns / 1000,
		r->lateness_p99_ns / 1000, r->lateness_max_ns / 1000, r->offered_pps, r->stalls,
		(double)r->stalled_ns / 1e6, r->pingpong_p50_ns, r->blocks_near, r->blocks_far, r->protection);
}

/* Levels interleaved in each repeat. Each level's error is that of net: its gross error less the null's. */
static void bench_truth(const char *error_name, const char *within_name, uint64_t rate_pps, uint32_t train,
			uint32_t probes, uint32_t frame_bytes)
{
	struct stream *stream = stream_of(probes, rate_pps, frame_bytes);
	struct pair *pairs = calloc(probes, sizeof(*pairs));
	static double errors[LEVELS][REPEATS_MOST], within[LEVELS][REPEATS_MOST];
	double worst_error = 0, least_within = 100;
	char how[256];

	if (!pairs)
		exit(1);
	for (uint32_t repeat = 0; repeat < options.repeats; repeat++) {
		for (unsigned i = 0; i < LEVELS; i++) {
			struct target *card = card_with(levels[i], stream, train, options.card);
			struct run_record record;
			struct truth t;

			run_once(card, stream, repeat, train, pairs, &record);
			t = judge(pairs, (uint32_t)record.ledger.sent, levels[i]);
			errors[i][repeat] = t.error_ns;
			within[i][repeat] = t.within_20;
			explain(levels[i], &record, &t);
			target_card.close(card);
		}
	}
	for (unsigned i = 0; i < LEVELS; i++) {
		double error = median(errors[i], options.repeats), share = median(within[i], options.repeats);

		if (fabs(error) > fabs(worst_error))
			worst_error = error;
		if (share < least_within)
			least_within = share;
	}
	snprintf(how, sizeof(how),
		 "%u cores, %s rings, %" PRIu64 " probes a second, train %u, %u probes a level, 6 levels interleaved, "
		 "%u-byte frames; worst level's median over repeats, against the card's record",
		 options.cores, options.io, rate_pps, train, probes, frame_bytes);
	say(error_name, fabs(worst_error), "ns", options.repeats, how);
	if (within_name)
		say(within_name, least_within, "%", options.repeats, how);
	free(pairs);
	stream_destroy(stream);
}

/* The highest offered rate that passes whole: nothing lost and the schedule kept. */
static void bench_rate(void)
{
	static const char *const fast[] = { "shell_bypass", "0", NULL };
	const uint32_t probes = 1000000;
	double rates[REPEATS_MOST];
	struct pair *pairs = calloc(probes, sizeof(*pairs));
	char how[256];

	if (!pairs)
		exit(1);
	for (uint32_t repeat = 0; repeat < options.repeats; repeat++) {
		rates[repeat] = 0;
		for (uint64_t rate = 1000000; rate <= 8000000; rate += 500000) {
			struct stream *stream = stream_of(probes, rate, 64);
			struct target *card = card_with("null", stream, 0, fast);
			struct run_record record;

			run_once(card, stream, repeat, 0, pairs, &record);
			explain("rate", &record, NULL);
			if (record.ledger.fate[FATE_MATCHED] == probes && record.offered_pps > rates[repeat])
				rates[repeat] = record.offered_pps;
			target_card.close(card);
			stream_destroy(stream);
			if (record.offered_pps < 0.9 * (double)rate)
				break;
		}
	}
	snprintf(how, sizeof(how), "%u cores, %s rings, 64-byte frames, 1M probes, all matched; published system: 500",
		 options.cores, options.io);
	say_beside("engine_rate_pps", median(rates, options.repeats), "pps", 500, options.repeats, how);
	free(pairs);
}

static uint32_t number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	bool all = true, rate = false, fast = false, slow = false;
	uint32_t frame_bytes = 64;
	struct err err = { 0 };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--cores") == 0 && i + 1 < argc)
			options.cores = number(argv[++i]);
		else if (strcmp(argv[i], "--repeats") == 0 && i + 1 < argc)
			options.repeats = number(argv[++i]);
		else if (strcmp(argv[i], "--probes") == 0 && i + 1 < argc)
			options.probes = number(argv[++i]);
		else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
			frame_bytes = number(argv[++i]);
		else if (strcmp(argv[i], "--io") == 0 && i + 1 < argc)
			options.io = argv[++i];
		else if (strcmp(argv[i], "--card") == 0 && i + 1 < argc && options.card_settings < 32) {
			char *name = argv[++i], *value = strchr(name, '=');

			if (!value)
				return fprintf(stderr, "bench_engine: --card takes NAME=VALUE\n"), 2;
			*value = '\0';
			options.card[options.card_settings++] = name;
			options.card[options.card_settings++] = value + 1;
		} else if (strcmp(argv[i], "--verbose") == 0)
			options.verbose = true;
		else if (strcmp(argv[i], "--unprotected") == 0)
			options.unprotected = true;
		else if (strcmp(argv[i], "engine_rate_pps") == 0)
			all = false, rate = true;
		else if (strcmp(argv[i], "card_error_ns") == 0)
			all = false, fast = true;
		else if (strcmp(argv[i], "card_error_slow_ns") == 0)
			all = false, slow = true;
		else
			return fprintf(stderr, "bench_engine: what is '%s'?\n", argv[i]), 2;
	}
	if (options.repeats < 1 || options.repeats > REPEATS_MOST)
		return fprintf(stderr, "bench_engine: --repeats takes 1 to %d\n", REPEATS_MOST), 2;
	if (tsc_calibrate(&tsc, 200000000, false, &err) < 0)
		die(&err);
	if (options.verbose)
		fprintf(stderr, "TSC %.6f MHz, u %.2f ppm, tick %.3f ns\n", tsc.hz / 1e6, tsc.hz_u_ppm, tsc.tick_ns);
	if (all || rate)
		bench_rate();
	if (all || fast)
		bench_truth("card_error_ns", "card_within_20ns", 10000, 0, options.probes, frame_bytes);
	if (all || slow)
		bench_truth("card_error_slow_ns", NULL, 500, 3, options.probes / 10, frame_bytes);
	return 0;
}
