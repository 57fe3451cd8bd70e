/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign/clean.h"
#include "cli/run_facts.h"
#include "cli/run_progress.h"
#include "cli/run_signals.h"
#include "cli/verbs.h"
#include "probe/differential.h"
#include "report/verify.h"

/*
 * The check is a campaign like any other, on the card, whose record is the truth:
 * plan, order, engine, store, statistics and result are those of every run. More
 * restarts than six, since an expanded uncertainty at k = 3 from six is 5.5 times
 * its standard uncertainty, and from ten 4.1 times.
 */
static const char plan_text[] = "name: verify\n"
				"measure: differential\n"
				"seed: %lld\n"
				"restarts: %lld\n"
				"runs: 2\n"
				"target: { kind: card, drift: %s, io: %s }\n"
				"matrix: { program: [\"null\", 107ns, 149ns, 177ns, 364ns, 107ns/137ns] }\n"
				"extra: [{ program: 364ns, stamps: \"yes\" }]\n"
				"tare: { program: \"null\" }\n"
				"probes: { count: %lld, rate: 10kpps, size: 64B, cores: %s }\n";

/* What --inject spoils, each in a way that a check that works must find. */
enum inject { INJECT_NOTHING, INJECT_BIAS, INJECT_LEDGER, INJECT_DRIFT, INJECT_RATE };
static const char *const inject_choices[] = { "nothing", "bias", "ledger", "drift", "rate", NULL };
static const char *const cores_choices[] = { "auto", "1", "2", NULL };
static const char *const io_choices[] = { "memory", "dpdk", NULL };

static const struct differential_faults faults_of[] = {
	[INJECT_NOTHING] = { 0 },
	[INJECT_BIAS] = { .path_bias_ns = 40 },
	[INJECT_LEDGER] = { .forget_every = 100 },
	[INJECT_DRIFT] = { 0 }, /* the card's own setting */
	/* in measurement and truth alike, as both count the TSC: what only a second clock can tell */
	[INJECT_RATE] = { .rate_ppm = 200000 },
};

static int plan_make(const struct invocation *inv, struct plan **ret_plan, struct err *err)
{
	struct plan_problems problems = { 0 };
	char text[sizeof(plan_text) + 128];
	int rc;

	snprintf(text, sizeof(text), plan_text, (long long)settings_number(&inv->options, "seed"),
		 (long long)settings_number(&inv->options, "restarts"),
		 settings_number(&inv->options, "inject") == INJECT_DRIFT ? "5us" : "0",
		 settings_text(&inv->options, "io"), (long long)settings_number(&inv->options, "probes"),
		 settings_text(&inv->options, "cores"));
	rc = plan_parse(text, strlen(text), "verify", ".", ret_plan, &problems, err);
	if (rc < 0 && problems.count)
		err_set(err, err->kind, -rc, "verify: %s", problems.items[0].message);
	plan_problems_release(&problems);
	return rc;
}

static int campaign(const struct invocation *inv, const struct plan *plan, struct store *store, struct err *err)
{
	struct campaign_options options = {
		.allow_unstable_tsc = settings_flag(&inv->options, "allow-unstable-tsc"),
		.faults = &faults_of[settings_number(&inv->options, "inject")],
		.interrupted = run_signals_catch(),
		.progress = run_progress_show,
	};
	struct campaign_counts counts;
	struct run_progress progress;
	struct run_facts facts;
	int rc = run_facts_collect(&facts, err);

	if (rc == 0) {
		run_progress_init(&progress, plan, stderr, isatty(STDERR_FILENO), run_terminal_width(STDERR_FILENO),
				  inv->quiet);
		options.context = &progress;
		options.facts = facts.list.items;
		options.fact_count = (uint32_t)facts.list.count;
		rc = campaign_run(plan, store, &options, &counts, err);
		run_progress_clear(&progress);
	}
	run_facts_release(&facts);
	return rc;
}

static int check(const struct invocation *inv, struct store *store, bool *ret_pass, struct err *err)
{
	double limit_ns = (double)settings_number(&inv->options, "limit");
	struct terminal_style style = terminal_style_of(stdout, inv->color);
	struct result *result;
	struct verify verify;
	struct arena arena;
	int rc = result_build(store, &result, err);

	if (rc < 0)
		return rc;
	arena_init(&arena, 0);
	rc = verify_build(store, result, limit_ns, &arena, &verify, err);
	if (rc == 0 && inv->json)
		rc = verify_write_json(&verify, stdout, err);
	else if (rc == 0)
		rc = verify_write_text(&verify, stdout, &style);
	if (rc == 0)
		*ret_pass = verify.pass;
	arena_release(&arena);
	result_destroy(result);
	return rc;
}

static int run_in(const struct invocation *inv, const char *dir, bool *ret_pass, struct err *err)
{
	struct store *store;
	struct plan *plan;
	int rc = plan_make(inv, &plan, err);

	if (rc < 0)
		return rc;
	rc = store_open_write(dir, plan, &store, err);
	if (rc == 0) {
		rc = campaign(inv, plan, store, err);
		store_close(store);
	}
	plan_destroy(plan);
	if (rc == 0)
		rc = store_open_read(dir, &store, err);
	if (rc == 0) {
		rc = check(inv, store, ret_pass, err);
		store_close(store);
	}
	return rc;
}

static int verify_verb(const struct invocation *inv, struct err *err)
{
	const char *kept = settings_text(&inv->options, "output");
	const char *tmp = getenv("TMPDIR");
	char dir[512];
	bool pass = false;
	int rc;

	if (kept)
		snprintf(dir, sizeof(dir), "%s", kept);
	else
		snprintf(dir, sizeof(dir), "%s/tare-verify-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!kept && !mkdtemp(dir))
		return err_set(err, ERR_HOST, errno, "%s: cannot create a directory: %s", dir, strerror(errno));
	rc = run_in(inv, dir, &pass, err);
	if (!kept)
		store_remove(dir);
	return rc < 0 ? rc : pass ? 0 : ERR_RESULT;
}

static const struct setting verify_options[] = {
	{ .name = "limit",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "15ns",
	  .least = 1,
	  .most = 1000000000,
	  .help = "a check whose expanded uncertainty (k = 3) is not under this fails" },
	{ .name = "cores",
	  .type = SETTING_CHOICE,
	  .choices = cores_choices,
	  .fallback = "auto",
	  .help = "1: card and receivers in one loop; 2: on a core each; auto: 2 where two are free" },
	{ .name = "restarts",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "10",
	  .least = 6,
	  .most = 1000,
	  .help = "restarts of each program" },
	{ .name = "probes",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "2500",
	  .least = 100,
	  .most = 1000000,
	  .help = "in a run, of which a restart has two" },
	{ .name = "io",
	  .type = SETTING_CHOICE,
	  .choices = io_choices,
	  .fallback = "memory",
	  .help = "what the card's ports are" },
	{ .name = "seed",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "1",
	  .most = INT64_MAX,
	  .help = "of the order of restarts" },
	{ .name = "inject",
	  .type = SETTING_CHOICE,
	  .choices = inject_choices,
	  .fallback = "nothing",
	  .help = "spoil the measurement, to see the check fail: a biased receiver, a forgetful ledger, a drifting "
		  "tare, a TSC rate that is wrong" },
	{ .name = "output",
	  .short_name = 'o',
	  .type = SETTING_TEXT,
	  .value_name = "DIR",
	  .help = "keep the campaign in DIR (default: a temporary directory, removed at the end)" },
	{ .name = "allow-unstable-tsc",
	  .type = SETTING_FLAG,
	  .help = "measure although the CPU's counter does not promise a steady rate" },
	{ .name = NULL },
};

const struct verb verb_verify = {
	.name = "verify",
	.summary = "check this installation, on this host, against known truth",
	.arguments = "",
	.description =
		"Measures an emulated card that holds packets for known times (none, 107, 149, 177 and 364 ns, and a "
		"program of two modes) and keeps its own record of what it really did. Levels are interleaved in "
		"randomised blocks; the whole is a campaign like any other. One level is stamped by the kernel's clock "
		"as "
		"well, and its net by that must agree with the first's to the limit.\n\n"
		"Passes when every error is inside its own expanded uncertainty (k = 3) and every uncertainty is under "
		"the limit; exit status 0, else 1 with the reason. About a minute.",
	.options = verify_options,
	.json = true,
	.run = verify_verb,
};
