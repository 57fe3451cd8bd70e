/* SPDX-License-Identifier: Apache-2.0 */
#include "base/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int bounds_check(const struct setting *def, const char *text, int64_t number, struct err *err)
{
	char bound[32];

	if (number < def->least)
		return err_set(err, ERR_USAGE, ERANGE, "'%s' is too small; expected at least %s", text,
			       quantity_format(def->least, def->dim, bound, sizeof(bound)));
	if (def->most && number > def->most)
		return err_set(err, ERR_USAGE, ERANGE, "'%s' is too large; expected at most %s", text,
			       quantity_format(def->most, def->dim, bound, sizeof(bound)));
	return 0;
}

static int value_parse(const struct setting *def, const char *text, struct setting_value *value, struct err *err)
{
	static const char *const yes[] = { "true", "yes", "on", "1", NULL };
	static const char *const no[] = { "false", "no", "off", "0", NULL };

	switch (def->type) {
	case SETTING_TEXT:
		return 0;
	case SETTING_QUANTITY: {
		int rc = quantity_parse(text, def->dim, &value->number, err);

		return rc < 0 ? rc : bounds_check(def, text, value->number, err);
	}
	case SETTING_FLAG:
		for (int i = 0; yes[i]; i++) {
			if (strcmp(text, yes[i]) == 0)
				return value->number = 1, 0;
			if (strcmp(text, no[i]) == 0)
				return value->number = 0, 0;
		}
		return err_set(err, ERR_USAGE, EINVAL, "'%s' is neither yes nor no", text);
	case SETTING_CHOICE: {
		char list[256] = "";

		for (int i = 0; def->choices[i]; i++) {
			size_t n = strlen(list);

			if (strcmp(text, def->choices[i]) == 0)
				return value->number = i, 0;
			snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", def->choices[i]);
		}
		return err_set(err, ERR_USAGE, EINVAL, "'%s' is not one of: %s", text, list);
	}
	}
	return -EINVAL;
}

int settings_init(struct settings *s, const struct setting *table, struct arena *arena)
{
	size_t count = 0;

	while (table[count].name)
		count++;
	s->table = table;
	s->arena = arena;
	s->values = arena_array(arena, count + 1, sizeof(*s->values));
	if (!s->values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct setting_value *v = &s->values[i];

		if (table[i].fallback) {
			TARE_ASSERT(value_parse(&table[i], table[i].fallback, v, NULL) == 0);
			v->text = table[i].fallback;
			v->present = true;
		} else if (table[i].type == SETTING_FLAG) {
			v->text = "no";
			v->present = true;
		}
	}
	return 0;
}

static int edit_distance(const char *a, const char *b)
{
	enum { LONGEST = 48 };
	int row[LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > LONGEST || lb > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= lb; j++)
		row[j] = (int)j;
	for (size_t i = 1; i <= la; i++) {
		int diagonal = row[0];

		row[0] = (int)i;
		for (size_t j = 1; j <= lb; j++) {
			int best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

const char *nearest_name(const char *text, const char *const *names)
{
	const char *best = NULL;
	int best_distance = (int)strlen(text) / 3 + 2;

	for (; *names; names++) {
		int d = edit_distance(text, *names);

		if (d < best_distance) {
			best_distance = d;
			best = *names;
		}
	}
	return best;
}

static int unknown(const struct settings *s, const char *name, struct err *err)
{
	enum { MOST = 64 };
	const char *names[MOST + 1];
	const char *near;
	char list[384] = "";
	int count = 0;

	for (const struct setting *def = s->table; def->name && count < MOST; def++) {
		size_t n = strlen(list);

		names[count++] = def->name;
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", def->name);
	}
	names[count] = NULL;
	near = nearest_name(name, names);
	if (near)
		return err_set(err, ERR_USAGE, ENOENT, "unknown setting '%s'; did you mean '%s'?", name, near);
	return err_set(err, ERR_USAGE, ENOENT, "unknown setting '%s'; expected one of: %s", name, list);
}

static struct setting_value *value_find(const struct settings *s, const char *name)
{
	for (size_t i = 0; s->table[i].name; i++)
		if (strcmp(s->table[i].name, name) == 0)
			return &s->values[i];
	return NULL;
}

int settings_set(struct settings *s, const char *name, const char *text, struct err *err)
{
	struct setting_value *v = value_find(s, name);
	struct setting_value parsed = { 0 };
	int rc;

	if (!v)
		return unknown(s, name, err);
	rc = value_parse(&s->table[v - s->values], text, &parsed, err);
	if (rc < 0)
		return err_wrap(err, "%s", name), rc;
	parsed.text = arena_strdup(s->arena, text);
	if (!parsed.text)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	parsed.set = true;
	parsed.present = true;
	*v = parsed;
	return 0;
}

int settings_try(const struct settings *s, const char *name, const char *text, int64_t *ret_number, struct err *err)
{
	struct setting_value *v = value_find(s, name);
	struct setting_value parsed = { 0 };
	int rc;

	if (!v)
		return unknown(s, name, err);
	rc = value_parse(&s->table[v - s->values], text, &parsed, err);
	if (rc < 0)
		return err_wrap(err, "%s", name), rc;
	if (ret_number)
		*ret_number = parsed.number;
	return 0;
}

const struct setting *setting_find(const struct setting *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

const struct setting_value *settings_get(const struct settings *s, const char *name)
{
	const struct setting_value *v = value_find(s, name);

	TARE_ASSERT(v);
	return v;
}

int64_t settings_number(const struct settings *s, const char *name)
{
	const struct setting_value *v = settings_get(s, name);

	TARE_ASSERT(v->present);
	return v->number;
}

const char *settings_text(const struct settings *s, const char *name)
{
	return settings_get(s, name)->text;
}

bool settings_flag(const struct settings *s, const char *name)
{
	return settings_get(s, name)->number != 0;
}
