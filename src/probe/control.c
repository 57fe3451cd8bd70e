/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe/control_private.h"
#include "target/v1model_program.h"

void control_config_from(struct control_config *config, const struct settings *s)
{
	config->switches = (uint32_t)settings_number(s, "switches");
	config->count = (uint32_t)settings_number(s, "count");
	config->operation = (enum control_operation)settings_number(s, "operation");
	config->mode = (enum control_mode)settings_number(s, "mode");
	config->window = config->mode == CONTROL_PIPELINED ? (unsigned)settings_number(s, "window") : 1;
	config->batch = config->mode == CONTROL_BATCHED ? (unsigned)settings_number(s, "batch") : 1;
	config->connect_ns = settings_number(s, "connect");
	config->deadline_ns = settings_number(s, "deadline");
	config->limit_ns = settings_number(s, "limit");
	config->reconnect_ns = settings_number(s, "reconnect");
	config->spin_ns = settings_number(s, "spin");
	config->acting_ppm = settings_number(s, "acting");
	config->acting_rate_mpps = settings_number(s, "acting_rate");
	config->acting_limit_ns = settings_number(s, "acting_limit");
	config->table = settings_text(s, "table");
	config->action = settings_text(s, "action");
	config->port = (uint32_t)settings_number(s, "port");
}

static int cannot_watch(const struct control_table *t, const char *why, struct err *err)
{
	return err_set(err, ERR_USAGE, EINVAL, "acting: table %s: %s", t->table->is.alias, why);
}

static int table_of(const struct control_config *config, const struct p4info *info, struct control_table *ret,
		    struct err *err)
{
	uint32_t bits;
	int rc = control_table_init(info, config->table, config->action, config->port, config->count, config->seed, ret,
				    err);

	if (rc == 0 && config->acting_ppm > 0 && config->count == UINT32_C(1) << ret->index_bits)
		rc = cannot_watch(ret, "its key has no value left for a first packet; expected a smaller count", err);
	if (rc == 0 && config->acting_ppm > 0 && !control_table_forwards(ret, &bits))
		rc = cannot_watch(ret,
				  "no packet shows when its entries act; expected one exact or lpm key, an IPv4 or MAC "
				  "address, and an action with a parameter port",
				  err);
	return rc;
}

int control_fits(const struct settings *probes, const struct target_ops *target, const struct target_setup *setup,
		 struct err *err)
{
	struct control_config config = { .seed = setup->seed };
	struct v1model_program program;
	struct control_table table;
	struct p4info *info = NULL;
	struct arena arena;
	int rc;

	control_config_from(&config, probes);
	arena_init(&arena, 0);
	rc = target->load_program(setup, &arena, &program, err);
	if (rc == 0)
		rc = p4info_parse(program.p4info.text, program.p4info.length_bytes, program.p4info.where, &info, err);
	if (rc == 0)
		rc = table_of(&config, info, &table, err);
	if (rc == 0 && config.acting_ppm > 0 && !target->line)
		rc = cannot_watch(&table, "packets cannot be sent through this target; expected a target of kind bmv2",
				  err);
	p4info_destroy(info);
	arena_release(&arena);
	return rc;
}

/* --- connecting --- */

static void on_state(struct p4rt_client *client, enum p4rt_state state, const char *why)
{
	struct side *side = p4rt_client_user(client);

	(void)why;
	if (state != P4RT_PRIMARY || p4rt_client_losses(client) == side->losses_seen)
		return;
	side->losses_seen = p4rt_client_losses(client);
	side->returns++;
}

static int open_socket(void *user, int family, int type)
{
	const struct side *side = user;

	return netns_socket(side->agent.netns, family, type, 0, NULL);
}

static int connect_side(struct control *c, struct side *side, struct err *err)
{
	const struct p4rt_client_config config = {
		.address = side->agent.address,
		.tls = side->agent.tls,
		.device_id = side->agent.device_id,
		.election_low = side->agent.election_low,
		.connect_timeout_ns = c->config.connect_ns,
		.reconnect_ns = c->config.reconnect_ns,
		.state = on_state,
		.open_socket = side->agent.netns ? open_socket : NULL,
		.user = side,
	};

	return p4rt_connect(c->loop, &config, c->config.connect_ns, &side->client, err);
}

static int give_program(struct control *c, struct side *side, const struct v1model_program *program, struct err *err)
{
	bool same = false;
	int rc;

	if (!side->agent.keep_pipeline)
		return p4rt_set_pipeline(side->client, c->info, program->json.text, program->json.length_bytes,
					 c->config.deadline_ns, err);
	rc = p4rt_pipeline_is(side->client, c->info, c->config.deadline_ns, &same, err);
	if (rc == 0 && !same)
		rc = err_set(err, ERR_RESULT, EINVAL,
			     "another pipeline than the plan's program %s runs there; expected the same tables and "
			     "actions, or pipeline: send",
			     program->name);
	return rc;
}

static int side_open(struct control *c, struct side *side, const struct v1model_program *program, struct err *err)
{
	int rc = connect_side(c, side, err);

	if (rc == 0)
		rc = give_program(c, side, program, err);
	if (rc == 0) {
		side->holds = calloc(c->config.count, 1);
		side->seen = calloc(c->config.count, 1);
		side->records = calloc(c->config.count, sizeof(*side->records));
		if (!side->holds || !side->seen || !side->records)
			rc = err_set(err, ERR_HOST, ENOMEM, "out of memory for %" PRIu32 " operations",
				     c->config.count);
	}
	if (rc == 0)
		rc = control_verify(c, side, err);
	if (rc == 0 && side->found > 0)
		rc = err_set(err, ERR_RESULT, ENOTEMPTY,
			     "table %s holds %" PRIu64 " entries; expected none before a run", c->table.table->is.alias,
			     side->found);
	return rc < 0 ? err_wrap(err, "switch %" PRIu32, side->at + 1) : 0;
}

int control_open(const struct control_config *config, const struct target_agent *agents,
		 const struct v1model_program *program, struct control **ret, struct err *err)
{
	struct control *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	c->config = *config;
	c->sides = calloc(config->switches, sizeof(*c->sides));
	rc = c->sides ? loop_create(&c->loop, err) : err_set(err, ERR_HOST, ENOMEM, "out of memory");
	if (rc == 0)
		rc = p4info_parse(program->p4info.text, program->p4info.length_bytes, program->p4info.where, &c->info,
				  err);
	if (rc == 0)
		rc = table_of(config, c->info, &c->table, err);
	for (uint32_t i = 0; rc == 0 && i < config->switches; i++) {
		struct side *side = &c->sides[i];

		side->control = c;
		side->at = i;
		side->agent = agents[i];
		snprintf(side->name, sizeof(side->name), "switch %" PRIu32, i + 1);
		rc = side_open(c, side, program, err);
	}
	if (rc == 0)
		loop_set_spin(c->loop, config->spin_ns);
	if (rc < 0) {
		control_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

/* Best effort: a switch that was ours alone is gone in a moment. */
static void leave(struct control *c, struct side *side)
{
	if (side->client && side->holds && side->agent.pid == 0 && p4rt_client_state(side->client) == P4RT_PRIMARY &&
	    !control_interrupted(c))
		(void)control_empty(c, side, NULL);
}

static void side_close(struct side *side)
{
	p4rt_client_destroy(side->client);
	acting_destroy(side->acting);
	p4rt_updates_release(&side->updates);
	free(side->records);
	free(side->holds);
	free(side->seen);
}

void control_close(struct control *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; c->sides && i < c->config.switches; i++)
		leave(c, &c->sides[i]);
	for (uint32_t i = 0; c->sides && i < c->config.switches; i++)
		side_close(&c->sides[i]);
	loop_destroy(c->loop);
	p4info_destroy(c->info);
	free(c->sides);
	free(c->rows);
	free(c);
}

/* --- a run --- */

/* A connection that a run lost is made again before the next; that it cannot be is an error of the run. */
static int come_back(struct control *c, struct side *side, struct err *err)
{
	int rc = p4rt_become_primary(side->client, c->config.connect_ns, err);

	return rc < 0 ? err_wrap(err, "%s", side->name) : 0;
}

static int prepare(struct control *c, struct side *side, struct err *err)
{
	int rc = come_back(c, side, err);

	if (rc == 0)
		rc = control_empty(c, side, err);
	if (rc == 0 && c->config.operation != CONTROL_INSERT)
		rc = control_fill(c, side, err);
	side->operations =
		c->config.operation == CONTROL_READ || c->config.operation == CONTROL_READ_TABLE ? 1 : c->config.count;
	memset(side->records, 0, side->operations * sizeof(*side->records));
	side->done = side->stopped = false;
	side->next = side->in_flight = side->answered = 0;
	side->wrong = 0;
	side->message[0] = '\0';
	side->losses_before = side->losses_seen = p4rt_client_losses(side->client);
	side->returns = 0;
	side->unread[0] = '\0';
	return rc;
}

/* The entry behind those of the run, for priming; alone and answered. */
static int write_spare(struct control *c, struct side *side, enum p4rt_op op, struct err *err)
{
	struct p4rt_updates updates = { 0 };
	const struct p4rt_write write = { .updates = &updates, .count = 1, .records = side->records };
	size_t failed = 0;
	int rc;

	control_entry_make(&c->table, side->at, c->config.count, 0, &c->scratch);
	if (op == P4RT_DELETE)
		c->scratch.entry.action = NULL;
	rc = p4rt_updates_add(&updates, op, &c->scratch.entry) < 0
		     ? err_set(err, ERR_HOST, ENOMEM, "out of memory")
		     : p4rt_write(side->client, &write, c->config.deadline_ns, &failed, err);
	if (rc == 0 && failed)
		rc = err_set(err, ERR_RESULT, EREMOTEIO, "an entry to begin with was refused: %s",
			     grpc_status_name(side->records[0].status) ? grpc_status_name(side->records[0].status)
								       : "a status that there is not");
	side->records[0] = (struct p4rt_record){ 0 };
	p4rt_updates_release(&updates);
	return rc;
}

/* The entries of a chosen share, spread evenly. */
static uint32_t choose_watched(const struct control *c, uint64_t *ret_keys, uint32_t *ret_turns)
{
	uint64_t ppm = (uint64_t)c->config.acting_ppm;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->config.count; i++)
		if ((uint64_t)(i + 1) * ppm / 1000000 != (uint64_t)i * ppm / 1000000) {
			ret_keys[n] = control_entry_key(&c->table, i);
			ret_turns[n++] = i;
		}
	return n;
}

/* Packets go through an entry of their own first: then the ones that matter are seen from the first on. */
static int watch_these(struct control *c, struct side *side, const struct acting_config *config, struct err *err)
{
	int rc = config->count ? write_spare(c, side, P4RT_INSERT, err) : 0;

	if (rc < 0 || config->count == 0)
		return rc;
	rc = acting_start(config, &side->acting, err);
	return rc < 0 ? rc : write_spare(c, side, P4RT_DELETE, err);
}

static int watch(struct control *c, struct side *side, struct err *err)
{
	uint64_t *keys = malloc(c->config.count * sizeof(*keys));
	uint32_t *turns = malloc(c->config.count * sizeof(*turns));
	struct acting_config config = { .line = side->agent.line,
					.keys = keys,
					.turns = turns,
					.prime_key = control_entry_key(&c->table, c->config.count),
					.rate_pps = (double)c->config.acting_rate_mpps / 1000,
					.limit_ns = c->config.acting_limit_ns,
					.room_ns = c->config.limit_ns + c->config.acting_limit_ns };
	int rc;

	(void)control_table_forwards(&c->table, &config.bits);
	if (keys && turns) {
		config.count = choose_watched(c, keys, turns);
		rc = watch_these(c, side, &config, err);
	} else {
		rc = err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	free(keys);
	free(turns);
	return rc < 0 ? err_wrap(err, "%s", side->name) : 0;
}

static int64_t utc_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Read everything back. What cannot be read is undecided: the run is invalid, and keeps what it saw. */
static int judge(struct control *c, struct err *err)
{
	for (uint32_t i = 0; i < c->config.switches; i++) {
		struct side *side = &c->sides[i];
		struct err why = { 0 };
		int rc = 0;

		if (control_interrupted(c))
			return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
		control_expect(c, side);
		if (p4rt_client_state(side->client) == P4RT_IDLE)
			rc = p4rt_become_primary(side->client, c->config.connect_ns, &why);
		if (rc == 0)
			rc = control_verify(c, side, &why);
		if (rc < 0) {
			snprintf(side->unread, sizeof(side->unread), "%.120s", why.message);
			side->missing = side->extra = side->different = 0;
			side->undecided = c->config.count;
			memset(side->holds, ENTRY_UNKNOWN, c->config.count);
		}
	}
	return 0;
}

int control_run(struct control *c, uint32_t run, struct run_record *ret, struct err *err)
{
	int rc = 0;

	*ret = (struct run_record){ .run = run };
	for (uint32_t i = 0; rc == 0 && i < c->config.switches; i++) {
		acting_destroy(c->sides[i].acting);
		c->sides[i].acting = NULL;
		rc = prepare(c, &c->sides[i], err);
	}
	for (uint32_t i = 0; rc == 0 && c->config.acting_ppm > 0 && i < c->config.switches; i++)
		rc = watch(c, &c->sides[i], err);
	if (rc < 0)
		return rc;
	ret->started_utc_ns = utc_ns();
	rc = control_timed(c, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < c->config.switches; i++)
		if (c->sides[i].acting)
			acting_finish(c->sides[i].acting);
	ret->elapsed_ns = c->account.wall_ns;
	rc = judge(c, err);
	if (rc == 0)
		rc = control_account_make(c, err);
	if (rc == 0)
		control_invalid(c, ret->invalid, sizeof(ret->invalid));
	return rc;
}

const struct control_account *control_account(const struct control *c)
{
	return &c->account;
}

const struct operation *control_operations(const struct control *c, uint32_t *ret_count)
{
	*ret_count = c->row_count;
	return c->rows;
}

const char *control_remark(const struct control *c)
{
	return c->remark[0] ? c->remark : NULL;
}
