/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_CLIENT_H
#define TARE_P4RT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "grpc/loop.h"
#include "grpc/status.h"
#include "grpc/tls.h"
#include "p4rt/entry.h"
#include "p4rt/p4info.h"

/*
 * A P4Runtime client of one device on one connection, in its loop's thread. Any
 * number of clients share a loop: that is how all switches are programmed at
 * once. Nothing here blocks; p4rt/blocking.h is for callers that want to wait.
 *
 * Writing happens in jobs: `count` updates, sent with `window` RPCs in flight and
 * `batch` updates in each. Window 1 and batch 1 is the published synchronous way.
 */
struct p4rt_client;

enum p4rt_state {
	P4RT_IDLE,       /* not asked for, or given up; `why` says how it ended */
	P4RT_CONNECTING, /* up to the answer to the arbitration */
	P4RT_PRIMARY,    /* may write */
	P4RT_BACKUP,     /* another client holds mastership; may read */
};

struct p4rt_metadata {
	uint32_t id; /* of the packet_in or packet_out header's field */
	struct p4rt_bytes value;
};

struct p4rt_packet {
	struct p4rt_bytes payload;
	const struct p4rt_metadata *metadata;
	size_t metadata_count; /* packet-in: at most P4INFO_FIELDS_LIMIT, more are left out */
};

struct p4rt_client_config {
	const char *address; /* "127.0.0.1:9559" */
	struct grpc_tls tls;
	uint64_t device_id;
	uint64_t election_high, election_low; /* 0, 0: 0, 1 */
	int64_t connect_timeout_ns;           /* up to the answer to the arbitration; 0: 5 s */
	int64_t keepalive_ns;                 /* see grpc_channel_config */
	int64_t reconnect_ns;                 /* after a loss connect again, so long later; 0: never */
	size_t message_limit_bytes;
	/* Optional. Every change, with a reason where there is one; so losses and reconnections can be accounted for. */
	void (*state)(struct p4rt_client *client, enum p4rt_state state, const char *why);
	/* Optional, as in grpc_channel_config: opens sockets in the switch's network namespace. */
	int (*open_socket)(void *user, int family, int type);
	/* Optional. A packet the switch sent us; valid during the call only. */
	void (*packet_in)(struct p4rt_client *client, const struct p4rt_packet *packet);
	void *user;
};

/* How an RPC ended. `status` is the server's, or ours: UNAVAILABLE (no connection), DEADLINE_EXCEEDED, CANCELLED. */
struct p4rt_result {
	int status;
	const char *message; /* "" where there is none; valid during the call only */
};

int p4rt_client_create(struct loop *loop, const struct p4rt_client_config *config, struct p4rt_client **ret_client,
		       struct err *err);
/* Open jobs and calls end as CANCELLED, their callbacks run. Not from inside a callback of this client. NULL is fine. */
void p4rt_client_destroy(struct p4rt_client *client);

void p4rt_client_connect(struct p4rt_client *client); /* the outcome is told to `state` */
enum p4rt_state p4rt_client_state(const struct p4rt_client *client);
const char *p4rt_client_why(const struct p4rt_client *client); /* of the present state; "" */
void *p4rt_client_user(const struct p4rt_client *client);
const char *p4rt_client_address(const struct p4rt_client *client);
struct loop *p4rt_client_loop(const struct p4rt_client *client);
unsigned p4rt_client_losses(const struct p4rt_client *client); /* connections that ended unasked */

/*
 * --- calls ---
 * Deadlines are durations, 0: none. 0 means that `done` will be called, from the loop; -ENOMEM, or -ENOTCONN while the
 * client is being destroyed, that it will not.
 */

typedef void (*p4rt_done)(void *user, const struct p4rt_result *result);

/* VERIFY_AND_COMMIT. Bytes are copied. */
int p4rt_client_set_pipeline(struct p4rt_client *client, const struct p4info *info, const void *device_config,
			     size_t device_config_bytes, uint64_t cookie, int64_t deadline_ns, p4rt_done done,
			     void *user);

struct p4rt_pipeline {
	struct p4rt_bytes p4info; /* as the server sent it */
	struct p4rt_bytes device_config;
	uint64_t cookie;
};
/* pipeline is NULL unless the status is OK; valid during the call only. */
typedef void (*p4rt_got_pipeline)(void *user, const struct p4rt_result *result, const struct p4rt_pipeline *pipeline);
int p4rt_client_get_pipeline(struct p4rt_client *client, int64_t deadline_ns, p4rt_got_pipeline done, void *user);

/* result->message is the version ("1.4.0") when the status is OK. */
int p4rt_client_capabilities(struct p4rt_client *client, int64_t deadline_ns, p4rt_done done, void *user);

/* --- write --- */

/* One update's life. CLOCK_MONOTONIC; 0: it did not come to that. */
struct p4rt_record {
	int64_t queued_ns;   /* its job began */
	int64_t sent_ns;     /* its request was handed to the connection */
	int64_t answered_ns; /* the status of its RPC was there */
	int32_t status;      /* its own, where the server told; else its RPC's */
	bool shared;         /* the RPC failed without saying which updates did: status is the RPC's */
};

struct p4rt_write {
	const struct p4rt_updates *updates; /* must live as long as the job */
	size_t first, count;                /* of updates */
	unsigned window;                    /* RPCs in flight; 0: 1 */
	unsigned batch;                     /* updates in each; 0: 1 */
	int64_t deadline_ns;                /* of each RPC, from its sending */
	struct p4rt_record *records;        /* count of them, filled in; must live as long as the job */
	/* Optional: updates [index, index + count) of the job have their records. */
	void (*answered)(void *user, size_t index, size_t count);
	/* The end, once. failed: updates whose status is not OK; message: the first failure's, "" when none said any. */
	void (*done)(void *user, size_t failed, const char *message);
	void *user;
};

/*
 * Begin; the config is copied. Callbacks come from the loop, never from inside this function. When the connection is
 * lost, what was in flight and what was not yet sent fails as UNAVAILABLE (sent_ns tells them apart): what a switch
 * holds after a loss is for the caller to find out.
 */
int p4rt_client_write(struct p4rt_client *client, const struct p4rt_write *write);

/* What has not been sent yet of the client's jobs ends as CANCELLED with this message, its callbacks run;
 * what is in flight ends with its RPCs. */
void p4rt_client_stop_writing(struct p4rt_client *client, const char *why);

/* --- read --- */

struct p4rt_read {
	const struct p4info *info;
	const struct p4info_table *table; /* all of its entries; NULL: of all tables */
	const struct p4rt_entry *single;  /* or the entry of this key */
	int64_t deadline_ns;
	/* Each entry, valid during the call only. Default entries do not come unless asked for by `single`. */
	void (*entry)(void *user, const struct p4rt_entry *entry);
	/* The end, once. An answer that cannot be understood ends as INTERNAL with a message. */
	void (*done)(void *user, const struct p4rt_result *result, size_t entries);
	void *user;
};
int p4rt_client_read(struct p4rt_client *client, const struct p4rt_read *read);

/* A counter's cell, or a register's. */
struct p4rt_cell {
	int64_t index;
	int64_t packets, bytes;  /* counters */
	struct p4rt_bytes value; /* registers */
};
struct p4rt_read_cells {
	const struct p4info_object *object;
	int64_t index; /* < 0: all */
	int64_t deadline_ns;
	void (*cell)(void *user, const struct p4rt_cell *cell);
	void (*done)(void *user, const struct p4rt_result *result, size_t cells);
	void *user;
};
int p4rt_client_read_cells(struct p4rt_client *client, const struct p4rt_read_cells *read);

/* Not answered; -ENOTCONN unless PRIMARY, -ENOMEM. */
int p4rt_client_packet_out(struct p4rt_client *client, const struct p4rt_packet *packet);

#endif
