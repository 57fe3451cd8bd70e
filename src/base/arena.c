/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct arena_block {
	struct arena_block *next;
	size_t size_bytes;
	size_t used_bytes;
	max_align_t data[];
};

void arena_init(struct arena *a, size_t limit_bytes)
{
	memset(a, 0, sizeof(*a));
	a->limit_bytes = limit_bytes;
}

void arena_release(struct arena *a)
{
	while (a->head) {
		struct arena_block *next = a->head->next;

		free(a->head);
		a->head = next;
	}
	a->used_bytes = 0;
}

static struct arena_block *block_add(struct arena *a, size_t need_bytes)
{
	size_t size = need_bytes > BLOCK_BYTES ? need_bytes : BLOCK_BYTES;
	struct arena_block *b;

	if (size > SIZE_MAX - sizeof(*b))
		return NULL;
	b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->size_bytes = size;
	b->used_bytes = 0;
	b->next = a->head;
	a->head = b;
	return b;
}

void *arena_alloc(struct arena *a, size_t size_bytes)
{
	const size_t align = _Alignof(max_align_t);
	struct arena_block *b = a->head;
	size_t need;
	void *p;

	if (size_bytes > SIZE_MAX - align)
		return NULL;
	need = (size_bytes + align - 1) / align * align;
	if (need == 0)
		need = align;
	if (a->limit_bytes && (need > a->limit_bytes || a->used_bytes > a->limit_bytes - need))
		return NULL;
	if (!b || b->size_bytes - b->used_bytes < need) {
		b = block_add(a, need);
		if (!b)
			return NULL;
	}
	p = (char *)b->data + b->used_bytes;
	b->used_bytes += need;
	a->used_bytes += need;
	return memset(p, 0, need);
}

void *arena_array(struct arena *a, size_t count, size_t size_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size_bytes, &bytes))
		return NULL;
	return arena_alloc(a, bytes);
}

char *arena_strndup(struct arena *a, const char *text, size_t length)
{
	char *copy;

	if (length == SIZE_MAX)
		return NULL;
	copy = arena_alloc(a, length + 1);
	if (copy)
		memcpy(copy, text, length);
	return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
	return arena_strndup(a, text, strlen(text));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *text;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	text = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(again);
	return text;
}
