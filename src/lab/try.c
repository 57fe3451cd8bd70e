/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/topology.h"

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* A serial that no other line of the parent has. */
enum { SERIAL = 999999999 };

static void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EIO); /* it died before */
}

/*
 * In the child: what goes up the pipe is how, or why not. 0 or a positive errno. It dies with its parent, and its line
 * has the parent's label, so whoever cleans up after that knows that both are dead, and waits for this one's last moment.
 */
static int attempt(int out, pid_t parent)
{
	struct lab_line *line;
	struct err err = { 0 };
	int64_t begin_us;
	int moved, r;

	die_with(parent);
	r = moved = netns_permit(&err);
	die_with(parent); /* a change of credentials may have forgotten it */
	begin_us = now_us();
	if (moved >= 0)
		r = lab_line_open(&(struct lab_line_options){ .switches = 1, .serial = SERIAL, .owner = parent }, &line,
				  &err);
	if (r >= 0) {
		dprintf(out, "%s; a switch between two hosts stands in %.1f ms",
			moved ? "in a user namespace" : "allowed as it is", (double)(now_us() - begin_us) / 1e3);
		lab_line_close(line);
		return 0;
	}
	dprintf(out, "%s", err.message);
	return err.code ? err.code : EIO;
}

static size_t read_whole(int fd, char *buf, size_t size_bytes)
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < size_bytes && ((got = read(fd, buf + n, size_bytes - 1 - n)) > 0 || (got < 0 && errno == EINTR)))
		n += got > 0 ? (size_t)got : 0;
	buf[n] = '\0';
	return n;
}

int lab_try(char *ret_how, size_t size_bytes, struct err *err)
{
	char text[512];
	int ends[2], status = 0;
	pid_t parent = getpid(), child;

	if (pipe(ends) < 0)
		return err_set(err, ERR_HOST, errno, "lab: cannot make a pipe: %s", strerror(errno));
	child = fork();
	if (child == 0)
		_exit(attempt(ends[1], parent));
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return err_set(err, ERR_HOST, EAGAIN, "lab: cannot fork: %s", strerror(errno));
	}
	read_whole(ends[0], text, sizeof(text));
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status))
		return err_set(err, ERR_HOST, EIO, "lab: the attempt was killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		return err_set(err, ERR_HOST, WEXITSTATUS(status), "%s", text);
	snprintf(ret_how, size_bytes, "%s", text);
	return 0;
}
