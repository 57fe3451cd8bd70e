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

double axis_at(const struct axis *a, double value)
{
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

static unsigned tick_count(const struct axis *a)
{
	double count = (a->high - a->low) / a->step;

	return count >= 0 && count < 50 ? (unsigned)lround(count) : 0; /* a saved result may hold any numbers */
}

static void tick_text(const struct axis *a, double value, char *buf)
{
	int decimals = a->step >= 1 ? 0 : (int)ceil(-log10(a->step) - 1e-9);

	format_number(fabs(value) < a->step / 2 ? 0 : value, decimals, buf);
}

void svg_x_axis(FILE *out, const struct axis *a, double top, double bottom, const char *title)
{
	char text[FORMAT_BYTES];

	for (unsigned i = 0; i <= tick_count(a); i++) {
		double value = a->low + i * a->step, x = axis_at(a, value);

		fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n",
			fabs(value) < a->step / 2 ? "zero" : "grid", x, top, bottom);
		tick_text(a, value, text);
		svg_text(out, x, bottom + 16, "middle", "tick", text);
	}
	if (title)
		svg_text(out, (a->from + a->to) / 2, bottom + 34, "middle", "label", title);
}

void svg_y_axis(FILE *out, const struct axis *a, double left, double right, const char *title)
{
	char text[FORMAT_BYTES];

	for (unsigned i = 0; i <= tick_count(a); i++) {
		double value = a->low + i * a->step, y = axis_at(a, value);

		fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n",
			fabs(value) < a->step / 2 ? "zero" : "grid", left, y, right);
		tick_text(a, value, text);
		svg_text(out, left - 6, y + 4, "end", "tick", text);
	}
	if (title)
		svg_text(out, left, fmin(a->from, a->to) - 10, "start", "label", title);
}
