/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_LINES_H
#define TARE_IMPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * A text file, line by line, in the memory of one buffer however long the file
 * is. Lines end with LF or CR LF. What no text has (a NUL), a line longer than
 * LINES_LONGEST and a last line without an end are errors that name file and
 * line: the last is what a file looks like whose copy was cut short.
 */
enum { LINES_LONGEST = 64 << 10 };

struct lines {
	const char *path; /* for messages; the caller's */
	int fd;           /* -1: from memory */
	char *buffer;
	size_t from, to; /* what is read and not yet handed out */
	uint64_t number; /* of the line handed out last, from 1 */
	uint64_t bytes;  /* handed out so far, ends counted */
	bool end;        /* of the file */
};

/* -ENOENT and the like (ERR_USAGE), -ENOMEM. Release after success only. */
int lines_open(struct lines *l, const char *path, struct err *err);

/* From memory, which stays the caller's; `name` stands in messages. */
int lines_open_memory(struct lines *l, const void *bytes, size_t count, const char *name, struct err *err);
void lines_release(struct lines *l);

/* 1: a line, without its end, until the next call. 0: there are no more. Negative: an error. */
int lines_next(struct lines *l, const char **ret_text, size_t *ret_length, struct err *err);

#endif
