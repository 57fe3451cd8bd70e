/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_CSV_H
#define TARE_REPORT_CSV_H

#include "report/result.h"

/*
 * A directory of CSV files (RFC 4180, UTF-8, a head line): cells.csv,
 * restarts.csv, runs.csv, ecdf.csv, packets.csv, blocks.csv, budget.csv,
 * problems.csv. Columns are the members of report/shape.h, in their units
 * (docs/result-schema.md); rows below a cell begin with its label. No such
 * number is an empty field; a figure may also be "lost" or "n<368".
 */
int csv_write(const struct result *result, const char *dir, struct err *err);

#endif
