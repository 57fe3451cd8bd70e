/* SPDX-License-Identifier: Apache-2.0 */
#include "target/spec_entries.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "target/spec_text.h"

#define TEXT_MAX 2048 /* of one entry as DPDK reads it */

struct reader {
	const struct spec *spec;
	struct spec_text text;
	const struct spec_line *line;
	uint32_t at; /* the token to read */
	char out[TEXT_MAX];
	size_t used;
	struct err *err;
};

#define fail(r, ...) spec_fail((r)->err, (r)->text.path, (r)->line->number, __VA_ARGS__)

static const char *next(struct reader *r)
{
	return r->at < r->line->count ? r->line->tokens[r->at++] : NULL;
}

static bool next_is(const struct reader *r, const char *word)
{
	return r->at < r->line->count && strcmp(r->line->tokens[r->at], word) == 0;
}

static int put(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int put(struct reader *r, const char *fmt, ...)
{
	size_t room = sizeof(r->out) - r->used;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(r->out + r->used, room, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room)
		return fail(r, "entry is longer than %d characters", TEXT_MAX - 1);
	r->used += (size_t)n;
	return 0;
}

/* Parts of one or two (ipv4) or exactly two (mac) digits' worth, between separators, to the end of the text. */
static bool read_parts(const char *text, char separator, unsigned parts, unsigned base, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < parts; i++) {
		unsigned part = 0, digits = 0;

		for (; *text && *text != separator; text++, digits++) {
			const char *at = strchr("0123456789abcdef", *text >= 'A' && *text <= 'F' ? *text + 32 : *text);

			if (!at || (unsigned)(at - "0123456789abcdef") >= base || digits == (base == 16 ? 2 : 3))
				return false;
			part = part * base + (unsigned)(at - "0123456789abcdef");
		}
		if (!digits || part > 255 || (*text == separator) != (i + 1 < parts))
			return false;
		text += *text == separator;
		value = value << 8 | part;
	}
	*ret_value = value;
	return true;
}

static int read_value(struct reader *r, const char *token, const char *what, uint32_t bits, uint64_t *ret_value)
{
	uint64_t value;

	if (bits > 64)
		return fail(r, "%s has %u bits, expected 64 at most in a table file", what, bits);
	if (!spec_number(token, &value) && !(bits == 32 && read_parts(token, '.', 4, 10, &value)) &&
	    !(bits == 48 && read_parts(token, ':', 6, 16, &value)))
		return fail(r, "%s \"%s\": expected a number%s", what, token,
			    bits == 32   ? " or an IPv4 address"
			    : bits == 48 ? " or a MAC address"
					 : "");
	if (bits < 64 && value >> bits)
		return fail(r, "%s \"%s\": does not fit its %u bits", what, token, bits);
	*ret_value = value;
	return 0;
}

static uint64_t ones(uint32_t bits)
{
	return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

static int read_key(struct reader *r, const struct spec_table *t, const struct spec_key *key)
{
	const char *token = next(r), *slash;
	uint64_t value = 0, mask = 0;
	char head[64];
	int rc;

	if (!token)
		return fail(r, "%s: expected a value for its key %s", t->name, key->field);
	slash = strchr(token, '/');
	if (slash && key->match == SPEC_EXACT)
		return fail(r, "\"%s\": %s is matched exactly, expected no mask", token, key->field);
	snprintf(head, sizeof(head), "%.*s", (int)(slash ? slash - token : (ptrdiff_t)strlen(token)), token);
	rc = read_value(r, head, key->field, key->bits, &value);
	if (rc)
		return rc;
	if (!slash && key->match == SPEC_EXACT)
		return put(r, " 0x%" PRIx64, value);
	if (!slash)
		return put(r, " 0x%" PRIx64 "/0x%" PRIx64, value, ones(key->bits));
	if (key->match == SPEC_LPM) {
		if (!spec_number(slash + 1, &mask) || mask > key->bits)
			return fail(r, "\"%s\": expected a prefix length of %u at most", token, key->bits);
		mask = ones(key->bits) ^ ones(key->bits - (uint32_t)mask);
		return put(r, " 0x%" PRIx64 "/0x%" PRIx64, value & mask, mask);
	}
	rc = read_value(r, slash + 1, key->field, key->bits, &mask);
	return rc ? rc : put(r, " 0x%" PRIx64 "/0x%" PRIx64, value, mask);
}

static int read_match(struct reader *r, const struct spec_table *t)
{
	int rc;

	if (t->learner)
		return fail(r, "%s is a learner, which enters its own: expected \"%s default action ...\"", t->name,
			    t->name);
	if (!t->key_count)
		return fail(r, "%s has no key: expected \"%s default action ...\"", t->name, t->name);
	rc = put(r, "match");
	for (uint32_t i = 0; !rc && i < t->key_count; i++)
		rc = read_key(r, t, &t->keys[i]);
	if (!rc && next_is(r, "priority")) {
		const char *token;
		uint64_t priority;

		r->at++;
		token = next(r);
		if (!token || !spec_number(token, &priority) || priority > UINT32_MAX)
			return fail(r, "priority \"%s\": expected a number below 2^32", token ? token : "");
		rc = put(r, " priority %" PRIu64, priority);
	}
	if (!rc && !next_is(r, "action"))
		rc = fail(r, "\"%s\": expected \"action NAME\" after %u key value%s",
			  r->at < r->line->count ? r->line->tokens[r->at] : "end of line", t->key_count,
			  t->key_count == 1 ? "" : "s");
	return rc ? rc : put(r, " ");
}

static int read_args(struct reader *r, const struct spec_action *action)
{
	for (uint32_t i = 0; action->args && i < action->args->field_count; i++) {
		const struct spec_field *arg = &action->args->fields[i];
		const char *token;
		uint64_t value = 0;
		int rc;

		if (!next_is(r, arg->name))
			return fail(r, "action %s: expected its argument \"%s VALUE\"", action->name, arg->name);
		r->at++;
		token = next(r);
		if (!token)
			return fail(r, "action %s: expected a value for %s", action->name, arg->name);
		rc = read_value(r, token, arg->name, arg->bits, &value);
		if (!rc)
			rc = put(r, " %s 0x%" PRIx64, arg->name, value);
		if (rc)
			return rc;
	}
	if (r->at < r->line->count)
		return fail(r, "\"%s\": expected the end of the line after the arguments of %s", r->line->tokens[r->at],
			    action->name);
	return 0;
}

static int read_action(struct reader *r, const struct spec_table *t, bool is_default)
{
	const char *word = next(r), *name = next(r);

	if (!word || !name || strcmp(word, "action") != 0)
		return fail(r, "%s: expected \"action NAME\"", t->name);
	for (uint32_t i = 0; i < t->action_count; i++) {
		const struct spec_table_action *a = &t->actions[i];
		int rc;

		if (strcmp(a->action->name, name) != 0)
			continue;
		if (is_default ? !a->for_default : !a->for_entries)
			return fail(r, "action %s of %s is for %s only", name, t->name,
				    is_default ? "entries" : "the default");
		rc = put(r, "action %s", name);
		return rc ? rc : read_args(r, a->action);
	}
	return fail(r, "action %s: not one of the actions of table %s%s%s", name, t->name,
		    t->action_count ? ", expected one like " : "", t->action_count ? t->actions[0].action->name : "");
}

static int read_entry(struct reader *r, struct spec_entry *ret)
{
	const char *name = next(r), *word = next(r);
	const struct spec_table *t = spec_find_table(r->spec, name);
	int rc;

	if (!t)
		return fail(r, "table %s: not in %s%s%s", name, r->spec->path,
			    r->spec->table_count ? ", expected a table like " : ", which has no tables",
			    r->spec->table_count ? r->spec->tables[0].name : "");
	ret->table = t;
	ret->line = r->line->number;
	ret->is_default = word && strcmp(word, "default") == 0;
	if (!ret->is_default && (!word || strcmp(word, "match") != 0))
		return fail(r, "\"%s\": expected \"match VALUE ...\" or \"default\" after the table's name",
			    word ? word : "end of line");
	if (ret->is_default && t->default_const)
		return fail(r, "the default action of %s is const in %s", name, r->spec->path);
	rc = ret->is_default ? 0 : read_match(r, t);
	return rc ? rc : read_action(r, t, ret->is_default);
}

int spec_entries_parse(const char *text, size_t length, const char *path, const struct spec *spec, struct arena *arena,
		       struct spec_entries **ret_entries, struct err *err)
{
	struct reader r = { .spec = spec, .err = err };
	struct spec_entries *entries;
	int rc = spec_text_split(text, length, path, arena, &r.text, err);

	if (rc)
		return rc;
	entries = arena_alloc(arena, sizeof(*entries));
	if (entries)
		entries->items = arena_array(arena, r.text.count + 1u, sizeof(*entries->items));
	if (!entries || !entries->items)
		return err_set(err, ERR_HOST, ENOMEM, "%s: no memory for %u entries", path, r.text.count);
	entries->path = r.text.path;
	for (; entries->count < r.text.count; entries->count++) {
		struct spec_entry *entry = &entries->items[entries->count];

		r.line = &r.text.lines[entries->count];
		r.at = 0;
		r.used = 0;
		rc = read_entry(&r, entry);
		if (rc)
			return rc;
		entry->text = arena_strdup(arena, r.out);
		if (!entry->text)
			return err_set(err, ERR_HOST, ENOMEM, "%s: no memory for entry %u", path, entries->count);
	}
	*ret_entries = entries;
	return 0;
}
