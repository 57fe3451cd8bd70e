/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "plan/plan.h"
#include "target/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A target that knows every program of one letter, in the place of the real list: no file is opened for it. */
static const char *const modes[] = { "soft", "hard", NULL };
static const struct setting fuzz_settings[] = {
	{ .name = "shell", .type = SETTING_QUANTITY, .dim = QUANTITY_TIME, .fallback = "1us" },
	{ .name = "loss", .type = SETTING_QUANTITY, .dim = QUANTITY_SHARE, .fallback = "0" },
	{ .name = "grid", .type = SETTING_FLAG },
	{ .name = "mode", .type = SETTING_CHOICE, .choices = modes, .fallback = "soft" },
	{ .name = "note", .type = SETTING_TEXT },
	{ .name = NULL },
};

static int fuzz_check(const struct target_setup *setup, struct err *err)
{
	TARE_ASSERT(setup->probe_count > 0 && setup->frame_count >= setup->probe_count && setup->frame_bytes > 0);
	if (strlen(setup->program) == 1 || strcmp(setup->program, "null") == 0)
		return 0;
	return err_set(err, ERR_USAGE, ENOENT, "program '%s' is not known", setup->program);
}

static const struct target_ops target_fuzz = { .kind = "card", .settings = fuzz_settings, .check = fuzz_check };
const struct target_ops *const target_kinds[] = { &target_fuzz, NULL };

const struct target_ops *target_find(const char *kind)
{
	return strcmp(kind, "card") == 0 ? &target_fuzz : NULL;
}

static void problems_hold(const struct plan_problems *problems, const struct err *err)
{
	TARE_ASSERT(err->kind == ERR_USAGE && err->message[0]);
	TARE_ASSERT(problems->count > 0 && problems->count <= PLAN_PROBLEMS_MOST);
	for (uint32_t i = 0; i < problems->count; i++) {
		const struct plan_problem *p = &problems->items[i];
		const unsigned char *text = (const unsigned char *)p->message;
		size_t left = strlen(p->message);
		uint32_t code;

		TARE_ASSERT(left > 0 && (p->line == 0) == (p->column == 0));
		TARE_ASSERT(i == 0 || p[-1].line <= p->line);
		while (left > 0) {
			unsigned n = utf8_decode(text, left, &code);

			TARE_ASSERT(n > 0 && code >= 0x20);
			text += n;
			left -= n;
		}
	}
}

/* Every cell has its tare and settings; every block has every cell once, and every tare before and after. */
static void plan_holds(const struct plan *plan)
{
	uint32_t *seen = calloc(plan->cell_count, sizeof(*seen));
	uint32_t in_block = plan->turn_count / plan->restarts;
	struct arena arena;

	TARE_ASSERT(seen && plan->cell_count > 1 && plan->turn_count <= PLAN_TURNS_MOST);
	arena_init(&arena, 0);
	for (uint32_t i = 0; i < plan->cell_count; i++) {
		const struct cell *cell = &plan->cells[i];
		struct cell_setup setup;

		TARE_ASSERT(cell->index == i && cell->label[0] && cell->tare < plan->cell_count);
		TARE_ASSERT(plan->cells[cell->tare].is_tare && (!cell->is_tare || cell->tare == i));
		TARE_ASSERT(plan_cell_setup(plan, cell, &arena, &setup) == 0 && setup.program);
		arena_release(&arena);
	}
	for (uint32_t i = 0; i < plan->turn_count; i++) {
		const struct turn *turn = &plan->turns[i];

		TARE_ASSERT(turn->cell < plan->cell_count && turn->block == i / in_block);
		seen[turn->cell]++;
	}
	for (uint32_t i = 0; i < plan->cell_count; i++)
		TARE_ASSERT(seen[i] == plan->restarts * (plan->cells[i].is_tare ? 2 : 1));
	free(seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct plan_problems problems;
	struct plan *plan = NULL;
	struct err err = { 0 };
	/* A folder that is not there: relative traces are looked for and not found. */
	int rc = plan_parse((const char *)bytes, length, "fuzz", "/nonexistent", &plan, &problems, &err);

	if (rc < 0)
		problems_hold(&problems, &err);
	else
		plan_holds(plan);
	plan_problems_release(&problems);
	plan_destroy(plan);
	return 0;
}
