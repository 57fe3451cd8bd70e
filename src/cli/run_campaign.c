/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_campaign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run_facts.h"
#include "cli/run_progress.h"
#include "cli/run_signals.h"

static const char results[] = "results"; /* campaigns go here where -o is not given */

int cli_campaign_directory(const char *given, const char *name, char **ret, struct err *err)
{
	if (!given && mkdir(results, 0777) != 0 && errno != EEXIST)
		return err_set(err, ERR_HOST, errno, "%s: cannot create the directory: %s; choose another with -o",
			       results, strerror(errno));
	if ((given ? asprintf(ret, "%s", given) : asprintf(ret, "%s/%s", results, name)) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	return 0;
}

void cli_campaign_directory_undo(const char *given)
{
	if (!given)
		rmdir(results); /* refuses unless empty */
}

int cli_run_campaign(const struct plan *plan, const char *dir, struct campaign_options options, bool quiet,
		     struct campaign_counts *counts, struct err *err)
{
	struct run_progress progress;
	struct run_facts facts;
	struct store *store;
	int r;

	options.interrupted = run_signals_catch();
	options.progress = run_progress_show;
	r = campaign_check(plan, &options, err);
	if (r < 0)
		return r;
	r = store_open_write(dir, plan, &store, err);
	if (r < 0)
		return r;
	r = run_facts_collect(&facts, err);
	if (r == 0) {
		run_progress_init(&progress, plan, stderr, isatty(STDERR_FILENO), run_terminal_width(STDERR_FILENO),
				  quiet);
		options.context = &progress;
		options.facts = facts.list.items;
		options.fact_count = (uint32_t)facts.list.count;
		r = campaign_run(plan, store, &options, counts, err);
		run_progress_clear(&progress);
	}
	run_facts_release(&facts);
	store_close(store);
	return r;
}
