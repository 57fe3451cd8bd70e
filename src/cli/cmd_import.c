/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/run_signals.h"
#include "cli/verbs.h"
#include "import/import.h"

static const char results[] = "results"; /* campaigns go here where -o is not given */

/* A line that is drawn over on a terminal; elsewhere nothing until the end. */
struct showing {
	bool bar, drawn, quiet;
	unsigned width;
};

static void clear(struct showing *s)
{
	if (s->drawn)
		fputs("\r\033[K", stderr);
	s->drawn = false;
}

static void show_progress(void *context, const char *what, uint64_t done, uint64_t all)
{
	struct showing *s = context;
	size_t length = strlen(what), most = s->width > 24 ? s->width - 12 : 12;

	clear(s);
	if (!s->bar || s->quiet || !*what)
		return;
	fprintf(stderr, "%5.1f %%  %s", all ? 100.0 * (double)done / (double)all : 0,
		length > most ? what + length - most : what);
	fflush(stderr);
	s->drawn = true;
}

static void show_note(void *context, const char *text)
{
	struct showing *s = context;

	clear(s);
	if (!s->quiet)
		message("%s", text);
}

/* results/NAME, NAME as the directory or the first file is called. */
static int output_of(const struct invocation *inv, char **ret, struct err *err)
{
	const char *given = settings_text(&inv->options, "output"), *from = inv->arguments[1], *name;
	size_t length = strlen(from);

	if (given) {
		*ret = strdup(given);
		return *ret ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	while (length > 1 && from[length - 1] == '/')
		length--;
	name = from + length;
	while (name > from && name[-1] != '/')
		name--;
	length = (size_t)(from + length - name);
	if (length > 6 && strncmp(name + length - 6, ".jsonl", 6) == 0)
		length -= 6;
	if (length == 0 || name[0] == '.' || name[0] == '/')
		return err_set(err, ERR_USAGE, EINVAL, "%s: gives the campaign no name; say where with -o", from);
	if (mkdir(results, 0777) != 0 && errno != EEXIST)
		return err_set(err, ERR_HOST, errno, "%s: cannot create the directory: %s; choose another with -o",
			       results, strerror(errno));
	if (asprintf(ret, "%s/%.*s", results, (int)length, name) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	return 0;
}

static int print_json(const char *output, const struct import_counts *c, struct err *err)
{
	json_t *root = json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "schema", 1, "output", output, "campaigns",
				 (json_int_t)c->campaigns, "restarts", (json_int_t)c->restarts, "runs",
				 (json_int_t)c->runs, "probes", (json_int_t)c->probes, "second_clock",
				 (json_int_t)c->second_pairs, "records", (json_int_t)c->records);
	int r = root ? json_dumpf(root, stdout, JSON_INDENT(2)) : -1;

	json_decref(root);
	if (r < 0 || putchar('\n') == EOF)
		return err_set(err, ERR_HOST, EIO, "standard output: cannot write");
	return 0;
}

static void print_text(const char *output, const struct import_counts *c)
{
	printf("%s: %" PRIu32 " restarts, %" PRIu32 " runs, %" PRIu64 " probes", output, c->restarts, c->runs,
	       c->probes);
	if (c->second_pairs)
		printf(", %" PRIu64 " of them by a second clock too", c->second_pairs);
	printf("; %" PRIu64 " records read\n", c->records);
	if (c->campaigns > 1)
		printf("%" PRIu32 " campaigns, one a measure: tare report %s/MEASURE\n", c->campaigns, output);
	else
		printf("tare report %s\n", output);
}

static int import_verb(const struct invocation *inv, struct err *err)
{
	const char *format = inv->arguments[0];
	bool lab = strcmp(format, "latencylab") == 0;
	struct showing showing = { .bar = isatty(STDERR_FILENO),
				   .quiet = inv->quiet,
				   .width = run_terminal_width(STDERR_FILENO) };
	struct import_options options = {
		.sent = settings_get(&inv->options, "sent")->present ? (uint32_t)settings_number(&inv->options, "sent")
								     : 0,
		.tares = settings_text(&inv->options, "tares"),
		.captures = settings_flag(&inv->options, "captures"),
		.progress = show_progress,
		.note = show_note,
		.context = &showing,
	};
	struct import_counts counts;
	char *output = NULL;
	int r;

	if (!lab && strcmp(format, "p4net-perf-study") != 0)
		return err_set(err, ERR_USAGE, EINVAL, "unknown format '%s'; formats: latencylab, p4net-perf-study",
			       format);
	if (lab && inv->argument_count > 2)
		return err_set(err, ERR_USAGE, EINVAL, "latencylab takes one directory; found %u",
			       inv->argument_count - 1);
	r = output_of(inv, &output, err);
	if (r < 0)
		return r;
	options.output = output;
	options.interrupted = run_signals_catch();
	r = lab ? import_latencylab(inv->arguments[1], &options, &counts, err)
		: import_study(inv->arguments + 1, inv->argument_count - 1, &options, &counts, err);
	clear(&showing);
	if (r == 0 && inv->json)
		r = print_json(output, &counts, err);
	else if (r == 0)
		print_text(output, &counts);
	else if (!settings_text(&inv->options, "output"))
		rmdir(results); /* made for nothing? refuses unless empty */
	free(output);
	return r;
}

static const struct setting import_settings[] = {
	{ .name = "output",
	  .short_name = 'o',
	  .type = SETTING_TEXT,
	  .value_name = "DIR",
	  .help = "directory of the new campaign (default: results/NAME, NAME as the input is called)" },
	{ .name = "sent",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .least = 1,
	  .most = 4194304,
	  .help = "probes sent in a run, as the data's author says (default: by the trace, the ids seen, or 1000)" },
	{ .name = "tares",
	  .type = SETTING_TEXT,
	  .value_name = "PROGRAM=NULL,...",
	  .help = "latencylab: which tag is the null of which (known: CS=NC, FT=NT, FWD=NF, RH=NR)" },
	{ .name = "captures",
	  .type = SETTING_FLAG,
	  .help = "latencylab: read the reflected captures even where their differences are there as CSV" },
	{ .name = NULL },
};

const struct verb verb_import = {
	.name = "import",
	.summary = "other people's data as a campaign",
	.arguments = "FORMAT FILE...",
	.description =
		"Makes a campaign of published data, for report, compare and export to work on as on one of our "
		"own.\n\n"
		"latencylab DIR: a directory of the FPGA study: TSC CSVs of sessions and runs, CSVs of the hardware "
		"clock, "
		"captures of the reflected copies, and the traces that were sent. p4net-perf-study FILE.jsonl...: "
		"files of "
		"the BMv2 study, each a process start of its harness; several measures become several campaigns.\n\n"
		"The account is kept as in our own runs. Ids that cannot be read, or stand for several packets, are "
		"known "
		"from the trace before anything was measured: they are in the ledger and rank in no quantile; what was "
		"sent, "
		"had an id and is missing, is lost and ranks as infinite. What had to be assumed is said.\n\n"
		"All or nothing: the campaign takes its name when it is whole. The formats are described in "
		"docs/formats.md.",
	.options = import_settings,
	.least_arguments = 2,
	.most_arguments = 1000,
	.json = true,
	.run = import_verb,
};
