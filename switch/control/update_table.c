/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "control/control_private.h"

/* Updates of table entries and of what hangs on them. */

int undo_push(struct undo_log *log, const struct undo *u, struct verdict *v)
{
	if (log == NULL || vec_push(&log->items, *u) == 0)
		return 0;
	return verdict(v, GRPC_RESOURCE_EXHAUSTED, "out of memory");
}

static int only_modify(const struct update *u, const char *what)
{
	if (u->type == P4__V1__UPDATE__TYPE__MODIFY)
		return 0;
	return verdict(u->v, GRPC_INVALID_ARGUMENT, "a %s can only be modified", what);
}

/* --- undo --- */

static struct match_spec match_of(const struct pipeline *p, const struct entry *e)
{
	bool pairs = p->names->tables[e->table].with_priority;

	return (struct match_spec){ entry_value(e), pairs ? entry_mask(p->state, e) : NULL, e->prefix_bits,
				    e->priority };
}

static const struct entry *entry_now(const struct pipeline *p, const struct entry *like)
{
	struct match_spec match = match_of(p, like);

	return like->is_default ? table_default(p->state, like->table) : table_find(p->state, like->table, &match);
}

static void undo_insert(struct pipeline *p, const struct undo *u)
{
	const struct entry *e = u->new;
	struct match_spec match = match_of(p, e);

	(void)!table_delete(p->state, e->table, &match, NULL);
}

static void undo_change(struct pipeline *p, const struct undo *u)
{
	const struct entry *old = u->old, *e;

	(void)!table_restore(p->state, old, NULL);
	e = entry_now(p, old);
	if (e == NULL)
		return;
	if (u->has_counts)
		entry_set_counts(e, &u->counts);
	if (p->names->tables[old->table].meter_id != 0)
		(void)!entry_set_meter(p->state, e, u->has_meter ? &u->rates : NULL, NULL);
}

/* How an entry is before it changes. has_counts: counts will be set too. */
static struct undo remember(const struct entry *e, bool counts)
{
	struct undo undo = { .run = undo_change, .old = e };

	undo.has_counts = counts && entry_counts(e, &undo.counts);
	undo.has_meter = entry_meter(e, &undo.rates);
	return undo;
}

/* --- what an entry does --- */

static int take_choices(struct update *u, uint32_t table, const P4__V1__ActionProfileActionSet *set,
			struct entry_spec *spec)
{
	uint32_t most = u->p->names->profiles[u->p->program->tables[table].profile].max_group_size;
	struct choice *choices = pool_array(u->pool, set->n_action_profile_actions, sizeof(*choices));
	int64_t sum = 0;

	if (choices == NULL)
		return verdict(u->v, GRPC_RESOURCE_EXHAUSTED, "out of memory");
	for (size_t i = 0; i < set->n_action_profile_actions; i++) {
		const P4__V1__ActionProfileAction *a = set->action_profile_actions[i];

		if (a->action == NULL || a->weight <= 0)
			return verdict(u->v, GRPC_INVALID_ARGUMENT,
				       "an action set: each needs an action and a weight over 0");
		if (decode_action(u->pool, u->p, table, a->action, false, &choices[i], u->v) < 0)
			return -1;
		choices[i].weight = (uint32_t)a->weight;
		sum += a->weight;
		if (a->watch_kind_case == P4__V1__ACTION_PROFILE_ACTION__WATCH_KIND_WATCH_PORT &&
		    decode_port(&a->watch_port, &choices[i].watch_port, u->v) < 0)
			return -1;
	}
	if (most > 0 && sum > most)
		return verdict(u->v, GRPC_INVALID_ARGUMENT,
			       "an action set: weights of %lld are over the group's limit %u", (long long)sum, most);
	spec->kind = SPEC_CHOICES;
	spec->choices = choices;
	spec->choice_count = (uint32_t)set->n_action_profile_actions;
	return 0;
}

static int take_target(struct update *u, uint32_t table, const P4__V1__TableAction *a, bool is_default,
		       struct entry_spec *spec)
{
	const struct p4_table *t = &u->p->program->tables[table];

	if ((t->profile == NOWHERE) != (a->type_case == P4__V1__TABLE_ACTION__TYPE_ACTION))
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s takes %s", t->name,
			       t->profile == NOWHERE ? "actions: it has no action profile"
						     : "members, groups or action sets of its action profile");
	switch (a->type_case) {
	case P4__V1__TABLE_ACTION__TYPE_ACTION:
		spec->kind = SPEC_ACTION;
		return decode_action(u->pool, u->p, table, a->action, is_default, &spec->action, u->v);
	case P4__V1__TABLE_ACTION__TYPE_ACTION_PROFILE_MEMBER_ID:
		spec->kind = SPEC_MEMBER;
		spec->id = a->action_profile_member_id;
		return 0;
	case P4__V1__TABLE_ACTION__TYPE_ACTION_PROFILE_GROUP_ID:
		spec->kind = SPEC_GROUP;
		spec->id = a->action_profile_group_id;
		return 0;
	case P4__V1__TABLE_ACTION__TYPE_ACTION_PROFILE_ACTION_SET:
		return take_choices(u, table, a->action_profile_action_set, spec);
	default:
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s: the action is empty", t->name);
	}
}

/* A modification without an action leaves what there is. */
static int keep_target(struct update *u, const struct entry *e, struct entry_spec *spec)
{
	const struct group_member *members;
	struct choice *choices;

	if (e->kind == ENTRY_ACTION) {
		spec->kind = SPEC_ACTION;
		spec->action = (struct choice){ .action = e->action.action, .params = e->action.params };
		return 0;
	}
	if (e->kind == ENTRY_MEMBER || !e->owns_target) {
		spec->kind = e->kind == ENTRY_MEMBER ? SPEC_MEMBER : SPEC_GROUP;
		spec->id = e->kind == ENTRY_MEMBER ? member_id(e->target) : group_id(e->target);
		return 0;
	}
	spec->kind = SPEC_CHOICES;
	spec->choice_count = group_members(e->target, &members);
	choices = pool_array(u->pool, spec->choice_count, sizeof(*choices));
	if (choices == NULL)
		return verdict(u->v, GRPC_RESOURCE_EXHAUSTED, "out of memory");
	for (uint32_t i = 0; i < spec->choice_count; i++) {
		const struct action_data *a = group_choice(e->target, i);

		choices[i] = (struct choice){ a->action, a->params, members[i].weight, members[i].watch_port };
	}
	spec->choices = choices;
	return 0;
}

static int take_notes(struct update *u, const struct p4_table *t, const P4__V1__TableEntry *e, struct entry_spec *spec)
{
	uint32_t table = (uint32_t)(t - u->p->program->tables);

	if (e->is_const)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s: is_const is not for a controller to set",
			       t->name);
	if ((e->idle_timeout_ns != 0 || e->time_since_last_hit != NULL) &&
	    (!u->p->names->tables[table].with_timeout || e->is_default_action))
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s: no idle time-outs here", t->name);
	if (e->idle_timeout_ns < 0 || e->time_since_last_hit != NULL)
		return verdict(u->v, GRPC_INVALID_ARGUMENT,
			       "table %s: time_since_last_hit is only read, and an idle "
			       "time-out is not negative",
			       t->name);
	if (e->counter_data != NULL && u->p->names->tables[table].counter_id == 0)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s has no direct counter", t->name);
	if (e->meter_config != NULL && u->p->names->tables[table].meter_id == 0)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s has no direct meter", t->name);
	if (e->meter_counter_data != NULL)
		return verdict(u->v, GRPC_UNIMPLEMENTED, "table %s: meters do not count by colour", t->name);
	spec->idle_timeout_ns = e->idle_timeout_ns;
	spec->controller_metadata = e->controller_metadata;
	spec->metadata = e->metadata.data;
	spec->metadata_bytes = e->metadata.len;
	return 0;
}

/* --- direct resources --- */

static int set_counts(struct update *u, const struct entry *e, const P4__V1__CounterData *data)
{
	struct counts counts;

	if (data == NULL)
		return 0;
	counts = (struct counts){ (uint64_t)data->packet_count, (uint64_t)data->byte_count };
	if (!entry_set_counts(e, &counts))
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "the entry has no counter");
	return 0;
}

/* The meter as the message says; unset is green for all. Checked before anything changes. */
static int take_rates(struct update *u, const P4__V1__MeterConfig *config, struct meter_rates *ret)
{
	if (config == NULL)
		return 0;
	if (decode_rates(config, ret, u->v) < 0)
		return -1;
	if (ret->peak_per_s < ret->committed_per_s)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "meter: the peak rate is below the committed rate");
	return 0;
}

static int set_direct(struct update *u, const struct entry *e, const P4__V1__TableEntry *message,
		      const struct meter_rates *rates)
{
	struct err err;
	int rc;

	if (set_counts(u, e, message->counter_data) < 0)
		return -1;
	if (u->p->names->tables[e->table].meter_id == 0 ||
	    (message->meter_config == NULL && !entry_meter(e, &(struct meter_rates){ 0 })))
		return 0;
	rc = entry_set_meter(u->p->state, e, message->meter_config != NULL ? rates : NULL, &err);
	return verdict_of(u->v, rc, &err);
}

/* --- entries --- */

static int update_default(struct update *u, uint32_t table, const P4__V1__TableEntry *e)
{
	const struct p4_table *t = &u->p->program->tables[table];
	struct entry_spec spec = { 0 };
	struct meter_rates rates;
	struct undo undo;
	struct err err;
	int rc;

	if (u->type != P4__V1__UPDATE__TYPE__MODIFY)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s: the default entry can only be modified",
			       t->name);
	if (e->n_match != 0 || e->priority != 0)
		return verdict(u->v, GRPC_INVALID_ARGUMENT,
			       "table %s: the default entry has neither match nor priority", t->name);
	if (t->default_const)
		return verdict(u->v, GRPC_PERMISSION_DENIED, "table %s: the default action is constant", t->name);
	if (take_notes(u, t, e, &spec) < 0 || take_rates(u, e->meter_config, &rates) < 0)
		return -1;
	if (e->action != NULL && take_target(u, table, e->action, true, &spec) < 0)
		return -1;
	undo = remember(table_default(u->p->state, table), e->counter_data != NULL);
	if (undo_push(u->log, &undo, u->v) < 0)
		return -1;
	rc = table_set_default(u->p->state, table, e->action != NULL ? &spec : NULL, &err);
	if (rc < 0) {
		if (u->log != NULL)
			u->log->items.count--;
		return verdict_of(u->v, rc, &err);
	}
	return set_direct(u, table_default(u->p->state, table), e, &rates);
}

static int insert_entry(struct update *u, uint32_t table, const struct key *key, const P4__V1__TableEntry *e)
{
	const struct p4_table *t = &u->p->program->tables[table];
	struct entry_spec spec = { 0 };
	const struct entry *new;
	struct meter_rates rates;
	struct undo undo = { .run = undo_insert };
	struct err err;
	int rc;

	if (e->action == NULL)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s: an entry needs an action", t->name);
	if (take_notes(u, t, e, &spec) < 0 || take_rates(u, e->meter_config, &rates) < 0 ||
	    take_target(u, table, e->action, false, &spec) < 0 || undo_push(u->log, &undo, u->v) < 0)
		return -1;
	rc = table_insert(u->p->state, table, &key->spec, &spec, &new, &err);
	if (rc < 0) {
		if (u->log != NULL)
			u->log->items.count--;
		return verdict_of(u->v, rc, &err);
	}
	if (u->log != NULL)
		u->log->items.items[u->log->items.count - 1].new = new;
	if (spec.idle_timeout_ns != 0 && u->control->config.now_us != NULL)
		entry_touch(new, u->control->config.now_us(u->control->config.context));
	return set_direct(u, new, e, &rates);
}

/* In a constant table only what hangs on an entry may change. */
static int modify_const(struct update *u, const struct entry *old, const P4__V1__TableEntry *e,
			const struct meter_rates *rates)
{
	struct undo undo = remember(old, e->counter_data != NULL);

	if (e->action != NULL)
		return verdict(u->v, GRPC_PERMISSION_DENIED, "table %s is constant",
			       u->p->program->tables[old->table].name);
	(void)undo; /* restoring a constant entry would replace it: its counts are no part of a batch's all or none */
	return set_direct(u, old, e, rates);
}

static int modify_entry(struct update *u, uint32_t table, const struct key *key, const P4__V1__TableEntry *e)
{
	const struct p4_table *t = &u->p->program->tables[table];
	const struct entry *old = table_find(u->p->state, table, &key->spec), *new;
	struct entry_spec spec = { 0 };
	struct meter_rates rates;
	struct undo undo;
	struct err err;
	int rc;

	if (old == NULL)
		return verdict(u->v, GRPC_NOT_FOUND, "table %s has no such entry", t->name);
	if (take_notes(u, t, e, &spec) < 0 || take_rates(u, e->meter_config, &rates) < 0)
		return -1;
	if (old->is_const)
		return modify_const(u, old, e, &rates);
	if ((e->action != NULL ? take_target(u, table, e->action, false, &spec) : keep_target(u, old, &spec)) < 0)
		return -1;
	undo = remember(old, e->counter_data != NULL);
	if (undo_push(u->log, &undo, u->v) < 0)
		return -1;
	rc = table_modify(u->p->state, table, &key->spec, &spec, &new, &err);
	if (rc < 0) {
		if (u->log != NULL)
			u->log->items.count--;
		return verdict_of(u->v, rc, &err);
	}
	return set_direct(u, new, e, &rates);
}

static int delete_entry(struct update *u, uint32_t table, const struct key *key)
{
	const struct entry *old = table_find(u->p->state, table, &key->spec);
	struct undo undo = { .run = undo_change, .old = old };
	struct err err;
	int rc;

	if (old != NULL)
		undo = remember(old, false);
	if (old != NULL && undo_push(u->log, &undo, u->v) < 0)
		return -1;
	rc = table_delete(u->p->state, table, &key->spec, &err);
	if (rc < 0 && old != NULL && u->log != NULL)
		u->log->items.count--;
	return verdict_of(u->v, rc, &err);
}

int update_table_entry(struct update *u, const P4__V1__TableEntry *e)
{
	uint32_t table = names_find(u->p->names, NAME_TABLE, e->table_id);
	struct key key;

	if (table == NOWHERE)
		return verdict(u->v, e->table_id == 0 ? GRPC_INVALID_ARGUMENT : GRPC_NOT_FOUND, "there is no table %u",
			       e->table_id);
	if (e->is_default_action)
		return update_default(u, table, e);
	if (u->p->names->tables[table].is_const && u->type != P4__V1__UPDATE__TYPE__MODIFY)
		return verdict(u->v, GRPC_PERMISSION_DENIED, "table %s is constant", u->p->program->tables[table].name);
	if (decode_key(u->p, table, e, &key, u->v) < 0)
		return -1;
	if (u->type == P4__V1__UPDATE__TYPE__INSERT)
		return insert_entry(u, table, &key, e);
	if (u->type == P4__V1__UPDATE__TYPE__MODIFY)
		return modify_entry(u, table, &key, e);
	return delete_entry(u, table, &key);
}

/* --- direct counters and meters by themselves --- */

static void undo_direct(struct pipeline *p, const struct undo *u)
{
	const struct entry *old = u->old, *e = entry_now(p, old);

	if (e != NULL && u->has_counts)
		entry_set_counts(e, &u->counts);
	if (e != NULL && !u->has_counts)
		(void)!entry_set_meter(p->state, e, u->has_meter ? &u->rates : NULL, NULL);
}

static const struct entry *entry_named(struct update *u, const P4__V1__TableEntry *e)
{
	uint32_t table = e == NULL ? NOWHERE : names_find(u->p->names, NAME_TABLE, e->table_id);
	const struct entry *found;
	struct key key;

	if (table == NOWHERE) {
		verdict(u->v, e == NULL ? GRPC_INVALID_ARGUMENT : GRPC_NOT_FOUND, "there is no table %u",
			e == NULL ? 0 : e->table_id);
		return NULL;
	}
	if (e->is_default_action)
		return table_default(u->p->state, table);
	if (decode_key(u->p, table, e, &key, u->v) < 0)
		return NULL;
	found = table_find(u->p->state, table, &key.spec);
	if (found == NULL)
		verdict(u->v, GRPC_NOT_FOUND, "table %s has no such entry", u->p->program->tables[table].name);
	return found;
}

int update_direct_counter(struct update *u, const P4__V1__DirectCounterEntry *e)
{
	const struct entry *entry;
	struct undo undo;

	if (only_modify(u, "direct counter") < 0 || (entry = entry_named(u, e->table_entry)) == NULL)
		return -1;
	if (u->p->names->tables[entry->table].counter_id == 0)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s has no direct counter",
			       u->p->program->tables[entry->table].name);
	undo = remember(entry, true);
	undo.run = undo_direct;
	return undo_push(u->log, &undo, u->v) < 0 ? -1 : set_counts(u, entry, e->data);
}

int update_direct_meter(struct update *u, const P4__V1__DirectMeterEntry *e)
{
	const struct entry *entry;
	struct meter_rates rates;
	struct undo undo;
	struct err err;

	if (only_modify(u, "direct meter") < 0 || (entry = entry_named(u, e->table_entry)) == NULL)
		return -1;
	if (u->p->names->tables[entry->table].meter_id == 0)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "table %s has no direct meter",
			       u->p->program->tables[entry->table].name);
	if (e->counter_data != NULL)
		return verdict(u->v, GRPC_UNIMPLEMENTED, "meters do not count by colour");
	undo = remember(entry, false);
	undo.run = undo_direct;
	if (take_rates(u, e->config, &rates) < 0 || undo_push(u->log, &undo, u->v) < 0)
		return -1;
	return verdict_of(u->v, entry_set_meter(u->p->state, entry, e->config != NULL ? &rates : NULL, &err), &err);
}
