/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p4rt/client_private.h"
#include "p4rt/wire.h"

/* One RPC of a job. */
struct slot {
	struct p4rt_job *job;
	size_t first, count; /* of the job's updates */
	bool answered, garbage;
	struct slot *next; /* free ones */
};

struct p4rt_job {
	struct p4rt_client *client;
	struct p4rt_write write;
	struct p4rt_job *next, **previous;
	struct loop_deferred begin;
	size_t sent, answered, failed;
	bool said; /* message is the first failure's */
	char message[256];
	struct slot *idle;
	struct slot slots[];
};

static size_t start_of(const struct p4rt_updates *u, size_t i)
{
	return i ? u->ends[i - 1] : 0;
}

static void job_finish(struct p4rt_job *job)
{
	struct p4rt_write write = job->write;
	char message[sizeof(job->message)];
	size_t failed = job->failed;

	memcpy(message, job->message, sizeof(message));
	loop_undefer(job->client->loop, &job->begin);
	*job->previous = job->next;
	if (job->next)
		job->next->previous = job->previous;
	free(job);
	write.done(write.user, failed, message);
}

static void job_fail(struct p4rt_job *job, size_t first, size_t count, int status, const char *message)
{
	for (size_t i = first; i < first + count; i++) {
		job->write.records[i].status = status;
		job->write.records[i].shared = count > 1;
	}
	job->failed += count;
	if (!job->said && count)
		snprintf(job->message, sizeof(job->message), "%s", message ? message : "");
	job->said |= count > 0;
}

/* Updates that will not be sent any more. */
static void job_give_up_as(struct p4rt_job *job, int status, const char *why)
{
	struct p4rt_write *w = &job->write;
	size_t first = job->sent, count = w->count - first;

	if (count == 0)
		return;
	job_fail(job, first, count, status, why);
	for (size_t i = first; i < w->count; i++)
		w->records[i].shared = false;
	job->sent = w->count;
	job->answered += count;
	if (w->answered)
		w->answered(w->user, first, count);
}

static void job_give_up(struct p4rt_job *job)
{
	if (job->client->destroying)
		job_give_up_as(job, GRPC_CANCELLED, "the client was closed");
	else
		job_give_up_as(job, GRPC_UNAVAILABLE,
			       job->client->why[0] ? job->client->why : "the connection was lost");
}

static const struct grpc_rpc_ops write_ops;

/* One RPC with the next updates; false: out of memory. */
static bool job_send(struct p4rt_job *job)
{
	const struct p4rt_write *w = &job->write;
	const struct p4rt_client *client = job->client;
	struct slot *slot = job->idle;
	size_t left = w->count - job->sent, count = left < w->batch ? left : w->batch;
	size_t from = start_of(w->updates, w->first + job->sent);
	size_t bytes = start_of(w->updates, w->first + job->sent + count) - from;
	struct grpc_rpc *rpc =
		grpc_rpc_start(client->channel, "/p4.v1.P4Runtime/Write", &write_ops, slot, w->deadline_ns);
	uint8_t *to;
	int64_t now;

	if (!rpc)
		return false;
	job->idle = slot->next;
	*slot = (struct slot){ .job = job, .first = job->sent, .count = count };
	to = grpc_rpc_reserve(rpc, client->write_prefix_bytes + bytes);
	if (to) {
		memcpy(to, client->write_prefix, client->write_prefix_bytes);
		memcpy(to + client->write_prefix_bytes, w->updates->bytes + from, bytes);
		grpc_rpc_commit(rpc);
		grpc_rpc_end(rpc);
	} else {
		grpc_rpc_cancel(rpc); /* its end comes back as any other's */
	}
	now = loop_now_ns();
	for (size_t i = job->sent; i < job->sent + count; i++)
		w->records[i].sent_ns = now;
	job->sent += count;
	return true;
}

/* Fill the window; end the job when all is answered. */
static void job_pump(struct p4rt_job *job)
{
	const struct p4rt_write *w = &job->write;

	while (job->sent < w->count && job->idle) {
		if (!p4rt_client_up(job->client) || !job_send(job)) {
			job_give_up(job);
			break;
		}
	}
	if (job->answered == w->count)
		job_finish(job);
}

static void job_begin(struct loop_deferred *deferred)
{
	job_pump((struct p4rt_job *)((char *)deferred - offsetof(struct p4rt_job, begin)));
}

/* --- answers --- */

static bool is_p4_error(const struct wire_field *f)
{
	static const char name[] = "p4.v1.Error";
	size_t n = sizeof(name) - 1;

	return f->length > n && f->data[f->length - n - 1] == '/' && memcmp(f->data + f->length - n, name, n) == 0;
}

/* The p4.v1.Error in a google.protobuf.Any: its canonical code and message. False: something else. */
static bool error_of(const struct wire_field *any, int32_t *ret_code, struct p4rt_bytes *ret_message)
{
	struct wire_cursor c = { any->data, any->data + any->length };
	struct wire_field f, value = { 0 };
	bool ours = false;
	int got;

	*ret_code = 0;
	*ret_message = (struct p4rt_bytes){ 0 };
	while ((got = wire_next(&c, &f)) == 1) {
		if (f.id == 1 && f.type == WIRE_BYTES)
			ours = is_p4_error(&f);
		else if (f.id == 2 && f.type == WIRE_BYTES)
			value = f;
	}
	if (got < 0 || !ours)
		return false;
	c = (struct wire_cursor){ value.data, value.data + value.length };
	while ((got = wire_next(&c, &f)) == 1) {
		if (f.id == 1 && f.type == WIRE_VARINT)
			*ret_code = (int32_t)f.number;
		else if (f.id == 2 && f.type == WIRE_BYTES)
			*ret_message = (struct p4rt_bytes){ f.data, f.length };
	}
	return got == 0;
}

/* How many p4.v1.Error a google.rpc.Status holds, and how many of them are failures; -1: it cannot be read. */
static long count_errors(struct wire_cursor c, size_t *ret_failures)
{
	struct p4rt_bytes message;
	struct wire_field f;
	int32_t code;
	long n = 0;
	int got;

	*ret_failures = 0;
	while ((got = wire_next(&c, &f)) == 1) {
		if (f.id != 3 || f.type != WIRE_BYTES)
			continue;
		if (!error_of(&f, &code, &message))
			return -1;
		n++;
		*ret_failures += code != GRPC_OK;
	}
	return got < 0 ? -1 : n;
}

/* A status of its own for each update, when the server told as many as there were. */
static bool take_details(struct p4rt_job *job, const struct slot *slot, const uint8_t *details, size_t details_bytes)
{
	size_t failures, i = slot->first;
	struct wire_cursor c;
	struct wire_field f;

	if (!details)
		return false;
	c = (struct wire_cursor){ details, details + details_bytes };
	if (count_errors(c, &failures) != (long)slot->count || failures == 0)
		return false;
	while (wire_next(&c, &f) == 1) {
		struct p4rt_bytes message;
		int32_t code;
		char text[sizeof(job->message)];

		if (f.id != 3 || f.type != WIRE_BYTES)
			continue;
		error_of(&f, &code, &message);
		if (code != GRPC_OK) {
			snprintf(text, sizeof(text), "%.*s",
				 (int)(message.length < sizeof(text) ? message.length : sizeof(text)),
				 message.data ? (const char *)message.data : "");
			job_fail(job, i, 1, code, text);
		}
		i++;
	}
	return true;
}

static void write_message(struct grpc_rpc *rpc, const uint8_t *data, size_t length_bytes)
{
	struct slot *slot = grpc_rpc_user(rpc);
	struct wire_cursor c = { data, data + length_bytes };
	struct wire_field f;
	int got;

	/* WriteResponse has no fields, but a newer server may know some */
	while ((got = wire_next(&c, &f)) == 1)
		;
	slot->garbage |= got < 0;
	slot->answered = true;
}

static void write_closed(struct grpc_rpc *rpc, int status, const char *message, const uint8_t *details,
			 size_t details_bytes)
{
	struct slot *slot = grpc_rpc_user(rpc);
	struct p4rt_job *job = slot->job;
	const struct p4rt_write *w = &job->write;
	int64_t now = loop_now_ns();

	for (size_t i = slot->first; i < slot->first + slot->count; i++)
		w->records[i].answered_ns = now;
	if (status == GRPC_OK && (slot->garbage || !slot->answered))
		job_fail(job, slot->first, slot->count, GRPC_INTERNAL,
			 slot->garbage ? "the answer cannot be read" : "the status is OK, but there was no answer");
	else if (status != GRPC_OK && !take_details(job, slot, details, details_bytes))
		job_fail(job, slot->first, slot->count, status, message);
	job->answered += slot->count;
	if (w->answered)
		w->answered(w->user, slot->first, slot->count);
	slot->next = job->idle;
	job->idle = slot;
	job_pump(job);
}

static const struct grpc_rpc_ops write_ops = { write_message, write_closed };

int p4rt_client_write(struct p4rt_client *client, const struct p4rt_write *write)
{
	size_t window = write->window ? write->window : 1;
	struct p4rt_job *job;
	int64_t now = loop_now_ns();

	if (client->destroying)
		return -ENOTCONN;
	TARE_ASSERT(write->first <= write->updates->count && write->count <= write->updates->count - write->first);
	if (window > write->count)
		window = write->count;
	job = calloc(1, sizeof(*job) + window * sizeof(job->slots[0]));
	if (!job)
		return -ENOMEM;
	job->client = client;
	job->write = *write;
	if (!job->write.batch)
		job->write.batch = 1;
	job->begin.run = job_begin;
	for (size_t i = window; i-- > 0;) {
		job->slots[i].next = job->idle;
		job->idle = &job->slots[i];
	}
	for (size_t i = 0; i < write->count; i++)
		write->records[i] = (struct p4rt_record){ .queued_ns = now };
	job->next = client->jobs;
	job->previous = &client->jobs;
	if (job->next)
		job->next->previous = &job->next;
	client->jobs = job;
	loop_defer(client->loop, &job->begin);
	return 0;
}

void p4rt_client_stop_writing(struct p4rt_client *client, const char *why)
{
	struct p4rt_job *next;

	for (struct p4rt_job *job = client->jobs; job; job = next) {
		bool in_flight = job->sent > job->answered;

		next = job->next;
		job_give_up_as(job, GRPC_CANCELLED, why);
		if (!in_flight)
			job_finish(job);
	}
}

void p4rt_jobs_end(struct p4rt_client *client)
{
	struct p4rt_job *next;

	for (struct p4rt_job *job = client->jobs; job; job = next) {
		bool in_flight = job->sent > job->answered;

		next = job->next;
		job_give_up(job);
		if (!in_flight)
			job_finish(job);
	}
}
