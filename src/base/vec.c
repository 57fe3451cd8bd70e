/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

_Static_assert(ENOMEM == 12, "vec_push spells ENOMEM as a number");

int vec_grow(void **items, size_t *capacity, size_t need, size_t size_bytes)
{
	size_t grown = *capacity ? *capacity : 8;
	void *moved;

	if (need <= *capacity)
		return 0;
	while (grown < need) {
		if (grown > SIZE_MAX / 2)
			return -ENOMEM;
		grown *= 2;
	}
	if (grown > SIZE_MAX / size_bytes)
		return -ENOMEM;
	moved = realloc(*items, grown * size_bytes);
	if (!moved)
		return -ENOMEM;
	*items = moved;
	*capacity = grown;
	return 0;
}
