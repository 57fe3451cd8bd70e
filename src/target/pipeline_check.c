/* SPDX-License-Identifier: Apache-2.0 */
#include "target/pipeline_private.h"
#include "target/pipeline_program.h"

const struct setting pipeline_settings[] = {
	{ .name = "hold",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "1us",
	  .least = 1000,
	  .most = 1000000,
	  .help = "from the bypass copy to the start of the program, in null and program alike" },
	{ .name = "port",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "1",
	  .least = 0,
	  .most = 15,
	  .help = "output port of the program that is the path; frames it sends elsewhere are lost" },
	{ .name = "entries",
	  .type = SETTING_TEXT,
	  .value_name = "FILE",
	  .help = "table entries instead of the program's own" },
	{ .name = NULL },
};

int pipeline_check(const struct target_setup *setup, struct err *err)
{
	struct program program;
	struct arena arena;
	int rc;

	arena_init(&arena, 64u << 20);
	rc = program_load(setup->program, setup->directory, settings_text(setup->settings, "entries"), &arena, &program,
			  err);
	arena_release(&arena);
	return rc;
}
