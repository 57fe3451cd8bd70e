/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/control_private.h"

enum {
	POOL_BLOCK_BYTES = 256 << 10, /* most requests fit; kept between them */
	POOL_MOST_BYTES = 256 << 20,  /* a small message can ask for a hundred times its size */
};

static void *take(void *data, size_t size)
{
	return pool_alloc(data, size);
}

static void drop(void *data, void *object)
{
	(void)data;
	(void)object;
}

int pool_init(struct pool *pool)
{
	pool->block = malloc(POOL_BLOCK_BYTES);
	pool->size_bytes = POOL_BLOCK_BYTES;
	pool->used_bytes = 0;
	arena_init(&pool->spill, POOL_MOST_BYTES);
	pool->allocator = (ProtobufCAllocator){ take, drop, pool };
	return pool->block != NULL ? 0 : -ENOMEM;
}

void pool_release(struct pool *pool)
{
	free(pool->block);
	pool->block = NULL;
	arena_release(&pool->spill);
}

void pool_reset(struct pool *pool)
{
	pool->used_bytes = 0;
	if (pool->spill.head != NULL)
		arena_release(&pool->spill);
}

void *pool_alloc(struct pool *pool, size_t size_bytes)
{
	size_t size = (size_bytes + 15) & ~(size_t)15;

	if (size < size_bytes)
		return NULL;
	if (size > pool->size_bytes - pool->used_bytes)
		return arena_alloc(&pool->spill, size);
	pool->used_bytes += size;
	return pool->block + pool->used_bytes - size;
}

void *pool_array(struct pool *pool, size_t count, size_t size_bytes)
{
	size_t size;
	void *array;

	if (__builtin_mul_overflow(count, size_bytes, &size))
		return NULL;
	array = pool_alloc(pool, size + 1);
	if (array != NULL)
		memset(array, 0, size + 1);
	return array;
}

void *pool_pointers(struct pool *pool, size_t count)
{
	return pool_array(pool, count, sizeof(void *));
}
