/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/clean.h"
#include "cli/verbs.h"
#include "store/clean.h"

enum { DIRS_MOST = 64 };

static void say(void *context, const char *what)
{
	const struct invocation *inv = context;

	if (!inv->quiet)
		printf("%s\n", what);
}

/* A thing that cannot be cleaned does not keep the others from it; the first error is the one that is returned. */
static int clean_run(const struct invocation *inv, struct err *err)
{
	const struct clean_say sayer = { say, (void *)inv };
	struct err why = { 0 };
	int done = 0, first = 0, r;

	for (unsigned i = 0; i < inv->argument_count; i++) {
		r = store_clean(inv->arguments[i], say, (void *)inv, first ? &why : err);
		done += r > 0 ? r : 0;
		if (r < 0 && first)
			message("%s", why.message);
		first = first ? first : r < 0 ? r : 0;
	}
	for (const struct cleaner *c = cleaners; c->what; c++) {
		r = c->clean(&sayer, first ? &why : err);
		done += r > 0 ? r : 0;
		if (r < 0 && first)
			message("%s", why.message);
		first = first ? first : r < 0 ? r : 0;
	}
	if (first == 0 && done == 0 && !inv->quiet)
		printf("nothing to clean\n");
	return first;
}

const struct verb verb_clean = {
	.name = "clean",
	.summary = "remove what a killed run left behind",
	.arguments = "[DIR...]",
	.description =
		"Removes what tares that are gone left on this host (DPDK's runtime folders; processes, cables and "
		"namespaces of labs; with the rights of the one who left them), and puts each DIR, "
		"the directory of a campaign, in order: the log of a killed run is merged into tare.db, lock "
		"and unfinished files are removed. Nothing that was recorded is touched, nothing of a tare "
		"that still runs; every thing done is a line. Cleaning twice is the same as cleaning once.\n\n"
		"Resuming or reporting needs none of this: both work on what a killed run left.",
	.most_arguments = DIRS_MOST,
	.run = clean_run,
};
