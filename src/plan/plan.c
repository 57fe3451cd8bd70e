/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/plan_private.h"

const struct setting plan_settings[] = {
	{ .name = "name", .type = SETTING_TEXT, .help = "of the campaign: letters, digits, '-', '_' and '.'" },
	{ .name = "measure", .type = SETTING_TEXT, .help = "what is measured, such as differential" },
	{ .name = "seed",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "1",
	  .help = "of the order, and of all that is random" },
	{ .name = "restarts",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "6",
	  .least = 1,
	  .most = 10000,
	  .help = "of each cell; the unit of statistics" },
	{ .name = "runs",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "10",
	  .least = 1,
	  .most = 10000,
	  .help = "passes of the probes in a restart" },
	{ .name = "warmup",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "0",
	  .most = 86400000000000,
	  .help = "before the first run of a restart" },
	{ .name = "resources",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "1s",
	  .most = 60000000000,
	  .help = "how often what the switches use is sampled beside a run, where they are on this host; 0: never" },
	{ .name = NULL },
};

static const char *const top_keys[] = { "name",   "measure", "seed",  "restarts", "runs",   "warmup", "resources",
					"target", "matrix",  "extra", "tare",     "probes", "stop",   NULL };

const char *scalar_text(struct draft *d, const struct node *node, const char *what)
{
	if (node->kind == NODE_BAD)
		return NULL;
	if (node->kind != NODE_SCALAR) {
		PROBLEM(d, node, "%s: found %s; expected one value", what, FOUND(node));
		return NULL;
	}
	if (node->text[0] == '\0') {
		PROBLEM(d, node, "%s has no value", what);
		return NULL;
	}
	return node->text;
}

void setting_take(struct draft *d, struct settings *settings, const char *section, const struct node *node)
{
	struct err err = { 0 };
	char what[160];
	const char *text;

	snprintf(what, sizeof(what), "%s%s%s", section ? section : "", section ? "." : "", node->key->text);
	if (!setting_find(settings->table, node->key->text)) {
		settings_set(settings, node->key->text, "", &err);
		PROBLEM(d, node->key, "%s: %s", section, err.message);
		return;
	}
	text = scalar_text(d, node, what);
	if (text && settings_set(settings, node->key->text, text, &err) < 0)
		PROBLEM(d, node, "%s%s%s", section ? section : "", section ? "." : "", err.message);
}

bool section_is_map(struct draft *d, const struct node *node, const char *example)
{
	if (node->kind == NODE_MAP)
		return true;
	if (node->kind != NODE_BAD)
		PROBLEM(d, node, "%s: found %s; expected a mapping such as %s", node->key->text, FOUND(node), example);
	return false;
}

static void general_take(struct draft *d)
{
	struct plan *plan = d->plan;

	for (const struct node *n = d->root->first; n; n = n->next)
		if (setting_find(plan_settings, n->key->text))
			setting_take(d, &plan->general, NULL, n);
	plan->name = settings_text(&plan->general, "name");
	plan->seed = (uint64_t)settings_number(&plan->general, "seed");
	plan->restarts = (uint32_t)settings_number(&plan->general, "restarts");
	plan->runs = (uint32_t)settings_number(&plan->general, "runs");
	plan->warmup_ns = settings_number(&plan->general, "warmup");
	plan->resources_ns = settings_number(&plan->general, "resources");
}

static void resources_check(struct draft *d)
{
	const int64_t least_ns = 1000000;

	if (d->plan->resources_ns > 0 && d->plan->resources_ns < least_ns)
		PROBLEM(d, tree_get(d->root, "resources"),
			"resources: %s is too often; expected 0 (never), or 1ms and more",
			settings_text(&d->plan->general, "resources"));
}

static void name_check(struct draft *d)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const struct node *node = tree_get(d->root, "name");
	const char *name = d->plan->name;

	if (!node)
		PROBLEM(d, d->root, "name is missing; expected such as name: net-latency");
	else if (name && (strspn(name, good) != strlen(name) || strlen(name) > 64 || name[0] == '.' || name[0] == '-'))
		PROBLEM(d, node,
			"name: '%s' is not a name; expected up to 64 letters, digits, '-', '_' or '.', a letter or "
			"digit first",
			name);
}

/* The measures this build has, as text, and their names for a suggestion. */
static void measures_list(char *list, size_t size, const char *ret_names[MEASURES + 1])
{
	size_t n = 0;
	int names = 0;

	list[0] = '\0';
	for (int i = 0; i < MEASURES; i++) {
		ret_names[names++] = measure_kinds[i].name;
		if (measure_kinds[i].probes && n < size)
			n += (size_t)snprintf(list + n, size - n, "%s%s", n ? ", " : "", measure_kinds[i].name);
	}
	ret_names[names] = NULL;
}

static void measure_take(struct draft *d)
{
	const struct node *node = tree_get(d->root, "measure");
	const char *text = settings_text(&d->plan->general, "measure");
	const char *names[MEASURES + 1], *near;
	char list[128];

	measures_list(list, sizeof(list), names);
	if (!node) {
		PROBLEM(d, d->root, "measure is missing; expected one of: %s", list);
		return;
	}
	if (!text)
		return; /* said already */
	if (measure_find(text, &d->plan->measure)) {
		if (measure_kinds[d->plan->measure].probes)
			d->measure = &measure_kinds[d->plan->measure];
		else
			PROBLEM(d, node, "measure '%s' is not in this build yet; measures: %s", text, list);
		return;
	}
	near = nearest_name(text, names);
	/* The rest is checked as if the suggestion had been meant. */
	if (near && measure_find(near, &d->plan->measure) && measure_kinds[d->plan->measure].probes)
		d->measure = &measure_kinds[d->plan->measure];
	if (near)
		PROBLEM(d, node, "unknown measure '%s'; did you mean '%s'?", text, near);
	else
		PROBLEM(d, node, "unknown measure '%s'; measures: %s", text, list);
}

static void target_unknown(struct draft *d, const struct node *kind)
{
	enum { MOST = 32 };
	const char *names[MOST + 1], *near;
	char list[256] = "";
	int count = 0;

	for (; count < MOST && target_kinds[count]; count++) {
		size_t n = strlen(list);

		names[count] = target_kinds[count]->kind;
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", names[count]);
	}
	names[count] = NULL;
	near = nearest_name(kind->text, names);
	/* The rest is checked as if the suggestion had been meant. */
	d->plan->target = near ? target_find(near) : NULL;
	if (near)
		PROBLEM(d, kind, "unknown target '%s'; did you mean '%s'?", kind->text, near);
	else
		PROBLEM(d, kind, "unknown target '%s'; targets: %s", kind->text, list);
}

/* 0 or -ENOMEM. */
static int target_take(struct draft *d)
{
	const struct node *section = tree_get(d->root, "target"), *kind;
	struct plan *plan = d->plan;

	d->target = section;
	if (!section) {
		PROBLEM(d, d->root, "target is missing; expected such as target: { kind: card }");
		return 0;
	}
	if (!section_is_map(d, section, "{ kind: card }"))
		return 0;
	kind = tree_get(section, "kind");
	if (!kind) {
		PROBLEM(d, section, "target: kind is missing; expected such as { kind: card }");
		return 0;
	}
	if (!scalar_text(d, kind, "target.kind"))
		return 0;
	plan->target = target_find(kind->text);
	if (!plan->target)
		target_unknown(d, kind);
	if (!plan->target)
		return 0;
	if (settings_init(&plan->target_settings, plan->target->settings, &plan->arena) < 0)
		return -ENOMEM;
	for (const struct node *n = section->first; n; n = n->next)
		if (n != kind)
			setting_take(d, &plan->target_settings, "target", n);
	return 0;
}

/* A differential plan needs a target with ports, a transit plan one with a line, a control plan one with agents. */
static bool shape_fits(const struct measure_kind *measure, const struct target_ops *target)
{
	if (measure->on_line)
		return target->line != NULL;
	return measure->on_agents ? target->agent != NULL : !target->line && !target->agent;
}

static void shape_check(struct draft *d)
{
	const struct target_ops *target = d->plan->target;
	char list[160] = "";

	if (!d->measure || !target || shape_fits(d->measure, target))
		return;
	for (const struct target_ops *const *k = target_kinds; *k; k++) {
		size_t n = strlen(list);

		if (shape_fits(d->measure, *k))
			snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", (*k)->kind);
	}
	PROBLEM(d, d->target, "target %s cannot be measured by %s; targets that can: %s", target->kind,
		d->measure->name, list[0] ? list : "none in this build");
}

/* 0 or -ENOMEM. */
static int probes_take(struct draft *d)
{
	d->probes = tree_get(d->root, "probes");
	if (!d->measure)
		return 0;
	if (settings_init(&d->plan->probes, d->measure->probes, &d->plan->arena) < 0)
		return -ENOMEM;
	if (d->probes && section_is_map(d, d->probes, "{ count: 1000, rate: 1kpps }"))
		for (const struct node *n = d->probes->first; n; n = n->next)
			setting_take(d, &d->plan->probes, "probes", n);
	return 0;
}

static void tare_take(struct draft *d)
{
	d->tare = tree_get(d->root, "tare");
	if (!d->measure)
		return;
	d->plan->tare_program = d->measure->tare_program;
	if (!d->tare)
		return;
	if (!d->measure->tare_program) {
		PROBLEM(d, d->tare->key, "tare: measure %s takes nothing off; leave it out", d->measure->name);
		return;
	}
	if (!section_is_map(d, d->tare, "{ program: \"null\" }"))
		return;
	for (const struct node *n = d->tare->first; n; n = n->next) {
		if (strcmp(n->key->text, "program") != 0) {
			PROBLEM(d, n->key, "tare: unknown setting '%s'; expected program", n->key->text);
		} else if (scalar_text(d, n, "tare.program")) {
			d->tare_program = n;
			d->plan->tare_program = n->text;
		}
	}
}

static void keys_check(struct draft *d)
{
	for (const struct node *n = d->root->first; n; n = n->next) {
		const char *key = n->key->text, *near;
		bool known = false;

		for (const char *const *k = top_keys; *k && !known; k++)
			known = strcmp(*k, key) == 0;
		if (known)
			continue;
		near = nearest_name(key, top_keys);
		if (d->measure && setting_find(d->measure->probes, key))
			PROBLEM(d, n->key, "unknown key '%s'; it is a setting of probes: probes: { %s: ... }", key,
				key);
		else if (d->plan->target && setting_find(d->plan->target->settings, key))
			PROBLEM(d, n->key, "unknown key '%s'; it is a setting of target: target: { %s: ... }", key,
				key);
		else if (near)
			PROBLEM(d, n->key, "unknown key '%s'; did you mean '%s'?", key, near);
		else
			PROBLEM(d, n->key,
				"unknown key '%s'; expected one of: name, measure, seed, restarts, runs, warmup, "
				"resources, target, matrix, extra, tare, probes, stop",
				key);
	}
}

static int draft_read(struct draft *d)
{
	if (settings_init(&d->plan->general, plan_settings, &d->plan->arena) < 0)
		return -ENOMEM;
	general_take(d);
	resources_check(d);
	name_check(d);
	measure_take(d);
	if (target_take(d) < 0 || probes_take(d) < 0)
		return -ENOMEM;
	tare_take(d);
	if (stop_take(d) < 0)
		return -ENOMEM;
	keys_check(d);
	if (d->pilot && pilot_shrink(d) < 0)
		return -ENOMEM;
	shape_check(d);
	if (cells_build(d) < 0)
		return -ENOMEM;
	/* What cells are together is judged only when each part is right: else one mistake would show as many. */
	if (problems_any(&d->problems))
		return 0;
	if (cells_check(d) < 0)
		return -ENOMEM;
	if (problems_any(&d->problems))
		return 0;
	if (turns_build(d->plan) < 0)
		return -ENOMEM;
	if (d->pilot)
		pilot_thin(d->plan, d->pilot);
	return 0;
}

static int draft_build(struct draft *d, const char *text, size_t length, const char *path, const char *directory)
{
	struct plan *plan = d->plan;
	struct node *root;

	plan->path = arena_strdup(&plan->arena, path);
	plan->directory = arena_strdup(&plan->arena, directory);
	plan->text = arena_strndup(&plan->arena, text, length);
	if (!plan->path || !plan->directory || !plan->text)
		return -ENOMEM;
	plan->text_hash = hash_fnv1a64(text, length);
	if (length > PLAN_BYTES_MOST) {
		problem_at(&d->problems, 0, 0, "%zu bytes are no plan; at most %d fit", length, PLAN_BYTES_MOST);
		return 0;
	}
	if (tree_parse(text, length, &plan->arena, &d->problems, &root) < 0)
		return -ENOMEM;
	if (!root || (root->kind == NODE_SCALAR && root->plain && root->text[0] == '\0')) {
		if (!problems_any(&d->problems))
			problem_at(&d->problems, 1, 1,
				   "the plan is empty; expected name, measure, target, matrix and probes");
		return 0;
	}
	if (root->kind != NODE_MAP) {
		if (root->kind != NODE_BAD)
			problem_at(&d->problems, root->line, root->column,
				   "found %s; expected a mapping with name, measure, target, matrix and probes",
				   FOUND(root));
		return 0;
	}
	d->root = root;
	return draft_read(d);
}

int plan_parse_pilot(const char *text, size_t length, const char *path, const char *directory,
		     const struct plan_pilot *pilot, struct plan **ret_plan, struct plan_problems *ret_problems,
		     struct err *err)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	struct draft *d = calloc(1, sizeof(*d));
	int rc = plan && d ? 0 : -ENOMEM;

	memset(ret_problems, 0, sizeof(*ret_problems));
	if (rc == 0) {
		arena_init(&plan->arena, 0);
		problems_init(&d->problems);
		d->plan = plan;
		d->pilot = pilot;
		rc = draft_build(d, text, length, path, directory);
		if (rc == 0 && problems_any(&d->problems)) {
			rc = problems_take(&d->problems, ret_problems);
			if (rc == 0)
				rc = err_set(err, ERR_USAGE, EINVAL, "%s: %u problem%s", path,
					     ret_problems->count + ret_problems->more,
					     ret_problems->count + ret_problems->more == 1 ? "" : "s");
		}
		problems_release(&d->problems);
	}
	free(d);
	if (rc == 0) {
		*ret_plan = plan;
		return 0;
	}
	plan_destroy(plan);
	return rc == -ENOMEM ? err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path) : rc;
}

int plan_parse(const char *text, size_t length, const char *path, const char *directory, struct plan **ret_plan,
	       struct plan_problems *ret_problems, struct err *err)
{
	return plan_parse_pilot(text, length, path, directory, NULL, ret_plan, ret_problems, err);
}

void plan_destroy(struct plan *plan)
{
	if (!plan)
		return;
	arena_release(&plan->arena);
	free(plan);
}

const char *cell_value(const struct plan *plan, const struct cell *cell, const char *axis)
{
	for (uint32_t i = 0; i < plan->axis_count; i++)
		if (strcmp(plan->axes[i], axis) == 0)
			return cell->values[i];
	return NULL;
}
