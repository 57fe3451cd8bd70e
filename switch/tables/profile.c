/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "tables/state_private.h"

enum { WEIGHTS_MOST = 1 << 16 }; /* of one group: each weight is a slot */

static int no_memory(const struct profile *p, struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "action profile %s: out of memory", p->p4->name);
}

static struct member_data *data_create(const struct state *state, uint32_t action, const uint64_t *params)
{
	uint32_t slots = action == NOWHERE ? 0 : state->program->actions[action].param_slots;
	struct member_data *data = malloc(sizeof(*data) + slots * sizeof(data->params[0]));

	if (data == NULL)
		return NULL;
	data->action = (struct action_data){ action, slots, data->params };
	if (slots > 0)
		memcpy(data->params, params, slots * sizeof(params[0]));
	return data;
}

static uint64_t id_hash(uint32_t id)
{
	uint64_t word = id;

	return hash_words(&word, 1);
}

/* --- readers --- */

static const struct action_data *action_of(const struct member *m)
{
	return &atomic_load_explicit(&m->data, memory_order_acquire)->action;
}

const struct action_data *entry_action_indirect(const struct entry *entry, uint64_t hash)
{
	static const struct action_data none = { NOWHERE, 0, NULL };
	const struct group_view *view;

	if (entry->kind == ENTRY_MEMBER)
		return action_of(entry->target);
	view = atomic_load_explicit(&((const struct group *)entry->target)->view, memory_order_acquire);
	return view->slot_count == 0 ? &none : action_of(view->slots[hash % view->slot_count]);
}

/* --- members --- */

static struct hash_place member_place(struct profile *p, uint32_t id)
{
	struct hash_place place = hash_place_first(&p->members_by_id, id_hash(id));

	while (place.link != NULL && ((const struct member *)place.link)->id != id)
		hash_place_step(&place);
	return place;
}

const struct member *member_find(const struct state *state, uint32_t profile, uint32_t id)
{
	return (const struct member *)member_place(&state->profiles[profile], id).link;
}

static void member_free(void *object)
{
	struct member *m = object;

	free(atomic_load_explicit(&m->data, memory_order_relaxed));
	free(m);
}

static int no_member(const struct profile *p, uint32_t id, struct err *err)
{
	return err_set(err, ERR_USAGE, ENOENT, "action profile %s has no member %u", p->p4->name, id);
}

static int check_room(const struct profile *p, uint32_t more, struct err *err)
{
	if (p->p4->size == 0 || (uint64_t)p->used + more <= p->p4->size)
		return 0;
	return err_set(err, ERR_USAGE, ENOSPC, "action profile %s is full: %u members", p->p4->name, p->p4->size);
}

/* May an entry of some table of this profile run the action? */
static int check_action(const struct state *state, uint32_t profile, uint32_t action, struct err *err)
{
	const struct program *program = state->program;

	for (uint32_t t = 0; t < program->table_count; t++) {
		const struct p4_table *table = &program->tables[t];

		for (uint32_t i = 0; table->profile == profile && i < table->action_count; i++)
			if (table->actions[i] == action)
				return 0;
	}
	return err_set(err, ERR_USAGE, EINVAL, "no table of action profile %s takes action %s",
		       program->profiles[profile].name, program->actions[action].name);
}

int member_insert(struct state *state, uint32_t profile, uint32_t id, uint32_t action, const uint64_t *params,
		  struct err *err)
{
	struct profile *p = &state->profiles[profile];
	struct member_data *data;
	struct member *m;
	int rc;

	if (member_find(state, profile, id) != NULL)
		return err_set(err, ERR_USAGE, EEXIST, "action profile %s has a member %u already", p->p4->name, id);
	rc = check_room(p, 1, err);
	if (rc == 0)
		rc = check_action(state, profile, action, err);
	if (rc < 0)
		return rc;
	m = calloc(1, sizeof(*m));
	data = data_create(state, action, params);
	if (m == NULL || data == NULL || vec_push(&p->members, m) < 0) {
		free(m);
		free(data);
		return no_memory(p, err);
	}
	m->id = id;
	m->index = (uint32_t)p->members.count - 1;
	m->profile = profile;
	m->order = p->created++;
	m->link.hash = id_hash(id);
	atomic_store_explicit(&m->data, data, memory_order_release);
	hash_insert(&p->members_by_id, hash_place_first(&p->members_by_id, m->link.hash), &m->link);
	hash_grow(&p->members_by_id, state->quiesce);
	p->used++;
	return 0;
}

int member_modify(struct state *state, uint32_t profile, uint32_t id, uint32_t action, const uint64_t *params,
		  struct err *err)
{
	struct profile *p = &state->profiles[profile];
	struct member *m = (struct member *)member_find(state, profile, id);
	struct member_data *data, *old;
	int rc;

	if (m == NULL)
		return no_member(p, id, err);
	rc = check_action(state, profile, action, err);
	if (rc < 0)
		return rc;
	data = data_create(state, action, params);
	if (data == NULL)
		return no_memory(p, err);
	old = atomic_load_explicit(&m->data, memory_order_relaxed);
	atomic_store_explicit(&m->data, data, memory_order_release);
	quiesce_retire(state->quiesce, old, sizeof(*old), free);
	return 0;
}

int member_delete(struct state *state, uint32_t profile, uint32_t id, struct err *err)
{
	struct profile *p = &state->profiles[profile];
	struct hash_place place = member_place(p, id);
	struct member *m = (struct member *)place.link;

	if (m == NULL)
		return no_member(p, id, err);
	if (m->refs > 0)
		return err_set(err, ERR_USAGE, EBUSY, "action profile %s: member %u is in use", p->p4->name, id);
	hash_remove(&p->members_by_id, place);
	p->members.items[m->index] = p->members.items[--p->members.count];
	p->members.items[m->index]->index = m->index;
	p->used--;
	quiesce_retire(state->quiesce, m, sizeof(*m), member_free);
	return 0;
}

uint32_t member_id(const struct member *member)
{
	return member->id;
}

const struct action_data *member_action(const struct member *member)
{
	return action_of(member);
}

/* --- groups --- */

static struct hash_place group_place(struct profile *p, uint32_t id)
{
	struct hash_place place = hash_place_first(&p->groups_by_id, id_hash(id));

	while (place.link != NULL && ((const struct group *)place.link)->id != id)
		hash_place_step(&place);
	return place;
}

const struct group *group_find(const struct state *state, uint32_t profile, uint32_t id)
{
	return (const struct group *)group_place(&state->profiles[profile], id).link;
}

static struct group_view *view_of(const struct group *group)
{
	return atomic_load_explicit(&group->view, memory_order_relaxed);
}

static void view_free(void *object)
{
	struct group_view *view = object;

	if (view == NULL)
		return;
	free(view->members);
	free(view->slots);
	free(view);
}

static struct group_view *view_create(uint32_t member_count, uint32_t slot_count)
{
	struct group_view *view = calloc(1, sizeof(*view));

	if (view == NULL)
		return NULL;
	view->member_count = member_count;
	view->slot_count = slot_count;
	view->members = calloc(member_count + 1, sizeof(*view->members));
	view->slots = calloc(slot_count + 1, sizeof(const struct member *));
	if (view->members == NULL || view->slots == NULL) {
		view_free(view);
		return NULL;
	}
	return view;
}

static void group_free(void *object)
{
	struct group *group = object;

	view_free(view_of(group));
	free(group);
}

static int check_weight(const struct profile *p, uint32_t weight, uint32_t *sum, struct err *err)
{
	if (weight == 0 || weight > WEIGHTS_MOST)
		return err_set(err, ERR_USAGE, EINVAL, "action profile %s: a weight of %u; 1 to %d is expected",
			       p->p4->name, weight, WEIGHTS_MOST);
	*sum += weight;
	if (*sum > WEIGHTS_MOST)
		return err_set(err, ERR_USAGE, ENOSPC, "action profile %s: a group's weights add up to more than %d",
			       p->p4->name, WEIGHTS_MOST);
	return 0;
}

struct placed {
	const struct member *member;
	struct group_member as;
};

/* In the order of creation of the members, which is BMv2's order of handles. */
static int by_order(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return x->member->order < y->member->order ? -1 : x->member->order > y->member->order;
}

static int place_members(struct state *state, uint32_t profile, const struct group_member *members, uint32_t count,
			 uint32_t max_size, struct placed *placed, uint32_t *ret_sum, struct err *err)
{
	const struct profile *p = &state->profiles[profile];
	uint32_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		placed[i] = (struct placed){ member_find(state, profile, members[i].member_id), members[i] };
		if (placed[i].member == NULL)
			return no_member(p, members[i].member_id, err);
		int rc = check_weight(p, members[i].weight, &sum, err);

		if (rc < 0)
			return rc;
	}
	if (max_size > 0 && sum > max_size)
		return err_set(err, ERR_USAGE, ENOSPC,
			       "action profile %s: weights of %u are more than the group takes: %u", p->p4->name, sum,
			       max_size);
	qsort(placed, count, sizeof(*placed), by_order);
	for (uint32_t i = 1; i < count; i++)
		if (placed[i].member == placed[i - 1].member)
			return err_set(err, ERR_USAGE, EINVAL, "action profile %s: member %u is in the group twice",
				       p->p4->name, placed[i].member->id);
	*ret_sum = sum;
	return 0;
}

static int view_make(struct state *state, uint32_t profile, const struct group_member *members, uint32_t count,
		     uint32_t max_size, struct group_view **ret_view, struct err *err)
{
	struct placed *placed = calloc(count + 1, sizeof(*placed));
	struct group_view *view = NULL;
	uint32_t sum = 0, slot = 0;
	int rc;

	if (placed == NULL)
		return no_memory(&state->profiles[profile], err);
	rc = place_members(state, profile, members, count, max_size, placed, &sum, err);
	if (rc == 0 && (view = view_create(count, sum)) == NULL)
		rc = no_memory(&state->profiles[profile], err);
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		view->members[i] = placed[i].as;
		for (uint32_t w = 0; w < placed[i].as.weight; w++)
			view->slots[slot++] = placed[i].member;
	}
	free(placed);
	if (rc == 0)
		*ret_view = view;
	return rc;
}

static void view_refs(struct state *state, uint32_t profile, const struct group_view *view, bool up)
{
	for (uint32_t i = 0; i < view->member_count; i++) {
		struct member *m = (struct member *)member_find(state, profile, view->members[i].member_id);

		m->refs += up ? 1 : -1u;
	}
}

static int check_selector(const struct profile *p, struct err *err)
{
	if (p->p4->with_selector)
		return 0;
	return err_set(err, ERR_USAGE, EINVAL, "action profile %s has no selector, so no groups", p->p4->name);
}

int group_insert(struct state *state, uint32_t profile, uint32_t id, const struct group_member *members, uint32_t count,
		 uint32_t max_size, struct err *err)
{
	struct profile *p = &state->profiles[profile];
	struct group_view *view;
	struct group *group;
	int rc = check_selector(p, err);

	if (rc < 0)
		return rc;
	if (group_find(state, profile, id) != NULL)
		return err_set(err, ERR_USAGE, EEXIST, "action profile %s has a group %u already", p->p4->name, id);
	rc = view_make(state, profile, members, count, max_size, &view, err);
	if (rc < 0)
		return rc;
	group = calloc(1, sizeof(*group));
	if (group == NULL || vec_push(&p->groups, group) < 0) {
		free(group);
		view_free(view);
		return no_memory(p, err);
	}
	group->id = id;
	group->index = (uint32_t)p->groups.count - 1;
	group->profile = profile;
	group->max_size = max_size;
	group->link.hash = id_hash(id);
	atomic_store_explicit(&group->view, view, memory_order_release);
	view_refs(state, profile, view, true);
	hash_insert(&p->groups_by_id, hash_place_first(&p->groups_by_id, group->link.hash), &group->link);
	hash_grow(&p->groups_by_id, state->quiesce);
	return 0;
}

static int no_group(const struct profile *p, uint32_t id, struct err *err)
{
	return err_set(err, ERR_USAGE, ENOENT, "action profile %s has no group %u", p->p4->name, id);
}

int group_modify(struct state *state, uint32_t profile, uint32_t id, const struct group_member *members, uint32_t count,
		 struct err *err)
{
	struct group *group = (struct group *)group_find(state, profile, id);
	struct group_view *view, *old;
	int rc;

	if (group == NULL)
		return no_group(&state->profiles[profile], id, err);
	rc = view_make(state, profile, members, count, group->max_size, &view, err);
	if (rc < 0)
		return rc;
	old = view_of(group);
	view_refs(state, profile, view, true);
	view_refs(state, profile, old, false);
	atomic_store_explicit(&group->view, view, memory_order_release);
	quiesce_retire(state->quiesce, old, sizeof(*old), view_free);
	return 0;
}

int group_delete(struct state *state, uint32_t profile, uint32_t id, struct err *err)
{
	struct profile *p = &state->profiles[profile];
	struct hash_place place = group_place(p, id);
	struct group *group = (struct group *)place.link;

	if (group == NULL)
		return no_group(p, id, err);
	if (group->refs > 0)
		return err_set(err, ERR_USAGE, EBUSY, "action profile %s: group %u is in use", p->p4->name, id);
	view_refs(state, profile, view_of(group), false);
	hash_remove(&p->groups_by_id, place);
	p->groups.items[group->index] = p->groups.items[--p->groups.count];
	p->groups.items[group->index]->index = group->index;
	quiesce_retire(state->quiesce, group, sizeof(*group), group_free);
	return 0;
}

uint32_t group_id(const struct group *group)
{
	return group->id;
}

uint32_t group_max_size(const struct group *group)
{
	return group->max_size;
}

uint32_t group_members(const struct group *group, const struct group_member **ret_members)
{
	*ret_members = view_of(group)->members;
	return view_of(group)->member_count;
}

const struct action_data *group_choice(const struct group *group, uint32_t member)
{
	const struct group_view *view = view_of(group);
	uint32_t slot = 0;

	for (uint32_t i = 0; i < member; i++)
		slot += view->members[i].weight;
	return action_of(view->slots[slot]);
}

/* --- an entry's own choices --- */

void group_free_private(struct group *group)
{
	struct group_view *view = view_of(group);
	uint32_t slot = 0;

	for (uint32_t i = 0; i < view->member_count; i++) {
		member_free((struct member *)view->slots[slot]);
		slot += view->members[i].weight;
	}
	group_free(group);
}

static struct member *private_member(const struct state *state, uint32_t profile, const struct choice *choice)
{
	struct member *m = calloc(1, sizeof(*m));
	struct member_data *data = data_create(state, choice->action, choice->params);

	if (m == NULL || data == NULL) {
		free(m);
		free(data);
		return NULL;
	}
	m->profile = profile;
	atomic_store_explicit(&m->data, data, memory_order_relaxed);
	return m;
}

int group_create_private(struct state *state, uint32_t profile, const struct choice *choices, uint32_t count,
			 struct group **ret_group, struct err *err)
{
	struct profile *p = &state->profiles[profile];
	struct group_view *view;
	struct group *group;
	uint32_t sum = 0, slot = 0;
	int rc = check_selector(p, err);

	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = check_weight(p, choices[i].weight, &sum, err);
	if (rc == 0)
		rc = check_room(p, count, err);
	if (rc < 0)
		return rc;
	group = calloc(1, sizeof(*group));
	view = view_create(count, sum);
	if (group == NULL || view == NULL) {
		free(group);
		view_free(view);
		return no_memory(p, err);
	}
	group->profile = profile;
	group->is_private = true;
	atomic_store_explicit(&group->view, view, memory_order_relaxed);
	for (uint32_t i = 0; i < count; i++) {
		const struct member *m = private_member(state, profile, &choices[i]);

		if (m == NULL) {
			view->member_count = i; /* those there are */
			group_free_private(group);
			return no_memory(p, err);
		}
		view->members[i] = (struct group_member){ 0, choices[i].weight, choices[i].watch_port };
		for (uint32_t w = 0; w < choices[i].weight; w++)
			view->slots[slot++] = m;
	}
	*ret_group = group;
	return 0;
}

void profile_use(struct state *state, const struct group *group)
{
	if (group->is_private)
		state->profiles[group->profile].used += view_of(group)->member_count;
	else
		((struct group *)group)->refs++;
}

void profile_unuse(struct state *state, const struct group *group)
{
	if (group->is_private)
		state->profiles[group->profile].used -= view_of(group)->member_count;
	else
		((struct group *)group)->refs--;
}

/* --- reading, beginning and end --- */

uint32_t profile_member_count(const struct state *state, uint32_t profile)
{
	return (uint32_t)state->profiles[profile].members.count;
}

const struct member *profile_member(const struct state *state, uint32_t profile, uint32_t index)
{
	return state->profiles[profile].members.items[index];
}

uint32_t profile_group_count(const struct state *state, uint32_t profile)
{
	return (uint32_t)state->profiles[profile].groups.count;
}

const struct group *profile_group(const struct state *state, uint32_t profile, uint32_t index)
{
	return state->profiles[profile].groups.items[index];
}

int profile_init(struct profile *profile, const struct p4_profile *p4)
{
	profile->p4 = p4;
	return hash_init(&profile->members_by_id, 0) < 0 || hash_init(&profile->groups_by_id, 0) < 0 ? -ENOMEM : 0;
}

void profile_release(struct profile *profile)
{
	for (size_t i = 0; i < profile->groups.count; i++)
		group_free(profile->groups.items[i]);
	for (size_t i = 0; i < profile->members.count; i++)
		member_free(profile->members.items[i]);
	free(profile->groups.items);
	free(profile->members.items);
	hash_release(&profile->members_by_id);
	hash_release(&profile->groups_by_id);
}
