/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_BMV2_PRIVATE_H
#define TARE_TARGET_BMV2_PRIVATE_H

#include <limits.h>

#include "base/arena.h"
#include "base/err.h"
#include "target/target.h"

/* Which program a plan's `switch:` means, on this host. */
struct switch_binary {
	char path[PATH_MAX];
	char version[96]; /* the first line it answers --version with; "" */
};

/*
 * `wanted`: "auto" (simple_switch_grpc where it is in PATH, else tare-switch), one of the two, or a path. tare-switch is
 * looked for beside this program, in its build tree, then in PATH. Not there: ERR_HOST, -ENOENT, and where it was looked for.
 */
int switch_binary_find(const char *wanted, struct switch_binary *ret, struct err *err);

/* A program in PATH. */
bool binary_in_path(const char *name, char *ret, size_t size);

/* Starts it with --version; what it does not answer stays "". */
void switch_binary_ask_version(struct switch_binary *b);

/* bmv2_agents.c: switches side by side, for control plans; the ops of that name. */
int bmv2_open_agents(const struct target_setup *setup, uint32_t count, struct target **ret_target, struct err *err);
void bmv2_agent(struct target *target, uint32_t index, struct target_agent *ret_agent);
int bmv2_load_program(const struct target_setup *setup, struct arena *arena, struct v1model_program *ret,
		      struct err *err);

/* Words of a line, separated by blanks. Returns how many; more than `most`: -E2BIG. */
int words_split(char *line, const char **ret_words, int most);

#endif
