/* SPDX-License-Identifier: Apache-2.0 */
#include "stf_table.h"

#include <stdio.h>
#include <string.h>

enum { PARAM_SLOTS = 1024, MEMBERS = 64 };

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return m <= n && strcmp(text + n - m, end) == 0;
}

static uint32_t only_end(const struct bed *bed, const struct line *line, const char *what, const char *end,
			 name_of *get, uint32_t count)
{
	uint32_t found = NOWHERE;

	for (uint32_t i = 0; i < count; i++) {
		if (!ends_with(get(bed->program, i), end))
			continue;
		if (found != NOWHERE)
			line_bad(line, "%s '%s' may be '%s' or '%s'", what, end, get(bed->program, found),
				 get(bed->program, i));
		found = i;
	}
	return found;
}

uint32_t find_by_end(const struct bed *bed, const struct line *line, const char *what, const char *name, name_of *get,
		     uint32_t count)
{
	char end[STF_NAME + 1];
	uint32_t found;

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(get(bed->program, i), name) == 0)
			return i;
	snprintf(end, sizeof(end), ".%s", name);
	found = only_end(bed, line, what, end, get, count);
	if (found == NOWHERE)
		found = only_end(bed, line, what, name, get, count);
	if (found == NOWHERE)
		line_bad(line, "there is no %s '%s'", what, name);
	return found;
}

static const char *table_name(const struct program *p, uint32_t i)
{
	return p->tables[i].name;
}

static const char *profile_name(const struct program *p, uint32_t i)
{
	return p->profiles[i].name;
}

static const char *set_name(const struct program *p, uint32_t i)
{
	return p->value_sets[i].name;
}

static void must(const struct line *line, int rc, const struct err *err)
{
	if (rc < 0)
		line_bad(line, "%s", err->message);
}

/* "name(a:1, b:2)": one of the actions given */
static uint32_t read_action(const struct bed *bed, struct line *line, const uint32_t *actions, uint32_t count,
			    uint64_t *params)
{
	const struct p4_action *a = NULL;
	char name[STF_NAME];
	uint32_t found = NOWHERE;

	line_name(line, name);
	for (uint32_t i = 0; i < count && found == NOWHERE; i++)
		if (strcmp(bed->program->actions[actions[i]].name, name) == 0)
			found = actions[i];
	for (uint32_t i = 0; i < count && found == NOWHERE; i++)
		if (ends_with(bed->program->actions[actions[i]].name, name))
			found = actions[i];
	if (found == NOWHERE)
		line_bad(line, "there is no action '%s' here", name);
	a = &bed->program->actions[found];
	memset(params, 0, PARAM_SLOTS * sizeof(*params));
	line_expect(line, '(');
	while (!line_take(line, ')')) {
		struct number n;
		uint32_t i = 0;

		line_name(line, name);
		line_expect(line, ':');
		line_number(line, &n);
		while (i < a->param_count && strcmp(a->params[i].name, name) != 0)
			i++;
		if (i == a->param_count)
			line_bad(line, "action '%s' has no parameter '%s'", a->name, name);
		memcpy(params + (a->params[i].slot - bed->program->params_slot), n.value,
		       a->params[i].slots * sizeof(*params));
		line_take(line, ',');
	}
	return found;
}

/* --- keys --- */

/* "extra$0.h" stands for "extra[0].h" */
static void with_brackets(char *name)
{
	char copy[STF_NAME], *dollar = strchr(name, '$');
	size_t digits = dollar ? strspn(dollar + 1, "0123456789") : 0;

	if (!digits)
		return;
	strcpy(copy, dollar + 1);
	if ((size_t)snprintf(dollar, (size_t)(STF_NAME - (dollar - name)), "[%.*s]%s", (int)digits, copy,
			     copy + digits) >= (size_t)(STF_NAME - (dollar - name)))
		name[STF_NAME - 1] = '\0';
}

static const struct p4_key *find_key(const struct p4_table *t, struct line *line, char *name)
{
	char end[STF_NAME + 1];

	with_brackets(name);
	for (uint32_t i = 0; i < t->key_count; i++)
		if (strcmp(t->keys[i].name, name) == 0)
			return &t->keys[i];
	snprintf(end, sizeof(end), ".%s", name);
	for (uint32_t i = 0; i < t->key_count; i++)
		if (ends_with(t->keys[i].name, end) ||
		    (strcmp(name, "valid") == 0 && ends_with(t->keys[i].name, "$valid$")))
			return &t->keys[i];
	line_bad(line, "table '%s' has no key '%s'", t->name, name);
}

static void prefix_mask(uint64_t *mask, uint32_t bits, uint32_t prefix)
{
	for (uint32_t i = bits - prefix; i < bits; i++)
		mask[i / 64] |= UINT64_C(1) << i % 64;
}

static void set_key(const struct p4_table *t, const struct p4_key *key, struct line *line, uint64_t *value,
		    uint64_t *mask, uint32_t *prefix_bits)
{
	struct number n;
	uint32_t prefix;

	line_number(line, &n);
	memcpy(value + key->word, n.value, key->slots * sizeof(*value));
	memset(mask + key->word, 0, key->slots * sizeof(*mask));
	if (key->kind == MATCH_LPM) {
		prefix = n.prefix >= 0 ? (uint32_t)n.prefix : key->bits;
		for (uint32_t i = 0; n.has_mask && n.prefix < 0 && i < key->bits; i++)
			prefix -= !(n.mask[i / 64] >> i % 64 & 1);
		if (prefix > key->bits)
			line_bad(line, "the prefix is longer than key '%s'", key->name);
		if (t->match == TABLE_LPM)
			*prefix_bits = prefix;
		prefix_mask(mask + key->word, key->bits, prefix);
	} else if (n.has_mask || n.has_range) {
		memcpy(mask + key->word, n.mask, key->slots * sizeof(*mask));
	} else if (key->kind == MATCH_RANGE) {
		memcpy(mask + key->word, n.value, key->slots * sizeof(*mask));
	} else {
		prefix_mask(mask + key->word, key->bits, key->bits);
	}
}

/* What is not said matches anything, or is zero where the key is exact. */
static void default_key(const struct p4_table *t, uint64_t *mask)
{
	for (uint32_t i = 0; i < t->key_count; i++)
		if (t->keys[i].kind == MATCH_EXACT || t->keys[i].kind == MATCH_RANGE)
			prefix_mask(mask + t->keys[i].word, t->keys[i].bits, t->keys[i].bits);
}

/* --- lines --- */

static void read_choice(struct bed *bed, struct line *line, const struct p4_table *t, struct entry_spec *spec,
			uint64_t *params)
{
	*spec = (struct entry_spec){ .action = { .params = params, .weight = 1, .watch_port = NOWHERE } };
	if (!line_take(line, '@')) {
		spec->action.action = read_action(bed, line, t->actions, t->action_count, params);
		if (t->profile == NOWHERE)
			return;
		spec->kind = SPEC_CHOICES;
		spec->choices = &spec->action;
		spec->choice_count = 1;
		return;
	}
	spec->kind = line_take(line, '*') ? SPEC_GROUP : SPEC_MEMBER;
	spec->id = line_uint(line);
}

void stf_add(struct bed *bed, struct line *line)
{
	static uint64_t value[TABLE_KEY_WORDS_MOST + STF_WORDS], mask[TABLE_KEY_WORDS_MOST + STF_WORDS];
	static uint64_t params[PARAM_SLOTS];
	struct match_spec match = { .value = value, .mask = mask };
	struct entry_spec spec;
	const struct p4_table *t;
	char name[STF_NAME];
	struct err err;
	uint32_t table;

	line_name(line, name);
	table = find_by_end(bed, line, "table", name, table_name, bed->program->table_count);
	t = &bed->program->tables[table];
	if (line_is_number(line))
		match.priority = (int32_t)line_uint(line);
	memset(value, 0, sizeof(value));
	memset(mask, 0, sizeof(mask));
	default_key(t, mask);
	for (;;) {
		const char *before;

		line_skip(line);
		before = line->at;
		if (*before == '@')
			break;
		line_name(line, name);
		if (!line_take(line, ':')) {
			line->at = before;
			break;
		}
		set_key(t, find_key(t, line, name), line, value, mask, &match.prefix_bits);
	}
	read_choice(bed, line, t, &spec, params);
	must(line, table_insert(bed->state, table, &match, &spec, NULL, &err), &err);
}

void stf_setdefault(struct bed *bed, struct line *line)
{
	static uint64_t params[PARAM_SLOTS];
	struct entry_spec spec;
	char name[STF_NAME];
	struct err err;
	uint32_t table;

	line_name(line, name);
	table = find_by_end(bed, line, "table", name, table_name, bed->program->table_count);
	read_choice(bed, line, &bed->program->tables[table], &spec, params);
	must(line, table_set_default(bed->state, table, &spec, &err), &err);
}

static const struct p4_table *table_of_profile(const struct bed *bed, const struct line *line, uint32_t profile)
{
	for (uint32_t i = 0; i < bed->program->table_count; i++)
		if (bed->program->tables[i].profile == profile)
			return &bed->program->tables[i];
	line_bad(line, "no table uses this profile");
}

void stf_member(struct bed *bed, struct line *line)
{
	static uint64_t params[PARAM_SLOTS];
	const struct p4_table *t;
	char name[STF_NAME];
	uint32_t profile, id, action;
	struct err err;

	line_name(line, name);
	profile = find_by_end(bed, line, "profile", name, profile_name, bed->program->profile_count);
	t = table_of_profile(bed, line, profile);
	id = line_uint(line);
	action = read_action(bed, line, t->actions, t->action_count, params);
	must(line, member_insert(bed->state, profile, id, action, params, &err), &err);
}

void stf_group(struct bed *bed, struct line *line)
{
	struct group_member members[MEMBERS];
	char name[STF_NAME];
	uint32_t profile, id, count = 0;
	struct err err;

	line_name(line, name);
	profile = find_by_end(bed, line, "profile", name, profile_name, bed->program->profile_count);
	id = line_uint(line);
	while (!line_ends(line) && count < MEMBERS)
		members[count++] = (struct group_member){ line_uint(line), 1, NOWHERE };
	must(line, group_insert(bed->state, profile, id, members, count, 0, &err), &err);
}

void stf_value_set(struct bed *bed, struct line *line)
{
	static uint64_t items[MEMBERS * 2 * STF_WORDS];
	const struct p4_select *select;
	char name[STF_NAME];
	uint32_t set, count = 0;
	struct err err;

	line_name(line, name);
	set = find_by_end(bed, line, "value set", name, set_name, bed->program->value_set_count);
	if (bed->program->value_sets[set].select == NOWHERE)
		line_bad(line, "no select uses this value set");
	select = &bed->program->selects[bed->program->value_sets[set].select];
	memset(items, 0, sizeof(items));
	for (; !line_ends(line) && count < MEMBERS; count++) {
		uint64_t *value = items + (size_t)count * 2 * select->words, *mask = value + select->words;

		for (uint32_t k = 0; k < select->key_count; k++) {
			uint32_t slots = (select->key_bits[k] + 63) / 64;
			struct number n;

			line_number(line, &n);
			memcpy(value + select->word[k], n.value, slots * sizeof(*value));
			if (n.has_mask)
				memcpy(mask + select->word[k], n.mask, slots * sizeof(*mask));
			else
				prefix_mask(mask + select->word[k], select->key_bits[k], select->key_bits[k]);
			line_take(line, ',');
		}
	}
	must(line, value_set_set(bed->state, set, items, count, &err), &err);
}
