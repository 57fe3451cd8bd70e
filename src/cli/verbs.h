/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_VERBS_H
#define TARE_CLI_VERBS_H

#include "cli/verb.h"

/* One line a verb, defined in cmd_NAME.c; the order of the help is in verbs.c. */
extern const struct verb verb_doctor;
extern const struct verb verb_plan;
extern const struct verb verb_run;
extern const struct verb verb_report;
extern const struct verb verb_compare;
extern const struct verb verb_export;
extern const struct verb verb_import;
extern const struct verb verb_merge;
extern const struct verb verb_reflect;
extern const struct verb verb_verify;
extern const struct verb verb_lint, verb_clean;
extern const struct verb verb_far_end;

#endif
