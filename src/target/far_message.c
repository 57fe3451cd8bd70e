/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "target/far_link.h"

enum { STEP_MS = 20, SHOWN_BYTES = 48 };

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 0: it can; or why not. */
static int await(int fd, short events, int64_t until_ms, const atomic_bool *interrupted)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		int64_t left_ms = until_ms - now_ms();
		int n;

		if (interrupted && atomic_load_explicit(interrupted, memory_order_relaxed))
			return -EINTR;
		if (left_ms <= 0)
			return -ETIMEDOUT;
		n = poll(&p, 1, left_ms < STEP_MS ? (int)left_ms : STEP_MS);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

static int write_all(int fd, const uint8_t *from, size_t count, int64_t until_ms)
{
	while (count) {
		/* A little at a time: a pipe that says it can write can write so much without waiting. */
		size_t some = count < 4096 ? count : 4096;
		int r = await(fd, POLLOUT, until_ms, NULL);
		ssize_t n;

		if (r < 0)
			return r;
		n = send(fd, from, some, MSG_NOSIGNAL);
		if (n < 0 && errno == ENOTSOCK)
			n = write(fd, from, some);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0) {
			from += n;
			count -= (size_t)n;
		}
	}
	return 0;
}

int far_write(int fd, enum far_kind kind, const void *bytes, size_t count, int64_t limit_ms, struct err *err)
{
	uint8_t head[FAR_HEAD_BYTES] = { 'T',
					 'a',
					 (uint8_t)kind,
					 0,
					 (uint8_t)(count >> 24),
					 (uint8_t)(count >> 16),
					 (uint8_t)(count >> 8),
					 (uint8_t)count };
	int64_t until_ms = now_ms() + limit_ms;
	int r;

	if (count > FAR_MESSAGE_MOST)
		return err_set(err, ERR_HOST, EMSGSIZE,
			       "a message of %zu bytes is too long for the far end; at most %d", count,
			       FAR_MESSAGE_MOST);
	r = write_all(fd, head, sizeof(head), until_ms);
	if (r == 0)
		r = write_all(fd, bytes, count, until_ms);
	if (r == -EPIPE || r == -ECONNRESET)
		return err_set(err, ERR_HOST, EPIPE, "the other end is gone");
	return r < 0 ? err_set(err, ERR_HOST, -r, "cannot write to the other end: %s", strerror(-r)) : 0;
}

/* Bytes that came, 0 for the end, or why not. */
static ssize_t read_some(int fd, uint8_t *to, size_t count, int64_t until_ms, const atomic_bool *interrupted)
{
	for (;;) {
		int r = await(fd, POLLIN, until_ms, interrupted);
		ssize_t n;

		if (r < 0)
			return r;
		n = read(fd, to, count);
		if (n >= 0)
			return n;
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
}

static int not_a_message(const uint8_t *bytes, size_t count, struct err *err)
{
	char shown[SHOWN_BYTES + 1];
	size_t n = 0;

	for (; n < count && n < SHOWN_BYTES && bytes[n] != '\n'; n++)
		shown[n] = bytes[n] >= 0x20 && bytes[n] < 0x7f ? (char)bytes[n] : '?';
	shown[n] = '\0';
	return err_set(err, ERR_HOST, EPROTO,
		       "the other end does not speak as tare: it wrote '%s' (does a start-up file of its shell print?)",
		       shown);
}

static int read_failed(ssize_t r, size_t got, struct err *err)
{
	if (r == -EINTR)
		return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
	if (r == -ETIMEDOUT)
		return err_set(err, ERR_HOST, ETIMEDOUT, "the other end does not answer");
	if (r == 0 || r == -ECONNRESET)
		return err_set(err, ERR_HOST, EPIPE,
			       got ? "the other end is gone in the middle of a message" : "the other end is gone");
	return err_set(err, ERR_HOST, (int)-r, "cannot read from the other end: %s", strerror((int)-r));
}

int far_read(int fd, int64_t limit_ms, const atomic_bool *interrupted, struct far_message *ret, struct err *err)
{
	int64_t until_ms = now_ms() + limit_ms;
	uint8_t head[FAR_HEAD_BYTES] = { 0 }, text[FAR_HEAD_BYTES + SHOWN_BYTES];
	size_t got = 0, count;
	ssize_t n;

	*ret = (struct far_message){ 0 };
	while (got < sizeof(head)) {
		n = read_some(fd, head + got, sizeof(head) - got, until_ms, got ? NULL : interrupted);
		if (n <= 0)
			return got && (head[0] != 'T') ? not_a_message(head, got, err) : read_failed(n, got, err);
		got += (size_t)n;
	}
	count = (size_t)head[4] << 24 | (size_t)head[5] << 16 | (size_t)head[6] << 8 | head[7];
	if (head[0] != 'T' || head[1] != 'a' || head[2] == 0 || head[2] >= FAR_KINDS || head[3] != 0 ||
	    count > FAR_MESSAGE_MOST) {
		memcpy(text, head, sizeof(head));
		n = read_some(fd, text + sizeof(head), SHOWN_BYTES, now_ms() + 200, NULL);
		return not_a_message(text, sizeof(head) + (n > 0 ? (size_t)n : 0), err);
	}
	ret->kind = head[2];
	ret->bytes = malloc(count + 1);
	if (!ret->bytes)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for a message of %zu bytes", count);
	while (ret->count < count) {
		n = read_some(fd, ret->bytes + ret->count, count - ret->count, until_ms, NULL);
		if (n <= 0) {
			free(ret->bytes);
			*ret = (struct far_message){ 0 };
			return read_failed(n, 1, err);
		}
		ret->count += (size_t)n;
	}
	ret->bytes[count] = '\0';
	return 0;
}
