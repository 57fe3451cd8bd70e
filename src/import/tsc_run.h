/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_TSC_RUN_H
#define TARE_IMPORT_TSC_RUN_H

#include "import/csv.h"
#include "import/ids.h"
#include "probe/pair.h"
#include "probe/run.h"

/*
 * One CSV of the published receiver: a row for each probe whose two copies came,
 * its stamps by the TSC in whole ns since the first (tx_ts_ns is 0: not recorded).
 */
extern const char *const tsc_run_columns[]; /* NULL-terminated: what makes a CSV one of these */

/* Add the ids of a file to those that were seen. */
int tsc_run_note(const char *path, struct import_seen *seen, struct err *err);

/*
 * Fates and stamps of ids->count probes, and the run's record as far as the file
 * gives it. Bad rows (a difference that is not that of its stamps among them) are
 * errors; ids read twice, or that nobody sent, are counted.
 */
int tsc_run_read(const char *path, const struct import_ids *ids, struct pair *ret_pairs, struct run_record *ret,
		 struct err *err);

/* The same of a CSV that has been opened; releases it. */
int tsc_run_take(struct csv *csv, const struct import_ids *ids, struct pair *ret_pairs, struct run_record *ret,
		 struct err *err);

#endif
