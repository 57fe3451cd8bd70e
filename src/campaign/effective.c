/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/effective.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

struct fact_list {
	VEC(struct stored_fact) facts;
	struct arena arena;
};

/* A table that a plan does not have (its measure sends no probes) is empty. */
static int add_table(struct fact_list *list, const char *prefix, const struct settings *settings)
{
	for (uint32_t i = 0; settings->table && settings->table[i].name; i++) {
		const struct setting_value *value = &settings->values[i];
		struct stored_fact fact;

		if (!value->present)
			continue;
		fact.name = arena_printf(&list->arena, "%s%s", prefix, settings->table[i].name);
		fact.value = value->text ? value->text : "";
		if (!fact.name || vec_push(&list->facts, fact) < 0)
			return -ENOMEM;
	}
	return 0;
}

int effective_settings_put(const struct plan *plan, struct store *store, struct err *err)
{
	struct fact_list list = { 0 };
	int r;

	arena_init(&list.arena, 0);
	r = add_table(&list, "plan.", &plan->general);
	if (r == 0)
		r = add_table(&list, "plan.target.", &plan->target_settings);
	if (r == 0)
		r = add_table(&list, "plan.probes.", &plan->probes);
	if (r == 0 && plan->stop.on)
		r = add_table(&list, "plan.stop.", &plan->stopping);
	if (r == 0 && plan->pilot && vec_push(&list.facts, ((struct stored_fact){ "plan.pilot", "yes" })) < 0)
		r = -ENOMEM;
	if (r < 0)
		err_set(err, ERR_HOST, ENOMEM, "out of memory for the settings of the plan");
	else
		r = store_put_facts(store, list.facts.items, (uint32_t)list.facts.count, err);
	free(list.facts.items);
	arena_release(&list.arena);
	return r;
}
