/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_LATENCYLAB_H
#define TARE_IMPORT_LATENCYLAB_H

#include "import/ids.h"
#include "import/tree.h"
#include "plan/plan.h"

/*
 * A study as a plan: which program has which null, which trace both were sent, and
 * in which order its restarts stand. A session is a restart; sessions of the same
 * number make a block, in which the null's stands before the program's. They did
 * not run in that order: see docs/method.md.
 */
struct lab_program {
	const char *name;                /* "Checksum"; the tag where it is not known */
	const struct tree_program *self; /* NULL: only its null is there */
	const struct tree_program *null; /* NULL: none */
	const char *trace;               /* file of what was sent; NULL: none */
	struct import_ids ids;
	uint32_t cell, tare; /* in the plan; CELL_NONE: not there */
};

struct lab_turn {
	const struct lab_program *program;
	const struct tree_session *session;
};

struct lab_study {
	struct arena arena;
	struct tree tree;
	struct lab_program *programs;
	uint32_t program_count;
	struct plan plan;
	struct lab_turn *turns; /* parallel to plan.turns */
};

/* `tares` as in import_options. The caller releases, also after a failure. */
int lab_study_read(const char *dir, const char *tares, struct lab_study *ret, struct err *err);

/* The plan, once the ids of every program are there. */
int lab_study_plan(struct lab_study *study, const char *dir, struct err *err);

void lab_study_release(struct lab_study *study);

#endif
