/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_facts.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/build.h"

static void add(struct run_facts *f, const char *name, const char *value)
{
	struct stored_fact fact = { arena_strdup(&f->arena, name), arena_strdup(&f->arena, value) };

	if (!fact.name || !fact.value || vec_push(&f->list, fact) < 0)
		f->failed = -ENOMEM;
}

static void add_library(void *context, const char *name, const char *version)
{
	struct run_facts *f = context;
	const char *full = arena_printf(&f->arena, "library.%s", name);

	if (full)
		add(f, full, version);
	else
		f->failed = -ENOMEM;
}

int run_facts_collect(struct run_facts *facts, struct err *err)
{
	*facts = (struct run_facts){ 0 };
	arena_init(&facts->arena, 0);
	add(facts, "tare.version", build_version());
	add(facts, "tare.build", build_flags());
	build_libraries(add_library, facts);
	return facts->failed ? err_set(err, ERR_HOST, ENOMEM, "out of memory for the facts of this host") : 0;
}

void run_facts_release(struct run_facts *facts)
{
	free(facts->list.items);
	arena_release(&facts->arena);
}
