/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_OPTIONS_H
#define TARE_CLI_OPTIONS_H

#include "cli/verb.h"

/* What a command line asks for. */
enum request {
	REQUEST_RUN,  /* the verb of the invocation */
	REQUEST_HELP, /* of the invocation's verb, or of tare where that is NULL */
	REQUEST_VERSION,
};

/*
 * Read a command line: `argv` with the program's name first. Options may stand
 * before the verb (the global ones) and anywhere after it, as --name VALUE,
 * --name=VALUE, -n VALUE, -nVALUE; flags without value, short ones in groups;
 * `--` ends them. The last of repeated options holds. What is filled in lives in
 * `arena` or in argv. A wrong line is -EINVAL and an ERR_USAGE.
 */
int options_parse(int argc, char *const *argv, struct arena *arena, enum request *ret_request, struct invocation *ret,
		  struct err *err);

/* What stands for an option's value in help and messages: "DIR"; NULL for a flag. */
const char *option_value_name(const struct setting *option);

#endif
