/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs.h"
#include "target/v1model_lint.h"
#include "target/v1model_program.h"

enum { FILES_MOST = 64, FILE_BYTES_MOST = 16 << 20 };

/* A file, or a program that Tare brings. The caller frees *ret. */
static int read_program(const char *name, char **ret, size_t *ret_length, struct err *err)
{
	FILE *file = fopen(name, "re");
	int why = errno;
	char *text;
	size_t n;

	for (const struct v1model_text *t = v1model_texts; !file && t->name; t++)
		if (strcmp(t->name, name) == 0) {
			*ret = strdup(t->json);
			*ret_length = strlen(t->json);
			return *ret ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
		}
	if (!file)
		return err_set(err, ERR_USAGE, why, "%s: %s", name, strerror(why));
	text = malloc(FILE_BYTES_MOST + 1);
	n = text ? fread(text, 1, FILE_BYTES_MOST + 1, file) : 0;
	why = ferror(file) ? errno : 0;
	fclose(file);
	if (!text)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	if (why || n > FILE_BYTES_MOST) {
		free(text);
		return why ? err_set(err, ERR_USAGE, why, "%s: %s", name, strerror(why))
			   : err_set(err, ERR_USAGE, EFBIG, "%s: more than %d bytes", name, FILE_BYTES_MOST);
	}
	*ret = text;
	*ret_length = n;
	return 0;
}

static void show(const struct invocation *inv, const char *name, const struct lint_findings *f, json_t *list)
{
	for (uint32_t i = 0; i < f->count; i++) {
		const struct lint_finding *one = &f->items[i];

		if (list)
			json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "program", name, "kind",
							      lint_kind_name(one->kind), "where", one->where, "message",
							      one->message));
		else
			printf("%s: %s: %s\n", one->where, lint_kind_name(one->kind), one->message);
	}
	if (!list && f->count == 0 && !inv->quiet)
		printf("%s: nothing spoils its stamps\n", name);
}

static int lint_run(const struct invocation *inv, struct err *err)
{
	json_t *list = inv->json ? json_array() : NULL;
	uint32_t found = 0;
	int rc = 0;

	if (inv->json && !list)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (unsigned i = 0; rc == 0 && i < inv->argument_count; i++) {
		struct lint_findings findings;
		size_t length = 0;
		char *text = NULL;

		rc = read_program(inv->arguments[i], &text, &length, err);
		if (rc < 0)
			break;
		rc = v1model_lint(text, length, inv->arguments[i], &findings, err);
		free(text);
		if (rc < 0)
			break;
		found += findings.count;
		show(inv, inv->arguments[i], &findings, list);
		lint_findings_release(&findings);
	}
	if (rc == 0 && inv->json) {
		json_t *root =
			json_pack("{s:s, s:b, s:O}", "schema", "tare.lint/1", "ok", found == 0, "findings", list);

		if (!root || json_dumpf(root, stdout, JSON_INDENT(2)) < 0)
			rc = err_set(err, ERR_HOST, ENOMEM, "out of memory");
		else
			putchar('\n');
		json_decref(root);
	}
	json_decref(list);
	return rc < 0 ? rc : found > 0;
}

const struct verb verb_lint = {
	.name = "lint",
	.summary = "find what in a compiled P4 program would spoil its stamps",
	.arguments = "JSON...",
	.description =
		"Reads programs as p4c-bm2-ss wrote them (or names of those that Tare brings) and follows where the "
		"switch's "
		"two stamps go. Found are: stamps that the switch cannot fill in or the program never looks at "
		"(missing-stamp), stamps put into fewer than their 48 bits, or taken from the queue's 32-bit clock "
		"(narrow-stamp), the egress stamp read before it is taken (early-egress-stamp), and packets that may "
		"be "
		"cloned (cloned), recirculated or resubmitted (recirculated), whose stamps are not those of one "
		"way through the switch. A difference of two stamps is a duration and may have any width.\n\n"
		"The exit status is 0 when nothing was found, 1 when something was. A finding need not be a mistake: a "
		"sink "
		"of telemetry clones what it reports, and then its stamps are the report's.",
	.least_arguments = 1,
	.most_arguments = FILES_MOST,
	.json = true,
	.run = lint_run,
};
