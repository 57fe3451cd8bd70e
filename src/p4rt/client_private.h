/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_CLIENT_PRIVATE_H
#define TARE_P4RT_CLIENT_PRIVATE_H

#include "grpc/client.h"
#include "p4rt/client.h"

/* For the files of the client, and the waiting form of it. */

enum { P4RT_PREFIX_BYTES = 48, P4RT_WHY_BYTES = 512 };

struct p4rt_job;

struct p4rt_client {
	struct loop *loop;
	struct grpc_channel *channel;
	struct p4rt_client_config config;
	char *address;
	enum p4rt_state state;
	char why[P4RT_WHY_BYTES];
	int end_status;          /* of what made it IDLE: UNAVAILABLE when there is no connection */
	struct grpc_rpc *stream; /* StreamChannel, or NULL */
	struct loop_timer timer; /* CONNECTING: the time-out; IDLE: the next try */
	bool reconnecting;       /* it was up once and shall be again */
	bool destroying;
	unsigned losses;
	struct p4rt_job *jobs;
	uint8_t write_prefix[P4RT_PREFIX_BYTES]; /* device and election id, as each WriteRequest starts */
	size_t write_prefix_bytes;
};

/* A request can be sent and will be answered for. */
bool p4rt_client_up(const struct p4rt_client *client);

/* "NOT_FOUND", "status 99"; and with ": message" where there is one. */
const char *p4rt_status_name(int status, char buf[32]);
void p4rt_status_text(int status, const char *message, char *buf, size_t size_bytes);

/* Jobs that have nothing in flight end; those that have, end with their RPCs. */
void p4rt_jobs_end(struct p4rt_client *client);

#endif
