/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/plan_check.h"

void message(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("tare: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void log_line(void *context, enum log_level level, const char *text)
{
	const struct invocation *inv = context;

	if (level <= LOG_ERROR || (level <= LOG_INFO && !inv->quiet) || inv->verbose)
		message("%s", text);
}

/*
 * What the build asks for, and no user: `--man [VERB]`, `--man plan-file`, `--completion SHELL`.
 * -1: something else.
 */
static int generate(int argc, char **argv)
{
	const struct verb *verb = argc > 2 ? verb_find(argv[2]) : NULL;

	if (argc >= 2 && strcmp(argv[1], "--man") == 0 && (argc == 2 || (argc == 3 && verb))) {
		man_write(stdout, verb);
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "--man") == 0 && strcmp(argv[2], "plan-file") == 0) {
		plan_keys_man_write(stdout);
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "--completion") == 0)
		return completion_write(stdout, argv[2]) ? 0 : ERR_USAGE;
	return -1;
}

/* Sets *ret_said where it failed, and has said so. */
static int invocation_run(const struct invocation *inv, bool *ret_said)
{
	struct err err = { 0 };
	int rc;

	log_to(log_line, (void *)inv);
	rc = inv->verb->run(inv, &err);
	if (rc >= 0)
		return rc;
	if (err.kind == ERR_NONE)
		err_set(&err, ERR_HOST, -rc, "%s: %s", inv->verb->name, strerror(-rc));
	message("%s", err.message);
	*ret_said = true;
	return err_exit_status(&err);
}

/* A full disk behind stdout shows only here, unless the verb failed by it and said so. */
static int output_close(int status, bool said)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || said)
		return status;
	message("cannot write the standard output: %s", strerror(errno));
	return status ? status : ERR_HOST;
}

int main(int argc, char **argv)
{
	struct invocation inv = { 0 };
	struct err err = { 0 };
	enum request request;
	struct arena arena;
	bool said = false;
	int status = generate(argc, argv);

	if (status >= 0)
		return output_close(status, said);
	arena_init(&arena, 0);
	if (options_parse(argc, argv, &arena, &request, &inv, &err) < 0) {
		message("%s", err.message);
		status = err_exit_status(&err);
	} else if (request == REQUEST_HELP) {
		help_write(stdout, inv.verb);
		status = 0;
	} else if (request == REQUEST_VERSION) {
		version_write(stdout);
		status = 0;
	} else {
		status = invocation_run(&inv, &said);
	}
	status = output_close(status, said);
	arena_release(&arena);
	return status;
}
