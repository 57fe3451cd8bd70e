/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PLAN_PLAN_H
#define TARE_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/settings.h"

struct target_ops;

/*
 * A plan: the text a user wrote, checked, with its cells and their order. Built
 * by plan_load, never changed afterwards; everything lives in its arena.
 */
enum measure {
	MEASURE_TRANSIT,
	MEASURE_DIFFERENTIAL,
	MEASURE_CONTROL,
	MEASURE_TELEMETRY,
	MEASURE_RESOURCES,
	MEASURE_CALIBRATE,
	MEASURES
};

/* One point of the matrix, or an extra; for differential plans also the tare. */
struct cell {
	uint32_t index;            /* in plan->cells; the order of the text */
	bool is_tare;              /* the null program that brackets the others */
	const char *label;         /* unique in the plan: "program=forward size=64B"; "tare" for the tare */
	const char *const *values; /* by axis, as written; NULL: the axis does not apply here */
};

/* A restart in the order in which it will run. */
struct turn {
	uint32_t cell;
	uint32_t restart; /* of that cell, from 0 */
	uint32_t block;   /* randomised complete block, from 0 */
};

struct plan {
	struct arena arena;
	const char *path;      /* as given; "-" for a plan from memory */
	const char *directory; /* relative file names in the plan start here */
	const char *text;      /* the whole file, kept in the store */
	uint64_t text_hash;    /* FNV-1a 64 of text: a store resumes only with the same plan */

	const char *name;
	enum measure measure;
	uint64_t seed;
	uint32_t restarts; /* per cell; the tare has two in each block, before and after the others */
	uint32_t runs;     /* per restart */
	int64_t warmup_ns;

	const struct target_ops *target;
	struct settings target_settings; /* table: target->settings */
	struct settings probes;          /* table: by measure */

	const char *const *axes; /* matrix keys in order of the text */
	uint32_t axis_count;
	struct cell *cells;
	uint32_t cell_count;
	struct turn *turns;
	uint32_t turn_count;
	int64_t expected_ns; /* estimated length of the whole campaign; 0: unknown */
};

/* One thing wrong with a plan. Lines and columns from 1; 0: the plan as a whole. */
struct plan_problem {
	uint32_t line, column;
	const char *message; /* names the thing, its value, and what was expected */
};

struct plan_problems {
	struct plan_problem *items; /* in the order of the text */
	uint32_t count;
};

/*
 * Read and check a plan whole: all problems at once, not the first only. On
 * success *ret_plan is the caller's (plan_destroy). On failure *ret_problems
 * (owned by the caller, plan_problems_release) lists every problem and *err sums
 * them up. Checks need no root and start nothing; files that the plan names
 * (trace, program) are looked at.
 */
int plan_load(const char *path, struct plan **ret_plan, struct plan_problems *ret_problems, struct err *err);

/* The same from text in memory; `path` for messages only, relative names start at `directory`. */
int plan_parse(const char *text, size_t length, const char *path, const char *directory, struct plan **ret_plan,
	       struct plan_problems *ret_problems, struct err *err);

void plan_destroy(struct plan *plan);
void plan_problems_release(struct plan_problems *problems);

/* The value of an axis in a cell, as written; NULL when the axis is not there. */
const char *cell_value(const struct plan *plan, const struct cell *cell, const char *axis);

const char *measure_name(enum measure measure);

#endif
