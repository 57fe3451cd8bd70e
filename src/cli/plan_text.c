/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/plan_check.h"
#include "target/target.h"

enum { BLOCKS_SHOWN = 3, TURNS_SHOWN = 12, CELLS_SHOWN = 40 };

static uint32_t tares_count(const struct plan *plan)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->cell_count; i++)
		count += plan->cells[i].is_tare;
	return count;
}

static void cells_write(FILE *out, const struct plan *plan, bool verbose)
{
	uint32_t tares = tares_count(plan), cells = plan->cell_count - tares;

	fprintf(out, "\ncells    %" PRIu32, cells);
	if (tares)
		fprintf(out, ", and %" PRIu32 " tare%s of program %s", tares, tares == 1 ? "" : "s",
			plan->tare_program);
	fprintf(out, "\n\n  cell  restarts  runs  %swhat\n", tares > 1 ? "tare  " : "");
	for (uint32_t i = 0; i < plan->cell_count; i++) {
		const struct cell *cell = &plan->cells[i];

		if (!verbose && i >= CELLS_SHOWN) {
			fprintf(out, "  ...   %" PRIu32 " more; -v shows all\n", plan->cell_count - i);
			break;
		}
		fprintf(out, "  %4" PRIu32 "  %8" PRIu32 "  %4" PRIu32 "  ", i,
			cell->is_tare ? 2 * plan->restarts : plan->restarts, plan->runs);
		if (tares > 1)
			fprintf(out, "%4" PRIu32 "  ", cell->tare);
		fprintf(out, "%s\n", cell->label);
	}
}

static void order_write(FILE *out, const struct plan *plan, bool verbose)
{
	uint32_t in_block = 0;

	fprintf(out, "\norder    %s%" PRIu32 " restart%s in %" PRIu32 " block%s, by seed %" PRIu64,
		plan->stop.on ? "at most " : "", plan->turn_count, plan->turn_count == 1 ? "" : "s", plan->restarts,
		plan->restarts == 1 ? "" : "s", plan->seed);
	if (tares_count(plan))
		fputs("; [n] is a tare", out);
	fputs("\n\n", out);
	for (uint32_t i = 0; i < plan->turn_count; i++) {
		const struct turn *turn = &plan->turns[i];
		bool tare = plan->cells[turn->cell].is_tare;

		if (!verbose && turn->block >= BLOCKS_SHOWN) {
			fprintf(out, "  ...       %" PRIu32 " block%s more; -v shows all\n",
				plan->restarts - turn->block, plan->restarts - turn->block == 1 ? "" : "s");
			break;
		}
		if (i == 0 || plan->turns[i - 1].block != turn->block) {
			fprintf(out, "  block %-4" PRIu32, turn->block);
			in_block = 0;
		}
		if (verbose || in_block < TURNS_SHOWN)
			fprintf(out, tare ? " [%" PRIu32 "]" : " %" PRIu32, turn->cell);
		else if (in_block == TURNS_SHOWN)
			fputs(" ...", out);
		in_block++;
		if (i + 1 == plan->turn_count || plan->turns[i + 1].block != turn->block)
			fputc('\n', out);
	}
}

static void settings_write(FILE *out, const struct settings *settings, const char *section)
{
	for (const struct setting *s = settings->table; s->name; s++) {
		const struct setting_value *v = settings_get(settings, s->name);
		char name[80];

		snprintf(name, sizeof(name), "%s%s%s", section, section[0] ? "." : "", s->name);
		fprintf(out, "  %-21s %s%s\n", name, v->present ? v->text : "-",
			v->present && !v->set ? "  (default)" : "");
	}
}

static void varied_write(FILE *out, const struct plan *plan)
{
	fputs("\nsettings", out);
	for (uint32_t i = 0; i < plan->axis_count; i++)
		fprintf(out, "%s%s", i ? ", " : " where a cell does not set its own (", plan->axes[i]);
	fputs(plan->axis_count ? ")\n\n" : "\n\n", out);
}

void plan_text_write(FILE *out, const struct plan *plan, bool verbose)
{
	char length[48];

	fprintf(out, "plan     %s, %s\nmeasure  %s\ntarget   %s: %s\n", plan->name, plan->path,
		measure_name(plan->measure), plan->target->kind, plan->target->summary);
	fprintf(out, "length   %s%s of sending; starting the target comes to it\n", plan->stop.on ? "at most " : "",
		duration_text(plan->expected_ns, length, sizeof(length)));
	if (plan->stop.on)
		fprintf(out,
			"stop     a cell's restarts at an interval of %s, or at %" PRIu32 "; not before %" PRIu32 "\n",
			settings_text(&plan->stopping, "width"), plan->stop.most, plan->stop.least);
	cells_write(out, plan, verbose);
	order_write(out, plan, verbose);
	varied_write(out, plan);
	settings_write(out, &plan->general, "");
	if (plan->stop.on)
		settings_write(out, &plan->stopping, "stop");
	settings_write(out, &plan->target_settings, "target");
	settings_write(out, &plan->probes, "probes");
}
