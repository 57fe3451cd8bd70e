/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_CHART_DATA_H
#define TARE_REPORT_CHART_DATA_H

#include "report/result.h"

/*
 * What the figures in the page and the figures for papers show alike: colours,
 * ranges, residuals. Choices of drawing; no figure of a result is made here.
 */
enum { CHART_COLORS = 8 };

/* Which of the colours a cell has: 0 to CHART_COLORS - 1; CHART_COLORS for a tare. */
unsigned chart_color(const struct result *result, uint32_t cell);

/* The same for quantities, in which every cell stands on a line of its own: by its value of the axis that is compared. */
unsigned chart_color_by_contrast(const struct result *result, uint32_t cell);

/* What is measured, and in what: ns of gross latency, or us in the switch. */
struct chart_scale {
	const char *name; /* "gross latency, rx_path - rx_bypass" */
	const char *of;   /* "gross median", "in-switch median" */
	const char *cell; /* "program", "cell" */
	const char *unit; /* "ns" */
	double per_ns;    /* multiply ns by this */
};
struct chart_scale chart_scale(const struct result *result);

/* A restart's median less its cell's; NaN for one in no figure. */
double chart_restart_residual_ns(const struct result *result, const struct restart_result *restart);

/* So far from 0 that 99 of 100 packets are inside, over all cells, at least 1; 0 where there are none. */
double chart_packet_reach_ns(const struct result *result);

/* From the least first per cent to the largest 99th of any cell. False: there is no distribution. */
bool chart_ecdf_range_ns(const struct result *result, double *ret_low, double *ret_high);

/* Do values spread so far that only a logarithmic axis shows them all? */
bool chart_wants_log(double least, double most);

#endif
