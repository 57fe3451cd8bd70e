/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_GRPC_CLIENT_H
#define TARE_GRPC_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "grpc/loop.h"
#include "grpc/status.h"
#include "grpc/tls.h"

/*
 * A gRPC client on nghttp2: one channel is one connection, in its loop's thread.
 * A connection that ends, ends its calls with UNAVAILABLE, or with UNAUTHENTICATED
 * where TLS refused it (certificates that do not match); the next call connects
 * anew, and `state` says each time, so that a reconnection can be accounted for.
 */
struct grpc_channel;
struct grpc_rpc;

enum grpc_channel_state {
	GRPC_CHANNEL_IDLE, /* no connection; `why` says how the last one ended */
	GRPC_CHANNEL_CONNECTING,
	GRPC_CHANNEL_READY,
};

struct grpc_channel_config {
	const char *address;
	struct grpc_tls tls;
	int64_t connect_timeout_ns; /* socket, TLS and HTTP/2 greeting; 0: 5 s */
	int64_t keepalive_ns;       /* a peer silent for so long is pinged, for twice so long given up; 0: never */
	size_t message_limit_bytes; /* of one response; 0: 64 MiB */
	void (*state)(struct grpc_channel *channel, enum grpc_channel_state state, const char *why); /* optional */
	/* Opens the socket of each connection, as socket() does, or -errno: in another network namespace. NULL: here. */
	int (*open_socket)(void *user, int family, int type);
	void *user;
};

struct grpc_rpc_ops {
	/* A response message; valid during the call only. */
	void (*message)(struct grpc_rpc *rpc, const uint8_t *data, size_t length_bytes);
	/*
	 * The end, once, always; the rpc is gone afterwards. `message` is "" where there is none; `details` is the
	 * packed google.rpc.Status of the trailers, or NULL. status may be a number that gRPC does not define.
	 */
	void (*closed)(struct grpc_rpc *rpc, int status, const char *message, const uint8_t *details,
		       size_t details_bytes);
};

/* Checks address and certificates; connects with the first call, or grpc_channel_connect. */
int grpc_channel_create(struct loop *loop, const struct grpc_channel_config *config, struct grpc_channel **ret_channel,
			struct err *err);
void grpc_channel_destroy(struct grpc_channel *channel); /* open calls close as CANCELLED; NULL is fine */
void grpc_channel_connect(struct grpc_channel *channel);
enum grpc_channel_state grpc_channel_get_state(const struct grpc_channel *channel);
void *grpc_channel_user(const struct grpc_channel *channel);

/*
 * Begin a call. `deadline_ns` is a duration from now; 0: none. `path`, `ops` must live as long as the call. NULL only
 * without memory; a call that cannot be sent is closed from the loop, never from inside this function.
 */
struct grpc_rpc *grpc_rpc_start(struct grpc_channel *channel, const char *path, const struct grpc_rpc_ops *ops,
				void *user, int64_t deadline_ns);
void *grpc_rpc_user(const struct grpc_rpc *rpc);

/* One request message: reserve its exact length, fill it, commit. */
uint8_t *grpc_rpc_reserve(struct grpc_rpc *rpc, size_t length_bytes);
void grpc_rpc_commit(struct grpc_rpc *rpc);
void grpc_rpc_end(struct grpc_rpc *rpc);    /* no more requests: half close */
void grpc_rpc_cancel(struct grpc_rpc *rpc); /* closes as CANCELLED, from the loop */

#endif
