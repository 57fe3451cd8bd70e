/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "probe/control_private.h"

/* Outside the timed part: what the switches hold, and putting them into the state that a run begins with. */

enum { FILL_BATCH = 100, FILL_WINDOW = 4 };

#define LEAST_NS INT64_C(5000000000)
#define EACH_NS  INT64_C(1000000)

/* Reading back may be slow, it is not what is measured; but a server that hangs must not hold the campaign for long. */
static int64_t patience_ns(const struct control *c)
{
	int64_t least_ns = c->config.deadline_ns > LEAST_NS ? c->config.deadline_ns : LEAST_NS;

	return least_ns + c->config.count * EACH_NS;
}

/* --- what the answers promise --- */

/* The status is the update's own, and says that it was not carried out. */
static bool refused(const struct p4rt_record *r)
{
	switch (r->status) {
	case GRPC_OK:
	case GRPC_CANCELLED:
	case GRPC_UNKNOWN:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_ALREADY_EXISTS: /* then something is there, but not what */
	case GRPC_ABORTED:
	case GRPC_INTERNAL:
	case GRPC_UNAVAILABLE:
	case GRPC_DATA_LOSS:
		return false;
	default:
		return !r->shared && r->status < GRPC_STATUSES;
	}
}

void control_expect(struct control *c, struct side *side)
{
	enum control_operation operation = c->config.operation;
	uint8_t before = operation == CONTROL_INSERT ? ENTRY_ABSENT : ENTRY_THERE;
	uint8_t after = operation == CONTROL_INSERT   ? ENTRY_THERE
			: operation == CONTROL_MODIFY ? ENTRY_MODIFIED
			: operation == CONTROL_DELETE ? ENTRY_ABSENT
						      : ENTRY_THERE;

	for (uint32_t i = 0; i < c->config.count; i++) {
		const struct p4rt_record *r = &side->records[i];

		if (control_reads(c) || r->sent_ns == 0 || refused(r))
			side->holds[i] = before;
		else
			side->holds[i] = r->status == GRPC_OK ? after : ENTRY_UNKNOWN;
	}
}

/* --- reading back --- */

static bool is_generation(struct control *c, const struct side *side, uint32_t index, unsigned generation,
			  const struct p4rt_entry *entry)
{
	control_entry_make(&c->table, side->at, index, generation, &c->scratch);
	return p4rt_entry_equal(&c->scratch.entry, entry);
}

static void take(void *user, const struct p4rt_entry *entry)
{
	struct side *side = user;
	struct control *c = side->control;
	bool there, modified;
	uint32_t index;

	if (entry->is_default)
		return;
	side->found++;
	if (!control_entry_index(&c->table, entry, &index) || index >= c->config.count || side->seen[index]) {
		side->extra++;
		return;
	}
	there = is_generation(c, side, index, 0, entry);
	modified = !there && is_generation(c, side, index, 1, entry);
	if (!there && !modified && !p4rt_entry_same_key(&c->scratch.entry, entry)) {
		side->extra++; /* the part of the key that we looked at agrees, the rest does not */
		return;
	}
	side->seen[index] = 1;
	if (side->holds[index] == ENTRY_ABSENT)
		side->extra++;
	else if ((!there && !modified) || (side->holds[index] == ENTRY_THERE && !there) ||
		 (side->holds[index] == ENTRY_MODIFIED && !modified &&
		  !(there && is_generation(c, side, index, 1, entry))))
		side->different++;
}

int control_verify(struct control *c, struct side *side, struct err *err)
{
	const struct p4rt_read read = {
		.info = c->info, .table = c->table.table, .deadline_ns = patience_ns(c), .entry = take, .user = side
	};
	int rc;

	memset(side->seen, 0, c->config.count);
	side->found = side->extra = side->different = side->missing = side->undecided = 0;
	rc = p4rt_read(side->client, &read, NULL, err);
	for (uint32_t i = 0; rc == 0 && i < c->config.count; i++) {
		side->missing += !side->seen[i] && (side->holds[i] == ENTRY_THERE || side->holds[i] == ENTRY_MODIFIED);
		side->undecided += side->holds[i] == ENTRY_UNKNOWN;
		/* from now on what it holds is known */
		side->holds[i] = side->seen[i] ? ENTRY_THERE : ENTRY_ABSENT;
	}
	return rc;
}

/* --- preparing --- */

static int put(struct control *c, struct side *side, enum p4rt_op op, struct err *err)
{
	struct p4rt_updates updates = { 0 };
	struct p4rt_write write = {
		.updates = &updates, .window = FILL_WINDOW, .batch = FILL_BATCH, .records = side->records
	};
	uint8_t wanted = op == P4RT_DELETE ? ENTRY_THERE : ENTRY_ABSENT;
	size_t failed = 0;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < c->config.count; i++) {
		if (side->holds[i] != wanted)
			continue;
		control_entry_make(&c->table, side->at, i, 0, &c->scratch);
		if (op == P4RT_DELETE)
			c->scratch.entry.action = NULL;
		rc = p4rt_updates_add(&updates, op, &c->scratch.entry);
		write.count++;
	}
	if (rc < 0)
		rc = err_set(err, ERR_HOST, ENOMEM, "out of memory");
	else if (write.count)
		rc = p4rt_write(side->client, &write, patience_ns(c), &failed, err);
	if (rc == 0 && failed) {
		size_t i = 0;

		while (i + 1 < write.count && write.records[i].status == GRPC_OK)
			i++;
		rc = err_set(err, ERR_RESULT, EREMOTEIO, "%s: %zu of %zu entries could not be %s before the run: %s",
			     side->name, failed, write.count, op == P4RT_DELETE ? "taken out" : "put in",
			     grpc_status_name(write.records[i].status) ? grpc_status_name(write.records[i].status)
								       : "a status that there is not");
	}
	p4rt_updates_release(&updates);
	if (rc == 0)
		memset(side->holds, op == P4RT_DELETE ? ENTRY_ABSENT : ENTRY_THERE, c->config.count);
	return rc;
}

static int know(struct control *c, struct side *side, struct err *err)
{
	int rc = 0;

	if (memchr(side->holds, ENTRY_UNKNOWN, c->config.count))
		rc = control_verify(c, side, err);
	return rc < 0 ? err_wrap(err, "%s", side->name) : 0;
}

int control_empty(struct control *c, struct side *side, struct err *err)
{
	int rc = know(c, side, err);

	return rc < 0 ? rc : put(c, side, P4RT_DELETE, err);
}

int control_fill(struct control *c, struct side *side, struct err *err)
{
	return put(c, side, P4RT_INSERT, err);
}
