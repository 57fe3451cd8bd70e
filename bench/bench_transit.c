/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transit method on tare-switch, whose truth is known: an injected delay recovered, an injected clock bounded, probes a
 * second, the carrier's rate at the receiver, and how long a line of switches takes. Needs root or user namespaces.
 *
 * usage: bench_transit [delay | alignment | pps | carrier | line]...     (all)
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock/told.h"
#include "line_bed.h"
#include "say.h"

enum {
	RESTARTS = 3,
	DELAY_PROBES = 1000,
	DELAY_INTERVAL_NS = 1000000,
	ALIGN_RESTARTS = 10,
	ALIGN_PROBES = 500,
	ALIGN_INTERVAL_NS = 2000000,
	ALIGN_CARRIER_BPS = 25000000,
	FRAME_BYTES = 256,
	CARRIER_BYTES = 1500,
	PPS_NS = 2000000000,
	PPS_TRIES = 3,
	LINES = 5,
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
	nanosleep(&(struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 }, NULL);
}

struct outcome {
	struct transit *rows;
	struct run_record record;
	struct transit_conditions conditions;
};

static struct transit_config config_of(const struct line_bed *b, uint32_t count, int64_t interval_ns)
{
	return (struct transit_config){
		.line = b->line,
		.count = count,
		.interval_ns = interval_ns,
		.deadline_ns = 1000000000,
		.frame_bytes = FRAME_BYTES,
		.in_flight = 256,
		.cpu = line_bed_places()->send,
	};
}

static void run(const struct transit_config *config, struct outcome *ret)
{
	struct err err = { 0 };

	ret->rows = malloc(config->count * sizeof(*ret->rows));
	if (!ret->rows)
		exit(1);
	must(transit_run(config, ret->rows, &ret->record, &ret->conditions, &err), &err);
	if (ret->record.invalid[0])
		fprintf(stderr, "bench_transit: invalid: %s\n", ret->record.invalid);
}

/* --- an injected delay --- */

/* Median of the measurand over the probes of a fresh switch, us. */
static double inside_us(const char *args)
{
	double values[DELAY_PROBES], result;
	struct transit_config config;
	struct outcome o;
	uint32_t n = 0;
	struct line_bed b;

	line_bed_open(&b, "1", args, "l3_lpm", 1, FRAME_BYTES);
	config = config_of(&b, DELAY_PROBES, DELAY_INTERVAL_NS);
	run(&config, &o);
	for (uint32_t i = 0; i < o.record.ledger.sent; i++)
		if (o.rows[i].fate == FATE_MATCHED)
			values[n++] = (double)(o.rows[i].p4_out_us - o.rows[i].p4_in_us);
	result = median(values, n);
	free(o.rows);
	line_bed_close(&b);
	return result;
}

static void delay(void)
{
	static const double injected_us[] = { 50, 100, 500 };
	double none[RESTARTS], found[3][RESTARTS], tare_us, worst_us = 0;
	char args[64], how[256];
	size_t n = 0;

	for (int r = 0; r < RESTARTS; r++) {
		none[r] = inside_us(NULL);
		for (int d = 0; d < 3; d++) {
			snprintf(args, sizeof(args), "--fault-delay %.0fus", injected_us[d]);
			found[d][r] = inside_us(args);
		}
	}
	tare_us = median(none, RESTARTS);
	n += (size_t)snprintf(how, sizeof(how), "l3_lpm, 1000 probes 1 ms apart; without delay %.1f us;", tare_us);
	for (int d = 0; d < 3; d++) {
		double gross_us = median(found[d], RESTARTS);

		worst_us = fmax(worst_us, fabs(gross_us - tare_us - injected_us[d]));
		n += (size_t)snprintf(how + n, sizeof(how) - n, " %.0f us: gross %.1f;", injected_us[d], gross_us);
	}
	say("transit_delay_error_us", worst_us, "us", RESTARTS, how);
}

/* --- an injected clock --- */

/* Is the truth of the clock inside what the alignment says, wherever it was asked? */
static bool covered(const struct line_bed *b, struct outcome *o, double drift_ppm, double *ret_width_us)
{
	struct transit_conditions conditions = { 0 };
	struct alignment a;
	struct ledger ledger = { 0 };
	bool good = true;
	int bounded = 0;

	if (transit_align(o->rows, (uint32_t)o->record.ledger.sent, drift_ppm, &ledger, &conditions, &a) < 0)
		exit(1);
	for (uint32_t i = 0; i < a.count; i++) {
		const struct align_segment *s = &a.segments[i];
		double truth_ns = told_clock_host_ns(b->line.switches[0].clock, o->record.started_utc_ns, s->at_ns,
						     s->at_ns + s->offset_ns) -
				  s->at_ns;

		if (s->bounding < 2)
			continue;
		bounded++;
		good = good && s->low_ns <= truth_ns && truth_ns <= s->high_ns;
		*ret_width_us = fmax(*ret_width_us, align_width(s) / 1e3);
	}
	alignment_release(&a);
	return good && bounded > 0 && conditions.segments == 1;
}

static bool aligned(const char *args, double drift_ppm, double *ret_width_us)
{
	struct transit_config config;
	struct outcome o;
	struct line_bed b;
	bool good;

	line_bed_open(&b, "1", args, "l3_lpm", 1, CARRIER_BYTES);
	config = config_of(&b, ALIGN_PROBES, ALIGN_INTERVAL_NS);
	config.carrier = line_bed_load(&b, ALIGN_CARRIER_BPS, CARRIER_BYTES);
	config.carrier_bps = ALIGN_CARRIER_BPS;
	config.carrier_frame_bytes = CARRIER_BYTES;
	config.drift_ppm = drift_ppm;
	run(&config, &o);
	good = covered(&b, &o, drift_ppm, ret_width_us);
	free(o.rows);
	carrier_stop(config.carrier);
	line_bed_close(&b);
	return good;
}

static void alignment(void)
{
	static const int drifts_ppm[] = { 20, -20, 50, -50, 100, -100 };
	const int drifting = sizeof(drifts_ppm) / sizeof(drifts_ppm[0]);
	double widths[ALIGN_RESTARTS] = { 0 }, widest_us = 0, widest_drift_us = 0;
	int good = 0, good_drift = 0;
	char args[96], how[192];

	for (int r = 0; r < ALIGN_RESTARTS; r++) {
		snprintf(args, sizeof(args), "--fault-clock-offset %dms", (r - ALIGN_RESTARTS / 2) * 7 + 1000);
		good += aligned(args, 0, &widths[r]);
		widest_us = fmax(widest_us, widths[r]);
	}
	for (int r = 0; r < drifting; r++) {
		snprintf(args, sizeof(args), "--fault-clock-offset %ds --fault-clock-drift %d", r + 1, drifts_ppm[r]);
		good_drift += aligned(args, 200, &widest_drift_us);
	}
	snprintf(how, sizeof(how), "%d of %d restarts with an offset, %d of %d with drift too, to 100 ppm", good,
		 ALIGN_RESTARTS, good_drift, drifting);
	say("alignment_covered", (double)(good + good_drift) / (ALIGN_RESTARTS + drifting), "share",
	    ALIGN_RESTARTS + (unsigned)drifting, how);
	snprintf(how, sizeof(how),
		 "widest of %d restarts at 25 Mbit/s, 500 probes 2 ms apart; median %.1f us; with drift %.1f us",
		 ALIGN_RESTARTS, median(widths, ALIGN_RESTARTS), widest_drift_us);
	say("alignment_width_us", widest_us, "us", ALIGN_RESTARTS, how);
}

/* --- probes a second --- */

/*
 * A try: what came through a second. Good: it balanced, lost no more than 1 in 1000, and kept its schedule to 1 in 100 (a
 * sender that falls behind sends slower, and loses nothing).
 */
static bool pps_try(int64_t interval_ns, double *ret_pps, double *ret_late_us)
{
	struct transit_config config;
	const struct ledger *l;
	struct line_bed b;
	struct outcome o;
	bool good;

	line_bed_open(&b, "1", NULL, "l3_lpm", 1, FRAME_BYTES);
	config = config_of(&b, (uint32_t)(PPS_NS / interval_ns), interval_ns);
	run(&config, &o);
	l = &o.record.ledger;
	*ret_pps = o.record.offered_pps * (double)l->fate[FATE_MATCHED] / (double)l->sent;
	*ret_late_us = (double)o.record.lateness_p50_ns / 1e3;
	good = !o.record.invalid[0] && ledger_balances(l) && l->fate[FATE_MATCHED] * 1000 >= l->sent * 999 &&
	       o.record.offered_pps >= 0.99e9 / (double)interval_ns;
	fprintf(stderr,
		"  %.2f us: %s, offered %.0f, matched %" PRIu64 " of %" PRIu64
		", late p50 %.1f p99 %.1f us, no sw stamps %" PRIu64 " + %" PRIu64 "\n",
		(double)interval_ns / 1e3, good ? "good" : "not good", o.record.offered_pps, l->fate[FATE_MATCHED],
		l->sent, *ret_late_us, (double)o.record.lateness_p99_ns / 1e3, o.conditions.sw_in_missing,
		o.conditions.sw_out_missing);
	free(o.rows);
	line_bed_close(&b);
	return good;
}

/* The fastest interval at which every try is good. */
static void pps(void)
{
	static const int64_t intervals_ns[] = { 5000, 6250, 8000, 10000, 12500, 15000, 20000, 25000, 40000 };
	double got_pps[PPS_TRIES], late_us[PPS_TRIES];
	char how[256];

	for (size_t k = 0; k < sizeof(intervals_ns) / sizeof(intervals_ns[0]); k++) {
		int good = 0;

		while (good < PPS_TRIES && pps_try(intervals_ns[k], &got_pps[good], &late_us[good]))
			good++;
		if (good < PPS_TRIES)
			continue;
		snprintf(how, sizeof(how),
			 "median; l3_lpm, 2 s at %.2f us, six stamps each; the fastest interval at which every try "
			 "balanced, lost no more than 1 in 1000 and kept its schedule; late by %.1f us (p50)",
			 (double)intervals_ns[k] / 1e3, median(late_us, PPS_TRIES));
		say("transit_probe_pps", median(got_pps, PPS_TRIES), "probes/s", PPS_TRIES, how);
		return;
	}
	fprintf(stderr, "bench_transit: at no interval was every try good\n");
	exit(1);
}

/* --- the carrier --- */

static double carrier_error(int64_t rate_bps, int64_t time_ns)
{
	struct carrier_counts from, to;
	struct carrier *carrier;
	struct err err = { 0 };
	struct line_bed b;
	double got_bps, error;

	line_bed_open(&b, "1", NULL, "l3_lpm", 1, CARRIER_BYTES);
	carrier = line_bed_load(&b, rate_bps, CARRIER_BYTES);
	sleep_ns(500000000);
	must(carrier_counts(carrier, &from, &err), &err);
	sleep_ns(time_ns);
	must(carrier_counts(carrier, &to, &err), &err);
	got_bps = carrier_bps(to.received - from.received, CARRIER_BYTES, to.at_ns - from.at_ns);
	error = fabs(got_bps / (double)rate_bps - 1) * 100;
	fprintf(stderr,
		"  %" PRId64 " bit/s: sent %" PRIu64 ", refused %" PRIu64 ", received %" PRIu64 ": off by %.3f %%\n",
		rate_bps, to.sent - from.sent, to.refused - from.refused, to.received - from.received, error);
	carrier_stop(carrier);
	line_bed_close(&b);
	return error;
}

static void carrier(void)
{
	static const int64_t rates_bps[] = { 1000000, 10000000, 100000000, 250000000, 500000000, 1000000000 };
	double worst = 0;
	char how[256] = "at the receiver, through tare-switch, 1504-byte frames;";
	size_t n = strlen(how);

	for (size_t i = 0; i < sizeof(rates_bps) / sizeof(rates_bps[0]); i++) {
		double error = carrier_error(rates_bps[i], i == 0 ? INT64_C(12000000000) : INT64_C(4000000000));

		worst = fmax(worst, error);
		n += (size_t)snprintf(how + n, sizeof(how) - n, " %" PRId64 " Mbit/s %.2f %%;", rates_bps[i] / 1000000,
				      error);
	}
	say("carrier_error_pct", worst, "%", 1, how);
}

/* --- a line of eight --- */

static void line(void)
{
	double seconds[LINES], slowest = 0;
	char how[128];

	for (int i = 0; i < LINES; i++) {
		int64_t begin_ns = now_ns();
		struct line_bed b;

		line_bed_open(&b, "8", NULL, "l3_lpm", 1, FRAME_BYTES);
		seconds[i] = (double)(now_ns() - begin_ns) / 1e9;
		slowest = fmax(slowest, seconds[i]);
		line_bed_close(&b);
	}
	snprintf(how, sizeof(how), "8 switches, l3_lpm set and entries written by P4Runtime; slowest %.3f s", slowest);
	say("line8_up_s", median(seconds, LINES), "s", LINES, how);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{ "delay", delay }, { "alignment", alignment }, { "pps", pps }, { "carrier", carrier }, { "line", line }
	};

	line_bed_permit();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		bool wanted = argc < 2;

		for (int a = 1; a < argc; a++)
			wanted = wanted || strcmp(argv[a], all[i].name) == 0;
		if (wanted)
			all[i].run();
	}
	return 0;
}
