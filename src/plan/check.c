/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan_private.h"

/* A message about one setting of one cell, on its way to the place where the setting was written. */
struct place {
	struct draft *d;
	const struct cell *cell;
	const struct node *section; /* where the setting stands if the cell does not set it */
	bool wrong;                 /* something has been said, perhaps again */
};

static int settings_copy(struct settings *to, const struct settings *from, struct arena *arena)
{
	size_t count = 0;

	while (from->table[count].name)
		count++;
	to->table = from->table;
	to->arena = arena;
	to->values = arena_array(arena, count + 1, sizeof(*to->values));
	if (!to->values)
		return -ENOMEM;
	memcpy(to->values, from->values, count * sizeof(*to->values));
	return 0;
}

int plan_cell_setup(const struct plan *plan, const struct cell *cell, struct arena *arena, struct cell_setup *ret)
{
	struct cell_setup setup = { 0 };

	if (settings_copy(&setup.target, &plan->target_settings, arena) < 0 ||
	    settings_copy(&setup.probes, &plan->probes, arena) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->axis_count; i++) {
		const char *name = plan->axes[i], *value = cell->values[i];
		int rc = 0;

		if (strcmp(name, "program") == 0)
			setup.program = value;
		else if (value)
			rc = settings_set(setting_find(setup.probes.table, name) ? &setup.probes : &setup.target, name,
					  value, NULL);
		if (rc == -ENOMEM)
			return rc;
		TARE_ASSERT(rc == 0);
	}
	*ret = setup;
	return 0;
}

static const struct node *place_find(const struct place *p, const char *setting)
{
	const struct plan *plan = p->d->plan;
	const struct node *own = NULL;

	for (uint32_t i = 0; i < plan->axis_count; i++)
		if (strcmp(plan->axes[i], setting) == 0)
			own = p->d->origins[(size_t)p->cell->index * plan->axis_count + i];
	if (!own && p->section && p->section->kind == NODE_MAP)
		own = tree_get(p->section, setting);
	return own ? own : p->section ? p->section : p->d->root;
}

static void setting_problem(void *context, const char *setting, const char *message)
{
	struct place *p = context;

	p->wrong = true;
	PROBLEM(p->d, place_find(p, setting), "%s: %s", setting, message);
}

/* Outlines by the text of the settings they come from: cells that differ in the program alone share a stream. */
struct outlines {
	struct arena arena;
	struct seen {
		const char *key;
		int rc;
		struct stream_outline outline;
		struct err err;
		struct seen *next;
	} * first;
};

static const char *settings_key(const struct settings *s, struct arena *arena)
{
	const char *key = "";

	for (size_t i = 0; s->table[i].name && key; i++)
		if (s->values[i].set)
			key = arena_printf(arena, "%s%zu=%s\n", key, i, s->values[i].text);
	return key;
}

static const struct seen *outline_find(struct draft *d, struct outlines *outlines, const struct settings *probes)
{
	const char *key = settings_key(probes, &outlines->arena);
	struct seen *seen = outlines->first;

	if (!key)
		return NULL;
	while (seen && strcmp(seen->key, key) != 0)
		seen = seen->next;
	if (seen)
		return seen;
	seen = arena_alloc(&outlines->arena, sizeof(*seen));
	if (!seen)
		return NULL;
	seen->key = key;
	seen->rc = d->measure->outline(probes, d->plan->directory, &seen->outline, &seen->err);
	seen->next = outlines->first;
	outlines->first = seen;
	return seen;
}

static bool has_trace(const struct settings *probes)
{
	return setting_find(probes->table, "trace") && settings_text(probes, "trace");
}

/* Where to point when the stream as a whole cannot be: at its trace, at what this cell sets of it, or at the section. */
static const struct node *stream_place(const struct place *p, const struct settings *probes)
{
	const struct plan *plan = p->d->plan;

	if (has_trace(probes))
		return place_find(p, "trace");
	for (uint32_t i = 0; i < plan->axis_count; i++)
		if (p->cell->values[i] && setting_find(probes->table, plan->axes[i]))
			return place_find(p, plan->axes[i]);
	return p->section ? p->section : p->d->root;
}

/* 0 or -ENOMEM. */
static int cell_check(struct draft *d, const struct cell *cell, const struct cell_setup *setup,
		      struct outlines *outlines, int64_t *ret_ns)
{
	struct plan *plan = d->plan;
	struct place in_probes = { .d = d, .cell = cell, .section = d->probes };
	struct place in_target = { .d = d, .cell = cell, .section = d->target };
	struct target_setup check = {
		.settings = &setup->target, .program = setup->program, .directory = plan->directory, .seed = plan->seed
	};
	struct err err = { 0 };
	const struct seen *seen;

	d->measure->check(&setup->probes, setting_problem, &in_probes);
	if (in_probes.wrong)
		return 0;
	seen = outline_find(d, outlines, &setup->probes);
	if (!seen || seen->rc == -ENOMEM)
		return -ENOMEM;
	if (seen->rc < 0) {
		PROBLEM(d, stream_place(&in_probes, &setup->probes), "%s: %s",
			has_trace(&setup->probes) ? "trace" : "probes", seen->err.message);
		return 0;
	}
	*ret_ns = seen->outline.send_ns;
	check.frame_bytes = seen->outline.longest_bytes;
	check.probe_count = seen->outline.probe_count;
	check.frame_count = seen->outline.frame_count;
	if (plan->target->check && plan->target->check(&check, &err) < 0)
		PROBLEM(d, place_find(&in_target, "program"), "target %s: %s", plan->target->kind, err.message);
	else if (d->measure->fits && d->measure->fits(&setup->probes, plan->target, &check, &err) < 0)
		PROBLEM(d, stream_place(&in_probes, &setup->probes), "%s", err.message);
	return 0;
}

/* The place of a key at the top of the plan, or the plan. */
static const struct node *top_place(const struct draft *d, const char *key)
{
	const struct node *node = tree_get(d->root, key);

	return node ? node : d->root;
}

/* How long a restart of every cell takes together, tares twice; and what that makes for all of them. */
static void length_check(struct draft *d, wide_ns block_ns)
{
	struct plan *plan = d->plan;
	wide_ns total = block_ns * plan->restarts;

	if (total > INT64_MAX)
		PROBLEM(d, top_place(d, "restarts"),
			"the campaign would take more than 292 years; expected fewer "
			"restarts, runs or probes, or a higher rate");
	else
		plan->expected_ns = (int64_t)total;
}

static void restarts_check(struct draft *d)
{
	struct plan *plan = d->plan;
	uint64_t turns = plan->cell_count;

	for (uint32_t i = 0; i < plan->cell_count; i++)
		turns += plan->cells[i].is_tare;
	turns *= plan->restarts;
	if (turns > PLAN_TURNS_MOST)
		PROBLEM(d, top_place(d, "restarts"), "restarts: %u of %u cells, tares twice, make %llu; at most %d fit",
			plan->restarts, plan->cell_count, (unsigned long long)turns, PLAN_TURNS_MOST);
}

/* 0 or -ENOMEM. *ret_ns: what one restart of the cell takes. */
static int restart_check(struct draft *d, const struct cell *cell, struct outlines *outlines, wide_ns *ret_ns)
{
	struct cell_setup setup;
	struct arena arena;
	int64_t run_ns = 0;
	int rc;

	arena_init(&arena, 0);
	rc = plan_cell_setup(d->plan, cell, &arena, &setup);
	if (rc == 0)
		rc = cell_check(d, cell, &setup, outlines, &run_ns);
	arena_release(&arena);
	*ret_ns = (wide_ns)run_ns * d->plan->runs + d->plan->warmup_ns;
	return rc;
}

int cells_check(struct draft *d)
{
	struct outlines outlines = { 0 };
	wide_ns block_ns = 0;
	int rc = 0;

	arena_init(&outlines.arena, 0);
	restarts_check(d);
	for (uint32_t i = 0; rc == 0 && i < d->plan->cell_count && !d->problems.more; i++) {
		const struct cell *cell = &d->plan->cells[i];
		wide_ns restart_ns;

		rc = restart_check(d, cell, &outlines, &restart_ns);
		block_ns += restart_ns * (cell->is_tare ? 2 : 1);
	}
	arena_release(&outlines.arena);
	if (rc == 0)
		length_check(d, block_ns);
	return rc;
}
