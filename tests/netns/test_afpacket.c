/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "io/afpacket.h"
#include "netns.h"

enum { WAIT_MS = 2000 };

struct pair {
	struct io_port *a, *b;
};

static struct io_port *open_port(const char *name)
{
	struct afpacket_config config = { .interface = name, .receive_frames = 32 };
	struct io_port *port = NULL;
	struct err err = { 0 };

	if (afpacket_open(&config, &port, &err) < 0)
		fail_msg("%s", err.message);
	return port;
}

static int setup(void **state)
{
	static struct pair pair;

	netns_veth("tare0", "tare1");
	netns_run("ip link set tare0 mtu 65535 && ip link set tare1 mtu 65535");
	pair.a = open_port("tare0");
	pair.b = open_port("tare1");
	*state = &pair;
	return 0;
}

static int teardown(void **state)
{
	struct pair *pair = *state;

	pair->a->ops->close(pair->a);
	pair->b->ops->close(pair->b);
	netns_run("ip link del tare0 2>/dev/null || true");
	return 0;
}

static void send_one(struct io_port *port, const uint8_t *bytes, uint32_t length_bytes)
{
	struct io_frame frame;

	assert_int_equal(io_reserve(port, &frame, 1, length_bytes), 1);
	memcpy(frame.data, bytes, length_bytes);
	assert_int_equal(io_send(port, &frame, 1), 1);
}

/* The next frame, waited for by its event. */
static void receive_one(struct io_port *port, struct io_frame *ret)
{
	struct pollfd fd = { .fd = afpacket_fd(port), .events = POLLIN };

	while (io_receive(port, ret, 1) == 0)
		assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
}

static void fill(uint8_t *bytes, uint32_t length_bytes, uint8_t seed)
{
	for (uint32_t i = 0; i < length_bytes; i++)
		bytes[i] = (uint8_t)(i * 7 + seed);
	bytes[12] = 0x88;
	bytes[13] = 0xb5;
}

static void frames_of_all_lengths(void **state)
{
	static const uint32_t lengths[] = { 14, 60, 64, 1500, 1900, 2047, 2048, 9018, 65535 };
	static uint8_t bytes[AFPACKET_FRAME_BYTES];
	struct pair *pair = *state;
	struct io_counters counters;
	struct io_frame frame;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		fill(bytes, lengths[i], (uint8_t)i);
		send_one(pair->a, bytes, lengths[i]);
		receive_one(pair->b, &frame);
		assert_int_equal(frame.length_bytes, lengths[i]);
		assert_memory_equal(frame.data, bytes, lengths[i]);
		io_release(pair->b, &frame, 1);
	}
	/* long and short ones keep their order */
	for (uint8_t i = 0; i < 6; i++) {
		fill(bytes, 9000, i);
		send_one(pair->a, bytes, i % 2 ? 9000 : 100);
	}
	for (uint8_t i = 0; i < 6; i++) {
		fill(bytes, 9000, i);
		receive_one(pair->b, &frame);
		assert_int_equal(frame.length_bytes, i % 2 ? 9000 : 100);
		assert_memory_equal(frame.data, bytes, frame.length_bytes);
		io_release(pair->b, &frame, 1);
	}
	pair->b->ops->counters(pair->b, &counters);
	assert_int_equal(counters.received, sizeof(lengths) / sizeof(lengths[0]) + 6);
	assert_int_equal(counters.rx_dropped, 0);
}

static void own_frames_do_not_come_back(void **state)
{
	uint8_t bytes[60];
	struct pair *pair = *state;
	struct io_frame frame;

	fill(bytes, sizeof(bytes), 1);
	send_one(pair->a, bytes, sizeof(bytes));
	receive_one(pair->b, &frame);
	io_release(pair->b, &frame, 1);
	assert_int_equal(io_receive(pair->a, &frame, 1), 0);
}

static void stamps_are_times_of_now(void **state)
{
	struct timespec before, after;
	uint8_t bytes[60];
	struct pair *pair = *state;
	struct io_frame frame;

	fill(bytes, sizeof(bytes), 1);
	clock_gettime(CLOCK_REALTIME, &before);
	send_one(pair->a, bytes, sizeof(bytes));
	receive_one(pair->b, &frame);
	clock_gettime(CLOCK_REALTIME, &after);
	assert_true(frame.stamp_ns >= (int64_t)before.tv_sec * 1000000000 + before.tv_nsec);
	assert_true(frame.stamp_ns <= (int64_t)after.tv_sec * 1000000000 + after.tv_nsec);
	io_release(pair->b, &frame, 1);
}

static void vlan_tags_stay(void **state)
{
	static uint8_t bytes[3000];
	static const uint32_t lengths[] = { 64, 3000 };
	struct pair *pair = *state;
	struct io_frame frame;

	for (size_t i = 0; i < 2; i++) {
		fill(bytes, sizeof(bytes), 3);
		memcpy(bytes + 12, "\x81\x00\x60\x05\x08\x00", 6);
		send_one(pair->a, bytes, lengths[i]);
		receive_one(pair->b, &frame);
		assert_int_equal(frame.length_bytes, lengths[i]);
		assert_memory_equal(frame.data, bytes, lengths[i]);
		io_release(pair->b, &frame, 1);
	}
}

static void frames_for_others_are_received(void **state)
{
	uint8_t bytes[60];
	struct pair *pair = *state;
	struct io_frame frame;

	fill(bytes, sizeof(bytes), 0);
	memcpy(bytes, "\x02\x00\x00\x00\x77\x77", 6);
	send_one(pair->a, bytes, sizeof(bytes));
	receive_one(pair->b, &frame);
	assert_memory_equal(frame.data, bytes, sizeof(bytes));
	io_release(pair->b, &frame, 1);
}

static void what_does_not_fit_is_counted(void **state)
{
	uint8_t bytes[60];
	struct pair *pair = *state;
	struct io_counters counters;
	struct io_frame frames[64];
	unsigned got;

	fill(bytes, sizeof(bytes), 1);
	for (int i = 0; i < 50; i++) /* 32 slots */
		send_one(pair->a, bytes, sizeof(bytes));
	got = io_receive(pair->b, frames, 64);
	assert_int_equal(got, 32);
	io_release(pair->b, frames, got);
	pair->b->ops->counters(pair->b, &counters);
	assert_int_equal(counters.rx_dropped, 18);
	netns_run("ip link set tare0 mtu 1500 && ip link set tare1 mtu 1500");
	assert_int_equal(io_reserve(pair->a, frames, 1, 4000), 1);
	assert_int_equal(io_send(pair->a, frames, 1), 0);
	pair->a->ops->counters(pair->a, &counters);
	assert_int_equal(counters.tx_dropped, 1);
}

static void an_interface_goes_down_and_comes_up(void **state)
{
	struct pair *pair = *state;
	struct pollfd fd = { .fd = afpacket_fd(pair->b), .events = POLLIN };
	uint8_t bytes[60];
	struct io_frame frame = { 0 };

	assert_int_equal(afpacket_check(pair->b), 0);
	netns_run("ip link set tare1 down");
	assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
	assert_true(fd.revents & POLLERR);
	assert_int_equal(afpacket_check(pair->b), -ENETDOWN);
	netns_run("ip link set tare1 up");
	assert_int_equal(afpacket_check(pair->b), 0);
	fill(bytes, sizeof(bytes), 1);
	/* the other end learns of it a little later, and drops until then */
	for (int tries = 0; tries < 100 && io_receive(pair->b, &frame, 1) == 0; tries++) {
		send_one(pair->a, bytes, sizeof(bytes));
		poll(&fd, 1, WAIT_MS / 100);
	}
	assert_non_null(frame.data);
	assert_memory_equal(frame.data, bytes, sizeof(bytes));
	io_release(pair->b, &frame, 1);
}

static void an_interface_vanishes(void **state)
{
	struct pair *pair = *state;
	struct pollfd fd = { .fd = afpacket_fd(pair->b), .events = POLLIN };

	netns_run("ip link del tare0");
	assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(afpacket_check(pair->b), -ENODEV);
	/* another of the same name is not it */
	netns_veth("tare0", "tare1");
	assert_int_equal(afpacket_check(pair->b), -ENODEV);
}

static void refusals_name_the_interface(void **state)
{
	static const struct {
		const char *name, *message;
	} cases[] = {
		{ "nosuch0", "there is no interface 'nosuch0'" },
		{ "a-name-that-is-too-long",
		  "there is no interface 'a-name-that-is-too-long': names have at most 15 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct afpacket_config config = { .interface = cases[i].name };
		struct io_port *port = NULL;
		struct err err = { 0 };

		assert_int_equal(afpacket_open(&config, &port, &err), -ENODEV);
		assert_string_equal(err.message, cases[i].message);
		assert_null(port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_of_all_lengths, setup, teardown),
		cmocka_unit_test_setup_teardown(own_frames_do_not_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(stamps_are_times_of_now, setup, teardown),
		cmocka_unit_test_setup_teardown(vlan_tags_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_for_others_are_received, setup, teardown),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(an_interface_goes_down_and_comes_up, setup, teardown),
		cmocka_unit_test_setup_teardown(an_interface_vanishes, setup, teardown),
		cmocka_unit_test(refusals_name_the_interface),
	};

	netns_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
