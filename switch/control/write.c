/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "control/control_private.h"

/* The Write call: a batch of updates, one verdict each. */

static int apply(struct update *u, const P4__V1__Entity *e)
{
	switch (e->entity_case) {
	case P4__V1__ENTITY__ENTITY_TABLE_ENTRY:
		return update_table_entry(u, e->table_entry);
	case P4__V1__ENTITY__ENTITY_ACTION_PROFILE_MEMBER:
		return update_member(u, e->action_profile_member);
	case P4__V1__ENTITY__ENTITY_ACTION_PROFILE_GROUP:
		return update_group(u, e->action_profile_group);
	case P4__V1__ENTITY__ENTITY_METER_ENTRY:
		return update_meter(u, e->meter_entry);
	case P4__V1__ENTITY__ENTITY_DIRECT_METER_ENTRY:
		return update_direct_meter(u, e->direct_meter_entry);
	case P4__V1__ENTITY__ENTITY_COUNTER_ENTRY:
		return update_counter(u, e->counter_entry);
	case P4__V1__ENTITY__ENTITY_DIRECT_COUNTER_ENTRY:
		return update_direct_counter(u, e->direct_counter_entry);
	case P4__V1__ENTITY__ENTITY_PACKET_REPLICATION_ENGINE_ENTRY:
		return update_replication(u, e->packet_replication_engine_entry);
	case P4__V1__ENTITY__ENTITY_VALUE_SET_ENTRY:
		return update_value_set(u, e->value_set_entry);
	case P4__V1__ENTITY__ENTITY_REGISTER_ENTRY:
		return update_register(u, e->register_entry);
	case P4__V1__ENTITY__ENTITY_DIGEST_ENTRY:
		return update_digest(u, e->digest_entry);
	case P4__V1__ENTITY__ENTITY_EXTERN_ENTRY:
		return verdict(u->v, GRPC_UNIMPLEMENTED, "v1model has no externs that are programmed by extern_entry");
	default:
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "an update without an entity");
	}
}

static int apply_update(struct update *u, const P4__V1__Update *message)
{
	u->type = message->type;
	if (u->type != P4__V1__UPDATE__TYPE__INSERT && u->type != P4__V1__UPDATE__TYPE__MODIFY &&
	    u->type != P4__V1__UPDATE__TYPE__DELETE)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "an update that is neither INSERT, MODIFY nor DELETE");
	if (message->entity == NULL)
		return verdict(u->v, GRPC_INVALID_ARGUMENT, "an update without an entity");
	return apply(u, message->entity);
}

/* Nothing that was unlinked is freed between the update and its undo: undo works on what was there. */
static void roll_back(struct update *u, struct verdict *verdicts, size_t failed)
{
	for (size_t i = u->log->items.count; i-- > 0;)
		u->log->items.items[i].run(u->p, &u->log->items.items[i]);
	for (size_t i = 0; i < failed; i++)
		verdict(&verdicts[i], GRPC_ABORTED, "undone: update %zu failed", failed + 1);
}

static size_t run_batch(struct control *c, struct pipeline *p, const P4__V1__WriteRequest *w, struct verdict *verdicts)
{
	bool all_or_none = w->atomicity == P4__V1__WRITE_REQUEST__ATOMICITY__ROLLBACK_ON_ERROR;
	struct undo_log log = { 0 };
	struct update u = { .control = c, .p = p, .pool = &c->pool, .log = all_or_none ? &log : NULL };
	size_t failed = 0;

	quiesce_hold(c->config.quiesce);
	for (size_t i = 0; i < w->n_updates; i++) {
		verdicts[i].code = GRPC_OK;
		u.v = &verdicts[i];
		if (apply_update(&u, w->updates[i]) == 0)
			continue;
		failed++;
		if (!all_or_none)
			continue;
		roll_back(&u, verdicts, i);
		for (size_t k = i + 1; k < w->n_updates; k++)
			verdict(&verdicts[k], GRPC_ABORTED, "not tried: update %zu failed", i + 1);
		break;
	}
	quiesce_release(c->config.quiesce);
	free(log.items.items);
	return failed;
}

static void answer_batch(struct grpc_call *call, const struct verdict *verdicts, size_t count)
{
	static const char message[] = "one or more updates failed";
	size_t limit = grpc_call_details_limit(call), length = 0;
	uint8_t *details = malloc(limit + 1);

	if (details != NULL)
		length = verdicts_pack(verdicts, count, message, details, limit);
	grpc_call_finish(call, GRPC_UNKNOWN, message, details, length);
	free(details);
}

static int check_write(struct control *c, const P4__V1__WriteRequest *w, struct verdict *v)
{
	if (stream_check_primary(c, w->device_id, w->role, w->role_id, w->election_id, v) < 0)
		return -1;
	if (current_pipeline(c) == NULL)
		return verdict(v, GRPC_FAILED_PRECONDITION, "no forwarding pipeline has been set");
	if (w->atomicity == P4__V1__WRITE_REQUEST__ATOMICITY__DATAPLANE_ATOMIC)
		return verdict(v, GRPC_UNIMPLEMENTED,
			       "DATAPLANE_ATOMIC is not supported; ROLLBACK_ON_ERROR is the strictest here");
	if (w->atomicity != P4__V1__WRITE_REQUEST__ATOMICITY__CONTINUE_ON_ERROR &&
	    w->atomicity != P4__V1__WRITE_REQUEST__ATOMICITY__ROLLBACK_ON_ERROR)
		return verdict(v, GRPC_INVALID_ARGUMENT, "atomicity %d is not one that there is", (int)w->atomicity);
	return 0;
}

/* --- a fault on purpose: the answer first --- */

struct late_write {
	struct late_write *next;
	int64_t due_ns;
	size_t length;
	uint8_t data[];
};

static void carry_out(struct control *c, const struct late_write *late)
{
	P4__V1__WriteRequest *w = p4__v1__write_request__unpack(&c->pool.allocator, late->length, late->data);
	struct verdict *verdicts = w ? pool_alloc(&c->pool, (w->n_updates + 1) * sizeof(*verdicts)) : NULL;

	if (verdicts && current_pipeline(c)) {
		c->counters.updates += w->n_updates;
		c->counters.updates_failed += run_batch(c, current_pipeline(c), w, verdicts);
	}
	control_collect(c);
}

static void late_fire(struct loop_timer *timer)
{
	struct control *c = (struct control *)((char *)timer - offsetof(struct control, late_due));

	while (c->late && c->late->due_ns <= loop_now_ns()) {
		struct late_write *late = c->late;

		c->late = late->next;
		carry_out(c, late);
		free(late);
	}
	if (c->late)
		loop_timer_set(c->loop, timer, c->late->due_ns);
}

void write_forget_late(struct control *c)
{
	if (c->loop)
		loop_timer_clear(c->loop, &c->late_due);
	while (c->late) {
		struct late_write *late = c->late;

		c->late = late->next;
		free(late);
	}
}

static bool put_off(struct control *c, const uint8_t *data, size_t length)
{
	struct late_write *late = malloc(sizeof(*late) + length);

	if (!late)
		return false;
	*late = (struct late_write){ .due_ns = loop_now_ns() + c->config.answer_early_ns, .length = length };
	memcpy(late->data, data, length);
	if (!c->late) {
		c->late_tail = &c->late;
		c->late_due.fire = late_fire;
		loop_timer_set(c->loop, &c->late_due, late->due_ns);
	}
	*c->late_tail = late;
	c->late_tail = &late->next;
	return true;
}

static void serve(struct control *c, struct grpc_call *call, const P4__V1__WriteRequest *w, const uint8_t *data,
		  size_t length)
{
	static const P4__V1__WriteResponse ok = P4__V1__WRITE_RESPONSE__INIT;
	struct verdict v, *verdicts;
	size_t failed;

	if (check_write(c, w, &v) < 0) {
		answer_verdict(call, &v);
		return;
	}
	if (c->config.answer_early_ns > 0 && put_off(c, data, length)) {
		answer(call, &ok.base);
		return;
	}
	verdicts = pool_alloc(&c->pool, (w->n_updates + 1) * sizeof(*verdicts));
	if (verdicts == NULL) {
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory", NULL, 0);
		return;
	}
	failed = run_batch(c, current_pipeline(c), w, verdicts);
	c->counters.updates += w->n_updates;
	c->counters.updates_failed += failed;
	if (failed > 0)
		answer_batch(call, verdicts, w->n_updates);
	else
		answer(call, &ok.base);
}

void write_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	struct control *c = grpc_call_context(call);
	const P4__V1__WriteRequest *w = p4__v1__write_request__unpack(&c->pool.allocator, length, data);

	c->counters.writes++;
	if (w == NULL)
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT,
				 "not a WriteRequest, or one that asks for too much memory", NULL, 0);
	else
		serve(c, call, w, data, length);
	control_collect(c);
}
