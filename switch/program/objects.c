/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

/* Registers, counters, meters, calculations, field lists, value sets, and the parameters of actions. */

enum { ARRAY_MOST = 1 << 24 };

/* The array of a key, or an empty one, and as many zeroed elements of `size` for it. */
static int begin(struct build *b, const char *key, size_t size, const json_t **ret_json, void *ret_items,
		 uint32_t *ret_count)
{
	const json_t *json = json_object_get(b->root, key);
	size_t count = json_array_size(json);
	void *items;

	if (json && !json_is_array(json))
		return err_set(b->err, ERR_USAGE, EINVAL, "the program: '%s' is not an array", key);
	if (count > OBJECTS_MOST)
		return err_set(b->err, ERR_USAGE, E2BIG, "'%s' has %zu elements; at most %d are expected", key, count,
			       OBJECTS_MOST);
	items = arena_array(&b->p->arena, count + 1, size);
	if (!items)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	*ret_json = json;
	memcpy(ret_items, &items, sizeof(items));
	*ret_count = (uint32_t)count;
	return 0;
}

static int name_of(struct build *b, const json_t *json, const char *kind, json_t *map, uint32_t index, const char **ret)
{
	int rc = js_string(json, "name", kind, ret, b->err);

	if (rc < 0)
		return rc;
	*ret = arena_strdup(&b->p->arena, *ret);
	if (!*ret)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	return build_name(b, map, *ret, index, kind);
}

static int load_registers(struct build *b)
{
	struct program *p = b->p;
	const json_t *json;
	int rc = begin(b, "register_arrays", sizeof(*p->registers), &json, &p->registers, &p->register_count);

	for (uint32_t i = 0; rc == 0 && i < p->register_count; i++) {
		struct p4_register *r = &p->registers[i];
		const json_t *item = json_array_get(json, i);

		rc = name_of(b, item, "register array", b->registers, i, &r->name);
		if (rc == 0)
			rc = js_uint(item, "size", ARRAY_MOST, r->name, &r->size, b->err);
		if (rc == 0)
			rc = js_uint(item, "bitwidth", SLOTS_A_VALUE_MOST * 64, r->name, &r->bits, b->err);
		r->slots = slots_for(r->bits);
		if (rc == 0 && (uint64_t)r->slots * r->size > ARRAY_MOST)
			return js_refuse(item, b->err, "register array '%s' has %u cells of %u bits: too many", r->name,
					 r->size, r->bits);
	}
	return rc;
}

static int load_counters(struct build *b)
{
	struct program *p = b->p;
	const json_t *json;
	int rc = begin(b, "counter_arrays", sizeof(*p->counters), &json, &p->counters, &p->counter_count);

	for (uint32_t i = 0; rc == 0 && i < p->counter_count; i++) {
		struct p4_counter *c = &p->counters[i];
		const json_t *item = json_array_get(json, i);

		c->table = NOWHERE;
		rc = name_of(b, item, "counter array", b->counters, i, &c->name);
		if (rc == 0 && !js_flag(item, "is_direct"))
			rc = js_uint(item, "size", ARRAY_MOST, c->name, &c->size, b->err);
	}
	return rc;
}

static int load_meters(struct build *b)
{
	struct program *p = b->p;
	const json_t *json;
	int rc = begin(b, "meter_arrays", sizeof(*p->meters), &json, &p->meters, &p->meter_count);

	for (uint32_t i = 0; rc == 0 && i < p->meter_count; i++) {
		struct p4_meter *m = &p->meters[i];
		const json_t *item = json_array_get(json, i), *target = json_object_get(item, "result_target");
		const char *type;
		uint32_t field, rates;

		m->table = m->result = NOWHERE;
		rc = name_of(b, item, "meter array", b->meters, i, &m->name);
		if (rc == 0)
			rc = js_string(item, "type", m->name, &type, b->err);
		if (rc == 0)
			rc = js_uint(item, "rate_count", 16, m->name, &rates, b->err);
		if (rc == 0 && rates != 2)
			return js_refuse(item, b->err, "meter '%s' has %u rates; meters of 2 rates are supported",
					 m->name, rates);
		if (rc == 0)
			m->counts_bytes = strcmp(type, "bytes") == 0;
		if (rc == 0 && !js_flag(item, "is_direct")) {
			rc = js_uint(item, "size", ARRAY_MOST, m->name, &m->size, b->err);
		} else if (rc == 0 && json_is_array(target)) {
			rc = field_reference(b, target, item, &field, &m->result);
			if (rc == 0 && (field == NOWHERE || p->fields[field].slots != 1))
				return js_refuse(item, b->err,
						 "meter '%s': its result needs a field of at most 64 bits", m->name);
			if (rc == 0)
				m->result_bits = p->fields[field].bits;
		}
	}
	return rc;
}

static int hash_algorithm(struct build *b, const json_t *item, const char *name, enum hash_algorithm *ret)
{
	static const char *const names[] = {
		[HASH_CRC32] = "crc32",
		[HASH_CRC16] = "crc16",
		[HASH_CSUM16] = "csum16",
		[HASH_XOR16] = "xor16",
		[HASH_IDENTITY] = "identity",
		[HASH_CRC32_CUSTOM] = "crc32_custom",
		[HASH_CRC16_CUSTOM] = "crc16_custom",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum hash_algorithm)i;
			return 0;
		}
	return js_refuse(item, b->err, "hash algorithm '%s' is not supported", name);
}

static int calculation_input(struct build *b, const json_t *item, const json_t *owner, struct p4_calculation_input *in)
{
	const char *type = json_string_value(json_object_get(item, "type"));
	const json_t *value = json_object_get(item, "value");
	uint64_t words[SLOTS_A_VALUE_MOST];
	uint32_t slot;
	int rc;

	if (type && strcmp(type, "field") == 0) {
		in->kind = INPUT_FIELD;
		rc = field_reference(b, value, owner, &in->index, &slot);
		if (rc == 0 && in->index == NOWHERE)
			return js_refuse(owner, b->err, "a calculation over a valid bit is not supported");
		if (rc == 0)
			in->bits = b->p->fields[in->index].bits;
		return rc;
	}
	if (type && strcmp(type, "header") == 0) {
		in->kind = INPUT_HEADER;
		return header_reference(b, value, owner, &in->index);
	}
	if (type && strcmp(type, "payload") == 0) {
		in->kind = INPUT_PAYLOAD;
		return 0;
	}
	if (!type || strcmp(type, "hexstr") != 0 || !json_is_string(value))
		return js_refuse(owner, b->err, "a calculation over '%s' is not supported", type ? type : "(no type)");
	in->kind = INPUT_CONSTANT;
	rc = js_uint(item, "bitwidth", SLOTS_A_VALUE_MOST * 64, "a constant of a calculation", &in->bits, b->err);
	if (rc == 0)
		rc = packed_value(b, json_string_value(value), in->bits, slots_for(in->bits), owner, "calculation",
				  words);
	if (rc == 0)
		in->index = constant_add(b, words, slots_for(in->bits));
	return rc == 0 && in->index == NOWHERE ? -E2BIG : rc;
}

static int load_inputs(struct build *b, const json_t *inputs, const json_t *owner, struct p4_calculation *c)
{
	int rc = 0;

	c->input_count = (uint32_t)json_array_size(inputs);
	c->inputs = arena_array(&b->p->arena, c->input_count + 1, sizeof(*c->inputs));
	if (!c->inputs)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t k = 0; rc == 0 && k < c->input_count; k++)
		rc = calculation_input(b, json_array_get(inputs, k), owner, &c->inputs[k]);
	return rc;
}

/* Selectors of action profiles have a calculation of their own: they come behind the named ones. */
static int load_calculations(struct build *b)
{
	struct program *p = b->p;
	const json_t *json, *inputs;
	const char *algorithm;
	int rc = begin(b, "calculations", sizeof(*p->calculations), &json, &p->calculations, &p->calculation_count);

	for (uint32_t i = 0; rc == 0 && i < p->calculation_count; i++) {
		struct p4_calculation *c = &p->calculations[i];
		const json_t *item = json_array_get(json, i);

		rc = name_of(b, item, "calculation", b->calculations, i, &c->name);
		if (rc == 0)
			rc = js_string(item, "algo", c->name, &algorithm, b->err);
		if (rc == 0)
			rc = hash_algorithm(b, item, algorithm, &c->algorithm);
		if (rc == 0)
			rc = js_array(item, "input", c->name, &inputs, b->err);
		if (rc == 0)
			rc = load_inputs(b, inputs, item, c);
	}
	return rc;
}

static int list_item(struct build *b, const json_t *item, const json_t *owner, struct p4_list_item *to)
{
	const char *type = json_string_value(json_object_get(item, "type"));
	struct value v;
	int rc;

	if (!type || (strcmp(type, "field") != 0 && strcmp(type, "hexstr") != 0))
		return js_refuse(owner, b->err, "a field list with '%s' is not supported", type ? type : "(no type)");
	rc = expression(b, item, owner, 0, &v);
	if (rc < 0)
		return rc;
	to->slot = v.slot;
	to->slots = v.slots;
	to->bits = v.bits ? v.bits : 1;
	to->is_constant = v.is_constant;
	return 0;
}

static int load_lists(struct build *b)
{
	struct program *p = b->p;
	const json_t *json, *elements;
	int rc = begin(b, "field_lists", sizeof(*p->field_lists), &json, &p->field_lists, &p->field_list_count);

	for (uint32_t i = 0; rc == 0 && i < p->field_list_count; i++) {
		struct p4_field_list *l = &p->field_lists[i];
		const json_t *item = json_array_get(json, i);

		rc = js_uint(item, "id", UINT32_MAX - 1, "a field list", &l->id, b->err);
		if (rc == 0)
			rc = js_array(item, "elements", "a field list", &elements, b->err);
		if (rc < 0)
			return rc;
		l->item_count = (uint32_t)json_array_size(elements);
		l->items = arena_array(&p->arena, l->item_count + 1, sizeof(*l->items));
		if (!l->items)
			return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
		for (uint32_t k = 0; rc == 0 && k < l->item_count; k++)
			rc = list_item(b, json_array_get(elements, k), item, &l->items[k]);
	}
	return rc;
}

static int load_learn_lists(struct build *b)
{
	struct program *p = b->p;
	const json_t *json, *elements;
	char id[16];
	int rc = begin(b, "learn_lists", sizeof(*p->learn_lists), &json, &p->learn_lists, &p->learn_list_count);

	for (uint32_t i = 0; rc == 0 && i < p->learn_list_count; i++) {
		struct p4_learn_list *l = &p->learn_lists[i];
		const json_t *item = json_array_get(json, i);

		rc = js_uint(item, "id", UINT32_MAX - 1, "a learn list", &l->id, b->err);
		if (rc == 0)
			rc = js_string(item, "name", "a learn list", &l->name, b->err);
		if (rc == 0)
			rc = js_array(item, "elements", l->name, &elements, b->err);
		if (rc < 0)
			return rc;
		snprintf(id, sizeof(id), "%u", l->id);
		rc = build_name(b, b->learn_ids, id, i, "learn list");
		l->name = arena_strdup(&p->arena, l->name);
		l->item_count = (uint32_t)json_array_size(elements);
		l->items = arena_array(&p->arena, l->item_count + 1, sizeof(*l->items));
		if (!l->items || !l->name)
			return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
		for (uint32_t k = 0; rc == 0 && k < l->item_count; k++)
			rc = list_item(b, json_array_get(elements, k), item, &l->items[k]);
	}
	return rc;
}

static int load_value_sets(struct build *b)
{
	struct program *p = b->p;
	const json_t *json;
	int rc = begin(b, "parse_vsets", sizeof(*p->value_sets), &json, &p->value_sets, &p->value_set_count);

	for (uint32_t i = 0; rc == 0 && i < p->value_set_count; i++) {
		struct p4_value_set *v = &p->value_sets[i];
		const json_t *item = json_array_get(json, i);

		v->select = NOWHERE;
		rc = name_of(b, item, "value set", b->value_sets, i, &v->name);
		if (rc == 0)
			rc = js_uint(item, "compressed_bitwidth", SLOTS_A_VALUE_MOST * 64, v->name, &v->bits, b->err);
	}
	return rc;
}

/* Parameters get their slots first: temporaries and constants lie behind them. */
static int load_parameters(struct build *b)
{
	struct program *p = b->p;
	const json_t *json;
	uint32_t most = 0;
	char id[16];
	int rc = begin(b, "actions", sizeof(*p->actions), &json, &p->actions, &p->action_count);

	p->params_slot = p->packet_slots;
	for (uint32_t i = 0; rc == 0 && i < p->action_count; i++) {
		struct p4_action *a = &p->actions[i];
		const json_t *item = json_array_get(json, i), *data;
		uint32_t action_id;

		rc = js_string(item, "name", "action", &a->name, b->err);
		if (rc == 0)
			rc = js_uint(item, "id", UINT32_MAX - 1, a->name, &action_id, b->err);
		if (rc == 0)
			rc = js_array(item, "runtime_data", a->name, &data, b->err);
		if (rc < 0)
			return rc;
		/* several actions may bear one name (NoAction of each control); the id tells them apart */
		snprintf(id, sizeof(id), "%u", action_id);
		rc = build_name(b, b->action_ids, id, i, "action id");
		a->name = arena_strdup(&p->arena, a->name);
		a->param_count = (uint32_t)json_array_size(data);
		a->params = arena_array(&p->arena, a->param_count + 1, sizeof(*a->params));
		if (!a->params || !a->name)
			return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
		for (uint32_t k = 0; rc == 0 && k < a->param_count; k++) {
			struct p4_param *param = &a->params[k];
			const json_t *one = json_array_get(data, k);

			rc = js_string(one, "name", a->name, &param->name, b->err);
			if (rc == 0)
				rc = js_uint(one, "bitwidth", SLOTS_A_VALUE_MOST * 64, a->name, &param->bits, b->err);
			if (rc < 0)
				break;
			param->name = arena_strdup(&p->arena, param->name);
			param->slots = slots_for(param->bits);
			param->slot = p->params_slot + a->param_slots;
			a->param_slots += param->slots;
		}
		if (a->param_slots > most)
			most = a->param_slots;
		if (most > MEMORY_MOST)
			return js_refuse(item, b->err, "action '%s' has too many parameters", a->name);
	}
	b->temps_slot = p->params_slot + most;
	p->constants_slot = b->temps_slot + b->temp_slots;
	return rc;
}

int load_objects(struct build *b)
{
	static int (*const parts[])(struct build *) = {
		load_parameters,   load_registers, load_counters,    load_meters,
		load_calculations, load_lists,     load_learn_lists, load_value_sets,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int rc = parts[i](b);

		if (rc < 0)
			return rc;
	}
	if (json_array_size(json_object_get(b->root, "extern_instances"))) {
		const json_t *first = json_array_get(json_object_get(b->root, "extern_instances"), 0);
		const char *type = json_string_value(json_object_get(first, "type"));
		const char *name = json_string_value(json_object_get(first, "name"));

		return js_refuse(first, b->err, "extern '%s' of type '%s' is not supported", name ? name : "(no name)",
				 type ? type : "(no type)");
	}
	return 0;
}

int selector_calculation(struct build *b, const json_t *selector, const json_t *owner, uint32_t *ret_index)
{
	struct program *p = b->p;
	struct p4_calculation *grown = arena_array(&p->arena, p->calculation_count + 1, sizeof(*grown));
	const char *algorithm;
	const json_t *inputs;
	int rc = js_string(selector, "algo", "a selector", &algorithm, b->err);

	if (rc == 0)
		rc = js_array(selector, "input", "a selector", &inputs, b->err);
	if (rc < 0)
		return rc;
	if (!grown)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	memcpy(grown, p->calculations, p->calculation_count * sizeof(*grown));
	p->calculations = grown;
	*ret_index = p->calculation_count++;
	grown[*ret_index].name = "selector";
	rc = hash_algorithm(b, owner, algorithm, &grown[*ret_index].algorithm);
	return rc < 0 ? rc : load_inputs(b, inputs, owner, &grown[*ret_index]);
}
