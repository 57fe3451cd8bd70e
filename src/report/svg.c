/* SPDX-License-Identifier: Apache-2.0 */
#include "report/svg.h"

#include <math.h>

#include "report/format.h"
#include "report/html_private.h"

struct axis axis_make(double low, double high, unsigned ticks, double from, double to)
{
	struct axis a = { .from = from, .to = to };
	double raw, power;

	if (!(high > low)) /* one value: give it some room */
		high = low + 1;
	raw = (high - low) / (ticks ? ticks : 1);
	power = pow(10, floor(log10(raw)));
	a.step = raw <= power ? power : raw <= 2 * power ? 2 * power : raw <= 5 * power ? 5 * power : 10 * power;
	a.low = floor(low / a.step + 1e-9) * a.step;
	a.high = ceil(high / a.step - 1e-9) * a.step;
	return a;
}

struct axis axis_make_log(double low, double high, double from, double to)
{
	struct axis a = { .from = from, .to = to, .log = true, .low = low, .high = high };

	if (!(high > low * 1.0001)) {
		a.low = low / 2;
		a.high = low * 2;
	}
	/* some room, so that nothing stands on the frame */
	a.low /= pow(a.high / a.low, 0.03);
	a.high *= pow(a.high / a.low, 0.03);
	return a;
}

double axis_at(const struct axis *a, double value)
{
	if (a->log && !(value > 0)) /* beyond the end, where a clip hides it */
		return a->from - (a->to - a->from);
	if (a->log)
		return a->from + log(value / a->low) / log(a->high / a->low) * (a->to - a->from);
	return a->from + (value - a->low) / (a->high - a->low) * (a->to - a->from);
}

void svg_begin(FILE *out, double width, double height, const char *description)
{
	fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\"><title>", width, height);
	html_text(out, description);
	fputs("</title>\n", out);
}

void svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}

void svg_text(FILE *out, double x, double y, const char *anchor, const char *class_name, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class_name);
	html_text(out, text);
	fputs("</text>\n", out);
}

enum { TICKS_MOST = 50 };

/* 1, 2 and 5 of each decade, fewer where there are many decades. */
static unsigned log_ticks(const struct axis *a, double *ret)
{
	static const double mantissas[] = { 1, 2, 5 };
	double decades = log10(a->high / a->low);
	unsigned n = 0;

	if (decades < 0.6) { /* no decade in sight: even steps */
		struct axis even = axis_make(a->low, a->high, 5, 0, 1);

		for (double value = even.low; value <= a->high && n < TICKS_MOST; value += even.step)
			if (value >= a->low)
				ret[n++] = value;
		return n;
	}
	for (double e = floor(log10(a->low)); pow(10, e) <= a->high; e += decades > 10 ? ceil(decades / 10) : 1)
		for (unsigned m = 0; m < (decades > 3 ? 1 : 3); m++) {
			double value = mantissas[m] * pow(10, e);

			if (value >= a->low && value <= a->high && n < TICKS_MOST)
				ret[n++] = value;
		}
	return n;
}

static unsigned tick_count(const struct axis *a)
{
	double count = (a->high - a->low) / a->step;

	return count >= 0 && count < TICKS_MOST - 1 ? (unsigned)lround(count)
						    : 0; /* a saved result may hold any numbers */
}

/* Where ticks stand; returns how many. `ret` has room for TICKS_MOST. */
static unsigned ticks_of(const struct axis *a, double *ret)
{
	if (a->log)
		return log_ticks(a, ret);
	for (unsigned n = 0, last = tick_count(a);; n++) {
		ret[n] = a->low + n * a->step;
		if (n == last)
			return n + 1;
	}
}

static void tick_text(const struct axis *a, double value, char *buf)
{
	int decimals;

	if (a->log) { /* such an axis has no step */
		snprintf(buf, FORMAT_BYTES, value >= 1000 && value < 1e7 ? "%.0f" : "%.3g", value);
		return;
	}
	decimals = a->step > 0 && a->step < 1 ? (int)ceil(-log10(a->step) - 1e-9) : 0;
	format_number(fabs(value) < a->step / 2 ? 0 : value, decimals, buf);
}

void svg_x_axis(FILE *out, const struct axis *a, double top, double bottom, const char *title)
{
	double ticks[TICKS_MOST];
	char text[FORMAT_BYTES];
	unsigned count = ticks_of(a, ticks);

	for (unsigned i = 0; i < count; i++) {
		double value = ticks[i], x = axis_at(a, value);

		fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n",
			!a->log && fabs(value) < a->step / 2 ? "zero" : "grid", x, top, bottom);
		tick_text(a, value, text);
		svg_text(out, x, bottom + 16, "middle", "tick", text);
	}
	if (title)
		svg_text(out, (a->from + a->to) / 2, bottom + 34, "middle", "label", title);
}

void svg_y_axis(FILE *out, const struct axis *a, double left, double right, const char *title)
{
	double ticks[TICKS_MOST];
	char text[FORMAT_BYTES];
	unsigned count = ticks_of(a, ticks);

	for (unsigned i = 0; i < count; i++) {
		double value = ticks[i], y = axis_at(a, value);

		fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n",
			!a->log && fabs(value) < a->step / 2 ? "zero" : "grid", left, y, right);
		tick_text(a, value, text);
		svg_text(out, left - 6, y + 4, "end", "tick", text);
	}
	if (title)
		svg_text(out, left, fmin(a->from, a->to) - 10, "start", "label", title);
}
