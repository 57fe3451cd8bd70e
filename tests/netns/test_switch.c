/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "netns.h"
#include "switch_bed.h"

/* The binary itself: frames, ports that come and go, stamps, faults, recordings, command lines. */

/* Program headers, operation 5: the second of two one-byte headers becomes 0xee, and the frame leaves by port 1. */
static void forwards(void)
{
	static const uint8_t in[] = { 5, 1, 0, 0x11, 0x22, 0x99 }, out[] = { 5, 1, 0, 0x11, 0xee, 0x99 };
	uint8_t got[2048];
	uint32_t length;

	bed_send(bed.h2, in, sizeof(in));
	assert_true(bed_receive(bed.h1, got, &length, WAIT_MS));
	assert_int_equal(length, FRAME);
	assert_memory_equal(got, out, sizeof(out));
}

/* --- what is tried --- */

static void frames_go_through_and_it_ends_well(void **state)
{
	(void)state;
	bed_start_two("headers", NULL, NULL);
	forwards();
	forwards();
	kill(bed.pid, SIGTERM);
	bed_wait_log("received 2, transmitted 2", 1);
	assert_int_equal(bed_stop(), 0);
}

static void busy_polling_forwards_too(void **state)
{
	(void)state;
	bed_start_two("headers", "--busy-poll", NULL);
	forwards();
	assert_int_equal(bed_stop(), 0);
}

static void threads_share_the_ports(void **state)
{
	(void)state;
	bed_start_two("headers", "--threads=2", NULL);
	forwards();
	assert_int_equal(bed_stop(), 0);
}

static void interfaces_may_be_missing_vanish_and_come_back(void **state)
{
	const char *args[] = { "-i", "1@sw1", "-i", "2@sw2", "-i", "3@late", bed_program("headers"), NULL };

	(void)state;
	bed_start(args);
	bed_wait_log("port 3: there is no interface 'late'", 1);
	forwards();
	netns_veth("late", "later");
	bed_wait_log("port 3: interface late is there", 1);
	bed.h2->ops->close(bed.h2);
	netns_run("ip link del sw2");
	bed_wait_log("port 2: interface sw2 has gone", 1);
	netns_veth("sw2", "h2");
	bed.h2 = bed_open_port("h2");
	bed_wait_log("port 2: interface sw2 is there", 1);
	forwards();
	netns_run("ip link del late");
	assert_int_equal(bed_stop(), 0);
}

static uint64_t be(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *at++;
	return v;
}

/* Program misc, operation 7: standard metadata behind the first five bytes; the stamps are 26 and 32 bytes further. */
static void stamps(uint64_t *ret_in_us, uint64_t *ret_out_us)
{
	static const uint8_t in[] = { 7, 0, 0, 0, 0 };
	uint8_t got[2048];
	uint32_t length;

	bed_send(bed.h2, in, sizeof(in));
	assert_true(bed_receive(bed.h1, got, &length, WAIT_MS));
	assert_int_equal(length, FRAME + 43);
	*ret_in_us = be(got + 5 + 26, 6);
	*ret_out_us = be(got + 5 + 32, 6);
}

static void stamps_count_from_the_start(void **state)
{
	uint64_t in, out, in2, out2;

	(void)state;
	bed_start_two("misc", NULL, NULL);
	stamps(&in, &out);
	stamps(&in2, &out2);
	assert_true(in <= out && out <= in2 && in2 <= out2);
	assert_true(out2 < UINT64_C(60000000));
}

static void a_fault_delay_is_in_the_stamps(void **state)
{
	uint64_t in, out;

	(void)state;
	bed_start_two("misc", "--fault-delay", "3ms");
	assert_int_equal(bed_log_has("FAULTS ON PURPOSE: delay 3000 us"), 1);
	stamps(&in, &out);
	assert_true(out - in >= 3000);
}

static void a_fault_clock_is_wrong_by_what_was_asked(void **state)
{
	uint64_t in, out;

	(void)state;
	bed_start_two("misc", "--fault-clock-offset", "1h");
	stamps(&in, &out);
	assert_true(in >= UINT64_C(3600000000));
}

static void a_cold_switch_sleeps_first(void **state)
{
	uint64_t in, out;

	(void)state;
	bed_start_two("misc", "--fault-cold-sleep", "2ms@0s");
	stamps(&in, &out);
	assert_true(out - in >= 2000);
}

static void faults_lose_and_duplicate(void **state)
{
	static const uint8_t in[] = { 5, 1, 0, 0x11, 0x22, 0x99 };
	uint8_t got[2048];
	uint32_t length;

	(void)state;
	bed_start_two("headers", "--fault-duplicate", "100%");
	forwards();
	assert_true(bed_receive(bed.h1, got, &length, WAIT_MS));
	assert_int_equal(bed_stop(), 0);
	bed_start_two("headers", "--fault-loss", "100%");
	bed_send(bed.h2, in, sizeof(in));
	assert_false(bed_receive(bed.h1, got, &length, QUIET_MS));
}

static void frames_are_recorded(void **state)
{
	char folder[] = "/tmp/tare-switch-XXXXXX", path[128];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(folder));
	bed_start_two("headers", "--pcap", folder);
	forwards();
	assert_int_equal(bed_stop(), 0);
	snprintf(path, sizeof(path), "%s/sw2_in.pcap", folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 24 + 16 + FRAME);
	snprintf(path, sizeof(path), "%s/sw1_out.pcap", folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 24 + 16 + FRAME);
	netns_run("rm -r %s", folder);
}

static void bad_command_lines_are_refused(void **state)
{
	static const struct {
		const char *args[4];
		const char *message;
		int status;
	} cases[] = {
		{ { "-i", "600@x" }, "--interface: port: '600'; a number from 0 to 511 is expected", 2 },
		{ { "-i", "x" }, "--interface: 'x'; PORT@INTERFACE is expected, as in 1@eth1", 2 },
		{ { "-i", "1@a", "-i1@b" }, "--interface: '1@b'; there is already 1@a", 2 },
		{ { "--no-p5" }, "unknown option '--no-p5'; did you mean --no-p4?", 2 },
		{ { "--cpu-port" }, "option --cpu-port needs a value: PORT", 2 },
		{ { "--threads=0", "--no-p4" }, "--threads: '0'; a number from 1 to 16 is expected", 2 },
		{ { "--busy-poll=yes", "--no-p4" }, "option --busy-poll takes no value", 2 },
		{ { "--fault-loss", "2", "--no-p4" }, "--fault-loss: ", 2 },
		{ { "a.json", "b.json" }, "'a.json' and 'b.json': one program is expected", 2 },
		{ { "/nonexistent.json" }, "/nonexistent.json: No such file or directory", 2 },
		{ { "-L", "loud", "--no-p4" },
		  "--log-level: 'loud'; trace, debug, info, warn, error or off is expected",
		  2 },
		{ { NULL }, "a program is expected: the JSON of p4c's bmv2 backend, or --no-p4", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *args[5] = { cases[i].args[0], cases[i].args[1], cases[i].args[2], cases[i].args[3], NULL };
		int status;

		bed_start(args);
		bed_wait_log(cases[i].message, 1);
		assert_int_equal(waitpid(bed.pid, &status, 0), bed.pid);
		bed.pid = 0;
		close(bed.log_fd);
		assert_int_equal(WEXITSTATUS(status), cases[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_go_through_and_it_ends_well, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(busy_polling_forwards_too, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(threads_share_the_ports, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(interfaces_may_be_missing_vanish_and_come_back, bed_setup,
						bed_teardown),
		cmocka_unit_test_setup_teardown(stamps_count_from_the_start, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(a_fault_delay_is_in_the_stamps, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(a_fault_clock_is_wrong_by_what_was_asked, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(a_cold_switch_sleeps_first, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(faults_lose_and_duplicate, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(frames_are_recorded, bed_setup, bed_teardown),
		cmocka_unit_test(bad_command_lines_are_refused),
	};

	netns_enter();
	netns_run("ip link set lo up");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
