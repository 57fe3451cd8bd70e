/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_COMPARE_H
#define TARE_REPORT_COMPARE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/result.h"
#include "report/terminal.h"

/*
 * Two results against each other, cell by cell (by label): ratio b / a with its
 * 95 % interval (stats/compare.h: for a net Fieller's from each side's uncertainty, for what cannot be negative on
 * logarithms of the restarts). a is what was, b what is
 * now: 1.05 means b is 5 % slower. A metric is "net", a gross quantile "p50" to
 * "p99.99", or the name of a quantity; what has no tare has its p50 for a net.
 * Uncertainty comes from the restarts: below 6 there is a ratio but no interval.
 */
struct compared_cell {
	const char *label, *title; /* of result b */
	double a, b;               /* NaN: not there; +infinity: lost */
	double a_u, b_u;           /* standard uncertainty; NaN: unknown */
	double a_dof, b_dof;       /* its degrees of freedom; +infinity: known */
	double ratio;              /* b / a; NaN: cannot be said */
	double low, high;          /* its 95 % interval; NaN: none */
	const char *why;           /* why there is no ratio or no interval; empty: all there */
};

struct compared {
	const char *metric;
	const char *unit;            /* of the figures */
	struct compared_cell *cells; /* in the order of b */
	uint32_t count;
};

/* A limit for CI: "p50>+5%" fails when b is more than 5 % over a; "net<-10%" when it is more than 10 % under. */
struct condition {
	const char *text;
	char metric[48];
	bool above;
	double limit; /* ratio: 1.05 */
};

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_UNKNOWN };

int condition_parse(const char *text, struct condition *ret, struct err *err);

/* On the ratio itself; with `proved` only when the whole interval lies beyond the limit (no interval: unknown). */
enum verdict condition_judge(const struct condition *condition, const struct compared_cell *cell, bool proved);

/* Is it net or a quantile, and not a quantity? */
bool metric_is_latency(const char *metric);

/* What to compare where nobody says: net or p50; NULL: each of b's quantities. */
const char *metric_fallback(const struct result *b);

/* Everything lives in `arena`. ERR_USAGE where the results have no cell in common, or neither has the quantity. */
int compare_results(const struct result *a, const struct result *b, const char *metric, struct arena *arena,
		    struct compared *ret, struct err *err);

int compare_write(const struct result *a, const struct result *b, const struct compared *compared, FILE *out,
		  const struct terminal_style *style, struct err *err);

#endif
