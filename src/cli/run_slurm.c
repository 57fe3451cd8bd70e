/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_slurm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "campaign/slurm.h"
#include "cli/run_campaign.h"
#include "cli/run_signals.h"

static void say(const char *text)
{
	message("%s", text);
}

/* The nodes run what runs here. */
static int own_path(char *path, size_t size_bytes, struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", path, size_bytes - 1);

	if (n < 0)
		return err_set(err, ERR_HOST, errno, "cannot find the program that runs: %s", strerror(errno));
	path[n] = '\0';
	return 0;
}

static int print_json(const char *dir, const struct store_merged *m, struct err *err)
{
	json_t *document = json_pack("{si ss si si si si si}", "schema", 1, "directory", dir, "restarts", (int)m->turns,
				     "done", (int)m->turns_done, "failed", (int)(m->restarts - m->turns_done), "stores",
				     (int)m->stores, "hosts", (int)m->hosts);

	if (!document)
		return err_set(err, ERR_HOST, EIO, "cannot write the result as JSON (is '%s' UTF-8?)", dir);
	json_dumpf(document, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(document);
	return 0;
}

int cli_run_slurm(const struct invocation *inv, const struct plan *plan, struct err *err)
{
	const char *given = settings_text(&inv->options, "output");
	const char *const unstable[] = { "--allow-unstable-tsc", NULL };
	struct store_merged merged;
	char path[4096], *dir = NULL;
	struct slurm_run run = {
		.plan = plan,
		.tare = path,
		.options = settings_text(&inv->options, "slurm-options"),
		.arguments = settings_flag(&inv->options, "allow-unstable-tsc") ? unstable : NULL,
		.interrupted = run_signals_catch(),
		.say = inv->quiet ? NULL : say,
	};
	int r;

	if (settings_text(&inv->options, "blocks"))
		return err_set(err, ERR_USAGE, EINVAL, "run: --slurm submits every block; leave --blocks out");
	r = own_path(path, sizeof(path), err);
	if (r == 0)
		r = cli_campaign_directory(given, plan->name, &dir, err);
	run.dir = dir;
	if (r == 0)
		r = slurm_campaign(&run, &merged, err);
	if (r < 0)
		cli_campaign_directory_undo(given);
	if (r == 0)
		r = inv->json ? print_json(dir, &merged, err) : cli_show_summary(inv, dir, err);
	if (r == 0 && !inv->quiet)
		message("%u of %u restarts of %u host%s are in %s; next: tare report %s", merged.turns_done,
			merged.turns, merged.hosts, merged.hosts == 1 ? "" : "s", dir, dir);
	free(dir);
	return r;
}
