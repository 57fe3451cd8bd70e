/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/entries.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "p4rt/file.h"
#include "p4rt/value.h"

enum { FILE_LIMIT_BYTES = 256 << 20, LINE_LIMIT_BYTES = 64 << 10, PORTS_LIMIT = 1024 };

/* One word of a line: name=value, or a name alone (value NULL). */
struct word {
	char *name, *value;
};

struct parser {
	const struct p4info *info;
	struct arena *arena;
	VEC(struct p4rt_update) updates;
	VEC(struct word) words; /* of the present line */
	struct err *err;
};

static int no_memory(struct parser *p)
{
	return err_set(p->err, ERR_HOST, ENOMEM, "out of memory");
}

static int split(struct parser *p, char *line)
{
	p->words.count = 0;
	for (;;) {
		struct word w;

		line += strspn(line, " \t\r");
		if (!*line || *line == '#')
			return 0;
		w.name = line;
		line += strcspn(line, " \t\r");
		if (*line)
			*line++ = '\0';
		w.value = strchr(w.name, '=');
		if (w.value)
			*w.value++ = '\0';
		if (vec_push(&p->words, w) < 0)
			return no_memory(p);
	}
}

/* The word of that name; NULL when the line has none. Whoever understands a word takes its name away. */
static struct word *find(struct parser *p, const char *name)
{
	for (size_t i = 0; i < p->words.count; i++)
		if (p->words.items[i].name && strcmp(p->words.items[i].name, name) == 0)
			return &p->words.items[i];
	return NULL;
}

static int needs_value(struct parser *p, const struct word *w)
{
	return w->value && *w->value
		       ? 0
		       : err_set(p->err, ERR_USAGE, EINVAL, "'%.64s' needs a value: %.64s=...", w->name, w->name);
}

/* A whole number behind a name that must be there. */
static int number_word(struct parser *p, const char *name, int64_t least, int64_t most, int64_t *ret)
{
	struct word *w = find(p, name);
	int rc;

	if (!w)
		return err_set(p->err, ERR_USAGE, EINVAL, "needs %s=", name);
	rc = needs_value(p, w);
	if (rc == 0)
		rc = p4rt_number_parse(w->value, name, least, most, ret, p->err);
	w->name = NULL;
	return rc;
}

/* Every word must have meant something. */
static int check_used(struct parser *p, const char *what)
{
	for (size_t i = 0; i < p->words.count; i++)
		if (p->words.items[i].name)
			return err_set(p->err, ERR_USAGE, EINVAL, "'%.64s' means nothing %s", p->words.items[i].name,
				       what);
	return 0;
}

static int parse_op(struct parser *p, struct p4rt_update *u, bool *ret_given)
{
	static const char *const names[] = { NULL, "insert", "modify", "delete" };
	struct word *w = find(p, "op");

	*ret_given = w != NULL;
	u->op = P4RT_INSERT;
	if (!w)
		return 0;
	for (int op = P4RT_INSERT; op <= P4RT_DELETE; op++)
		if (w->value && strcmp(w->value, names[op]) == 0) {
			u->op = (enum p4rt_op)op;
			w->name = NULL;
			return 0;
		}
	return err_set(p->err, ERR_USAGE, EINVAL, "op='%.64s'; expected insert, modify or delete",
		       w->value ? w->value : "");
}

/* --- table=... --- */

struct entry_parser {
	struct p4rt_match *match;
	struct p4rt_bytes *params;
	bool *given; /* keys */
	bool has_priority;
};

static int named_key(struct parser *p, struct p4rt_entry *e, struct entry_parser *ep, const struct word *w)
{
	const struct p4info_field *key = p4info_key(e->table, w->name, p->err);
	size_t i;
	int rc;

	if (!key)
		return -p->err->code;
	i = (size_t)(key - e->table->keys);
	if (ep->given[i])
		return err_set(p->err, ERR_USAGE, EINVAL, "key '%.64s' is given twice", key->name);
	rc = needs_value(p, w);
	if (rc == 0)
		rc = p4rt_match_parse(w->value, key, p->arena, &ep->match[i], p->err);
	if (rc < 0)
		return err_wrap(p->err, "key '%.64s'", key->name);
	ep->given[i] = true;
	return 0;
}

static int named_param(struct parser *p, struct p4rt_entry *e, struct entry_parser *ep, const struct word *w)
{
	const struct p4info_field *param = p4info_param(e->action, w->name, p->err);
	struct p4rt_bytes *to;
	int rc;

	if (!param)
		return -p->err->code;
	to = &ep->params[param - e->action->params];
	if (to->data)
		return err_set(p->err, ERR_USAGE, EINVAL, "parameter '%.64s' is given twice", param->name);
	rc = needs_value(p, w);
	if (rc == 0)
		rc = p4rt_value_parse(w->value, param->bits, p->arena, to, p->err);
	return rc < 0 ? err_wrap(p->err, "parameter '%.64s'", param->name) : 0;
}

static bool has_field(const struct p4info_field *fields, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].name, name) == 0)
			return true;
	return false;
}

static int action_word(struct parser *p, struct p4rt_entry *e, struct entry_parser *ep, const struct word *w)
{
	int rc = needs_value(p, w);

	if (rc < 0)
		return rc;
	e->action = p4info_table_action(e->table, w->value, p->err);
	if (!e->action)
		return -p->err->code;
	ep->params = arena_array(p->arena, e->action->params_count, sizeof(*ep->params));
	e->params = ep->params;
	return ep->params ? 0 : no_memory(p);
}

static int priority_word(struct parser *p, struct p4rt_entry *e, struct entry_parser *ep, const struct word *w)
{
	int64_t number = 0;
	int rc = needs_value(p, w);

	if (ep->has_priority)
		return err_set(p->err, ERR_USAGE, EINVAL, "priority is given twice");
	if (rc == 0)
		rc = p4rt_number_parse(w->value, "priority", 1, INT32_MAX, &number, p->err);
	ep->has_priority = true;
	e->priority = (int32_t)number;
	return rc;
}

/* A field's full name goes before the words of this format, these before its short names. */
static int entry_word(struct parser *p, struct p4rt_entry *e, struct entry_parser *ep, const struct word *w)
{
	bool full = e->action ? has_field(e->action->params, e->action->params_count, w->name)
			      : has_field(e->table->keys, e->table->keys_count, w->name);

	if (!full && strcmp(w->name, "priority") == 0)
		return priority_word(p, e, ep, w);
	if (!full && !e->action && strcmp(w->name, "action") == 0)
		return action_word(p, e, ep, w);
	if (!full && !e->action && !w->value && strcmp(w->name, "default") == 0) {
		e->is_default = true;
		return 0;
	}
	if (e->is_default && !e->action)
		return err_set(p->err, ERR_USAGE, EINVAL, "key '%.64s': a default action has no keys", w->name);
	return e->action ? named_param(p, e, ep, w) : named_key(p, e, ep, w);
}

static int check_given(struct parser *p, const struct p4rt_entry *e, const struct entry_parser *ep)
{
	for (size_t i = 0; i < e->table->keys_count; i++) {
		const struct p4info_field *key = &e->table->keys[i];

		if (e->is_default && ep->given[i])
			return err_set(p->err, ERR_USAGE, EINVAL, "key '%.64s': a default action has no keys",
				       key->name);
		if (!e->is_default && key->match == P4INFO_LPM && !ep->given[i])
			return err_set(p->err, ERR_USAGE, EINVAL,
				       "table '%.64s': key '%.64s': missing; '*' matches everything",
				       e->table->is.alias, key->name);
	}
	return 0;
}

static int parse_entry(struct parser *p, struct word *table_word, struct p4rt_update *u)
{
	struct entry_parser ep = { 0 };
	struct p4rt_entry *e = &u->entry;
	bool op_given;
	int rc = parse_op(p, u, &op_given);

	if (rc == 0)
		rc = needs_value(p, table_word);
	if (rc < 0)
		return rc;
	e->table = p4info_table(p->info, table_word->value, p->err);
	if (!e->table)
		return -p->err->code;
	table_word->name = NULL;
	ep.match = arena_array(p->arena, e->table->keys_count, sizeof(*ep.match));
	ep.given = arena_array(p->arena, e->table->keys_count, sizeof(*ep.given));
	e->match = ep.match;
	if (!ep.match || !ep.given)
		return no_memory(p);
	for (size_t i = 0; rc == 0 && i < p->words.count; i++)
		if (p->words.items[i].name)
			rc = entry_word(p, e, &ep, &p->words.items[i]);
	if (rc == 0)
		rc = check_given(p, e, &ep);
	if (rc == 0 && e->is_default && !op_given)
		u->op = P4RT_MODIFY;
	return rc < 0 ? rc : p4rt_entry_check(e, u->op, p->err);
}

/* --- register=, multicast=, clone= --- */

static int parse_register(struct parser *p, struct word *name, struct p4rt_update *u)
{
	int64_t most;
	struct word *value;
	int rc = needs_value(p, name);

	if (rc < 0)
		return rc;
	u->kind = P4RT_UPDATE_REGISTER;
	u->op = P4RT_MODIFY;
	u->reg = p4info_object(p->info, P4INFO_REGISTER, name->value, p->err);
	if (!u->reg)
		return -p->err->code;
	if (u->reg->bits == 0)
		return err_set(p->err, ERR_USAGE, EINVAL, "register '%.64s' does not hold bit<W>", u->reg->is.alias);
	name->name = NULL;
	most = u->reg->size > 0 ? u->reg->size - 1 : INT32_MAX;
	rc = number_word(p, "index", 0, most, &u->index);
	if (rc < 0)
		return rc;
	value = find(p, "value");
	if (!value)
		return err_set(p->err, ERR_USAGE, EINVAL, "needs value=");
	rc = needs_value(p, value);
	if (rc == 0)
		rc = p4rt_value_parse(value->value, u->reg->bits, p->arena, &u->value, p->err);
	value->name = NULL;
	return rc < 0 ? rc : check_used(p, "to a register");
}

static int parse_ports(struct parser *p, char *text, struct p4rt_update *u)
{
	uint32_t *ports = arena_array(p->arena, PORTS_LIMIT, sizeof(*ports));
	char *save = NULL;

	if (!ports)
		return no_memory(p);
	u->ports = ports;
	for (char *one = strtok_r(text, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		int64_t port = 0;
		int rc = p4rt_number_parse(one, "port", 0, UINT32_MAX, &port, p->err);

		if (rc < 0)
			return rc;
		if (u->ports_count == PORTS_LIMIT)
			return err_set(p->err, ERR_USAGE, EINVAL, "more than %d ports", PORTS_LIMIT);
		ports[u->ports_count++] = (uint32_t)port;
	}
	return 0;
}

/* `name`: multicast or clone. */
static int parse_replicas(struct parser *p, const char *name, struct p4rt_update *u)
{
	int64_t group = 0;
	struct word *ports;
	bool op_given;
	int rc = parse_op(p, u, &op_given);

	u->kind = strcmp(name, "clone") == 0 ? P4RT_UPDATE_CLONE : P4RT_UPDATE_MULTICAST;
	if (rc == 0)
		rc = number_word(p, name, 1, UINT32_MAX, &group);
	if (rc < 0)
		return rc;
	u->group = (uint32_t)group;
	ports = find(p, "ports");
	if (ports) {
		rc = needs_value(p, ports);
		if (rc == 0)
			rc = parse_ports(p, ports->value, u);
		ports->name = NULL;
	}
	if (rc == 0 && u->ports_count == 0 && u->op != P4RT_DELETE)
		rc = err_set(p->err, ERR_USAGE, EINVAL, "needs ports=, as in ports=1,2,3");
	return rc < 0 ? rc
		      : check_used(p, u->kind == P4RT_UPDATE_CLONE ? "to a clone session" : "to a multicast group");
}

/* --- the file --- */

static int parse_line(struct parser *p, char *line, unsigned number)
{
	struct p4rt_update u = { .line = number };
	struct word *w;
	int rc = split(p, line);

	if (rc < 0 || p->words.count == 0)
		return rc;
	if ((w = find(p, "table")))
		rc = parse_entry(p, w, &u);
	else if ((w = find(p, "register")))
		rc = parse_register(p, w, &u);
	else if (find(p, "multicast"))
		rc = parse_replicas(p, "multicast", &u);
	else if (find(p, "clone"))
		rc = parse_replicas(p, "clone", &u);
	else
		rc = err_set(p->err, ERR_USAGE, EINVAL, "expected table=, register=, multicast= or clone=, not '%.64s'",
			     p->words.items[0].name);
	if (rc == 0 && vec_push(&p->updates, u) < 0)
		rc = no_memory(p);
	return rc;
}

static int parse_text(struct parser *p, const char *text, size_t length, const char *where)
{
	const char *end = text + length;
	unsigned number = 0;
	char *line = malloc(LINE_LIMIT_BYTES);
	int rc = 0;

	if (!line)
		return no_memory(p);
	while (rc == 0 && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text);

		number++;
		if (n >= LINE_LIMIT_BYTES)
			rc = err_set(p->err, ERR_USAGE, EINVAL, "longer than %d bytes", LINE_LIMIT_BYTES - 1);
		else if (memchr(text, '\0', n))
			rc = err_set(p->err, ERR_USAGE, EINVAL, "holds a zero byte; this is not text");
		else {
			memcpy(line, text, n);
			line[n] = '\0';
			rc = parse_line(p, line, number);
		}
		text += n + 1;
	}
	free(line);
	return rc < 0 ? err_wrap(p->err, "%s:%u", where, number) : 0;
}

int p4rt_entries_parse(const struct p4info *info, const char *text, size_t length, const char *where,
		       struct p4rt_entries **ret_entries, struct err *err)
{
	struct p4rt_entries *entries = calloc(1, sizeof(*entries));
	struct err own = { 0 };
	struct parser p = { .info = info, .err = err ? err : &own };
	int rc;

	if (!entries)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", where);
	arena_init(&entries->arena, 0);
	p.arena = &entries->arena;
	rc = parse_text(&p, text, length, where);
	free(p.words.items);
	entries->items = p.updates.items;
	entries->count = p.updates.count;
	if (rc < 0) {
		p4rt_entries_destroy(entries);
		return rc;
	}
	*ret_entries = entries;
	return 0;
}

int p4rt_entries_read(const struct p4info *info, const char *path, struct p4rt_entries **ret_entries, struct err *err)
{
	size_t length;
	char *text;
	int rc = file_read(path, FILE_LIMIT_BYTES, &text, &length, err);

	if (rc < 0)
		return rc;
	rc = p4rt_entries_parse(info, text, length, path, ret_entries, err);
	free(text);
	return rc;
}

void p4rt_entries_destroy(struct p4rt_entries *entries)
{
	if (!entries)
		return;
	arena_release(&entries->arena);
	free(entries->items);
	free(entries);
}

int p4rt_entries_encode(const struct p4rt_entries *entries, struct p4rt_updates *updates)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < entries->count; i++) {
		const struct p4rt_update *u = &entries->items[i];

		switch (u->kind) {
		case P4RT_UPDATE_ENTRY:
			rc = p4rt_updates_add(updates, u->op, &u->entry);
			break;
		case P4RT_UPDATE_REGISTER:
			rc = p4rt_updates_add_register(updates, u->reg, u->index, u->value);
			break;
		case P4RT_UPDATE_MULTICAST:
			rc = p4rt_updates_add_multicast(updates, u->op, u->group, u->ports, u->ports_count);
			break;
		case P4RT_UPDATE_CLONE:
			rc = p4rt_updates_add_clone(updates, u->op, u->group, u->ports, u->ports_count);
			break;
		}
	}
	return rc;
}
