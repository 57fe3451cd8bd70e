/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/problems.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void problems_init(struct problems *p)
{
	memset(p, 0, sizeof(*p));
	arena_init(&p->arena, 0);
}

void problem_at(struct problems *p, uint32_t line, uint32_t column, const char *fmt, ...)
{
	char message[768];
	struct plan_problem *item;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(message))
		memcpy(message + sizeof(message) - 4, "...", 4);
	/* What is cut short may end inside a character. */
	utf8_repair(message);
	for (uint32_t i = 0; i < p->count; i++)
		if (p->items[i].line == line && p->items[i].column == column &&
		    strcmp(p->items[i].message, message) == 0)
			return;
	if (p->count == PLAN_PROBLEMS_MOST) {
		p->more++;
		return;
	}
	item = &p->items[p->count];
	item->line = line;
	item->column = column;
	item->message = arena_strdup(&p->arena, message);
	if (item->message)
		p->count++;
	else
		p->out_of_memory = true;
}

bool problems_any(const struct problems *p)
{
	return p->count > 0 || p->more > 0 || p->out_of_memory;
}

/* By place; equal places keep the order in which they were found, so that the list is the same everywhere. */
static void sort_by_place(struct plan_problem *items, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		struct plan_problem item = items[i];
		uint32_t j = i;

		for (; j > 0; j--) {
			const struct plan_problem *before = &items[j - 1];

			if (before->line < item.line || (before->line == item.line && before->column <= item.column))
				break;
			items[j] = *before;
		}
		items[j] = item;
	}
}

int problems_take(struct problems *p, struct plan_problems *ret)
{
	struct plan_problem *items = arena_array(&p->arena, p->count + 1, sizeof(*items));

	if (!items || p->out_of_memory) {
		problems_release(p);
		return -ENOMEM;
	}
	memcpy(items, p->items, p->count * sizeof(*items));
	sort_by_place(items, p->count);
	ret->items = items;
	ret->count = p->count;
	ret->more = p->more;
	ret->arena = p->arena;
	problems_init(p);
	return 0;
}

void problems_release(struct problems *p)
{
	arena_release(&p->arena);
	problems_init(p);
}

void plan_problems_release(struct plan_problems *problems)
{
	arena_release(&problems->arena);
	memset(problems, 0, sizeof(*problems));
}
