/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan_private.h"

/* Cells that set a count of their own keep it. */
static void shrink_probes(struct draft *d)
{
	const struct setting *count = d->measure ? setting_find(d->measure->probes, "count") : NULL;
	const struct setting_value *value;
	char text[24];

	if (!count || !d->pilot->probes_most)
		return;
	value = settings_get(&d->plan->probes, "count");
	if (value->present && value->number <= d->pilot->probes_most)
		return;
	snprintf(text, sizeof(text), "%u", d->pilot->probes_most);
	settings_set(&d->plan->probes, "count", text, NULL);
}

int pilot_shrink(struct draft *d)
{
	const uint32_t sizes[] = { 'p', d->pilot->restarts, d->pilot->runs, d->pilot->probes_most,
				   d->pilot->cells_most };
	struct plan *plan = d->plan;

	plan->pilot = true;
	plan->restarts = d->pilot->restarts;
	plan->runs = d->pilot->runs;
	plan->stop.on = false;
	/* no store of the plan itself, or of a pilot of another size, resumes with it */
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		plan->text_hash = (plan->text_hash ^ sizes[i]) * 0x100000001b3u;
	if (plan->name)
		plan->name = arena_printf(&plan->arena, "%s-pilot", plan->name);
	shrink_probes(d);
	return plan->name || !settings_text(&plan->general, "name") ? 0 : -ENOMEM;
}

/* Every so manyth cell, the first and the last among them. */
static bool chosen(uint32_t nth, uint32_t count, uint32_t most)
{
	if (!most || count <= most)
		return true;
	if (most == 1)
		return nth == 0;
	for (uint32_t i = 0; i < most; i++)
		if ((uint64_t)i * (count - 1) / (most - 1) == nth)
			return true;
	return false;
}

static bool runs_in_pilot(const struct plan *plan, const struct plan_pilot *pilot, uint32_t cells, uint32_t cell)
{
	/* cells of the matrix come before the tares, so that a cell's number is its place among them */
	if (!plan->cells[cell].is_tare)
		return chosen(cell, cells, pilot->cells_most);
	for (uint32_t i = 0; i < cells; i++)
		if (plan->cells[i].tare == cell && chosen(i, cells, pilot->cells_most))
			return true;
	return false;
}

void pilot_thin(struct plan *plan, const struct plan_pilot *pilot)
{
	uint32_t cells = 0, kept = 0;

	while (cells < plan->cell_count && !plan->cells[cells].is_tare)
		cells++;
	for (uint32_t t = 0; t < plan->turn_count; t++)
		if (runs_in_pilot(plan, pilot, cells, plan->turns[t].cell))
			plan->turns[kept++] = plan->turns[t];
	if (plan->turn_count)
		plan->expected_ns = (int64_t)((double)plan->expected_ns * kept / plan->turn_count);
	plan->turn_count = kept;
}
