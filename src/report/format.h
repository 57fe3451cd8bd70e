/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_FORMAT_H
#define TARE_REPORT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "report/result.h"

/*
 * Numbers as every renderer writes them, so that a figure looks the same in the
 * terminal and in the page. Each returns buf, which must hold FORMAT_BYTES.
 */
enum { FORMAT_BYTES = 64 };

/* "149.1"; "" for NaN, "lost" for infinity. `decimals` as net_decimals says, or 1. */
char *format_number(double value, int decimals, char *buf);
char *format_signed(double value, int decimals, char *buf); /* "+1.3" */

/* Digits worth printing beside this expanded uncertainty: two significant ones, within 0 to 2. */
int net_decimals(double expanded_ns);

/* "149.1 ± 1.3"; "149.1" where there is no uncertainty. `pm` is how to write the sign. */
char *format_net(const struct cell_result *cell, const char *pm, char *buf);

/* "181.3", "lost", "n<368", "". */
char *format_figure(const struct figure *figure, int decimals, char *buf);

/* "148.2 to 150.0"; "" where there is none. */
char *format_span(const struct span *span, int decimals, char *buf);

char *format_percent(double share, char *buf); /* "99.1 %" */

/* "200,000" */
char *format_count(uint64_t count, char *buf);

/* "2026-03-01 12:00:00 UTC"; "" for 0 */
char *format_utc(int64_t utc_ns, char *buf);

/* "12,345", "0.457", "2.61": `digits` significant ones, none after the point more than that takes. */
char *format_value(double value, int digits, char *buf);

/* Places after the point for a value whose uncertainty is `half`: two digits of it; four of the value where there is none. */
int decimals_beside(double value, double half);

/*
 * A quantity and its intervals, to as many places as make two digits of the interval's half; without one four digits.
 * Infinite: "never".
 */
char *format_quantity(const struct quantity_result *quantity, char *buf);
char *format_quantity_interval(const struct quantity_result *quantity, char *buf);
char *format_quantity_span(const struct quantity_result *quantity, const struct span *span, char *buf);

/* "0.031", "< 0.001", "" */
char *format_p(double p, char *buf);

/* How many series of a sweep have an exponent; more than SERIES_EACH: a summary gives their range. */
enum { SERIES_EACH = 4, SENTENCE_BYTES = 512 };
uint32_t exponents_fitted(const struct sweep_result *sweep);

/*
 * "switch_rss ~ hops^0.99 (0.98 to 1.01), carrier=1Mbps; fit off by 1 % at most", and
 * "batch_wall ~ switches^b, b from 0.97 to 1.31 in 12 series; fit off by 8 % at most". buf holds SENTENCE_BYTES.
 */
char *format_exponent(const struct sweep_result *sweep, const struct sweep_series *series, char *buf);
char *format_exponents(const struct sweep_result *sweep, char *buf);

/* "2 runs out", or "" */
char *format_invalid_runs(const struct cell_result *cell, char *buf);

/* "2.4 s", "12 ms", "310 ns" */
char *format_time(double ns, char *buf);

/* "6/6", or "5/6, 1 failed" */
char *format_restarts(const struct cell_result *cell, char *buf);

/* "200,000 sent = 199,990 matched + 10 lost + ...": the account in a line; fates that nothing met, lost aside, only when
 * `whole`. `buf` holds LEDGER_BYTES. */
enum { LEDGER_BYTES = 512 };
char *format_ledger(const struct ledger *ledger, bool whole, char *buf);
char *format_ledger_aside(const struct ledger *ledger, char *buf); /* "12 duplicates, 3 reordered, ..." or "" */

/* Transit: a figure in us; "24.9/25.0", Mbit/s received and sent, "none" without a carrier. */
char *format_figure_us(const struct figure *figure, char *buf);
char *format_carrier(const struct cell_result *cell, char *buf);

/* One word for a table: "balanced", "3 runs invalid", "none". */
char *format_ledger_state(const struct cell_result *cell, char *buf);

#endif
