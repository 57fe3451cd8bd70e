/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_PLAN_CHECK_H
#define TARE_CLI_PLAN_CHECK_H

#include <stdio.h>

#include "plan/plan.h"

/*
 * Load a plan for a verb: every problem is a line on stderr, "PLAN:LINE:COLUMN:
 * message", and *err sums them up; with `json` they are a document on stdout
 * besides. On success *ret_plan is the caller's (plan_destroy). `tare plan` and
 * `tare run --dry-run` are this check.
 */
int cli_plan_check(const char *path, bool json, struct plan **ret_plan, struct err *err);

/* What is right but weak about a plan, a line each on stderr: too few restarts for an interval, and the like. */
void cli_plan_notes(const struct plan *plan);

/* The plan as `tare plan` shows it: on `out`, whole order with `verbose`; or as JSON. 0, or -ENOMEM with *err. */
void plan_text_write(FILE *out, const struct plan *plan, bool verbose);
int plan_json_write(FILE *out, const struct plan *plan, struct err *err);

/* The document of a plan that is wrong: its problems, or *err where it could not be read. */
int plan_problems_json_write(FILE *out, const char *path, const struct plan_problems *problems, const struct err *why);

/* All that may stand in a plan, from the tables that read it: for people, and as a page for man(5). */
void plan_keys_write(FILE *out);
void plan_keys_man_write(FILE *out);

/* "1 h 12 min", "41.5 s", "350 ms": for people. Returns buf. */
const char *duration_text(int64_t ns, char *buf, size_t size_bytes);

#endif
