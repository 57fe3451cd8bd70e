/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "tables/state_private.h"
#include "tables/table.h"

static int no_memory(const struct table *t, struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "table %s: out of memory", t->p4->name);
}

static bool takes_action(const struct table *t, uint32_t action)
{
	for (uint32_t i = 0; i < t->p4->action_count; i++)
		if (t->p4->actions[i] == action)
			return true;
	return false;
}

/* --- cells --- */

static int cell_take(const struct state *state, const struct table *t, struct entry_cell *cell, struct entry *e)
{
	if (!t->p4->with_counters && !t->p4->with_timeout && t->p4->meter == NOWHERE)
		return 0;
	if (cell == NULL) {
		cell = calloc(1, sizeof(*cell));
		if (cell == NULL)
			return -ENOMEM;
		cell->counts = t->p4->with_counters;
		cell->meters = t->p4->meter != NOWHERE;
		cell->meter_bytes = cell->meters && state->program->meters[t->p4->meter].counts_bytes;
	}
	cell->refs++;
	e->cell = cell;
	return 0;
}

static void cell_give(struct entry_cell *cell)
{
	if (cell == NULL || --cell->refs > 0)
		return;
	free(atomic_load_explicit(&cell->meter, memory_order_relaxed));
	free(cell);
}

/* --- entries --- */

void entry_discard(struct entry *entry)
{
	if (entry == NULL)
		return;
	if (entry->owns_target) {
		struct group *group = (struct group *)entry->target;

		if (--group->refs == 0)
			group_free_private(group);
	}
	cell_give(entry->cell);
	free(entry->notes);
	free(entry);
}

static void free_entry(void *object)
{
	entry_discard(object);
}

void entry_linked(struct state *state, const struct entry *entry)
{
	if (entry->kind == ENTRY_MEMBER)
		((struct member *)entry->target)->refs++;
	else if (entry->kind == ENTRY_GROUP)
		profile_use(state, entry->target);
}

void entry_unlinked(struct state *state, const struct entry *entry)
{
	if (entry->kind == ENTRY_MEMBER)
		((struct member *)entry->target)->refs--;
	else if (entry->kind == ENTRY_GROUP)
		profile_unuse(state, entry->target);
	quiesce_retire(state->quiesce, (struct entry *)entry, sizeof(*entry) + 64, free_entry);
}

static int make(struct state *state, const struct table *t, const struct choice *action, struct entry **ret_entry)
{
	uint32_t slots =
		action == NULL || action->action == NOWHERE ? 0 : state->program->actions[action->action].param_slots;
	struct entry *e = malloc(sizeof(*e) + ((size_t)t->entry_words + slots) * sizeof(e->words[0]));

	if (e == NULL)
		return -ENOMEM;
	memset(e, 0, sizeof(*e));
	e->table = t->index;
	e->action = (struct action_data){ action != NULL ? action->action : NOWHERE, slots, e->words + t->entry_words };
	if (slots > 0)
		memcpy(e->words + t->entry_words, action->params, slots * sizeof(e->words[0]));
	*ret_entry = e;
	return 0;
}

static int add_notes(const struct entry_spec *spec, struct entry *e)
{
	struct entry_notes *notes;

	if (spec->idle_timeout_ns == 0 && spec->controller_metadata == 0 && spec->metadata_bytes == 0)
		return 0;
	notes = malloc(sizeof(*notes) + spec->metadata_bytes);
	if (notes == NULL)
		return -ENOMEM;
	notes->idle_timeout_ns = spec->idle_timeout_ns;
	notes->controller_metadata = spec->controller_metadata;
	notes->metadata_bytes = spec->metadata_bytes;
	if (spec->metadata_bytes > 0)
		memcpy(notes->metadata, spec->metadata, spec->metadata_bytes);
	e->notes = notes;
	return 0;
}

/* The member or group that a spec names, or makes. */
static int find_target(struct state *state, const struct table *t, const struct entry_spec *spec, struct entry *e,
		       struct err *err)
{
	const char *profile = state->profiles[t->p4->profile].p4->name;

	if (spec->kind == SPEC_MEMBER) {
		e->kind = ENTRY_MEMBER;
		e->target = member_find(state, t->p4->profile, spec->id);
		if (e->target == NULL)
			return err_set(err, ERR_USAGE, ENOENT, "action profile %s has no member %u", profile, spec->id);
		return 0;
	}
	if (!t->p4->with_selector)
		return err_set(err, ERR_USAGE, EINVAL, "table %s: action profile %s has no selector, so no groups",
			       t->p4->name, profile);
	if (spec->kind == SPEC_GROUP) {
		const struct group *group = group_find(state, t->p4->profile, spec->id);

		if (group == NULL)
			return err_set(err, ERR_USAGE, ENOENT, "action profile %s has no group %u", profile, spec->id);
		e->target = group;
		e->kind = ENTRY_GROUP;
		return 0;
	}
	for (uint32_t i = 0; i < spec->choice_count; i++)
		if (!takes_action(t, spec->choices[i].action))
			return err_set(err, ERR_USAGE, EINVAL, "table %s does not take action %s", t->p4->name,
				       state->program->actions[spec->choices[i].action].name);
	struct group *group;
	int rc = group_create_private(state, t->p4->profile, spec->choices, spec->choice_count, &group, err);

	if (rc < 0)
		return rc;
	group->refs = 1;
	e->target = group;
	e->kind = ENTRY_GROUP;
	e->owns_target = true;
	return 0;
}

static int finish(struct state *state, const struct table *t, const struct entry_spec *spec, struct entry_cell *cell,
		  struct entry *e, struct err *err)
{
	int rc = 0;

	if (spec->kind != SPEC_ACTION)
		rc = find_target(state, t, spec, e, err);
	if (rc == 0 && (add_notes(spec, e) < 0 || cell_take(state, t, cell, e) < 0))
		rc = no_memory(t, err);
	if (rc < 0)
		entry_discard(e);
	return rc;
}

int entry_create_default(struct state *state, struct table *t, const struct entry_spec *spec, struct entry_cell *cell,
			 struct entry **ret_entry, struct err *err)
{
	if (make(state, t, spec->kind == SPEC_ACTION ? &spec->action : NULL, ret_entry) < 0)
		return no_memory(t, err);
	return finish(state, t, spec, cell, *ret_entry, err);
}

int entry_create(struct state *state, struct table *t, const struct entry_spec *spec, struct entry_cell *cell,
		 struct entry **ret_entry, struct err *err)
{
	if (spec->kind == SPEC_ACTION && t->p4->profile != NOWHERE)
		return err_set(err, ERR_USAGE, EINVAL,
			       "table %s takes members or groups of action profile %s, not an action", t->p4->name,
			       state->profiles[t->p4->profile].p4->name);
	if (spec->kind != SPEC_ACTION && t->p4->profile == NOWHERE)
		return err_set(err, ERR_USAGE, EINVAL, "table %s takes an action: it has no action profile",
			       t->p4->name);
	if (spec->kind == SPEC_ACTION && !takes_action(t, spec->action.action))
		return err_set(err, ERR_USAGE, EINVAL, "table %s does not take action %s", t->p4->name,
			       spec->action.action == NOWHERE ? "(none)"
							      : state->program->actions[spec->action.action].name);
	return entry_create_default(state, t, spec, cell, ret_entry, err);
}

int entry_copy(struct state *state, struct table *t, const struct entry *entry, struct entry **ret_entry,
	       struct err *err)
{
	struct choice action = { .action = entry->action.action, .params = entry->action.params };
	struct entry_spec spec = { .kind = SPEC_ACTION };
	struct entry *e;
	int rc;

	if (entry->notes != NULL) {
		spec.idle_timeout_ns = entry->notes->idle_timeout_ns;
		spec.controller_metadata = entry->notes->controller_metadata;
		spec.metadata = entry->notes->metadata;
		spec.metadata_bytes = entry->notes->metadata_bytes;
	}
	if (make(state, t, entry->kind == ENTRY_ACTION ? &action : NULL, &e) < 0)
		return no_memory(t, err);
	if (entry->kind == ENTRY_MEMBER) {
		spec.kind = SPEC_MEMBER;
		spec.id = ((const struct member *)entry->target)->id;
	} else if (entry->kind == ENTRY_GROUP && !entry->owns_target) {
		spec.kind = SPEC_GROUP;
		spec.id = ((const struct group *)entry->target)->id;
	} else if (entry->kind == ENTRY_GROUP) {
		e->kind = ENTRY_GROUP;
		e->owns_target = true;
		e->target = entry->target;
		((struct group *)entry->target)->refs++;
	}
	rc = finish(state, t, &spec, entry->cell, e, err);
	if (rc < 0)
		return rc;
	e->is_const = entry->is_const;
	*ret_entry = e;
	return 0;
}

/* --- what hangs on an entry --- */

void entry_count_packet(const struct state *state, const struct entry *entry, uint32_t length_bytes)
{
	if (entry->cell != NULL && entry->cell->counts)
		counter_add(&entry->cell->counter, state->shared, length_bytes);
}

enum colour entry_meter_packet(const struct state *state, const struct entry *entry, uint32_t length_bytes,
			       uint64_t now_us)
{
	struct meter *meter;

	(void)state;
	if (entry->cell == NULL || !entry->cell->meters)
		return COLOUR_GREEN;
	meter = atomic_load_explicit(&entry->cell->meter, memory_order_acquire);
	return meter == NULL ? COLOUR_GREEN : meter_run(meter, entry->cell->meter_bytes ? length_bytes : 1, now_us);
}

void entry_touch(const struct entry *entry, uint64_t now_us)
{
	if (entry->cell != NULL)
		atomic_store_explicit(&entry->cell->last_hit_us, now_us, memory_order_relaxed);
}

uint64_t entry_last_hit_us(const struct entry *entry)
{
	return entry->cell == NULL ? 0 : atomic_load_explicit(&entry->cell->last_hit_us, memory_order_relaxed);
}

bool entry_counts(const struct entry *entry, struct counts *ret)
{
	if (entry->cell == NULL || !entry->cell->counts)
		return false;
	counter_read(&entry->cell->counter, ret);
	return true;
}

bool entry_set_counts(const struct entry *entry, const struct counts *counts)
{
	if (entry->cell == NULL || !entry->cell->counts)
		return false;
	counter_write(&entry->cell->counter, counts);
	return true;
}

bool entry_meter(const struct entry *entry, struct meter_rates *ret)
{
	const struct meter *meter = NULL;

	if (entry->cell != NULL)
		meter = atomic_load_explicit(&entry->cell->meter, memory_order_relaxed);
	if (meter == NULL)
		return false;
	meter_rates_of(meter, ret);
	return true;
}

int entry_set_meter(struct state *state, const struct entry *entry, const struct meter_rates *rates, struct err *err)
{
	struct meter *meter = NULL, *old;
	int rc;

	if (entry->cell == NULL || !entry->cell->meters)
		return err_set(err, ERR_USAGE, EINVAL, "table %s has no direct meter",
			       state->tables[entry->table].p4->name);
	rc = rates == NULL ? 0 : meter_create(rates, &meter, err);
	if (rc < 0)
		return rc;
	old = atomic_load_explicit(&entry->cell->meter, memory_order_relaxed);
	atomic_store_explicit(&entry->cell->meter, meter, memory_order_release);
	quiesce_retire(state->quiesce, old, sizeof(*old), free);
	return 0;
}
