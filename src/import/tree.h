/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_TREE_H
#define TARE_IMPORT_TREE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * What a directory of the FPGA study holds, by the names and headers of its files:
 *
 *	TAG_sN/..._runR.csv, TAG_sN_runR.csv   stamps by the TSC: run R of session N of the program TAG
 *	silicon_TAG_sN.csv                     differences by the second clock, all runs of that session
 *	refl_TAG_sN.pcap                       the reflected copies, captured by the second clock
 *	other .pcap                            the traces that were sent
 *
 * at any depth. Files of other kinds are counted; a file that has one of these names and not that content is an error.
 */
struct tree_run {
	uint32_t run; /* from 1, as its name says */
	const char *path;
};

struct tree_session {
	uint32_t session; /* from 1 */
	struct tree_run *runs;
	uint32_t run_count;
	const char *second_csv, *capture; /* NULL: none */
};

struct tree_program {
	const char *tag;
	struct tree_session *sessions; /* in order */
	uint32_t session_count;
};

struct tree {
	struct tree_program *programs; /* by tag */
	uint32_t program_count;
	const char **traces;
	uint32_t trace_count;
	const char **ignored; /* CSV files that are none of these */
	uint32_t ignored_count;
	uint64_t bytes; /* of all run CSVs */
	uint32_t run_count;
};

extern const char *const second_csv_columns[]; /* NULL-terminated: what makes a CSV one of the second clock */

int tree_read(const char *dir, struct arena *arena, struct tree *ret, struct err *err);

const struct tree_program *tree_find(const struct tree *tree, const char *tag);

#endif
