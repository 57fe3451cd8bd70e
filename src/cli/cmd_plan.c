/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cli/plan_check.h"
#include "cli/verbs.h"

static const struct setting plan_options[] = {
	{ .name = "keys",
	  .short_name = 'k',
	  .type = SETTING_FLAG,
	  .help = "say what may stand in a plan; needs no PLAN" },
	{ .name = NULL },
};

static int plan_run(const struct invocation *inv, struct err *err)
{
	struct plan *plan;
	int rc;

	if (settings_flag(&inv->options, "keys")) {
		plan_keys_write(stdout);
		return 0;
	}
	if (inv->argument_count == 0)
		return err_set(err, ERR_USAGE, EINVAL, "plan: an argument is missing; expected 'tare plan PLAN'");
	rc = cli_plan_check(inv->arguments[0], inv->json, &plan, err);
	if (rc < 0)
		return rc;
	if (inv->json)
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
		"with its line and column. Nothing is started and nothing is written.\n\n"
		"Shown are the cells, the order of their restarts (the first blocks; all with --verbose), how long "
		"sending takes, and every setting with the defaults that hold where the plan is silent.",
	.options = plan_options,
	.most_arguments = 1,
	.json = true,
	.run = plan_run,
};
