/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_SCRATCH_H
#define TARE_TESTS_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A directory of the test's own: made before it, removed after it with all that lies below. */
static char scratch[32];

static inline int make_scratch(void **state)
{
	(void)state;
	strcpy(scratch, "/tmp/tare-test-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
	(void)st;
	(void)kind;
	(void)place;
	return remove(path);
}

/* Links are removed, not followed. */
static inline int remove_tree(const char *path)
{
	return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int remove_scratch(void **state)
{
	(void)state;
	return remove_tree(scratch);
}

/* The path of what is called so in it; good for four calls. */
static inline const char *in_scratch(const char *name)
{
	static char path[4][192];
	static unsigned turn;

	snprintf(path[++turn % 4], sizeof(path[0]), "%s/%s", scratch, name);
	return path[turn % 4];
}

#endif
