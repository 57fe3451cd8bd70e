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
#include "line_bed.h"
#include "probe/telemetry_figures.h"
#include "say.h"

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

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
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
		say(md ? "int_md_hops_per_s" : "int_hops_per_s", median(rates, REPEATS), "hops/s", REPEATS,
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
	struct line_bed bed;
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
					 .cpu = line_bed_places()->send,
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
	line_bed_open(&bed, "3", args, "l3_lpm_int_chain", number, CARRIER_BYTES);
	config.line = bed.line;
	config.carrier = line_bed_load(&bed, CARRIER_BPS, CARRIER_BYTES);
	nanosleep(&(struct timespec){ .tv_nsec = WARM_UP_NS }, NULL);
	if (!rows || telemetry_init(&telemetry, LINE, PROBES, false) < 0)
		exit(1);
	must(telemetry_run(&config, rows, &telemetry, &record, &conditions, &err), &err);
	if (record.invalid[0])
		fprintf(stderr, "bench_telemetry: restart %" PRIu32 " is invalid: %s\n", number, record.invalid);
	take(&telemetry, injected_us, tally);
	telemetry_release(&telemetry);
	carrier_stop(config.carrier);
	line_bed_close(&bed);
	free(rows);
}

static void causal(uint32_t restarts)
{
	struct tally tally = { .width_us = calloc(restarts, sizeof(double)),
			       .boot_us = calloc(restarts, sizeof(double)) };
	struct rng rng;
	char how[160];

	if (!tally.width_us || !tally.boot_us)
		exit(1);
	rng_init(&rng, 11);
	line_bed_permit();
	for (uint32_t i = 0; i < restarts; i++)
		one_restart(i, &rng, &tally);
	snprintf(how, sizeof(how),
		 "share of restarts; line of %d, 25 Mbit/s, %d probes each, offsets to 20 s injected; %" PRIu32
		 " contradicted",
		 LINE, PROBES, tally.contradicted);
	say("causal_covered", (double)tally.covered / restarts, "share", restarts, how);
	say("causal_width_us", median(tally.width_us, restarts), "us", restarts,
	    "median over restarts of the widest of the line's intervals");
	say("causal_width_most_us", tally.width_us[restarts - 1], "us", restarts, "the widest of all restarts");
	say("boot_off_us", median(tally.boot_us, restarts), "us", restarts,
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
