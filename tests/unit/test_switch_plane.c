/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mailbox.h"
#include "plane.h"

/* The data plane's thread without interfaces: frames go in as packet-outs, and out by the CPU port. */

enum { CPU_PORT = 1, WAIT_MS = 10000, SWAPS = 100, FRAMES_A_SWAP = 20 };

struct bed {
	struct quiesce *quiesce;
	struct switch_clock clock;
	struct plane *plane;
	struct program *program;
	struct state *state;
	unsigned packets, digests, logs;
	uint8_t last[2048];
	size_t last_bytes;
	uint64_t digest[2];
	char log[128];
};

static int setup(void **state)
{
	static struct bed bed;
	struct truth none = { 0 };
	struct plane_config config = { .cpu_port = CPU_PORT, .clock = &bed.clock };
	struct err err = { 0 };

	memset(&bed, 0, sizeof(bed));
	bed.quiesce = config.quiesce = quiesce_create();
	assert_non_null(bed.quiesce);
	switch_clock_start(&bed.clock, false, &none);
	if (plane_create(&config, &bed.plane, &err) < 0)
		fail_msg("%s", err.message);
	*state = &bed;
	return 0;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	plane_destroy(bed->plane);
	state_destroy(bed->state);
	program_destroy(bed->program);
	quiesce_destroy(bed->quiesce);
	return 0;
}

/* As the P4Runtime server does it: the old pair goes once the data plane has passed. */
static void run_program(struct bed *bed, const char *name)
{
	struct program *old_program = bed->program;
	struct state *old_state = bed->state;
	struct err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), TESTS_DIR "/switch/programs/%s.json", name);
	if (program_load_file(path, &bed->program, &err) < 0 ||
	    state_create(bed->program, bed->quiesce, false, &bed->state, &err) < 0 ||
	    plane_commit(bed->plane, bed->program, bed->state, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(quiesce_wait(bed->quiesce, INT64_C(10000000000)));
	state_destroy(old_state);
	program_destroy(old_program);
}

static void packet_in(void *context, const uint8_t *frame, size_t length_bytes)
{
	struct bed *bed = context;

	bed->packets++;
	bed->last_bytes = length_bytes;
	memcpy(bed->last, frame, length_bytes);
}

static void digest(void *context, uint32_t list, const uint64_t *memory)
{
	struct bed *bed = context;
	const struct p4_learn_list *l = &bed->program->learn_lists[list];

	bed->digests++;
	bed->digest[0] = memory[l->items[0].slot];
	bed->digest[1] = memory[l->items[1].slot];
}

static void log_text(void *context, const char *text)
{
	struct bed *bed = context;

	bed->logs++;
	snprintf(bed->log, sizeof(bed->log), "%s", text);
}

/* Hand out what comes until `*counter` is `count`. */
static void drain_until(struct bed *bed, const unsigned *counter, unsigned count)
{
	struct plane_handlers handlers = { packet_in, digest, log_text, bed };
	struct pollfd fd = { .fd = plane_event_fd(bed->plane, 0), .events = POLLIN };

	while (*counter < count) {
		assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
		plane_drain(bed->plane, 0, &handlers);
	}
	assert_int_equal(*counter, count);
}

static void frames_go_in_and_come_out(void **state)
{
	static const uint8_t in[] = { 5, 1, 0, 0x11, 0x22, 0x99 }, out[] = { 5, 1, 0, 0x11, 0xee, 0x99 };
	struct bed *bed = *state;

	run_program(bed, "headers");
	assert_true(plane_packet_out(bed->plane, in, sizeof(in)));
	drain_until(bed, &bed->packets, 1);
	assert_int_equal(bed->last_bytes, sizeof(out));
	assert_memory_equal(bed->last, out, sizeof(out));
}

static void digests_and_messages_reach_the_control_thread(void **state)
{
	static const uint8_t learns[] = { 2, 0, 0, 0, 42 }, says[] = { 3, 0, 0, 0, 43 };
	struct bed *bed = *state;

	run_program(bed, "misc");
	assert_true(plane_packet_out(bed->plane, learns, sizeof(learns)));
	assert_true(plane_packet_out(bed->plane, says, sizeof(says)));
	drain_until(bed, &bed->digests, 1);
	drain_until(bed, &bed->logs, 1);
	assert_int_equal(bed->digest[0], 2);
	assert_int_equal(bed->digest[1], 42);
	assert_string_equal(bed->log, "op 3 value 43");
}

/* No frame is lost, and each is handled by the one program or by the other, whole. */
static void programs_are_swapped_under_traffic(void **state)
{
	static const uint8_t in[] = { 5, 1, 0, 0x11, 0x22, 0x99 }, by_headers[] = { 5, 1, 0, 0x11, 0xee, 0x99 };
	struct bed *bed = *state;
	unsigned sent = 0;

	run_program(bed, "headers");
	for (unsigned swap = 0; swap < SWAPS; swap++) {
		for (unsigned i = 0; i < FRAMES_A_SWAP; i++, sent++)
			assert_true(plane_packet_out(bed->plane, in, sizeof(in)));
		run_program(bed, swap % 2 ? "headers" : "misc");
		drain_until(bed, &bed->packets, sent);
		assert_int_equal(bed->last_bytes, sizeof(in));
		if (memcmp(bed->last, in, sizeof(in)) != 0)
			assert_memory_equal(bed->last, by_headers, sizeof(in));
	}
}

static void without_a_program_frames_end(void **state)
{
	static const uint8_t in[60] = { 0 };
	struct v1model_counters counters;
	struct bed *bed = *state;

	assert_true(plane_packet_out(bed->plane, in, sizeof(in)));
	plane_stop(bed->plane);
	plane_counters(bed->plane, &counters);
	assert_int_equal(counters.received, 0);
}

static void letters_keep_order_and_a_full_box_refuses(void **state)
{
	struct mailbox *box = mailbox_create(1024);
	static uint8_t letter[MAILBOX_LETTER_BYTES];
	unsigned put = 0, taken = 0;

	(void)state;
	assert_non_null(box);
	for (unsigned round = 0; round < 100; round++) {
		while (mailbox_put(box, &put, sizeof(put), "0123456789", put % 10))
			put++;
		assert_true(put - taken > 1024 / (2 * sizeof(put) + 10) - 1);
		while (mailbox_take(box, letter) > 0) {
			assert_int_equal(*(unsigned *)letter, taken);
			assert_memory_equal(letter + sizeof(taken), "0123456789", taken % 10);
			taken++;
		}
		assert_int_equal(taken, put);
	}
	assert_false(mailbox_put(box, letter, 900, letter, 200));
	assert_false(mailbox_put(box, letter, MAILBOX_LETTER_BYTES, letter, 1));
	mailbox_destroy(box);
}

static void what_is_over_the_rate_vanishes(void **state)
{
	const struct truth truth = { .rate_bps = 20000000, .rate_over_ns = 50000000 }, none = { 0 };
	/* 40 Mbit/s of 1250 bytes on the wire: one each 250 us; half of a second's 4000 pass, and a burst of 100 */
	struct truth_bucket bucket = { 0 };
	const int64_t start_ns = INT64_C(1700000000000000000);
	unsigned passed = 0;

	(void)state;
	for (int64_t i = 0; i < 4000; i++)
		passed += !truth_over_rate(&truth, &bucket, start_ns + i * 250000, 1246);
	assert_in_range(passed, 2099, 2101);
	/* at the rate nothing is lost, however late the switch looks */
	bucket = (struct truth_bucket){ 0 };
	for (int64_t i = 0; i < 2000; i++)
		assert_false(truth_over_rate(&truth, &bucket, start_ns + i * 500000, 1246));
	assert_false(truth_over_rate(&none, &bucket, start_ns, 1246));
	assert_true(truth_any(&truth));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_over_the_rate_vanishes),
		cmocka_unit_test_setup_teardown(frames_go_in_and_come_out, setup, teardown),
		cmocka_unit_test_setup_teardown(digests_and_messages_reach_the_control_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(programs_are_swapped_under_traffic, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_program_frames_end, setup, teardown),
		cmocka_unit_test(letters_keep_order_and_a_full_box_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
