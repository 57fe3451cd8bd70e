/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs.h"
#include "report/csv.h"
#include "report/figures.h"
#include "report/json.h"
#include "report/open.h"
#include "report/output.h"
#include "report/terminal.h"

static const struct setting options[] = {
	{ .name = "html", .type = SETTING_TEXT, .value_name = "FILE", .help = "write the report as one HTML file" },
	{ .name = "csv", .type = SETTING_TEXT, .value_name = "DIR", .help = "write its tables as CSV files" },
	{ .name = "figures",
	  .type = SETTING_TEXT,
	  .value_name = "DIR",
	  .help = "draw its figures with gnuplot, as SVG and PDF, beside their data and scripts" },
	{ .name = "budget", .type = SETTING_FLAG, .help = "show each uncertainty, term by term" },
	{ .name = NULL },
};

static void say_written(const struct invocation *inv, const char *what, const char *where)
{
	if (!inv->quiet)
		message("%s: %s", what, where);
}

static int write_figures(const struct invocation *inv, const struct result *result, const char *dir, struct err *err)
{
	struct figures_outcome outcome;
	int rc = figures_write(result, dir, NULL, &outcome, err);

	if (rc != 0)
		return rc;
	if (outcome.drawn)
		say_written(inv, "figures", dir);
	return figures_check(&outcome, err);
}

static int write_files(const struct invocation *inv, const struct result *result, struct err *err)
{
	const char *html = settings_text(&inv->options, "html"), *csv = settings_text(&inv->options, "csv");
	const char *figures = settings_text(&inv->options, "figures");
	int rc = 0;

	if (html) {
		rc = output_html(html, result, err);
		if (rc == 0)
			say_written(inv, "report", html);
	}
	if (rc == 0 && csv) {
		rc = csv_write(result, csv, err);
		if (rc == 0)
			say_written(inv, "tables", csv);
	}
	/* Last: what gnuplot cannot do must not cost the rest. */
	if (rc == 0 && figures)
		rc = write_figures(inv, result, figures, err);
	return rc;
}

static int write_text(const struct invocation *inv, const struct result *result, struct err *err)
{
	struct terminal_style style = terminal_style_of(stdout, inv->color);
	unsigned parts =
		(inv->verbose ? TERMINAL_CELLS : 0) | (settings_flag(&inv->options, "budget") ? TERMINAL_BUDGET : 0);

	return terminal_write(result, stdout, &style, parts, err);
}

static int report_run(const struct invocation *inv, struct err *err)
{
	bool files = settings_text(&inv->options, "html") || settings_text(&inv->options, "csv") ||
		     settings_text(&inv->options, "figures");
	struct result *result;
	int rc = result_open(inv->arguments[0], &result, err);

	if (rc != 0)
		return rc;
	if (inv->json)
		rc = result_write_json(result, stdout, err);
	else if (!files || settings_flag(&inv->options, "budget"))
		rc = write_text(inv, result, err);
	if (rc == 0)
		rc = write_files(inv, result, err);
	if (rc == 0 && result_check(result, NULL) != 0)
		rc = 1;
	result_destroy(result);
	return rc;
}

const struct verb verb_report = {
	.name = "report",
	.summary = "show what a campaign found",
	.arguments = "DIR",
	.description =
		"Computes the result of the campaign in DIR and shows it: the net latency of each program with its "
		"uncertainty, the ledger of its probes, and every problem; with --verbose also each cell's quantiles, "
		"intervals and conditions. Works beside a running campaign. "
		"Nothing is written but what is asked for.\n\n"
		"In place of DIR may stand a file that --json wrote: the same report, drawn again. Without "
		"--html, --csv, --figures or --json the report goes to the terminal.\n\n"
		"Exit status 1: the report is there, but a result in it is invalid or missing.",
	.options = options,
	.least_arguments = 1,
	.most_arguments = 1,
	.json = true,
	.run = report_run,
};
