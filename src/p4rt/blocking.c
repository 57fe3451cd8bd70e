/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/blocking.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p4rt/client_private.h"
#include "p4rt/readback.h"

#define DEFAULT_DEADLINE_NS INT64_C(10000000000)
#define RETRY_NS            INT64_C(10000000) /* until a server that starts up listens */

static int64_t deadline_of(int64_t deadline_ns)
{
	return deadline_ns > 0 ? deadline_ns : DEFAULT_DEADLINE_NS;
}

/* What a call came to; filled in by its callback. */
struct wait {
	bool done;
	int status;
	char message[256];
};

static void wait_end(struct wait *wait, const struct p4rt_result *result)
{
	wait->done = true;
	wait->status = result->status;
	snprintf(wait->message, sizeof(wait->message), "%s", result->message);
}

static void on_done(void *user, const struct p4rt_result *result)
{
	wait_end(user, result);
}

/* `rc` is how the start of the call went. */
static int wait_for(struct p4rt_client *client, int rc, const bool *done, struct err *err)
{
	while (rc == 0 && !*done)
		rc = loop_turn(client->loop, -1);
	return rc < 0 ? err_set(err, ERR_HOST, -rc, "%s: %s", client->address, strerror(-rc)) : 0;
}

static int refused(const struct p4rt_client *client, const char *what, int status, const char *message, struct err *err)
{
	char text[400];

	p4rt_status_text(status, message, text, sizeof(text));
	return err_set(err, ERR_RESULT, status == GRPC_DEADLINE_EXCEEDED ? ETIMEDOUT : EREMOTEIO, "%s: %s: %s",
		       client->address, what, text);
}

/* --- connecting --- */

static void turn_until(struct loop *loop, int64_t until_ns)
{
	int64_t now = loop_now_ns();

	if (until_ns > now)
		loop_turn(loop, until_ns - now);
}

/* Until the arbitration is answered. A server that is not there is worth another try, one that refuses is not. */
int p4rt_become_primary(struct p4rt_client *client, int64_t deadline_ns, struct err *err)
{
	int64_t end_ns = loop_now_ns() + deadline_ns, retry_ns = 0;

	for (;;) {
		int64_t now = loop_now_ns();

		if (client->state == P4RT_PRIMARY)
			return 0;
		if (client->state == P4RT_BACKUP)
			return err_set(err, ERR_RESULT, EBUSY, "%s: %s", client->address, client->why);
		if (client->state == P4RT_IDLE && client->why[0] && client->end_status != GRPC_UNAVAILABLE)
			return err_set(err, ERR_RESULT, EREMOTEIO, "%s", client->why);
		if (now >= end_ns)
			return err_set(err, ERR_HOST, ETIMEDOUT, "%s: not connected within %lld ms%s%s",
				       client->address, (long long)(deadline_ns / 1000000), client->why[0] ? ": " : "",
				       client->why);
		if (client->state == P4RT_IDLE && now >= retry_ns) {
			retry_ns = now + RETRY_NS;
			p4rt_client_connect(client);
		}
		turn_until(client->loop, client->state == P4RT_IDLE && retry_ns < end_ns ? retry_ns : end_ns);
	}
}

int p4rt_connect(struct loop *loop, const struct p4rt_client_config *config, int64_t deadline_ns,
		 struct p4rt_client **ret_client, struct err *err)
{
	struct p4rt_client_config own = *config;
	struct p4rt_client *client;
	int rc;

	deadline_ns = deadline_of(deadline_ns);
	if (own.connect_timeout_ns <= 0)
		own.connect_timeout_ns = deadline_ns;
	rc = p4rt_client_create(loop, &own, &client, err);
	if (rc < 0)
		return rc;
	rc = p4rt_become_primary(client, deadline_ns, err);
	if (rc < 0) {
		p4rt_client_destroy(client);
		return rc;
	}
	*ret_client = client;
	return 0;
}

/* --- pipeline --- */

int p4rt_set_pipeline(struct p4rt_client *client, const struct p4info *info, const void *device_config,
		      size_t device_config_bytes, int64_t deadline_ns, struct err *err)
{
	struct wait wait = { 0 };
	int rc = p4rt_client_set_pipeline(client, info, device_config, device_config_bytes, 0, deadline_of(deadline_ns),
					  on_done, &wait);

	rc = wait_for(client, rc, &wait.done, err);
	if (rc == 0 && wait.status != GRPC_OK)
		rc = refused(client, "the pipeline was refused", wait.status, wait.message, err);
	return rc;
}

struct pipeline_wait {
	struct wait wait;
	const struct p4info *info;
	bool same, readable;
};

static void on_pipeline(void *user, const struct p4rt_result *result, const struct p4rt_pipeline *pipeline)
{
	struct pipeline_wait *w = user;
	struct p4info *theirs = NULL;

	wait_end(&w->wait, result);
	if (!pipeline || pipeline->p4info.length == 0)
		return;
	w->readable = p4info_parse((const char *)pipeline->p4info.data, pipeline->p4info.length, "its P4Info", &theirs,
				   NULL) == 0;
	w->same = theirs && p4info_same(w->info, theirs);
	p4info_destroy(theirs);
}

int p4rt_pipeline_is(struct p4rt_client *client, const struct p4info *info, int64_t deadline_ns, bool *ret_same,
		     struct err *err)
{
	struct pipeline_wait w = { .info = info };
	int rc = p4rt_client_get_pipeline(client, deadline_of(deadline_ns), on_pipeline, &w);

	rc = wait_for(client, rc, &w.wait.done, err);
	if (rc < 0)
		return rc;
	/* FAILED_PRECONDITION: no pipeline was set yet */
	if (w.wait.status != GRPC_OK && w.wait.status != GRPC_FAILED_PRECONDITION)
		return refused(client, "the pipeline cannot be had", w.wait.status, w.wait.message, err);
	*ret_same = w.same;
	return 0;
}

/* --- write --- */

struct write_wait {
	struct wait wait;
	size_t failed;
};

static void on_written(void *user, size_t failed, const char *message)
{
	struct write_wait *w = user;

	w->failed = failed;
	wait_end(&w->wait, &(struct p4rt_result){ GRPC_OK, message });
}

static int write_and_wait(struct p4rt_client *client, const struct p4rt_write *write, int64_t deadline_ns,
			  struct write_wait *w, struct err *err)
{
	struct p4rt_write job = *write;
	int rc;

	job.done = on_written;
	job.user = w;
	job.answered = NULL;
	if (job.deadline_ns <= 0)
		job.deadline_ns = deadline_of(deadline_ns);
	rc = p4rt_client_write(client, &job);
	return wait_for(client, rc, &w->wait.done, err);
}

int p4rt_write(struct p4rt_client *client, const struct p4rt_write *write, int64_t deadline_ns, size_t *ret_failed,
	       struct err *err)
{
	struct write_wait w = { 0 };
	int rc = write_and_wait(client, write, deadline_ns, &w, err);

	if (rc == 0 && ret_failed)
		*ret_failed = w.failed;
	return rc;
}

static int first_failure(const struct p4rt_client *client, const struct p4rt_entries *entries,
			 const struct p4rt_record *records, const struct write_wait *w, struct err *err)
{
	size_t i = 0;
	char what[96];

	while (i + 1 < entries->count && records[i].status == GRPC_OK)
		i++;
	snprintf(what, sizeof(what), "%zu of %zu updates failed, first that of line %u", w->failed, entries->count,
		 entries->items[i].line);
	return refused(client, what, records[i].status, w->wait.message, err);
}

int p4rt_program(struct p4rt_client *client, const struct p4rt_entries *entries, int64_t deadline_ns, struct err *err)
{
	struct p4rt_updates updates = { 0 };
	struct p4rt_record *records = calloc(entries->count ? entries->count : 1, sizeof(*records));
	struct p4rt_write write = { .updates = &updates, .count = entries->count, .batch = 100, .records = records };
	struct write_wait w = { 0 };
	int rc = records ? p4rt_entries_encode(entries, &updates) : -ENOMEM;

	if (rc < 0)
		rc = err_set(err, ERR_HOST, -rc, "%s: out of memory", client->address);
	else
		rc = write_and_wait(client, &write, deadline_ns, &w, err);
	if (rc == 0 && w.failed)
		rc = first_failure(client, entries, records, &w, err);
	free(records);
	p4rt_updates_release(&updates);
	return rc;
}

/* --- read --- */

struct read_wait {
	struct wait wait;
	const struct p4rt_read *read;
	size_t count;
};

static void on_entry(void *user, const struct p4rt_entry *entry)
{
	struct read_wait *w = user;

	if (w->read->entry)
		w->read->entry(w->read->user, entry);
}

static void on_read(void *user, const struct p4rt_result *result, size_t count)
{
	struct read_wait *w = user;

	w->count = count;
	wait_end(&w->wait, result);
}

int p4rt_read(struct p4rt_client *client, const struct p4rt_read *read, size_t *ret_entries, struct err *err)
{
	struct read_wait w = { .read = read };
	struct p4rt_read own = *read;
	int rc;

	own.entry = on_entry;
	own.done = on_read;
	own.user = &w;
	own.deadline_ns = deadline_of(read->deadline_ns);
	rc = wait_for(client, p4rt_client_read(client, &own), &w.wait.done, err);
	if (rc == 0 && w.wait.status != GRPC_OK)
		rc = refused(client, "read", w.wait.status, w.wait.message, err);
	if (rc == 0 && ret_entries)
		*ret_entries = w.count;
	return rc;
}

static void compare_entry(void *user, const struct p4rt_entry *entry)
{
	p4rt_readback_take(user, entry);
}

int p4rt_compare(struct p4rt_client *client, const struct p4info *info, const struct p4rt_entries *entries,
		 int64_t deadline_ns, struct p4rt_difference *ret_difference, struct err *err)
{
	struct p4rt_readback *readback;
	int rc = p4rt_readback_create(entries, &readback);

	if (rc < 0)
		return err_set(err, ERR_HOST, -rc, "%s: out of memory", client->address);
	for (size_t i = 0; rc == 0 && i < info->tables_count; i++) {
		const struct p4info_table *table = &info->tables[i];
		struct p4rt_read read = { .info = info,
					  .table = table,
					  .deadline_ns = deadline_ns,
					  .entry = compare_entry,
					  .user = readback };

		if (p4rt_readback_concerns(readback, table))
			rc = p4rt_read(client, &read, NULL, err);
	}
	if (rc == 0)
		p4rt_readback_result(readback, ret_difference);
	p4rt_readback_destroy(readback);
	return rc;
}

/* --- cells --- */

struct cell_wait {
	struct wait wait;
	struct p4rt_cell cell;
	uint64_t number; /* the register's value; it does not outlive the callback */
	size_t count;
};

static void on_cell(void *user, const struct p4rt_cell *cell)
{
	struct cell_wait *w = user;

	w->cell = *cell;
	w->number = 0;
	for (size_t i = 0; i < cell->value.length; i++)
		w->number = w->number << 8 | cell->value.data[i];
}

static void on_cells(void *user, const struct p4rt_result *result, size_t count)
{
	struct cell_wait *w = user;

	w->count = count;
	wait_end(&w->wait, result);
}

static int read_cell(struct p4rt_client *client, const struct p4info_object *object, int64_t index, int64_t deadline_ns,
		     struct cell_wait *w, struct err *err)
{
	struct p4rt_read_cells read = { .object = object,
					.index = index,
					.deadline_ns = deadline_of(deadline_ns),
					.cell = on_cell,
					.done = on_cells,
					.user = w };
	int rc = wait_for(client, p4rt_client_read_cells(client, &read), &w->wait.done, err);

	if (rc == 0 && w->wait.status != GRPC_OK)
		return refused(client, object->is.alias, w->wait.status, w->wait.message, err);
	if (rc == 0 && w->count != 1)
		return err_set(err, ERR_RESULT, EPROTO, "%s: %s: %zu cells at index %lld; expected one",
			       client->address, object->is.alias, w->count, (long long)index);
	return rc;
}

int p4rt_read_register(struct p4rt_client *client, const struct p4info_object *reg, int64_t index, int64_t deadline_ns,
		       uint64_t *ret_value, struct err *err)
{
	struct cell_wait w = { 0 };
	int rc = read_cell(client, reg, index, deadline_ns, &w, err);

	if (rc == 0 && w.cell.value.length > 8)
		rc = err_set(err, ERR_RESULT, ERANGE, "%s: %s: a value of %zu bytes", client->address, reg->is.alias,
			     w.cell.value.length);
	if (rc == 0)
		*ret_value = w.number;
	return rc;
}

int p4rt_read_counter(struct p4rt_client *client, const struct p4info_object *counter, int64_t index,
		      int64_t deadline_ns, int64_t *ret_packets, int64_t *ret_bytes, struct err *err)
{
	struct cell_wait w = { 0 };
	int rc = read_cell(client, counter, index, deadline_ns, &w, err);

	if (rc == 0) {
		*ret_packets = w.cell.packets;
		*ret_bytes = w.cell.bytes;
	}
	return rc;
}
