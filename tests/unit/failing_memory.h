/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_FAILING_MEMORY_H
#define TARE_TESTS_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * For a test that is linked with --wrap of these four: the nth allocation of the code under test fails, and only that
 * one. Libraries (libyaml, SQLite, jansson, libc's own streams) have theirs. Included by one file of a program.
 */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static long countdown; /* 0: never */

static bool fails(void)
{
	return countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

#endif
