/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/control_private.h"

/* What a run comes to, from its records and counters. */

enum { STATUSES_MOST = 1000 }; /* a number that gRPC does not define is kept as it came */

/* --- rows --- */

static int64_t since(const struct control *c, int64_t at_ns)
{
	return at_ns ? at_ns - c->start_ns : OPERATION_NONE;
}

static void row_make(const struct control *c, const struct side *side, uint32_t i, struct operation *ret)
{
	const struct p4rt_record *r = &side->records[i];

	*ret = (struct operation){ .at = side->at,
				   .seq = i,
				   .status = r->status,
				   .flags = r->shared ? OPERATION_SHARED : 0,
				   .queued_ns = since(c, r->queued_ns),
				   .sent_ns = since(c, r->sent_ns),
				   .answered_ns = since(c, r->answered_ns),
				   .acting_low_ns = OPERATION_NONE,
				   .acting_high_ns = OPERATION_NONE };
}

/* Bounds of when it began to act, and whether it was promised before. */
static void row_watch(struct control *c, const struct acting *acting, uint32_t watched, struct operation *row)
{
	struct control_account *a = &c->account;
	struct acting_seen seen;

	acting_result(acting, watched, &seen);
	row->flags |= OPERATION_WATCHED;
	a->watched++;
	a->acting_lost += seen.lost;
	if (seen.low_ns != ACTING_NONE)
		row->acting_low_ns = seen.low_ns - c->start_ns;
	if (seen.high_ns == ACTING_NONE)
		return;
	row->acting_high_ns = seen.high_ns - c->start_ns;
	a->acting_seen++;
	a->acting_unbound += seen.low_ns == ACTING_NONE;
	if (row->status == GRPC_OK && row->answered_ns != OPERATION_NONE && row->acting_low_ns != OPERATION_NONE &&
	    (double)(row->acting_low_ns - row->answered_ns) > acting_clock_u_ns(acting)) {
		row->flags |= OPERATION_EARLY;
		a->acting_early++;
		if (row->acting_low_ns - row->answered_ns > a->acting_early_ns)
			a->acting_early_ns = row->acting_low_ns - row->answered_ns;
	}
}

static void rows_watch(struct control *c, const struct side *side, struct operation *rows)
{
	uint32_t watched = 0;

	if (!side->acting)
		return;
	if (acting_clock_u_ns(side->acting) > c->account.clock_u_ns)
		c->account.clock_u_ns = acting_clock_u_ns(side->acting);
	for (; watched < acting_count(side->acting); watched++)
		row_watch(c, side->acting, watched, &rows[acting_turn(side->acting, watched)]);
}

/* --- statuses --- */

static void name_statuses(const uint32_t *counts, char *ret, size_t size_bytes)
{
	size_t n = 0;

	ret[0] = '\0';
	for (int status = 1; status <= STATUSES_MOST && n < size_bytes; status++) {
		const char *name = grpc_status_name(status);

		if (!counts[status])
			continue;
		n += (size_t)(name ? snprintf(ret + n, size_bytes - n, "%s%" PRIu32 " %s", n ? ", " : "",
					      counts[status], name)
				   : snprintf(ret + n, size_bytes - n, "%s%" PRIu32 " status %d", n ? ", " : "",
					      counts[status], status));
	}
}

static int count_operations(struct control *c, struct err *err)
{
	uint32_t *counts = calloc(STATUSES_MOST + 1, sizeof(*counts));
	struct control_account *a = &c->account;

	if (!counts)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < c->row_count; i++) {
		const struct operation *row = &c->rows[i];

		if (row->sent_ns == OPERATION_NONE) {
			a->unsent++;
			continue;
		}
		a->sent++;
		if (row->status == GRPC_OK)
			a->answered_ok++;
		else
			a->failed++;
		if (row->status > 0 && row->status <= STATUSES_MOST)
			counts[row->status]++;
	}
	name_statuses(counts, a->statuses, sizeof(a->statuses));
	free(counts);
	return 0;
}

/* --- the account --- */

static void count_sides(struct control *c)
{
	struct control_account *a = &c->account;

	for (uint32_t i = 0; i < c->config.switches; i++) {
		const struct side *side = &c->sides[i];

		a->wrong += side->wrong;
		a->losses += p4rt_client_losses(side->client) - side->losses_before;
		a->returns += side->returns;
		a->missing += side->missing;
		a->extra += side->extra;
		a->different += side->different;
		a->undecided += side->undecided;
		if (side->message[0] && !a->first_why[0])
			snprintf(a->first_why, sizeof(a->first_why), "%s", side->message);
	}
}

static void remark_make(struct control *c)
{
	const struct control_account *a = &c->account;
	size_t n = 0;

	c->remark[0] = '\0';
	if (a->losses)
		n += (size_t)snprintf(c->remark, sizeof(c->remark),
				      "%" PRIu64 " connections were lost, %" PRIu64 " came back", a->losses,
				      a->returns);
	if (a->acting_early && n < sizeof(c->remark))
		n += (size_t)snprintf(c->remark + n, sizeof(c->remark) - n,
				      "%s%" PRIu64 " of %" PRIu64
				      " watched inserts were answered before they acted on packets, by up to %.3g ms%s",
				      n ? "; " : "", a->acting_early, a->watched, (double)a->acting_early_ns / 1e6,
				      a->acting_lost ? " (or packets were lost: some were afterwards)" : "");
	if (a->watched > a->acting_seen && n < sizeof(c->remark))
		snprintf(c->remark + n, sizeof(c->remark) - n,
			 "%s%" PRIu64 " of %" PRIu64 " never acted within the limit", n ? "; " : "",
			 a->watched - a->acting_seen, a->watched);
}

int control_account_make(struct control *c, struct err *err)
{
	struct control_account *a = &c->account;
	uint32_t total = c->config.switches * c->sides[0].operations, n = 0;
	struct operation *rows = realloc(c->rows, total * sizeof(*rows));

	if (!rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for %" PRIu32 " operations", total);
	c->rows = rows;
	c->row_count = total;
	snprintf(a->operation, sizeof(a->operation), "%s", control_operation_name(c->config.operation));
	snprintf(a->mode, sizeof(a->mode), "%s", control_mode_name(c->config.mode));
	a->switches = c->config.switches;
	a->count = c->config.count;
	a->window = c->config.window;
	a->batch = c->config.batch;
	a->operations = total;
	for (uint32_t i = 0; i < c->config.switches; i++) {
		const struct side *side = &c->sides[i];

		for (uint32_t k = 0; k < side->operations; k++)
			row_make(c, side, k, &rows[n + k]);
		rows_watch(c, side, rows + n);
		n += side->operations;
	}
	count_sides(c);
	remark_make(c);
	return count_operations(c, err);
}

static const char *first_unread(const struct control *c)
{
	for (uint32_t i = 0; i < c->config.switches; i++)
		if (c->sides[i].unread[0])
			return c->sides[i].unread;
	return NULL;
}

void control_invalid(const struct control *c, char *ret, size_t size_bytes)
{
	const struct control_account *a = &c->account;
	const char *unread = first_unread(c);

	ret[0] = '\0';
	if (a->failed)
		snprintf(ret, size_bytes, "%" PRIu64 " of %" PRIu64 " operations failed: %s%s%s%s", a->failed,
			 a->operations, a->statuses, a->first_why[0] ? " (" : "", a->first_why,
			 a->first_why[0] ? ")" : "");
	else if (a->unsent)
		snprintf(ret, size_bytes, "%" PRIu64 " of %" PRIu64 " operations were never sent: %s", a->unsent,
			 a->operations, a->first_why);
	else if (unread)
		snprintf(ret, size_bytes, "what the switches hold cannot be read back: %s", unread);
	else if (a->wrong)
		snprintf(ret, size_bytes, "%" PRIu64 " reads gave other entries than there are", a->wrong);
	else if (a->missing || a->extra || a->different)
		snprintf(ret, size_bytes,
			 "read back, %" PRIu64 " entries are missing, %" PRIu64 " too many, %" PRIu64 " different",
			 a->missing, a->extra, a->different);
}
