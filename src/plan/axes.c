/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/axes.h"

#include <errno.h>
#include <string.h>

/* Each is a setting of a table, or program: no plan can name more. */
enum { AXES_MOST = 256 };

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

struct axis *axis_find(struct axes *axes, const char *name)
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

const char *axis_canonical(const struct axis *axis, const char *text, struct arena *arena)
{
	int64_t number = 0;

	if (!text)
		return "";
	if (!axis->section || setting_find(axis->section->table, axis->name)->type == SETTING_TEXT)
		return text;
	settings_try(axis->section, axis->name, text, &number, NULL);
	return arena_printf(arena, "%lld", (long long)number);
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

/* Values that are written differently but mean the same. Only for lists without another problem. 0 or -ENOMEM. */
static int axis_list_compare(struct draft *d, const struct axis *axis)
{
	const char **seen = arena_array(&d->plan->arena, axis->list->count, sizeof(*seen));
	uint32_t count = 0;

	if (!seen)
		return -ENOMEM;
	for (const struct node *v = axis->list->first; v; v = v->next, count++) {
		const struct node *u = axis->list->first;
		uint32_t i = 0;

		seen[count] = axis_canonical(axis, v->text, &d->plan->arena);
		if (!seen[count])
			return -ENOMEM;
		for (; i < count && strcmp(seen[i], seen[count]) != 0; i++)
			u = u->next;
		if (i < count)
			PROBLEM(d, v, "%s: '%s' is the same as '%s', which is in the list already", axis->name, v->text,
				u->text);
	}
	return 0;
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

uint64_t axes_cells(const struct axes *axes, const struct node *extra)
{
	uint64_t count = axes->in_matrix ? 1 : 0;

	for (uint32_t i = 0; i < axes->in_matrix; i++)
		if (__builtin_mul_overflow(count, axes->items[i].list->count, &count))
			return UINT64_MAX;
	if (extra && extra->kind == NODE_LIST && __builtin_add_overflow(count, extra->count, &count))
		return UINT64_MAX;
	return count;
}

static void count_check(struct draft *d, const struct node *place, uint64_t count)
{
	if (count == UINT64_MAX)
		PROBLEM(d, place, "matrix and extra make more than 10^19 cells; at most %d fit", PLAN_CELLS_MOST);
	else if (count > PLAN_CELLS_MOST)
		PROBLEM(d, place, "matrix and extra make %llu cells; at most %d fit", (unsigned long long)count,
			PLAN_CELLS_MOST);
}

int axes_read(struct draft *d, const struct node *matrix, const struct node *extra, struct axes *ret)
{
	struct axes axes = { .capacity = AXES_MOST };
	int rc = 0;

	axes.items = arena_array(&d->plan->arena, axes.capacity, sizeof(*axes.items));
	if (!axes.items)
		return -ENOMEM;
	if (!matrix && !extra)
		PROBLEM(d, d->root, "matrix is missing; expected such as matrix: { program: [a, b] }");
	if (matrix)
		matrix_take(d, &axes, matrix);
	if (matrix && matrix->kind == NODE_MAP && matrix->count > 0 && !tree_get(matrix, "program"))
		PROBLEM(d, matrix, "matrix: program is missing; expected such as program: [a, b]");
	if (extra)
		extra_take(d, &axes, extra);
	if (!matrix && extra && extra->kind == NODE_LIST && extra->count == 0)
		PROBLEM(d, extra, "extra: the list is empty and there is no matrix; expected at least one cell");
	if (matrix || extra)
		count_check(d, matrix ? matrix : extra, axes_cells(&axes, extra));
	for (uint32_t i = 0; i < axes.in_matrix && rc == 0 && !problems_any(&d->problems); i++)
		rc = axis_list_compare(d, &axes.items[i]);
	*ret = axes;
	return rc;
}
