/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "p4rt/entry.h"

/* --- checking --- */

static uint32_t bits_of(struct p4rt_bytes b)
{
	struct p4rt_bytes c = p4rt_canonical(b.data, b.length);

	return c.length == 0 || c.data[0] == 0 ? 0 : (uint32_t)(c.length * 8) - (uint32_t)__builtin_clz(c.data[0]) + 24;
}

/* The byte of weight 256^i. */
static uint8_t byte_at(struct p4rt_bytes b, size_t i)
{
	return i < b.length ? b.data[b.length - 1 - i] : 0;
}

static void hex(struct p4rt_bytes b, char *buf, size_t size)
{
	size_t n = 2;

	snprintf(buf, size, "0x");
	for (size_t i = 0; i < b.length && n + 6 < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%02x", b.data[i]);
	if (n + 6 >= size)
		snprintf(buf + n, size - n, "...");
}

struct place {
	const struct p4info_name *owner;
	const char *owner_kind, *field_kind;
	const struct p4info_field *field;
	struct err *err;
};

__attribute__((format(printf, 2, 3))) static int bad(const struct place *p, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(p->err, ERR_USAGE, EINVAL, "%s '%.64s': %s '%.64s': %s", p->owner_kind, p->owner->alias,
		       p->field_kind, p->field->name, text);
}

static int check_width(const struct place *p, struct p4rt_bytes value)
{
	char text[64];

	if (value.length == 0)
		return bad(p, "an empty value");
	if (p->field->bits == 0 || bits_of(value) <= p->field->bits)
		return 0;
	hex(value, text, sizeof(text));
	return bad(p, "%s needs %u bits; the field has %u", text, bits_of(value), p->field->bits);
}

static int check_lpm(const struct place *p, const struct p4rt_match *m)
{
	uint32_t free_bits = p->field->bits - m->prefix_bits;
	char text[64];

	if (m->prefix_bits == 0 || m->prefix_bits > p->field->bits)
		return bad(p, "prefix length %u; expected 1 to %u, or '*' to match everything", m->prefix_bits,
			   p->field->bits);
	for (uint32_t bit = 0; bit < free_bits; bit += 8) {
		uint8_t mask = free_bits - bit >= 8 ? 0xff : (uint8_t)((1 << (free_bits - bit)) - 1);

		if (byte_at(m->value, bit / 8) & mask) {
			hex(m->value, text, sizeof(text));
			return bad(p, "%s has bits set beyond its prefix of %u", text, m->prefix_bits);
		}
	}
	return 0;
}

static int check_ternary(const struct place *p, const struct p4rt_match *m)
{
	char value[64], mask[64];

	if (bits_of(m->mask) == 0)
		return bad(p, "a mask of zero; leave the key out, or write '*'");
	for (size_t i = 0; i < m->value.length; i++)
		if (byte_at(m->value, i) & ~byte_at(m->mask, i)) {
			hex(m->value, value, sizeof(value));
			hex(m->mask, mask, sizeof(mask));
			return bad(p, "%s has bits set outside its mask %s", value, mask);
		}
	return 0;
}

static int check_range(const struct place *p, const struct p4rt_match *m)
{
	size_t i = m->value.length > m->mask.length ? m->value.length : m->mask.length;
	char low[64], high[64];

	while (i > 0 && byte_at(m->value, i - 1) == byte_at(m->mask, i - 1))
		i--;
	if (i == 0 || byte_at(m->value, i - 1) < byte_at(m->mask, i - 1))
		return 0;
	hex(m->value, low, sizeof(low));
	hex(m->mask, high, sizeof(high));
	return bad(p, "a range from %s down to %s", low, high);
}

static int check_match(const struct place *p, const struct p4rt_match *m)
{
	int rc;

	if (p->field->match == P4INFO_MATCH_OTHER)
		return bad(p, "its kind of match is not one of P4Runtime's");
	if (!m->value.data)
		return p->field->match == P4INFO_EXACT ? bad(p, "missing; an exact key must be given") : 0;
	rc = check_width(p, m->value);
	if (rc == 0 && (p->field->match == P4INFO_TERNARY || p->field->match == P4INFO_RANGE))
		rc = check_width(p, m->mask);
	if (rc < 0)
		return rc;
	switch (p->field->match) {
	case P4INFO_LPM:
		return check_lpm(p, m);
	case P4INFO_TERNARY:
		return check_ternary(p, m);
	case P4INFO_RANGE:
		return check_range(p, m);
	default:
		return 0;
	}
}

static int check_action(const struct p4rt_entry *e, struct err *err)
{
	struct place p = { &e->action->is, "action", "parameter", NULL, err };
	const struct p4info_action_ref *ref = e->table->actions;
	const struct p4info_action_ref *end = ref + e->table->actions_count;

	while (ref < end && ref->action->is.id != e->action->is.id)
		ref++;
	if (ref == end)
		return err_set(err, ERR_USAGE, EINVAL, "table '%.64s' has no action '%.64s'", e->table->is.alias,
			       e->action->is.alias);
	if (e->is_default ? !ref->as_default : !ref->in_entries)
		return err_set(err, ERR_USAGE, EINVAL, "table '%.64s': action '%.64s' may %s", e->table->is.alias,
			       e->action->is.alias,
			       e->is_default ? "stand in entries only, not be the default" : "only be the default");
	for (size_t i = 0; i < e->action->params_count; i++) {
		int rc;

		p.field = &e->action->params[i];
		rc = e->params[i].data ? check_width(&p, e->params[i]) : bad(&p, "missing");
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_default(const struct p4rt_entry *e, enum p4rt_op op, struct err *err)
{
	const char *name = e->table->is.alias;

	if (op != P4RT_MODIFY)
		return err_set(err, ERR_USAGE, EINVAL, "table '%.64s': a default action can only be modified", name);
	if (e->table->const_default)
		return err_set(err, ERR_USAGE, EINVAL, "table '%.64s': its default action is constant", name);
	if (e->priority)
		return err_set(err, ERR_USAGE, EINVAL, "table '%.64s': a default action has no priority", name);
	return e->action ? check_action(e, err) : 0; /* without: back to the program's own */
}

int p4rt_entry_check(const struct p4rt_entry *entry, enum p4rt_op op, struct err *err)
{
	const struct p4info_table *table = entry->table;
	struct place p = { &table->is, "table", "key", NULL, err };

	if (entry->is_default)
		return check_default(entry, op, err);
	if (table->is_const)
		return err_set(err, ERR_USAGE, EINVAL, "table '%.64s': its entries are constant", table->is.alias);
	if (table->implementation_id)
		return err_set(err, ERR_USAGE, EINVAL,
			       "table '%.64s': its actions stand in an action profile, which is not supported",
			       table->is.alias);
	for (size_t i = 0; i < table->keys_count; i++) {
		int rc;

		p.field = &table->keys[i];
		rc = check_match(&p, &entry->match[i]);
		if (rc < 0)
			return rc;
	}
	if (table->needs_priority && entry->priority <= 0)
		return err_set(err, ERR_USAGE, EINVAL, "table '%.64s': needs priority= above 0, the higher wins",
			       table->is.alias);
	if (!table->needs_priority && entry->priority)
		return err_set(err, ERR_USAGE, EINVAL, "table '%.64s': priority=%d, but none of its keys needs one",
			       table->is.alias, entry->priority);
	if (!entry->action)
		return op == P4RT_DELETE
			       ? 0
			       : err_set(err, ERR_USAGE, EINVAL, "table '%.64s': needs action=", table->is.alias);
	return check_action(entry, err);
}

/* --- as text --- */

struct writer {
	char *buf;
	size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void say(struct writer *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->length < w->size ? w->buf + w->length : NULL, w->length < w->size ? w->size - w->length : 0,
		      fmt, ap);
	va_end(ap);
	w->length += n > 0 ? (size_t)n : 0;
}

/* As its width suggests: an IPv4 address, a MAC, a number. */
static void say_value(struct writer *w, struct p4rt_bytes b, uint32_t bits)
{
	uint64_t number = 0;

	for (size_t i = 0; i < b.length && i < 8; i++)
		number = number << 8 | b.data[i];
	if (bits == 0)
		say(w, "%.*s", (int)b.length, (const char *)b.data);
	else if (bits == 32)
		say(w, "%u.%u.%u.%u", byte_at(b, 3), byte_at(b, 2), byte_at(b, 1), byte_at(b, 0));
	else if (bits == 48)
		say(w, "%02x:%02x:%02x:%02x:%02x:%02x", byte_at(b, 5), byte_at(b, 4), byte_at(b, 3), byte_at(b, 2),
		    byte_at(b, 1), byte_at(b, 0));
	else if (b.length <= 8)
		say(w, "%llu", (unsigned long long)number);
	else {
		say(w, "0x");
		for (size_t i = 0; i < b.length; i++)
			say(w, "%02x", b.data[i]);
	}
}

size_t p4rt_entry_format(const struct p4rt_entry *e, char *buf, size_t size_bytes)
{
	struct writer w = { buf, size_bytes, 0 };

	say(&w, "table=%s", e->table->is.name);
	if (e->is_default)
		say(&w, " default");
	for (size_t i = 0; !e->is_default && i < e->table->keys_count; i++) {
		const struct p4info_field *key = &e->table->keys[i];
		const struct p4rt_match *m = &e->match[i];

		say(&w, " %s=", key->name);
		if (!m->value.data) {
			say(&w, "*");
			continue;
		}
		say_value(&w, m->value, key->bits);
		if (key->match == P4INFO_LPM)
			say(&w, "/%u", m->prefix_bits);
		if (key->match == P4INFO_TERNARY || key->match == P4INFO_RANGE) {
			say(&w, key->match == P4INFO_TERNARY ? "&&&" : "..");
			say_value(&w, m->mask, key->bits);
		}
	}
	if (e->action)
		say(&w, " action=%s", e->action->is.name);
	for (size_t i = 0; e->action && i < e->action->params_count; i++) {
		say(&w, " %s=", e->action->params[i].name);
		say_value(&w, e->params[i], e->action->params[i].bits);
	}
	if (e->priority)
		say(&w, " priority=%d", e->priority);
	return w.length;
}
