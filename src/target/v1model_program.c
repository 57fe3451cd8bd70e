/* SPDX-License-Identifier: Apache-2.0 */
#include "target/v1model_program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/settings.h"
#include "target/compile.h"

enum { TEXT_BYTES_MAX = 16 << 20 };

static struct v1model_part brought_part(const char *text, const char *where)
{
	size_t length = strlen(text);

	return (struct v1model_part){ text, where, length, length ? hash_fnv1a64(text, length) : 0 };
}

int v1model_read_part(const char *path, struct arena *arena, struct v1model_part *ret, struct err *err)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	char *text = NULL;
	size_t length = 0;
	long size = 0;
	int rc = 0;

	if (!path)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	if (!file)
		return err_set(err, ERR_USAGE, errno, "%s: %s", path, strerror(errno));
	if (fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
		rc = err_set(err, ERR_USAGE, EINVAL, "%s: not a file that can be read whole", path);
	else if (size > TEXT_BYTES_MAX)
		rc = err_set(err, ERR_USAGE, EFBIG, "%s: %ld bytes; at most %d are expected", path, size,
			     TEXT_BYTES_MAX);
	else if (!(text = arena_alloc(arena, (size_t)size + 1)))
		rc = err_set(err, ERR_HOST, ENOMEM, "%s: no memory for %ld bytes", path, size);
	else if ((length = fread(text, 1, (size_t)size, file)) < (size_t)size)
		rc = err_set(err, ERR_USAGE, EIO, "%s: read %zu of %ld bytes", path, length, size);
	fclose(file);
	if (rc == 0)
		*ret = (struct v1model_part){ text, path, length, length ? hash_fnv1a64(text, length) : 0 };
	return rc;
}

const char *v1model_path(const char *directory, const char *name, struct arena *arena)
{
	if (name[0] == '/' || !directory || !*directory)
		return arena_strdup(arena, name);
	return arena_printf(arena, "%s/%s", directory, name);
}

static int load_own(const char *path, bool own_p4info, bool own_entries, struct arena *arena, struct v1model_program *p,
		    struct err *err)
{
	int stem = (int)(strlen(path) - strlen(".json"));
	const char *p4info = arena_printf(arena, "%.*s.p4info.txtpb", stem, path);
	const char *entries = arena_printf(arena, "%.*s.entries", stem, path);
	int rc = v1model_read_part(path, arena, &p->json, err);

	if (rc == 0 && own_p4info) {
		if (p4info && access(p4info, F_OK) != 0)
			p4info = arena_printf(arena, "%.*s.p4info.txt", stem, path);
		rc = v1model_read_part(p4info, arena, &p->p4info, err);
		if (rc == -ENOENT)
			rc = err_set(err, ERR_USAGE, ENOENT,
				     "%s has no P4Info beside it; expected %.*s.p4info.txtpb, or p4info: FILE in the "
				     "plan's target",
				     path, stem, path);
	}
	if (rc == 0 && own_entries && entries && access(entries, F_OK) == 0)
		rc = v1model_read_part(entries, arena, &p->entries, err);
	return rc;
}

static int not_found(const char *name, struct err *err)
{
	const char *names[16], *near;
	char list[200] = "";
	size_t count = 0, used = 0;

	for (const struct v1model_text *t = v1model_texts; t->name && count < 15; t++) {
		names[count++] = t->name;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s, ", t->name);
	}
	names[count] = NULL;
	near = nearest_name(name, names);
	return err_set(err, ERR_USAGE, ENOENT, "program \"%s\": unknown%s%s%s; expected %sor a file x.json or x.p4",
		       name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", list);
}

static int load_brought(const char *name, struct arena *arena, struct v1model_program *p, struct err *err)
{
	const struct v1model_text *t = v1model_texts;
	const char *p4info = arena_printf(arena, "%s.p4info.txtpb", name);
	const char *entries = arena_printf(arena, "%s.entries", name);

	while (t->name && strcmp(t->name, name) != 0)
		t++;
	if (!t->name)
		return not_found(name, err);
	if (!p4info || !entries)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	p->json = brought_part(t->json, name);
	p->p4info = brought_part(t->p4info, p4info);
	p->entries = brought_part(t->entries, entries);
	return 0;
}

/* P4Info and entries that the plan names itself are not looked for. */
static int load_source(const char *path, bool own_entries, struct arena *arena, struct v1model_program *p,
		       struct err *err)
{
	const char *entries = arena_printf(arena, "%.*s.entries", (int)(strlen(path) - strlen(".p4")), path);
	struct p4_compiled compiled = { 0 };
	int rc = p4_compile(path, arena, &compiled, err);

	if (rc < 0)
		return rc;
	p->json = compiled.json;
	p->p4info = compiled.p4info;
	p->json.where = p->p4info.where = path; /* the files it made have gone */
	p->compiler = compiled.compiler;
	return own_entries && entries && access(entries, F_OK) == 0
		       ? v1model_read_part(entries, arena, &p->entries, err)
		       : 0;
}

int v1model_program_load(const char *name, const char *directory, const char *p4info_path, const char *entries_path,
			 struct arena *arena, struct v1model_program *ret, struct err *err)
{
	struct v1model_program p = { .name = name, .entries = { .text = "", .where = "" } };
	size_t length = strlen(name);
	int rc;

	if (p4_is_source(name)) {
		const char *path = v1model_path(directory, name, arena);

		rc = path ? load_source(path, !entries_path, arena, &p, err)
			  : err_set(err, ERR_HOST, ENOMEM, "out of memory");
	} else if (length > 5 && strcmp(name + length - 5, ".json") == 0) {
		const char *path = v1model_path(directory, name, arena);

		rc = path ? load_own(path, !p4info_path, !entries_path, arena, &p, err)
			  : err_set(err, ERR_HOST, ENOMEM, "out of memory");
	} else {
		rc = load_brought(name, arena, &p, err);
	}
	if (rc == 0 && p4info_path)
		rc = v1model_read_part(v1model_path(directory, p4info_path, arena), arena, &p.p4info, err);
	if (rc == 0 && entries_path)
		rc = v1model_read_part(v1model_path(directory, entries_path, arena), arena, &p.entries, err);
	if (rc == 0)
		*ret = p;
	return rc;
}
