/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_ARENA_H
#define TARE_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

/*
 * Memory for things that are built once and dropped together (a plan, a P4
 * model, a report). Nothing is freed alone. Not thread-safe.
 */
struct arena {
	struct arena_block *head;
	size_t used_bytes;  /* handed out so far */
	size_t limit_bytes; /* 0: no limit; else allocations beyond it return NULL */
};

void arena_init(struct arena *a, size_t limit_bytes);
void arena_release(struct arena *a); /* frees all; the arena is empty and usable again */

/* Zeroed memory, aligned for any type; NULL when memory or the limit is exhausted, or count * size overflows. */
void *arena_alloc(struct arena *a, size_t size_bytes);
void *arena_array(struct arena *a, size_t count, size_t size_bytes);

/* Copies owned by the arena; NULL on exhaustion. */
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t length);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
