/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/plan_private.h"

/* A message about one setting of one cell, on its way to the place where the setting was written. */
struct place {
	struct draft *d;
	const struct cell *cell;
	const struct node *section; /* where the setting stands if the cell does not set it */
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
	const struct place *p = context;

	PROBLEM(p->d, place_find(p, setting), "%s: %s", setting, message);
}

static void trace_check(struct place *p, const struct settings *probes)
{
	const struct setting *def = setting_find(probes->table, "trace");
	const char *name = def ? settings_text(probes, "trace") : NULL;
	const char *directory = p->d->plan->directory;
	char path[4096];
	struct stat st;
	int n;

	if (!name)
		return;
	n = snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : directory, name[0] == '/' ? "" : "/", name);
	if (n >= (int)sizeof(path))
		PROBLEM(p->d, place_find(p, "trace"), "trace: the name is too long; at most %zu bytes fit",
			sizeof(path) - 1);
	else if (stat(path, &st) < 0 || access(path, R_OK) < 0)
		PROBLEM(p->d, place_find(p, "trace"), "trace: cannot read '%s': %s", path, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		PROBLEM(p->d, place_find(p, "trace"), "trace: '%s' is a directory; expected a pcap or pcapng file",
			path);
}

static void cell_check(struct draft *d, const struct cell *cell, const struct cell_setup *setup, int64_t *ret_ns)
{
	struct plan *plan = d->plan;
	struct place in_probes = { .d = d, .cell = cell, .section = d->probes };
	struct place in_target = { .d = d, .cell = cell, .section = d->target };
	struct target_setup check = {
		.settings = &setup->target, .program = setup->program, .directory = plan->directory, .seed = plan->seed
	};
	struct err err = { 0 };
	uint32_t before = d->problems.count;

	d->measure->check(&setup->probes, setting_problem, &in_probes);
	trace_check(&in_probes, &setup->probes);
	if (d->problems.count != before)
		return;
	d->measure->stream(&setup->probes, plan->directory, ret_ns, &check.probe_count, &check.frame_bytes);
	if (plan->target->check && plan->target->check(&check, &err) < 0)
		PROBLEM(d, place_find(&in_target, "program"), "program '%s' on target %s: %s", setup->program,
			plan->target->kind, err.message);
}

/* The place of a key at the top of the plan, or the plan. */
static const struct node *top_place(const struct draft *d, const char *key)
{
	const struct node *node = tree_get(d->root, key);

	return node ? node : d->root;
}

/* How long a restart of every cell takes together, tares twice; and what that makes for all of them. */
static void length_check(struct draft *d, wide_ns block_ns, bool known)
{
	struct plan *plan = d->plan;
	wide_ns total = block_ns * plan->restarts;

	if (known && total > INT64_MAX)
		PROBLEM(d, top_place(d, "restarts"),
			"the campaign would take more than 292 years; expected fewer "
			"restarts, runs or probes, or a higher rate");
	else
		plan->expected_ns = known ? (int64_t)total : 0;
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

int cells_check(struct draft *d)
{
	struct plan *plan = d->plan;
	wide_ns block_ns = 0;
	bool known = true;

	restarts_check(d);
	for (uint32_t i = 0; i < plan->cell_count && !d->problems.more; i++) {
		struct cell *cell = &plan->cells[i];
		struct cell_setup setup;
		struct arena arena;
		int64_t run_ns = 0;
		int rc;

		arena_init(&arena, 0);
		rc = plan_cell_setup(plan, cell, &arena, &setup);
		if (rc == 0)
			cell_check(d, cell, &setup, &run_ns);
		arena_release(&arena);
		if (rc < 0)
			return rc;
		known = known && run_ns > 0;
		block_ns += ((wide_ns)run_ns * plan->runs + plan->warmup_ns) * (cell->is_tare ? 2 : 1);
	}
	length_check(d, block_ns, known);
	return 0;
}
