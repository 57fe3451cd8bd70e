/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_PLAN_FAKE_H
#define TARE_TESTS_PLAN_FAKE_H

#include <errno.h>
#include <string.h>

#include "plan/plan.h"
#include "target/target.h"

/*
 * A target kind that only checks, in the place of the real list: programs null,
 * a, b and c; c fits frames to 1000 bytes only; "shell" over 5us is refused
 * together with program b.
 */
static const char *const fake_modes[] = { "soft", "hard", NULL };
static const struct setting fake_settings[] = {
	{ .name = "shell", .type = SETTING_QUANTITY, .dim = QUANTITY_TIME, .fallback = "1us", .help = "a time" },
	{ .name = "loss", .type = SETTING_QUANTITY, .dim = QUANTITY_SHARE, .fallback = "0", .help = "a share" },
	{ .name = "grid", .type = SETTING_FLAG, .help = "a flag" },
	{ .name = "mode", .type = SETTING_CHOICE, .choices = fake_modes, .fallback = "soft", .help = "a choice" },
	{ .name = "note", .type = SETTING_TEXT, .help = "a text" },
	{ .name = NULL },
};

static int fake_check(const struct target_setup *setup, struct err *err)
{
	if (strcmp(setup->program, "null") != 0 && (strlen(setup->program) != 1 || !strchr("abc", setup->program[0])))
		return err_set(err, ERR_USAGE, ENOENT, "program '%s': unknown program; programs: null, a, b, c",
			       setup->program);
	if (setup->program[0] == 'c' && setup->frame_bytes > 1000)
		return err_set(err, ERR_USAGE, EINVAL, "program 'c': frames of %u bytes; at most 1000 fit",
			       setup->frame_bytes);
	if (setup->program[0] == 'b' && settings_number(setup->settings, "shell") > 5000)
		return err_set(err, ERR_USAGE, EINVAL, "program 'b': shell %s is too long; at most 5us",
			       settings_text(setup->settings, "shell"));
	return 0;
}

static const struct target_ops target_fake = {
	.kind = "fake",
	.summary = "a target that only checks",
	.settings = fake_settings,
	.check = fake_check,
};

const struct target_ops *const target_kinds[] = { &target_fake, NULL };

const struct target_ops *target_find(const char *kind)
{
	return strcmp(kind, "fake") == 0 ? &target_fake : NULL;
}

#define PLAN_HEAD "name: t\nmeasure: differential\ntarget: { kind: fake }\n"

#endif
