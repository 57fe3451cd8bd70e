/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/tsc.h"

#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	MARKS = 64,
	QUANTUM_READINGS = 512,
	BRACKETS = 5, /* readings of which a mark is the tightest */
};

static int64_t raw_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void tsc_mark_take(struct tsc_mark *ret)
{
	ret->width_ticks = UINT32_MAX;
	for (int i = 0; i < BRACKETS; i++) {
		uint64_t before = tsc_stamp();
		int64_t raw = raw_now_ns();
		uint64_t after = tsc_stamp();

		if (i == 0 || after - before < ret->width_ticks) {
			ret->width_ticks = after - before > UINT32_MAX ? UINT32_MAX : (uint32_t)(after - before);
			ret->ticks = before + (after - before) / 2;
			ret->raw_ns = raw;
		}
	}
}

double tsc_rate(const struct tsc_mark *from, const struct tsc_mark *to, double *ret_u_ppm)
{
	double ticks = (double)(to->ticks - from->ticks);
	double hz = ticks * 1e9 / (double)(to->raw_ns - from->raw_ns);

	if (ret_u_ppm) {
		/* Where in its bracket the raw clock was read is unknown: rectangular, half-width w/2 (GUM 4.3.7). */
		double w1 = from->width_ticks, w2 = to->width_ticks;

		*ret_u_ppm = sqrt((w1 * w1 + w2 * w2) / 12) / ticks * 1e6;
	}
	return hz;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int tsc_rate_of_marks(const struct tsc_mark *marks, unsigned count, double *ret_hz, double *ret_u_ppm)
{
	struct tsc_mark good[MARKS];
	double rates[MARKS], u_sum = 0;
	uint32_t tightest = UINT32_MAX;
	unsigned n = 0, pairs;

	TARE_ASSERT(count <= MARKS);
	for (unsigned i = 0; i < count; i++)
		if (marks[i].width_ticks < tightest)
			tightest = marks[i].width_ticks;
	for (unsigned i = 0; i < count; i++)
		if (marks[i].width_ticks <= 2 * (uint64_t)tightest)
			good[n++] = marks[i];
	if (n < 4)
		return -ERANGE;
	pairs = n / 2;
	for (unsigned i = 0; i < pairs; i++) {
		double u;

		rates[i] = tsc_rate(&good[i], &good[n - pairs + i], &u);
		u_sum += u * u;
	}
	qsort(rates, pairs, sizeof(rates[0]), by_value);
	double hz = (rates[(pairs - 1) / 2] + rates[pairs / 2]) / 2;

	/*
	 * The brackets' share, and what the rates say themselves: half the middle
	 * half of their spread. The larger; not divided by sqrt(pairs), as a
	 * bracket's asymmetry is common to all.
	 */
	double u_bracket = sqrt(u_sum / pairs);
	double u_spread = (rates[pairs - 1 - pairs / 4] - rates[pairs / 4]) / 2 / hz * 1e6;

	*ret_hz = hz;
	*ret_u_ppm = u_bracket > u_spread ? u_bracket : u_spread;
	return (int)(count - n);
}

/* Is every difference a multiple of about `step`? The step that fits best, or 0. */
static double step_fits(const uint64_t *diffs, unsigned count, double step)
{
	double steps = 0, sum = 0;
	unsigned off = 0;

	for (unsigned i = 0; i < count; i++) {
		double n = round((double)diffs[i] / step);

		steps += n;
		sum += (double)diffs[i];
	}
	if (steps < count)
		return 0;
	step = sum / steps;
	for (unsigned i = 0; i < count; i++) {
		double n = round((double)diffs[i] / step);

		if (fabs((double)diffs[i] - n * step) > 1.01)
			off++;
	}
	return off * 50 <= count ? step : 0; /* 2 % may be read across something odd */
}

double tsc_quantum_of(const uint64_t *readings, unsigned count)
{
	uint64_t diffs[QUANTUM_READINGS];
	uint64_t least = UINT64_MAX;
	unsigned n = 0;

	for (unsigned i = 1; i < count && n < QUANTUM_READINGS; i++) {
		uint64_t d = readings[i] - readings[i - 1];

		if (d != 0 && d < least)
			least = d;
	}
	/* Only short differences: a long one is a multiple of anything once the step is a little off. */
	for (unsigned i = 1; i < count && n < QUANTUM_READINGS; i++) {
		uint64_t d = readings[i] - readings[i - 1];

		if (d != 0 && d < 16 * least)
			diffs[n++] = d;
	}
	if (n < 32)
		return 0;
	for (int k = 1; (double)least / k > 3; k++) {
		double step = step_fits(diffs, n, (double)least / k);

		/* A step of three counts or less explains any difference to within one. */
		if (step > 3.2)
			return step;
	}
	return 1;
}

/* Readings with work of differing length between them, or all differences would be alike. */
static double quantum_ticks(void)
{
	uint64_t readings[QUANTUM_READINGS];

	for (unsigned i = 0; i < QUANTUM_READINGS; i++) {
		for (unsigned k = 0; k < (i * 7) % 32; k++)
			__asm__ volatile("" ::: "memory");
		readings[i] = tsc_stamp();
	}
	return tsc_quantum_of(readings, QUANTUM_READINGS);
}

bool tsc_is_invariant(const char **ret_reason)
{
	unsigned a, b, c, d = 0;
	const char *reason = NULL;
	char line[256];
	FILE *f;

	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1 << 8))
		reason = "CPUID does not call the TSC invariant";
	/* The kernel drops tsc from the list when its watchdog found it unstable. */
	f = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
	if (f) {
		if (!reason && fgets(line, sizeof(line), f) && !strstr(line, "tsc"))
			reason = "the kernel does not offer the TSC as a clock source: it found it unstable";
		fclose(f);
	}
	if (ret_reason)
		*ret_reason = reason;
	return reason == NULL;
}

int tsc_check(bool allow_unstable, struct err *err)
{
	const char *reason;

	if (tsc_is_invariant(&reason) || allow_unstable)
		return 0;
	return err_set(err, ERR_HOST, ENOTSUP,
		       "the TSC is not invariant (%s): its ticks are no unit of time; run with --allow-unstable-tsc to "
		       "measure nevertheless",
		       reason);
}

int tsc_calibrate(struct tsc *ret, int64_t span_ns, bool allow_unstable, struct err *err)
{
	struct tsc_mark marks[MARKS];
	struct timespec pause;
	struct tsc tsc = { 0 };
	int dropped, r = tsc_check(allow_unstable, err);

	if (r < 0)
		return r;
	tsc.invariant = tsc_is_invariant(NULL);
	if (span_ns < 1000000)
		span_ns = 1000000;
	pause = (struct timespec){ .tv_sec = span_ns / 2 / 1000000000, .tv_nsec = span_ns / 2 % 1000000000 };
	/* Half of the marks at the start, half at the end; a pause in the middle and the rest of the span around. */
	int64_t start = raw_now_ns();

	for (unsigned i = 0; i < MARKS / 2; i++)
		tsc_mark_take(&marks[i]);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	while (raw_now_ns() - start < span_ns) {
		pause = (struct timespec){ .tv_nsec = 500000 };
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	for (unsigned i = MARKS / 2; i < MARKS; i++)
		tsc_mark_take(&marks[i]);

	dropped = tsc_rate_of_marks(marks, MARKS, &tsc.hz, &tsc.hz_u_ppm);
	if (dropped < 0)
		return err_set(err, ERR_HOST, EAGAIN,
			       "cannot calibrate the TSC: of %d readings beside CLOCK_MONOTONIC_RAW fewer than 4 were "
			       "undisturbed; the host is too busy",
			       MARKS);
	if (!(tsc.hz > 1e6 && tsc.hz < 1e11))
		return err_set(err, ERR_HOST, ERANGE,
			       "the TSC runs at %g Hz by CLOCK_MONOTONIC_RAW; expected 1 MHz to 100 GHz", tsc.hz);
	double quantum = quantum_ticks();

	tsc.quantum_ticks = quantum > 1.5 ? (uint32_t)lround(quantum) : 1;
	tsc.tick_ns = quantum > 1.5 ? quantum * 1e9 / tsc.hz : 0;
	tsc.span_ns = marks[MARKS - 1].raw_ns - marks[0].raw_ns;
	tsc.outliers = (uint32_t)dropped;
	tsc.marks = MARKS - tsc.outliers;
	*ret = tsc;
	return 0;
}
