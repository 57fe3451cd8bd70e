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

#include "io/afpacket.h"
#include "netns.h"

/* The binary itself on two cables: sw1-h1 is its port 1, sw2-h2 its port 2. TARE_SWITCH and PROGRAMS say where they are. */

enum { WAIT_MS = 5000, QUIET_MS = 100, ARGS_MOST = 40, LOG_BYTES = 65536, FRAME = 60 };

struct bed {
	struct io_port *h1, *h2;
	pid_t pid;
	int log_fd;
	char log[LOG_BYTES];
	size_t log_bytes;
};

static struct bed bed;

/* --- the switch and its log --- */

static const char *program(const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s.json", getenv("PROGRAMS"), name);
	return path;
}

static void start(const char *const *args)
{
	const char *argv[ARGS_MOST] = { getenv("TARE_SWITCH"), "--log-console", "--grpc-server-addr", "127.0.0.1:0" };
	int ends[2], n = 4;

	while (*args && n + 1 < ARGS_MOST)
		argv[n++] = *args++;
	assert_int_equal(pipe(ends), 0);
	bed.log_bytes = 0;
	bed.pid = fork();
	if (bed.pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(ends[1]);
	bed.log_fd = ends[0];
}

/* The log up to now has `count` times the text. */
static unsigned log_has(const char *text)
{
	unsigned count = 0;

	bed.log[bed.log_bytes] = '\0';
	for (const char *at = strstr(bed.log, text); at; at = strstr(at + 1, text))
		count++;
	return count;
}

static void wait_log(const char *text, unsigned count)
{
	struct pollfd fd = { .fd = bed.log_fd, .events = POLLIN };

	while (log_has(text) < count) {
		ssize_t got = poll(&fd, 1, WAIT_MS) == 1 && bed.log_bytes + 1 < LOG_BYTES
				      ? read(bed.log_fd, bed.log + bed.log_bytes, LOG_BYTES - 1 - bed.log_bytes)
				      : 0;

		if (got <= 0)
			fail_msg("no '%s' in the log:\n%s", text, bed.log);
		bed.log_bytes += (size_t)got;
	}
}

static int stop(void)
{
	int status;

	if (bed.pid <= 0)
		return 0;
	kill(bed.pid, SIGTERM);
	assert_int_equal(waitpid(bed.pid, &status, 0), bed.pid);
	bed.pid = 0;
	close(bed.log_fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void start_two(const char *name, const char *option, const char *value)
{
	const char *args[] = { "-i", "1@sw1", "-i", "2@sw2", program(name), option, value, NULL };

	start(args);
	wait_log("] port ", 2);
	wait_log("runs", 1);
}

/* --- frames --- */

static struct io_port *open_port(const char *name)
{
	struct afpacket_config config = { .interface = name };
	struct io_port *port = NULL;
	struct err err = { 0 };

	if (afpacket_open(&config, &port, &err) < 0)
		fail_msg("%s", err.message);
	return port;
}

static void send_frame(struct io_port *port, const uint8_t *head, size_t head_bytes)
{
	struct io_frame frame;

	assert_int_equal(io_reserve(port, &frame, 1, FRAME), 1);
	memset(frame.data, 0xaa, FRAME);
	memcpy(frame.data, head, head_bytes);
	assert_int_equal(io_send(port, &frame, 1), 1);
}

/* False: nothing came within the time. */
static bool receive_frame(struct io_port *port, uint8_t *ret, uint32_t *ret_bytes, int wait_ms)
{
	struct pollfd fd = { .fd = afpacket_fd(port), .events = POLLIN };
	struct io_frame frame;

	while (io_receive(port, &frame, 1) == 0)
		if (poll(&fd, 1, wait_ms) != 1)
			return false;
	memcpy(ret, frame.data, frame.length_bytes);
	*ret_bytes = frame.length_bytes;
	io_release(port, &frame, 1);
	return true;
}

/* Program headers, operation 5: the second of two one-byte headers becomes 0xee, and the frame leaves by port 1. */
static void forwards(void)
{
	static const uint8_t in[] = { 5, 1, 0, 0x11, 0x22, 0x99 }, out[] = { 5, 1, 0, 0x11, 0xee, 0x99 };
	uint8_t got[2048];
	uint32_t length;

	send_frame(bed.h2, in, sizeof(in));
	assert_true(receive_frame(bed.h1, got, &length, WAIT_MS));
	assert_int_equal(length, FRAME);
	assert_memory_equal(got, out, sizeof(out));
}

static int setup(void **state)
{
	(void)state;
	netns_veth("sw1", "h1");
	netns_veth("sw2", "h2");
	bed.h1 = open_port("h1");
	bed.h2 = open_port("h2");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	stop();
	bed.h1->ops->close(bed.h1);
	bed.h2->ops->close(bed.h2);
	netns_run("ip link del sw1 2>/dev/null; ip link del sw2 2>/dev/null; true");
	return 0;
}

/* --- what is tried --- */

static void frames_go_through_and_it_ends_well(void **state)
{
	(void)state;
	start_two("headers", NULL, NULL);
	forwards();
	forwards();
	kill(bed.pid, SIGTERM);
	wait_log("received 2, transmitted 2", 1);
	assert_int_equal(stop(), 0);
}

static void busy_polling_forwards_too(void **state)
{
	(void)state;
	start_two("headers", "--busy-poll", NULL);
	forwards();
	assert_int_equal(stop(), 0);
}

static void threads_share_the_ports(void **state)
{
	(void)state;
	start_two("headers", "--threads=2", NULL);
	forwards();
	assert_int_equal(stop(), 0);
}

static void interfaces_may_be_missing_vanish_and_come_back(void **state)
{
	const char *args[] = { "-i", "1@sw1", "-i", "2@sw2", "-i", "3@late", program("headers"), NULL };

	(void)state;
	start(args);
	wait_log("port 3: there is no interface 'late'", 1);
	forwards();
	netns_veth("late", "later");
	wait_log("port 3: interface late is there", 1);
	bed.h2->ops->close(bed.h2);
	netns_run("ip link del sw2");
	wait_log("port 2: interface sw2 has gone", 1);
	netns_veth("sw2", "h2");
	bed.h2 = open_port("h2");
	wait_log("port 2: interface sw2 is there", 1);
	forwards();
	netns_run("ip link del late");
	assert_int_equal(stop(), 0);
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

	send_frame(bed.h2, in, sizeof(in));
	assert_true(receive_frame(bed.h1, got, &length, WAIT_MS));
	assert_int_equal(length, FRAME + 43);
	*ret_in_us = be(got + 5 + 26, 6);
	*ret_out_us = be(got + 5 + 32, 6);
}

static void stamps_count_from_the_start(void **state)
{
	uint64_t in, out, in2, out2;

	(void)state;
	start_two("misc", NULL, NULL);
	stamps(&in, &out);
	stamps(&in2, &out2);
	assert_true(in <= out && out <= in2 && in2 <= out2);
	assert_true(out2 < UINT64_C(60000000));
}

static void a_fault_delay_is_in_the_stamps(void **state)
{
	uint64_t in, out;

	(void)state;
	start_two("misc", "--fault-delay", "3ms");
	assert_int_equal(log_has("FAULTS ON PURPOSE: delay 3000 us"), 1);
	stamps(&in, &out);
	assert_true(out - in >= 3000);
}

static void a_fault_clock_is_wrong_by_what_was_asked(void **state)
{
	uint64_t in, out;

	(void)state;
	start_two("misc", "--fault-clock-offset", "1h");
	stamps(&in, &out);
	assert_true(in >= UINT64_C(3600000000));
}

static void a_cold_switch_sleeps_first(void **state)
{
	uint64_t in, out;

	(void)state;
	start_two("misc", "--fault-cold-sleep", "2ms@0s");
	stamps(&in, &out);
	assert_true(out - in >= 2000);
}

static void faults_lose_and_duplicate(void **state)
{
	static const uint8_t in[] = { 5, 1, 0, 0x11, 0x22, 0x99 };
	uint8_t got[2048];
	uint32_t length;

	(void)state;
	start_two("headers", "--fault-duplicate", "100%");
	forwards();
	assert_true(receive_frame(bed.h1, got, &length, WAIT_MS));
	assert_int_equal(stop(), 0);
	start_two("headers", "--fault-loss", "100%");
	send_frame(bed.h2, in, sizeof(in));
	assert_false(receive_frame(bed.h1, got, &length, QUIET_MS));
}

static void frames_are_recorded(void **state)
{
	char folder[] = "/tmp/tare-switch-XXXXXX", path[128];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(folder));
	start_two("headers", "--pcap", folder);
	forwards();
	assert_int_equal(stop(), 0);
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

		start(args);
		wait_log(cases[i].message, 1);
		assert_int_equal(waitpid(bed.pid, &status, 0), bed.pid);
		bed.pid = 0;
		close(bed.log_fd);
		assert_int_equal(WEXITSTATUS(status), cases[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_go_through_and_it_ends_well, setup, teardown),
		cmocka_unit_test_setup_teardown(busy_polling_forwards_too, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_share_the_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(interfaces_may_be_missing_vanish_and_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(stamps_count_from_the_start, setup, teardown),
		cmocka_unit_test_setup_teardown(a_fault_delay_is_in_the_stamps, setup, teardown),
		cmocka_unit_test_setup_teardown(a_fault_clock_is_wrong_by_what_was_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(a_cold_switch_sleeps_first, setup, teardown),
		cmocka_unit_test_setup_teardown(faults_lose_and_duplicate, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_are_recorded, setup, teardown),
		cmocka_unit_test(bad_command_lines_are_refused),
	};

	netns_enter();
	netns_run("ip link set lo up");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
