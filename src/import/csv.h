/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_CSV_H
#define TARE_IMPORT_CSV_H

#include "import/lines.h"

/*
 * Whole numbers from a CSV file whose first line names its columns: in any order,
 * others between them skipped. Every error is ERR_USAGE and names file, line, column and value.
 */
enum { CSV_WANTED_MOST = 8, CSV_FIELDS_MOST = 64 };

struct csv {
	struct lines lines;
	const char *const *wanted; /* NULL-terminated */
	unsigned wanted_count;
	unsigned fields;               /* of every line */
	int8_t place[CSV_FIELDS_MOST]; /* of each field in the row handed out; -1: not wanted */
};

/* Does this header line name all of them? */
bool csv_header_has(const char *line, size_t length, const char *const *wanted);

/* Take over `lines`, which are open, and read the header. A failure releases them. */
int csv_start(struct csv *c, const char *const *wanted, struct err *err);

/* Open and read the header. */
int csv_open(struct csv *c, const char *path, const char *const *wanted, struct err *err);
void csv_release(struct csv *c);

/* 1: a row, in the order of `wanted`; 0: there are no more; negative: an error. Empty lines are skipped. */
int csv_next(struct csv *c, int64_t *ret_values, struct err *err);

#endif
