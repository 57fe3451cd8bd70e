/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan_private.h"

/*
 * From matrix: and extra: to cells. A cell of the matrix sets every axis of the
 * matrix, the first axis turning slowest; an extra sets the axes it names. What
 * a cell is, is its effective values: an axis it does not set has the plan's own
 * value, so "256B" set and 256B inherited are the same cell.
 */
struct axis {
	const char *name;
	const struct settings *section; /* NULL: program, which is text */
	const struct node *list;        /* in matrix:; NULL: only extras set it */
};

struct axes {
	struct axis *items;
	uint32_t count, in_matrix, capacity;
};

/* Where a name belongs. False: unknown, and said; or not to be judged, because its section has not been read. */
static bool axis_section(struct draft *d, const struct node *key, const struct settings **ret_section)
{
	const struct plan *plan = d->plan;
	const char *names[130], *near;
	unsigned count = 0;

	*ret_section = NULL;
	if (strcmp(key->text, "program") == 0)
		return true;
	if (d->measure && setting_find(plan->probes.table, key->text))
		*ret_section = &plan->probes;
	else if (plan->target && setting_find(plan->target_settings.table, key->text))
		*ret_section = &plan->target_settings;
	if (*ret_section || !d->measure || !plan->target)
		return *ret_section != NULL;
	names[count++] = "program";
	for (const struct setting *s = plan->probes.table; s->name && count < 64; s++)
		names[count++] = s->name;
	for (const struct setting *s = plan->target_settings.table; s->name && count < 128; s++)
		names[count++] = s->name;
	names[count] = NULL;
	near = nearest_name(key->text, names);
	if (near)
		PROBLEM(d, key, "unknown axis '%s'; did you mean '%s'?", key->text, near);
	else
		PROBLEM(d, key, "unknown axis '%s'; expected program, or a setting of probes or of target %s",
			key->text, plan->target->kind);
	return false;
}

static struct axis *axis_find(struct axes *axes, const char *name)
{
	for (uint32_t i = 0; i < axes->count; i++)
		if (strcmp(axes->items[i].name, name) == 0)
			return &axes->items[i];
	return NULL;
}

static void axis_add(struct axes *axes, const char *name, const struct settings *section, const struct node *list)
{
	TARE_ASSERT(axes->count < axes->capacity);
	axes->items[axes->count++] = (struct axis){ .name = name, .section = section, .list = list };
}

/* One value of an axis. False: a problem has been noted. */
static bool value_check(struct draft *d, const struct axis *axis, const struct node *value)
{
	struct err err = { 0 };

	if (!scalar_text(d, value, axis->name))
		return false;
	if (axis->section && settings_try(axis->section, axis->name, value->text, NULL, &err) < 0) {
		PROBLEM(d, value, "%s", err.message);
		return false;
	}
	return true;
}

/* Two texts of one axis mean the same: "1kB" and "1000B". Both have passed value_check. */
static bool value_same(const struct axis *axis, const char *a, const char *b)
{
	int64_t x = 0, y = 1;

	if (strcmp(a, b) == 0)
		return true;
	if (!axis->section || setting_find(axis->section->table, axis->name)->type == SETTING_TEXT)
		return false;
	settings_try(axis->section, axis->name, a, &x, NULL);
	settings_try(axis->section, axis->name, b, &y, NULL);
	return x == y;
}

static void axis_list_check(struct draft *d, const struct axis *axis)
{
	for (const struct node *v = axis->list->first; v; v = v->next) {
		bool twice = false;

		if (!value_check(d, axis, v))
			continue;
		for (const struct node *u = axis->list->first; u != v && !twice; u = u->next)
			twice = u->kind == NODE_SCALAR && strcmp(u->text, v->text) == 0;
		if (twice)
			PROBLEM(d, v, "%s: '%s' is in the list twice", axis->name, v->text);
	}
}

/* As axis_list_check, for values that are written differently but mean the same. Only lists that have no other problem. */
static void axis_list_compare(struct draft *d, const struct axis *axis)
{
	for (const struct node *v = axis->list->first; v; v = v->next)
		for (const struct node *u = axis->list->first; u != v; u = u->next)
			if (strcmp(u->text, v->text) != 0 && value_same(axis, u->text, v->text))
				PROBLEM(d, v, "%s: '%s' is the same as '%s', which is in the list already", axis->name,
					v->text, u->text);
}

static void matrix_axis_take(struct draft *d, struct axes *axes, const struct node *n)
{
	const struct settings *section;

	if (!axis_section(d, n->key, &section) || n->kind == NODE_BAD)
		return;
	if (n->kind != NODE_LIST) {
		PROBLEM(d, n, "matrix.%s: found %s; expected a list such as [%s]", n->key->text, FOUND(n),
			n->kind == NODE_SCALAR && n->text[0] ? n->text : "a, b");
		return;
	}
	if (n->count == 0) {
		PROBLEM(d, n, "matrix.%s: the list is empty; expected at least one value", n->key->text);
		return;
	}
	if (n->count > PLAN_CELLS_MOST) {
		PROBLEM(d, n, "matrix.%s: %u values make too many cells; at most %d fit", n->key->text, n->count,
			PLAN_CELLS_MOST);
		return;
	}
	axis_add(axes, n->key->text, section, n);
	axes->in_matrix = axes->count;
	axis_list_check(d, &axes->items[axes->count - 1]);
}

static void matrix_take(struct draft *d, struct axes *axes, const struct node *matrix)
{
	if (matrix->kind != NODE_MAP) {
		if (matrix->kind != NODE_BAD)
			PROBLEM(d, matrix, "matrix: found %s; expected a mapping such as { program: [a, b] }",
				FOUND(matrix));
		return;
	}
	if (matrix->count == 0)
		PROBLEM(d, matrix, "matrix: is empty; expected an axis such as program: [a, b]");
	for (const struct node *n = matrix->first; n; n = n->next)
		matrix_axis_take(d, axes, n);
}

static void extra_item_take(struct draft *d, struct axes *axes, const struct node *item)
{
	if (item->kind != NODE_MAP) {
		if (item->kind != NODE_BAD)
			PROBLEM(d, item, "extra: found %s; expected a mapping such as { program: a, size: 64B }",
				FOUND(item));
		return;
	}
	if (item->count == 0)
		PROBLEM(d, item, "extra: an empty cell; expected such as { program: a, size: 64B }");
	for (const struct node *n = item->first; n; n = n->next) {
		struct axis *axis = axis_find(axes, n->key->text);
		const struct settings *section;

		if (!axis) {
			if (!axis_section(d, n->key, &section))
				continue;
			axis_add(axes, n->key->text, section, NULL);
			axis = &axes->items[axes->count - 1];
		}
		value_check(d, axis, n);
	}
	if (!tree_get(item, "program"))
		PROBLEM(d, item, "extra: a cell without a program; expected such as { program: a, size: 64B }");
}

static void extra_take(struct draft *d, struct axes *axes, const struct node *extra)
{
	if (extra->kind != NODE_LIST) {
		if (extra->kind != NODE_BAD)
			PROBLEM(d, extra, "extra: found %s; expected a list of cells such as [{ program: a }]",
				FOUND(extra));
		return;
	}
	for (const struct node *item = extra->first; item; item = item->next)
		extra_item_take(d, axes, item);
}

/* Cells that matrix and extra make; UINT64_MAX: that many or more. */
static uint64_t cells_count(const struct axes *axes, const struct node *extra)
{
	uint64_t count = axes->in_matrix ? 1 : 0;

	for (uint32_t i = 0; i < axes->in_matrix; i++)
		if (__builtin_mul_overflow(count, axes->items[i].list->count, &count))
			return UINT64_MAX;
	if (extra && __builtin_add_overflow(count, extra->count, &count))
		return UINT64_MAX;
	return count;
}

/* The value that holds for a cell on an axis, or NULL where neither cell nor plan has one. */
static const char *effective(const struct axis *axis, const char *value)
{
	return value ? value : axis->section ? settings_text(axis->section, axis->name) : NULL;
}

static bool cells_same(const struct axes *axes, const struct cell *a, const struct cell *b, bool but_program)
{
	for (uint32_t i = 0; i < axes->count; i++) {
		const struct axis *axis = &axes->items[i];
		const char *x = effective(axis, a->values[i]), *y = effective(axis, b->values[i]);

		if (!axis->section && but_program)
			continue;
		if (!x != !y || (x && !value_same(axis, x, y)))
			return false;
	}
	return true;
}

static const char *label_make(struct draft *d, const struct axes *axes, const struct cell *cell, bool alone)
{
	struct arena *arena = &d->plan->arena;
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
static int cell_append(struct draft *d, const struct axes *axes, const char ***ret_values,
		       const struct node ***ret_origins)
{
	struct plan *plan = d->plan;
	struct cell *cell = &plan->cells[plan->cell_count];

	*ret_values = arena_array(&plan->arena, axes->count, sizeof(**ret_values));
	*ret_origins = d->origins + (size_t)plan->cell_count * axes->count;
	if (!*ret_values)
		return -ENOMEM;
	cell->index = plan->cell_count++;
	cell->tare = CELL_NONE;
	cell->values = *ret_values;
	return 0;
}

static int matrix_expand(struct draft *d, const struct axes *axes)
{
	const struct node **at = arena_array(&d->plan->arena, axes->in_matrix + 1u, sizeof(*at));
	uint32_t i = 0;

	if (!at)
		return -ENOMEM;
	for (i = 0; i < axes->in_matrix; i++)
		at[i] = axes->items[i].list->first;
	/* Count like an odometer: the last axis turns fastest; done when the first has turned over. */
	while (axes->in_matrix) {
		const struct node **origins;
		const char **values;

		if (cell_append(d, axes, &values, &origins) < 0)
			return -ENOMEM;
		for (i = 0; i < axes->in_matrix; i++) {
			values[i] = at[i]->text;
			origins[i] = at[i];
		}
		for (i = axes->in_matrix; i > 0; i--) {
			at[i - 1] = at[i - 1]->next;
			if (at[i - 1])
				break;
			at[i - 1] = axes->items[i - 1].list->first;
		}
		if (i == 0)
			break;
	}
	return 0;
}

static int extra_expand(struct draft *d, struct axes *axes, const struct node *extra)
{
	const struct plan *plan = d->plan;

	for (const struct node *item = extra ? extra->first : NULL; item; item = item->next) {
		const struct cell *cell = &plan->cells[plan->cell_count];
		const struct node **origins;
		const char **values;

		if (cell_append(d, axes, &values, &origins) < 0)
			return -ENOMEM;
		for (const struct node *n = item->first; n; n = n->next) {
			size_t axis = (size_t)(axis_find(axes, n->key->text) - axes->items);

			values[axis] = n->text;
			origins[axis] = n;
		}
		for (const struct cell *other = plan->cells; other < cell; other++) {
			if (cells_same(axes, other, cell, false)) {
				PROBLEM(d, item, "extra: this cell is in the plan already, as '%s'",
					label_make(d, axes, other, false));
				break;
			}
		}
	}
	return 0;
}

/* One tare for each point of the axes other than program. Returns how many cells there are then, or -ENOMEM. */
static int tares_add(struct draft *d, const struct axes *axes)
{
	struct plan *plan = d->plan;
	uint32_t cell_count = plan->cell_count;

	for (uint32_t i = 0; i < cell_count; i++) {
		const struct node **origins;
		const char **values;
		struct cell *tare = &plan->cells[cell_count];

		while (tare < plan->cells + plan->cell_count && !cells_same(axes, tare, &plan->cells[i], true))
			tare++;
		plan->cells[i].tare = (uint32_t)(tare - plan->cells);
		if (tare < plan->cells + plan->cell_count)
			continue;
		if (cell_append(d, axes, &values, &origins) < 0)
			return -ENOMEM;
		tare->is_tare = true;
		tare->tare = tare->index;
		for (uint32_t a = 0; a < axes->count; a++) {
			values[a] = axes->items[a].section ? plan->cells[i].values[a] : plan->tare_program;
			origins[a] = axes->items[a].section ? d->origins[(size_t)i * axes->count + a]
				     : d->tare_program      ? d->tare_program
							    : d->root;
		}
	}
	return 0;
}

static int cells_fill(struct draft *d, struct axes *axes, const struct node *extra, uint32_t count)
{
	struct plan *plan = d->plan;
	const char **names = arena_array(&plan->arena, axes->count + 1u, sizeof(*names));
	uint32_t tare_count;

	/* Each cell may need a tare of its own. */
	plan->cells = arena_array(&plan->arena, 2 * (size_t)count, sizeof(*plan->cells));
	d->origins = arena_array(&plan->arena, 2 * (size_t)count * axes->count, sizeof(*d->origins));
	if (!names || !plan->cells || !d->origins)
		return -ENOMEM;
	for (uint32_t i = 0; i < axes->count; i++)
		names[i] = axes->items[i].name;
	plan->axes = names;
	plan->axis_count = axes->count;
	if (matrix_expand(d, axes) < 0 || extra_expand(d, axes, extra) < 0)
		return -ENOMEM;
	TARE_ASSERT(plan->cell_count == count);
	if (plan->tare_program && tares_add(d, axes) < 0)
		return -ENOMEM;
	tare_count = plan->cell_count - count;
	for (uint32_t i = 0; i < plan->cell_count; i++) {
		plan->cells[i].label = label_make(d, axes, &plan->cells[i], tare_count == 1);
		if (!plan->cells[i].label)
			return -ENOMEM;
	}
	return 0;
}

static void count_check(struct draft *d, const struct node *place, uint64_t count)
{
	if (count == UINT64_MAX)
		PROBLEM(d, place, "matrix and extra make more than 10^19 cells; at most %d fit", PLAN_CELLS_MOST);
	else if (count > PLAN_CELLS_MOST)
		PROBLEM(d, place, "matrix and extra make %llu cells; at most %d fit", (unsigned long long)count,
			PLAN_CELLS_MOST);
}

int cells_build(struct draft *d)
{
	const struct node *matrix = tree_get(d->root, "matrix"), *extra = tree_get(d->root, "extra");
	struct axes axes = { .capacity = 256 };
	uint64_t count;

	axes.items = arena_array(&d->plan->arena, axes.capacity, sizeof(*axes.items));
	if (!axes.items)
		return -ENOMEM;
	if (!matrix && !extra) {
		PROBLEM(d, d->root, "matrix is missing; expected such as matrix: { program: [a, b] }");
		return 0;
	}
	if (matrix)
		matrix_take(d, &axes, matrix);
	if (matrix && matrix->kind == NODE_MAP && matrix->count > 0 && !tree_get(matrix, "program"))
		PROBLEM(d, matrix, "matrix: program is missing; expected such as program: [a, b]");
	if (extra)
		extra_take(d, &axes, extra);
	if (!matrix && extra->kind == NODE_LIST && extra->count == 0)
		PROBLEM(d, extra, "extra: the list is empty and there is no matrix; expected at least one cell");
	count = cells_count(&axes, extra && extra->kind == NODE_LIST ? extra : NULL);
	count_check(d, matrix ? matrix : extra, count);
	if (problems_any(&d->problems))
		return 0;
	for (uint32_t i = 0; i < axes.in_matrix; i++)
		axis_list_compare(d, &axes.items[i]);
	if (problems_any(&d->problems))
		return 0;
	return cells_fill(d, &axes, extra, (uint32_t)count);
}
