/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_TELEMETRY_ROWS_H
#define TARE_REPORT_TELEMETRY_ROWS_H

#include "report/result.h"

/*
 * The quantities of a telemetry campaign as a table by hop: what stands in the result as link_2, link_3, ... is a
 * column here. For renderers; nothing is computed.
 */
struct telemetry_column {
	const char *name, *title; /* "link", for link_2 and so on; "link us" */
};

extern const struct telemetry_column telemetry_columns[]; /* ends with a NULL name */

/* How many hops a cell has figures of. */
unsigned telemetry_hops(const struct cell_result *cell);

/* "link" of hop 2: link_2. NULL: it has none. */
const struct quantity_result *telemetry_quantity(const struct cell_result *cell, const char *name, unsigned hop);

#endif
