/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "control/control_private.h"

/*
 * What one pipeline holds, carried over to another: by the messages that Read would answer, so that ids and values
 * mean what the controllers see. State that packets made (counts, registers) comes along where both have it.
 */
struct carry {
	struct control *control;
	struct pipeline *from, *to;
	struct pool *pool;
	struct verdict *v;
};

static struct update update_of(struct carry *k, P4__V1__Update__Type type)
{
	return (struct update){ .control = k->control, .p = k->to, .pool = k->pool, .type = type, .v = k->v };
}

static int no_memory(struct carry *k)
{
	return verdict(k->v, GRPC_RESOURCE_EXHAUSTED, "out of memory");
}

static int carry_entry(struct carry *k, const struct entry *e)
{
	struct update u = update_of(k, e->is_default ? P4__V1__UPDATE__TYPE__MODIFY : P4__V1__UPDATE__TYPE__INSERT);
	P4__V1__TableEntry *message = encode_table_entry(k->pool, k->from, e);
	struct meter_rates rates;
	struct counts counts;
	int rc;

	if (message == NULL)
		return no_memory(k);
	if (entry_counts(e, &counts))
		message->counter_data = encode_counts(k->pool, &counts);
	if (entry_meter(e, &rates))
		message->meter_config = encode_rates(k->pool, &rates);
	rc = update_table_entry(&u, message);
	pool_reset(k->pool);
	return rc;
}

static int carry_table(struct carry *k, uint32_t t)
{
	struct entry_cursor cursor = { 0 };
	const struct entry *e;
	int rc = 0;

	if (k->from->names->tables[t].id == 0)
		return 0;
	while (rc == 0 && !k->from->names->tables[t].is_const && (e = table_next(k->from->state, t, &cursor)) != NULL) {
		rc = carry_entry(k, e);
		if (rc < 0 && k->v->code == GRPC_ALREADY_EXISTS)
			rc = 0; /* the new program brings it along */
	}
	if (rc == 0 && table_default_changed(k->from->state, t))
		rc = carry_entry(k, table_default(k->from->state, t));
	return rc;
}

static int carry_profile(struct carry *k, uint32_t p)
{
	const struct state *s = k->from->state;
	const struct name_profile *names = &k->from->names->profiles[p];
	uint32_t to = names_find(k->to->names, NAME_PROFILE, names->id);
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < profile_member_count(s, p); i++) {
		struct update u = update_of(k, P4__V1__UPDATE__TYPE__INSERT);
		P4__V1__ActionProfileMember m = P4__V1__ACTION_PROFILE_MEMBER__INIT;

		m.action_profile_id = names->id;
		m.member_id = member_id(profile_member(s, p, i));
		m.action = encode_action(k->pool, k->from, names->table, member_action(profile_member(s, p, i)));
		rc = m.action == NULL ? no_memory(k) : update_member(&u, &m);
		pool_reset(k->pool);
	}
	for (uint32_t i = 0; rc == 0 && i < profile_group_count(s, p); i++) {
		const struct group *g = profile_group(s, p, i);
		const struct group_member *members;
		uint32_t count = group_members(g, &members);
		struct err err;

		if (to == NOWHERE)
			return verdict(k->v, GRPC_INVALID_ARGUMENT, "there is no action profile %u", names->id);
		rc = verdict_of(k->v,
				group_insert(k->to->state, to, group_id(g), members, count, group_max_size(g), &err),
				&err);
	}
	return rc;
}

static int carry_replication(struct carry *k)
{
	const struct state *s = k->from->state;
	struct err err;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < multicast_count(s); i++) {
		const struct replicas *r = multicast_group(s, multicast_id(s, i));

		rc = multicast_insert(k->to->state, multicast_id(s, i), r->items, r->count, &err);
	}
	for (uint32_t i = 0; rc == 0 && i < clone_count(s); i++)
		rc = clone_insert(k->to->state, clone_id(s, i), clone_session(s, clone_id(s, i)), &err);
	return verdict_of(k->v, rc, &err);
}

/* Cells that both programs have under one id; those beyond the new size go. */
static int carry_arrays(struct carry *k)
{
	const struct names *a = k->from->names, *b = k->to->names;
	const struct program *from = k->from->program, *to = k->to->program;
	struct err err;
	int rc = 0;

	for (uint32_t i = 0; i < from->counter_count; i++) {
		uint32_t j = names_find(b, NAME_COUNTER, a->counter_ids[i]);
		struct counts counts;

		for (uint32_t x = 0; j != NOWHERE && a->counter_ids[i] != 0 && x < to->counters[j].size; x++)
			if (counter_get(k->from->state, i, x, &counts))
				counter_set(k->to->state, j, x, &counts);
	}
	for (uint32_t i = 0; i < from->meter_count; i++) {
		uint32_t j = names_find(b, NAME_METER, a->meter_ids[i]);
		struct meter_rates rates;

		for (uint32_t x = 0; rc == 0 && j != NOWHERE && a->meter_ids[i] != 0 && x < to->meters[j].size; x++)
			if (meter_get(k->from->state, i, x, &rates))
				rc = meter_set(k->to->state, j, x, &rates, &err);
	}
	for (uint32_t i = 0; i < from->register_count; i++) {
		uint32_t j = names_find(b, NAME_REGISTER, a->register_ids[i]);
		uint64_t words[SLOTS_A_VALUE_MOST];

		if (j == NOWHERE || a->register_ids[i] == 0 || to->registers[j].bits != from->registers[i].bits)
			continue;
		for (uint32_t x = 0; x < to->registers[j].size && register_read(k->from->state, i, x, words); x++)
			register_write(k->to->state, j, x, words);
	}
	return verdict_of(k->v, rc, &err);
}

static int carry_sets(struct carry *k)
{
	const struct program *from = k->from->program;
	struct err err;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < from->value_set_count; i++) {
		const struct value_set_view *view = value_set_get(k->from->state, i);
		uint32_t id = k->from->names->value_sets[i].id, j = names_find(k->to->names, NAME_VALUE_SET, id);
		uint32_t select = j == NOWHERE ? NOWHERE : k->to->program->value_sets[j].select;

		if (view == NULL)
			continue;
		if (select == NOWHERE || k->to->program->selects[select].words != view->words)
			return verdict(k->v, GRPC_INVALID_ARGUMENT, "value set %u has no place in the new program", id);
		rc = value_set_set(k->to->state, j, view->items, view->count, &err);
	}
	for (uint32_t i = 0; i < from->learn_list_count; i++) {
		uint32_t j = names_find(k->to->names, NAME_DIGEST, k->from->names->digests[i].id);

		if (j != NOWHERE && k->from->digests[i].wanted)
			k->to->digests[j] = k->from->digests[i];
	}
	return verdict_of(k->v, rc, &err);
}

int reconcile(struct control *c, struct pipeline *from, struct pipeline *to, struct verdict *v)
{
	struct pool pool;
	struct carry k = { c, from, to, &pool, v };
	int rc = 0;

	if (from == NULL || from->names == NULL)
		return 0; /* nothing to carry */
	if (pool_init(&pool) < 0)
		return verdict(v, GRPC_RESOURCE_EXHAUSTED, "out of memory");
	for (uint32_t p = 0; rc == 0 && p < from->program->profile_count; p++)
		if (from->names->profiles[p].id != 0)
			rc = carry_profile(&k, p);
	for (uint32_t t = 0; rc == 0 && t < from->program->table_count; t++)
		rc = carry_table(&k, t);
	if (rc == 0)
		rc = carry_replication(&k);
	if (rc == 0)
		rc = carry_arrays(&k);
	if (rc == 0)
		rc = carry_sets(&k);
	pool_release(&pool);
	if (rc < 0)
		v->code = v->code == GRPC_RESOURCE_EXHAUSTED ? v->code : GRPC_INVALID_ARGUMENT;
	return rc;
}
