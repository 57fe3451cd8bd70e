/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_RUN_SLURM_H
#define TARE_CLI_RUN_SLURM_H

#include "cli/verb.h"
#include "plan/plan.h"

/* `tare run --slurm`: submit, wait, merge, and show what came of it. */
int cli_run_slurm(const struct invocation *inv, const struct plan *plan, struct err *err);

/* A store's summary on stdout, as a run ends with it. */
int cli_show_summary(const struct invocation *inv, const char *dir, struct err *err);

#endif
