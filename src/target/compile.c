/* SPDX-License-Identifier: Apache-2.0 */
#include "target/compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/command.h"
#include "target/bmv2_private.h"

enum { COMPILE_MS = 120000, VERSION_MS = 10000, SAID_BYTES = 300 };

#define COMPILER "p4c-bm2-ss"

bool p4_is_source(const char *program)
{
	size_t length = program ? strlen(program) : 0;

	return length > 3 && strcmp(program + length - 3, ".p4") == 0;
}

int p4_check_source(const char *path, struct err *err)
{
	struct stat st;

	if (access(path, R_OK) != 0)
		return err_set(err, ERR_USAGE, errno, "%s: %s", path, strerror(errno));
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, EINVAL, "%s: not a file; expected a P4 source", path);
	return 0;
}

/* The folder's files are known: what p4c was told to write. */
static void remove_folder(const char *folder, const char *json, const char *p4info)
{
	unlink(json);
	unlink(p4info);
	rmdir(folder);
}

/* "p4c-bm2-ss 1.2.5.16 (...)": the line that begins with Version, without that word. */
static const char *compiler_version(const char *compiler, struct arena *arena)
{
	const struct command ask = { .name = COMPILER,
				     .text = "exec \"$TARE_P4C\" --version",
				     .variables = { { "TARE_P4C", compiler } },
				     .variable_count = 1,
				     .limit_ms = VERSION_MS };
	struct command_outcome *said = arena_alloc(arena, sizeof(*said));
	const char *version;

	if (!said)
		return NULL;
	if (command_run(&ask, said, NULL) < 0)
		return COMPILER;
	version = strstr(said->tail, "Version ");
	if (!version)
		return COMPILER;
	version += strlen("Version ");
	return arena_printf(arena, COMPILER " %.*s", (int)strcspn(version, "\n"), version);
}

/* The first lines that it complained with: errors come first, and what follows comes of them. */
static const char *complaint(const char *tail, struct arena *arena)
{
	const char *at = strstr(tail, "error"), *line = at;

	if (!at)
		return arena_printf(arena, "%.*s", SAID_BYTES, tail);
	while (line > tail && line[-1] != '\n')
		line--;
	return arena_printf(arena, "%.*s", SAID_BYTES, line);
}

static int run_compiler(const char *compiler, const char *path, const char *json, const char *p4info,
			struct arena *arena, struct err *err)
{
	const struct command compile = {
		.name = COMPILER,
		.text = "exec \"$TARE_P4C\" --arch v1model --p4runtime-files \"$TARE_P4INFO\" -o \"$TARE_JSON\" "
			"\"$TARE_P4\"",
		.variables = { { "TARE_P4C", compiler },
			       { "TARE_P4INFO", p4info },
			       { "TARE_JSON", json },
			       { "TARE_P4", path } },
		.variable_count = 4,
		.limit_ms = COMPILE_MS,
	};
	struct command_outcome *said = arena_alloc(arena, sizeof(*said));
	struct err why = { 0 };
	const char *words;
	int rc;

	if (!said)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	rc = command_run(&compile, said, &why);
	if (rc == 0)
		return 0;
	if (rc != -ECHILD) {
		if (err)
			*err = why;
		return rc;
	}
	words = complaint(said->tail, arena);
	return err_set(err, ERR_USAGE, EINVAL, "%s: " COMPILER " does not take it: %s", path,
		       words && words[0] ? words : why.message);
}

static int read_results(const char *json, const char *p4info, struct arena *arena, struct p4_compiled *ret,
			struct err *err)
{
	int rc = v1model_read_part(json, arena, &ret->json, err);

	return rc < 0 ? rc : v1model_read_part(p4info, arena, &ret->p4info, err);
}

int p4_compile(const char *path, struct arena *arena, struct p4_compiled *ret, struct err *err)
{
	char folder[] = "/tmp/tare-p4-XXXXXX", compiler[PATH_MAX];
	const char *json, *p4info;
	int rc;

	if (!binary_in_path(COMPILER, compiler, sizeof(compiler)))
		return err_set(err, ERR_HOST, ENOENT,
			       "%s: there is no " COMPILER " in PATH to compile it with; install p4c "
			       "(https://github.com/p4lang/p4c), or name the .json that it makes",
			       path);
	if (!mkdtemp(folder))
		return err_set(err, ERR_HOST, errno, "%s: %s", folder, strerror(errno));
	json = arena_printf(arena, "%s/program.json", folder);
	p4info = arena_printf(arena, "%s/program.p4info.txtpb", folder);
	ret->compiler = json && p4info ? compiler_version(compiler, arena) : NULL;
	rc = ret->compiler ? run_compiler(compiler, path, json, p4info, arena, err)
			   : err_set(err, ERR_HOST, ENOMEM, "out of memory");
	if (rc == 0)
		rc = read_results(json, p4info, arena, ret, err);
	if (json && p4info)
		remove_folder(folder, json, p4info);
	return rc;
}
