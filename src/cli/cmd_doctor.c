/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "cli/help.h"
#include "cli/verbs.h"
#include "observe/hostcheck.h"
#include "observe/hostfacts.h"
#include "target/target.h"

/* What this host must be able to do for doctor to be content: the target that needs nothing else. */
static const char least_kind[] = "card";

struct doctor {
	const struct invocation *inv;
	json_t *checks, *targets, *facts;
	bool lacking; /* a check that no target can do without */
	bool least_runs;
	int bad; /* something did not fit into the document */
};

static const char *paint(const struct doctor *d, enum host_level level)
{
	static const char *const colors[] = { "\033[32m", "\033[33m", "\033[31m" };

	return d->inv->color ? colors[level] : "";
}

static const char *paint_end(const struct doctor *d)
{
	return d->inv->color ? "\033[0m" : "";
}

static void advice_write(const char *advice)
{
	if (advice[0])
		wrap_write(stdout, advice, 27, 100);
}

static void check_take(void *context, const struct host_check *check)
{
	struct doctor *d = context;

	d->lacking |= check->level == HOST_LACKING;
	if (d->inv->json) {
		d->bad |= json_array_append_new(d->checks, json_pack("{s:s, s:s, s:s, s:s}", "name", check->name,
								     "level", host_level_name(check->level), "value",
								     check->value, "advice", check->advice));
	} else if (!d->inv->quiet || check->level != HOST_GOOD) {
		printf("  %s%-8s%s %-15s %s\n", paint(d, check->level), host_level_name(check->level), paint_end(d),
		       check->name, check->value);
		advice_write(check->advice);
	}
}

static void fact_take(void *context, const char *name, const char *value)
{
	struct doctor *d = context;

	if (d->inv->json)
		d->bad |= json_object_set_new(d->facts, name, json_string(value));
	else if (d->inv->verbose)
		printf("  %-24s %s\n", name, value);
}

static void targets_check(struct doctor *d)
{
	for (const struct target_ops *const *k = target_kinds; *k; k++) {
		struct err err = { 0 };
		int rc = (*k)->probe ? (*k)->probe(&err) : 0;
		enum host_level level = rc < 0 ? HOST_LACKING : HOST_GOOD;
		const char *reason = rc == 0 ? NULL : err.message[0] ? err.message : strerror(-rc);

		if (strcmp((*k)->kind, least_kind) == 0)
			d->least_runs = rc == 0;
		if (d->inv->json) {
			d->bad |= json_array_append_new(d->targets, json_pack("{s:s, s:s, s:b, s:s?}", "kind",
									      (*k)->kind, "summary", (*k)->summary,
									      "can_run", rc == 0, "reason", reason));
			continue;
		}
		printf("  %s%-8s%s %-15s %s\n", paint(d, level), rc == 0 ? "can run" : "cannot", paint_end(d),
		       (*k)->kind, (*k)->summary);
		if (reason)
			wrap_write(stdout, reason, 27, 100);
	}
}

static int document_write(struct doctor *d, bool content, struct err *err)
{
	json_t *document = json_pack("{s:s, s:b, s:o, s:o, s:o}", "schema", "tare.doctor/1", "ok", content, "targets",
				     d->targets, "checks", d->checks, "facts", d->facts);

	if (!document || d->bad) {
		json_decref(document);
		return err_set(err, ERR_HOST, ENOMEM, "doctor: out of memory");
	}
	json_dumpf(document, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(document);
	return 0;
}

static int doctor_run(const struct invocation *inv, struct err *err)
{
	struct doctor d = { .inv = inv };
	bool content;

	if (inv->json) {
		d.checks = json_array();
		d.targets = json_array();
		d.facts = json_object();
	} else {
		puts("targets");
	}
	targets_check(&d);
	if (!inv->json)
		puts("\nthis host");
	host_checks(check_take, &d);
	if (!inv->json && inv->verbose)
		puts("\nfacts, as they are kept with every campaign");
	host_facts(fact_take, &d);
	content = d.least_runs && !d.lacking;
	if (inv->json && document_write(&d, content, err) < 0)
		return -ENOMEM;
	if (content)
		return 0;
	return err_set(err, ERR_HOST, ENOTSUP, "doctor: this host cannot run %s: see what is lacking above",
		       d.least_runs ? "a measurement" : "even the emulated card");
}

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "what this host can and cannot measure, and why",
	.arguments = "",
	.description =
		"Says for each target whether this host can run it, then looks at what helps or hinders measuring "
		"here, with what to do about it: cores and their isolation, the time stamp counter and its rate, "
		"clock source, idle states, governor, virtualisation, hugepages, permissions, offloads, and programs "
		"that are of use. Permissions are tried in a child process; nothing stays changed.\n\n"
		"With --quiet, only what is not good; with --verbose, also the facts that every campaign keeps.\n\n"
		"The exit status is 0 when at least the emulated card can be run, and 3 otherwise.",
	.json = true,
	.run = doctor_run,
};
