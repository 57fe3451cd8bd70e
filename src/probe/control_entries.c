/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/control_entries.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { RANGE_SPAN = 16 };

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Random bits of a field of an entry. */
static uint64_t bits_of(const struct control_table *t, uint64_t what, uint32_t at, uint32_t index)
{
	return mix(mix(mix(t->seed + what) + at) + index);
}

static uint64_t low_bits(uint64_t value, uint32_t bits)
{
	return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

/* --- which table, which action --- */

static bool can_write(const struct p4info_table *table)
{
	return !table->is_const && table->implementation_id == 0 && table->keys_count > 0;
}

static int find_table(const struct p4info *info, const char *name, const struct p4info_table **ret, struct err *err)
{
	const struct p4info_table *best = NULL;

	if (name) {
		best = p4info_table(info, name, err);
		if (!best) {
			err_wrap(err, "table");
			return -ENOENT;
		}
		if (!can_write(best))
			return err_set(err, ERR_USAGE, EINVAL,
				       "table: '%s' is constant, has an action profile or no keys; expected another",
				       name);
		*ret = best;
		return 0;
	}
	for (size_t i = 0; i < info->tables_count; i++)
		if (can_write(&info->tables[i]) && (!best || info->tables[i].size > best->size))
			best = &info->tables[i];
	if (!best)
		return err_set(err, ERR_USAGE, ENOENT, "the program has no table that can be written");
	*ret = best;
	return 0;
}

static bool is_port(const struct p4info_field *param)
{
	const char *dot = strrchr(param->name, '.');

	return strcmp(dot ? dot + 1 : param->name, "port") == 0;
}

/* Parameters that differ from entry to entry. */
static size_t free_params(const struct p4info_action *action)
{
	size_t n = 0;

	for (size_t i = 0; i < action->params_count; i++)
		n += !is_port(&action->params[i]);
	return n;
}

static int find_actions(struct control_table *t, const char *name, struct err *err)
{
	const struct p4info_action *first = NULL, *with_params = NULL;

	for (size_t i = 0; i < t->table->actions_count; i++) {
		const struct p4info_action_ref *ref = &t->table->actions[i];

		if (!ref->in_entries)
			continue;
		if (!first)
			first = ref->action;
		if (!with_params && ref->action->params_count)
			with_params = ref->action;
	}
	t->actions[0] = with_params ? with_params : first;
	if (name) {
		t->actions[0] = p4info_table_action(t->table, name, err);
		if (!t->actions[0]) {
			err_wrap(err, "action");
			return -ENOENT;
		}
	}
	if (!t->actions[0])
		return err_set(err, ERR_USAGE, ENOENT, "table %s has no action for its entries", t->table->is.alias);
	t->actions[1] = t->actions[0];
	if (free_params(t->actions[0]) > 0)
		return 0;
	/* what makes a modified entry another one, when no parameter can */
	for (size_t i = 0; i < t->table->actions_count; i++)
		if (t->table->actions[i].in_entries && t->table->actions[i].action != t->actions[0])
			t->actions[1] = t->table->actions[i].action;
	return 0;
}

/* --- the permutation --- */

static int choose_key(struct control_table *t, struct err *err)
{
	const struct p4info_field *best = NULL;

	for (uint32_t i = 0; i < t->table->keys_count; i++) {
		const struct p4info_field *key = &t->table->keys[i];

		if (key->bits > CONTROL_KEY_BITS_MOST || key->match == P4INFO_MATCH_OTHER)
			return err_set(err, ERR_USAGE, EINVAL,
				       "table %s: key %s has %" PRIu32 " bits, or a kind of match that is not "
				       "P4Runtime's; at most %d bits are expected",
				       t->table->is.alias, key->name, key->bits, CONTROL_KEY_BITS_MOST);
		if (key->match == P4INFO_RANGE || (best && key->bits <= best->bits))
			continue;
		best = key;
		t->key = i;
	}
	if (!best || best->bits == 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "table %s has no exact, lpm, ternary or optional key of a number of bits",
			       t->table->is.alias);
	t->index_bits = best->bits < CONTROL_INDEX_BITS ? best->bits : CONTROL_INDEX_BITS;
	return 0;
}

/* Of an odd number modulo a power of two: each step doubles the bits that are right. */
static uint32_t inverse(uint32_t odd)
{
	uint32_t x = odd;

	for (int i = 0; i < 5; i++)
		x *= 2 - odd * x;
	return x;
}

int control_table_init(const struct p4info *info, const char *table, const char *action, uint32_t port, uint32_t count,
		       uint64_t seed, struct control_table *ret, struct err *err)
{
	struct control_table t = { .info = info, .seed = mix(seed), .port = port };
	struct err local = { 0 };
	uint32_t mask;
	int rc;

	if (!err)
		err = &local;
	rc = find_table(info, table, &t.table, err);
	if (rc < 0)
		return rc;
	TARE_ASSERT(t.table);
	rc = find_actions(&t, action, err);
	if (rc == 0)
		rc = choose_key(&t, err);
	if (rc < 0)
		return rc;
	if (count > UINT32_C(1) << t.index_bits)
		return err_set(err, ERR_USAGE, ERANGE,
			       "count: %" PRIu32 " entries, but key %s of table %s has %" PRIu32
			       " bits; at most %" PRIu32 " differ",
			       count, t.table->keys[t.key].name, t.table->is.alias, t.table->keys[t.key].bits,
			       UINT32_C(1) << t.index_bits);
	mask = (UINT32_C(1) << t.index_bits) - 1;
	t.stride = ((uint32_t)mix(t.seed + 1) | 1) & mask;
	t.stride_inverse = inverse(t.stride) & mask;
	t.offset = (uint32_t)mix(t.seed + 2) & mask;
	*ret = t;
	return 0;
}

bool control_table_forwards(const struct control_table *t, uint32_t *ret_bits)
{
	const struct p4info_field *key = &t->table->keys[t->key];
	bool has_port = false;

	for (size_t i = 0; i < t->actions[0]->params_count; i++)
		has_port |= is_port(&t->actions[0]->params[i]);
	*ret_bits = key->bits;
	return has_port && t->table->keys_count == 1 && (key->match == P4INFO_LPM || key->match == P4INFO_EXACT) &&
	       (key->bits == 32 || key->bits == 48);
}

/* --- entries --- */

/* What stands above the index: 10.0.0.0/8, 02:00:00:00:00:00, fd in the highest of eight bytes. */
static uint64_t above(const struct control_table *t)
{
	uint32_t bits = t->table->keys[t->key].bits;

	return bits == 32 ? UINT64_C(0x0a000000) : bits == 48 ? UINT64_C(0x020000000000) : 0;
}

uint64_t control_entry_key(const struct control_table *t, uint32_t index)
{
	uint32_t mask = (UINT32_C(1) << t->index_bits) - 1;

	return above(t) | ((index * t->stride + t->offset) & mask);
}

/* All bits of a field. */
static struct p4rt_bytes ones_of(struct control_entry *e, size_t field, uint32_t bits)
{
	uint8_t *mask = e->masks[field];
	size_t length = (bits + 7) / 8;

	memset(mask, 0xff, length);
	if (bits % 8)
		mask[0] = (uint8_t)(0xff >> (8 - bits % 8));
	return (struct p4rt_bytes){ mask, length };
}

static void match_make(const struct control_table *t, uint32_t index, size_t field, struct control_entry *e)
{
	const struct p4info_field *key = &t->table->keys[field];
	bool carries = field == t->key;
	/* the key is of the index alone: all switches have the same keys */
	uint64_t random = bits_of(t, 16 + field, 0, index);
	uint64_t value = carries ? control_entry_key(t, index) : low_bits(random, key->bits < 48 ? key->bits : 48);
	struct p4rt_match *m = &e->match[field];

	*m = (struct p4rt_match){ 0 };
	if (!carries && key->match != P4INFO_EXACT && key->match != P4INFO_LPM && random >> 63)
		return;
	m->value = p4rt_number(value, e->values[field][0]);
	if (key->match == P4INFO_LPM)
		m->prefix_bits = key->bits;
	else if (key->match == P4INFO_TERNARY)
		m->mask = ones_of(e, field, key->bits);
	else if (key->match == P4INFO_RANGE) {
		uint64_t most = low_bits(UINT64_MAX, key->bits < 48 ? key->bits : 48);

		m->mask = p4rt_number(most - value < RANGE_SPAN ? most : value + RANGE_SPAN, e->values[field][1]);
	}
}

void control_entry_make(const struct control_table *t, uint32_t at, uint32_t index, unsigned generation,
			struct control_entry *ret)
{
	const struct p4info_action *action = t->actions[generation];

	for (size_t i = 0; i < t->table->keys_count; i++)
		match_make(t, index, i, ret);
	for (size_t i = 0; i < action->params_count; i++) {
		const struct p4info_field *param = &action->params[i];
		uint64_t value = is_port(param) ? t->port : bits_of(t, 128 + 64 * generation + i, at, index);

		ret->params[i] = p4rt_number(low_bits(value, param->bits ? param->bits : 32), ret->param_values[i]);
	}
	ret->entry = (struct p4rt_entry){ .table = t->table,
					  .match = ret->match,
					  .action = action,
					  .params = ret->params,
					  .priority = t->table->needs_priority ? (int32_t)index + 1 : 0 };
}

bool control_entry_index(const struct control_table *t, const struct p4rt_entry *entry, uint32_t *ret_index)
{
	uint32_t mask = (UINT32_C(1) << t->index_bits) - 1;
	struct p4rt_bytes value;
	uint64_t number = 0;

	if (entry->table != t->table || entry->is_default)
		return false;
	value = entry->match[t->key].value;
	if (!value.data || value.length > 8)
		return false;
	for (size_t i = 0; i < value.length; i++)
		number = number << 8 | value.data[i];
	if ((number & ~(uint64_t)mask) != above(t))
		return false;
	*ret_index = (((uint32_t)number - t->offset) * t->stride_inverse) & mask;
	return true;
}
