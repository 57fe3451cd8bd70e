/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "control/control_private.h"

/* From messages to what tables/ take, with the refusals that the specification asks for. */

static int take_bytes(const ProtobufCBinaryData *b, uint32_t bits, const char *where, uint64_t *words,
		      struct verdict *v)
{
	switch (bytes_to_words(b->data, b->len, bits, words)) {
	case BYTES_EMPTY:
		return verdict(v, GRPC_INVALID_ARGUMENT, "%s: an empty value", where);
	case BYTES_TOO_WIDE:
		return verdict(v, GRPC_OUT_OF_RANGE, "%s: the value does not fit %u bits", where, bits);
	default:
		return 0;
	}
}

static uint64_t width_word(uint32_t bits, uint32_t i)
{
	uint32_t left = bits - i * 64;

	return left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
}

static bool all_zero(const uint64_t *words, uint32_t n)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= words[i];
	return any == 0;
}

static void prefix_words(uint32_t bits, uint32_t prefix, uint64_t *words)
{
	uint32_t off = bits - prefix;

	for (uint32_t i = 0; i < (bits + 63) / 64; i++) {
		uint32_t gone = off > i * 64 ? off - i * 64 : 0;

		words[i] = gone >= 64 ? 0 : width_word(bits, i) & ~((UINT64_C(1) << gone) - 1);
	}
}

static int outside_mask(const uint64_t *value, const uint64_t *mask, uint32_t n, const char *where, struct verdict *v)
{
	for (uint32_t i = 0; i < n; i++)
		if (value[i] & ~mask[i])
			return verdict(v, GRPC_INVALID_ARGUMENT, "%s: value bits that the mask leaves out are not 0",
				       where);
	return 0;
}

static int decode_lpm(const P4__V1__FieldMatch__LPM *f, const char *where, uint32_t bits, uint64_t *value,
		      uint64_t *mask, uint32_t *prefix_bits, struct verdict *v)
{
	if (f->prefix_len <= 0 || (uint32_t)f->prefix_len > bits)
		return verdict(v, GRPC_INVALID_ARGUMENT, "%s: a prefix of %" PRId32 " bits; 1 to %u is expected", where,
			       f->prefix_len, bits);
	if (take_bytes(&f->value, bits, where, value, v) < 0)
		return -1;
	*prefix_bits = (uint32_t)f->prefix_len;
	prefix_words(bits, *prefix_bits, mask);
	return outside_mask(value, mask, (bits + 63) / 64, where, v);
}

static int decode_ternary(const P4__V1__FieldMatch__Ternary *f, const char *where, uint32_t bits, uint64_t *value,
			  uint64_t *mask, struct verdict *v)
{
	if (take_bytes(&f->value, bits, where, value, v) < 0 || take_bytes(&f->mask, bits, where, mask, v) < 0)
		return -1;
	if (all_zero(mask, (bits + 63) / 64))
		return verdict(v, GRPC_INVALID_ARGUMENT, "%s: a mask of 0; such a field is left out", where);
	return outside_mask(value, mask, (bits + 63) / 64, where, v);
}

static int decode_range(const P4__V1__FieldMatch__Range *f, const char *where, uint32_t bits, uint64_t *low,
			uint64_t *high, struct verdict *v)
{
	uint32_t n = (bits + 63) / 64;
	bool full = true;

	if (take_bytes(&f->low, bits, where, low, v) < 0 || take_bytes(&f->high, bits, where, high, v) < 0)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		full &= low[i] == 0 && high[i] == width_word(bits, i);
	if (full)
		return verdict(v, GRPC_INVALID_ARGUMENT, "%s: the range of all values; such a field is left out",
			       where);
	return 0; /* low above high: tables/ say so */
}

int decode_field(const P4__V1__FieldMatch *f, const char *where, enum match_kind kind, uint32_t bits, uint64_t *value,
		 uint64_t *mask, uint32_t *prefix_bits, struct verdict *v)
{
	static const P4__V1__FieldMatch__FieldMatchTypeCase cases[] = {
		[MATCH_EXACT] = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_EXACT,
		[MATCH_LPM] = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_LPM,
		[MATCH_TERNARY] = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_TERNARY,
		[MATCH_RANGE] = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_RANGE,
		[MATCH_OPTIONAL] = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_OPTIONAL,
	};

	if (f->field_match_type_case != cases[kind])
		return verdict(v, GRPC_INVALID_ARGUMENT, "%s: not the kind of match that the field has", where);
	prefix_words(bits, bits, mask);
	switch (kind) {
	case MATCH_EXACT:
		return take_bytes(&f->exact->value, bits, where, value, v);
	case MATCH_OPTIONAL:
		return take_bytes(&f->optional->value, bits, where, value, v);
	case MATCH_LPM:
		return decode_lpm(f->lpm, where, bits, value, mask, prefix_bits, v);
	case MATCH_TERNARY:
		return decode_ternary(f->ternary, where, bits, value, mask, v);
	default:
		return decode_range(f->range, where, bits, value, mask, v);
	}
}

/* A field that the entry leaves out matches everything, unless it is exact. */
static int leave_out(const struct p4_table *t, const struct p4_key *k, struct key *key, struct verdict *v)
{
	if (k->kind == MATCH_EXACT)
		return verdict(v, GRPC_INVALID_ARGUMENT, "table %s: match field %s is missing", t->name, k->name);
	memset(key->value + k->word, 0, k->slots * sizeof(key->value[0]));
	prefix_words(k->bits, k->kind == MATCH_RANGE ? k->bits : 0, key->mask + k->word);
	return 0;
}

static int check_priority(const struct name_table *names, const struct p4_table *t, int32_t priority, struct verdict *v)
{
	if (names->with_priority && priority <= 0)
		return verdict(v, GRPC_INVALID_ARGUMENT, "table %s: a priority over 0 is expected, not %" PRId32,
			       t->name, priority);
	if (!names->with_priority && priority != 0)
		return verdict(v, GRPC_INVALID_ARGUMENT, "table %s has no priorities; %" PRId32 " is given", t->name,
			       priority);
	return 0;
}

int decode_key(const struct pipeline *p, uint32_t table, const P4__V1__TableEntry *e, struct key *key,
	       struct verdict *v)
{
	const struct p4_table *t = &p->program->tables[table];
	const struct name_table *names = &p->names->tables[table];
	size_t taken = 0;

	key->spec = (struct match_spec){ key->value, key->mask, 0, e->priority };
	if (check_priority(names, t, e->priority, v) < 0)
		return -1;
	for (uint32_t k = 0; k < t->key_count; k++) {
		const struct p4_key *field = &t->keys[k];
		const P4__V1__FieldMatch *found = NULL;

		for (size_t i = 0; i < e->n_match; i++) {
			if (e->match[i]->field_id != names->field_ids[k])
				continue;
			if (found != NULL)
				return verdict(v, GRPC_INVALID_ARGUMENT, "table %s: match field %s is given twice",
					       t->name, field->name);
			found = e->match[i];
			taken++;
		}
		if (found == NULL ? leave_out(t, field, key, v) < 0
				  : decode_field(found, field->name, (enum match_kind)names->kinds[k], field->bits,
						 key->value + field->word, key->mask + field->word,
						 &key->spec.prefix_bits, v) < 0)
			return -1;
	}
	if (taken != e->n_match)
		return verdict(v, GRPC_INVALID_ARGUMENT, "table %s: a match field whose id there is not", t->name);
	return 0;
}

/* --- actions --- */

static const struct name_action_ref *find_ref(const struct name_table *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->ref_count; i++)
		if (t->refs[i].id == id)
			return &t->refs[i];
	return NULL;
}

static int take_params(const struct pipeline *p, const struct name_action *names, const struct p4_action *action,
		       const P4__V1__Action *a, uint64_t *params, struct verdict *v)
{
	if (a->n_params != names->param_count)
		return verdict(v, GRPC_INVALID_ARGUMENT, "action %s: %zu parameters are given, it has %u", action->name,
			       a->n_params, names->param_count);
	for (uint32_t k = 0; k < names->param_count; k++) {
		const struct p4_param *param = &action->params[k];
		const P4__V1__Action__Param *found = NULL;

		for (size_t i = 0; i < a->n_params && found == NULL; i++) /* mostly in order */
			if (a->params[(k + i) % a->n_params]->param_id == names->param_ids[k])
				found = a->params[(k + i) % a->n_params];
		if (found == NULL)
			return verdict(v, GRPC_INVALID_ARGUMENT, "action %s: parameter %s is missing", action->name,
				       param->name);
		if (take_bytes(&found->value, param->bits, param->name,
			       params + (param->slot - p->program->params_slot), v) < 0)
			return -1;
	}
	return 0;
}

int decode_action(struct pool *pool, const struct pipeline *p, uint32_t table, const P4__V1__Action *a, bool is_default,
		  struct choice *ret_choice, struct verdict *v)
{
	const struct name_table *t = &p->names->tables[table];
	const struct name_action_ref *ref = find_ref(t, a->action_id);
	const struct p4_action *action;
	uint64_t *params;

	if (ref == NULL)
		return verdict(v, GRPC_INVALID_ARGUMENT, "table %s takes no action %u", p->program->tables[table].name,
			       a->action_id);
	action = &p->program->actions[ref->action];
	if (ref->scope == (is_default ? SCOPE_TABLE_ONLY : SCOPE_DEFAULT_ONLY))
		return verdict(v, GRPC_PERMISSION_DENIED, "table %s takes action %s only %s",
			       p->program->tables[table].name, action->name,
			       is_default ? "in its entries" : "as its default");
	params = pool_array(pool, action->param_slots, sizeof(*params));
	if (params == NULL)
		return verdict(v, GRPC_RESOURCE_EXHAUSTED, "out of memory");
	*ret_choice = (struct choice){ ref->action, params, 1, NOWHERE };
	return take_params(p, &p->names->actions[names_find(p->names, NAME_ACTION, ref->id)], action, a, params, v);
}

int decode_rates(const P4__V1__MeterConfig *c, struct meter_rates *ret_rates, struct verdict *v)
{
	if (c->cir < 0 || c->pir < 0 || c->cburst < 0 || c->pburst < 0)
		return verdict(v, GRPC_INVALID_ARGUMENT, "meter: rates and bursts are not negative");
	if (c->eburst != 0)
		return verdict(v, GRPC_INVALID_ARGUMENT, "meter: an excess burst size is for single-rate meters");
	*ret_rates =
		(struct meter_rates){ (uint64_t)c->cir, (uint64_t)c->cburst, (uint64_t)c->pir, (uint64_t)c->pburst };
	return 0;
}

int decode_port(const ProtobufCBinaryData *bytes, uint32_t *ret_port, struct verdict *v)
{
	uint64_t port;

	if (take_bytes(bytes, 32, "port", &port, v) < 0)
		return -1;
	*ret_port = (uint32_t)port;
	return 0;
}
