/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry on lines of tare-switch whose clocks are wrong by what is known: is the truth inside the causal interval, how wide
 * is that, and how far off alignment by process start is beside it; and how fast stacks are decoded. The lines need root
 * or user namespaces.
 *
 * usage: bench_telemetry [decode | causal] [RESTARTS]     (both; 100: two minutes)
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "lab/netns.h"
#include "probe/telemetry_figures.h"
#include "probe/transit_places.h"
#include "target/bmv2.h"

enum {
	LINE = 3,
	RESTARTS = 100,
	PROBES = 250,
	INTERVAL_NS = 2000000,
	WARM_UP_NS = 100000000,
	CARRIER_BPS = 25000000,
	FRAME_BYTES = 256,
	CARRIER_BYTES = 1500,
	STACKS = 1024,
	DECODE_NS = 500000000,
	REPEATS = 5,
};

static struct transit_places places;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void must(int rc, const struct err *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "bench_telemetry: %s\n", err->message);
	exit(1);
}

static void report(const char *name, double value, const char *unit, unsigned repeats, const char *how)
{
	printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"baseline\": null, \"ratio\": null, "
	       "\"repeats\": %u, \"how\": \"%s\"}\n",
	       name, value, unit, repeats, how);
	fflush(stdout);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* --- decoding --- */

struct stacks {
	uint8_t (*bytes)[512];
	size_t length[STACKS];
};

static double hops_per_s(const struct stacks *s, bool md)
{
	int64_t begin = now_ns(), now;
	uint64_t hops = 0, sum = 0;

	do {
		for (uint32_t i = 0; i < STACKS; i++) {
			if (md) {
				struct int_md m;

				int_md_decode(s->bytes[i], s->length[i], &m, NULL);
				hops += m.hop_count;
				sum += m.hops[0].in_ns;
			} else {
				struct int_hop h[INT_HOPS_MAX];
				uint32_t n;

				int_shim_decode(s->bytes[i], s->length[i], h, &n, NULL);
				hops += n;
				sum += h[0].ingress_us;
			}
		}
		now = now_ns();
	} while (now - begin < DECODE_NS);
	if (sum == 0)
		fprintf(stderr, "bench_telemetry: nothing was decoded\n");
	return (double)hops * 1e9 / (double)(now - begin);
}

static void make_stack(struct stacks *s, uint32_t i, bool md)
{
	struct int_md m = { .instructions = INT_I_NODE | INT_I_IN | INT_I_OUT, .hop_count = INT_MD_HOPS_MAX };
	struct int_hop h[INT_HOPS_MAX];

	for (uint32_t k = 0; k < INT_HOPS_MAX; k++) {
		uint64_t in = 1000000 + i * 5000 + k * 100;

		h[k] = (struct int_hop){ (uint8_t)(k + 1), in, in + 50 };
		m.hops[k] = (struct int_md_hop){
			.has = m.instructions, .node_id = k + 1, .in_ns = in * 1000, .out_ns = in * 1000 + 50000
		};
	}
	s->length[i] = md ? int_md_encode(&m, s->bytes[i], sizeof(s->bytes[i]))
			  : int_shim_encode(h, INT_HOPS_MAX, s->bytes[i], sizeof(s->bytes[i]));
}

static void decode(void)
{
	struct stacks s = { .bytes = calloc(STACKS, sizeof(*s.bytes)) };

	if (!s.bytes)
		exit(1);
	for (int md = 0; md < 2; md++) {
		double rates[REPEATS];

		for (uint32_t i = 0; i < STACKS; i++)
			make_stack(&s, i, md);
		for (unsigned r = 0; r < REPEATS; r++)
			rates[r] = hops_per_s(&s, md);
		report(md ? "int_md_hops_per_s" : "int_hops_per_s", median(rates, REPEATS), "hops/s", REPEATS,
		       md ? "median; INT-MD stacks of 8 hops with node and both stamps, one core"
			  : "median; shims of 8 hops, one core");
	}
	free(s.bytes);
}

/* --- alignment --- */

struct tally {
	uint32_t done, covered, contradicted;
	double *width_us, *boot_us; /* of each restart: the widest interval; how far off a link is by process start */
};

static void take(const struct telemetry *t, const int64_t *injected_us, struct tally *tally)
{
	static struct telemetry_value values[TELEMETRY_VALUES_MOST];
	double widest = 0, off = 0, before = 0;
	bool covered = true;
	int n = telemetry_figures(t, values);

	for (int i = 0; i < n; i++) {
		covered = covered && (strncmp(values[i].name, "covered_", 8) != 0 || values[i].value == 1);
		if (strncmp(values[i].name, "offset_width_", 13) == 0)
			widest = fmax(widest, values[i].value);
		if (strncmp(values[i].name, "boot_error_", 11) == 0) {
			/* what was injected is no fault of that alignment */
			double error = values[i].value - (double)injected_us[values[i].name[11] - '1'];

			if (values[i].name[11] != '1')
				off = fmax(off, fabs(error - before));
			before = error;
		}
	}
	tally->width_us[tally->done] = widest;
	tally->boot_us[tally->done++] = off;
	tally->covered += covered;
	tally->contradicted += t->contradicted > 0;
}

static void one_restart(uint32_t number, struct rng *rng, struct tally *tally)
{
	struct arena arena;
	struct settings settings;
	struct target *target;
	struct carrier *carrier;
	struct transit_conditions conditions;
	struct run_record record;
	struct telemetry telemetry;
	struct transit *rows = calloc(PROBES, sizeof(*rows));
	struct transit_config config = { .run = number,
					 .count = PROBES,
					 .interval_ns = INTERVAL_NS,
					 .deadline_ns = 1000000000,
					 .frame_bytes = FRAME_BYTES,
					 .in_flight = 256,
					 .cpu = places.send,
					 .carrier_bps = CARRIER_BPS,
					 .carrier_frame_bytes = CARRIER_BYTES };
	int64_t injected_us[LINE];
	struct err err = { 0 };
	char args[256] = "";

	for (uint32_t k = 0; k < LINE; k++) {
		injected_us[k] = (int64_t)rng_below(rng, 20000000);
		snprintf(args + strlen(args), sizeof(args) - strlen(args), "%s--fault-clock-offset %" PRId64 "us",
			 k ? "|" : "", injected_us[k]);
	}
	arena_init(&arena, 0);
	must(settings_init(&settings, target_bmv2.settings, &arena), &err);
	must(settings_set(&settings, "switch", TARE_SWITCH, &err), &err);
	must(settings_set(&settings, "hops", "3", &err), &err);
	must(settings_set(&settings, "args", args, &err), &err);
	must(target_bmv2.open(&(struct target_setup){ .settings = &settings,
						      .program = "l3_lpm_int_chain",
						      .directory = ".",
						      .seed = number,
						      .frame_bytes = CARRIER_BYTES,
						      .cpus = &places.target },
			      &target, &err),
	     &err);
	target_bmv2.line(target, &config.line);
	must(carrier_start(&(struct carrier_config){ .line = &config.line,
						     .rate_bps = CARRIER_BPS,
						     .frame_bytes = CARRIER_BYTES,
						     .cpu = places.carrier },
			   &carrier, &err),
	     &err);
	config.carrier = carrier;
	nanosleep(&(struct timespec){ .tv_nsec = WARM_UP_NS }, NULL);
	if (!rows || telemetry_init(&telemetry, LINE, PROBES, false) < 0)
		exit(1);
	must(telemetry_run(&config, rows, &telemetry, &record, &conditions, &err), &err);
	if (record.invalid[0])
		fprintf(stderr, "bench_telemetry: restart %" PRIu32 " is invalid: %s\n", number, record.invalid);
	take(&telemetry, injected_us, tally);
	telemetry_release(&telemetry);
	carrier_stop(carrier);
	target_bmv2.close(target);
	arena_release(&arena);
	free(rows);
}

static void causal(uint32_t restarts)
{
	struct tally tally = { .width_us = calloc(restarts, sizeof(double)),
			       .boot_us = calloc(restarts, sizeof(double)) };
	struct err err = { 0 };
	struct rng rng;
	char how[160];

	if (!tally.width_us || !tally.boot_us)
		exit(1);
	rng_init(&rng, 11);
	must(netns_permit(&err), &err);
	must(transit_places_choose(&places, &err), &err);
	for (uint32_t i = 0; i < restarts; i++)
		one_restart(i, &rng, &tally);
	snprintf(how, sizeof(how),
		 "share of restarts; line of %d, 25 Mbit/s, %d probes each, offsets to 20 s injected; %" PRIu32
		 " contradicted",
		 LINE, PROBES, tally.contradicted);
	report("causal_covered", (double)tally.covered / restarts, "share", restarts, how);
	report("causal_width_us", median(tally.width_us, restarts), "us", restarts,
	       "median over restarts of the widest of the line's intervals");
	report("causal_width_most_us", tally.width_us[restarts - 1], "us", restarts, "the widest of all restarts");
	report("boot_off_us", median(tally.boot_us, restarts), "us", restarts,
	       "median over restarts; how far off the worse link is by process start, injection not counted");
	free(tally.width_us);
	free(tally.boot_us);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t restarts = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : RESTARTS;

	if ((*what && strcmp(what, "decode") != 0 && strcmp(what, "causal") != 0) || restarts == 0) {
		fprintf(stderr, "usage: bench_telemetry [decode | causal] [RESTARTS]\n");
		return 2;
	}
	if (strcmp(what, "causal") != 0)
		decode();
	if (strcmp(what, "decode") != 0)
		causal(restarts);
	return 0;
}
