/* SPDX-License-Identifier: Apache-2.0 */
#include "target/wire_hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "lab/command.h"

static const char *const names[WIRE_HOOKS] = { "prepare", "flash", "load", "load_null" };

const char *wire_hook_name(enum wire_hook hook)
{
	return names[hook];
}

static int64_t hook_number(const struct settings *s, enum wire_hook hook, const char *suffix)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_%s", names[hook], suffix);
	return settings_number(s, name);
}

static int keep(json_t *list, enum wire_hook hook, int64_t tries, const struct command_outcome *o, struct err *err)
{
	json_t *item =
		json_pack("{s:s, s:I, s:I, s:I, s:s}", "hook", names[hook], "tries", (json_int_t)tries, "took_ms",
			  (json_int_t)o->took_ms, "output_bytes", (json_int_t)o->output_bytes, "output_end", o->tail);

	return item && json_array_append_new(list, item) == 0 ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

static int hook_run(const struct target_setup *setup, enum wire_hook hook, json_t *list, struct err *err)
{
	const char *text = settings_text(setup->settings, names[hook]);
	int64_t tries = hook_number(setup->settings, hook, "retries") + 1, try;
	struct command_outcome outcome;
	char name[32], seed[32];
	const struct command command = {
		.name = name,
		.text = text,
		.directory = setup->directory,
		.variables = { { "TARE_PROGRAM", setup->program }, { "TARE_SEED", seed } },
		.variable_count = 2,
		.limit_ms = hook_number(setup->settings, hook, "limit") / 1000000,
		.interrupted = setup->interrupted,
	};
	int r = 0;

	if (!text || !*text)
		return 0;
	snprintf(name, sizeof(name), "hook %s", names[hook]);
	snprintf(seed, sizeof(seed), "%" PRIu64, setup->seed);
	for (try = 1; try <= tries; try++) {
		struct err why = { 0 };

		r = command_run(&command, &outcome, &why);
		if (r == 0)
			return keep(list, hook, try, &outcome, err);
		if (r == -EINTR) {
			if (err)
				*err = why;
			return r;
		}
		log_info("%s (try %" PRId64 " of %" PRId64 ")", why.message, try, tries);
		if (try == tries)
			err_set(err, ERR_HOST, -r, "%s%s", why.message, tries > 1 ? " (in the last of its tries)" : "");
	}
	return r;
}

int wire_hooks_run(const struct target_setup *setup, json_t *ret, struct err *err)
{
	enum wire_hook load = strcmp(setup->program, "null") == 0 ? HOOK_LOAD_NULL : HOOK_LOAD;
	int r = hook_run(setup, HOOK_PREPARE, ret, err);

	if (r == 0)
		r = hook_run(setup, HOOK_FLASH, ret, err);
	return r == 0 ? hook_run(setup, load, ret, err) : r;
}
