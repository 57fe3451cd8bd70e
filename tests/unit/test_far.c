/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "packet/stream_wire.h"
#include "probe/far_end.h"
#include "probe/far_run.h"
#include "target/far_link.h"

static struct stream *generated(enum id_format format, uint32_t count)
{
	struct stream_spec spec = { .count = count, .format = format, .rate_mpps = 1000000, .flows = 3 };
	struct stream *s = NULL;
	struct err err = { 0 };

	frame_template_default(&spec.frame, format == ID_INSTRUMENT ? FRAME_KIND_ETHER : FRAME_KIND_UDP4, 128);
	spec.flows = format == ID_INSTRUMENT ? 1 : 3;
	if (stream_create(&spec, &s, &err) < 0)
		fail_msg("%s", err.message);
	return s;
}

/* What comes back sends the same frames at the same times. */
static void stream_comes_back(void **state)
{
	static const enum id_format formats[] = { ID_NATIVE, ID_INSTRUMENT, ID_OCT };

	(void)state;
	for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
		struct stream *s = generated(formats[f], 50), *back = NULL;
		struct err err = { 0 };
		uint8_t *bytes, a[256], b[256];
		size_t count;

		assert_int_equal(stream_pack(s, &bytes, &count, &err), 0);
		if (stream_unpack(bytes, count, &back, &err) < 0)
			fail_msg("%s", err.message);
		assert_int_equal(back->count, 50);
		assert_int_equal(back->total_bytes, s->total_bytes);
		assert_int_equal(back->longest_bytes, s->longest_bytes);
		for (uint32_t i = 0; i < 50; i++) {
			assert_int_equal(back->send_ns[i], s->send_ns[i]);
			assert_int_equal(stream_fill(s, i, 7, a), stream_fill(back, i, 7, b));
			assert_memory_equal(a, b, stream_length(s, i));
			stream_fill_warm_up(s, i, 7, a);
			stream_fill_warm_up(back, i, 7, b);
			assert_memory_equal(a, b, stream_length(s, i));
		}
		free(bytes);
		stream_destroy(s);
		stream_destroy(back);
	}
}

/* Cut anywhere, or with any byte of its heads changed, it is refused or harmless. */
static void damaged_stream(void **state)
{
	struct stream *s = generated(ID_NATIVE, 20), *back;
	struct err err = { 0 };
	uint8_t *bytes, frame[FRAME_MAX_BYTES];
	size_t count;

	(void)state;
	assert_int_equal(stream_pack(s, &bytes, &count, &err), 0);
	for (size_t n = 0; n < count; n++) {
		back = NULL;
		assert_int_equal(stream_unpack(bytes, n, &back, &err), -EINVAL);
		assert_null(back);
	}
	for (size_t at = 0; at < 16 + 3 * 8; at++)
		for (int bit = 0; bit < 8; bit++) {
			bytes[at] ^= (uint8_t)(1 << bit);
			if (stream_unpack(bytes, count, &back, &err) == 0) {
				for (uint32_t i = 0; i < back->count; i++) {
					stream_fill(back, i, 1, frame);
					stream_fill_warm_up(back, i, 1, frame);
				}
				stream_destroy(back);
			}
			bytes[at] ^= (uint8_t)(1 << bit);
		}
	free(bytes);
	stream_destroy(s);
}

static void ticks_map_by_the_line(void **state)
{
	/* the far counter runs at twice the rate, 1000 off */
	const struct far_tick before = { 100, 1200, 10 }, after = { 1100, 3200, 10 };

	(void)state;
	assert_int_equal(far_tick_to_near(&before, &after, 1200), 100);
	assert_int_equal(far_tick_to_near(&before, &after, 2200), 600);
	assert_int_equal(far_tick_to_near(&before, &after, 200), (uint64_t)-400);
	assert_int_equal(far_tick_to_near(&before, &before, 1300), 200); /* one question only: the same rate */
}

static void messages(void **state)
{
	struct far_message m;
	struct err err = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(far_write(ends[0], FAR_STREAM, "hello", 5, 1000, &err), 0);
	assert_int_equal(far_read(ends[1], 1000, NULL, &m, &err), 0);
	assert_int_equal(m.kind, FAR_STREAM);
	assert_int_equal(m.count, 5);
	assert_string_equal((char *)m.bytes, "hello");
	free(m.bytes);
	assert_int_equal(far_read(ends[1], 10, NULL, &m, &err), -ETIMEDOUT);
	assert_int_equal(write(ends[0],
			       "Ta\x07\0\0\0\0\x09"
			       "abc",
			       11),
			 11);
	close(ends[0]);
	assert_int_equal(far_read(ends[1], 1000, NULL, &m, &err), -EPIPE);
	assert_string_equal(err.message, "the other end is gone in the middle of a message");
	assert_int_equal(far_read(ends[1], 1000, NULL, &m, &err), -EPIPE);
	assert_string_equal(err.message, "the other end is gone");
	assert_int_equal(far_write(ends[1], FAR_PING, NULL, 0, 1000, &err), -EPIPE);
	close(ends[1]);
}

/* --- the far end itself, spoken to without a tare at the other side --- */

static void *serve(void *fd)
{
	struct err err = { 0 };
	int r = far_serve(*(int *)fd, *(int *)fd, "1.2.3", &err);

	return (void *)(intptr_t)r;
}

static void ask(int fd, enum far_kind kind, const char *text, enum far_kind expected, const char *answer)
{
	struct far_message m;
	struct err err = { 0 };

	assert_int_equal(far_write(fd, kind, text, strlen(text), 1000, &err), 0);
	if (far_read(fd, 20000, NULL, &m, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(m.kind, expected);
	if (!strstr((char *)m.bytes, answer))
		fail_msg("expected '%s' in '%s'", answer, (char *)m.bytes);
	free(m.bytes);
}

static void far_end_refuses_in_words(void **state)
{
	pthread_t thread;
	int ends[2];
	void *r;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, &ends[1]), 0);
	ask(ends[0], FAR_PING, "", FAR_ERROR, "message 4 comes before any greeting");
	ask(ends[0], FAR_HELLO, "{\"version\": 3}", FAR_ERROR, "a greeting that is no tare's");
	ask(ends[0], FAR_HELLO, "{\"version\": \"1.2.3\", \"plan\": \"x\"}", FAR_HELLO, "\"version\":\"1.2.3\"");
	ask(ends[0], FAR_RUN, "{\"tag\":1,\"train\":0,\"train_gap_ns\":0,\"deadline_ns\":1,\"lead_ms\":1}", FAR_ERROR,
	    "no port is open");
	ask(ends[0], FAR_RUN, "{\"tag\":-1}", FAR_ERROR, "an order that cannot be");
	ask(ends[0], FAR_OPEN, "{\"port\":\"gone0\",\"frame_bytes\":100}", FAR_ERROR, "gone0");
	ask(ends[0], FAR_OPEN, "[]", FAR_ERROR, "no port is named");
	ask(ends[0], FAR_STREAM, "TSW?", FAR_ERROR, "no probe stream");
	ask(ends[0], FAR_DONE, "", FAR_ERROR, "message 8 is not for a far end");
	close(ends[0]);
	pthread_join(thread, &r);
	assert_int_equal((intptr_t)r, 0);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_comes_back),        cmocka_unit_test(damaged_stream),
		cmocka_unit_test(ticks_map_by_the_line),    cmocka_unit_test(messages),
		cmocka_unit_test(far_end_refuses_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
