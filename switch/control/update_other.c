/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/control_private.h"
#include "proto/p4data.pb-c.h"

/* Updates of everything that is no table entry. */

static int only_modify(const struct update *u, const char *what)
{
	if (u->type == P4__V1__UPDATE__TYPE__MODIFY)
		return 0;
	return verdict(u->v, GRPC_INVALID_ARGUMENT, "a %s can only be modified", what);
}

static int no_memory(struct update *u)
{
	return verdict(u->v, GRPC_RESOURCE_EXHAUSTED, "out of memory");
}

/* The last thing written down did not happen. */
static int came_to(struct update *u, int rc, const struct err *err)
{
	if (rc < 0 && u->log != NULL)
		u->log->items.count--;
	return verdict_of(u->v, rc, err);
}

/* --- members --- */

static void undo_member_insert(struct pipeline *p, const struct undo *u)
{
	(void)!member_delete(p->state, u->index, u->id, NULL);
}

static void undo_member_change(struct pipeline *p, const struct undo *u)
{
	const struct action_data *a = u->old;

	if (member_find(p->state, u->index, u->id) != NULL)
		(void)!member_modify(p->state, u->index, u->id, a->action, a->params, NULL);
	else
		(void)!member_insert(p->state, u->index, u->id, a->action, a->params, NULL);
}

static int find_profile(struct update *u, uint32_t id, uint32_t *ret_profile)
{
	*ret_profile = names_find(u->p->names, NAME_PROFILE, id);
	if (*ret_profile == NOWHERE)
		return verdict(u->v, id == 0 ? GRPC_INVALID_ARGUMENT : GRPC_NOT_FOUND, "there is no action profile %u",
			       id);
	return 0;
}

int update_member(struct update *u, const P4__V1__ActionProfileMember *m)
{
	struct undo undo = { .run = undo_member_insert, .id = m->member_id };
	const struct member *old;
	struct choice choice = { 0 };
	struct err err;

	if (find_profile(u, m->action_profile_id, &undo.index) < 0)
		return -1;
	if (m->member_id == 0)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "a member's id is not 0");
	if (u->type != P4__V1__UPDATE__TYPE__DELETE) {
		if (m->action == NULL)
			return verdict(u->v, GRPC_INVALID_ARGUMENT, "member %u: an action is expected", m->member_id);
		if (decode_action(u->pool, u->p, u->p->names->profiles[undo.index].table, m->action, false, &choice,
				  u->v) < 0)
			return -1;
	}
	old = member_find(u->p->state, undo.index, m->member_id);
	if (u->type != P4__V1__UPDATE__TYPE__INSERT) {
		undo.run = undo_member_change;
		undo.old = old != NULL ? member_action(old) : NULL;
	}
	if (undo_push(u->log, &undo, u->v) < 0)
		return -1;
	if (u->type == P4__V1__UPDATE__TYPE__INSERT)
		return came_to(u, member_insert(u->p->state, undo.index, undo.id, choice.action, choice.params, &err),
			       &err);
	if (u->type == P4__V1__UPDATE__TYPE__MODIFY)
		return came_to(u, member_modify(u->p->state, undo.index, undo.id, choice.action, choice.params, &err),
			       &err);
	return came_to(u, member_delete(u->p->state, undo.index, undo.id, &err), &err);
}

/* --- groups --- */

static void undo_group_insert(struct pipeline *p, const struct undo *u)
{
	(void)!group_delete(p->state, u->index, u->id, NULL);
}

static void undo_group_change(struct pipeline *p, const struct undo *u)
{
	if (group_find(p->state, u->index, u->id) != NULL)
		(void)!group_modify(p->state, u->index, u->id, u->old, u->count, NULL);
	else
		(void)!group_insert(p->state, u->index, u->id, u->old, u->count, (uint32_t)u->cell, NULL);
}

static int take_members(struct update *u, const P4__V1__ActionProfileGroup *g, struct group_member *members)
{
	for (size_t i = 0; i < g->n_members; i++) {
		const P4__V1__ActionProfileGroup__Member *m = g->members[i];

		if (m->weight <= 0)
			return verdict(u->v, GRPC_INVALID_ARGUMENT,
				       "group %u: a weight of %" PRId32 "; over 0 is expected", g->group_id, m->weight);
		members[i] = (struct group_member){ m->member_id, (uint32_t)m->weight, NOWHERE };
		if (m->watch_kind_case == P4__V1__ACTION_PROFILE_GROUP__MEMBER__WATCH_KIND_WATCH_PORT &&
		    decode_port(&m->watch_port, &members[i].watch_port, u->v) < 0)
			return -1;
	}
	return 0;
}

static int check_max_size(struct update *u, const P4__V1__ActionProfileGroup *g, uint32_t profile)
{
	uint32_t most = u->p->names->profiles[profile].max_group_size;

	if (g->max_size < 0 || (most > 0 && (uint32_t)g->max_size > most))
		return verdict(u->v, GRPC_INVALID_ARGUMENT,
			       "group %u: a max_size of %" PRId32 "; at most %u is expected", g->group_id, g->max_size,
			       most);
	return 0;
}

int update_group(struct update *u, const P4__V1__ActionProfileGroup *g)
{
	struct undo undo = { .run = undo_group_insert, .id = g->group_id };
	struct group_member *members = pool_array(u->pool, g->n_members, sizeof(*members));
	const struct group *old;
	struct err err;
	uint32_t size;

	if (members == NULL)
		return no_memory(u);
	if (find_profile(u, g->action_profile_id, &undo.index) < 0)
		return -1;
	if (g->group_id == 0)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "a group's id is not 0");
	if (u->type != P4__V1__UPDATE__TYPE__DELETE &&
	    (take_members(u, g, members) < 0 || check_max_size(u, g, undo.index) < 0))
		return -1;
	size = g->max_size > 0 ? (uint32_t)g->max_size : u->p->names->profiles[undo.index].max_group_size;
	old = group_find(u->p->state, undo.index, undo.id);
	if (u->type != P4__V1__UPDATE__TYPE__INSERT && old != NULL) {
		const struct group_member *now;

		undo.run = undo_group_change;
		undo.count = group_members(old, &now);
		undo.old = now;
		undo.cell = group_max_size(old);
	}
	if (undo_push(u->log, &undo, u->v) < 0)
		return -1;
	if (u->type == P4__V1__UPDATE__TYPE__INSERT)
		return came_to(
			u, group_insert(u->p->state, undo.index, undo.id, members, (uint32_t)g->n_members, size, &err),
			&err);
	if (u->type == P4__V1__UPDATE__TYPE__MODIFY)
		return came_to(u, group_modify(u->p->state, undo.index, undo.id, members, (uint32_t)g->n_members, &err),
			       &err);
	return came_to(u, group_delete(u->p->state, undo.index, undo.id, &err), &err);
}

/* --- arrays: one cell, or all without an index --- */

struct cells {
	uint64_t first, end;
};

static int take_cells(struct update *u, const char *name, const P4__V1__Index *index, uint32_t size, struct cells *ret)
{
	*ret = (struct cells){ 0, size };
	if (index == NULL)
		return 0;
	if (index->index < 0)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "%s: an index of %lld", name, (long long)index->index);
	if ((uint64_t)index->index >= size)
		return verdict(u->v, GRPC_OUT_OF_RANGE, "%s: an index of %lld; it has %u cells", name,
			       (long long)index->index, size);
	*ret = (struct cells){ (uint64_t)index->index, (uint64_t)index->index + 1 };
	return 0;
}

static int take_array(struct update *u, enum name_kind kind, const char *what, uint32_t id, uint32_t *ret_index)
{
	if (only_modify(u, what) < 0)
		return -1;
	*ret_index = names_find(u->p->names, kind, id);
	if (*ret_index == NOWHERE)
		return verdict(u->v, id == 0 ? GRPC_INVALID_ARGUMENT : GRPC_NOT_FOUND, "there is no %s %u", what, id);
	return 0;
}

static void undo_counter(struct pipeline *p, const struct undo *u)
{
	counter_set(p->state, u->index, u->cell, &u->counts);
}

int update_counter(struct update *u, const P4__V1__CounterEntry *e)
{
	struct counts counts;
	struct cells cells;
	uint32_t array;

	if (take_array(u, NAME_COUNTER, "counter", e->counter_id, &array) < 0 ||
	    take_cells(u, u->p->program->counters[array].name, e->index, u->p->program->counters[array].size, &cells) <
		    0)
		return -1;
	if (e->data == NULL)
		return 0;
	counts = (struct counts){ (uint64_t)e->data->packet_count, (uint64_t)e->data->byte_count };
	for (uint64_t i = cells.first; i < cells.end; i++) {
		struct undo undo = { .run = undo_counter, .index = array, .cell = i };

		counter_get(u->p->state, array, i, &undo.counts);
		if (undo_push(u->log, &undo, u->v) < 0)
			return -1;
		counter_set(u->p->state, array, i, &counts);
	}
	return 0;
}

static void undo_meter(struct pipeline *p, const struct undo *u)
{
	(void)!meter_set(p->state, u->index, u->cell, u->has_meter ? &u->rates : NULL, NULL);
}

int update_meter(struct update *u, const P4__V1__MeterEntry *e)
{
	struct meter_rates rates;
	struct cells cells;
	uint32_t array;

	if (take_array(u, NAME_METER, "meter", e->meter_id, &array) < 0 ||
	    take_cells(u, u->p->program->meters[array].name, e->index, u->p->program->meters[array].size, &cells) < 0)
		return -1;
	if (e->counter_data != NULL)
		return verdict(u->v, GRPC_UNIMPLEMENTED, "meters do not count by colour");
	if (e->config != NULL && decode_rates(e->config, &rates, u->v) < 0)
		return -1;
	for (uint64_t i = cells.first; i < cells.end; i++) {
		struct undo undo = { .run = undo_meter, .index = array, .cell = i };
		struct err err;

		undo.has_meter = meter_get(u->p->state, array, i, &undo.rates);
		if (undo_push(u->log, &undo, u->v) < 0 ||
		    came_to(u, meter_set(u->p->state, array, i, e->config != NULL ? &rates : NULL, &err), &err) < 0)
			return -1;
	}
	return 0;
}

static void undo_register(struct pipeline *p, const struct undo *u)
{
	register_write(p->state, u->index, u->cell, u->copy);
}

static int take_data(struct update *u, uint32_t array, const ProtobufCBinaryData *data, uint64_t *words)
{
	const struct p4_register *r = &u->p->program->registers[array];
	P4__V1__P4Data *value = p4__v1__p4_data__unpack(&u->pool->allocator, data->len, data->data);
	const ProtobufCBinaryData *bytes;
	enum bytes_result result;

	if (value != NULL && value->data_case == P4__V1__P4_DATA__DATA_BOOLEAN && r->bits == 1) {
		words[0] = value->boolean;
		return 0;
	}
	if (value == NULL || (value->data_case != P4__V1__P4_DATA__DATA_BITSTRING &&
			      value->data_case != P4__V1__P4_DATA__DATA_ENUM_VALUE))
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "register %s: a bit string is expected", r->name);
	bytes = value->data_case == P4__V1__P4_DATA__DATA_BITSTRING ? &value->bitstring : &value->enum_value;
	result = u->p->names->register_signed[array] ? bytes_to_signed_words(bytes->data, bytes->len, r->bits, words)
						     : bytes_to_words(bytes->data, bytes->len, r->bits, words);
	if (result == BYTES_TOO_WIDE)
		return verdict(u->v, GRPC_OUT_OF_RANGE, "register %s: the value does not fit %u bits", r->name,
			       r->bits);
	if (result == BYTES_EMPTY)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "register %s: an empty value", r->name);
	return 0;
}

int update_register(struct update *u, const P4__V1__RegisterEntry *e)
{
	uint64_t words[SLOTS_A_VALUE_MOST];
	const struct p4_register *r;
	struct cells cells;
	uint32_t array;

	if (take_array(u, NAME_REGISTER, "register", e->register_id, &array) < 0)
		return -1;
	r = &u->p->program->registers[array];
	if (take_cells(u, r->name, e->index, r->size, &cells) < 0 || take_data(u, array, &e->data, words) < 0)
		return -1;
	for (uint64_t i = cells.first; i < cells.end; i++) {
		struct undo undo = { .run = undo_register, .index = array, .cell = i };

		if (u->log != NULL) {
			undo.copy = pool_array(u->pool, r->slots, sizeof(words[0]));
			if (undo.copy == NULL)
				return no_memory(u);
			register_read(u->p->state, array, i, undo.copy);
		}
		if (undo_push(u->log, &undo, u->v) < 0)
			return -1;
		register_write(u->p->state, array, i, words);
	}
	return 0;
}

/* --- replication --- */

static struct replicas *take_replicas(struct update *u, P4__V1__Replica *const *from, size_t count)
{
	struct replicas *to = pool_alloc(u->pool, sizeof(*to) + count * sizeof(to->items[0]));

	if (to == NULL) {
		no_memory(u);
		return NULL;
	}
	to->count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		to->items[i] = (struct replica){ from[i]->egress_port, from[i]->instance };
		if (from[i]->port_kind_case == P4__V1__REPLICA__PORT_KIND_PORT &&
		    decode_port(&from[i]->port, &to->items[i].port, u->v) < 0)
			return NULL;
		if (from[i]->port_kind_case == P4__V1__REPLICA__PORT_KIND__NOT_SET)
			to->items[i].port = 0;
		if (from[i]->instance > UINT16_MAX) {
			verdict(u->v, GRPC_INVALID_ARGUMENT, "an instance of %u; 16 bits are expected",
				from[i]->instance);
			return NULL;
		}
	}
	return to;
}

static int by_port(const void *a, const void *b)
{
	const struct replica *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->instance < y->instance ? -1 : x->instance > y->instance;
}

static int check_unique(struct update *u, const struct replicas *r)
{
	struct replica *sorted = pool_array(u->pool, r->count, sizeof(*sorted));

	if (sorted == NULL)
		return no_memory(u);
	memcpy(sorted, r->items, r->count * sizeof(*sorted));
	qsort(sorted, r->count, sizeof(*sorted), by_port);
	for (uint32_t i = 1; i < r->count; i++)
		if (by_port(&sorted[i - 1], &sorted[i]) == 0)
			return verdict(u->v, GRPC_INVALID_ARGUMENT, "port %u with instance %u is there twice",
				       sorted[i].port, sorted[i].instance);
	return 0;
}

static void undo_multicast_insert(struct pipeline *p, const struct undo *u)
{
	(void)!multicast_delete(p->state, u->id, NULL);
}

static void undo_multicast_change(struct pipeline *p, const struct undo *u)
{
	const struct replicas *r = u->old;

	if (multicast_group(p->state, u->id) != NULL)
		(void)!multicast_modify(p->state, u->id, r->items, r->count, NULL);
	else
		(void)!multicast_insert(p->state, u->id, r->items, r->count, NULL);
}

static int update_multicast(struct update *u, const P4__V1__MulticastGroupEntry *e)
{
	struct undo undo = { .run = undo_multicast_insert, .id = e->multicast_group_id };
	const struct replicas *r = NULL;
	struct err err;

	if (e->multicast_group_id == 0 || e->multicast_group_id > UINT16_MAX)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "a multicast group's id is 1 to 65535, not %u",
			       e->multicast_group_id);
	if (u->type != P4__V1__UPDATE__TYPE__DELETE &&
	    ((r = take_replicas(u, e->replicas, e->n_replicas)) == NULL || check_unique(u, r) < 0))
		return -1;
	undo.old = multicast_group(u->p->state, undo.id);
	if (undo.old != NULL)
		undo.run = undo_multicast_change;
	if (undo_push(u->log, &undo, u->v) < 0)
		return -1;
	if (u->type == P4__V1__UPDATE__TYPE__INSERT)
		return came_to(u, multicast_insert(u->p->state, undo.id, r->items, r->count, &err), &err);
	if (u->type == P4__V1__UPDATE__TYPE__MODIFY)
		return came_to(u, multicast_modify(u->p->state, undo.id, r->items, r->count, &err), &err);
	return came_to(u, multicast_delete(u->p->state, undo.id, &err), &err);
}

static void undo_clone_insert(struct pipeline *p, const struct undo *u)
{
	(void)!clone_delete(p->state, u->id, NULL);
}

static void undo_clone_change(struct pipeline *p, const struct undo *u)
{
	if (clone_session(p->state, u->id) != NULL)
		(void)!clone_modify(p->state, u->id, u->old, NULL);
	else
		(void)!clone_insert(p->state, u->id, u->old, NULL);
}

static int update_clone(struct update *u, const P4__V1__CloneSessionEntry *e)
{
	struct undo undo = { .run = undo_clone_insert, .id = e->session_id };
	struct clone_session session = { e->class_of_service, 0, NULL };
	struct err err;

	if (e->session_id == 0)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "a clone session's id is not 0");
	if (u->type != P4__V1__UPDATE__TYPE__DELETE) {
		if (e->packet_length_bytes < 0)
			return verdict(u->v, GRPC_INVALID_ARGUMENT, "a packet length of %" PRId32,
				       e->packet_length_bytes);
		session.length_bytes = (uint32_t)e->packet_length_bytes;
		session.replicas = take_replicas(u, e->replicas, e->n_replicas);
		if (session.replicas == NULL || check_unique(u, session.replicas) < 0)
			return -1;
	}
	undo.old = clone_session(u->p->state, undo.id);
	if (undo.old != NULL)
		undo.run = undo_clone_change;
	if (undo_push(u->log, &undo, u->v) < 0)
		return -1;
	if (u->type == P4__V1__UPDATE__TYPE__INSERT)
		return came_to(u, clone_insert(u->p->state, undo.id, &session, &err), &err);
	if (u->type == P4__V1__UPDATE__TYPE__MODIFY)
		return came_to(u, clone_modify(u->p->state, undo.id, &session, &err), &err);
	return came_to(u, clone_delete(u->p->state, undo.id, &err), &err);
}

int update_replication(struct update *u, const P4__V1__PacketReplicationEngineEntry *e)
{
	switch (e->type_case) {
	case P4__V1__PACKET_REPLICATION_ENGINE_ENTRY__TYPE_MULTICAST_GROUP_ENTRY:
		return update_multicast(u, e->multicast_group_entry);
	case P4__V1__PACKET_REPLICATION_ENGINE_ENTRY__TYPE_CLONE_SESSION_ENTRY:
		return update_clone(u, e->clone_session_entry);
	default:
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "a packet replication entry without a type");
	}
}

/* --- value sets --- */

static void undo_value_set(struct pipeline *p, const struct undo *u)
{
	const struct value_set_view *view = u->old;

	(void)!value_set_set(p->state, u->index, view != NULL ? view->items : NULL, view != NULL ? view->count : 0,
			     NULL);
}

static int take_set_member(struct update *u, uint32_t set, const P4__V1__ValueSetMember *m, uint64_t *value,
			   uint64_t *mask)
{
	const struct name_value_set *names = &u->p->names->value_sets[set];
	const struct p4_select *select = &u->p->program->selects[u->p->program->value_sets[set].select];
	size_t taken = 0;

	for (uint32_t k = 0; k < names->field_count; k++) {
		uint32_t prefix = 0, word = select->word[k];
		const P4__V1__FieldMatch *found = NULL;

		for (size_t i = 0; i < m->n_match && found == NULL; i++)
			if (m->match[i]->field_id == names->field_ids[k])
				found = m->match[i];
		if (found == NULL && names->kinds[k] == MATCH_EXACT)
			return verdict(u->v, GRPC_INVALID_ARGUMENT, "value set: field %u is missing",
				       names->field_ids[k]);
		if (found != NULL && decode_field(found, "value set", (enum match_kind)names->kinds[k],
						  select->key_bits[k], value + word, mask + word, &prefix, u->v) < 0)
			return -1;
		taken += found != NULL;
	}
	if (taken != m->n_match)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "value set: a field that there is not, or one given twice");
	return 0;
}

int update_value_set(struct update *u, const P4__V1__ValueSetEntry *e)
{
	struct undo undo = { .run = undo_value_set };
	uint32_t words, select;
	uint64_t *items;
	struct err err;

	if (take_array(u, NAME_VALUE_SET, "value set", e->value_set_id, &undo.index) < 0)
		return -1;
	if (e->n_members > u->p->names->value_sets[undo.index].size)
		return verdict(u->v, GRPC_RESOURCE_EXHAUSTED, "value set: %zu members, it takes %u", e->n_members,
			       u->p->names->value_sets[undo.index].size);
	select = u->p->program->value_sets[undo.index].select;
	if (select == NOWHERE)
		return 0; /* no state asks for it */
	words = u->p->program->selects[select].words;
	items = pool_array(u->pool, e->n_members, (size_t)2 * words * sizeof(*items));
	if (items == NULL)
		return no_memory(u);
	for (size_t i = 0; i < e->n_members; i++) {
		uint64_t *item = items + i * 2 * words;

		if (take_set_member(u, undo.index, e->members[i], item, item + words) < 0)
			return -1;
		for (size_t j = 0; j < i; j++)
			if (memcmp(items + j * 2 * words, item, (size_t)2 * words * sizeof(*item)) == 0)
				return verdict(u->v, GRPC_ALREADY_EXISTS, "value set: two members are alike");
	}
	undo.old = value_set_get(u->p->state, undo.index);
	if (undo_push(u->log, &undo, u->v) < 0)
		return -1;
	return came_to(u, value_set_set(u->p->state, undo.index, items, (uint32_t)e->n_members, &err), &err);
}

/* --- digests --- */

static void undo_digest(struct pipeline *p, const struct undo *u)
{
	p->digests[u->index] = *(const struct digest_config *)u->copy;
}

int update_digest(struct update *u, const P4__V1__DigestEntry *e)
{
	struct undo undo = { .run = undo_digest };
	uint32_t list = names_find(u->p->names, NAME_DIGEST, e->digest_id);
	struct digest_config *config;

	if (list == NOWHERE)
		return verdict(u->v, e->digest_id == 0 ? GRPC_INVALID_ARGUMENT : GRPC_NOT_FOUND,
			       "there is no digest %u", e->digest_id);
	config = &u->p->digests[list];
	if (u->type == P4__V1__UPDATE__TYPE__INSERT && config->wanted)
		return verdict(u->v, GRPC_ALREADY_EXISTS, "digest %u is configured already", e->digest_id);
	if (u->type != P4__V1__UPDATE__TYPE__INSERT && !config->wanted)
		return verdict(u->v, GRPC_NOT_FOUND, "digest %u is not configured", e->digest_id);
	undo.index = list;
	undo.copy = pool_alloc(u->pool, sizeof(*config));
	if (undo.copy == NULL)
		return no_memory(u);
	*(struct digest_config *)undo.copy = *config;
	if (undo_push(u->log, &undo, u->v) < 0)
		return -1;
	if (u->type == P4__V1__UPDATE__TYPE__DELETE)
		*config = (struct digest_config){ 0 };
	else if (e->config != NULL)
		*config = (struct digest_config){ true, e->config->max_timeout_ns, e->config->ack_timeout_ns,
						  e->config->max_list_size };
	else
		*config = (struct digest_config){ .wanted = true };
	return 0;
}
