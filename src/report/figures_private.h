/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_FIGURES_PRIVATE_H
#define TARE_REPORT_FIGURES_PRIVATE_H

#include <stdio.h>

#include "report/result.h"

/* Data and script of each figure (figures_gnuplot.c). True: there is something to draw. */
typedef bool figure_fn(const struct result *result, FILE *out);

figure_fn ecdf_data, ecdf_script, net_data, net_script, restarts_data, restarts_script, packets_data, packets_script;

#endif
