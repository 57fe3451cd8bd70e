/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/plan_check.h"
#include "cli/run_campaign.h"
#include "cli/run_slurm.h"
#include "cli/verbs.h"
#include "report/terminal.h"

/* The command that goes on with this campaign. */
static void resume_command(const struct invocation *inv, const char *more, char *text, size_t size_bytes)
{
	const char *given = settings_text(&inv->options, "output");

	snprintf(text, size_bytes, "tare run%s%s%s%s %s", more,
		 settings_flag(&inv->options, "allow-unstable-tsc") ? " --allow-unstable-tsc" : "", given ? " -o " : "",
		 given ? given : "", inv->arguments[0]);
}

/* --- the end --- */

int cli_show_summary(const struct invocation *inv, const char *dir, struct err *err)
{
	struct terminal_style style = terminal_style_of(stdout, inv->color);
	struct result *result;
	struct store *store;
	int r = store_open_read(dir, &store, err);

	if (r < 0)
		return r;
	r = result_build(store, &result, err);
	store_close(store);
	if (r < 0)
		return r;
	r = report_print_summary(result, stdout, &style, err);
	result_destroy(result);
	return r;
}

static int print_json(const char *dir, const struct campaign_counts *c, struct err *err)
{
	json_t *document =
		json_pack("{si ss si si si si}", "schema", 1, "directory", dir, "restarts", (int)c->turns, "done",
			  (int)c->done, "failed", (int)c->failed, "invalid_runs", (int)c->invalid_runs);
	int r = document ? json_dumpf(document, stdout, JSON_COMPACT) : -1;

	json_decref(document);
	putchar('\n');
	return r < 0 ? err_set(err, ERR_HOST, EIO, "cannot write the result as JSON (is '%s' UTF-8?)", dir) : 0;
}

static int finish(const struct invocation *inv, const char *dir, const struct campaign_counts *c, struct err *err)
{
	char command[512];
	int r = inv->json ? print_json(dir, c, err) : cli_show_summary(inv, dir, err);

	if (r < 0)
		return r;
	if (c->failed) {
		resume_command(inv, " --retry-failed", command, sizeof(command));
		message("%u of %u restarts failed; '%s' runs them again", c->failed, c->turns, command);
	}
	if (!inv->quiet)
		message("%u of %u restarts are in %s; next: tare report %s", c->done, c->turns, dir, dir);
	return c->failed || c->invalid_runs ? ERR_RESULT : 0;
}

/* What went wrong, and for an interruption how to go on. */
static int explain(const struct invocation *inv, const char *dir, const struct campaign_counts *c,
		   const struct err *why, struct err *err)
{
	char command[512];

	if (why->kind != ERR_INTERRUPTED)
		return err_set(err, why->kind, why->code, "%s", why->message);
	resume_command(inv, "", command, sizeof(command));
	return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted: %u of %u restarts are in %s; '%s' goes on from there",
		       c->done, c->turns, dir, command);
}

/* --- the verb --- */

/* "2..5", within the plan's blocks. */
static int blocks_chosen(const struct invocation *inv, const struct plan *plan, struct campaign_options *options,
			 struct err *err)
{
	const char *text = settings_text(&inv->options, "blocks"), *dots = text ? strstr(text, "..") : NULL;
	char *end_first = NULL, *end_last = NULL;
	unsigned long first, last;

	if (!text)
		return 0;
	first = strtoul(text, &end_first, 10);
	last = dots ? strtoul(dots + 2, &end_last, 10) : 0;
	if (!dots || end_first != dots || end_first == text || *end_last || end_last == dots + 2 || text[0] == '-' ||
	    dots[2] == '-')
		return err_set(err, ERR_USAGE, EINVAL,
			       "--blocks: '%s' is no range; expected first and last such as 0..2", text);
	if (first > last || last >= plan->restarts)
		return err_set(err, ERR_USAGE, EINVAL,
			       "--blocks: '%s' does not fit; expected a range within 0..%u, the blocks of %s", text,
			       plan->restarts - 1, plan->path);
	if (plan->stop.on)
		return err_set(
			err, ERR_USAGE, EINVAL,
			"--blocks: %s has a stop: section, which judges all blocks one after another; a part of them "
			"cannot run by itself",
			plan->path);
	options->blocks = (struct campaign_blocks){ .only = true, .first = (uint32_t)first, .last = (uint32_t)last };
	return 0;
}

static int run_plan(const struct invocation *inv, const struct plan *plan, struct err *err)
{
	struct campaign_counts counts = { .turns = plan->turn_count };
	struct err why = { 0 };
	char *dir = NULL;
	const char *given = settings_text(&inv->options, "output");
	struct campaign_options options = {
		.allow_unstable_tsc = settings_flag(&inv->options, "allow-unstable-tsc"),
		.retry_failed = settings_flag(&inv->options, "retry-failed"),
	};
	int r = blocks_chosen(inv, plan, &options, err);

	if (r == 0)
		r = cli_campaign_directory(given, plan->name, &dir, err);

	if (r < 0)
		return r;
	r = cli_run_campaign(plan, dir, options, inv->quiet, &counts, &why);
	if (r < 0) {
		r = explain(inv, dir, &counts, &why, err);
		cli_campaign_directory_undo(given);
	} else {
		r = finish(inv, dir, &counts, err);
	}
	free(dir);
	return r;
}

static int run_verb(const struct invocation *inv, struct err *err)
{
	struct plan *plan;
	int r = cli_plan_check(inv->arguments[0], inv->json, &plan, err);

	if (r < 0)
		return r;
	if (!inv->quiet)
		cli_plan_notes(plan);
	if (settings_flag(&inv->options, "slurm"))
		r = cli_run_slurm(inv, plan, err);
	else if (!settings_flag(&inv->options, "dry-run"))
		r = run_plan(inv, plan, err);
	else if (inv->json)
		r = plan_json_write(stdout, plan, err);
	else
		plan_text_write(stdout, plan, inv->verbose);
	plan_destroy(plan);
	return r;
}

static const struct setting run_options[] = {
	{ .name = "output",
	  .short_name = 'o',
	  .type = SETTING_TEXT,
	  .value_name = "DIR",
	  .help = "directory of the campaign (default: results/NAME, NAME as in the plan)" },
	{ .name = "dry-run", .short_name = 'n', .type = SETTING_FLAG, .help = "check and show the plan, run nothing" },
	{ .name = "blocks",
	  .type = SETTING_TEXT,
	  .value_name = "A..B",
	  .help = "these blocks of the plan's order only, from 0: a part, to be joined by 'tare merge'" },
	{ .name = "slurm",
	  .type = SETTING_FLAG,
	  .help = "on the nodes of a Slurm cluster: an array of jobs, a block each on a node of its own, then merged" },
	{ .name = "slurm-options",
	  .type = SETTING_TEXT,
	  .value_name = "WORDS",
	  .help = "with --slurm: further options of sbatch, such as '--partition=lab --time=2:00:00'" },
	{ .name = "retry-failed", .type = SETTING_FLAG, .help = "run restarts that failed again" },
	{ .name = "allow-unstable-tsc",
	  .type = SETTING_FLAG,
	  .help = "measure although the CPU's counter does not promise a steady rate; the report says so" },
	{ .name = NULL },
};

const struct verb verb_run = {
	.name = "run",
	.summary = "run a plan, or go on with one",
	.arguments = "PLAN",
	.description =
		"Runs PLAN into a directory of its own, restart by restart, and ends with its table. The same command "
		"goes on where an earlier one stopped: restarts that are done stay done.\n\n"
		"Ctrl-C stops within moments: the restart in flight is given up, all before it is kept. A second "
		"Ctrl-C quits at once, and loses nothing more.\n\n"
		"A restart that fails is kept with its reason, and the campaign goes on; it stops when three in a row "
		"fail. One tare at a time writes into a directory; 'tare report' works beside it. Progress is drawn "
		"between runs only, so that nothing runs beside a measurement.",
	.options = run_options,
	.least_arguments = 1,
	.most_arguments = 1,
	.json = true,
	.run = run_verb,
};
