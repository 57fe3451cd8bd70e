/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_TERMINAL_PRIVATE_H
#define TARE_REPORT_TERMINAL_PRIVATE_H

#include "report/terminal.h"

/* What a campaign of transit shows instead of net figures: table, chain, ratios. */
int terminal_transit(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err);

/* Quantities of runs: the summary, a row a cell; a table each; what is compared; how they grow. Each prints nothing where
 * there is nothing. `all`: of every quantity, else of the first. */
/* Telemetry: a row a hop. Nothing where no cell has any. */
int terminal_hops(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err);

int terminal_quantities(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err);
int terminal_quantity_details(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err);
int terminal_comparisons(const struct result *r, bool all, FILE *out, const struct terminal_style *style,
			 struct err *err);
int terminal_ratio_table(const struct result *r, uint32_t family, FILE *out, const struct terminal_style *style,
			 struct err *err);
void terminal_exponents(const struct result *r, bool all, FILE *out, const struct terminal_style *style);

/* Campaigns on several hosts: each cell's figure by host, and how much hosts differ. Prints nothing for others. */
int terminal_hosts(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err);
/* What makes cold cells slower than warm ones, where it was traced; else nothing. */
void terminal_causes(const struct result *r, FILE *out, const struct terminal_style *style);

/* The second clock: a row a cell that has one. Prints nothing where none has. */
int terminal_second(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err);

/* The vendor's worst case: a row a cell that is held against one. Prints nothing where none is. */
int terminal_bound(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err);

/* Plans with a stop: section: why each cell stopped. Prints nothing for others. */
void terminal_stops(const struct result *r, FILE *out);

/* Transit: where the regime changes; with or without the steps between levels. */
int terminal_regimes(const struct result *r, bool steps, FILE *out, const struct terminal_style *style,
		     struct err *err);

/* Calibrate: every search with its trials. Prints nothing where there is none. */
int terminal_trials(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err);

void terminal_heading(FILE *out, const struct terminal_style *style, const char *text);

/* Words wrapped at the width, further lines indented; `at`: the column that the line is in already. */
void terminal_wrapped(FILE *out, const struct terminal_style *style, unsigned indent, unsigned at, const char *text);

#endif
