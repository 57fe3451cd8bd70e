/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PLAN_PROBLEMS_H
#define TARE_PLAN_PROBLEMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/plan.h"

/* The list of problems while it grows. All zeros is an empty one after problems_init. */
struct problems {
	struct arena arena;
	struct plan_problem items[PLAN_PROBLEMS_MOST];
	uint32_t count, more;
	bool out_of_memory;
};

void problems_init(struct problems *p);

/* Add one; the same message at the same place again is dropped. */
void problem_at(struct problems *p, uint32_t line, uint32_t column, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

bool problems_any(const struct problems *p);

/* Sort by place and hand over to the caller's list; the growing list is empty afterwards. 0 or -ENOMEM. */
int problems_take(struct problems *p, struct plan_problems *ret);

void problems_release(struct problems *p);

#endif
