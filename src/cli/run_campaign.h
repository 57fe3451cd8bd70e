/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_RUN_CAMPAIGN_H
#define TARE_CLI_RUN_CAMPAIGN_H

#include "campaign/campaign.h"

/*
 * Run a plan into a directory as a person at a terminal wants it: the host checked first, its facts stored, progress on
 * stderr, Ctrl-C stops it. `options` says the rest; its signals, progress and facts are set here.
 */
int cli_run_campaign(const struct plan *plan, const char *dir, struct campaign_options options, bool quiet,
		     struct campaign_counts *counts, struct err *err);

/* "results/NAME" in *ret (the caller's, free), its parent made; or `given`. */
int cli_campaign_directory(const char *given, const char *name, char **ret, struct err *err);

/* The parent, if it was made for nothing. */
void cli_campaign_directory_undo(const char *given);

#endif
