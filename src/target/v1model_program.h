/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_V1MODEL_PROGRAM_H
#define TARE_TARGET_V1MODEL_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * The program that a plan names for the kind `bmv2`: one that Tare brings
 * (l2_forward, l3_lpm, ...: built into the binary), or a file `x.json` of the
 * user's as p4c-bm2-ss writes it, with `x.p4info.txtpb` (or x.p4info.txt) beside
 * it and its table entries in `x.entries` if that is there; or a source `x.p4`,
 * which is compiled here (target/compile.h), with entries likewise. Texts only: what
 * they mean is for p4rt/ to say.
 */
struct v1model_text {
	const char *name, *json, *p4info, *entries;
};

/* What Tare brings; the last has no name. Written at build time from p4/v1model. */
extern const struct v1model_text v1model_texts[];

struct v1model_part {
	const char *text, *where; /* where: its file's name, for messages */
	size_t length_bytes;
	uint64_t hash; /* FNV-1a 64; 0: no text */
};

struct v1model_program {
	const char *name;
	const char *compiler;                      /* with its version, of a program x.p4; NULL: it came compiled */
	struct v1model_part json, p4info, entries; /* entries.text "": none */
};

/*
 * Find and read. Relative names start at `directory`. `p4info_path` and
 * `entries_path` NULL: the program's own. Everything is the arena's. A name that
 * is not there: -ENOENT and the names there are.
 */
int v1model_program_load(const char *name, const char *directory, const char *p4info_path, const char *entries_path,
			 struct arena *arena, struct v1model_program *ret, struct err *err);

/* A name in a plan as a path. NULL: out of memory. */
const char *v1model_path(const char *directory, const char *name, struct arena *arena);

/* A whole file into the arena. */
int v1model_read_part(const char *path, struct arena *arena, struct v1model_part *ret, struct err *err);

#endif
