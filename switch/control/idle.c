/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <time.h>

#include "control/control_private.h"

/* Idle time-outs: entries that no packet has hit for as long as they say are told to the primary controllers. */

enum {
	SCAN_US = 100000, /* how late a notice may be */
	ENTRIES_A_NOTICE_MOST = 256,
};

static bool any_timeout(const struct pipeline *p)
{
	for (uint32_t t = 0; t < p->program->table_count; t++)
		if (p->names->tables[t].with_timeout)
			return true;
	return false;
}

static void notice(struct control *c, P4__V1__TableEntry **entries, size_t count)
{
	P4__V1__StreamMessageResponse message;
	P4__V1__IdleTimeoutNotification idle = P4__V1__IDLE_TIMEOUT_NOTIFICATION__INIT;
	struct timespec now;

	if (count == 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	p4__v1__stream_message_response__init(&message);
	message.update_case = P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_IDLE_TIMEOUT_NOTIFICATION;
	message.idle_timeout_notification = &idle;
	idle.n_table_entry = count;
	idle.table_entry = entries;
	idle.timestamp = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	send_to_primaries(c, &message);
	pool_reset(&c->pool);
}

/* The timer of an entry begins anew with each notice, as if it had been hit. */
static void scan_table(struct control *c, uint32_t table, uint64_t now_us)
{
	P4__V1__TableEntry *entries[ENTRIES_A_NOTICE_MOST];
	struct entry_cursor cursor = { 0 };
	const struct entry *e;
	size_t count = 0;

	while ((e = table_next(c->running->state, table, &cursor)) != NULL) {
		uint64_t last = entry_last_hit_us(e);

		if (e->notes == NULL || e->notes->idle_timeout_ns == 0 ||
		    now_us < last + (uint64_t)e->notes->idle_timeout_ns / 1000)
			continue;
		entries[count] = encode_table_entry(&c->pool, c->running, e);
		if (entries[count] == NULL)
			break;
		entry_touch(e, now_us);
		if (++count == ENTRIES_A_NOTICE_MOST) {
			notice(c, entries, count);
			count = 0;
		}
	}
	notice(c, entries, count);
	pool_reset(&c->pool);
}

static void scan(struct loop_timer *timer)
{
	struct control *c = (struct control *)((char *)timer - offsetof(struct control, idle));
	uint64_t now_us = c->config.now_us(c->config.context);

	for (uint32_t t = 0; t < c->running->program->table_count; t++)
		if (c->running->names->tables[t].with_timeout)
			scan_table(c, t, now_us);
	loop_timer_set(c->loop, timer, loop_now_ns() + SCAN_US * INT64_C(1000));
}

/* After each commit: scanning goes on only for a program that has such tables. */
void idle_begin(struct control *c)
{
	if (c->loop == NULL)
		return;
	loop_timer_clear(c->loop, &c->idle);
	c->idle.fire = scan;
	if (c->config.now_us != NULL && c->running->names != NULL && any_timeout(c->running))
		loop_timer_set(c->loop, &c->idle, loop_now_ns() + SCAN_US * INT64_C(1000));
}
