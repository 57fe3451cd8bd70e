/* SPDX-License-Identifier: Apache-2.0 */
#include "target/pipeline_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/settings.h"

#define TEXT_BYTES_MAX (4u << 20) /* of a program's or its entries' file */

/* The whole file into the arena. */
static int read_file(const char *path, struct arena *arena, const char **ret_text, size_t *ret_length, struct err *err)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t length = 0;
	long size;
	int rc = 0;

	if (!file)
		return err_set(err, ERR_USAGE, errno, "%s: %s", path, strerror(errno));
	if (fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
		rc = err_set(err, ERR_USAGE, EINVAL, "%s: not a file that can be read whole", path);
	else if (size > (long)TEXT_BYTES_MAX)
		rc = err_set(err, ERR_USAGE, EFBIG, "%s: %ld bytes, expected %u at most", path, size, TEXT_BYTES_MAX);
	else if (!(text = arena_alloc(arena, (size_t)size + 1)))
		rc = err_set(err, ERR_HOST, ENOMEM, "%s: no memory for %ld bytes", path, size);
	else if ((length = fread(text, 1, (size_t)size, file)) < (size_t)size)
		rc = err_set(err, ERR_USAGE, EIO, "%s: read %zu of %ld bytes", path, length, size);
	fclose(file);
	if (rc)
		return rc;
	*ret_text = text;
	*ret_length = length;
	return 0;
}

static const char *path_in(const char *directory, const char *name, struct arena *arena)
{
	if (name[0] == '/' || !directory || !*directory)
		return arena_strdup(arena, name);
	return arena_printf(arena, "%s/%s", directory, name);
}

static int parse_entries(const char *text, size_t length, const char *path, struct arena *arena, struct program *p,
			 struct err *err)
{
	p->entries_hash = hash_fnv1a64(text, length);
	return spec_entries_parse(text, length, path, p->spec, arena, &p->entries, err);
}

static int load_entries_file(const char *path, struct arena *arena, struct program *p, struct err *err)
{
	const char *text = NULL;
	size_t length = 0;
	int rc;

	if (!path)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for the name of the entries' file");
	rc = read_file(path, arena, &text, &length, err);
	return rc ? rc : parse_entries(text, length, path, arena, p, err);
}

static int load_own(const char *name, const char *directory, const char *entries_path, struct arena *arena,
		    struct program *p, struct err *err)
{
	const char *path = path_in(directory, name, arena), *text = NULL;
	char *beside;
	size_t length = 0;
	FILE *there;
	int rc;

	if (!path)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for the name of program %s", name);
	rc = read_file(path, arena, &text, &length, err);
	if (!rc)
		rc = spec_parse(text, length, path, arena, &p->spec, err);
	if (rc)
		return rc;
	p->spec_hash = hash_fnv1a64(text, length);
	if (entries_path)
		return load_entries_file(path_in(directory, entries_path, arena), arena, p, err);
	beside = arena_printf(arena, "%.*s.entries", (int)(strlen(path) - strlen(".spec")), path);
	there = beside ? fopen(beside, "re") : NULL;
	if (beside && !there && errno == ENOENT)
		return 0;
	if (there)
		fclose(there);
	return load_entries_file(beside, arena, p, err);
}

static int load_brought(const struct program_text *t, const char *directory, const char *entries_path,
			struct arena *arena, struct program *p, struct err *err)
{
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "%s.spec", t->name);
	rc = spec_parse(t->spec, strlen(t->spec), path, arena, &p->spec, err);
	if (rc)
		return rc;
	p->spec_hash = hash_fnv1a64(t->spec, strlen(t->spec));
	if (entries_path)
		return load_entries_file(path_in(directory, entries_path, arena), arena, p, err);
	if (!*t->entries)
		return 0;
	snprintf(path, sizeof(path), "%s.entries", t->name);
	return parse_entries(t->entries, strlen(t->entries), path, arena, p, err);
}

static int not_found(const char *name, struct err *err)
{
	const char *names[16], *near;
	char list[200] = "";
	size_t count = 0, used = 0;

	for (const struct program_text *t = program_texts; t->name && count < 15; t++) {
		names[count++] = t->name;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s, ", t->name);
	}
	names[count] = NULL;
	near = nearest_name(name, names);
	return err_set(err, ERR_USAGE, ENOENT,
		       "program \"%s\": not one of target pipeline%s%s%s; expected %sor a file x.spec", name,
		       near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", list);
}

int program_load(const char *name, const char *directory, const char *entries_path, struct arena *arena,
		 struct program *ret_program, struct err *err)
{
	size_t length = strlen(name);
	struct program p = { 0 };
	int rc;

	if (length > 5 && strcmp(name + length - 5, ".spec") == 0) {
		rc = load_own(name, directory, entries_path, arena, &p, err);
	} else {
		const struct program_text *t = program_texts;

		while (t->name && strcmp(t->name, name) != 0)
			t++;
		rc = t->name ? load_brought(t, directory, entries_path, arena, &p, err) : not_found(name, err);
	}
	if (!rc)
		*ret_program = p;
	return rc;
}
