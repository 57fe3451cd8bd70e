/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_FIGURES_PRIVATE_H
#define TARE_REPORT_FIGURES_PRIVATE_H

#include <stdio.h>

#include "report/result.h"

/* Data and script of each figure (figures_gnuplot.c, figures_values.c). True: there is something to draw. */
typedef bool figure_fn(const struct result *result, FILE *out);

figure_fn ecdf_data, ecdf_script, net_data, net_script, restarts_data, restarts_script, packets_data, packets_script;
figure_fn chain_data, chain_script, sweeps_data, sweeps_script, quantities_data, quantities_script;

/*
 * What scripts are made of (gnuplot.c). Titles stand in scripts only, in single
 * quotes, in which gnuplot reads nothing but the doubled quote.
 */
const char *gnuplot_color(const struct result *result, uint32_t cell);
const char *gnuplot_series_color(uint32_t series);
void gnuplot_quoted(FILE *out, const char *text);
void gnuplot_comment(FILE *out, const char *text);
void gnuplot_number(FILE *out, double value); /* with a space before it; NaN where it is not finite */
void gnuplot_preamble(FILE *out, const char *name, const char *xlabel, const char *ylabel);
void gnuplot_svg(FILE *out, const char *name, unsigned height); /* what is drawn next goes to NAME.svg */
void gnuplot_pdf(FILE *out, const char *name, unsigned height); /* the same drawn once more, as NAME.pdf */

#endif
