/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/fake.h"
#include "io/memory.h"
#include "io/null.h"

static struct io_cable cable_of(uint32_t slots, uint32_t frame_bytes)
{
	struct io_cable cable;
	struct err err = { 0 };

	assert_int_equal(memory_cable_open(slots, frame_bytes, &cable, &err), 0);
	return cable;
}

static void cable_close(struct io_cable *cable)
{
	cable->send_end->ops->close(cable->send_end);
	cable->receive_end->ops->close(cable->receive_end);
}

/* Length and content of the nth frame. */
static uint32_t frame_write(uint64_t n, uint32_t longest, uint8_t *to)
{
	uint32_t length = 14 + (uint32_t)(n * 7919 % (longest - 13));

	memset(to, (int)(n * 31 + 7), length);
	memcpy(to, &n, sizeof(n));
	return length;
}

static void frame_check(uint64_t n, uint32_t longest, const struct io_frame *f)
{
	uint64_t found;
	uint32_t length = 14 + (uint32_t)(n * 7919 % (longest - 13));

	memcpy(&found, f->data, sizeof(found));
	assert_int_equal(found, n);
	assert_int_equal(f->length_bytes, length);
	for (uint32_t i = sizeof(n); i < length; i++)
		assert_int_equal(f->data[i], (uint8_t)(n * 31 + 7));
}

static void frames_come_out_as_they_went_in(void **state)
{
	enum { LONGEST = 9018 };
	struct io_cable c = cable_of(16, LONGEST);
	struct io_frame f[4];
	struct io_counters counters;
	uint64_t sent = 0, received = 0;

	(void)state;
	while (received < 500) {
		unsigned n = io_reserve(c.send_end, f, 3, LONGEST);

		for (unsigned i = 0; i < n; i++)
			f[i].length_bytes = frame_write(sent + i, LONGEST, f[i].data);
		assert_int_equal(io_send(c.send_end, f, n), n);
		sent += n;
		n = io_receive(c.receive_end, f, 4);
		for (unsigned i = 0; i < n; i++)
			frame_check(received + i, LONGEST, &f[i]);
		received += n;
		io_release(c.receive_end, f, n);
	}
	c.send_end->ops->counters(c.send_end, &counters);
	assert_int_equal(counters.sent, sent);
	c.receive_end->ops->counters(c.receive_end, &counters);
	assert_int_equal(counters.received, received);
	cable_close(&c);
}

static void a_full_ring_says_so_and_empties_again(void **state)
{
	struct io_cable c = cable_of(8, 64);
	struct io_frame f[16];

	(void)state;
	for (int lap = 0; lap < 3; lap++) {
		assert_int_equal(io_reserve(c.send_end, f, 16, 64), 8);
		assert_int_equal(io_reserve(c.send_end, f + 8, 1, 64), 0);
		assert_int_equal(io_send(c.send_end, f, 8), 8);
		assert_int_equal(io_reserve(c.send_end, f, 1, 64), 0);
		assert_int_equal(io_receive(c.receive_end, f, 16), 8);
		assert_int_equal(io_receive(c.receive_end, f + 8, 1), 0);
		/* Received is not yet free. */
		assert_int_equal(io_reserve(c.send_end, f + 8, 1, 64), 0);
		io_release(c.receive_end, f, 8);
	}
	assert_int_equal(io_reserve(c.send_end, f, 1, 65), 0); /* longer than the cable takes */
	assert_int_equal(io_reserve(c.receive_end, f, 1, 64), 0);
	assert_int_equal(io_receive(c.send_end, f, 1), 0);
	cable_close(&c);
}

static void an_abandoned_frame_leaves_no_gap(void **state)
{
	struct io_cable c = cable_of(8, 64);
	struct io_frame f[2];

	(void)state;
	for (uint64_t n = 0; n < 100; n++) {
		assert_int_equal(io_reserve(c.send_end, f, 2, 64), 2);
		c.send_end->ops->abandon(c.send_end, &f[1], 1);
		f[0].length_bytes = frame_write(n, 64, f[0].data);
		io_send(c.send_end, f, 1);
		assert_int_equal(io_receive(c.receive_end, f, 2), 1);
		frame_check(n, 64, &f[0]);
		io_release(c.receive_end, f, 1);
	}
	cable_close(&c);
}

/* The turn in a slot has 16 bits: it wraps after 65536 laps of the ring. */
static void turns_wrap(void **state)
{
	struct io_cable c = cable_of(8, 60);
	struct io_frame f;

	(void)state;
	for (uint64_t n = 0; n < 8 * 65536 + 100; n++) {
		assert_int_equal(io_receive(c.receive_end, &f, 1), 0);
		assert_int_equal(io_reserve(c.send_end, &f, 1, 60), 1);
		memcpy(f.data, &n, sizeof(n));
		io_send(c.send_end, &f, 1);
		assert_int_equal(io_receive(c.receive_end, &f, 1), 1);
		assert_memory_equal(f.data, &n, sizeof(n));
		io_release(c.receive_end, &f, 1);
	}
	cable_close(&c);
}

enum { THREAD_FRAMES = 200000, THREAD_LONGEST = 200 };

static void *sender_thread(void *context)
{
	struct io_port *port = context;
	struct io_frame f[8];

	for (uint64_t n = 0; n < THREAD_FRAMES;) {
		unsigned want = THREAD_FRAMES - n < 8 ? (unsigned)(THREAD_FRAMES - n) : 8;
		unsigned got = io_reserve(port, f, want, THREAD_LONGEST);

		if (got == 0)
			sched_yield();
		for (unsigned i = 0; i < got; i++)
			f[i].length_bytes = frame_write(n + i, THREAD_LONGEST, f[i].data);
		io_send(port, f, got);
		n += got;
	}
	return NULL;
}

static void two_threads_lose_nothing(void **state)
{
	struct io_cable c = cable_of(64, THREAD_LONGEST);
	struct io_frame f[8];
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, sender_thread, c.send_end), 0);
	for (uint64_t n = 0; n < THREAD_FRAMES;) {
		unsigned got = io_receive(c.receive_end, f, 8);

		if (got == 0)
			sched_yield();
		for (unsigned i = 0; i < got; i++)
			frame_check(n + i, THREAD_LONGEST, &f[i]);
		io_release(c.receive_end, f, got);
		n += got;
	}
	pthread_join(thread, NULL);
	assert_int_equal(io_receive(c.receive_end, f, 1), 0);
	cable_close(&c);
}

static void null_takes_all_and_gives_nothing(void **state)
{
	struct io_port *port;
	struct io_frame f[4];
	struct io_counters counters;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(null_port_open(100, &port, &err), 0);
	assert_int_equal(io_reserve(port, f, 4, 100), 4);
	assert_int_equal(io_reserve(port, f, 4, 101), 0);
	assert_int_equal(io_send(port, f, 4), 4);
	assert_int_equal(io_receive(port, f, 4), 0);
	port->ops->counters(port, &counters);
	assert_int_equal(counters.sent, 4);
	port->ops->close(port);
}

/* First bytes of what comes out of a port, one letter a frame. */
static void fake_takes(struct io_port *port, const char *expected)
{
	struct io_frame f;

	for (; *expected; expected++) {
		assert_int_equal(io_receive(port, &f, 1), 1);
		assert_int_equal(f.data[0], (uint8_t)*expected);
		io_release(port, &f, 1);
	}
	assert_int_equal(io_receive(port, &f, 1), 0);
}

static void fake_does_what_its_script_says(void **state)
{
	static const struct fake_rule rules[] = {
		{ 0, 0, FAKE_DROP, 0 },    { 1, 0, FAKE_DUPLICATE, 0 }, { 2, 0, FAKE_HOLD, 2 },
		{ 3, 1, FAKE_DAMAGE, 0 },  { 4, 1, FAKE_CUT, 3 },       { 5, 0, FAKE_FOREIGN, 5 },
		{ 5, 1, FAKE_SWALLOW, 0 }, { 0, 1, FAKE_MISCOUNT, 10 },
	};
	struct fake_box box;
	struct io_counters counters;
	struct io_frame f;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(fake_box_open(rules, 8, 6, 64, &box, &err), 0);
	for (int n = 0; n < 6; n++) {
		assert_int_equal(io_reserve(box.in, &f, 1, 20), 1);
		memset(f.data, 'a' + n, 20);
		io_send(box.in, &f, 1);
	}
	assert_int_equal(io_reserve(box.in, &f, 1, 20), 0);
	fake_takes(box.out[0], "bbdecf\xee");
	fake_takes(box.out[1], "abc\x9b"
			       "e");
	box.out[0]->ops->counters(box.out[0], &counters);
	assert_int_equal(counters.received, 7);
	box.out[1]->ops->counters(box.out[1], &counters);
	assert_int_equal(counters.received, 5 + 1 + 10); /* one swallowed, ten never there */
	box.in->ops->close(box.in);
	box.out[0]->ops->close(box.out[0]);
	box.out[1]->ops->close(box.out[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_come_out_as_they_went_in),
		cmocka_unit_test(a_full_ring_says_so_and_empties_again),
		cmocka_unit_test(an_abandoned_frame_leaves_no_gap),
		cmocka_unit_test(turns_wrap),
		cmocka_unit_test(two_threads_lose_nothing),
		cmocka_unit_test(null_takes_all_and_gives_nothing),
		cmocka_unit_test(fake_does_what_its_script_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
