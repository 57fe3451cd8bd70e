/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "control/control_private.h"
#include "proto/p4data.pb-c.h"

/* The Read call: entities, many of which a wildcard may name, in answers of a bounded size. */

enum {
	ANSWER_BYTES = 256 << 10, /* of one ReadResponse, and one entity more */
	QUEUED_MOST_BYTES = 512 << 20,
	ENTITIES_MOST = 65536, /* of one ReadRequest: each may stand for whole tables */
};

struct reading {
	struct control *control;
	struct pipeline *p;
	struct grpc_call *call;
	struct pool *pool; /* reset whenever an entity has been packed */
	uint8_t *buf;
	size_t used, capacity;
	bool failed; /* no memory */
	struct verdict *v;
};

static void flush(struct reading *r)
{
	uint8_t *out;

	if (r->used == 0)
		return;
	out = grpc_call_reserve(r->call, r->used);
	if (out != NULL) {
		memcpy(out, r->buf, r->used);
		grpc_call_commit(r->call);
	}
	r->used = 0;
}

/* One more entity of the answer; a ReadResponse is nothing but these, each behind its tag and length. */
static int add(struct reading *r, P4__V1__Entity__EntityCase which, void *message)
{
	P4__V1__Entity entity;
	size_t length;
	uint64_t rest;

	p4__v1__entity__init(&entity);
	entity.entity_case = which;
	entity.table_entry = message;
	length = message == NULL ? 0 : p4__v1__entity__get_packed_size(&entity);
	if (length + 16 > r->capacity - r->used) {
		size_t capacity = (size_t)2 * ANSWER_BYTES + length;
		uint8_t *grown = realloc(r->buf, r->used + capacity);

		if (grown == NULL)
			length = 0;
		else
			r->buf = grown, r->capacity = r->used + capacity;
	}
	if (length == 0) {
		r->failed = true;
		return verdict(r->v, GRPC_RESOURCE_EXHAUSTED, "out of memory");
	}
	r->buf[r->used++] = 1 << 3 | 2;
	for (rest = length; rest > 0x7f; rest >>= 7)
		r->buf[r->used++] = (uint8_t)(rest | 0x80);
	r->buf[r->used++] = (uint8_t)rest;
	r->used += p4__v1__entity__pack(&entity, r->buf + r->used);
	if (r->used >= ANSWER_BYTES)
		flush(r);
	pool_reset(r->pool);
	r->failed = grpc_call_queued_bytes(r->call) > QUEUED_MOST_BYTES;
	return r->failed ? verdict(r->v, GRPC_RESOURCE_EXHAUSTED, "more than the client takes: ask for less at once")
			 : 0;
}

/* --- table entries --- */

static bool wanted_entry(const struct reading *r, const P4__V1__TableEntry *want, const struct entry *e)
{
	const struct name_table *t = &r->p->names->tables[e->table];

	if (want->priority != 0 && e->priority != want->priority)
		return false;
	if (want->controller_metadata != 0 &&
	    (e->notes == NULL || e->notes->controller_metadata != want->controller_metadata))
		return false;
	if (want->metadata.len > 0 && (e->notes == NULL || e->notes->metadata_bytes != want->metadata.len ||
				       memcmp(e->notes->metadata, want->metadata.data, want->metadata.len) != 0))
		return false;
	if (want->action == NULL || want->action->type_case != P4__V1__TABLE_ACTION__TYPE_ACTION)
		return true;
	for (uint32_t i = 0; i < t->ref_count; i++)
		if (t->refs[i].id == want->action->action->action_id)
			return e->kind == ENTRY_ACTION && e->action.action == t->refs[i].action;
	return false;
}

static int add_entry(struct reading *r, const P4__V1__TableEntry *want, const struct entry *e)
{
	P4__V1__TableEntry *to = encode_table_entry(r->pool, r->p, e);
	P4__V1__TableEntry__IdleTimeout idle = P4__V1__TABLE_ENTRY__IDLE_TIMEOUT__INIT;
	struct meter_rates rates;
	struct counts counts;

	if (to != NULL && want->counter_data != NULL && entry_counts(e, &counts))
		to->counter_data = encode_counts(r->pool, &counts);
	if (to != NULL && want->meter_config != NULL && entry_meter(e, &rates))
		to->meter_config = encode_rates(r->pool, &rates);
	if (to != NULL && want->time_since_last_hit != NULL && r->control->config.now_us != NULL) {
		uint64_t now = r->control->config.now_us(r->control->config.context), last = entry_last_hit_us(e);

		idle.elapsed_ns = now > last ? (int64_t)(now - last) * 1000 : 0;
		to->time_since_last_hit = &idle;
	}
	return add(r, P4__V1__ENTITY__ENTITY_TABLE_ENTRY, to);
}

static int add_direct_counter(struct reading *r, const P4__V1__TableEntry *want, const struct entry *e)
{
	P4__V1__DirectCounterEntry to = P4__V1__DIRECT_COUNTER_ENTRY__INIT;
	struct counts counts;

	(void)want;
	if (!entry_counts(e, &counts))
		return 0;
	to.table_entry = encode_table_entry(r->pool, r->p, e);
	to.data = encode_counts(r->pool, &counts);
	return add(r, P4__V1__ENTITY__ENTITY_DIRECT_COUNTER_ENTRY, to.table_entry != NULL ? &to : NULL);
}

static int add_direct_meter(struct reading *r, const P4__V1__TableEntry *want, const struct entry *e)
{
	P4__V1__DirectMeterEntry to = P4__V1__DIRECT_METER_ENTRY__INIT;
	struct meter_rates rates;

	(void)want;
	if (r->p->names->tables[e->table].meter_id == 0)
		return 0;
	to.table_entry = encode_table_entry(r->pool, r->p, e);
	if (entry_meter(e, &rates))
		to.config = encode_rates(r->pool, &rates);
	return add(r, P4__V1__ENTITY__ENTITY_DIRECT_METER_ENTRY, to.table_entry != NULL ? &to : NULL);
}

typedef int (*add_fn)(struct reading *r, const P4__V1__TableEntry *want, const struct entry *e);

static int read_table(struct reading *r, const P4__V1__TableEntry *want, uint32_t table, add_fn add_one)
{
	struct entry_cursor cursor = { 0 };
	const struct entry *e;
	int rc = 0;

	while (rc == 0 && (e = table_next(r->p->state, table, &cursor)) != NULL)
		if (wanted_entry(r, want, e))
			rc = add_one(r, want, e);
	return rc;
}

/* `must`: one that is named and not there is an error. */
static int read_entries(struct reading *r, const P4__V1__TableEntry *want, add_fn add_one, bool must)
{
	uint32_t table = names_find(r->p->names, NAME_TABLE, want->table_id);
	const struct entry *e;
	struct key key;
	int rc = 0;

	if (want->table_id == 0) {
		static const P4__V1__TableEntry any = P4__V1__TABLE_ENTRY__INIT;
		P4__V1__TableEntry all = any; /* no filter but what to show */

		all.counter_data = want->counter_data;
		all.meter_config = want->meter_config;
		all.time_since_last_hit = want->time_since_last_hit;
		for (uint32_t t = 0; rc == 0 && t < r->p->program->table_count; t++) {
			if (r->p->names->tables[t].id == 0)
				continue;
			rc = want->is_default_action ? add_one(r, &all, table_default(r->p->state, t))
						     : read_table(r, &all, t, add_one);
		}
		return rc;
	}
	if (table == NOWHERE)
		return verdict(r->v, GRPC_NOT_FOUND, "there is no table %u", want->table_id);
	if (want->is_default_action)
		return add_one(r, want, table_default(r->p->state, table));
	if (want->n_match == 0)
		return read_table(r, want, table, add_one);
	if (decode_key(r->p, table, want, &key, r->v) < 0)
		return -1;
	e = table_find(r->p->state, table, &key.spec);
	if (e == NULL && must)
		return verdict(r->v, GRPC_NOT_FOUND, "table %s has no such entry", r->p->program->tables[table].name);
	return e != NULL && wanted_entry(r, want, e) ? add_one(r, want, e) : 0;
}

static int read_direct(struct reading *r, const P4__V1__TableEntry *want, add_fn add_one)
{
	static const P4__V1__TableEntry all = P4__V1__TABLE_ENTRY__INIT;

	return read_entries(r, want != NULL ? want : &all, add_one, true);
}

/* --- action profiles --- */

static int add_member(struct reading *r, uint32_t profile, const struct member *m)
{
	P4__V1__ActionProfileMember to = P4__V1__ACTION_PROFILE_MEMBER__INIT;

	to.action_profile_id = r->p->names->profiles[profile].id;
	to.member_id = member_id(m);
	to.action = encode_action(r->pool, r->p, r->p->names->profiles[profile].table, member_action(m));
	return add(r, P4__V1__ENTITY__ENTITY_ACTION_PROFILE_MEMBER, to.action != NULL ? &to : NULL);
}

static int add_group(struct reading *r, uint32_t profile, const struct group *g)
{
	P4__V1__ActionProfileGroup to = P4__V1__ACTION_PROFILE_GROUP__INIT;
	const struct group_member *members;
	uint32_t count = group_members(g, &members);

	to.action_profile_id = r->p->names->profiles[profile].id;
	to.group_id = group_id(g);
	to.max_size = (int32_t)group_max_size(g);
	to.members = pool_pointers(r->pool, count);
	for (uint32_t i = 0; to.members != NULL && i < count; i++) {
		P4__V1__ActionProfileGroup__Member *m = POOL_NEW(r->pool, P4__V1__ActionProfileGroup__Member,
								 P4__V1__ACTION_PROFILE_GROUP__MEMBER__INIT);
		uint64_t port = members[i].watch_port;

		if (m == NULL)
			return add(r, 0, NULL);
		m->member_id = members[i].member_id;
		m->weight = (int32_t)members[i].weight;
		if (members[i].watch_port != NOWHERE) {
			m->watch_kind_case = P4__V1__ACTION_PROFILE_GROUP__MEMBER__WATCH_KIND_WATCH_PORT;
			if (encode_value(r->pool, &port, 32, false, &m->watch_port) < 0)
				return add(r, 0, NULL);
		}
		to.members[to.n_members++] = m;
	}
	return add(r, P4__V1__ENTITY__ENTITY_ACTION_PROFILE_GROUP, to.members != NULL ? &to : NULL);
}

static int read_profiles(struct reading *r, uint32_t profile_id, uint32_t id, bool groups)
{
	const struct state *s = r->p->state;
	uint32_t only = names_find(r->p->names, NAME_PROFILE, profile_id);
	int rc = 0;

	if (profile_id != 0 && only == NOWHERE)
		return verdict(r->v, GRPC_NOT_FOUND, "there is no action profile %u", profile_id);
	for (uint32_t p = 0; rc == 0 && p < r->p->program->profile_count; p++) {
		uint32_t count = groups ? profile_group_count(s, p) : profile_member_count(s, p);

		if (profile_id != 0 ? p != only : r->p->names->profiles[p].id == 0)
			continue;
		for (uint32_t i = 0; rc == 0 && i < count; i++) {
			if (groups && (id == 0 || group_id(profile_group(s, p, i)) == id))
				rc = add_group(r, p, profile_group(s, p, i));
			else if (!groups && (id == 0 || member_id(profile_member(s, p, i)) == id))
				rc = add_member(r, p, profile_member(s, p, i));
		}
	}
	return rc;
}

/* --- arrays --- */

typedef int (*cell_fn)(struct reading *r, uint32_t array, uint32_t id, int64_t index);

static int add_counter(struct reading *r, uint32_t array, uint32_t id, int64_t index)
{
	P4__V1__CounterEntry to = P4__V1__COUNTER_ENTRY__INIT;
	P4__V1__Index at = P4__V1__INDEX__INIT;
	struct counts counts = { 0 };

	at.index = index;
	counter_get(r->p->state, array, (uint64_t)index, &counts);
	to.counter_id = id;
	to.index = &at;
	to.data = encode_counts(r->pool, &counts);
	return add(r, P4__V1__ENTITY__ENTITY_COUNTER_ENTRY, &to);
}

static int add_meter(struct reading *r, uint32_t array, uint32_t id, int64_t index)
{
	P4__V1__MeterEntry to = P4__V1__METER_ENTRY__INIT;
	P4__V1__Index at = P4__V1__INDEX__INIT;
	struct meter_rates rates;

	at.index = index;
	to.meter_id = id;
	to.index = &at;
	if (meter_get(r->p->state, array, (uint64_t)index, &rates))
		to.config = encode_rates(r->pool, &rates);
	return add(r, P4__V1__ENTITY__ENTITY_METER_ENTRY, &to);
}

static int add_register(struct reading *r, uint32_t array, uint32_t id, int64_t index)
{
	const struct p4_register *reg = &r->p->program->registers[array];
	bool is_signed = r->p->names->register_signed[array];
	P4__V1__RegisterEntry to = P4__V1__REGISTER_ENTRY__INIT;
	P4__V1__P4Data data;
	P4__V1__Index at = P4__V1__INDEX__INIT;
	uint64_t words[SLOTS_A_VALUE_MOST] = { 0 };

	p4__v1__p4_data__init(&data);
	at.index = index;
	to.register_id = id;
	to.index = &at;
	register_read(r->p->state, array, (uint64_t)index, words);
	words_extend(words, reg->bits, is_signed);
	data.data_case = P4__V1__P4_DATA__DATA_BITSTRING;
	if (encode_value(r->pool, words, reg->bits, is_signed, &data.bitstring) < 0)
		return add(r, 0, NULL);
	to.data.data = pool_alloc(r->pool, p4__v1__p4_data__get_packed_size(&data) + 1);
	if (to.data.data == NULL)
		return add(r, 0, NULL);
	to.data.len = p4__v1__p4_data__pack(&data, to.data.data);
	return add(r, P4__V1__ENTITY__ENTITY_REGISTER_ENTRY, &to);
}

static uint32_t array_size(const struct program *p, enum name_kind kind, uint32_t array)
{
	return kind == NAME_COUNTER ? p->counters[array].size
	       : kind == NAME_METER ? p->meters[array].size
				    : p->registers[array].size;
}

static int read_array(struct reading *r, enum name_kind kind, uint32_t array, uint32_t id, const P4__V1__Index *index,
		      cell_fn cell)
{
	uint32_t size = array_size(r->p->program, kind, array);
	int rc = 0;

	if (index == NULL) {
		for (uint32_t i = 0; rc == 0 && i < size; i++)
			rc = cell(r, array, id, i);
		return rc;
	}
	if (index->index < 0)
		return verdict(r->v, GRPC_INVALID_ARGUMENT, "an index of %lld", (long long)index->index);
	if (index->index >= (int64_t)size)
		return verdict(r->v, GRPC_OUT_OF_RANGE, "an index of %lld of %u cells", (long long)index->index, size);
	return cell(r, array, id, index->index);
}

static int read_arrays(struct reading *r, enum name_kind kind, const uint32_t *ids, uint32_t count, uint32_t id,
		       const P4__V1__Index *index, cell_fn cell)
{
	uint32_t only = names_find(r->p->names, kind, id);
	int rc = 0;

	if (id != 0 && only == NOWHERE)
		return verdict(r->v, GRPC_NOT_FOUND, "there is no array %u of this kind", id);
	if (id != 0)
		return read_array(r, kind, only, id, index, cell);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		if (ids[i] != 0)
			rc = read_array(r, kind, i, ids[i], NULL, cell);
	return rc;
}

/* --- replication, value sets, digests --- */

static int fill_replicas(struct reading *r, const struct replicas *from, size_t *ret_count,
			 P4__V1__Replica ***ret_replicas)
{
	P4__V1__Replica **to = pool_pointers(r->pool, from->count);

	if (to == NULL)
		return -1;
	for (uint32_t i = 0; i < from->count; i++) {
		uint64_t port = from->items[i].port;

		to[i] = POOL_NEW(r->pool, P4__V1__Replica, P4__V1__REPLICA__INIT);
		if (to[i] == NULL)
			return -1;
		to[i]->instance = from->items[i].instance;
		to[i]->port_kind_case =
			P4__V1__REPLICA__PORT_KIND_EGRESS_PORT; /* what clients of before 1.4 read too */
		to[i]->egress_port = (uint32_t)port;
	}
	*ret_count = from->count;
	*ret_replicas = to;
	return 0;
}

static int add_multicast(struct reading *r, uint32_t id)
{
	P4__V1__PacketReplicationEngineEntry to = P4__V1__PACKET_REPLICATION_ENGINE_ENTRY__INIT;
	P4__V1__MulticastGroupEntry group = P4__V1__MULTICAST_GROUP_ENTRY__INIT;
	const struct replicas *replicas = multicast_group(r->p->state, id);

	if (replicas == NULL)
		return verdict(r->v, GRPC_NOT_FOUND, "there is no multicast group %u", id);
	to.type_case = P4__V1__PACKET_REPLICATION_ENGINE_ENTRY__TYPE_MULTICAST_GROUP_ENTRY;
	to.multicast_group_entry = &group;
	group.multicast_group_id = id;
	if (fill_replicas(r, replicas, &group.n_replicas, &group.replicas) < 0)
		return add(r, 0, NULL);
	return add(r, P4__V1__ENTITY__ENTITY_PACKET_REPLICATION_ENGINE_ENTRY, &to);
}

static int add_clone(struct reading *r, uint32_t id)
{
	P4__V1__PacketReplicationEngineEntry to = P4__V1__PACKET_REPLICATION_ENGINE_ENTRY__INIT;
	P4__V1__CloneSessionEntry message = P4__V1__CLONE_SESSION_ENTRY__INIT;
	const struct clone_session *session = clone_session(r->p->state, id);

	if (session == NULL)
		return verdict(r->v, GRPC_NOT_FOUND, "there is no clone session %u", id);
	to.type_case = P4__V1__PACKET_REPLICATION_ENGINE_ENTRY__TYPE_CLONE_SESSION_ENTRY;
	to.clone_session_entry = &message;
	message.session_id = id;
	message.class_of_service = session->class_of_service;
	message.packet_length_bytes = (int32_t)session->length_bytes;
	if (fill_replicas(r, session->replicas, &message.n_replicas, &message.replicas) < 0)
		return add(r, 0, NULL);
	return add(r, P4__V1__ENTITY__ENTITY_PACKET_REPLICATION_ENGINE_ENTRY, &to);
}

static int read_replication(struct reading *r, const P4__V1__PacketReplicationEngineEntry *want)
{
	const struct state *s = r->p->state;
	bool any = want->type_case == P4__V1__PACKET_REPLICATION_ENGINE_ENTRY__TYPE__NOT_SET;
	int rc = 0;

	if (any || want->type_case == P4__V1__PACKET_REPLICATION_ENGINE_ENTRY__TYPE_MULTICAST_GROUP_ENTRY) {
		if (!any && want->multicast_group_entry->multicast_group_id != 0)
			return add_multicast(r, want->multicast_group_entry->multicast_group_id);
		for (uint32_t i = 0; rc == 0 && i < multicast_count(s); i++)
			rc = add_multicast(r, multicast_id(s, i));
	}
	if (any || want->type_case == P4__V1__PACKET_REPLICATION_ENGINE_ENTRY__TYPE_CLONE_SESSION_ENTRY) {
		if (!any && want->clone_session_entry->session_id != 0)
			return add_clone(r, want->clone_session_entry->session_id);
		for (uint32_t i = 0; rc == 0 && i < clone_count(s); i++)
			rc = add_clone(r, clone_id(s, i));
	}
	return rc;
}

static P4__V1__ValueSetMember *set_member(struct reading *r, uint32_t set, const uint64_t *item)
{
	const struct name_value_set *names = &r->p->names->value_sets[set];
	const struct p4_select *select = &r->p->program->selects[r->p->program->value_sets[set].select];
	P4__V1__ValueSetMember *to = POOL_NEW(r->pool, P4__V1__ValueSetMember, P4__V1__VALUE_SET_MEMBER__INIT);

	if (to == NULL || (to->match = pool_pointers(r->pool, names->field_count)) == NULL)
		return NULL;
	for (uint32_t k = 0; k < names->field_count; k++) {
		const uint64_t *value = item + select->word[k], *mask = value + select->words;
		uint32_t prefix = 0;
		bool dont_care;
		P4__V1__FieldMatch *f;

		for (uint32_t w = 0; w < (select->key_bits[k] + 63) / 64; w++)
			prefix += (uint32_t)__builtin_popcountll(mask[w]);
		f = encode_field(r->pool, names->field_ids[k], (enum match_kind)names->kinds[k], select->key_bits[k],
				 value, mask, prefix, &dont_care);
		if (f == NULL)
			return NULL;
		if (!dont_care)
			to->match[to->n_match++] = f;
	}
	return to;
}

static int add_value_set(struct reading *r, uint32_t set)
{
	P4__V1__ValueSetEntry to = P4__V1__VALUE_SET_ENTRY__INIT;
	const struct value_set_view *view = value_set_get(r->p->state, set);
	uint32_t count = view != NULL ? view->count : 0;

	to.value_set_id = r->p->names->value_sets[set].id;
	to.members = pool_pointers(r->pool, count);
	for (uint32_t i = 0; to.members != NULL && i < count; i++) {
		to.members[i] = set_member(r, set, view->items + (size_t)i * 2 * view->words);
		if (to.members[i] == NULL)
			return add(r, 0, NULL);
		to.n_members++;
	}
	return add(r, P4__V1__ENTITY__ENTITY_VALUE_SET_ENTRY, to.members != NULL ? &to : NULL);
}

static int read_value_sets(struct reading *r, uint32_t id)
{
	uint32_t only = names_find(r->p->names, NAME_VALUE_SET, id);
	int rc = 0;

	if (id != 0 && only == NOWHERE)
		return verdict(r->v, GRPC_NOT_FOUND, "there is no value set %u", id);
	for (uint32_t i = 0; rc == 0 && i < r->p->program->value_set_count; i++)
		if (id != 0 ? i == only : r->p->names->value_sets[i].id != 0)
			rc = add_value_set(r, i);
	return rc;
}

static int read_digests(struct reading *r, uint32_t id)
{
	uint32_t only = names_find(r->p->names, NAME_DIGEST, id);
	int rc = 0;

	if (id != 0 && only == NOWHERE)
		return verdict(r->v, GRPC_NOT_FOUND, "there is no digest %u", id);
	for (uint32_t i = 0; rc == 0 && i < r->p->program->learn_list_count; i++) {
		P4__V1__DigestEntry to = P4__V1__DIGEST_ENTRY__INIT;
		P4__V1__DigestEntry__Config config = P4__V1__DIGEST_ENTRY__CONFIG__INIT;
		const struct digest_config *now = &r->p->digests[i];

		if (!now->wanted || (id != 0 && i != only))
			continue;
		config.max_timeout_ns = now->max_timeout_ns;
		config.max_list_size = now->max_list_size;
		config.ack_timeout_ns = now->ack_timeout_ns;
		to.digest_id = r->p->names->digests[i].id;
		to.config = &config;
		rc = add(r, P4__V1__ENTITY__ENTITY_DIGEST_ENTRY, &to);
	}
	return rc;
}

/* --- the call --- */

static int read_entity(struct reading *r, const P4__V1__Entity *e)
{
	const struct names *n = r->p->names;
	const struct program *p = r->p->program;

	switch (e->entity_case) {
	case P4__V1__ENTITY__ENTITY_TABLE_ENTRY:
		return read_entries(r, e->table_entry, add_entry, false);
	case P4__V1__ENTITY__ENTITY_DIRECT_COUNTER_ENTRY:
		return read_direct(r, e->direct_counter_entry->table_entry, add_direct_counter);
	case P4__V1__ENTITY__ENTITY_DIRECT_METER_ENTRY:
		return read_direct(r, e->direct_meter_entry->table_entry, add_direct_meter);
	case P4__V1__ENTITY__ENTITY_ACTION_PROFILE_MEMBER:
		return read_profiles(r, e->action_profile_member->action_profile_id,
				     e->action_profile_member->member_id, false);
	case P4__V1__ENTITY__ENTITY_ACTION_PROFILE_GROUP:
		return read_profiles(r, e->action_profile_group->action_profile_id, e->action_profile_group->group_id,
				     true);
	case P4__V1__ENTITY__ENTITY_COUNTER_ENTRY:
		return read_arrays(r, NAME_COUNTER, n->counter_ids, p->counter_count, e->counter_entry->counter_id,
				   e->counter_entry->index, add_counter);
	case P4__V1__ENTITY__ENTITY_METER_ENTRY:
		return read_arrays(r, NAME_METER, n->meter_ids, p->meter_count, e->meter_entry->meter_id,
				   e->meter_entry->index, add_meter);
	case P4__V1__ENTITY__ENTITY_REGISTER_ENTRY:
		return read_arrays(r, NAME_REGISTER, n->register_ids, p->register_count, e->register_entry->register_id,
				   e->register_entry->index, add_register);
	case P4__V1__ENTITY__ENTITY_PACKET_REPLICATION_ENGINE_ENTRY:
		return read_replication(r, e->packet_replication_engine_entry);
	case P4__V1__ENTITY__ENTITY_VALUE_SET_ENTRY:
		return read_value_sets(r, e->value_set_entry->value_set_id);
	case P4__V1__ENTITY__ENTITY_DIGEST_ENTRY:
		return read_digests(r, e->digest_entry->digest_id);
	case P4__V1__ENTITY__ENTITY_EXTERN_ENTRY:
		return 0; /* there are none */
	default:
		return verdict(r->v, GRPC_INVALID_ARGUMENT, "an entity that is empty");
	}
}

/* Each entity asked for has its verdict, as in Write; what could be read is sent all the same. */
static void serve(struct control *c, struct grpc_call *call, const P4__V1__ReadRequest *q, struct pool *pool)
{
	struct verdict *verdicts = calloc(q->n_entities + 1, sizeof(*verdicts));
	struct reading r = { .control = c, .p = current_pipeline(c), .call = call, .pool = pool };
	static const char message[] = "one or more entities could not be read";
	size_t failed = 0;

	if (verdicts == NULL || q->n_entities > ENTITIES_MOST) {
		free(verdicts);
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many entities in one request", NULL, 0);
		return;
	}
	for (size_t i = 0; i < q->n_entities && !r.failed; i++) {
		r.v = &verdicts[i];
		failed += read_entity(&r, q->entities[i]) < 0;
	}
	flush(&r);
	if (failed > 0) {
		size_t limit = grpc_call_details_limit(call);
		uint8_t *details = malloc(limit + 1);
		size_t length = details == NULL ? 0 : verdicts_pack(verdicts, q->n_entities, message, details, limit);

		grpc_call_finish(call, GRPC_UNKNOWN, message, details, length);
		free(details);
	} else {
		grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
	}
	free(r.buf);
	free(verdicts);
}

void read_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	struct control *c = grpc_call_context(call);
	const P4__V1__ReadRequest *q = p4__v1__read_request__unpack(&c->pool.allocator, length, data);
	struct verdict v;
	struct pool pool; /* of the answer: the request must outlive each entity of it */

	c->counters.reads++;
	if (q == NULL) {
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT, "not a ReadRequest, or one that asks for too much memory",
				 NULL, 0);
	} else if (check_device(c, q->device_id, &v) < 0) {
		answer_verdict(call, &v);
	} else if (current_pipeline(c) == NULL) {
		grpc_call_finish(call, GRPC_FAILED_PRECONDITION, "no forwarding pipeline has been set", NULL, 0);
	} else if (pool_init(&pool) < 0) {
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory", NULL, 0);
	} else {
		serve(c, call, q, &pool);
		pool_release(&pool);
	}
	control_collect(c);
}
