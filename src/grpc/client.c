/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grpc/address.h"
#include "grpc/h2.h"

enum { SPARE_RPCS = 256 };

struct grpc_rpc {
	struct h2_stream stream;
	struct grpc_channel *channel;
	struct grpc_rpc *next, **previous;
	const char *path;
	const struct grpc_rpc_ops *ops;
	void *user;
	struct grpc_reader reader;
	struct loop_timer deadline;
	struct loop_deferred end; /* closes from the loop what was cancelled or could not start */
	int64_t deadline_ns;
	int status; /* -1: no grpc-status yet */
	int http_status;
	char message[1024];
	uint8_t *details;
	size_t details_bytes;
};

struct grpc_channel {
	struct loop *loop;
	struct grpc_channel_config config;
	struct grpc_address address;
	char server_name[128];
	SSL_CTX *tls;
	struct h2_conn h2;
	enum grpc_channel_state state;
	struct loop_timer timer; /* connecting: the time-out; ready: keep-alive */
	struct loop_deferred connect;
	bool pinged;
	struct grpc_rpc *rpcs;
	struct grpc_rpc *spare; /* closed ones, kept with their buffers */
	unsigned spare_count;
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *options;
};

/* --- calls --- */

static void rpc_free(struct grpc_rpc *rpc)
{
	h2_stream_release(&rpc->stream);
	grpc_reader_release(&rpc->reader);
	free(rpc->details);
	free(rpc);
}

static void rpc_close(struct grpc_rpc *rpc, int status, const char *message)
{
	struct grpc_channel *channel = rpc->channel;

	loop_timer_clear(channel->loop, &rpc->deadline);
	loop_undefer(channel->loop, &rpc->end);
	*rpc->previous = rpc->next;
	if (rpc->next)
		rpc->next->previous = rpc->previous;
	if (rpc->stream.id > 0 && channel->h2.session)
		nghttp2_session_set_stream_user_data(channel->h2.session, rpc->stream.id, NULL);
	rpc->stream.id = -1;
	rpc->ops->closed(rpc, status, message, rpc->details, rpc->details_bytes);
	free(rpc->details);
	rpc->details = NULL;
	if (channel->spare_count < SPARE_RPCS) {
		rpc->next = channel->spare;
		channel->spare = rpc;
		channel->spare_count++;
	} else {
		rpc_free(rpc);
	}
}

/* The stream ended: what the trailers said, or what their absence means. */
static void rpc_finish(struct grpc_rpc *rpc, uint32_t error_code)
{
	char text[96];

	if (rpc->status >= 0) {
		rpc_close(rpc, rpc->status, rpc->message);
		return;
	}
	if (rpc->http_status != 200 && rpc->http_status != 0)
		snprintf(text, sizeof(text), "HTTP status %d instead of a gRPC answer", rpc->http_status);
	else
		snprintf(text, sizeof(text), "the stream ended without a status (%s)",
			 nghttp2_http2_strerror(error_code));
	rpc_close(rpc, error_code == NGHTTP2_REFUSED_STREAM ? GRPC_UNAVAILABLE : GRPC_UNKNOWN, text);
}

static void rpc_abort(struct grpc_rpc *rpc, int status, const char *message)
{
	struct grpc_channel *channel = rpc->channel;

	if (rpc->stream.id > 0 && channel->h2.session) {
		nghttp2_submit_rst_stream(channel->h2.session, NGHTTP2_FLAG_NONE, rpc->stream.id, NGHTTP2_CANCEL);
		h2_conn_flush(&channel->h2);
	}
	rpc_close(rpc, status, message);
}

static void rpc_deadline(struct loop_timer *timer)
{
	struct grpc_rpc *rpc = (struct grpc_rpc *)((char *)timer - offsetof(struct grpc_rpc, deadline));

	rpc_abort(rpc, GRPC_DEADLINE_EXCEEDED, "no answer before the deadline");
}

static void rpc_end_deferred(struct loop_deferred *deferred)
{
	struct grpc_rpc *rpc = (struct grpc_rpc *)((char *)deferred - offsetof(struct grpc_rpc, end));

	rpc_abort(rpc, rpc->status, rpc->message);
}

static void rpc_end_later(struct grpc_rpc *rpc, int status, const char *message)
{
	rpc->status = status;
	snprintf(rpc->message, sizeof(rpc->message), "%s", message);
	loop_defer(rpc->channel->loop, &rpc->end);
}

static ssize_t read_request(nghttp2_session *session, int32_t stream_id, uint8_t *buf, size_t length,
			    uint32_t *data_flags, nghttp2_data_source *source, void *user)
{
	struct grpc_rpc *rpc = source->ptr;
	size_t n;

	(void)user;
	if (nghttp2_session_get_stream_user_data(session, stream_id) != rpc) {
		*data_flags |= NGHTTP2_DATA_FLAG_EOF; /* closed already; its reset is on the way */
		return 0;
	}
	n = h2_stream_take(&rpc->stream, buf, length);
	if (h2_stream_queued_bytes(&rpc->stream) == 0 && rpc->stream.ended)
		*data_flags |= NGHTTP2_DATA_FLAG_EOF;
	else if (n == 0) {
		rpc->stream.parked = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)n;
}

static void rpc_submit(struct grpc_rpc *rpc)
{
	struct grpc_channel *channel = rpc->channel;
	nghttp2_data_provider provider = { .source.ptr = rpc, .read_callback = read_request };
	char timeout[12];
	nghttp2_nv nv[8];
	size_t n = 0;

	nv[n++] = H2_NV(":method", "POST", 4);
	nv[n++] = H2_NV(":scheme", channel->tls ? "https" : "http", channel->tls ? 5 : 4);
	nv[n++] = H2_NV(":path", rpc->path, strlen(rpc->path));
	nv[n++] = H2_NV(":authority", channel->server_name, strlen(channel->server_name));
	nv[n++] = H2_NV("te", "trailers", 8);
	nv[n++] = H2_NV("content-type", "application/grpc", 16);
	nv[n++] = H2_NV("user-agent", "tare", 4);
	if (rpc->deadline_ns > 0) {
		grpc_timeout_format(rpc->deadline_ns, timeout, sizeof(timeout));
		nv[n++] = H2_NV("grpc-timeout", timeout, strlen(timeout));
	}
	rpc->stream.id = nghttp2_submit_request(channel->h2.session, NULL, nv, n, &provider, rpc);
	if (rpc->stream.id < 0)
		rpc_end_later(rpc, GRPC_UNAVAILABLE, "no stream left on this connection");
	else
		h2_conn_flush(&channel->h2);
}

struct grpc_rpc *grpc_rpc_start(struct grpc_channel *channel, const char *path, const struct grpc_rpc_ops *ops,
				void *user, int64_t deadline_ns)
{
	struct grpc_rpc *rpc = channel->spare;

	if (rpc) {
		struct h2_stream stream = rpc->stream;
		struct grpc_reader reader = rpc->reader;

		channel->spare = rpc->next;
		channel->spare_count--;
		memset(rpc, 0, offsetof(struct grpc_rpc, message));
		rpc->stream.out = stream.out;
		rpc->stream.capacity_bytes = stream.capacity_bytes;
		rpc->reader.data = reader.data;
		rpc->reader.capacity_bytes = reader.capacity_bytes;
		rpc->details_bytes = 0;
	} else {
		rpc = calloc(1, sizeof(*rpc));
		if (!rpc)
			return NULL;
	}
	rpc->reader.limit_bytes = channel->config.message_limit_bytes;
	rpc->message[0] = '\0';
	rpc->channel = channel;
	rpc->path = path;
	rpc->ops = ops;
	rpc->user = user;
	rpc->status = -1;
	rpc->deadline_ns = deadline_ns;
	rpc->stream.conn = &channel->h2;
	rpc->end.run = rpc_end_deferred;
	rpc->deadline.fire = rpc_deadline;
	rpc->next = channel->rpcs;
	rpc->previous = &channel->rpcs;
	if (channel->rpcs)
		channel->rpcs->previous = &rpc->next;
	channel->rpcs = rpc;
	if (deadline_ns > 0)
		loop_timer_set(channel->loop, &rpc->deadline, loop_now_ns() + deadline_ns);
	if (channel->state == GRPC_CHANNEL_READY)
		rpc_submit(rpc);
	else
		grpc_channel_connect(channel);
	return rpc;
}

void *grpc_rpc_user(const struct grpc_rpc *rpc)
{
	return rpc->user;
}

uint8_t *grpc_rpc_reserve(struct grpc_rpc *rpc, size_t length_bytes)
{
	return h2_stream_reserve(&rpc->stream, length_bytes);
}

void grpc_rpc_commit(struct grpc_rpc *rpc)
{
	h2_stream_wake(&rpc->stream);
}

void grpc_rpc_end(struct grpc_rpc *rpc)
{
	rpc->stream.ended = true;
	h2_stream_wake(&rpc->stream);
}

void grpc_rpc_cancel(struct grpc_rpc *rpc)
{
	rpc_end_later(rpc, GRPC_CANCELLED, "cancelled");
}

/* --- nghttp2 callbacks --- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
		     const uint8_t *value, size_t value_length, uint8_t flags, void *user)
{
	struct grpc_rpc *rpc = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	(void)user;
	if (!rpc || frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	if (h2_name_is(name, name_length, ":status")) {
		rpc->http_status = atoi((const char *)value);
	} else if (h2_name_is(name, name_length, "grpc-status")) {
		char *end;
		long status = strtol((const char *)value, &end, 10);

		rpc->status = end != (const char *)value && !*end && status >= 0 && status <= 999 ? (int)status
												  : GRPC_UNKNOWN;
	} else if (h2_name_is(name, name_length, "grpc-message")) {
		grpc_message_decode((const char *)value, value_length, rpc->message, sizeof(rpc->message));
	} else if (h2_name_is(name, name_length, "grpc-status-details-bin") && !rpc->details) {
		long n;

		rpc->details = malloc(value_length);
		n = rpc->details ? grpc_base64_decode((const char *)value, value_length, rpc->details, value_length)
				 : -1;
		rpc->details_bytes = n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data, size_t length,
		   void *user)
{
	struct grpc_rpc *rpc = nghttp2_session_get_stream_user_data(session, stream_id);

	(void)flags;
	(void)user;
	if (!rpc || rpc->end.queued)
		return 0;
	for (;;) {
		enum grpc_read got = grpc_reader_feed(&rpc->reader, &data, &length);

		if (got == GRPC_READ_MORE)
			return 0;
		if (got != GRPC_READ_MESSAGE) {
			rpc_end_later(rpc, GRPC_INTERNAL,
				      got == GRPC_READ_TOO_LONG ? "answer over the message limit"
								: "answer is not readable");
			return 0;
		}
		rpc->ops->message(rpc, rpc->reader.data, rpc->reader.length_bytes);
		if (nghttp2_session_get_stream_user_data(session, stream_id) != rpc)
			return 0;
	}
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code, void *user)
{
	struct grpc_rpc *rpc = nghttp2_session_get_stream_user_data(session, stream_id);

	(void)user;
	if (rpc)
		rpc_finish(rpc, error_code);
	return 0;
}

/* --- the connection --- */

static void state_set(struct grpc_channel *channel, enum grpc_channel_state state, const char *why)
{
	channel->state = state;
	if (channel->config.state)
		channel->config.state(channel, state, why);
}

static void conn_opened(struct h2_conn *h2)
{
	struct grpc_channel *channel = (struct grpc_channel *)((char *)h2 - offsetof(struct grpc_channel, h2));
	struct grpc_rpc *oldest = NULL;

	loop_timer_clear(channel->loop, &channel->timer);
	if (channel->config.keepalive_ns)
		loop_timer_set(channel->loop, &channel->timer, loop_now_ns() + channel->config.keepalive_ns);
	state_set(channel, GRPC_CHANNEL_READY, "");
	/* the list has the newest first; what waited goes out in the order it was started */
	for (struct grpc_rpc *rpc = channel->rpcs; rpc; rpc = rpc->next)
		oldest = rpc;
	while (oldest) {
		struct grpc_rpc *newer =
			oldest->previous == &channel->rpcs
				? NULL
				: (struct grpc_rpc *)((char *)oldest->previous - offsetof(struct grpc_rpc, next));

		if (oldest->stream.id == 0 && !oldest->end.queued)
			rpc_submit(oldest);
		oldest = newer;
	}
}

static void conn_closed(struct h2_conn *h2, const char *why)
{
	struct grpc_channel *channel = (struct grpc_channel *)((char *)h2 - offsetof(struct grpc_channel, h2));
	struct grpc_rpc *ended = channel->rpcs;
	bool was_ready = channel->state == GRPC_CHANNEL_READY;
	int status = channel->h2.refused ? GRPC_UNAUTHENTICATED : GRPC_UNAVAILABLE;
	char text[256];

	snprintf(text, sizeof(text), "%s %s: %s", was_ready ? "connection to" : "cannot connect to",
		 channel->address.text, why);
	loop_timer_clear(channel->loop, &channel->timer);
	h2_conn_release(&channel->h2);
	memset(&channel->h2, 0, sizeof(channel->h2));
	/* calls that closed() starts belong to the next connection: cut the list off first */
	channel->rpcs = NULL;
	if (ended)
		ended->previous = &ended;
	state_set(channel, GRPC_CHANNEL_IDLE, text);
	/* each takes itself off the list, through `previous`, which the analyzer does not follow */
	while (ended) /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		rpc_close(ended, ended->end.queued ? ended->status : status, ended->end.queued ? ended->message : text);
}

static void channel_timer(struct loop_timer *timer)
{
	struct grpc_channel *channel = (struct grpc_channel *)((char *)timer - offsetof(struct grpc_channel, timer));
	int64_t silent_ns = loop_now_ns() - channel->h2.heard_ns;

	if (channel->state != GRPC_CHANNEL_READY) {
		h2_conn_fail(&channel->h2, "no answer in time");
		return;
	}
	if (silent_ns >= 2 * channel->config.keepalive_ns) {
		h2_conn_fail(&channel->h2, "silent for too long");
		return;
	}
	if (silent_ns >= channel->config.keepalive_ns) {
		nghttp2_submit_ping(channel->h2.session, NGHTTP2_FLAG_NONE, NULL);
		h2_conn_flush(&channel->h2);
	}
	loop_timer_set(channel->loop, timer, loop_now_ns() + channel->config.keepalive_ns);
}

static int session_create(struct grpc_channel *channel, nghttp2_session **ret)
{
	nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEADER_LIST_LIMIT },
	};

	if (nghttp2_session_client_new2(ret, channel->callbacks, channel, channel->options) != 0)
		return -ENOMEM;
	nghttp2_submit_settings(*ret, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(settings[0]));
	nghttp2_session_set_local_window_size(*ret, NGHTTP2_FLAG_NONE, 0, H2_CONNECTION_WINDOW);
	return 0;
}

static SSL *tls_create(struct grpc_channel *channel)
{
	SSL *ssl = SSL_new(channel->tls);
	struct in6_addr literal;
	bool is_address = inet_pton(AF_INET, channel->server_name, &literal) == 1 ||
			  inet_pton(AF_INET6, channel->server_name, &literal) == 1;

	if (!ssl)
		return NULL;
	if (is_address)
		X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), channel->server_name);
	else {
		SSL_set_tlsext_host_name(ssl, channel->server_name);
		SSL_set1_host(ssl, channel->server_name);
	}
	SSL_set_connect_state(ssl);
	return ssl;
}

static void connect_fail(struct grpc_channel *channel, const char *why)
{
	/* through the same door as a connection that ended */
	channel->h2.loop = NULL;
	conn_closed(&channel->h2, why);
}

static int open_socket(const struct grpc_channel *channel, int type)
{
	int family = channel->address.addr.ss_family, fd;

	if (channel->config.open_socket)
		return channel->config.open_socket(channel->config.user, family, type);
	fd = socket(family, type, 0);
	return fd < 0 ? -errno : fd;
}

static void channel_connect(struct loop_deferred *deferred)
{
	struct grpc_channel *channel =
		(struct grpc_channel *)((char *)deferred - offsetof(struct grpc_channel, connect));
	nghttp2_session *session = NULL;
	SSL *ssl = NULL;
	int one = 1;
	int fd = open_socket(channel, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		connect_fail(channel, strerror(-fd));
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *)&channel->address.addr, channel->address.length) < 0 &&
	    errno != EINPROGRESS) {
		int code = errno;

		close(fd);
		connect_fail(channel, strerror(code));
		return;
	}
	if (session_create(channel, &session) < 0 || (channel->tls && !(ssl = tls_create(channel)))) {
		nghttp2_session_del(session);
		close(fd);
		connect_fail(channel, "out of memory");
		return;
	}
	loop_timer_set(channel->loop, &channel->timer, loop_now_ns() + channel->config.connect_timeout_ns);
	channel->h2.opened = conn_opened;
	channel->h2.closed = conn_closed;
	if (h2_conn_start(&channel->h2, channel->loop, fd, ssl, session, true) < 0)
		h2_conn_fail(&channel->h2, "cannot be watched");
}

void grpc_channel_connect(struct grpc_channel *channel)
{
	if (channel->state != GRPC_CHANNEL_IDLE)
		return;
	state_set(channel, GRPC_CHANNEL_CONNECTING, "");
	channel->connect.run = channel_connect;
	loop_defer(channel->loop, &channel->connect);
}

enum grpc_channel_state grpc_channel_get_state(const struct grpc_channel *channel)
{
	return channel->state;
}

void *grpc_channel_user(const struct grpc_channel *channel)
{
	return channel->config.user;
}

int grpc_channel_create(struct loop *loop, const struct grpc_channel_config *config, struct grpc_channel **ret_channel,
			struct err *err)
{
	struct grpc_channel *channel = calloc(1, sizeof(*channel));
	int rc;

	if (!channel)
		return err_set(err, ERR_HOST, ENOMEM, "client: out of memory");
	channel->loop = loop;
	channel->config = *config;
	channel->timer.fire = channel_timer;
	if (!channel->config.connect_timeout_ns)
		channel->config.connect_timeout_ns = INT64_C(5000000000);
	if (!channel->config.message_limit_bytes)
		channel->config.message_limit_bytes = 64 << 20;
	rc = grpc_address_parse(config->address, &channel->address, err);
	if (rc == 0 && grpc_tls_wanted(&config->tls))
		rc = grpc_tls_context(&config->tls, false, &channel->tls, err);
	if (rc == 0 &&
	    (nghttp2_session_callbacks_new(&channel->callbacks) != 0 || nghttp2_option_new(&channel->options) != 0))
		rc = err_set(err, ERR_HOST, ENOMEM, "client: out of memory");
	if (rc < 0) {
		grpc_channel_destroy(channel);
		return rc;
	}
	snprintf(channel->server_name, sizeof(channel->server_name), "%s",
		 config->tls.server_name ? config->tls.server_name : channel->address.host);
	nghttp2_session_callbacks_set_on_header_callback(channel->callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(channel->callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(channel->callbacks, on_stream_close);
	*ret_channel = channel;
	return 0;
}

void grpc_channel_destroy(struct grpc_channel *channel)
{
	if (!channel)
		return;
	while (channel->rpcs) /* as in conn_closed: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		rpc_close(channel->rpcs, GRPC_CANCELLED, "the channel was closed");
	loop_timer_clear(channel->loop, &channel->timer);
	loop_undefer(channel->loop, &channel->connect);
	h2_conn_release(&channel->h2);
	while (channel->spare) {
		struct grpc_rpc *rpc = channel->spare;

		channel->spare = rpc->next;
		rpc_free(rpc);
	}
	nghttp2_session_callbacks_del(channel->callbacks);
	nghttp2_option_del(channel->options);
	SSL_CTX_free(channel->tls);
	free(channel);
}
