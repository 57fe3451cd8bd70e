/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_BLOCKING_H
#define TARE_P4RT_BLOCKING_H

#include "base/err.h"
#include "p4rt/client.h"
#include "p4rt/entries.h"
#include "p4rt/readback.h"

/*
 * The client for callers that wait: each function turns the client's loop until
 * its answer is there. Other clients of that loop go on meanwhile. Not from
 * inside a callback. Deadlines are durations of the whole call, 0: 10 s; errors
 * name the switch's address and what it answered.
 */

/* Connect and become primary; a server that is not there yet is tried again until the deadline. */
int p4rt_connect(struct loop *loop, const struct p4rt_client_config *config, int64_t deadline_ns,
		 struct p4rt_client **ret_client, struct err *err);

/* The same for a client that there is: after a loss, before its next use. At once when it is primary already. */
int p4rt_become_primary(struct p4rt_client *client, int64_t deadline_ns, struct err *err);

int p4rt_set_pipeline(struct p4rt_client *client, const struct p4info *info, const void *device_config,
		      size_t device_config_bytes, int64_t deadline_ns, struct err *err);

/* Is the pipeline that runs this one? False in *ret_same also when none runs. */
int p4rt_pipeline_is(struct p4rt_client *client, const struct p4info *info, int64_t deadline_ns, bool *ret_same,
		     struct err *err);

/* Every update must succeed; the message names the first line that did not, with its status. */
int p4rt_program(struct p4rt_client *client, const struct p4rt_entries *entries, int64_t deadline_ns, struct err *err);

/* Any write, its records filled in; 0 when it was carried out, whatever the statuses. *ret_failed may be NULL. */
int p4rt_write(struct p4rt_client *client, const struct p4rt_write *write, int64_t deadline_ns, size_t *ret_failed,
	       struct err *err);

/* Calls read->entry for each; read->done is not used. */
int p4rt_read(struct p4rt_client *client, const struct p4rt_read *read, size_t *ret_entries, struct err *err);

/* What the switch holds against what `entries` leave behind; reads the tables that they write to, wholly. */
int p4rt_compare(struct p4rt_client *client, const struct p4info *info, const struct p4rt_entries *entries,
		 int64_t deadline_ns, struct p4rt_difference *ret_difference, struct err *err);

int p4rt_read_register(struct p4rt_client *client, const struct p4info_object *reg, int64_t index, int64_t deadline_ns,
		       uint64_t *ret_value, struct err *err);
int p4rt_read_counter(struct p4rt_client *client, const struct p4info_object *counter, int64_t index,
		      int64_t deadline_ns, int64_t *ret_packets, int64_t *ret_bytes, struct err *err);

#endif
