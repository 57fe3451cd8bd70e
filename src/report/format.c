/* SPDX-License-Identifier: Apache-2.0 */
#include "report/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

char *format_number(double value, int decimals, char *buf)
{
	if (isnan(value))
		buf[0] = '\0';
	else if (isinf(value))
		snprintf(buf, FORMAT_BYTES, value > 0 ? "lost" : "-lost");
	else if (fabs(value) >= 1e15)
		snprintf(buf, FORMAT_BYTES, "%.6g", value);
	else
		/* Adding 0 turns a negative zero, which rounding makes, into a plain one. */
		snprintf(buf, FORMAT_BYTES, "%.*f", decimals, fabs(value) < 0.5 * pow(10, -decimals) ? 0.0 : value);
	return buf;
}

char *format_signed(double value, int decimals, char *buf)
{
	format_number(value, decimals, buf);
	if (isfinite(value) && value >= 0.5 * pow(10, -decimals)) {
		memmove(buf + 1, buf, strlen(buf) + 1);
		buf[0] = '+';
	}
	return buf;
}

int net_decimals(double expanded_ns)
{
	if (isnan(expanded_ns))
		return 1;
	return expanded_ns < 1 ? 2 : expanded_ns < 100 ? 1 : 0;
}

char *format_net(const struct cell_result *c, const char *pm, char *buf)
{
	char net[FORMAT_BYTES], u[FORMAT_BYTES];
	int decimals = net_decimals(c->expanded_ns);

	format_number(c->net_ns, decimals, net);
	format_number(c->expanded_ns, decimals, u);
	if (!net[0] || !u[0])
		snprintf(buf, FORMAT_BYTES, "%s", net);
	else
		snprintf(buf, FORMAT_BYTES, "%.24s %.6s %.24s", net, pm, u);
	return buf;
}

char *format_figure(const struct figure *f, int decimals, char *buf)
{
	if (f->state == FIGURE_NUMBER)
		return format_number(f->value, decimals, buf);
	if (f->state == FIGURE_LOST)
		return format_number(INFINITY, decimals, buf);
	if (f->need)
		snprintf(buf, FORMAT_BYTES, "n<%" PRIu64, f->need);
	else
		buf[0] = '\0';
	return buf;
}

char *format_span(const struct span *s, int decimals, char *buf)
{
	char low[FORMAT_BYTES], high[FORMAT_BYTES];

	buf[0] = '\0';
	if (span_is(s))
		snprintf(buf, FORMAT_BYTES, "%.24s to %.24s", format_number(s->low, decimals, low),
			 format_number(s->high, decimals, high));
	return buf;
}

char *format_percent(double share, char *buf)
{
	if (isnan(share))
		buf[0] = '\0';
	else
		snprintf(buf, FORMAT_BYTES, "%.1f %%", share);
	return buf;
}

char *format_count(uint64_t count, char *buf)
{
	char digits[FORMAT_BYTES];
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count), at = 0;

	for (size_t i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

char *format_utc(int64_t utc_ns, char *buf)
{
	time_t t = (time_t)(utc_ns / 1000000000);
	struct tm tm;

	if (utc_ns == 0 || !gmtime_r(&t, &tm) || strftime(buf, FORMAT_BYTES, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		buf[0] = '\0';
	return buf;
}

char *format_time(double ns, char *buf)
{
	static const struct {
		double least;
		const char *unit;
	} scale[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" }, { 0, "ns" } };
	unsigned i = 0;

	while (i < 3 && fabs(ns) < scale[i].least)
		i++;
	snprintf(buf, FORMAT_BYTES, "%.3g %s", scale[i].least > 0 ? ns / scale[i].least : ns, scale[i].unit);
	return buf;
}

char *format_restarts(const struct cell_result *c, char *buf)
{
	int n = snprintf(buf, FORMAT_BYTES, "%" PRIu32 "/%" PRIu32, c->restarts_valid, c->restarts_planned);

	if (c->restarts_failed && n < FORMAT_BYTES)
		n += snprintf(buf + n, (size_t)(FORMAT_BYTES - n), ", %" PRIu32 " failed", c->restarts_failed);
	if (c->restarts_invalid && n < FORMAT_BYTES)
		snprintf(buf + n, (size_t)(FORMAT_BYTES - n), ", %" PRIu32 " invalid", c->restarts_invalid);
	return buf;
}

char *format_ledger(const struct ledger *l, bool whole, char *buf)
{
	char count[FORMAT_BYTES];
	int n = snprintf(buf, LEDGER_BYTES, "%s sent =", format_count(l->sent, count));

	for (int f = 0; f < FATES && n < LEDGER_BYTES; f++)
		if (whole || f <= FATE_LOST || l->fate[f])
			n += snprintf(buf + n, (size_t)(LEDGER_BYTES - n), "%s %s %s", f ? " +" : "",
				      format_count(l->fate[f], count), fate_name((enum fate)f));
	return buf;
}

char *format_ledger_aside(const struct ledger *l, char *buf)
{
	const struct {
		uint64_t count;
		const char *name;
	} asides[] = { { l->set_apart, "set apart" },
		       { l->duplicates, "duplicates" },
		       { l->reordered, "reordered" },
		       { l->foreign, "foreign" } };
	int n = 0;

	buf[0] = '\0';
	for (int i = 0; i < 4 && n < LEDGER_BYTES; i++) {
		char count[FORMAT_BYTES];

		if (asides[i].count)
			n += snprintf(buf + n, (size_t)(LEDGER_BYTES - n), "%s%s %s", n ? ", " : "",
				      format_count(asides[i].count, count), asides[i].name);
	}
	return buf;
}

char *format_ledger_state(const struct cell_result *c, char *buf)
{
	if (c->runs_invalid)
		snprintf(buf, FORMAT_BYTES, "%" PRIu32 " run%s out", c->runs_invalid, c->runs_invalid == 1 ? "" : "s");
	else
		snprintf(buf, FORMAT_BYTES, "%s", c->runs_valid ? "balanced" : "");
	return buf;
}

char *format_carrier(const struct cell_result *c, char *buf)
{
	if (!(c->carrier_asked_bps > 0))
		snprintf(buf, FORMAT_BYTES, "%s", c->regime[0] ? "none" : "");
	else if (isnan(c->carrier_offered_bps))
		buf[0] = '\0';
	else
		snprintf(buf, FORMAT_BYTES, "%.4g/%.4g", c->carrier_received_bps / 1e6, c->carrier_offered_bps / 1e6);
	return buf;
}

char *format_figure_us(const struct figure *f, char *buf)
{
	struct figure us = f->state == FIGURE_NUMBER ? figure_scale(*f, 1e-3) : *f;

	return format_figure(&us, 1, buf);
}

/* Thousands parted in what has no places after the point. */
static char *grouped(double value, char *buf)
{
	char digits[FORMAT_BYTES];
	size_t at = value < 0;

	format_count((uint64_t)llround(fabs(value)), digits);
	snprintf(buf, FORMAT_BYTES, "%s%.32s", at ? "-" : "", digits);
	return buf;
}

/* Of what runs look for, not of probes: infinite is what did not come. */
static char *with_places(double value, int places, char *buf)
{
	if (isinf(value)) {
		snprintf(buf, FORMAT_BYTES, value > 0 ? "never" : "-never");
		return buf;
	}
	if (places <= 0 && fabs(value) >= 10000 && fabs(value) < 1e15)
		return grouped(value, buf);
	return format_number(value, places < 0 ? 0 : places > 12 ? 12 : places, buf);
}

static int places_for(double value, int digits)
{
	return isfinite(value) && value != 0 ? digits - 1 - (int)floor(log10(fabs(value))) : 0;
}

char *format_value(double value, int digits, char *buf)
{
	if (value == floor(value) && fabs(value) < 1e9)
		return with_places(value, 0, buf);
	return with_places(value, places_for(value, digits), buf);
}

int decimals_beside(double value, double half)
{
	int places = isfinite(half) && half > 0 ? places_for(half, 2)
		     : value == floor(value)    ? 0
						: places_for(value, 4);

	return places < 0 ? 0 : places > 12 ? 12 : places;
}

static int quantity_places(const struct quantity_result *q)
{
	return decimals_beside(q->value, span_is(&q->interval) ? (q->interval.high - q->interval.low) / 2 : 0);
}

char *format_quantity(const struct quantity_result *q, char *buf)
{
	return with_places(q->value, quantity_places(q), buf);
}

char *format_quantity_span(const struct quantity_result *q, const struct span *span, char *buf)
{
	char low[FORMAT_BYTES], high[FORMAT_BYTES];
	int places = quantity_places(q);

	buf[0] = '\0';
	if (span_is(span))
		snprintf(buf, FORMAT_BYTES, "%.24s to %.24s", with_places(span->low, places, low),
			 with_places(span->high, places, high));
	return buf;
}

char *format_quantity_interval(const struct quantity_result *q, char *buf)
{
	return format_quantity_span(q, &q->interval, buf);
}

char *format_p(double p, char *buf)
{
	if (isnan(p))
		buf[0] = '\0';
	else
		snprintf(buf, FORMAT_BYTES, p < 0.001 ? "< 0.001" : "%.3f", p);
	return buf;
}

uint32_t exponents_fitted(const struct sweep_result *s)
{
	uint32_t fitted = 0;

	for (uint32_t k = 0; k < s->series_count; k++)
		fitted += !isnan(s->series[k].exponent);
	return fitted;
}

static char *with_misfit(double misfit, int length, char *buf)
{
	if (!isnan(misfit))
		snprintf(buf + length, SENTENCE_BYTES - (size_t)length, "; fit off by %.0f %% at most", 100 * misfit);
	return buf;
}

/* Two points are always on a line. */
static double misfit_of(const struct sweep_series *series)
{
	return series->point_count > 2 ? series->misfit : NAN;
}

char *format_exponent(const struct sweep_result *s, const struct sweep_series *series, char *buf)
{
	const bool is = span_is(&series->exponent_interval);
	char b[FORMAT_BYTES], interval[FORMAT_BYTES];
	const char *within = is ? format_span(&series->exponent_interval, 2, interval) : series->why;
	int n = snprintf(buf, SENTENCE_BYTES, "%.80s ~ %.80s^%s (%s%s)%s%.160s", s->quantity, s->axis,
			 format_number(series->exponent, 2, b), is ? "" : "no interval: ", within,
			 series->name[0] ? ", " : "", series->name);

	return with_misfit(misfit_of(series), n, buf);
}

char *format_exponents(const struct sweep_result *s, char *buf)
{
	double low = INFINITY, high = -INFINITY, misfit = NAN;
	int n;

	for (uint32_t k = 0; k < s->series_count; k++) {
		if (isnan(s->series[k].exponent))
			continue;
		low = fmin(low, s->series[k].exponent);
		high = fmax(high, s->series[k].exponent);
		misfit = fmax(misfit, misfit_of(&s->series[k]));
	}
	n = snprintf(buf, SENTENCE_BYTES, "%.80s ~ %.80s^b, b from %.2f to %.2f in %" PRIu32 " series", s->quantity,
		     s->axis, low, high, exponents_fitted(s));
	return with_misfit(misfit, n, buf);
}

char *format_invalid_runs(const struct cell_result *c, char *buf)
{
	if (c->runs_invalid)
		snprintf(buf, FORMAT_BYTES, "%" PRIu32 " run%s out", c->runs_invalid, c->runs_invalid == 1 ? "" : "s");
	else
		buf[0] = '\0';
	return buf;
}
