/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_FIGURES_H
#define TARE_REPORT_FIGURES_H

#include "report/result.h"

/*
 * The figures for papers, drawn by gnuplot at run time as SVG and PDF: ecdf, net,
 * restarts, packets, chain, sweeps, quantities, as far as the measure has them. Beside each stand its data (NAME.dat) and its script
 * (NAME.gp), so that a figure can be changed and drawn again with
 * `gnuplot NAME.gp` in that directory. A figure that was not drawn is never
 * silently missing: its outcome says why, and data and script are there all the same.
 */
enum { FIGURES_MOST = 7 };

struct figure_outcome {
	const char *name; /* "ecdf" */
	bool drawn;       /* both files; an older pair is removed where it was not */
	char reason[256]; /* why not */
};

struct figures_outcome {
	struct figure_outcome figure[FIGURES_MOST];
	unsigned count; /* that the measure has */
	unsigned drawn;
};

/*
 * `gnuplot` NULL: found in PATH. Returns 0 when data and scripts are written, whatever
 * became of the drawing; an error when the directory cannot be written.
 */
int figures_write(const struct result *result, const char *dir, const char *gnuplot, struct figures_outcome *ret,
		  struct err *err);

/* 0 if all were drawn, else ERR_HOST with what is missing and why. */
int figures_check(const struct figures_outcome *outcome, struct err *err);

#endif
