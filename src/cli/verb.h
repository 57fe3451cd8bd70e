/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_VERB_H
#define TARE_CLI_VERB_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/settings.h"

/*
 * A verb of the command line is one file, cmd_NAME.c, that defines `const struct
 * verb verb_NAME`, a line in verbs.c and its name in meson.build. Its table of
 * options feeds the parser, the help, the man page and the completions. A verb
 * gets a filled struct, never argv. Data goes to stdout, messages to stderr.
 */
struct verb;

struct invocation {
	const struct verb *verb;
	struct settings options;      /* table: verb->options; an empty one where that is NULL */
	const char *const *arguments; /* NULL-terminated */
	unsigned argument_count;      /* within the verb's bounds */
	bool quiet, verbose;
	bool json;
	bool color; /* stdout is a terminal, and neither --no-color nor NO_COLOR says no */
};

struct verb {
	const char *name;
	const char *summary;           /* one line, no full stop */
	const char *arguments;         /* "PLAN [DIR]"; "" for none */
	const char *description;       /* paragraphs for help and man page, an empty line between them */
	const struct setting *options; /* ends with a NULL name; NULL: none */
	unsigned least_arguments, most_arguments;
	bool json; /* knows --json */
	/*
	 * The exit status (0, or 1 for a result that is invalid or a check that failed), or a negative errno with *err
	 * filled: main prints the message once and exits with the status of its kind.
	 */
	int (*run)(const struct invocation *inv, struct err *err);
};

/* All verbs, NULL-terminated, in the order of the help. */
extern const struct verb *const verbs[];

/* Options of every verb: help, version, quiet, verbose, json, no-color. */
extern const struct setting global_options[];

const struct verb *verb_find(const char *name);

/* A line on stderr after "tare: ". --quiet does not silence it: for what must be seen. */
void message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
