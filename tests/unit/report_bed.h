/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_REPORT_BED_H
#define TARE_TESTS_REPORT_BED_H

#include "report/open.h"
#include "report_look.h"
#include "scratch.h"
#include "synthetic.h"

/* Results of stores of known truth, each in a place of its own in the scratch directory, which is the group's. */

#define CELLS_AND_BUDGET (TERMINAL_CELLS | TERMINAL_BUDGET)

static char dir[64]; /* the store of the last */

static const struct synthetic_program two[] = { { .name = "forward", .net_ns = 149, .restart_ns = 1 },
						{ .name = "checksum", .net_ns = 364, .restart_ns = 0.5 } };

static inline struct synthetic plain(void)
{
	return (struct synthetic){ .programs = two,
				   .program_count = 2,
				   .blocks = 6,
				   .runs = 3,
				   .probes = 4200,
				   .packets = 420,
				   .unbalanced_turn = UINT32_MAX,
				   .failed_turn = UINT32_MAX };
}

static inline struct result *result_of(const struct synthetic *s)
{
	static unsigned number;
	struct result *r = NULL;
	struct err err = { 0 };

	snprintf(dir, sizeof(dir), "%s/%u", scratch, number++);
	if (synthetic_write(s, dir, &err) != 0 || result_open(dir, &r, &err) != 0)
		fail_msg("%s", err.message);
	return r;
}

static inline char *file_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 4 << 20);

	assert_non_null(text);
	if (!f)
		fail_msg("%s is not there", path);
	assert_true(fread(text, 1, (4 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

#endif
