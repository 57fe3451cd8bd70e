/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_PIPELINE_PROGRAM_H
#define TARE_TARGET_PIPELINE_PROGRAM_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "target/spec.h"
#include "target/spec_entries.h"

/*
 * The program that a plan names for the kind `pipeline`: one that Tare brings
 * (null, forward, ...: built into the binary), or a file `x.spec` of the user's,
 * with its table entries in `x.entries` beside it if that is there.
 */
struct program_text {
	const char *name, *spec, *entries; /* entries "": none */
};

/* What Tare brings; the last has no name. Written at build time from p4/. */
extern const struct program_text program_texts[];

struct program {
	struct spec *spec;
	struct spec_entries *entries;
	uint64_t spec_hash, entries_hash; /* FNV-1a 64 of the texts; entries_hash 0: no entries */
};

/*
 * Find, read and parse. `directory`: relative names start there (NULL: the
 * current one). `entries_path` NULL: the program's own. Everything is the
 * arena's. A name that is not there: -ENOENT and the names there are.
 */
int program_load(const char *name, const char *directory, const char *entries_path, struct arena *arena,
		 struct program *ret_program, struct err *err);

#endif
