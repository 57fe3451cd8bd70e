/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tables/state_private.h"

static int init(struct state *s, struct err *err)
{
	const struct program *p = s->program;
	int rc;

	s->tables = calloc(p->table_count + 1, sizeof(*s->tables));
	s->profiles = calloc(p->profile_count + 1, sizeof(*s->profiles));
	s->value_sets = calloc(p->value_set_count + 1, sizeof(*s->value_sets));
	if (s->tables == NULL || s->profiles == NULL || s->value_sets == NULL || replications_init(&s->multicast) < 0 ||
	    replications_init(&s->clones) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < p->profile_count; i++)
		if (profile_init(&s->profiles[i], &p->profiles[i]) < 0)
			return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	rc = arrays_init(s, err);
	for (uint32_t i = 0; rc == 0 && i < p->table_count; i++)
		rc = table_init(s, &s->tables[i], &p->tables[i], i, err);
	for (uint32_t i = 0; rc == 0 && i < p->table_count; i++)
		rc = table_fill(s, &s->tables[i], err);
	return rc;
}

int state_create(const struct program *program, struct quiesce *quiesce, bool shared, struct state **ret_state,
		 struct err *err)
{
	struct state *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	s->program = program;
	s->quiesce = quiesce;
	s->shared = shared;
	rc = init(s, err);
	if (rc < 0) {
		state_destroy(s);
		return rc;
	}
	*ret_state = s;
	return 0;
}

void state_destroy(struct state *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; s->tables != NULL && i < s->program->table_count; i++)
		table_release(s, &s->tables[i]);
	for (uint32_t i = 0; s->profiles != NULL && i < s->program->profile_count; i++)
		profile_release(&s->profiles[i]);
	for (uint32_t i = 0; s->value_sets != NULL && i < s->program->value_set_count; i++)
		free(atomic_load_explicit(&s->value_sets[i], memory_order_relaxed));
	replications_release(&s->multicast);
	replications_release(&s->clones);
	arrays_release(s);
	free(s->tables);
	free(s->profiles);
	free(s->value_sets);
	free(s);
}

const struct program *state_program(const struct state *state)
{
	return state->program;
}
