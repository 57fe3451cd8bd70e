/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_V1MODEL_LINT_H
#define TARE_TARGET_V1MODEL_LINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * What in a compiled v1model program (the JSON of p4c-bm2-ss) would spoil the stamps
 * that it writes into packets. Nothing is run: it is found by following, through the
 * program's assignments, where the two stamps go.
 */
enum lint_kind {
	LINT_MISSING,      /* a stamp that the switch cannot fill in, or that the program never looks at */
	LINT_NARROW,       /* a stamp kept in fewer bits than it has: it wraps early, or is another clock's */
	LINT_EARLY,        /* the egress stamp read before there is one: in parser or ingress */
	LINT_CLONED,       /* a clone is a packet of its own, with stamps of its own */
	LINT_RECIRCULATED, /* a second round has stamps of the second round */
	LINT_KINDS
};

struct lint_finding {
	enum lint_kind kind;
	const char *where;   /* "l3.p4:52", or the file's name where the program does not say */
	const char *message; /* what it is, and what comes of it */
};

struct lint_findings {
	struct lint_finding *items; /* in the order of the kinds, then of the program */
	uint32_t count;
	struct arena arena;
};

/* "missing-stamp", "narrow-stamp", ... */
const char *lint_kind_name(enum lint_kind kind);

/*
 * `where` names the input in messages. 0, whatever is found; *ret is the caller's (lint_findings_release). Not a
 * program's JSON: ERR_USAGE, -EINVAL, and why.
 */
int v1model_lint(const char *text, size_t length, const char *where, struct lint_findings *ret, struct err *err);
void lint_findings_release(struct lint_findings *findings);

#endif
