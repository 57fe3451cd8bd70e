/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/plan_check.h"

#include "cli/verb.h"

enum { RESTARTS_FOR_INTERVAL = 6 };

int cli_plan_check(const char *path, bool json, struct plan **ret_plan, struct err *err)
{
	struct plan_problems problems;
	struct err why = { 0 };
	int rc = plan_load(path, ret_plan, &problems, &why);

	for (uint32_t i = 0; i < problems.count; i++) {
		const struct plan_problem *p = &problems.items[i];

		if (p->line)
			message("%s:%u:%u: %s", path, p->line, p->column, p->message);
		else
			message("%s: %s", path, p->message);
	}
	if (problems.more)
		message("%s: and %u more problems", path, problems.more);
	if (rc < 0 && json)
		plan_problems_json_write(stdout, path, &problems, &why);
	plan_problems_release(&problems);
	return rc < 0 ? err_set(err, why.kind, why.code, "%s", why.message) : 0;
}

void cli_plan_notes(const struct plan *plan)
{
	if (plan->restarts < RESTARTS_FOR_INTERVAL)
		message("note: %u restart%s of a cell %s its median no 95 %% interval; %d do", plan->restarts,
			plan->restarts == 1 ? "" : "s", plan->restarts == 1 ? "gives" : "give", RESTARTS_FOR_INTERVAL);
	if (plan->runs < 2)
		message("note: with one run a restart, the spread within restarts stays unknown");
}

const char *duration_text(int64_t ns, char *buf, size_t size_bytes)
{
	int64_t s = ns / 1000000000;

	if (s >= 86400)
		snprintf(buf, size_bytes, "%lld d %lld h", (long long)(s / 86400), (long long)(s % 86400 / 3600));
	else if (s >= 3600)
		snprintf(buf, size_bytes, "%lld h %lld min", (long long)(s / 3600), (long long)(s % 3600 / 60));
	else if (s >= 60)
		snprintf(buf, size_bytes, "%lld min %lld s", (long long)(s / 60), (long long)(s % 60));
	else if (s >= 1)
		snprintf(buf, size_bytes, "%.1f s", (double)ns / 1e9);
	else
		snprintf(buf, size_bytes, "%.1f ms", (double)ns / 1e6);
	return buf;
}
