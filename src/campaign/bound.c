/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/bound.h"

#include <string.h>

#include "target/pipeline_program.h"

/* Only a pipeline's program says what it inserts: of a card or a wire there is no text to count in. */
static int inserted_by_program(const struct plan *plan, const struct cell_setup *setup, double *ret_bytes,
			       struct err *err)
{
	struct program program;
	struct arena arena;
	int r;

	*ret_bytes = 0;
	if (strcmp(plan->target->kind, "pipeline") != 0)
		return 0;
	arena_init(&arena, 0);
	r = program_load(setup->program, plan->directory, settings_text(&setup->target, "entries"), &arena, &program,
			 err);
	if (r == 0)
		*ret_bytes = spec_inserted_bytes(program.spec);
	arena_release(&arena);
	return r;
}

int campaign_bound_from(const struct plan *plan, const struct cell *cell, const struct cell_setup *setup,
			struct campaign_bound *ret, struct err *err)
{
	const struct settings *s = &setup->probes;
	double inserted;
	int r = 0;

	*ret = (struct campaign_bound){ 0 };
	if (cell->is_tare || !settings_get(s, "bound_cycles")->present || !settings_get(s, "bound_clock")->present)
		return 0;
	if (settings_get(s, "bound_inserted")->present)
		inserted = (double)settings_number(s, "bound_inserted");
	else
		r = inserted_by_program(plan, setup, &inserted, err);
	if (r < 0)
		return r;
	ret->values[ret->count++] =
		(struct run_value){ "bound_cycles", "cycles", (double)settings_number(s, "bound_cycles") };
	ret->values[ret->count++] =
		(struct run_value){ "bound_clock", "Hz", (double)settings_number(s, "bound_clock") };
	ret->values[ret->count++] = (struct run_value){ "bound_bus", "B", (double)settings_number(s, "bound_bus") };
	ret->values[ret->count++] = (struct run_value){ "bound_inserted", "B", inserted };
	return 0;
}
