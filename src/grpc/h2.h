/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_GRPC_H2_H
#define TARE_GRPC_H2_H

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "grpc/loop.h"
#include "grpc/message.h"

/*
 * What both ends of gRPC share, private to this room: a connection (socket, TLS
 * if asked for, nghttp2 session) and a stream's outgoing bytes. Callbacks only
 * queue; the connection flushes once at the end of a loop turn. A connection
 * that failed is closed there too, never under its own callbacks.
 */

enum {
	H2_STREAM_WINDOW = 1 << 20,
	H2_CONNECTION_WINDOW = 1 << 24,
	H2_HEADER_LIST_LIMIT = 64 * 1024, /* what we accept, announced to the peer */
};

struct h2_conn {
	struct loop *loop;
	struct loop_watch watch;
	struct loop_deferred flush;
	SSL *ssl;
	bool ready; /* TLS done, or none: bytes may go */
	nghttp2_session *session;
	uint8_t *out; /* bytes that the socket did not take yet */
	size_t out_filled_bytes, out_sent_bytes, out_capacity_bytes;
	bool failed;
	bool refused; /* by TLS: another try would end the same */
	char why[128];
	int64_t heard_ns; /* when bytes last came in */

	/* The owner's: once connected (TLS and ALPN done), and once at the end. closed() frees the owner. */
	void (*opened)(struct h2_conn *conn);
	void (*closed)(struct h2_conn *conn, const char *why);
};

/* Take over a connected (or connecting: `connecting`) non-blocking socket and a session. TLS when ssl is not NULL. */
int h2_conn_start(struct h2_conn *conn, struct loop *loop, int fd, SSL *ssl, nghttp2_session *session, bool connecting);

/* Frees socket, TLS and session; calls nobody. Fine on a zeroed struct. */
void h2_conn_release(struct h2_conn *conn);

void h2_conn_flush(struct h2_conn *conn); /* at the end of this turn */
void h2_conn_fail(struct h2_conn *conn, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- a stream's way out --- */

struct h2_stream {
	struct h2_conn *conn;
	int32_t id; /* 0: not yet; -1: gone */
	uint8_t *out;
	size_t head_bytes, tail_bytes, capacity_bytes;
	bool parked; /* nghttp2 waits for resume */
	bool ended;  /* nothing comes after what is queued */
};

void h2_stream_release(struct h2_stream *s);

/* Room for one message of `length` bytes behind its prefix; the caller fills it whole, then h2_stream_wake. NULL: no memory. */
uint8_t *h2_stream_reserve(struct h2_stream *s, size_t length_bytes);
void h2_stream_wake(struct h2_stream *s);
size_t h2_stream_queued_bytes(const struct h2_stream *s);

/* Copy queued bytes into a DATA frame: for the read callbacks. Returns the number, 0 when the queue is empty. */
size_t h2_stream_take(struct h2_stream *s, uint8_t *buf, size_t length_bytes);

/* --- header fields --- */

#define H2_NV(key, text, n)                                                                                            \
	((nghttp2_nv){ (uint8_t *)(uintptr_t)(key), (uint8_t *)(uintptr_t)(text), sizeof(key) - 1, (n),                \
		       NGHTTP2_NV_FLAG_NO_COPY_NAME })

bool h2_name_is(const uint8_t *name, size_t length, const char *text);

#endif
