/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan_private.h"

const struct setting plan_stop_settings[] = {
	{ .name = "width",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SHARE,
	  .least = 100,
	  .most = 1000000,
	  .help = "of a cell's 95 % interval, end to end, over its median: restarts go on until it is there" },
	{ .name = "restarts",
	  .type = SETTING_TEXT,
	  .fallback = "6..40",
	  .value_name = "LEAST..MOST",
	  .help = "how many of a cell there are at least, and at most" },
	{ .name = "of",
	  .type = SETTING_TEXT,
	  .value_name = "NAME",
	  .help = "which value of the runs decides, such as batch_wall; only where a measure's runs yield values" },
	{ .name = NULL },
};

static const char example[] = "{ width: 5%, restarts: 6..40 }";

/* "6..40" into its two numbers; the part before .. is copied to have an end. */
static bool range_parse(const char *text, int64_t *ret_least, int64_t *ret_most)
{
	const char *dots = strstr(text, "..");
	char first[32];

	if (!dots || (size_t)(dots - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(dots - text));
	first[dots - text] = '\0';
	return quantity_parse(first, QUANTITY_COUNT, ret_least, NULL) == 0 &&
	       quantity_parse(dots + 2, QUANTITY_COUNT, ret_most, NULL) == 0;
}

static void restarts_take(struct draft *d, const struct node *section)
{
	const struct node *place = tree_get(section, "restarts");
	struct plan_stop *stop = &d->plan->stop;
	const char *text = settings_text(&d->plan->stopping, "restarts");
	int64_t least = 0, most = 0;

	if (!place)
		place = section;
	if (place->kind == NODE_BAD || !text)
		return;
	if (!range_parse(text, &least, &most))
		PROBLEM(d, place, "stop.restarts: '%s' is no range; expected least and most such as 6..40", text);
	else if (least < PLAN_STOP_LEAST)
		PROBLEM(d, place,
			"stop.restarts: at least %lld is too few; expected %d or more, where there is a 95 %% interval",
			(long long)least, PLAN_STOP_LEAST);
	else if (most <= least)
		PROBLEM(d, place, "stop.restarts: at most %lld leaves no choice; expected more than %lld",
			(long long)most, (long long)least);
	else if (most > 10000)
		PROBLEM(d, place, "stop.restarts: at most %lld is too many; expected 10000 or fewer", (long long)most);
	stop->least = (uint32_t)least;
	stop->most = (uint32_t)most;
}

/* Some measures have one figure that a campaign is about; of others the plan must say which value it is. */
static void of_take(struct draft *d, const struct node *section)
{
	const struct node *node = tree_get(section, "of");

	d->plan->stop.of = settings_text(&d->plan->stopping, "of");
	if (!d->measure)
		return;
	if (d->measure->figure && node)
		PROBLEM(d, node, "stop.of: measure %s goes by %s; leave it out", d->measure->name, d->measure->figure);
	else if (!d->measure->figure && !node)
		PROBLEM(d, section,
			"stop: of is missing; expected the value of a run that decides, such as of: batch_wall");
}

int stop_take(struct draft *d)
{
	const struct node *section = tree_get(d->root, "stop"), *fixed = tree_get(d->root, "restarts");
	struct plan *plan = d->plan;

	if (settings_init(&plan->stopping, plan_stop_settings, &plan->arena) < 0)
		return -ENOMEM;
	if (!section || !section_is_map(d, section, example))
		return 0;
	for (const struct node *n = section->first; n; n = n->next)
		setting_take(d, &plan->stopping, "stop", n);
	plan->stop.on = true;
	if (!tree_get(section, "width"))
		PROBLEM(d, section, "stop: width is missing; expected such as %s", example);
	else if (settings_get(&plan->stopping, "width")->present)
		plan->stop.width_ppm = (uint32_t)settings_number(&plan->stopping, "width");
	restarts_take(d, section);
	of_take(d, section);
	if (fixed)
		PROBLEM(d, fixed, "restarts: stop says how many there are; leave one of them out");
	plan->restarts = plan->stop.most ? plan->stop.most : 1;
	return 0;
}
