/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_SVG_H
#define TARE_REPORT_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* Axes and text for the figures in the page. Sizes are in the units of the view box, about a pixel each. */
struct axis {
	double low, high; /* at whole steps */
	double step;      /* logarithmic: 0 */
	double from, to;  /* where low and high are drawn */
	bool log;
};

/* Steps of 1, 2 or 5 times a power of ten, about `ticks` of them. low < high. */
struct axis axis_make(double low, double high, unsigned ticks, double from, double to);
/* Logarithmic, both ends above 0. */
struct axis axis_make_log(double low, double high, double from, double to);
double axis_at(const struct axis *axis, double value);

void svg_begin(FILE *out, double width, double height, const char *description);
void svg_end(FILE *out);
/* `anchor`: "start", "middle" or "end". Escapes. */
void svg_text(FILE *out, double x, double y, const char *anchor, const char *class_name, const char *text);
/* Grid lines and tick labels: of an x axis between y values top and bottom, of a y axis between x values. */
void svg_x_axis(FILE *out, const struct axis *axis, double top, double bottom, const char *title);
void svg_y_axis(FILE *out, const struct axis *axis, double left, double right, const char *title);

#endif
