/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "grpc/address.h"
#include "grpc/h2.h"

enum {
	DEFAULT_PEER_HEADER_LIST = 8 * 1024, /* what common clients take when they announce nothing */
	TRAILER_OVERHEAD = 512,              /* the other trailers and their per-field accounting */
	MESSAGE_TEXT_LIMIT = 1024,
};

struct server_conn {
	struct h2_conn h2; /* first: freed through it */
	struct grpc_server *server;
	struct server_conn *next, **previous;
	struct grpc_call *calls; /* open streams */
	struct loop_timer greeting;
	char peer[64];
};

struct grpc_call {
	struct h2_stream stream;
	struct server_conn *conn; /* NULL: closed */
	struct grpc_call *next, **previous;
	const struct grpc_method *method;
	struct grpc_reader reader;
	void *context, *user;
	struct loop_timer deadline;
	unsigned refs;
	unsigned messages;
	int64_t timeout_ns; /* -1: none */
	bool bad_request;   /* headers that are not gRPC's */
	bool responded;     /* response headers submitted */
	bool finished;
	enum grpc_status status;
	char *trailer_message; /* percent-encoded, or NULL */
	char *trailer_details; /* base64, or NULL */
};

struct grpc_server {
	struct loop *loop;
	struct grpc_server_config config;
	SSL_CTX *tls;
	struct loop_watch listener;
	struct server_conn *conns;
	unsigned conn_count;
	unsigned port;
	char unix_path[108];
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *options;
};

/* --- calls --- */

static void call_free(struct grpc_call *call)
{
	h2_stream_release(&call->stream);
	grpc_reader_release(&call->reader);
	free(call->trailer_message);
	free(call->trailer_details);
	free(call);
}

void grpc_call_ref(struct grpc_call *call)
{
	call->refs++;
}

void grpc_call_unref(struct grpc_call *call)
{
	if (--call->refs == 0)
		call_free(call);
}

void *grpc_call_context(const struct grpc_call *call)
{
	return call->context;
}

void *grpc_call_user(const struct grpc_call *call)
{
	return call->user;
}

void grpc_call_set_user(struct grpc_call *call, void *user)
{
	call->user = user;
}

bool grpc_call_open(const struct grpc_call *call)
{
	return call->conn && !call->finished && !call->conn->h2.failed;
}

const char *grpc_call_peer(const struct grpc_call *call)
{
	return call->conn ? call->conn->peer : "closed";
}

size_t grpc_call_queued_bytes(const struct grpc_call *call)
{
	return h2_stream_queued_bytes(&call->stream);
}

/* The stream is gone: tell the method, drop the connection's reference. */
static void call_close(struct grpc_call *call)
{
	TARE_ASSERT(call->conn);
	loop_timer_clear(call->conn->h2.loop, &call->deadline);
	*call->previous = call->next;
	if (call->next)
		call->next->previous = call->previous;
	call->conn = NULL;
	call->stream.id = -1;
	if (call->method && call->method->closed)
		call->method->closed(call);
	grpc_call_unref(call);
}

static void submit_trailers(struct grpc_call *call)
{
	char status[8];
	nghttp2_nv nv[3];
	size_t n = 0;

	nv[n++] = H2_NV("grpc-status", status, (size_t)snprintf(status, sizeof(status), "%d", call->status));
	if (call->trailer_message)
		nv[n++] = H2_NV("grpc-message", call->trailer_message, strlen(call->trailer_message));
	if (call->trailer_details)
		nv[n++] = H2_NV("grpc-status-details-bin", call->trailer_details, strlen(call->trailer_details));
	nghttp2_submit_trailer(call->conn->h2.session, call->stream.id, nv, n);
}

static ssize_t read_response(nghttp2_session *session, int32_t stream_id, uint8_t *buf, size_t length,
			     uint32_t *data_flags, nghttp2_data_source *source, void *user)
{
	struct grpc_call *call = source->ptr;
	size_t n = h2_stream_take(&call->stream, buf, length);

	(void)session;
	(void)stream_id;
	(void)user;
	if (h2_stream_queued_bytes(&call->stream) == 0 && call->stream.ended) {
		*data_flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		submit_trailers(call);
		return (ssize_t)n;
	}
	if (n == 0) {
		call->stream.parked = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)n;
}

static void respond(struct grpc_call *call)
{
	nghttp2_nv nv[2] = { H2_NV(":status", "200", 3), H2_NV("content-type", "application/grpc", 16) };
	nghttp2_data_provider provider = { .source.ptr = call, .read_callback = read_response };

	call->responded = true;
	nghttp2_submit_response(call->conn->h2.session, call->stream.id, nv, 2, &provider);
	h2_conn_flush(&call->conn->h2);
}

uint8_t *grpc_call_reserve(struct grpc_call *call, size_t length_bytes)
{
	return grpc_call_open(call) ? h2_stream_reserve(&call->stream, length_bytes) : NULL;
}

void grpc_call_commit(struct grpc_call *call)
{
	if (!call->conn)
		return;
	if (!call->responded)
		respond(call);
	else
		h2_stream_wake(&call->stream);
}

size_t grpc_call_details_limit(const struct grpc_call *call)
{
	uint32_t limit = DEFAULT_PEER_HEADER_LIST;
	size_t base64_room;

	if (call->conn)
		limit = nghttp2_session_get_remote_settings(call->conn->h2.session,
							    NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE);
	if (limit == 0 || limit == UINT32_MAX)
		limit = DEFAULT_PEER_HEADER_LIST;
	if (limit > H2_HEADER_LIST_LIMIT)
		limit = H2_HEADER_LIST_LIMIT; /* nghttp2 sends no longer header block */
	if (limit <= TRAILER_OVERHEAD + MESSAGE_TEXT_LIMIT)
		return 0;
	base64_room = limit - TRAILER_OVERHEAD - MESSAGE_TEXT_LIMIT;
	return base64_room / 4 * 3;
}

void grpc_call_finish(struct grpc_call *call, enum grpc_status status, const char *message, const uint8_t *details,
		      size_t details_bytes)
{
	if (!grpc_call_open(call))
		return;
	call->finished = true;
	call->status = status;
	if (message && *message) {
		call->trailer_message = malloc(MESSAGE_TEXT_LIMIT);
		if (call->trailer_message)
			grpc_message_encode(message, call->trailer_message, MESSAGE_TEXT_LIMIT);
	}
	if (details_bytes && details_bytes <= grpc_call_details_limit(call)) {
		size_t size = details_bytes / 3 * 4 + 8;

		call->trailer_details = malloc(size);
		if (call->trailer_details)
			grpc_base64_encode(details, details_bytes, call->trailer_details, size);
	}
	call->stream.ended = true;
	if (!call->responded)
		respond(call);
	else
		h2_stream_wake(&call->stream);
}

static void call_deadline(struct loop_timer *timer)
{
	struct grpc_call *call = (struct grpc_call *)((char *)timer - offsetof(struct grpc_call, deadline));

	grpc_call_finish(call, GRPC_DEADLINE_EXCEEDED, "deadline exceeded", NULL, 0);
}

/* Everything of one request has arrived, in a message that stayed in the reader. */
static void deliver_unary(struct grpc_call *call)
{
	if (call->messages != 1)
		grpc_call_finish(call, GRPC_UNIMPLEMENTED, "exactly one request message is expected", NULL, 0);
	else
		call->method->message(call, call->reader.data, call->reader.length_bytes);
}

static void call_data(struct grpc_call *call, const uint8_t *bytes, size_t length)
{
	while (!call->finished) {
		enum grpc_read got;

		if (call->messages && call->method->unary_request && length) {
			call->messages++;
			return; /* refused at the end of the request */
		}
		got = grpc_reader_feed(&call->reader, &bytes, &length);
		if (got == GRPC_READ_MORE)
			return;
		if (got == GRPC_READ_MESSAGE) {
			call->messages++;
			if (!call->method->unary_request)
				call->method->message(call, call->reader.data, call->reader.length_bytes);
			else if (!length)
				return;
			continue;
		}
		grpc_call_finish(call, got == GRPC_READ_COMPRESSED ? GRPC_UNIMPLEMENTED : GRPC_RESOURCE_EXHAUSTED,
				 got == GRPC_READ_TOO_LONG     ? "message over the limit"
				 : got == GRPC_READ_COMPRESSED ? "compressed messages are not supported"
							       : "out of memory",
				 NULL, 0);
	}
}

static void call_half_closed(struct grpc_call *call)
{
	if (call->finished)
		return;
	if (!grpc_reader_clean(&call->reader))
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT, "the request ends inside a message", NULL, 0);
	else if (call->method->unary_request)
		deliver_unary(call);
	else if (call->method->half_closed)
		call->method->half_closed(call);
}

static void call_begin(struct grpc_call *call)
{
	if (call->bad_request) {
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT, "not a gRPC request", NULL, 0);
		return;
	}
	if (!call->method) {
		grpc_call_finish(call, GRPC_UNIMPLEMENTED, "no such method", NULL, 0);
		return;
	}
	if (call->timeout_ns >= 0) {
		int64_t due;

		if (!__builtin_add_overflow(loop_now_ns(), call->timeout_ns, &due)) {
			call->deadline.fire = call_deadline;
			loop_timer_set(call->conn->h2.loop, &call->deadline, due);
		}
	}
	if (call->method->opened)
		call->method->opened(call);
}

/* --- nghttp2 callbacks --- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct server_conn *conn = user;
	struct grpc_call *call;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	call->refs = 1;
	call->conn = conn;
	call->context = conn->server->config.context;
	call->timeout_ns = -1;
	call->stream.conn = &conn->h2;
	call->stream.id = frame->hd.stream_id;
	grpc_reader_init(&call->reader, conn->server->config.message_limit_bytes);
	call->next = conn->calls;
	call->previous = &conn->calls;
	if (conn->calls)
		conn->calls->previous = &call->next;
	conn->calls = call;
	nghttp2_session_set_stream_user_data(session, call->stream.id, call);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
		     const uint8_t *value, size_t value_length, uint8_t flags, void *user)
{
	struct server_conn *conn = user;
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	if (!call || frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	if (h2_name_is(name, name_length, ":path")) {
		for (const struct grpc_method *m = conn->server->config.methods; m->path; m++)
			if (h2_name_is(value, value_length, m->path))
				call->method = m;
	} else if (h2_name_is(name, name_length, ":method")) {
		call->bad_request |= !h2_name_is(value, value_length, "POST");
	} else if (h2_name_is(name, name_length, "content-type")) {
		call->bad_request |= value_length < 16 || memcmp(value, "application/grpc", 16) != 0;
	} else if (h2_name_is(name, name_length, "grpc-timeout")) {
		call->timeout_ns = grpc_timeout_parse((const char *)value, value_length);
		call->bad_request |= call->timeout_ns < 0;
	}
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct server_conn *conn = user;
	struct grpc_call *call;

	if (frame->hd.type == NGHTTP2_SETTINGS)
		loop_timer_clear(conn->h2.loop, &conn->greeting);
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (!call)
		return 0;
	grpc_call_ref(call);
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		call_begin(call);
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		call_half_closed(call);
	grpc_call_unref(call);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data, size_t length,
		   void *user)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream_id);

	(void)flags;
	(void)user;
	if (call && call->method) {
		grpc_call_ref(call);
		call_data(call, data, length);
		grpc_call_unref(call);
	}
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code, void *user)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream_id);

	(void)error_code;
	(void)user;
	if (call)
		call_close(call);
	return 0;
}

/* Answered before the client ended its side: ask it to stop sending, or the stream stays for ever. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	(void)user;
	if (frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
	    nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
	return 0;
}

/* --- connections --- */

static void conn_closed(struct h2_conn *h2, const char *why)
{
	struct server_conn *conn = (struct server_conn *)h2;

	(void)why;
	/* each call takes itself off the list, through `previous`, which the analyzer does not follow */
	while (conn->calls)              /* NOLINT(clang-analyzer-unix.Malloc) */
		call_close(conn->calls); /* NOLINT(clang-analyzer-unix.Malloc) */
	loop_timer_clear(conn->server->loop, &conn->greeting);
	*conn->previous = conn->next;
	if (conn->next)
		conn->next->previous = conn->previous;
	conn->server->conn_count--;
	h2_conn_release(&conn->h2);
	free(conn);
}

static void greeting_late(struct loop_timer *timer)
{
	struct server_conn *conn = (struct server_conn *)((char *)timer - offsetof(struct server_conn, greeting));

	h2_conn_fail(&conn->h2, "no HTTP/2 greeting");
}

static void peer_name(const struct sockaddr_storage *addr, char *buf, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (addr->ss_family == AF_INET) {
		const struct sockaddr_in *in4 = (const struct sockaddr_in *)addr;

		inet_ntop(AF_INET, &in4->sin_addr, host, sizeof(host));
		snprintf(buf, size, "%s:%u", host, ntohs(in4->sin_port));
	} else if (addr->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(buf, size, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		snprintf(buf, size, "unix");
	}
}

static int conn_open(struct grpc_server *server, int fd, const struct sockaddr_storage *from)
{
	nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, server->config.stream_limit },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEADER_LIST_LIMIT },
	};
	struct server_conn *conn = calloc(1, sizeof(*conn));
	nghttp2_session *session = NULL;
	SSL *ssl = NULL;
	int one = 1;

	if (!conn)
		return -ENOMEM;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (nghttp2_session_server_new2(&session, server->callbacks, conn, server->options) != 0 ||
	    (server->tls && !(ssl = SSL_new(server->tls)))) {
		nghttp2_session_del(session);
		free(conn);
		return -ENOMEM;
	}
	if (ssl)
		SSL_set_accept_state(ssl);
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(settings[0]));
	nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, H2_CONNECTION_WINDOW);
	conn->server = server;
	conn->h2.closed = conn_closed;
	peer_name(from, conn->peer, sizeof(conn->peer));
	conn->next = server->conns;
	conn->previous = &server->conns;
	if (server->conns)
		server->conns->previous = &conn->next;
	server->conns = conn;
	server->conn_count++;
	conn->greeting.fire = greeting_late;
	loop_timer_set(server->loop, &conn->greeting, loop_now_ns() + server->config.greeting_ns);
	if (h2_conn_start(&conn->h2, server->loop, fd, ssl, session, false) < 0)
		h2_conn_fail(&conn->h2, "cannot be watched");
	return 0;
}

static void accept_ready(struct loop_watch *watch, unsigned events)
{
	struct grpc_server *server = (struct grpc_server *)((char *)watch - offsetof(struct grpc_server, listener));

	(void)events;
	for (int i = 0; i < 64; i++) {
		struct sockaddr_storage from = { 0 };
		socklen_t length = sizeof(from);
		int fd = accept4(watch->fd, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (server->conn_count >= server->config.connection_limit || conn_open(server, fd, &from) < 0)
			close(fd);
	}
}

/* --- the server --- */

static int make_callbacks(struct grpc_server *server)
{
	if (nghttp2_session_callbacks_new(&server->callbacks) != 0 || nghttp2_option_new(&server->options) != 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(server->callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(server->callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(server->callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(server->callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(server->callbacks, on_stream_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(server->callbacks, on_frame_sent);
	nghttp2_option_set_max_send_header_block_length(server->options, 2 * H2_HEADER_LIST_LIMIT);
	return 0;
}

static int listen_on(struct grpc_server *server, const struct grpc_address *a, struct err *err)
{
	struct sockaddr_storage bound = { 0 };
	socklen_t length = sizeof(bound);
	int one = 1;
	int fd = socket(a->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_set(err, ERR_HOST, errno, "%s: %s", a->text, strerror(errno));
	if (a->addr.ss_family == AF_UNIX) {
		const struct sockaddr_un *un = (const struct sockaddr_un *)&a->addr;

		strcpy(server->unix_path, un->sun_path);
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	}
	if (bind(fd, (const struct sockaddr *)&a->addr, a->length) < 0 || listen(fd, 1024) < 0) {
		int code = errno;

		close(fd);
		server->unix_path[0] = '\0'; /* not ours to remove */
		return err_set(err, ERR_HOST, code, "cannot listen on %s: %s", a->text, strerror(code));
	}
	if (getsockname(fd, (struct sockaddr *)&bound, &length) == 0) {
		if (bound.ss_family == AF_INET)
			server->port = ntohs(((struct sockaddr_in *)&bound)->sin_port);
		else if (bound.ss_family == AF_INET6)
			server->port = ntohs(((struct sockaddr_in6 *)&bound)->sin6_port);
	}
	server->listener.fd = fd;
	server->listener.ready = accept_ready;
	if (loop_watch(server->loop, &server->listener, LOOP_READ) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "cannot watch %s", a->text);
	return 0;
}

int grpc_server_create(struct loop *loop, const struct grpc_server_config *config, struct grpc_server **ret_server,
		       struct err *err)
{
	struct grpc_server *server = calloc(1, sizeof(*server));
	struct grpc_address address;
	int rc;

	if (!server)
		return err_set(err, ERR_HOST, ENOMEM, "server: out of memory");
	server->loop = loop;
	server->config = *config;
	server->listener.fd = -1;
	if (!server->config.message_limit_bytes)
		server->config.message_limit_bytes = 64 << 20;
	if (!server->config.connection_limit)
		server->config.connection_limit = 1024;
	if (!server->config.stream_limit)
		server->config.stream_limit = 256;
	if (!server->config.greeting_ns)
		server->config.greeting_ns = INT64_C(10000000000);
	rc = grpc_address_parse(config->address, &address, err);
	if (rc == 0 && grpc_tls_wanted(&config->tls))
		rc = grpc_tls_context(&config->tls, true, &server->tls, err);
	if (rc == 0 && make_callbacks(server) < 0)
		rc = err_set(err, ERR_HOST, ENOMEM, "server: out of memory");
	if (rc == 0)
		rc = listen_on(server, &address, err);
	if (rc < 0) {
		grpc_server_destroy(server);
		return rc;
	}
	*ret_server = server;
	return 0;
}

void grpc_server_destroy(struct grpc_server *server)
{
	if (!server)
		return;
	while (server->conns)
		conn_closed(&server->conns->h2, "server ends");
	if (server->listener.fd >= 0) {
		loop_unwatch(server->loop, &server->listener);
		close(server->listener.fd);
	}
	if (server->unix_path[0])
		unlink(server->unix_path);
	nghttp2_session_callbacks_del(server->callbacks);
	nghttp2_option_del(server->options);
	SSL_CTX_free(server->tls);
	free(server);
}

unsigned grpc_server_port(const struct grpc_server *server)
{
	return server->port;
}

unsigned grpc_server_connections(const struct grpc_server *server)
{
	return server->conn_count;
}
