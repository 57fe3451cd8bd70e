/* SPDX-License-Identifier: Apache-2.0 */
#include "switch_bed.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "netns.h"

enum { ARGS_MOST = 40 };

struct switch_bed bed;

/* --- the switch and its log --- */

const char *bed_program(const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s.json", getenv("PROGRAMS"), name);
	return path;
}

void bed_start(const char *const *args)
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
unsigned bed_log_has(const char *text)
{
	unsigned count = 0;

	bed.log[bed.log_bytes] = '\0';
	for (const char *at = strstr(bed.log, text); at; at = strstr(at + 1, text))
		count++;
	return count;
}

void bed_wait_log(const char *text, unsigned count)
{
	struct pollfd fd = { .fd = bed.log_fd, .events = POLLIN };

	while (bed_log_has(text) < count) {
		ssize_t got = poll(&fd, 1, WAIT_MS) == 1 && bed.log_bytes + 1 < LOG_BYTES
				      ? read(bed.log_fd, bed.log + bed.log_bytes, LOG_BYTES - 1 - bed.log_bytes)
				      : 0;

		if (got <= 0)
			fail_msg("no '%s' in the log:\n%s", text, bed.log);
		bed.log_bytes += (size_t)got;
	}
}

int bed_stop(void)
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

void bed_start_two(const char *name, const char *option, const char *value)
{
	const char *args[] = { "-i", "1@sw1", "-i", "2@sw2", bed_program(name), option, value, NULL };

	bed_start(args);
	bed_wait_log("] port ", 2);
	bed_wait_log("runs", 1);
}

/* --- frames --- */

struct io_port *bed_open_port(const char *name)
{
	struct afpacket_config config = { .interface = name };
	struct io_port *port = NULL;
	struct err err = { 0 };

	if (afpacket_open(&config, &port, &err) < 0)
		fail_msg("%s", err.message);
	return port;
}

void bed_send(struct io_port *port, const uint8_t *head, size_t head_bytes)
{
	struct io_frame frame;

	assert_int_equal(io_reserve(port, &frame, 1, FRAME), 1);
	memset(frame.data, 0xaa, FRAME);
	memcpy(frame.data, head, head_bytes);
	assert_int_equal(io_send(port, &frame, 1), 1);
}

/* False: nothing came within the time. */
bool bed_receive(struct io_port *port, uint8_t *ret, uint32_t *ret_bytes, int wait_ms)
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

int bed_setup(void **state)
{
	(void)state;
	netns_veth("sw1", "h1");
	netns_veth("sw2", "h2");
	bed.h1 = bed_open_port("h1");
	bed.h2 = bed_open_port("h2");
	return 0;
}

int bed_teardown(void **state)
{
	(void)state;
	bed_stop();
	bed.h1->ops->close(bed.h1);
	bed.h2->ops->close(bed.h2);
	netns_run("ip link del sw1 2>/dev/null; ip link del sw2 2>/dev/null; true");
	return 0;
}
