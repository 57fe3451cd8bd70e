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
	bool is_tare;              /* runs the null program; brackets the others in every block */
	uint32_t tare;             /* the cell that is taken off this one: the tare that agrees with it on
				      every axis but program. Its own index for a tare; CELL_NONE without tares */
	const char *label;         /* unique in the plan: "program=forward size=64B"; "tare", or "tare size=64B" */
	const char *const *values; /* by axis, as written; NULL: the axis is not set here, the plan's own value holds */
};

#define CELL_NONE UINT32_MAX

enum {
	PLAN_CELLS_MOST = 4096,    /* of matrix and extra; tares come to them */
	PLAN_TURNS_MOST = 1000000, /* restarts of all cells together */
	PLAN_BYTES_MOST = 1 << 20, /* of a plan file */
	PLAN_PROBLEMS_MOST = 100,  /* more are counted, not listed */
};

/*
 * The stop: section: restarts of a cell go on until its interval is narrow enough (stats/stopping.h). `restarts` of the
 * plan is then the most of them: turns are made for all, and the campaign passes over those of cells that have stopped.
 */
struct plan_stop {
	bool on;
	uint32_t width_ppm;   /* of the 95 % interval, end to end, over the median */
	uint32_t least, most; /* restarts of a cell */
	const char *of;       /* name of the run's value that decides; NULL: the measure's own figure */
};

enum { PLAN_STOP_LEAST = 6 }; /* with fewer restarts there is no 95 % interval */

/*
 * A pilot of a plan: the same cells (or some of them, evenly spread, with their tares) with few restarts, runs and
 * probes, to learn what they cost and how they vary. A plan of its own, which no store of the plan itself takes.
 */
struct plan_pilot {
	uint32_t restarts, runs;
	uint32_t probes_most; /* of a run; the plan's own count where that is less. 0: as the plan has it */
	uint32_t cells_most;  /* tares not counted; 0: all */
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
	bool pilot; /* a pilot: its data enter no figure */
	enum measure measure;
	uint64_t seed;
	uint32_t restarts; /* per cell, one in each block; a tare has two: before (2 * block) and after the others */
	uint32_t runs;     /* per restart */
	int64_t warmup_ns;
	int64_t resources_ns; /* how often what switches use is sampled beside a run; 0: never */
	struct plan_stop stop;

	struct settings general;  /* table: plan_settings; the numbers above are taken from it */
	const char *tare_program; /* NULL: the measure knows no tare */
	const struct target_ops *target;
	struct settings target_settings; /* table: target->settings */
	struct settings probes;          /* table: by measure */
	struct settings stopping;        /* table: plan_stop_settings */

	const char *const *axes; /* matrix keys in order of the text */
	uint32_t axis_count;
	struct cell *cells;
	uint32_t cell_count;
	struct turn *turns;
	uint32_t turn_count;
	int64_t expected_ns; /* of sending and warming up in the whole campaign; starting targets comes to it */
};

/* The keys of a plan that are plain values: name, measure, seed, restarts, runs, warmup, resources. */
extern const struct setting plan_settings[];

/* Those of its stop: section: width, restarts, of. */
extern const struct setting plan_stop_settings[];

/* One thing wrong with a plan. Lines and columns from 1; 0: the plan as a whole. */
struct plan_problem {
	uint32_t line, column; /* columns count characters, not bytes */
	const char *message;   /* names the thing, its value, and what was expected */
};

struct plan_problems {
	struct plan_problem *items; /* in the order of the text */
	uint32_t count;             /* listed */
	uint32_t more;              /* found, but over PLAN_PROBLEMS_MOST */
	struct arena arena;         /* of the messages */
};

/*
 * Read and check a plan whole: all problems at once, not the first only. On
 * success *ret_plan is the caller's (plan_destroy). On failure *ret_problems
 * (owned by the caller, plan_problems_release) lists every problem and *err sums
 * them up. Checks need no root and start nothing; files that the plan names
 * (trace, program) are looked at.
 */
int plan_load(const char *path, struct plan **ret_plan, struct plan_problems *ret_problems, struct err *err);

/* Its pilot, from the same file: for a plan that plan_load has found right. */
int plan_load_pilot(const char *path, const struct plan_pilot *pilot, struct plan **ret_plan,
		    struct plan_problems *ret_problems, struct err *err);

/* The same from text in memory; `path` for messages only, relative names start at `directory`. */
int plan_parse(const char *text, size_t length, const char *path, const char *directory, struct plan **ret_plan,
	       struct plan_problems *ret_problems, struct err *err);

int plan_parse_pilot(const char *text, size_t length, const char *path, const char *directory,
		     const struct plan_pilot *pilot, struct plan **ret_plan, struct plan_problems *ret_problems,
		     struct err *err);

void plan_destroy(struct plan *plan);
void plan_problems_release(struct plan_problems *problems);

/* The value of an axis in a cell, as written; NULL when the axis is not there. */
const char *cell_value(const struct plan *plan, const struct cell *cell, const char *axis);

/*
 * What a cell runs with: the plan's settings with the cell's values put in.
 * Everything lives in `arena`. Cannot fail for want of a right value (plan_parse
 * has checked them all): 0 or -ENOMEM.
 */
struct cell_setup {
	const char *program;
	struct settings target; /* table: plan->target->settings */
	struct settings probes; /* table: plan->probes.table */
};
int plan_cell_setup(const struct plan *plan, const struct cell *cell, struct arena *arena, struct cell_setup *ret);

const char *measure_name(enum measure measure);
/* The settings of its probes: section; NULL: this build cannot measure it yet. */
const struct setting *measure_probes(enum measure measure);
bool measure_find(const char *name, enum measure *ret_measure);

#endif
