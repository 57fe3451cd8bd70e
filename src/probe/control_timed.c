/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe/control_private.h"

/*
 * The timed part. What a controller has to do is in it: encoding the entries, sending, taking the answers. What only we do
 * (looking for an interrupt, the limit) costs a look at a flag and at the clock a turn of the loop.
 */
enum { LOOK_NS = 50000000 };

static int64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) < 0 ? -1 : t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Of all processes that serve; -1: one of them is not ours. */
static int64_t server_cpu_ns(const struct control *c)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < c->config.switches; i++) {
		pid_t pid = c->sides[i].agent.pid;
		clockid_t clock;
		int64_t ns;

		if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || (ns = cpu_ns(clock)) < 0)
			return -1;
		sum += ns;
	}
	return sum;
}

static void start_side(struct side *side);

static void side_done(struct side *side)
{
	struct control *c = side->control;

	side->done = true;
	c->sides_done++;
	/* sync: one switch after another */
	if (c->config.mode == CONTROL_SYNC && side->at + 1 < c->config.switches)
		start_side(side + 1);
}

/* --- writes --- */

static int encode(struct control *c, struct side *side)
{
	enum control_operation operation = c->config.operation;
	enum p4rt_op op = operation == CONTROL_INSERT   ? P4RT_INSERT
			  : operation == CONTROL_MODIFY ? P4RT_MODIFY
							: P4RT_DELETE;

	p4rt_updates_clear(&side->updates);
	for (uint32_t i = 0; i < c->config.count; i++) {
		struct p4rt_entry *entry = &c->scratch.entry;

		control_entry_make(&c->table, side->at, i, op == P4RT_MODIFY, &c->scratch);
		if (op == P4RT_DELETE)
			entry->action = NULL;
		if (p4rt_updates_add(&side->updates, op, entry) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void on_answered(void *user, size_t index, size_t count)
{
	struct side *side = user;
	const struct control_config *config = &side->control->config;

	acting_advance(side->acting, (uint32_t)(index + count) + config->window * config->batch);
}

static void on_written(void *user, size_t failed, const char *message)
{
	struct side *side = user;

	if (failed)
		snprintf(side->message, sizeof(side->message), "%s", message);
	side_done(side);
}

static void cannot_start(struct side *side, const char *why)
{
	for (uint32_t i = 0; i < side->operations; i++)
		if (side->records[i].sent_ns == 0)
			side->records[i].status = GRPC_CANCELLED;
	if (!side->message[0])
		snprintf(side->message, sizeof(side->message), "%s", why);
	side_done(side);
}

static void start_writing(struct side *side)
{
	struct control *c = side->control;
	const struct p4rt_write write = { .updates = &side->updates,
					  .count = c->config.count,
					  .window = c->config.window,
					  .batch = c->config.batch,
					  .deadline_ns = c->config.deadline_ns,
					  .records = side->records,
					  .answered = side->acting ? on_answered : NULL,
					  .done = on_written,
					  .user = side };

	if (side->acting)
		acting_advance(side->acting, c->config.window * c->config.batch);
	if (p4rt_client_write(side->client, &write) < 0)
		cannot_start(side, "out of memory");
}

/* --- reads --- */

struct read_slot {
	struct side *side;
	uint32_t index, entries;
};

static void read_on(struct side *side);

static void on_entry(void *user, const struct p4rt_entry *entry)
{
	struct read_slot *slot = user;
	struct control *c = slot->side->control;

	if (entry->table != c->table.table)
		return;
	if (c->config.operation == CONTROL_READ_SINGLE) {
		control_entry_make(&c->table, slot->side->at, slot->index, 0, &c->scratch);
		slot->entries += p4rt_entry_equal(entry, &c->scratch.entry);
		return;
	}
	slot->entries++;
}

static void on_read(void *user, const struct p4rt_result *result, size_t entries)
{
	struct read_slot *slot = user;
	struct side *side = slot->side;
	struct p4rt_record *record = &side->records[slot->index];
	uint32_t expected = side->control->config.operation == CONTROL_READ_SINGLE ? 1 : side->control->config.count;

	(void)entries;
	record->answered_ns = loop_now_ns();
	record->status = result->status;
	if (result->status != GRPC_OK && !side->message[0])
		snprintf(side->message, sizeof(side->message), "%s", result->message);
	side->wrong += result->status == GRPC_OK && slot->entries != expected;
	side->in_flight--;
	side->answered++;
	free(slot);
	read_on(side);
}

static bool begin_read(struct side *side)
{
	struct control *c = side->control;
	struct read_slot *slot = malloc(sizeof(*slot));
	struct p4rt_read read = {
		.info = c->info, .deadline_ns = c->config.deadline_ns, .entry = on_entry, .done = on_read, .user = slot
	};
	int64_t sent_ns;

	if (!slot)
		return false;
	*slot = (struct read_slot){ .side = side, .index = side->next };
	if (c->config.operation == CONTROL_READ_SINGLE) {
		control_entry_make(&c->table, side->at, side->next, 0, &c->scratch);
		read.single = &c->scratch.entry;
	} else if (c->config.operation == CONTROL_READ_TABLE) {
		read.table = c->table.table;
	}
	sent_ns = loop_now_ns();
	if (p4rt_client_read(side->client, &read) < 0) {
		free(slot);
		return false;
	}
	side->records[side->next++].sent_ns = sent_ns;
	side->in_flight++;
	return true;
}

/* Fill the window; end when all is answered. */
static void read_on(struct side *side)
{
	const char *why = "out of memory";

	while (!side->stopped && side->next < side->operations && side->in_flight < side->control->config.window) {
		enum p4rt_state state = p4rt_client_state(side->client);

		side->stopped = (state != P4RT_PRIMARY && state != P4RT_BACKUP) || !begin_read(side);
		if (side->stopped && state != P4RT_PRIMARY)
			why = p4rt_client_why(side->client);
	}
	if (side->in_flight)
		return;
	if (side->next == side->operations)
		side_done(side);
	else if (side->stopped)
		cannot_start(side, why);
}

static void start_reading(struct side *side)
{
	int64_t now = loop_now_ns();

	for (uint32_t i = 0; i < side->operations; i++)
		side->records[i].queued_ns = now;
	read_on(side);
}

/* --- all --- */

static void start_side(struct side *side)
{
	if (side->stopped)
		cannot_start(side, "the run's limit had passed");
	else if (control_reads(side->control))
		start_reading(side);
	else
		start_writing(side);
}

/* What has been sent may still be answered; nothing more is sent. */
static void stop_sending(struct control *c)
{
	for (uint32_t i = 0; i < c->config.switches; i++)
		c->sides[i].stopped = true;
	for (uint32_t i = 0; i < c->config.switches; i++) {
		struct side *side = &c->sides[i];

		if (!side->done && !control_reads(c))
			p4rt_client_stop_writing(side->client, "the run's limit had passed");
		else if (!side->done && side->in_flight == 0 && side->next > 0)
			read_on(side);
	}
}

static int turn_to_the_end(struct control *c, struct err *err)
{
	int64_t limit_ns = c->start_ns + c->config.limit_ns;
	bool stopped = false;
	int rc = 0;

	while (rc == 0 && c->sides_done < c->config.switches) {
		int64_t left_ns = limit_ns - loop_now_ns();

		rc = loop_turn(c->loop, !stopped && left_ns < LOOK_NS ? (left_ns > 0 ? left_ns : 0) : LOOK_NS);
		if (control_interrupted(c))
			return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
		if (!stopped && loop_now_ns() > limit_ns) {
			stopped = true;
			stop_sending(c);
		}
	}
	return rc < 0 ? err_set(err, ERR_HOST, -rc, "the event loop failed: %s", strerror(-rc)) : 0;
}

/* To the last answer; where there was none, to now. */
static int64_t last_answer_ns(const struct control *c)
{
	int64_t last = 0;

	for (uint32_t i = 0; i < c->config.switches; i++)
		for (uint32_t k = 0; k < c->sides[i].operations; k++)
			if (c->sides[i].records[k].answered_ns > last)
				last = c->sides[i].records[k].answered_ns;
	return last ? last : loop_now_ns();
}

int control_timed(struct control *c, struct err *err)
{
	int64_t client = cpu_ns(CLOCK_THREAD_CPUTIME_ID), server = server_cpu_ns(c), server_end;
	int rc = 0;

	c->account = (struct control_account){ 0 };
	c->sides_done = 0;
	c->start_ns = loop_now_ns();
	for (uint32_t i = 0; rc == 0 && !control_reads(c) && i < c->config.switches; i++)
		rc = encode(c, &c->sides[i]);
	if (rc < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for %u entries", c->config.count);
	for (uint32_t i = 0; i < (c->config.mode == CONTROL_SYNC ? 1 : c->config.switches); i++)
		start_side(&c->sides[i]);
	rc = turn_to_the_end(c, err);
	c->account.client_cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - client;
	server_end = server_cpu_ns(c);
	c->account.server_cpu_ns = server < 0 || server_end < 0 ? -1 : server_end - server;
	c->account.wall_ns = last_answer_ns(c) - c->start_ns;
	return rc;
}
