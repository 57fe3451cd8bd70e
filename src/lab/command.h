/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_COMMAND_H
#define TARE_LAB_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * A command of the user's, run by /bin/sh to its end: in a process group of its
 * own, without standard input, in at most limit_ms, its output read as fast as
 * it comes and only the end of it kept, however much that is. Whoever it leaves
 * running in its group is killed with it; so is all of it when the thread that
 * called ends.
 */
enum { COMMAND_TAIL_BYTES = 4096, COMMAND_VARIABLES_MOST = 8 };

struct command {
	const char *name;      /* in messages: "hook flash" */
	const char *text;      /* what sh -c gets */
	const char *directory; /* where it starts; NULL: here */
	/* Put into its environment beside ours: "TARE_PROGRAM", "forward". */
	struct command_variable {
		const char *name, *value;
	} variables[COMMAND_VARIABLES_MOST];
	unsigned variable_count;
	int64_t limit_ms;
	const atomic_bool *interrupted; /* NULL: cannot be */
};

struct command_outcome {
	int64_t took_ms;
	uint64_t output_bytes;             /* all that came, of both its outputs */
	char tail[COMMAND_TAIL_BYTES + 1]; /* the end of it, as text: what is neither printable nor a line end is '?' */
};

/*
 * 0: it ended with status 0. Else ERR_HOST, naming how it ended (-ECHILD: its status or a signal; -ETIMEDOUT) with
 * the last lines of its output; or -EINTR, ERR_INTERRUPTED. *ret is filled in each case.
 */
int command_run(const struct command *command, struct command_outcome *ret, struct err *err);

#endif
