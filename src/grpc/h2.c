/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/h2.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, READS_A_TURN = 16, FLUSH_BYTES = 256 * 1024 };

static struct h2_conn *conn_of_watch(struct loop_watch *w)
{
	return (struct h2_conn *)((char *)w - offsetof(struct h2_conn, watch));
}

static struct h2_conn *conn_of_flush(struct loop_deferred *d)
{
	return (struct h2_conn *)((char *)d - offsetof(struct h2_conn, flush));
}

void h2_conn_fail(struct h2_conn *conn, const char *fmt, ...)
{
	va_list ap;

	if (conn->failed)
		return;
	conn->failed = true;
	va_start(ap, fmt);
	vsnprintf(conn->why, sizeof(conn->why), fmt, ap);
	va_end(ap);
	h2_conn_flush(conn);
}

void h2_conn_flush(struct h2_conn *conn)
{
	loop_defer(conn->loop, &conn->flush);
}

static void fail_tls(struct h2_conn *conn, const char *doing)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	if (code && ERR_GET_REASON(code) != SSL_R_UNEXPECTED_EOF_WHILE_READING)
		conn->refused = true;
	h2_conn_fail(conn, "TLS %s failed: %s", doing, reason ? reason : "connection closed");
	ERR_clear_error();
}

/* Bytes in: > 0, 0 when none are there now, -1 when the connection is over (failed is set). */
static long conn_read(struct h2_conn *conn, uint8_t *buf, size_t size)
{
	long n;

	if (conn->ssl) {
		n = SSL_read(conn->ssl, buf, (int)size);
		if (n > 0)
			return n;
		switch (SSL_get_error(conn->ssl, (int)n)) {
		case SSL_ERROR_WANT_READ:
		case SSL_ERROR_WANT_WRITE:
			return 0;
		case SSL_ERROR_ZERO_RETURN:
			h2_conn_fail(conn, "closed by the peer");
			return -1;
		default:
			fail_tls(conn, "read");
			return -1;
		}
	}
	n = recv(conn->watch.fd, buf, size, 0);
	if (n > 0)
		return n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	h2_conn_fail(conn, "%s", n == 0 ? "closed by the peer" : strerror(errno));
	return -1;
}

/* Bytes out: > 0, 0 when the socket is full, -1 when the connection is over. */
static long conn_write(struct h2_conn *conn, const uint8_t *bytes, size_t length)
{
	long n;

	if (conn->ssl) {
		n = SSL_write(conn->ssl, bytes, (int)length);
		if (n > 0)
			return n;
		switch (SSL_get_error(conn->ssl, (int)n)) {
		case SSL_ERROR_WANT_READ:
		case SSL_ERROR_WANT_WRITE:
			return 0;
		default:
			fail_tls(conn, "write");
			return -1;
		}
	}
	n = send(conn->watch.fd, bytes, length, MSG_NOSIGNAL);
	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	h2_conn_fail(conn, "%s", strerror(errno));
	return -1;
}

static void conn_receive(struct h2_conn *conn)
{
	uint8_t buf[READ_BYTES];

	for (int i = 0; i < READS_A_TURN; i++) {
		long n = conn_read(conn, buf, sizeof(buf));
		ssize_t taken;

		if (n <= 0)
			break;
		conn->heard_ns = loop_now_ns();
		taken = nghttp2_session_mem_recv(conn->session, buf, (size_t)n);
		if (taken < 0) {
			h2_conn_fail(conn, "HTTP/2: %s", nghttp2_strerror((int)taken));
			break;
		}
		if (conn->failed)
			break;
		if (n < READ_BYTES && !conn->ssl)
			break; /* the socket is drained; a level-triggered wait tells if not */
	}
	h2_conn_flush(conn);
}

static void handshake(struct h2_conn *conn)
{
	const unsigned char *protocol = NULL;
	unsigned length = 0;
	int rc;

	if (conn->ssl) {
		rc = SSL_do_handshake(conn->ssl);
		if (rc != 1) {
			switch (SSL_get_error(conn->ssl, rc)) {
			case SSL_ERROR_WANT_READ:
				loop_watch(conn->loop, &conn->watch, LOOP_READ);
				return;
			case SSL_ERROR_WANT_WRITE:
				loop_watch(conn->loop, &conn->watch, LOOP_READ | LOOP_WRITE);
				return;
			default:
				fail_tls(conn, "handshake");
				return;
			}
		}
		SSL_get0_alpn_selected(conn->ssl, &protocol, &length);
		if (length != 2 || memcmp(protocol, "h2", 2) != 0) {
			h2_conn_fail(conn, "the peer does not offer HTTP/2 (ALPN h2)");
			return;
		}
	}
	conn->ready = true;
	if (conn->opened)
		conn->opened(conn);
	h2_conn_flush(conn);
}

static void conn_ready(struct loop_watch *watch, unsigned events)
{
	struct h2_conn *conn = conn_of_watch(watch);

	if (conn->failed)
		return;
	if (!conn->ready) {
		int code = 0;
		socklen_t size = sizeof(code);

		if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code) {
			h2_conn_fail(conn, "%s", strerror(code));
			return;
		}
		handshake(conn);
		if (!conn->ready)
			return;
	}
	if (events & (LOOP_READ | LOOP_GONE))
		conn_receive(conn);
	if (events & LOOP_WRITE)
		h2_conn_flush(conn);
}

/* Frames from the session into the buffer, so that a turn's frames leave in one write. */
static bool conn_gather(struct h2_conn *conn)
{
	while (conn->out_filled_bytes < FLUSH_BYTES) {
		const uint8_t *bytes;
		ssize_t n = nghttp2_session_mem_send(conn->session, &bytes);

		if (n < 0) {
			h2_conn_fail(conn, "HTTP/2: %s", nghttp2_strerror((int)n));
			return false;
		}
		if (n == 0)
			return false;
		if (conn->out_filled_bytes + (size_t)n > conn->out_capacity_bytes) {
			size_t grown = conn->out_capacity_bytes ? conn->out_capacity_bytes * 2 : 32 * 1024;
			uint8_t *moved;

			while (grown < conn->out_filled_bytes + (size_t)n)
				grown *= 2;
			moved = realloc(conn->out, grown);
			if (!moved) {
				h2_conn_fail(conn, "out of memory");
				return false;
			}
			conn->out = moved;
			conn->out_capacity_bytes = grown;
		}
		memcpy(conn->out + conn->out_filled_bytes, bytes, (size_t)n);
		conn->out_filled_bytes += (size_t)n;
	}
	return true;
}

static void conn_flush(struct loop_deferred *deferred)
{
	struct h2_conn *conn = conn_of_flush(deferred);
	bool more = true;

	while (conn->ready && !conn->failed && (more || conn->out_sent_bytes < conn->out_filled_bytes)) {
		long n;

		if (conn->out_sent_bytes == conn->out_filled_bytes) {
			conn->out_sent_bytes = conn->out_filled_bytes = 0;
			more = conn_gather(conn);
			if (conn->out_filled_bytes == 0)
				break;
		}
		n = conn_write(conn, conn->out + conn->out_sent_bytes, conn->out_filled_bytes - conn->out_sent_bytes);
		if (n <= 0)
			break;
		conn->out_sent_bytes += (size_t)n;
	}
	if (conn->ready && !conn->failed) {
		bool pending = conn->out_sent_bytes < conn->out_filled_bytes;

		if (!pending && !nghttp2_session_want_read(conn->session) && !nghttp2_session_want_write(conn->session))
			h2_conn_fail(conn, "connection finished");
		else
			loop_watch(conn->loop, &conn->watch, LOOP_READ | (pending ? LOOP_WRITE : 0));
	}
	if (conn->failed) {
		loop_undefer(conn->loop, &conn->flush);
		conn->closed(conn, conn->why);
	}
}

int h2_conn_start(struct h2_conn *conn, struct loop *loop, int fd, SSL *ssl, nghttp2_session *session, bool connecting)
{
	conn->loop = loop;
	conn->ssl = ssl;
	conn->session = session;
	conn->flush.run = conn_flush;
	conn->watch.fd = fd;
	conn->watch.ready = conn_ready;
	conn->heard_ns = loop_now_ns();
	if (ssl && SSL_set_fd(ssl, fd) != 1)
		return -ENOMEM;
	if (!connecting && !ssl) {
		conn->ready = true;
		if (conn->opened)
			conn->opened(conn);
		h2_conn_flush(conn);
	}
	return loop_watch(loop, &conn->watch, LOOP_READ | (connecting ? LOOP_WRITE : 0));
}

void h2_conn_release(struct h2_conn *conn)
{
	if (!conn->loop)
		return;
	loop_unwatch(conn->loop, &conn->watch);
	loop_undefer(conn->loop, &conn->flush);
	nghttp2_session_del(conn->session);
	SSL_free(conn->ssl);
	close(conn->watch.fd);
	free(conn->out);
	conn->session = NULL;
	conn->ssl = NULL;
	conn->out = NULL;
	conn->loop = NULL;
}

/* --- streams --- */

void h2_stream_release(struct h2_stream *s)
{
	free(s->out);
	s->out = NULL;
	s->head_bytes = s->tail_bytes = s->capacity_bytes = 0;
}

uint8_t *h2_stream_reserve(struct h2_stream *s, size_t length_bytes)
{
	size_t need = length_bytes + GRPC_PREFIX_BYTES;
	uint8_t *at;

	if (length_bytes > UINT32_MAX - GRPC_PREFIX_BYTES)
		return NULL;
	if (s->head_bytes == s->tail_bytes)
		s->head_bytes = s->tail_bytes = 0;
	if (s->tail_bytes + need > s->capacity_bytes && s->head_bytes) {
		memmove(s->out, s->out + s->head_bytes, s->tail_bytes - s->head_bytes);
		s->tail_bytes -= s->head_bytes;
		s->head_bytes = 0;
	}
	if (s->tail_bytes + need > s->capacity_bytes) {
		size_t grown = s->capacity_bytes ? s->capacity_bytes * 2 : 256;
		uint8_t *moved;

		while (grown < s->tail_bytes + need)
			grown *= 2;
		moved = realloc(s->out, grown);
		if (!moved)
			return NULL;
		s->out = moved;
		s->capacity_bytes = grown;
	}
	at = s->out + s->tail_bytes;
	grpc_prefix(at, (uint32_t)length_bytes);
	s->tail_bytes += need;
	return at + GRPC_PREFIX_BYTES;
}

void h2_stream_wake(struct h2_stream *s)
{
	if (s->id <= 0)
		return;
	if (s->parked) {
		s->parked = false;
		nghttp2_session_resume_data(s->conn->session, s->id);
	}
	h2_conn_flush(s->conn);
}

size_t h2_stream_queued_bytes(const struct h2_stream *s)
{
	return s->tail_bytes - s->head_bytes;
}

size_t h2_stream_take(struct h2_stream *s, uint8_t *buf, size_t length_bytes)
{
	size_t n = h2_stream_queued_bytes(s);

	if (n > length_bytes)
		n = length_bytes;
	if (n)
		memcpy(buf, s->out + s->head_bytes, n);
	s->head_bytes += n;
	return n;
}

bool h2_name_is(const uint8_t *name, size_t length, const char *text)
{
	return strlen(text) == length && memcmp(name, text, length) == 0;
}
