/* SPDX-License-Identifier: Apache-2.0 */
#include "control/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/p4info.pb-c.h"

typedef P4__Config__V1__P4Info Info;
typedef P4__Config__V1__Preamble Preamble;

enum { P4INFO_MOST_BYTES = 128 << 20 }; /* unpacked; a small message can ask for much */

struct maker {
	struct names *n;
	const Info *info;
	struct err *err;
};

/* --- ids --- */

static uint32_t id_start(const struct names *n, uint32_t id)
{
	return (id * UINT32_C(0x9e3779b1)) >> 7 & n->slot_mask;
}

static struct name_slot *slot_of(const struct names *n, uint32_t id)
{
	uint32_t i = id_start(n, id);

	while (n->slots[i].kind != NAME_NONE && n->slots[i].id != id)
		i = (i + 1) & n->slot_mask;
	return &n->slots[i];
}

uint32_t names_find(const struct names *names, enum name_kind kind, uint32_t id)
{
	const struct name_slot *slot = slot_of(names, id);

	return slot->kind == kind ? slot->index : NOWHERE;
}

enum name_kind names_kind(const struct names *names, uint32_t id)
{
	return slot_of(names, id)->kind;
}

static int no_memory(struct maker *m)
{
	return err_set(m->err, ERR_HOST, ENOMEM, "p4info: out of memory");
}

static int refuse(struct maker *m, const char *what, const char *name, const char *why)
{
	return err_set(m->err, ERR_USAGE, EINVAL, "p4info: %s '%s' %s", what, name, why);
}

static int check_preamble(struct maker *m, const char *what, const Preamble *p)
{
	if (p == NULL || p->id == 0)
		return refuse(m, what, p != NULL ? p->name : "", "has no id");
	return 0;
}

static int add_id(struct maker *m, const char *what, const Preamble *p, enum name_kind kind, uint32_t index)
{
	struct name_slot *slot = slot_of(m->n, p->id);

	if (slot->kind != NAME_NONE)
		return refuse(m, what, p->name, "has an id that something else has");
	*slot = (struct name_slot){ p->id, index, kind };
	return 0;
}

/* --- actions --- */

static int make_action(struct maker *m, const P4__Config__V1__Action *a, struct name_action *to)
{
	int rc = check_preamble(m, "action", a->preamble);

	if (rc < 0)
		return rc;
	to->id = a->preamble->id;
	to->name = arena_strdup(&m->n->arena, a->preamble->name);
	to->param_count = (uint32_t)a->n_params;
	to->param_ids = arena_array(&m->n->arena, a->n_params + 1, sizeof(*to->param_ids));
	to->param_bits = arena_array(&m->n->arena, a->n_params + 1, sizeof(*to->param_bits));
	if (to->name == NULL || to->param_ids == NULL || to->param_bits == NULL)
		return no_memory(m);
	for (size_t i = 0; i < a->n_params; i++) {
		to->param_ids[i] = a->params[i]->id;
		to->param_bits[i] = (uint32_t)a->params[i]->bitwidth;
	}
	return add_id(m, "action", a->preamble, NAME_ACTION, (uint32_t)(to - m->n->actions));
}

static int make_actions(struct maker *m)
{
	int rc = 0;

	m->n->action_count = (uint32_t)m->info->n_actions;
	m->n->actions = arena_array(&m->n->arena, m->info->n_actions + 1, sizeof(*m->n->actions));
	if (m->n->actions == NULL)
		return no_memory(m);
	for (size_t i = 0; rc == 0 && i < m->info->n_actions; i++)
		rc = make_action(m, m->info->actions[i], &m->n->actions[i]);
	return rc;
}

/* Does the program's action take what P4Info says? */
static int check_params(struct maker *m, const struct name_action *have, const struct p4_action *want)
{
	if (have->param_count != want->param_count)
		return err_set(m->err, ERR_USAGE, EINVAL, "p4info: action '%s' has %u parameters, in the program %u",
			       have->name, have->param_count, want->param_count);
	for (uint32_t i = 0; i < have->param_count; i++) {
		if (have->param_bits[i] != want->params[i].bits)
			return err_set(m->err, ERR_USAGE, EINVAL,
				       "p4info: parameter %u of action '%s' is %u bits wide, in the program %u", i + 1,
				       have->name, have->param_bits[i], want->params[i].bits);
	}
	return 0;
}

/* --- tables --- */

static uint32_t find_table(const struct program *p, const char *name)
{
	for (uint32_t i = 0; i < p->table_count; i++)
		if (strcmp(p->tables[i].name, name) == 0)
			return i;
	return NOWHERE;
}

static int make_ref(struct maker *m, const struct p4_table *table, const P4__Config__V1__ActionRef *ref,
		    struct name_action_ref *to)
{
	uint32_t at = names_find(m->n, NAME_ACTION, ref->id);
	const struct name_action *action;

	if (at == NOWHERE)
		return err_set(m->err, ERR_USAGE, EINVAL, "p4info: table '%s' refers to action %u, which there is not",
			       table->name, ref->id);
	action = &m->n->actions[at];
	*to = (struct name_action_ref){ ref->id, NOWHERE, SCOPE_BOTH };
	if (ref->scope == P4__CONFIG__V1__ACTION_REF__SCOPE__TABLE_ONLY)
		to->scope = SCOPE_TABLE_ONLY;
	else if (ref->scope == P4__CONFIG__V1__ACTION_REF__SCOPE__DEFAULT_ONLY)
		to->scope = SCOPE_DEFAULT_ONLY;
	for (uint32_t i = 0; i < table->action_count; i++)
		if (strcmp(m->n->program->actions[table->actions[i]].name, action->name) == 0)
			to->action = table->actions[i];
	if (to->action == NOWHERE)
		return err_set(m->err, ERR_USAGE, EINVAL, "p4info: table '%s' has no action '%s' in the program",
			       table->name, action->name);
	return check_params(m, action, &m->n->program->actions[to->action]);
}

static const char *const kind_names[] = { "EXACT", "LPM", "TERNARY", "RANGE", "OPTIONAL" };

static enum match_kind kind_of(const P4__Config__V1__MatchField *f)
{
	if (f->match_case != P4__CONFIG__V1__MATCH_FIELD__MATCH_MATCH_TYPE)
		return MATCH_KINDS;
	switch (f->match_type) {
	case P4__CONFIG__V1__MATCH_FIELD__MATCH_TYPE__EXACT:
		return MATCH_EXACT;
	case P4__CONFIG__V1__MATCH_FIELD__MATCH_TYPE__LPM:
		return MATCH_LPM;
	case P4__CONFIG__V1__MATCH_FIELD__MATCH_TYPE__TERNARY:
		return MATCH_TERNARY;
	case P4__CONFIG__V1__MATCH_FIELD__MATCH_TYPE__RANGE:
		return MATCH_RANGE;
	case P4__CONFIG__V1__MATCH_FIELD__MATCH_TYPE__OPTIONAL:
		return MATCH_OPTIONAL;
	default:
		return MATCH_KINDS;
	}
}

static int check_field(struct maker *m, const struct p4_table *table, const P4__Config__V1__MatchField *f,
		       const struct p4_key *key)
{
	if (kind_of(f) != key->kind && !(kind_of(f) == MATCH_OPTIONAL && key->kind == MATCH_TERNARY))
		return err_set(m->err, ERR_USAGE, EINVAL,
			       "p4info: field '%s' of table '%s' is not %s, as the program's is", f->name, table->name,
			       kind_names[key->kind]);
	if ((uint32_t)f->bitwidth != key->bits)
		return err_set(m->err, ERR_USAGE, EINVAL,
			       "p4info: field '%s' of table '%s' is %d bits wide, in the program %u", f->name,
			       table->name, f->bitwidth, key->bits);
	return 0;
}

static int make_fields(struct maker *m, const P4__Config__V1__Table *t, const struct p4_table *table,
		       struct name_table *to)
{
	int rc = 0;

	if (t->n_match_fields != table->key_count)
		return err_set(m->err, ERR_USAGE, EINVAL, "p4info: table '%s' has %zu match fields, in the program %u",
			       table->name, t->n_match_fields, table->key_count);
	to->field_ids = arena_array(&m->n->arena, t->n_match_fields + 1, sizeof(*to->field_ids));
	to->kinds = arena_array(&m->n->arena, t->n_match_fields + 1, sizeof(*to->kinds));
	if (to->field_ids == NULL || to->kinds == NULL)
		return no_memory(m);
	for (size_t i = 0; rc == 0 && i < t->n_match_fields; i++) {
		to->field_ids[i] = t->match_fields[i]->id;
		to->kinds[i] = (uint32_t)kind_of(t->match_fields[i]);
		rc = check_field(m, table, t->match_fields[i], &table->keys[i]);
	}
	return rc;
}

static int make_table(struct maker *m, const P4__Config__V1__Table *t)
{
	int rc = check_preamble(m, "table", t->preamble);
	uint32_t index = rc < 0 ? NOWHERE : find_table(m->n->program, t->preamble->name);
	const struct p4_table *table;
	struct name_table *to;

	if (rc < 0)
		return rc;
	if (index == NOWHERE)
		return refuse(m, "table", t->preamble->name, "is not in the program");
	table = &m->n->program->tables[index];
	to = &m->n->tables[index];
	if (to->id != 0)
		return refuse(m, "table", t->preamble->name, "is there twice");
	to->id = t->preamble->id;
	to->is_const = t->is_const_table;
	to->with_priority = table->match == TABLE_TERNARY || table->match == TABLE_RANGE;
	to->with_timeout = t->idle_timeout_behavior != P4__CONFIG__V1__TABLE__IDLE_TIMEOUT_BEHAVIOR__NO_TIMEOUT;
	rc = add_id(m, "table", t->preamble, NAME_TABLE, index);
	if (rc == 0)
		rc = make_fields(m, t, table, to);
	if (rc < 0)
		return rc;
	if ((t->implementation_id != 0) != (table->profile != NOWHERE))
		return refuse(m, "table", table->name, "has an action profile in only one of P4Info and program");
	to->refs = arena_array(&m->n->arena, t->n_action_refs + 1, sizeof(*to->refs));
	if (to->refs == NULL)
		return no_memory(m);
	for (size_t i = 0; rc == 0 && i < t->n_action_refs; i++)
		rc = make_ref(m, table, t->action_refs[i], &to->refs[to->ref_count++]);
	return rc;
}

/* --- arrays and the rest: found by name --- */

/* A list of the program's: its names lie at a stride. */
struct named {
	const void *items;
	uint32_t count;
	size_t stride; /* the name is each item's first member */
};

static uint32_t find_named(struct named list, const char *name)
{
	for (uint32_t i = 0; i < list.count; i++) {
		const char *const *item = (const void *)((const char *)list.items + i * list.stride);

		if (strcmp(*item, name) == 0)
			return i;
	}
	return NOWHERE;
}

static int add_named(struct maker *m, const char *what, const Preamble *p, enum name_kind kind, struct named list,
		     uint32_t *ret_index)
{
	int rc = check_preamble(m, what, p);

	if (rc < 0)
		return rc;
	*ret_index = find_named(list, p->name);
	if (*ret_index == NOWHERE)
		return refuse(m, what, p->name, "is not in the program");
	return add_id(m, what, p, kind, *ret_index);
}

static int check_size(struct maker *m, const char *what, const char *name, int64_t have, uint32_t want)
{
	if (have == (int64_t)want)
		return 0;
	return err_set(m->err, ERR_USAGE, EINVAL, "p4info: %s '%s' has size %lld, in the program %u", what, name,
		       (long long)have, want);
}

static int make_counters(struct maker *m)
{
	const struct program *p = m->n->program;
	struct named list = { p->counters, p->counter_count, sizeof(*p->counters) };
	uint32_t i = NOWHERE;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < m->info->n_counters; k++) {
		const P4__Config__V1__Counter *c = m->info->counters[k];

		rc = add_named(m, "counter", c->preamble, NAME_COUNTER, list, &i);
		if (rc == 0)
			rc = check_size(m, "counter", c->preamble->name, c->size, p->counters[i].size);
		if (rc == 0)
			m->n->counter_ids[i] = c->preamble->id;
	}
	for (size_t k = 0; rc == 0 && k < m->info->n_direct_counters; k++) {
		const P4__Config__V1__DirectCounter *c = m->info->direct_counters[k];
		uint32_t table = names_find(m->n, NAME_TABLE, c->direct_table_id);

		rc = check_preamble(m, "direct counter", c->preamble);
		if (rc == 0 && (table == NOWHERE || !p->tables[table].with_counters))
			rc = refuse(m, "direct counter", c->preamble->name, "belongs to a table without counters");
		if (rc == 0)
			rc = add_id(m, "direct counter", c->preamble, NAME_DIRECT_COUNTER, table);
		if (rc == 0)
			m->n->tables[table].counter_id = c->preamble->id;
	}
	return rc;
}

static int make_meters(struct maker *m)
{
	const struct program *p = m->n->program;
	struct named list = { p->meters, p->meter_count, sizeof(*p->meters) };
	uint32_t i = NOWHERE;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < m->info->n_meters; k++) {
		const P4__Config__V1__Meter *c = m->info->meters[k];

		rc = add_named(m, "meter", c->preamble, NAME_METER, list, &i);
		if (rc == 0)
			rc = check_size(m, "meter", c->preamble->name, c->size, p->meters[i].size);
		if (rc == 0)
			m->n->meter_ids[i] = c->preamble->id;
	}
	for (size_t k = 0; rc == 0 && k < m->info->n_direct_meters; k++) {
		const P4__Config__V1__DirectMeter *c = m->info->direct_meters[k];
		uint32_t table = names_find(m->n, NAME_TABLE, c->direct_table_id);

		rc = check_preamble(m, "direct meter", c->preamble);
		if (rc == 0 && (table == NOWHERE || p->tables[table].meter == NOWHERE))
			rc = refuse(m, "direct meter", c->preamble->name, "belongs to a table without a meter");
		if (rc == 0)
			rc = add_id(m, "direct meter", c->preamble, NAME_DIRECT_METER, table);
		if (rc == 0)
			m->n->tables[table].meter_id = c->preamble->id;
	}
	return rc;
}

static int make_registers(struct maker *m)
{
	const struct program *p = m->n->program;
	struct named list = { p->registers, p->register_count, sizeof(*p->registers) };
	uint32_t i = NOWHERE;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < m->info->n_registers; k++) {
		const P4__Config__V1__Register *c = m->info->registers[k];

		rc = add_named(m, "register", c->preamble, NAME_REGISTER, list, &i);
		if (rc == 0)
			rc = check_size(m, "register", c->preamble->name, c->size, p->registers[i].size);
		if (rc == 0)
			m->n->register_ids[i] = c->preamble->id;
		if (rc == 0) /* a P4DataTypeSpec: bitstring (1) of int (2) */
			m->n->register_signed[i] = p->registers[i].is_signed ||
						   (c->type_spec.len > 2 && c->type_spec.data[0] == (1 << 3 | 2) &&
						    c->type_spec.data[2] == (2 << 3 | 2));
	}
	return rc;
}

static int make_profiles(struct maker *m)
{
	const struct program *p = m->n->program;
	struct named list = { p->profiles, p->profile_count, sizeof(*p->profiles) };
	uint32_t i = NOWHERE;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < m->info->n_action_profiles; k++) {
		const P4__Config__V1__ActionProfile *c = m->info->action_profiles[k];

		rc = add_named(m, "action profile", c->preamble, NAME_PROFILE, list, &i);
		if (rc < 0)
			break;
		if (c->with_selector != p->profiles[i].with_selector)
			rc = refuse(m, "action profile", c->preamble->name,
				    "has a selector in only one of P4Info and program");
		m->n->profiles[i].id = c->preamble->id;
		m->n->profiles[i].max_group_size = c->max_group_size > 0 ? (uint32_t)c->max_group_size : 0;
	}
	for (uint32_t t = 0; t < p->table_count; t++)
		if (p->tables[t].profile != NOWHERE)
			m->n->profiles[p->tables[t].profile].table = t;
	return rc;
}

static int make_value_set(struct maker *m, const P4__Config__V1__ValueSet *c)
{
	const struct program *p = m->n->program;
	struct named list = { p->value_sets, p->value_set_count, sizeof(*p->value_sets) };
	const struct p4_select *select;
	struct name_value_set *to;
	uint32_t i = NOWHERE;
	int rc = add_named(m, "value set", c->preamble, NAME_VALUE_SET, list, &i);

	if (rc < 0)
		return rc;
	to = &m->n->value_sets[i];
	to->id = c->preamble->id;
	to->size = c->size > 0 ? (uint32_t)c->size : 0;
	to->field_count = (uint32_t)c->n_match;
	to->field_ids = arena_array(&m->n->arena, c->n_match + 1, sizeof(*to->field_ids));
	to->kinds = arena_array(&m->n->arena, c->n_match + 1, sizeof(*to->kinds));
	if (to->field_ids == NULL || to->kinds == NULL)
		return no_memory(m);
	if (p->value_sets[i].select == NOWHERE)
		return 0; /* no state asks: nothing to fit */
	select = &p->selects[p->value_sets[i].select];
	if (select->key_count != c->n_match)
		return refuse(m, "value set", c->preamble->name, "has another number of fields than its select");
	for (size_t k = 0; k < c->n_match; k++) {
		enum match_kind kind = kind_of(c->match[k]);

		if (kind == MATCH_KINDS || kind == MATCH_RANGE)
			return refuse(m, "value set", c->preamble->name,
				      "matches neither EXACT, LPM, TERNARY nor OPTIONAL");
		if ((uint32_t)c->match[k]->bitwidth != select->key_bits[k])
			return refuse(m, "value set", c->preamble->name,
				      "has a field of another width than its select");
		to->field_ids[k] = c->match[k]->id;
		to->kinds[k] = (uint32_t)kind;
	}
	return 0;
}

/* The first field number of a P4DataTypeSpec says what it is: 3 a tuple, 4 a struct. */
static enum digest_shape shape_of(const ProtobufCBinaryData *spec)
{
	uint8_t field = spec->len > 0 ? spec->data[0] >> 3 : 0;

	return field == 3 ? DIGEST_TUPLE : field == 4 ? DIGEST_STRUCT : DIGEST_BITS;
}

static int make_digest(struct maker *m, const P4__Config__V1__Digest *c)
{
	const struct program *p = m->n->program;
	struct named list = { p->learn_lists, p->learn_list_count, sizeof(*p->learn_lists) };
	uint32_t i = NOWHERE;
	int rc = add_named(m, "digest", c->preamble, NAME_DIGEST, list, &i);

	if (rc < 0)
		return rc;
	m->n->digests[i].id = c->preamble->id;
	m->n->digests[i].shape = shape_of(&c->type_spec);
	if (m->n->digests[i].shape == DIGEST_BITS && p->learn_lists[i].item_count != 1)
		m->n->digests[i].shape = DIGEST_STRUCT;
	return 0;
}

static int make_packet_header(struct maker *m, const P4__Config__V1__ControllerPacketMetadata *c)
{
	struct name_packet_header *to;
	uint64_t bits = 0;

	if (c->preamble == NULL)
		return refuse(m, "controller packet metadata", "", "has no name");
	if (strcmp(c->preamble->name, "packet_in") == 0)
		to = &m->n->packet_in;
	else if (strcmp(c->preamble->name, "packet_out") == 0)
		to = &m->n->packet_out;
	else
		return refuse(m, "controller packet metadata", c->preamble->name,
			      "is neither packet_in nor packet_out");
	to->ids = arena_array(&m->n->arena, c->n_metadata + 1, sizeof(*to->ids));
	to->bits = arena_array(&m->n->arena, c->n_metadata + 1, sizeof(*to->bits));
	if (to->ids == NULL || to->bits == NULL)
		return no_memory(m);
	for (size_t i = 0; i < c->n_metadata; i++) {
		if (c->metadata[i]->bitwidth <= 0 || c->metadata[i]->bitwidth > SLOTS_A_VALUE_MOST * 64)
			return refuse(m, "controller packet metadata", c->metadata[i]->name, "has no width");
		to->ids[i] = c->metadata[i]->id;
		to->bits[i] = (uint32_t)c->metadata[i]->bitwidth;
		bits += to->bits[i];
	}
	if (bits > UINT64_C(8) * 4096)
		return refuse(m, "controller packet metadata", c->preamble->name, "is longer than 4096 bytes");
	to->count = (uint32_t)c->n_metadata;
	to->bytes = (uint32_t)((bits + 7) / 8);
	return 0;
}

/* --- all --- */

static int make_room(struct maker *m)
{
	const struct program *p = m->n->program;
	struct names *n = m->n;
	const Info *f = m->info;
	size_t ids = f->n_tables + f->n_actions + f->n_action_profiles + f->n_counters + f->n_direct_counters +
		     f->n_meters + f->n_direct_meters + f->n_value_sets + f->n_registers + f->n_digests;
	uint32_t slots = 16;

	while (slots < 2 * ids + 2)
		slots *= 2;
	n->slot_mask = slots - 1;
	n->slots = arena_array(&n->arena, slots, sizeof(*n->slots));
	n->tables = arena_array(&n->arena, p->table_count + 1, sizeof(*n->tables));
	n->profiles = arena_array(&n->arena, p->profile_count + 1, sizeof(*n->profiles));
	n->counter_ids = arena_array(&n->arena, p->counter_count + 1, sizeof(*n->counter_ids));
	n->meter_ids = arena_array(&n->arena, p->meter_count + 1, sizeof(*n->meter_ids));
	n->register_ids = arena_array(&n->arena, p->register_count + 1, sizeof(*n->register_ids));
	n->register_signed = arena_array(&n->arena, p->register_count + 1, sizeof(*n->register_signed));
	n->value_sets = arena_array(&n->arena, p->value_set_count + 1, sizeof(*n->value_sets));
	n->digests = arena_array(&n->arena, p->learn_list_count + 1, sizeof(*n->digests));
	return n->slots == NULL || n->tables == NULL || n->profiles == NULL || n->counter_ids == NULL ||
			       n->meter_ids == NULL || n->register_ids == NULL || n->register_signed == NULL ||
			       n->value_sets == NULL || n->digests == NULL
		       ? no_memory(m)
		       : 0;
}

static int make_all(struct maker *m)
{
	const Info *f = m->info;
	int rc = make_room(m);

	if (rc == 0)
		rc = make_actions(m);
	for (size_t i = 0; rc == 0 && i < f->n_tables; i++)
		rc = make_table(m, f->tables[i]);
	if (rc == 0)
		rc = make_counters(m);
	if (rc == 0)
		rc = make_meters(m);
	if (rc == 0)
		rc = make_registers(m);
	if (rc == 0)
		rc = make_profiles(m);
	for (size_t i = 0; rc == 0 && i < f->n_value_sets; i++)
		rc = make_value_set(m, f->value_sets[i]);
	for (size_t i = 0; rc == 0 && i < f->n_digests; i++)
		rc = make_digest(m, f->digests[i]);
	for (size_t i = 0; rc == 0 && i < f->n_controller_packet_metadata; i++)
		rc = make_packet_header(m, f->controller_packet_metadata[i]);
	return rc;
}

static void *arena_take(void *data, size_t size)
{
	return arena_alloc(data, size);
}

static void arena_drop(void *data, void *object)
{
	(void)data;
	(void)object;
}

int names_create(const uint8_t *p4info, size_t length, const struct program *program, struct names **ret_names,
		 struct err *err)
{
	struct arena unpacked;
	ProtobufCAllocator allocator = { arena_take, arena_drop, &unpacked };
	struct maker m = { .err = err };
	int rc;

	arena_init(&unpacked, P4INFO_MOST_BYTES);
	m.info = p4__config__v1__p4_info__unpack(&allocator, length, p4info);
	m.n = calloc(1, sizeof(*m.n));
	if (m.info == NULL) {
		rc = err_set(err, ERR_USAGE, EINVAL, "p4info: %zu bytes that are not a P4Info message", length);
	} else if (m.n == NULL) {
		rc = no_memory(&m);
	} else {
		arena_init(&m.n->arena, 0);
		m.n->program = program;
		rc = make_all(&m);
	}
	arena_release(&unpacked);
	if (rc < 0) {
		names_destroy(m.n);
		return rc;
	}
	*ret_names = m.n;
	return 0;
}

void names_destroy(struct names *names)
{
	if (names == NULL)
		return;
	arena_release(&names->arena);
	free(names);
}
