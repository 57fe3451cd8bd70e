/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_TERMINAL_PRIVATE_H
#define TARE_REPORT_TERMINAL_PRIVATE_H

#include "report/terminal.h"

/* What a campaign of transit shows instead of net figures: table, chain, ratios. */
int terminal_transit(const struct result *r, FILE *out, const struct terminal_style *style, struct err *err);

#endif
