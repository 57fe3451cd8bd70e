/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "control/control_private.h"

/* From what tables/ hold to messages. Every function answers NULL without memory; messages are the pool's. */

int encode_value(struct pool *pool, const uint64_t *words, uint32_t bits, bool is_signed, ProtobufCBinaryData *ret)
{
	ret->data = pool_alloc(pool, (bits + 7) / 8 + 1);
	if (ret->data == NULL)
		return -ENOMEM;
	ret->len =
		is_signed ? bytes_from_signed_words(words, bits, ret->data) : bytes_from_words(words, bits, ret->data);
	return 0;
}

static bool is_full(const uint64_t *words, uint32_t bits)
{
	for (uint32_t i = 0; i < (bits + 63) / 64; i++) {
		uint64_t all = bits - i * 64 >= 64 ? UINT64_MAX : (UINT64_C(1) << (bits - i * 64)) - 1;

		if (words[i] != all)
			return false;
	}
	return true;
}

static bool is_zero(const uint64_t *words, uint32_t bits)
{
	for (uint32_t i = 0; i < (bits + 63) / 64; i++)
		if (words[i] != 0)
			return false;
	return true;
}

static uint32_t prefix_of(const uint64_t *mask, uint32_t bits)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < (bits + 63) / 64; i++)
		n += (uint32_t)__builtin_popcountll(mask[i]);
	return n;
}

static int fill_pair(struct pool *pool, uint32_t bits, const uint64_t *a, ProtobufCBinaryData *ret_a, const uint64_t *b,
		     ProtobufCBinaryData *ret_b)
{
	return encode_value(pool, a, bits, false, ret_a) < 0 || encode_value(pool, b, bits, false, ret_b) < 0 ? -ENOMEM
													      : 0;
}

P4__V1__FieldMatch *encode_field(struct pool *pool, uint32_t id, enum match_kind kind, uint32_t bits,
				 const uint64_t *value, const uint64_t *mask, uint32_t prefix_bits, bool *ret_dont_care)
{
	P4__V1__FieldMatch *f = POOL_NEW(pool, P4__V1__FieldMatch, P4__V1__FIELD_MATCH__INIT);
	int rc = -ENOMEM;

	if (f == NULL)
		return NULL;
	f->field_id = id;
	*ret_dont_care = false;
	switch (kind) {
	case MATCH_EXACT:
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_EXACT;
		f->exact = POOL_NEW(pool, P4__V1__FieldMatch__Exact, P4__V1__FIELD_MATCH__EXACT__INIT);
		rc = f->exact == NULL ? rc : encode_value(pool, value, bits, false, &f->exact->value);
		break;
	case MATCH_OPTIONAL:
		*ret_dont_care = is_zero(mask, bits);
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_OPTIONAL;
		f->optional = POOL_NEW(pool, P4__V1__FieldMatch__Optional, P4__V1__FIELD_MATCH__OPTIONAL__INIT);
		rc = f->optional == NULL ? rc : encode_value(pool, value, bits, false, &f->optional->value);
		break;
	case MATCH_LPM:
		*ret_dont_care = prefix_bits == 0;
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_LPM;
		f->lpm = POOL_NEW(pool, P4__V1__FieldMatch__LPM, P4__V1__FIELD_MATCH__LPM__INIT);
		if (f->lpm == NULL)
			break;
		f->lpm->prefix_len = (int32_t)prefix_bits;
		rc = encode_value(pool, value, bits, false, &f->lpm->value);
		break;
	case MATCH_TERNARY:
		*ret_dont_care = is_zero(mask, bits);
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_TERNARY;
		f->ternary = POOL_NEW(pool, P4__V1__FieldMatch__Ternary, P4__V1__FIELD_MATCH__TERNARY__INIT);
		rc = f->ternary == NULL ? rc
					: fill_pair(pool, bits, value, &f->ternary->value, mask, &f->ternary->mask);
		break;
	default:
		*ret_dont_care = is_zero(value, bits) && is_full(mask, bits);
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_RANGE;
		f->range = POOL_NEW(pool, P4__V1__FieldMatch__Range, P4__V1__FIELD_MATCH__RANGE__INIT);
		rc = f->range == NULL ? rc : fill_pair(pool, bits, value, &f->range->low, mask, &f->range->high);
	}
	return rc < 0 ? NULL : f;
}

static uint32_t action_id(const struct pipeline *p, uint32_t table, uint32_t action)
{
	const struct name_table *t = &p->names->tables[table];

	for (uint32_t i = 0; i < t->ref_count; i++)
		if (t->refs[i].action == action)
			return t->refs[i].id;
	return 0;
}

P4__V1__Action *encode_action(struct pool *pool, const struct pipeline *p, uint32_t table, const struct action_data *a)
{
	P4__V1__Action *message = POOL_NEW(pool, P4__V1__Action, P4__V1__ACTION__INIT);
	const struct p4_action *action = &p->program->actions[a->action];
	uint32_t at;

	if (message == NULL)
		return NULL;
	message->action_id = action_id(p, table, a->action);
	at = names_find(p->names, NAME_ACTION, message->action_id);
	if (at == NOWHERE)
		return message; /* the program's own, which P4Info does not name */
	message->params = pool_pointers(pool, action->param_count);
	if (message->params == NULL)
		return NULL;
	for (uint32_t i = 0; i < action->param_count; i++) {
		P4__V1__Action__Param *param = POOL_NEW(pool, P4__V1__Action__Param, P4__V1__ACTION__PARAM__INIT);

		if (param == NULL || encode_value(pool, a->params + (action->params[i].slot - p->program->params_slot),
						  action->params[i].bits, false, &param->value) < 0)
			return NULL;
		param->param_id = p->names->actions[at].param_ids[i];
		message->params[message->n_params++] = param;
	}
	return message;
}

static P4__V1__ActionProfileActionSet *encode_choices(struct pool *pool, const struct pipeline *p, uint32_t table,
						      const struct group *group)
{
	P4__V1__ActionProfileActionSet *set =
		POOL_NEW(pool, P4__V1__ActionProfileActionSet, P4__V1__ACTION_PROFILE_ACTION_SET__INIT);
	const struct group_member *members;
	uint32_t count = group_members(group, &members);

	if (set == NULL)
		return NULL;
	set->action_profile_actions = pool_pointers(pool, count);
	if (set->action_profile_actions == NULL)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		P4__V1__ActionProfileAction *a =
			POOL_NEW(pool, P4__V1__ActionProfileAction, P4__V1__ACTION_PROFILE_ACTION__INIT);
		uint64_t port = members[i].watch_port;

		if (a == NULL || (a->action = encode_action(pool, p, table, group_choice(group, i))) == NULL)
			return NULL;
		a->weight = (int32_t)members[i].weight;
		if (members[i].watch_port != NOWHERE) {
			a->watch_kind_case = P4__V1__ACTION_PROFILE_ACTION__WATCH_KIND_WATCH_PORT;
			if (encode_value(pool, &port, 32, false, &a->watch_port) < 0)
				return NULL;
		}
		set->action_profile_actions[set->n_action_profile_actions++] = a;
	}
	return set;
}

static P4__V1__TableAction *encode_target(struct pool *pool, const struct pipeline *p, const struct entry *e)
{
	P4__V1__TableAction *action = POOL_NEW(pool, P4__V1__TableAction, P4__V1__TABLE_ACTION__INIT);

	if (action == NULL)
		return NULL;
	if (e->kind == ENTRY_ACTION) {
		action->type_case = P4__V1__TABLE_ACTION__TYPE_ACTION;
		action->action = encode_action(pool, p, e->table, &e->action);
		return action->action != NULL ? action : NULL;
	}
	if (e->kind == ENTRY_MEMBER) {
		action->type_case = P4__V1__TABLE_ACTION__TYPE_ACTION_PROFILE_MEMBER_ID;
		action->action_profile_member_id = member_id(e->target);
	} else if (!e->owns_target) {
		action->type_case = P4__V1__TABLE_ACTION__TYPE_ACTION_PROFILE_GROUP_ID;
		action->action_profile_group_id = group_id(e->target);
	} else {
		action->type_case = P4__V1__TABLE_ACTION__TYPE_ACTION_PROFILE_ACTION_SET;
		action->action_profile_action_set = encode_choices(pool, p, e->table, e->target);
		return action->action_profile_action_set != NULL ? action : NULL;
	}
	return action;
}

static int encode_match(struct pool *pool, const struct pipeline *p, const struct entry *e, P4__V1__TableEntry *to)
{
	const struct p4_table *t = &p->program->tables[e->table];
	const uint64_t *value = entry_value(e);
	bool pairs = p->names->tables[e->table].with_priority;

	to->match = pool_pointers(pool, t->key_count);
	if (to->match == NULL)
		return -ENOMEM;
	for (uint32_t k = 0; k < t->key_count; k++) {
		const struct p4_key *key = &t->keys[k];
		const uint64_t *mask = pairs ? entry_mask(p->state, e) + key->word : value + key->word;
		bool dont_care;
		P4__V1__FieldMatch *f = encode_field(
			pool, p->names->tables[e->table].field_ids[k],
			(enum match_kind)p->names->tables[e->table].kinds[k], key->bits, value + key->word, mask,
			pairs && key->kind == MATCH_LPM ? prefix_of(mask, key->bits) : e->prefix_bits, &dont_care);

		if (f == NULL)
			return -ENOMEM;
		if (!dont_care)
			to->match[to->n_match++] = f;
	}
	to->priority = pairs ? e->priority : 0;
	return 0;
}

P4__V1__TableEntry *encode_table_entry(struct pool *pool, const struct pipeline *p, const struct entry *e)
{
	P4__V1__TableEntry *to = POOL_NEW(pool, P4__V1__TableEntry, P4__V1__TABLE_ENTRY__INIT);

	if (to == NULL)
		return NULL;
	to->table_id = p->names->tables[e->table].id;
	to->is_default_action = e->is_default;
	to->is_const = e->is_const;
	if (!e->is_default && encode_match(pool, p, e, to) < 0)
		return NULL;
	if (e->kind != ENTRY_ACTION || e->action.action != NOWHERE) {
		to->action = encode_target(pool, p, e);
		if (to->action == NULL)
			return NULL;
	}
	if (e->notes != NULL) {
		to->idle_timeout_ns = e->notes->idle_timeout_ns;
		to->controller_metadata = e->notes->controller_metadata;
		to->metadata = (ProtobufCBinaryData){ e->notes->metadata_bytes, e->notes->metadata };
	}
	return to;
}

P4__V1__MeterConfig *encode_rates(struct pool *pool, const struct meter_rates *rates)
{
	P4__V1__MeterConfig *to = POOL_NEW(pool, P4__V1__MeterConfig, P4__V1__METER_CONFIG__INIT);

	if (to == NULL)
		return NULL;
	to->cir = (int64_t)rates->committed_per_s;
	to->cburst = (int64_t)rates->committed_burst;
	to->pir = (int64_t)rates->peak_per_s;
	to->pburst = (int64_t)rates->peak_burst;
	return to;
}

P4__V1__CounterData *encode_counts(struct pool *pool, const struct counts *counts)
{
	P4__V1__CounterData *to = POOL_NEW(pool, P4__V1__CounterData, P4__V1__COUNTER_DATA__INIT);

	if (to == NULL)
		return NULL;
	to->byte_count = (int64_t)counts->bytes;
	to->packet_count = (int64_t)counts->packets;
	return to;
}
