/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/axes.h"

/*
 * From matrix: and extra: to cells. A cell of the matrix sets every axis of the
 * matrix, the first axis turning slowest; an extra sets the axes it names. What
 * a cell is, is its effective values: an axis it does not set has the plan's own
 * value, so "256B" set and 256B inherited are the same cell.
 */
struct identity {
	const char **canonical; /* effective values, by axis */
	uint64_t hash;          /* of all */
	uint64_t hash_rest;     /* of all but program: the point a tare is of */
};

struct growing {
	struct draft *d;
	struct axes *axes;
	struct identity *identities; /* by cell */
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	while (*text++);
	return hash;
}

/* Once the cell's values are filled in. 0 or -ENOMEM. */
static int identity_set(struct growing *g, const struct cell *cell)
{
	struct identity *id = &g->identities[cell->index];
	struct arena *arena = &g->d->plan->arena;

	id->canonical = arena_array(arena, g->axes->count, sizeof(*id->canonical));
	if (!id->canonical)
		return -ENOMEM;
	id->hash = id->hash_rest = 0xcbf29ce484222325u;
	for (uint32_t i = 0; i < g->axes->count; i++) {
		const struct axis *axis = &g->axes->items[i];
		const char *text = cell->values[i];

		if (!text && axis->section)
			text = settings_text(axis->section, axis->name);
		id->canonical[i] = axis_canonical(axis, text, arena);
		if (!id->canonical[i])
			return -ENOMEM;
		id->hash = hash_text(id->hash, id->canonical[i]);
		if (axis->section)
			id->hash_rest = hash_text(id->hash_rest, id->canonical[i]);
	}
	return 0;
}

static bool cells_same(const struct growing *g, uint32_t a, uint32_t b, bool but_program)
{
	const struct identity *x = &g->identities[a], *y = &g->identities[b];

	if (but_program ? x->hash_rest != y->hash_rest : x->hash != y->hash)
		return false;
	for (uint32_t i = 0; i < g->axes->count; i++)
		if (!(but_program && !g->axes->items[i].section) && strcmp(x->canonical[i], y->canonical[i]) != 0)
			return false;
	return true;
}

static const char *label_make(const struct growing *g, const struct cell *cell, bool alone)
{
	struct arena *arena = &g->d->plan->arena;
	const struct axes *axes = g->axes;
	const char *label = cell->is_tare ? "tare" : "";

	for (uint32_t i = 0; i < axes->count && label; i++) {
		const char *value = cell->values[i];

		if (!value || (cell->is_tare && (alone || !axes->items[i].section)))
			continue;
		label = arena_printf(arena, strchr(value, ' ') ? "%s%s%s=\"%s\"" : "%s%s%s=%s", label,
				     label[0] ? " " : "", axes->items[i].name, value);
	}
	return label;
}

/* 0 or -ENOMEM: an empty cell at the end of the list. */
static int cell_append(struct growing *g, const char ***ret_values, const struct node ***ret_origins)
{
	struct plan *plan = g->d->plan;
	struct cell *cell = &plan->cells[plan->cell_count];

	*ret_values = arena_array(&plan->arena, g->axes->count, sizeof(**ret_values));
	*ret_origins = g->d->origins + (size_t)plan->cell_count * g->axes->count;
	if (!*ret_values)
		return -ENOMEM;
	cell->index = plan->cell_count++;
	cell->tare = CELL_NONE;
	cell->values = *ret_values;
	return 0;
}

static int matrix_expand(struct growing *g)
{
	const struct axes *axes = g->axes;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	const struct node **at = arena_array(&g->d->plan->arena, axes->in_matrix + 1u, sizeof(*at));
	uint32_t turning = axes->in_matrix;

	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < axes->in_matrix; i++)
		at[i] = axes->items[i].list->first;
	/* Count like an odometer: the last axis turns fastest; done when the first has turned over. */
	while (turning > 0) {
		const struct cell *cell = &g->d->plan->cells[g->d->plan->cell_count];
		const struct node **origins;
		const char **values;

		if (cell_append(g, &values, &origins) < 0)
			return -ENOMEM;
		for (uint32_t i = 0; i < axes->in_matrix; i++) {
			values[i] = at[i]->text;
			origins[i] = at[i];
		}
		if (identity_set(g, cell) < 0)
			return -ENOMEM;
		for (turning = axes->in_matrix; turning > 0; turning--) {
			at[turning - 1] = at[turning - 1]->next;
			if (at[turning - 1])
				break;
			at[turning - 1] = axes->items[turning - 1].list->first;
		}
	}
	return 0;
}

static int extra_expand(struct growing *g, const struct node *extra)
{
	const struct plan *plan = g->d->plan;

	for (const struct node *item = extra ? extra->first : NULL; item; item = item->next) {
		const struct cell *cell = &plan->cells[plan->cell_count];
		const struct node **origins;
		const char **values;

		if (cell_append(g, &values, &origins) < 0)
			return -ENOMEM;
		for (const struct node *n = item->first; n; n = n->next) {
			size_t axis = (size_t)(axis_find(g->axes, n->key->text) - g->axes->items);

			values[axis] = n->text;
			origins[axis] = n;
		}
		if (identity_set(g, cell) < 0)
			return -ENOMEM;
		for (uint32_t other = 0; other < cell->index; other++) {
			if (cells_same(g, other, cell->index, false)) {
				const char *label = label_make(g, &plan->cells[other], false);

				PROBLEM(g->d, item, "extra: this cell is in the plan already, as '%s'",
					label ? label : "another");
				break;
			}
		}
	}
	return 0;
}

/* One tare for each point of the axes other than program. 0 or -ENOMEM. */
static int tares_add(struct growing *g)
{
	struct plan *plan = g->d->plan;
	uint32_t cell_count = plan->cell_count;

	for (uint32_t i = 0; i < cell_count; i++) {
		const struct node **origins;
		const char **values;
		struct cell *tare;
		uint32_t at = cell_count;

		while (at < plan->cell_count && !cells_same(g, at, i, true))
			at++;
		plan->cells[i].tare = at;
		if (at < plan->cell_count)
			continue;
		tare = &plan->cells[at];
		if (cell_append(g, &values, &origins) < 0)
			return -ENOMEM;
		tare->is_tare = true;
		tare->tare = at;
		for (uint32_t a = 0; a < g->axes->count; a++) {
			bool program = !g->axes->items[a].section;

			values[a] = program ? plan->tare_program : plan->cells[i].values[a];
			origins[a] = !program             ? g->d->origins[(size_t)i * g->axes->count + a]
				     : g->d->tare_program ? g->d->tare_program
							  : g->d->root;
		}
		if (identity_set(g, tare) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int cells_fill(struct growing *g, const struct node *extra, uint32_t count)
{
	struct axes *axes = g->axes;
	struct plan *plan = g->d->plan;
	const char **names = arena_array(&plan->arena, axes->count + 1u, sizeof(*names));
	size_t most = 2 * (size_t)count; /* each cell may need a tare of its own */

	plan->cells = arena_array(&plan->arena, most, sizeof(*plan->cells));
	g->identities = arena_array(&plan->arena, most, sizeof(*g->identities));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	g->d->origins = arena_array(&plan->arena, most * axes->count, sizeof(*g->d->origins));
	if (!names || !plan->cells || !g->identities || !g->d->origins)
		return -ENOMEM;
	for (uint32_t i = 0; i < axes->count; i++)
		names[i] = axes->items[i].name;
	plan->axes = names;
	plan->axis_count = axes->count;
	if (matrix_expand(g) < 0 || extra_expand(g, extra) < 0)
		return -ENOMEM;
	TARE_ASSERT(plan->cell_count == count);
	if (plan->tare_program && tares_add(g) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->cell_count; i++) {
		plan->cells[i].label = label_make(g, &plan->cells[i], plan->cell_count - count == 1);
		if (!plan->cells[i].label)
			return -ENOMEM;
	}
	return 0;
}

int cells_build(struct draft *d)
{
	const struct node *matrix = tree_get(d->root, "matrix"), *extra = tree_get(d->root, "extra");
	struct growing g = { .d = d };
	struct axes axes;

	if (axes_read(d, matrix, extra, &axes) < 0)
		return -ENOMEM;
	if (problems_any(&d->problems))
		return 0;
	g.axes = &axes;
	return cells_fill(&g, extra, (uint32_t)axes_cells(&axes, extra));
}
