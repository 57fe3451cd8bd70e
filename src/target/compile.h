/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_COMPILE_H
#define TARE_TARGET_COMPILE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "target/v1model_program.h"

/*
 * A P4 source of the user's, made into what a v1model switch takes by p4c-bm2-ss, where that is in PATH. Every call
 * compiles anew, in a folder of its own that is gone afterwards: a source may include others, and what
 * is measured is what stands in the files now.
 */
struct p4_compiled {
	struct v1model_part json, p4info;
	const char *compiler; /* "p4c-bm2-ss 1.2.5.16 (SHA: 34b86e9bac BUILD: Release)" */
};

/* "x.p4"? */
bool p4_is_source(const char *program);

/* Is the source there to be read? Starts nothing. ERR_USAGE. */
int p4_check_source(const char *path, struct err *err);

/*
 * Texts are the arena's. Without the compiler: ERR_HOST, -ENOENT, and what to do. It refuses the source, or does not come
 * to an end: ERR_USAGE or ERR_HOST, with the end of what it said.
 */
int p4_compile(const char *path, struct arena *arena, struct p4_compiled *ret, struct err *err);

#endif
