/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

/* Tables as the program declares them: keys, actions, default, entries that come with it, action profiles. */

enum { PRIORITY_BASE = 0x7fffffff }; /* BMv2 counts priorities downwards, we (and P4Runtime) upwards */

static int match_kind(struct build *b, const json_t *owner, const char *name, enum match_kind *ret)
{
	static const char *const names[MATCH_KINDS] = { "exact", "lpm", "ternary", "range", "optional" };

	for (int i = 0; i < MATCH_KINDS; i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum match_kind)i;
			return 0;
		}
	return js_refuse(owner, b->err, "match kind '%s' is not supported", name);
}

static int load_key(struct build *b, const json_t *json, struct p4_table *t, const json_t *owner, struct p4_key *k)
{
	const json_t *mask = json_object_get(json, "mask");
	const char *kind, *name = json_string_value(json_object_get(json, "name"));
	uint64_t words[SLOTS_A_VALUE_MOST];
	uint32_t field;
	int rc = js_string(json, "match_type", t->name, &kind, b->err);

	if (rc == 0)
		rc = match_kind(b, owner, kind, &k->kind);
	if (rc == 0)
		rc = field_reference(b, json_object_get(json, "target"), owner, &field, &k->slot);
	if (rc < 0)
		return rc;
	if (field != NOWHERE && b->p->fields[field].is_variable)
		return js_refuse(owner, b->err, "table '%s' matches on '%s', whose length varies", t->name,
				 b->p->fields[field].name);
	k->bits = field == NOWHERE ? 1 : b->p->fields[field].bits;
	k->name = arena_strdup(&b->p->arena, name ? name : field == NOWHERE ? "$valid$" : b->p->fields[field].name);
	k->slots = slots_for(k->bits);
	k->word = t->key_words;
	t->key_words += k->slots;
	if (!k->name)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	if (!json_is_string(mask))
		return 0;
	k->has_mask = true;
	rc = packed_value(b, json_string_value(mask), (k->bits + 7) / 8 * 8, k->slots, owner, "the mask of a key",
			  words);
	if (rc == 0)
		k->mask = constant_add(b, words, k->slots);
	return rc == 0 && k->mask == NOWHERE ? -E2BIG : rc;
}

static int load_keys(struct build *b, const json_t *json, struct p4_table *t)
{
	const json_t *keys;
	unsigned kinds[MATCH_KINDS] = { 0 };
	int rc = js_array(json, "key", t->name, &keys, b->err);

	if (rc < 0)
		return rc;
	t->key_count = (uint32_t)json_array_size(keys);
	t->keys = arena_array(&b->p->arena, t->key_count + 1, sizeof(*t->keys));
	if (!t->keys)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; rc == 0 && i < t->key_count; i++) {
		rc = load_key(b, json_array_get(keys, i), t, json, &t->keys[i]);
		if (rc == 0)
			kinds[t->keys[i].kind]++;
	}
	if (rc < 0)
		return rc;
	t->match = kinds[MATCH_RANGE]                              ? TABLE_RANGE
		   : kinds[MATCH_TERNARY] || kinds[MATCH_OPTIONAL] ? TABLE_TERNARY
		   : kinds[MATCH_LPM]                              ? TABLE_LPM
								   : TABLE_EXACT;
	if (kinds[MATCH_LPM] > 1)
		return js_refuse(json, b->err, "table '%s' has %u lpm keys; one is supported", t->name,
				 kinds[MATCH_LPM]);
	return 0;
}

static int action_by_id(struct build *b, const json_t *id, const json_t *owner, uint32_t *ret)
{
	char name[24];

	snprintf(name, sizeof(name), "%" JSON_INTEGER_FORMAT, json_integer_value(id));
	*ret = json_is_integer(id) ? build_find(b->action_ids, name) : NOWHERE;
	if (*ret == NOWHERE)
		return js_refuse(owner, b->err, "there is no action with id %s", name);
	return 0;
}

static int action_data(struct build *b, const json_t *data, const json_t *owner, uint32_t action, uint64_t **ret)
{
	const struct p4_action *a = &b->p->actions[action];
	uint64_t *params = arena_array(&b->p->arena, a->param_slots + 1, sizeof(*params));
	int rc = 0;

	if (!params)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	if (json_array_size(data) != a->param_count)
		return js_refuse(owner, b->err, "action '%s' has %u parameters; %zu are given", a->name, a->param_count,
				 json_array_size(data));
	for (uint32_t i = 0; rc == 0 && i < a->param_count; i++) {
		const char *hex = json_string_value(json_array_get(data, i));

		if (!hex)
			return js_refuse(owner, b->err, "action '%s': parameter %u is not a number", a->name, i);
		rc = packed_value(b, hex, a->params[i].bits, a->params[i].slots, owner, a->params[i].name,
				  params + (a->params[i].slot - b->p->params_slot));
	}
	*ret = params;
	return rc;
}

static int load_default(struct build *b, const json_t *json, struct p4_table *t)
{
	const json_t *entry = json_object_get(json, "default_entry");
	int rc;

	t->default_action = NOWHERE;
	if (!json_is_object(entry))
		return 0;
	rc = action_by_id(b, json_object_get(entry, "action_id"), json, &t->default_action);
	if (rc == 0)
		rc = action_data(b, json_object_get(entry, "action_data"), json, t->default_action, &t->default_params);
	t->default_const = js_flag(entry, "action_const");
	return rc;
}

/* One part of an entry's match, into the packed value and mask (range: low and high). */
static int entry_key(struct build *b, const json_t *part, const json_t *owner, const struct p4_table *t,
		     const struct p4_key *k, struct p4_const_entry *e)
{
	const char *kind = json_string_value(json_object_get(part, "match_type"));
	const char *key = json_string_value(json_object_get(part, k->kind == MATCH_RANGE ? "start" : "key"));
	const char *mask = json_string_value(json_object_get(part, k->kind == MATCH_RANGE ? "end" : "mask"));
	enum match_kind have = MATCH_KINDS;
	int rc;

	if (!kind)
		return js_refuse(owner, b->err, "table '%s': an entry's match has no match_type", t->name);
	rc = match_kind(b, owner, kind, &have);
	if (rc < 0)
		return rc;
	if (have != k->kind && !(have == MATCH_TERNARY && k->kind == MATCH_OPTIONAL))
		return js_refuse(owner, b->err, "table '%s': an entry matches '%s' as %s", t->name, k->name, kind);
	if (!key)
		return js_refuse(owner, b->err, "table '%s': an entry gives no value for '%s'", t->name, k->name);
	rc = packed_value(b, key, (k->bits + 7) / 8 * 8, k->slots, owner, k->name, e->value + k->word);
	if (rc < 0)
		return rc;
	if (k->kind == MATCH_RANGE || k->kind == MATCH_TERNARY || (k->kind == MATCH_OPTIONAL && mask)) {
		if (!mask)
			return js_refuse(owner, b->err, "table '%s': an entry gives half of '%s'", t->name, k->name);
		return packed_value(b, mask, (k->bits + 7) / 8 * 8, k->slots, owner, k->name, e->mask + k->word);
	}
	for (uint32_t w = 0; w < k->slots; w++)
		e->mask[k->word + w] = k->bits - w * 64 >= 64 ? UINT64_MAX : (UINT64_C(1) << (k->bits - w * 64)) - 1;
	if (k->kind == MATCH_LPM) {
		uint32_t length;

		rc = js_uint(part, "prefix_length", k->bits, t->name, &length, b->err);
		if (rc < 0)
			return rc;
		e->prefix_bits = length;
		for (uint32_t bit = 0; bit < k->bits - length; bit++)
			e->mask[k->word + bit / 64] &= ~(UINT64_C(1) << bit % 64);
	}
	return 0;
}

static int load_entry(struct build *b, const json_t *json, const json_t *owner, struct p4_table *t,
		      struct p4_const_entry *e)
{
	const json_t *match, *action;
	uint32_t priority = 0;
	int rc = js_array(json, "match_key", t->name, &match, b->err);

	if (rc == 0)
		rc = js_object(json, "action_entry", t->name, &action, b->err);
	if (rc < 0)
		return rc;
	e->value = arena_array(&b->p->arena, t->key_words + 1, sizeof(*e->value));
	e->mask = arena_array(&b->p->arena, t->key_words + 1, sizeof(*e->mask));
	if (!e->value || !e->mask)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	if (json_array_size(match) != t->key_count)
		return js_refuse(owner, b->err, "table '%s' has %u keys; an entry gives %zu", t->name, t->key_count,
				 json_array_size(match));
	for (uint32_t i = 0; rc == 0 && i < t->key_count; i++)
		rc = entry_key(b, json_array_get(match, i), owner, t, &t->keys[i], e);
	if (rc == 0 && json_object_get(json, "priority"))
		rc = js_uint(json, "priority", PRIORITY_BASE - 1, t->name, &priority, b->err);
	if (rc == 0)
		rc = action_by_id(b, json_object_get(action, "action_id"), owner, &e->action);
	if (rc == 0)
		rc = action_data(b, json_object_get(action, "action_data"), owner, e->action, &e->params);
	e->priority = PRIORITY_BASE - priority;
	return rc;
}

static int load_entries(struct build *b, const json_t *json, struct p4_table *t)
{
	const json_t *entries = json_object_get(json, "entries");
	int rc = 0;

	t->entry_count = (uint32_t)json_array_size(entries);
	t->is_const = t->entry_count > 0;
	t->entries = arena_array(&b->p->arena, t->entry_count + 1, sizeof(*t->entries));
	if (!t->entries)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; rc == 0 && i < t->entry_count; i++)
		rc = load_entry(b, json_array_get(entries, i), json, t, &t->entries[i]);
	return rc;
}

static int load_table_actions(struct build *b, const json_t *json, struct p4_table *t)
{
	const json_t *ids;
	int rc = js_array(json, "action_ids", t->name, &ids, b->err);

	if (rc < 0)
		return rc;
	t->action_count = (uint32_t)json_array_size(ids);
	t->actions = arena_array(&b->p->arena, t->action_count + 1, sizeof(*t->actions));
	t->next = arena_array(&b->p->arena, t->action_count + 1, sizeof(*t->next));
	if (!t->actions || !t->next)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; rc == 0 && i < t->action_count; i++)
		rc = action_by_id(b, json_array_get(ids, i), json, &t->actions[i]);
	return rc;
}

static int load_extras(struct build *b, const json_t *json, struct p4_table *t)
{
	const char *type, *profile = json_string_value(json_object_get(json, "action_profile"));
	const char *meter = json_string_value(json_object_get(json, "direct_meters"));
	uint32_t index = (uint32_t)(t - b->p->tables);
	int rc = js_string(json, "type", t->name, &type, b->err);

	if (rc < 0)
		return rc;
	t->profile = t->meter = NOWHERE;
	if (strcmp(type, "simple") != 0) {
		t->profile = profile ? build_find(b->profiles, profile) : NOWHERE;
		t->with_selector = strcmp(type, "indirect_ws") == 0;
		if (t->profile == NOWHERE || (!t->with_selector && strcmp(type, "indirect") != 0))
			return js_refuse(json, b->err,
					 "table '%s' is of type '%s' with profile '%s', which there is not", t->name,
					 type, profile ? profile : "(none)");
	}
	t->with_counters = js_flag(json, "with_counters");
	t->with_timeout = js_flag(json, "support_timeout");
	for (uint32_t i = 0; i < b->p->counter_count; i++) {
		const json_t *c = json_array_get(json_object_get(b->root, "counter_arrays"), i);
		const char *binding = json_string_value(json_object_get(c, "binding"));

		if (js_flag(c, "is_direct") && binding && strcmp(binding, t->name) == 0) {
			b->p->counters[i].table = index;
			t->with_counters = true;
		}
	}
	if (meter) {
		t->meter = build_find(b->meters, meter);
		if (t->meter == NOWHERE || b->p->meters[t->meter].result == NOWHERE)
			return js_refuse(json, b->err, "table '%s' has the direct meter '%s', which there is not",
					 t->name, meter);
		b->p->meters[t->meter].table = index;
	}
	return 0;
}

int load_table(struct build *b, const json_t *json, struct p4_table *t)
{
	int rc = js_string(json, "name", "a table", &t->name, b->err);

	if (rc < 0)
		return rc;
	t->name = arena_strdup(&b->p->arena, t->name);
	t->place = js_place(json, &b->p->arena);
	if (!t->name)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	rc = js_uint(json, "max_size", 1 << 30, t->name, &t->size, b->err);
	if (rc == 0)
		rc = load_keys(b, json, t);
	if (rc == 0)
		rc = load_table_actions(b, json, t);
	if (rc == 0)
		rc = load_default(b, json, t);
	if (rc == 0)
		rc = load_extras(b, json, t);
	if (rc == 0)
		rc = load_entries(b, json, t);
	return rc;
}

int load_profiles(struct build *b, const json_t *pipeline)
{
	struct program *p = b->p;
	const json_t *profiles = json_object_get(pipeline, "action_profiles");
	uint32_t count = (uint32_t)json_array_size(profiles);
	struct p4_profile *grown = arena_array(&p->arena, p->profile_count + count + 1, sizeof(*grown));
	int rc = 0;

	if (!grown)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	if (p->profile_count)
		memcpy(grown, p->profiles, p->profile_count * sizeof(*grown));
	p->profiles = grown;
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const json_t *json = json_array_get(profiles, i), *selector = json_object_get(json, "selector");
		struct p4_profile *profile = &p->profiles[p->profile_count];

		rc = js_string(json, "name", "an action profile", &profile->name, b->err);
		if (rc == 0)
			rc = js_uint(json, "max_size", 1 << 30, profile->name, &profile->size, b->err);
		if (rc < 0)
			break;
		profile->name = arena_strdup(&p->arena, profile->name);
		profile->calculation = NOWHERE;
		profile->with_selector = json_is_object(selector);
		if (profile->with_selector)
			rc = selector_calculation(b, selector, json, &profile->calculation);
		if (rc == 0)
			rc = build_name(b, b->profiles, profile->name, p->profile_count++, "action profile");
	}
	return rc;
}
