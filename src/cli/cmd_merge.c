/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <jansson.h>

#include "cli/verbs.h"
#include "store/merge.h"

enum { STORES_MOST = 10000 };

static int print_json(const char *dir, const struct store_merged *m, struct err *err)
{
	json_t *document = json_pack("{si ss si si si si si}", "schema", 1, "directory", dir, "stores", (int)m->stores,
				     "hosts", (int)m->hosts, "restarts", (int)m->turns, "done", (int)m->turns_done,
				     "recorded", (int)m->restarts);

	if (!document)
		return err_set(err, ERR_HOST, EIO, "cannot write the result as JSON (is '%s' UTF-8?)", dir);
	json_dumpf(document, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(document);
	return 0;
}

static int merge_run(const struct invocation *inv, struct err *err)
{
	const char *dir = settings_text(&inv->options, "output");
	struct store_merged merged;
	int r;

	if (!dir)
		return err_set(err, ERR_USAGE, EINVAL, "merge: -o is missing; expected 'tare merge -o NEW DIR...'");
	r = store_merge(dir, inv->arguments, inv->argument_count, &merged, err);
	if (r < 0)
		return r;
	if (inv->json)
		return print_json(dir, &merged, err);
	if (!inv->quiet)
		printf("%u store%s of %u host%s: %u of %u restarts are done; next: tare report %s\n", merged.stores,
		       merged.stores == 1 ? "" : "s", merged.hosts, merged.hosts == 1 ? "" : "s", merged.turns_done,
		       merged.turns, dir);
	return 0;
}

static const struct setting merge_options[] = {
	{ .name = "output",
	  .short_name = 'o',
	  .type = SETTING_TEXT,
	  .value_name = "NEW",
	  .help = "directory of the store that is made; must hold none" },
	{ .name = NULL },
};

const struct verb verb_merge = {
	.name = "merge",
	.summary = "join stores of one campaign that ran in parts",
	.arguments = "DIR...",
	.description = "Joins the stores in DIR... into a new one, given by -o: parts of one campaign, made by 'tare "
		       "run --blocks' or "
		       "'tare run --slurm' from the same plan. Restarts keep the order in which they ran and know "
		       "their host; a "
		       "report of several hosts says how much they differ.\n\n"
		       "A store goes in once; a restart may be done in one of them only; parts of other campaigns, and "
		       "stores that "
		       "are being written, are refused. The stores are only read, and the new one appears whole or not "
		       "at all. It "
		       "resumes like any other, and can be merged again.",
	.options = merge_options,
	.least_arguments = 1,
	.most_arguments = STORES_MOST,
	.json = true,
	.run = merge_run,
};
