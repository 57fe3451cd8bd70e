/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_IMPORT_H
#define TARE_IMPORT_IMPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Other people's data as campaigns of ours: stores that the whole of report,
 * compare and export work on. Formats are described in docs/formats.md; what an
 * import can and cannot know in docs/method.md.
 */
struct import_options {
	const char *output; /* directory of the new campaign; must not exist */
	uint32_t sent;      /* probes sent in a run, as the data's author says; 0: from the data */
	const char *tares;  /* "PROGRAM=NULL,...": tags of programs and their null, beside those known; NULL: none */
	bool captures;      /* read reflected captures also where their differences are there as CSV */
	const atomic_bool *interrupted; /* raised by a signal handler; NULL: never */
	/* Between files; `done` of `all` bytes. NULL: none. */
	void (*progress)(void *context, const char *what, uint64_t done, uint64_t all);
	/* Something that the reader should know: kept in the campaign as well. NULL: none. */
	void (*note)(void *context, const char *text);
	void *context;
};

struct import_counts {
	uint32_t campaigns, restarts, runs;
	uint64_t probes;       /* rows of the campaigns' samples */
	uint64_t second_pairs; /* of them also by a second clock */
	uint64_t records;      /* read */
};

/* A directory of the FPGA study. -EINTR: interrupted; then, as after any failure, nothing is left. */
int import_latencylab(const char *dir, const struct import_options *options, struct import_counts *ret,
		      struct err *err);

/* Files of the BMv2 study, each a process start of its harness. More than one campaign if they hold several measures:
 * then `output` is the directory that they go into, each with the name of its measure. */
int import_study(const char *const *paths, unsigned count, const struct import_options *options,
		 struct import_counts *ret, struct err *err);

#endif
