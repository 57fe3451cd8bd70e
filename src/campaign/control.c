/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "campaign/control_values.h"
#include "campaign/line.h"
#include "campaign/measure.h"
#include "campaign/restart.h"
#include "lab/netns.h"
#include "store/operation.h"
#include "target/v1model_program.h"

/* A restart of a control plan: switches side by side, a client of each on one loop, runs of one operation. */
struct measuring {
	const struct plan *plan;
	const atomic_bool *interrupted;

	/* of the restart that is open */
	struct arena arena; /* the cell's settings, the program */
	struct target *target;
	uint32_t switches;
	struct control *control;
	struct run_record record;
};

/* Switches of ours live in a lab; servers that are there already need nothing of this host. */
static int check(const struct measure_setup *setup, struct err *err)
{
	return setup->plan->target->line ? line_check(setup, err) : 0;
}

static int begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	struct measuring *m = calloc(1, sizeof(*m));
	int r;

	(void)store;
	if (!m)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	m->plan = setup->plan;
	m->interrupted = setup->interrupted;
	arena_init(&m->arena, 0);
	*ret = m; /* end() takes it after a failure too */
	r = m->plan->target->line ? netns_permit(err) : 0;
	return r < 0 ? r : 0;
}

static int connect_all(struct measuring *m, const struct target_setup *setup, const struct control_config *config,
		       struct err *err)
{
	struct target_agent agents[CONTROL_SWITCHES_MOST];
	struct v1model_program program;
	int r = m->plan->target->load_program(setup, &m->arena, &program, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < config->switches; i++)
		m->target->ops->agent(m->target, i, &agents[i]);
	return control_open(config, agents, &program, &m->control, err);
}

static int open_restart(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	struct target_setup setup = { .directory = m->plan->directory, .seed = seed };
	struct control_config config = { .seed = seed, .interrupted = m->interrupted };
	struct cell_setup cell;
	int r;

	if (plan_cell_setup(m->plan, &m->plan->cells[turn->cell], &m->arena, &cell) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	control_config_from(&config, &cell.probes);
	m->switches = config.switches;
	setup.settings = &cell.target;
	setup.program = cell.program;
	r = m->plan->target->open_agents(&setup, config.switches, &m->target, err);
	if (r == 0)
		r = connect_all(m, &setup, &config, err);
	return r < 0 ? r : restart_wait(m->interrupted, m->plan->warmup_ns, err);
}

static int run(struct measuring *m, uint32_t number, const char **ret_invalid, struct err *err)
{
	int r = restart_outcome(m->target, control_run(m->control, number, &m->record, err), err);

	if (r == 0)
		*ret_invalid = m->record.invalid[0] ? m->record.invalid : NULL;
	return r;
}

static int put(struct measuring *m, struct store *store, struct err *err)
{
	const struct control_account *account = control_account(m->control);
	struct run_value values[CONTROL_VALUES_MOST];
	const struct operation *rows;
	uint32_t count;
	int n, r;

	rows = control_operations(m->control, &count);
	n = control_values(account, rows, count, values);
	if (n < 0) {
		store_abandon_restart(store);
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for %u operations", count);
	}
	r = store_put_run(store, &m->record, NULL, 0, err);
	if (r == 0)
		r = store_put_control(store, account, rows, count, err);
	if (r == 0)
		r = store_put_values(store, values, (uint32_t)n, err);
	if (r == 0 && control_remark(m->control))
		r = store_put_event(store, "control", control_remark(m->control), err);
	return r;
}

/* Those that are processes of ours. */
static void watched(struct measuring *m, struct watched *ret)
{
	for (uint32_t i = 0; m->target && i < m->switches; i++) {
		struct target_agent agent = { 0 };

		m->target->ops->agent(m->target, i, &agent);
		if (agent.pid)
			watched_add(ret, agent.pid, agent.netns);
	}
}

static const char *facts(struct measuring *m)
{
	return restart_facts(m->target);
}

static void close_restart(struct measuring *m)
{
	control_close(m->control);
	m->control = NULL;
	if (m->target)
		m->target->ops->close(m->target);
	m->target = NULL;
	arena_release(&m->arena);
}

const struct measure_ops measure_control = {
	.measure = MEASURE_CONTROL,
	.check = check,
	.begin = begin,
	.open = open_restart,
	.run = run,
	.put = put,
	.watched = watched,
	.facts = facts,
	.close = close_restart,
	.end = restart_end,
};
