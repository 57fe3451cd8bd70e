/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "p4rt/p4info.h"

/*
 * One search for all: a list of things whose i-th name `at` gives, with its alias
 * or NULL. Names are few; a program with a thousand tables is looked through in
 * microseconds, and only when text is read.
 */
struct list {
	const void *items;
	size_t count;
	const char *what;  /* "table" */
	const char *owner; /* "table 'acl'", or NULL */
	const char *(*at)(const void *items, size_t i, const char **ret_alias);
};

static bool is_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), s = strlen(suffix);

	return s > 0 && n > s && name[n - s - 1] == '.' && strcmp(name + n - s, suffix) == 0;
}

static size_t append(char *text, size_t size, size_t used, const char *add)
{
	int n = used < size ? snprintf(text + used, size - used, "%s", add) : 0;

	return used + (n > 0 ? (size_t)n : 0);
}

/* The names there are, or with `suffix` those that end in it. */
static void names_text(const struct list *l, const char *suffix, char *text, size_t size)
{
	size_t used = 0, left_out = 0;
	char more[32];

	text[0] = '\0';
	for (size_t i = 0; i < l->count; i++) {
		const char *alias, *name = l->at(l->items, i, &alias);

		if (suffix && !is_suffix(name, suffix))
			continue;
		name = suffix || !alias ? name : alias;
		if (used + strlen(name) + 2 + sizeof(more) > size) {
			left_out++;
			continue;
		}
		if (used)
			used = append(text, size, used, ", ");
		used = append(text, size, used, name);
	}
	if (left_out) {
		snprintf(more, sizeof(more), " and %zu more", left_out);
		append(text, size, used, more);
	}
	if (!text[0])
		append(text, size, 0, "none");
}

/* Index, or -1 with the message set. */
static long find(const struct list *l, const char *name, struct err *err)
{
	const char *of = l->owner ? " of " : "", *owner = l->owner ? l->owner : "";
	long found = -1;
	char text[256];

	for (size_t i = 0; i < l->count; i++) {
		const char *alias, *full = l->at(l->items, i, &alias);

		if (strcmp(full, name) == 0)
			return (long)i;
	}
	for (size_t i = 0; i < l->count; i++) {
		const char *alias;

		l->at(l->items, i, &alias);
		if (alias && strcmp(alias, name) == 0)
			return (long)i;
	}
	for (size_t i = 0; i < l->count; i++) {
		const char *alias, *full = l->at(l->items, i, &alias);

		if (!is_suffix(full, name))
			continue;
		if (found >= 0) {
			names_text(l, name, text, sizeof(text));
			err_set(err, ERR_USAGE, EINVAL, "%s '%.64s'%s%s could be any of %s", l->what, name, of, owner,
				text);
			return -1;
		}
		found = (long)i;
	}
	if (found < 0) {
		names_text(l, NULL, text, sizeof(text));
		err_set(err, ERR_USAGE, ENOENT, "unknown %s '%.64s'%s%s; there is %s", l->what, name, of, owner, text);
	}
	return found;
}

static const char *table_at(const void *items, size_t i, const char **ret_alias)
{
	const struct p4info_table *tables = items;

	*ret_alias = tables[i].is.alias;
	return tables[i].is.name;
}

static const char *field_at(const void *items, size_t i, const char **ret_alias)
{
	*ret_alias = NULL;
	return ((const struct p4info_field *)items)[i].name;
}

static const char *ref_at(const void *items, size_t i, const char **ret_alias)
{
	const struct p4info_action_ref *refs = items;

	*ret_alias = refs[i].action->is.alias;
	return refs[i].action->is.name;
}

static const char *object_at(const void *items, size_t i, const char **ret_alias)
{
	const struct p4info_object *objects = items;

	*ret_alias = objects[i].is.alias;
	return objects[i].is.name;
}

const struct p4info_table *p4info_table(const struct p4info *info, const char *name, struct err *err)
{
	struct list l = { info->tables, info->tables_count, "table", NULL, table_at };
	long i = find(&l, name, err);

	return i < 0 ? NULL : &info->tables[i];
}

const struct p4info_action *p4info_table_action(const struct p4info_table *table, const char *name, struct err *err)
{
	struct list l = { table->actions, table->actions_count, "action", table->is.alias, ref_at };
	long i = find(&l, name, err);

	return i < 0 ? NULL : table->actions[i].action;
}

const struct p4info_field *p4info_key(const struct p4info_table *table, const char *name, struct err *err)
{
	struct list l = { table->keys, table->keys_count, "key", table->is.alias, field_at };
	long i = find(&l, name, err);

	return i < 0 ? NULL : &table->keys[i];
}

const struct p4info_field *p4info_param(const struct p4info_action *action, const char *name, struct err *err)
{
	struct list l = { action->params, action->params_count, "parameter", action->is.alias, field_at };
	long i = find(&l, name, err);

	return i < 0 ? NULL : &action->params[i];
}

const struct p4info_object *p4info_object(const struct p4info *info, enum p4info_kind kind, const char *name,
					  struct err *err)
{
	static const char *const kinds[] = {
		[P4INFO_COUNTER] = "counter",   [P4INFO_DIRECT_COUNTER] = "direct counter",
		[P4INFO_METER] = "meter",       [P4INFO_DIRECT_METER] = "direct meter",
		[P4INFO_REGISTER] = "register", [P4INFO_ACTION_PROFILE] = "action profile",
		[P4INFO_DIGEST] = "digest",
	};
	size_t first = 0, end;
	long i;

	/* make_objects puts them in groups */
	while (first < info->objects_count && info->objects[first].kind != kind)
		first++;
	for (end = first; end < info->objects_count && info->objects[end].kind == kind;)
		end++;
	i = find(&(struct list){ info->objects + first, end - first, kinds[kind], NULL, object_at }, name, err);
	return i < 0 ? NULL : &info->objects[first + (size_t)i];
}

const struct p4info_table *p4info_table_by_id(const struct p4info *info, uint32_t id)
{
	for (size_t i = 0; i < info->tables_count; i++)
		if (info->tables[i].is.id == id)
			return &info->tables[i];
	return NULL;
}

const struct p4info_action *p4info_action_by_id(const struct p4info *info, uint32_t id)
{
	for (size_t i = 0; i < info->actions_count; i++)
		if (info->actions[i].is.id == id)
			return &info->actions[i];
	return NULL;
}

static bool same_fields(const struct p4info_field *a, size_t a_count, const struct p4info_field *b, size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (a[i].id != b[i].id || a[i].bits != b[i].bits || a[i].match != b[i].match ||
		    strcmp(a[i].name, b[i].name) != 0)
			return false;
	return true;
}

static bool same_table(const struct p4info_table *a, const struct p4info_table *b)
{
	if (!b || strcmp(a->is.name, b->is.name) != 0 || a->actions_count != b->actions_count ||
	    a->implementation_id != b->implementation_id)
		return false;
	for (size_t i = 0; i < a->actions_count; i++)
		if (a->actions[i].action->is.id != b->actions[i].action->is.id)
			return false;
	return same_fields(a->keys, a->keys_count, b->keys, b->keys_count);
}

bool p4info_same(const struct p4info *a, const struct p4info *b)
{
	if (a->tables_count != b->tables_count || a->actions_count != b->actions_count ||
	    a->objects_count != b->objects_count || a->headers_count != b->headers_count)
		return false;
	for (size_t i = 0; i < a->tables_count; i++)
		if (!same_table(&a->tables[i], p4info_table_by_id(b, a->tables[i].is.id)))
			return false;
	for (size_t i = 0; i < a->actions_count; i++) {
		const struct p4info_action *x = &a->actions[i], *y = p4info_action_by_id(b, x->is.id);

		if (!y || strcmp(x->is.name, y->is.name) != 0 ||
		    !same_fields(x->params, x->params_count, y->params, y->params_count))
			return false;
	}
	for (size_t i = 0; i < a->objects_count; i++) {
		const struct p4info_object *x = &a->objects[i], *y = &b->objects[i];

		if (x->is.id != y->is.id || x->kind != y->kind || x->bits != y->bits ||
		    strcmp(x->is.name, y->is.name) != 0)
			return false;
	}
	return true;
}
