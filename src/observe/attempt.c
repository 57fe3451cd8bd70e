/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int child_wait(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

int attempt(int (*what)(void))
{
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0)
		_exit(what());
	return child_wait(child);
}

int attempt_fifo(void)
{
	struct sched_param param = { .sched_priority = 50 };

	return sched_setscheduler(0, SCHED_FIFO, &param) == 0 ? 0 : errno;
}

int attempt_lock_memory(void)
{
	return mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : errno;
}

int attempt_packet_socket(void)
{
	return socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0 ? 0 : errno;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static _Noreturn void version_child(const char *program, int out)
{
	int null = open("/dev/null", O_RDONLY);

	/* A group of its own, so that what it starts ends with it. */
	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execlp(program, program, "--version", (char *)NULL);
	_exit(127);
}

/* Reads until a line with something in it is whole, the other end closes or time is up. Its length, or -ETIMEDOUT. */
static int line_read(int fd, int limit_ms, char *buf, size_t size)
{
	int64_t end_ms = now_ms() + limit_ms;
	size_t n = 0, start = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left_ms = end_ms - now_ms();
		ssize_t got;

		if (left_ms <= 0 || (poll(&p, 1, (int)left_ms) == 0))
			return -ETIMEDOUT;
		got = read(fd, buf + n, size - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got > 0)
			n += (size_t)got;
		buf[n] = '\0';
		start = strspn(buf, "\n ");
		if (got <= 0 || n == size - 1 || strchr(buf + start, '\n'))
			break;
	}
	memmove(buf, buf + start, n - start + 1);
	buf[strcspn(buf, "\n")] = '\0';
	return (int)strlen(buf);
}

static int in_path(const char *program)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t n = strcspn(path, ":");
		char whole[4096];

		if (n + strlen(program) + 2 < sizeof(whole)) {
			memcpy(whole, path, n);
			whole[n] = '/';
			strcpy(whole + n + 1, program);
			if (access(whole, X_OK) == 0)
				return 1;
		}
		path += n + (path[n] == ':');
	}
	return 0;
}

int program_version(const char *program, int limit_ms, char *buf, size_t size_bytes)
{
	int ends[2], length;
	pid_t child;

	buf[0] = '\0';
	if (!in_path(program))
		return -ENOENT;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		version_child(program, ends[1]);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	setpgid(child, child);
	length = line_read(ends[0], limit_ms, buf, size_bytes);
	close(ends[0]);
	kill(-child, SIGKILL);
	child_wait(child);
	return length < 0 ? length : length == 0 ? -EIO : 0;
}
