/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_VEC_H
#define TARE_BASE_VEC_H

#include <stddef.h>

/*
 * A growing array of one element type on the heap. Declare `struct { T *items;
 * size_t count, capacity; }` (or VEC(T)), start from all zeros, push with
 * vec_push, free items with free(). Elements move when it grows.
 */
#define VEC(T)                                                                                                         \
	struct {                                                                                                       \
		T *items;                                                                                              \
		size_t count, capacity;                                                                                \
	}

/* Room for one more; 0 or -ENOMEM (the vector is unchanged then). */
#define vec_reserve_one(v) vec_grow((void **)&(v)->items, &(v)->capacity, (v)->count + 1, sizeof(*(v)->items))

/* Append a value: 0 or -ENOMEM. */
#define vec_push(v, value) (vec_reserve_one(v) == 0 ? ((v)->items[(v)->count++] = (value), 0) : -12 /* ENOMEM */)

int vec_grow(void **items, size_t *capacity, size_t need, size_t size_bytes) __attribute__((warn_unused_result));

#endif
