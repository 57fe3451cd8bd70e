/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_TERMINAL_H
#define TARE_REPORT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "report/result.h"

/*
 * A result for people at a terminal. Columns that do not fit the width are left
 * out, least important first; the plot of the intervals takes what room is left.
 * Text from plans and targets is shown with its control characters replaced.
 */
struct terminal_style {
	unsigned width; /* columns */
	bool utf8;      /* else plain ASCII */
	bool color;
};

/* Width of the terminal behind `out` (100 where it is none; COLUMNS wins), character set by the environment's locale. */
struct terminal_style terminal_style_of(FILE *out, bool color);

/* What may stand below the summary. */
enum terminal_parts {
	TERMINAL_CELLS = 1 << 0,  /* each cell's quantiles, intervals, spread and conditions; the stamp points */
	TERMINAL_BUDGET = 1 << 1, /* each uncertainty, term by term */
};

/* The report: the summary, and the parts asked for. 0 or -errno. */
int terminal_write(const struct result *result, FILE *out, const struct terminal_style *style, unsigned parts,
		   struct err *err);

/* What a run ends with, and a report begins with: the table, its ledger, and the problems. */
int report_print_summary(const struct result *result, FILE *out, const struct terminal_style *style, struct err *err);

/* The problems alone, gravest first. */
void terminal_problems(const struct result *result, FILE *out, const struct terminal_style *style);

/* Print text with control characters replaced; returns its columns. */
unsigned terminal_text(FILE *out, const char *text);

/* Columns that text takes: code points, combining marks aside. */
unsigned terminal_columns(const char *text);

/* A table of text cells: measures, aligns, draws. Shared with `tare compare`. */
enum { TABLE_COLUMNS_MOST = 20, TABLE_CELL_BYTES = 128 };

struct table_column {
	const char *title;
	bool right; /* numbers */
	bool bold;
	unsigned optional; /* left out when too wide, highest first; 0: never */
};

struct table_row {
	char cell[TABLE_COLUMNS_MOST][TABLE_CELL_BYTES];
	double plot_low, plot_high, plot_at; /* NaN: nothing in this row's plot */
};

struct table {
	const struct table_column *columns; /* ends with a NULL title */
	struct table_row *rows;
	unsigned count;
	bool plot; /* a last column with the rows' intervals on one axis from 0 */
};

void terminal_table(FILE *out, const struct table *table, const struct terminal_style *style);

#endif
