/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_WIRE_HOOKS_H
#define TARE_TARGET_WIRE_HOOKS_H

#include <jansson.h>
#include <stdbool.h>

#include "target/target.h"

/* The hooks of target wire: which there are, and running them. */
enum wire_hook { HOOK_PREPARE, HOOK_FLASH, HOOK_LOAD, HOOK_LOAD_NULL, WIRE_HOOKS };

/* Rows for the target's table of settings: command, time limit, tries. */
#define WIRE_HOOK_SETTINGS(hook, limit_, help_)                                                                        \
	{ .name = hook, .type = SETTING_TEXT, .value_name = "COMMAND", .help = help_ },                                \
		{ .name = hook "_limit",                                                                               \
		  .type = SETTING_QUANTITY,                                                                            \
		  .dim = QUANTITY_TIME,                                                                                \
		  .fallback = limit_,                                                                                  \
		  .least = 1000000,                                                                                    \
		  .most = 86400000000000,                                                                              \
		  .help = "how long a try of " hook " may take" },                                                     \
	{                                                                                                              \
		.name = hook "_retries", .type = SETTING_QUANTITY, .dim = QUANTITY_COUNT, .fallback = "0",             \
		.most = 100, .help = "how often " hook " is tried again after a failure"                               \
	}

const char *wire_hook_name(enum wire_hook hook);

/*
 * Run those that a restart of this program begins with, in order. Each adds an
 * object to the array `ret`: name, tries, what the last took, and the end of its
 * output. The first that fails in all its tries ends it: ERR_HOST, with its last words.
 */
int wire_hooks_run(const struct target_setup *setup, json_t *ret, struct err *err);

#endif
