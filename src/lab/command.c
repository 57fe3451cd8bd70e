/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/last_lines.h"
#include "lab/child.h"

enum { STEP_MS = 50, LINES_SHOWN = 5, SHOWN_BYTES = 320 };

struct running {
	const struct command *command;
	struct command_outcome *outcome;
	pid_t pid;
	int pidfd, output;
	size_t kept; /* bytes of outcome->tail */
	int64_t started_ms;
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* After fork. A shell that cannot be started ends with 127, as shells do. */
static _Noreturn void child_run(const struct command *c, int output, pid_t parent)
{
	child_begin(parent);
	dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	for (unsigned i = 0; i < c->variable_count; i++)
		setenv(c->variables[i].name, c->variables[i].value, 1);
	if (!c->directory || chdir(c->directory) == 0)
		execl("/bin/sh", "sh", "-c", c->text, (char *)NULL);
	dprintf(STDERR_FILENO, "%s: %s\n", c->directory ? c->directory : "/bin/sh", strerror(errno));
	_exit(127);
}

static int start(struct running *r, struct err *err)
{
	const struct command *c = r->command;
	pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, ERR_HOST, errno, "%s: cannot make a pipe: %s", c->name, strerror(errno));
	r->pid = fork();
	if (r->pid == 0)
		child_run(c, ends[1], parent);
	close(ends[1]);
	r->output = ends[0];
	r->pidfd = r->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, r->pid, 0);
	if (r->pidfd < 0) {
		int code = errno;

		close(r->output);
		if (r->pid > 0) {
			kill(r->pid, SIGKILL);
			waitpid(r->pid, NULL, 0);
		}
		return err_set(err, ERR_HOST, code, "%s: cannot start a process: %s", c->name, strerror(code));
	}
	setpgid(r->pid, r->pid); /* whoever comes first */
	fcntl(r->output, F_SETFL, O_NONBLOCK);
	return 0;
}

static void keep(struct running *r, const char *bytes, size_t count)
{
	char *tail = r->outcome->tail;
	size_t over;

	r->outcome->output_bytes += count;
	over = r->kept + count > COMMAND_TAIL_BYTES ? r->kept + count - COMMAND_TAIL_BYTES : 0;
	TARE_ASSERT(count <= COMMAND_TAIL_BYTES);
	memmove(tail, tail + over, r->kept - over);
	r->kept -= over;
	for (size_t i = 0; i < count; i++) {
		unsigned char b = (unsigned char)bytes[i];

		tail[r->kept + i] = b >= 0x20 || b == '\n' || b == '\t' ? (char)b : '?';
		if (b >= 0x7f)
			tail[r->kept + i] = '?';
	}
	r->kept += count;
	tail[r->kept] = '\0';
}

/* What is there now, but not for ever: one that floods must still meet its time limit. False: the other end is closed. */
static bool drain(struct running *r)
{
	char buffer[COMMAND_TAIL_BYTES];

	for (int i = 0; i < 64; i++) {
		ssize_t n = read(r->output, buffer, sizeof(buffer));

		if (n > 0)
			keep(r, buffer, (size_t)n);
		else
			return n < 0 && (errno == EAGAIN || errno == EINTR);
	}
	return true;
}

/* Until it ends: 0. Else why it was not waited for: -ETIMEDOUT, -EINTR. */
static int await_end(struct running *r)
{
	const struct command *c = r->command;
	struct pollfd fds[2] = { { .fd = r->pidfd, .events = POLLIN }, { .fd = r->output, .events = POLLIN } };

	for (;;) {
		int64_t left_ms = r->started_ms + c->limit_ms - now_ms();

		if (c->interrupted && atomic_load_explicit(c->interrupted, memory_order_relaxed))
			return -EINTR;
		if (left_ms <= 0)
			return -ETIMEDOUT;
		poll(fds, 2, left_ms < STEP_MS ? (int)left_ms : STEP_MS);
		if (fds[1].fd >= 0 && fds[1].revents && !drain(r))
			fds[1].fd = -1;
		if (fds[0].revents)
			return 0;
	}
}

static int judge(const struct running *r, int waited, int status, struct err *err)
{
	const struct command *c = r->command;
	char how[64], words[SHOWN_BYTES];

	if (waited == -EINTR)
		return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
	if (waited == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (waited == -ETIMEDOUT)
		snprintf(how, sizeof(how), "did not end within %.6g s", (double)c->limit_ms / 1e3);
	else if (WIFEXITED(status))
		snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(status));
	else
		snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(status));
	last_lines(r->outcome->tail, r->kept, LINES_SHOWN, " | ", words, sizeof(words));
	return err_set(err, ERR_HOST, waited ? -waited : ECHILD, "%s %s%s%s", c->name, how,
		       words[0] ? "; it said: " : "; it said nothing", words);
}

int command_run(const struct command *command, struct command_outcome *ret, struct err *err)
{
	struct running r = { .command = command, .outcome = ret, .started_ms = now_ms() };
	int waited, status = 0, rc;

	*ret = (struct command_outcome){ 0 };
	rc = start(&r, err);
	if (rc < 0)
		return rc;
	waited = await_end(&r);
	kill(-r.pid, SIGKILL); /* before it is reaped: the group's number is its own */
	while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR)
		;
	drain(&r);
	close(r.pidfd);
	close(r.output);
	ret->took_ms = now_ms() - r.started_ms;
	return judge(&r, waited, status, err);
}
