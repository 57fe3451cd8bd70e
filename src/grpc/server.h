/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_GRPC_SERVER_H
#define TARE_GRPC_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "grpc/loop.h"
#include "grpc/status.h"
#include "grpc/tls.h"

/*
 * A gRPC server on nghttp2, in its loop's thread. Any number of connections, any
 * number of calls on each; hostile bytes end their connection and nothing else.
 */
struct grpc_server;
struct grpc_call;

struct grpc_method {
	const char *path; /* "/p4.v1.P4Runtime/Write"; NULL ends a table */
	/* One request message, delivered once the client has ended its side; more or none is refused. */
	bool unary_request;
	/* All optional but message. `message` may finish the call; data is the library's and valid during the call only. */
	void (*opened)(struct grpc_call *call);
	void (*message)(struct grpc_call *call, const uint8_t *data, size_t length_bytes);
	void (*half_closed)(struct grpc_call *call); /* streams: the client will send nothing more */
	void (*closed)(struct grpc_call *call);      /* the last word, however it ended; free what `user` holds */
};

struct grpc_server_config {
	const char *address;
	struct grpc_tls tls;
	const struct grpc_method *methods;
	void *context;              /* grpc_call_context */
	size_t message_limit_bytes; /* of one request; 0: 64 MiB */
	unsigned connection_limit;  /* 0: 1024; further ones are closed at once */
	unsigned stream_limit;      /* calls of one connection; 0: 256 */
	int64_t greeting_ns;        /* a client that says nothing for so long after connecting is dropped; 0: 10 s */
};

int grpc_server_create(struct loop *loop, const struct grpc_server_config *config, struct grpc_server **ret_server,
		       struct err *err);
void grpc_server_destroy(struct grpc_server *server); /* every call is closed; NULL is fine */

unsigned grpc_server_port(const struct grpc_server *server); /* the TCP port it listens on; 0 for unix */
unsigned grpc_server_connections(const struct grpc_server *server);

/* --- in a method's callbacks, and later as long as the call is referenced --- */

void *grpc_call_context(const struct grpc_call *call); /* of the config */
void *grpc_call_user(const struct grpc_call *call);
void grpc_call_set_user(struct grpc_call *call, void *user);
bool grpc_call_open(const struct grpc_call *call); /* the client can still hear us */
const char *grpc_call_peer(const struct grpc_call *call);

/* A call lives until closed() has run and every reference is gone. */
void grpc_call_ref(struct grpc_call *call);
void grpc_call_unref(struct grpc_call *call);

/* Queue a message: reserve its exact length, fill it, then commit. NULL: the call is over, or no memory. */
uint8_t *grpc_call_reserve(struct grpc_call *call, size_t length_bytes);
void grpc_call_commit(struct grpc_call *call);
size_t grpc_call_queued_bytes(const struct grpc_call *call); /* what the client has not taken yet */

/*
 * End the call. `message` may be NULL; `details` is a packed google.rpc.Status
 * (grpc-status-details-bin) and is left out when the client could not take it
 * (see grpc_call_details_limit). Nothing may be sent after.
 */
void grpc_call_finish(struct grpc_call *call, enum grpc_status status, const char *message, const uint8_t *details,
		      size_t details_bytes);

/* How many bytes of details this client's header limit leaves room for (8 KiB where it announced none). */
size_t grpc_call_details_limit(const struct grpc_call *call);

#endif
