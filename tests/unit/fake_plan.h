/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_FAKE_PLAN_H
#define TARE_TESTS_FAKE_PLAN_H

#include <string.h>

#include "plan/plan.h"

/*
 * A differential plan made by hand for tests of what stands below the plan file:
 * a tare and two programs, `blocks` blocks of four turns. In static storage.
 */
enum { FAKE_CELLS = 3, FAKE_BLOCK = 4, FAKE_BLOCKS_MOST = 64 };

static struct plan *fake_plan(const char *text, uint32_t blocks)
{
	static const char *const axes[] = { "program", "size" };
	static const char *const tare[] = { "null", NULL }, *const forward[] = { "forward", "64B" },
				 *const checksum[] = { "checksum", "64B" };
	static struct cell cells[FAKE_CELLS] = {
		{ .index = 0, .is_tare = false, .tare = 2, .label = "program=forward size=64B", .values = forward },
		{ .index = 1, .is_tare = false, .tare = 2, .label = "program=checksum size=64B", .values = checksum },
		{ .index = 2, .is_tare = true, .tare = 2, .label = "tare", .values = tare },
	};
	static struct turn turns[FAKE_BLOCK * FAKE_BLOCKS_MOST];
	static struct plan plan;

	for (uint32_t b = 0; b < blocks; b++) {
		struct turn *t = turns + (size_t)b * FAKE_BLOCK;

		t[0] = (struct turn){ .cell = 2, .restart = 2 * b, .block = b };
		t[1] = (struct turn){ .cell = b % 2, .restart = b, .block = b };
		t[2] = (struct turn){ .cell = 1 - b % 2, .restart = b, .block = b };
		t[3] = (struct turn){ .cell = 2, .restart = 2 * b + 1, .block = b };
	}
	memset(&plan, 0, sizeof(plan));
	plan.path = "fake.yaml";
	plan.directory = ".";
	plan.text = text;
	for (const char *c = text; *c; c++)
		plan.text_hash = plan.text_hash * 31 + (unsigned char)*c;
	plan.name = "fake";
	plan.measure = MEASURE_DIFFERENTIAL;
	plan.seed = UINT64_MAX - 1;
	plan.restarts = blocks;
	plan.runs = 2;
	plan.axes = axes;
	plan.axis_count = 2;
	plan.cells = cells;
	plan.cell_count = FAKE_CELLS;
	plan.turns = turns;
	plan.turn_count = FAKE_BLOCK * blocks;
	return &plan;
}

#endif
