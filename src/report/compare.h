/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_COMPARE_H
#define TARE_REPORT_COMPARE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/result.h"
#include "report/terminal.h"

/*
 * Two results against each other, cell by cell (by label): ratio b / a with its
 * 95 % interval (Fieller, from each side's uncertainty). a is what was, b what is
 * now: 1.05 means b is 5 % slower. Metrics: "net", or a gross quantile "p50" to
 * "p99.99", whose uncertainty comes from the restarts. Below 6 restarts there is
 * a ratio but no interval.
 */
enum { METRICS = 1 + QUANTILES };

const char *metric_name(unsigned metric);

struct compared_cell {
	const char *label, *title; /* of result b */
	double a_ns, b_ns;         /* NaN: not there; +infinity: lost */
	double a_u_ns, b_u_ns;     /* standard uncertainty; NaN: unknown */
	double a_dof, b_dof;       /* its degrees of freedom; +infinity: known */
	double ratio;              /* b / a; NaN: cannot be said */
	double low, high;          /* its 95 % interval; NaN: none */
	const char *why;           /* why there is no ratio or no interval; empty: all there */
};

struct compared {
	unsigned metric;
	struct compared_cell *cells; /* in the order of b */
	uint32_t count;
};

/* A limit for CI: "p50>+5%" fails when b is more than 5 % over a; "net<-10%" when it is more than 10 % under. */
struct condition {
	const char *text;
	unsigned metric;
	bool above;
	double limit; /* ratio: 1.05 */
};

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_UNKNOWN };

int condition_parse(const char *text, struct condition *ret, struct err *err);

/* On the ratio itself; with `proved` only when the whole interval lies beyond the limit (no interval: unknown). */
enum verdict condition_judge(const struct condition *condition, const struct compared_cell *cell, bool proved);

/* Everything lives in `arena`. ERR_USAGE where the results have no cell in common. */
int compare_results(const struct result *a, const struct result *b, unsigned metric, struct arena *arena,
		    struct compared *ret, struct err *err);

int compare_write(const struct result *a, const struct result *b, const struct compared *compared, FILE *out,
		  const struct terminal_style *style, struct err *err);

#endif
