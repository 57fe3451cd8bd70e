/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "program/build.h"

enum { ARENA_MOST = 1 << 30, FILE_MOST = 256 << 20 };

static void maps_of(struct build *b, json_t ***list)
{
	json_t **all[] = { &b->header_types, &b->headers,      &b->fields,     &b->stacks,    &b->unions,
			   &b->action_ids,   &b->tables,       &b->profiles,   &b->registers, &b->counters,
			   &b->meters,       &b->calculations, &b->value_sets, &b->learn_ids };

	memcpy(list, all, sizeof(all));
	list[sizeof(all) / sizeof(all[0])] = NULL;
}

static int check_version(struct build *b)
{
	const json_t *meta = json_object_get(b->root, "__meta__"), *version = json_object_get(meta, "version");
	json_int_t major = json_integer_value(json_array_get(version, 0));

	if (!json_is_array(version))
		return err_set(b->err, ERR_USAGE, EINVAL,
			       "this is not the JSON of p4c's bmv2 backend: it has no __meta__.version");
	if (major != 2)
		return err_set(b->err, ERR_USAGE, EINVAL,
			       "the JSON is of format version %" JSON_INTEGER_FORMAT "; version 2 is supported", major);
	return 0;
}

/* Hand what was gathered in growing arrays to the program. */
static int finish(struct build *b)
{
	struct program *p = b->p;
	const char *name = json_string_value(json_object_get(b->root, "program"));

	p->name = arena_strdup(&p->arena, name ? name : "");
	p->code_count = (uint32_t)b->code.count;
	p->code = arena_array(&p->arena, b->code.count + 1, sizeof(*p->code));
	p->constant_count = (uint32_t)b->constants.count;
	p->constants = arena_array(&p->arena, b->constants.count + 1, sizeof(*p->constants));
	p->select_count = (uint32_t)b->selects.count;
	p->selects = arena_array(&p->arena, b->selects.count + 1, sizeof(*p->selects));
	p->message_count = (uint32_t)b->messages.count;
	p->messages = arena_array(&p->arena, b->messages.count + 1, sizeof(*p->messages));
	if (!p->name || !p->code || !p->constants || !p->selects || !p->messages)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	if (p->code_count)
		memcpy(p->code, b->code.items, p->code_count * sizeof(*p->code));
	if (p->constant_count)
		memcpy((void *)(uintptr_t)p->constants, b->constants.items, p->constant_count * sizeof(*p->constants));
	if (p->select_count)
		memcpy(p->selects, b->selects.items, p->select_count * sizeof(*p->selects));
	if (p->message_count)
		memcpy(p->messages, b->messages.items, p->message_count * sizeof(*p->messages));
	p->memory_slots = p->constants_slot + p->constant_count;
	if (p->memory_slots > MEMORY_MOST * 2)
		return err_set(b->err, ERR_USAGE, E2BIG,
			       "the program needs %u words for a packet; at most %d are supported", p->memory_slots,
			       MEMORY_MOST * 2);
	return 0;
}

static int build(struct build *b)
{
	static int (*const parts[])(struct build *) = {
		check_version, load_shape, load_objects, load_actions, load_controls, load_parser, finish, load_plans,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int rc = parts[i](b);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* `temps`: slots for temporaries; *ret_temps: how many were used. */
static int build_all(struct program *p, const json_t *root, uint32_t temps, uint32_t *ret_temps, struct err *err)
{
	struct build b = { .p = p, .err = err, .root = root, .temp_slots = temps };
	json_t **maps[32];
	int rc = 0;

	maps_of(&b, maps);
	for (size_t i = 0; maps[i]; i++) {
		*maps[i] = json_object();
		if (!*maps[i])
			rc = err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	if (rc == 0)
		rc = build(&b);
	*ret_temps = b.temp_most;
	for (size_t i = 0; maps[i]; i++)
		json_decref(*maps[i]);
	free(b.code.items);
	free(b.constants.items);
	free(b.selects.items);
	free(b.messages.items);
	return rc;
}

int program_load(const char *json, size_t length, struct program **ret_program, struct err *err)
{
	struct err own = { 0 };
	struct program *p;
	uint32_t temps;
	json_error_t where;
	json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &where);
	int rc;

	if (!err)
		err = &own; /* the builder looks at it */
	err->code = 0;
	if (!root)
		return err_set(err, ERR_USAGE, EINVAL, "not JSON: line %d, column %d: %s", where.line, where.column,
			       where.text);
	p = calloc(1, sizeof(*p));
	if (!p) {
		json_decref(root);
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	arena_init(&p->arena, ARENA_MOST);
	rc = json_is_object(root) ? build_all(p, root, TEMP_SLOTS, &temps, err)
				  : err_set(err, ERR_USAGE, EINVAL, "the JSON is not an object");
	if (rc == 0) {
		/* once more with no more temporaries than it takes: a packet's memory is what the cache has to hold */
		arena_release(&p->arena);
		memset(p, 0, sizeof(*p));
		arena_init(&p->arena, ARENA_MOST);
		rc = build_all(p, root, temps, &temps, err);
	}
	json_decref(root);
	if (rc < 0) {
		program_destroy(p);
		return rc;
	}
	*ret_program = p;
	return 0;
}

int program_load_file(const char *path, struct program **ret_program, struct err *err)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *text;
	size_t length;
	int rc;

	if (!f || fstat(fileno(f), &st) < 0) {
		rc = errno;
		if (f)
			fclose(f);
		return err_set(err, ERR_USAGE, rc, "%s: %s", path, strerror(rc));
	}
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MOST) {
		fclose(f);
		return err_set(err, ERR_USAGE, EINVAL, "%s: a file of at most %d MiB is expected", path,
			       FILE_MOST >> 20);
	}
	text = malloc((size_t)st.st_size + 1);
	if (!text) {
		fclose(f);
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	length = fread(text, 1, (size_t)st.st_size, f);
	fclose(f);
	rc = program_load(text, length, ret_program, err);
	free(text);
	if (rc < 0)
		err_wrap(err, "%s", path);
	return rc;
}

void program_destroy(struct program *program)
{
	if (!program)
		return;
	arena_release(&program->arena);
	free(program);
}

uint32_t program_find_table(const struct program *p, const char *name)
{
	for (uint32_t i = 0; i < p->table_count; i++)
		if (strcmp(p->tables[i].name, name) == 0)
			return i;
	return NOWHERE;
}

uint32_t program_find_action(const struct program *p, const char *name)
{
	for (uint32_t i = 0; i < p->action_count; i++)
		if (strcmp(p->actions[i].name, name) == 0)
			return i;
	return NOWHERE;
}
