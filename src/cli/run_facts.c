/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_facts.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/hostfacts.h"

static void add(void *context, const char *name, const char *value)
{
	struct run_facts *f = context;
	struct stored_fact fact = { arena_strdup(&f->arena, name), arena_strdup(&f->arena, value) };

	if (!fact.name || !fact.value || vec_push(&f->list, fact) < 0)
		f->failed = true;
}

int run_facts_collect(struct run_facts *facts, struct err *err)
{
	*facts = (struct run_facts){ 0 };
	arena_init(&facts->arena, 0);
	host_facts(add, facts);
	return facts->failed ? err_set(err, ERR_HOST, ENOMEM, "out of memory for the facts of this host") : 0;
}

void run_facts_release(struct run_facts *facts)
{
	free(facts->list.items);
	arena_release(&facts->arena);
}
