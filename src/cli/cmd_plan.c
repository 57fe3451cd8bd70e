/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cli/plan_check.h"
#include "cli/plan_pilot.h"
#include "cli/verbs.h"

static const struct setting plan_options[] = {
	{ .name = "keys",
	  .short_name = 'k',
	  .type = SETTING_FLAG,
	  .help = "say what may stand in a plan; needs no PLAN" },
	{ .name = "pilot",
	  .type = SETTING_FLAG,
	  .help = "run a few restarts, learn what they cost and how they vary, and propose how many to spend" },
	{ .name = "width",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SHARE,
	  .least = 100,
	  .help = "with --pilot: how narrow intervals shall be, end to end over the median (default: the plan's "
		  "stop.width)" },
	{ .name = "restarts",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "4",
	  .least = 2,
	  .most = 100,
	  .help = "with --pilot: of each of its cells" },
	{ .name = "probes",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "200",
	  .least = 20,
	  .most = 1000000,
	  .help = "with --pilot: of each of its runs, or as many as the plan has" },
	{ .name = "cells",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "6",
	  .least = 1,
	  .help = "with --pilot: at most, spread over the plan" },
	{ .name = "output",
	  .short_name = 'o',
	  .type = SETTING_TEXT,
	  .value_name = "DIR",
	  .help = "with --pilot: its directory (default: results/NAME-pilot)" },
	{ .name = NULL },
};

/* Options that say something of a pilot only. */
static int pilot_options_check(const struct invocation *inv, struct err *err)
{
	static const char *const names[] = { "width", "restarts", "probes", "cells", "output" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (settings_get(&inv->options, names[i])->set)
			return err_set(err, ERR_USAGE, EINVAL, "plan: --%s is for a pilot; expected --pilot with it",
				       names[i]);
	return 0;
}

static int plan_run(const struct invocation *inv, struct err *err)
{
	struct plan *plan;
	int rc;

	if (settings_flag(&inv->options, "keys")) {
		plan_keys_write(stdout);
		return 0;
	}
	if (!settings_flag(&inv->options, "pilot") && pilot_options_check(inv, err) < 0)
		return -EINVAL;
	if (inv->argument_count == 0)
		return err_set(err, ERR_USAGE, EINVAL, "plan: an argument is missing; expected 'tare plan PLAN'");
	rc = cli_plan_check(inv->arguments[0], inv->json, &plan, err);
	if (rc < 0)
		return rc;
	if (settings_flag(&inv->options, "pilot"))
		rc = plan_pilot_run(inv, plan, err);
	else if (inv->json)
		rc = plan_json_write(stdout, plan, err);
	else
		plan_text_write(stdout, plan, inv->verbose);
	if (rc == 0 && !inv->quiet)
		cli_plan_notes(plan);
	plan_destroy(plan);
	return rc;
}

const struct verb verb_plan = {
	.name = "plan",
	.summary = "check a plan; show its cells, order and length",
	.arguments = "PLAN",
	.description =
		"Reads PLAN, checks everything that can be checked before anything runs, and says every problem "
		"with its line and column. Nothing is started and nothing is written, except with --pilot.\n\n"
		"Shown are the cells, the order of their restarts (the first blocks; all with --verbose), how long "
		"sending takes, and every setting with the defaults that hold where the plan is silent.\n\n"
		"With --pilot a few restarts of some cells run, into a directory of their own: what one more restart, "
		"run or "
		"probe costs, and how much each level varies, says how many of each come to intervals of the width "
		"asked for in "
		"the least time. Pilot data never enter a figure.",
	.options = plan_options,
	.most_arguments = 1,
	.json = true,
	.run = plan_run,
};
