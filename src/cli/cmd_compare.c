/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "cli/verbs.h"
#include "report/compare.h"
#include "report/open.h"

enum { CONDITIONS_MOST = 16, COMPARE_SCHEMA = 1 };

static const struct setting options[] = {
	{ .name = "metric",
	  .type = SETTING_TEXT,
	  .value_name = "NAME",
	  .help = "what to compare: net, p50, p90, p99, p99.9, p99.99, or a quantity (net, p50, or all quantities)" },
	{ .name = "fail-if",
	  .type = SETTING_TEXT,
	  .value_name = "LIMITS",
	  .help = "exit with status 1 if a cell is beyond one, like 'p50>+5%' or 'net>+3%,p99>+10%'" },
	{ .name = "proved",
	  .type = SETTING_FLAG,
	  .help = "a limit fails only where the whole interval lies beyond it" },
	{ .name = NULL },
};

struct comparing {
	struct result *a, *b;
	struct arena arena;
	struct compared *shown; /* what was asked for, or each quantity */
	uint32_t shown_count;
	struct condition conditions[CONDITIONS_MOST];
	struct compared judged[CONDITIONS_MOST]; /* by condition */
	unsigned condition_count;
	bool proved;
};

static int parse_conditions(struct comparing *c, const char *text, struct err *err)
{
	char *copy = text ? arena_strdup(&c->arena, text) : NULL, *state = NULL;

	if (!text)
		return 0;
	if (!copy)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (char *one = strtok_r(copy, ",", &state); one; one = strtok_r(NULL, ",", &state)) {
		one += strspn(one, " ");
		if (c->condition_count == CONDITIONS_MOST)
			return err_set(err, ERR_USAGE, E2BIG, "--fail-if: more than %d limits", CONDITIONS_MOST);
		if (condition_parse(one, &c->conditions[c->condition_count], err) != 0)
			return err_wrap(err, "--fail-if");
		c->condition_count++;
	}
	return c->condition_count ? 0 : err_set(err, ERR_USAGE, EINVAL, "--fail-if: no limit in '%s'", text);
}

/* One metric, or every quantity of the second where `metric` is NULL. */
static int compare_all(struct comparing *c, const char *metric, struct err *err)
{
	uint32_t count = metric ? 1 : c->b->quantity_count;
	int rc = 0;

	c->shown = arena_array(&c->arena, count, sizeof(*c->shown));
	if (!c->shown)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (; rc == 0 && c->shown_count < count; c->shown_count += rc == 0)
		rc = compare_results(c->a, c->b, metric ? metric : c->b->quantities[c->shown_count].name, &c->arena,
				     &c->shown[c->shown_count], err);
	for (unsigned i = 0; rc == 0 && i < c->condition_count; i++) {
		rc = compare_results(c->a, c->b, c->conditions[i].metric, &c->arena, &c->judged[i], err);
		if (rc < 0)
			rc = err_wrap(err, "--fail-if '%s'", c->conditions[i].text);
	}
	return rc;
}

static const char *const verdicts[] = { "pass", "fail", "unknown" };

/* What cannot be said does not pass: a cell that lost its figure must not turn a check green. */
static bool judge(const struct comparing *c, bool say)
{
	bool pass = true;

	for (unsigned i = 0; i < c->condition_count; i++) {
		const struct condition *condition = &c->conditions[i];
		const struct compared *by = &c->judged[i];

		for (uint32_t k = 0; k < by->count; k++) {
			const struct compared_cell *cell = &by->cells[k];
			enum verdict v = condition_judge(condition, cell, c->proved);

			pass &= v == VERDICT_PASS;
			if (!say || v == VERDICT_PASS)
				continue;
			if (v == VERDICT_UNKNOWN)
				message("%s: %s cannot be judged: %s", cell->label, condition->text, cell->why);
			else
				message("%s: fails %s: the ratio is %.4f", cell->label, condition->text, cell->ratio);
		}
	}
	return pass;
}

/* Cells that only one side has are no regression, but nobody should believe them compared. */
static void say_alone(const struct result *have, const struct result *lack, const char *which)
{
	for (uint32_t i = 0; i < have->cell_count; i++)
		if (!result_find_cell(lack, have->cells[i].label))
			message("%s: only in the %s result, not compared", have->cells[i].label, which);
}

/* --- JSON --- */

static json_t *number(double v)
{
	return isnan(v) ? json_null() : isinf(v) ? json_string("lost") : json_real(v);
}

/* Latencies say their unit in the names; quantities have one of their own. */
static json_t *cells_json(const struct compared *by)
{
	bool ns = metric_is_latency(by->metric);
	json_t *list = json_array();

	for (uint32_t i = 0; i < by->count; i++) {
		const struct compared_cell *cell = &by->cells[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "label",
						      cell->label, ns ? "first_ns" : "first", number(cell->a),
						      ns ? "first_u_ns" : "first_u", number(cell->a_u),
						      ns ? "second_ns" : "second", number(cell->b),
						      ns ? "second_u_ns" : "second_u", number(cell->b_u), "ratio",
						      number(cell->ratio), "low", number(cell->low), "high",
						      number(cell->high), "why", cell->why));
	}
	return list;
}

/* Every metric shown, where there may be several. */
static json_t *metrics_json(const struct comparing *c)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < c->shown_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "metric", c->shown[i].metric, "unit",
						      c->shown[i].unit, "cells", cells_json(&c->shown[i])));
	return list;
}

static json_t *conditions_json(const struct comparing *c)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < c->condition_count; i++) {
		const struct compared *by = &c->judged[i];
		json_t *cells = json_object();

		for (uint32_t k = 0; k < by->count; k++)
			json_object_set_new(
				cells, by->cells[k].label,
				json_string(verdicts[condition_judge(&c->conditions[i], &by->cells[k], c->proved)]));
		json_array_append_new(list, json_pack("{s:s, s:o}", "limit", c->conditions[i].text, "cells", cells));
	}
	return list;
}

static int write_json(const struct comparing *c, bool pass, struct err *err)
{
	bool single = c->shown_count == 1 && metric_is_latency(c->shown[0].metric);
	json_t *root =
		json_pack("{s:i, s:s, s:s}", "schema", COMPARE_SCHEMA, "first", c->a->name, "second", c->b->name);

	if (root && single)
		json_object_set_new(root, "metric", json_string(c->shown[0].metric));
	json_object_update_new(root, json_pack("{s:f, s:o, s:o, s:b}", "confidence", 95.0, single ? "cells" : "metrics",
					       single ? cells_json(&c->shown[0]) : metrics_json(c), "limits",
					       conditions_json(c), "pass", pass));
	int failed = !root || json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) != 0 ||
		     putchar('\n') == EOF || fflush(stdout) != 0;

	json_decref(root);
	return failed ? err_set(err, ERR_HOST, EIO, "cannot write the comparison as JSON") : 0;
}

static int write_text(const struct comparing *c, bool color, struct err *err)
{
	struct terminal_style style = terminal_style_of(stdout, color);
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < c->shown_count; i++) {
		if (i)
			putchar('\n');
		rc = compare_write(c->a, c->b, &c->shown[i], stdout, &style, err);
	}
	return rc;
}

static int compare(struct comparing *c, const struct invocation *inv, struct err *err)
{
	const char *metric = settings_text(&inv->options, "metric");
	int rc = result_open(inv->arguments[0], &c->a, err);
	bool pass;

	if (rc == 0)
		rc = result_open(inv->arguments[1], &c->b, err);
	if (rc == 0)
		rc = compare_all(c, metric ? metric : metric_fallback(c->b), err);
	if (rc != 0)
		return rc;
	pass = judge(c, false);
	rc = inv->json ? write_json(c, pass, err) : write_text(c, inv->color, err);
	if (rc != 0)
		return rc;
	if (!inv->quiet) {
		say_alone(c->a, c->b, "first");
		say_alone(c->b, c->a, "second");
	}
	judge(c, true);
	return pass ? 0 : 1;
}

static int compare_run(const struct invocation *inv, struct err *err)
{
	struct comparing c = { .proved = settings_flag(&inv->options, "proved") };
	int rc;

	arena_init(&c.arena, 0);
	rc = parse_conditions(&c, settings_text(&inv->options, "fail-if"), err);
	if (rc == 0)
		rc = compare(&c, inv, err);
	result_destroy(c.a);
	result_destroy(c.b);
	arena_release(&c.arena);
	return rc;
}

const struct verb verb_compare = {
	.name = "compare",
	.summary = "the ratio of two results, with its interval",
	.arguments = "FIRST SECOND",
	.description =
		"Compares two campaigns, or results saved with 'tare report --json', cell by cell: SECOND over "
		"FIRST, with "
		"the 95 % interval of the ratio. Cells go together by their labels. Below 6 restarts there is a "
		"ratio but "
		"no interval.\n\n"
		"Measures whose runs yield numbers are compared quantity by quantity; --metric asks for one.\n\n"
		"--fail-if is for CI: a metric (net, p50, p90, p99, p99.9, p99.99, or a quantity), < or >, and a "
		"change in %. "
		"What cannot "
		"be judged (a figure lost or refused) does not pass. Exit status 1: a limit was passed.",
	.options = options,
	.least_arguments = 2,
	.most_arguments = 2,
	.json = true,
	.run = compare_run,
};
