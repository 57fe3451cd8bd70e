/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_HTML_PRIVATE_H
#define TARE_REPORT_HTML_PRIVATE_H

#include <stdio.h>

#include "report/result.h"

/* The parts of the page, for html.c. */

/* Text with markup escaped; what XML cannot hold becomes U+FFFD. */
void html_text(FILE *out, const char *text);

void html_style(FILE *out); /* the contents of <style> */

/* Figures as inline SVG; each draws nothing and returns false when the result has nothing to show in it. */
bool chart_net(const struct result *result, FILE *out);
bool chart_distribution(const struct result *result, FILE *out);
bool chart_restarts(const struct result *result, FILE *out);
bool chart_packets(const struct result *result, FILE *out);

/* The same of one quantity, one family of ratios, one sweep. */
bool chart_quantity(const struct result *result, const struct name_value *of, FILE *out);
bool chart_ratios(const struct result *result, uint32_t family, FILE *out);
bool chart_sweep(const struct sweep_result *sweep, FILE *out);

/* A label within about so many characters: `text` itself, or shortened in `buf`. */
const char *chart_label(const char *text, unsigned most, char buf[128]);

/* The colour class of a cell: "tare", or "c0" to "c7". */
const char *chart_class(const struct result *result, uint32_t cell);

/* Sections of html_detail.c. */
/* What makes cold cells slower than warm ones, where it was traced; else nothing. */
void html_causes(const struct result *result, FILE *out);

void html_cells(const struct result *result, FILE *out);
void html_restarts(const struct result *result, FILE *out);
void html_blocks(const struct result *result, FILE *out);
void html_notes(const struct result *result, FILE *out); /* stamp points, method, provenance, events, plan */

/* <td>; `class_name` NULL: none. */
void html_cell(FILE *out, const char *class_name, const char *text);

/* A figure of the whole result, with its caption. */
void html_figure(bool (*draw)(const struct result *, FILE *), const struct result *r, FILE *out, const char *name,
		 const char *caption);

/* Sections of html_values.c; each is nothing where there is nothing to show. */
void html_findings(const struct result *result, FILE *out);
void html_quantities(const struct result *result, FILE *out);
void html_each_quantity(const struct result *result, FILE *out);
void html_comparisons(const struct result *result, FILE *out);
void html_sweeps(const struct result *result, FILE *out);
void html_value_restarts(const struct result *result, FILE *out);

/* The second clock; nothing where there is none. */
void html_second(const struct result *result, FILE *out);
/* Why cells stopped, and each cell by host; nothing where there is neither. */
void html_course(const struct result *r, FILE *out);

/* Transit: where the regime changes. Nothing where nothing is said of it. */
void html_regimes(const struct result *r, FILE *out);

/* Calibrate: loss by rate, and every trial. Nothing where there is no search. */
void html_trials(const struct result *r, FILE *out);

/* The vendor's worst case; nothing where none is stated. */
void html_bound(const struct result *result, FILE *out);

/* Headline, chain and ratios of a transit campaign. */
void html_transit(const struct result *r, FILE *out);
void html_telemetry(const struct result *r, FILE *out); /* hop by hop */

#endif
