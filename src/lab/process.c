/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/last_lines.h"
#include "lab/child.h"

/* How often a process that does not answer yet is asked again: at first often, a switch is up in some 10 ms. */
enum { ASK_FIRST_MS = 1, ASK_MOST_MS = 16 };

struct process {
	char *name;
	pid_t pid;
	int pidfd, log_fd;
	bool ended; /* and reaped; `how` is what waitid said */
	siginfo_t how;
};

pid_t process_pid(const struct process *p)
{
	return p->pid;
}

int process_fd(const struct process *p)
{
	return p->pidfd;
}

static int log_open(const char *path)
{
	int fd;

	if (path)
		return open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
	fd = open("/tmp", O_RDWR | O_TMPFILE | O_APPEND | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : memfd_create("tare-log", MFD_CLOEXEC);
}

/* The environment of the child: ours with the mark. NULL: no memory. Free it and its first string. */
static char **marked_environment(const char *label)
{
	char **marked, *mark;
	size_t count = 0, n = 1;

	while (environ[count])
		count++;
	marked = calloc(count + 2, sizeof(*marked));
	if (!marked)
		return NULL;
	if ((label ? asprintf(&mark, "TARE_LAB=%s", label) : asprintf(&mark, "TARE_LAB=tare-%d", (int)getpid())) < 0) {
		free(marked);
		return NULL;
	}
	marked[0] = mark;
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "TARE_LAB=", 9) != 0)
			marked[n++] = environ[i];
	return marked;
}

/* After fork, before exec: system calls only. The errno goes up the pipe, which closes unread where exec succeeds. */
static _Noreturn void child_run(const struct process_options *o, char **environment, int log_fd, int report,
				pid_t parent)
{
	int why;

	child_begin(parent);
	dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	if (dup2(log_fd, STDOUT_FILENO) >= 0 && dup2(log_fd, STDERR_FILENO) >= 0 &&
	    (!o->netns || setns(o->netns->fd, CLONE_NEWNET) == 0) && (!o->directory || chdir(o->directory) == 0) &&
	    (!o->cpus || sched_setaffinity(0, sizeof(*o->cpus), o->cpus) == 0))
		execvpe(o->argv[0], (char *const *)o->argv, environment);
	why = errno;
	_exit(write(report, &why, sizeof(why)) == sizeof(why) ? 127 : 126);
}

/* 0, or what kept the child from being the program. */
static int child_report(int fd)
{
	ssize_t got;
	int why;

	do
		got = read(fd, &why, sizeof(why));
	while (got < 0 && errno == EINTR);
	return got == sizeof(why) ? -why : 0;
}

static int start(struct process *p, const struct process_options *o, char **environment)
{
	pid_t parent = getpid();
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	p->pid = fork();
	if (p->pid == 0)
		child_run(o, environment, p->log_fd, ends[1], parent);
	r = p->pid < 0 ? -errno : 0;
	close(ends[1]);
	if (r == 0) {
		setpgid(p->pid, p->pid); /* whoever comes first: it must be so before anybody kills the group */
		p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
		r = p->pidfd < 0 ? -errno : child_report(ends[0]);
	}
	close(ends[0]);
	return r;
}

int process_start(const struct process_options *options, struct process **ret, struct err *err)
{
	struct process *p = calloc(1, sizeof(*p));
	char **environment = marked_environment(options->label);
	const char *what = options->argv[0];
	int r = -ENOMEM;

	if (p) {
		p->pid = p->pidfd = p->log_fd = -1;
		p->name = strdup(options->name);
	}
	if (p && p->name && environment) {
		p->log_fd = log_open(options->log_path);
		r = p->log_fd < 0 ? -errno : 0;
		if (r < 0 && options->log_path)
			what = options->log_path;
		if (r == 0)
			r = start(p, options, environment);
	}
	if (environment)
		free(environment[0]);
	free(environment);
	if (r == 0) {
		*ret = p;
		return 0;
	}
	process_stop(p, 0);
	return err_set(err, ERR_HOST, -r, "%s: cannot %s %s: %s", options->name,
		       what == options->argv[0] ? "start" : "write", what, strerror(-r));
}

static const char *log_end(struct process *p, unsigned lines, const char *between, char *buf, size_t size_bytes)
{
	char tail[4096];
	off_t end = lseek(p->log_fd, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(tail) ? end - (off_t)sizeof(tail) : 0;
	ssize_t got = end > 0 ? pread(p->log_fd, tail, sizeof(tail), from) : 0;

	return last_lines(tail, got > 0 ? (size_t)got : 0, lines, between, buf, size_bytes);
}

const char *process_last_lines(struct process *p, unsigned lines, char *buf, size_t size_bytes)
{
	return log_end(p, lines, "\n", buf, size_bytes);
}

/* True where it has ended; it is reaped then. */
static bool has_ended(struct process *p)
{
	siginfo_t how = { 0 };

	if (p->ended)
		return true;
	if (waitid(P_PID, (id_t)p->pid, &how, WEXITED | WNOHANG | WNOWAIT) < 0 || how.si_pid == 0)
		return false;
	/* While the body holds the number, the group is certainly ours: nobody of it is left behind. */
	kill(-p->pid, SIGKILL);
	waitid(P_PID, (id_t)p->pid, &how, WEXITED);
	p->how = how;
	p->ended = true;
	return true;
}

/* The rest of a message: what it last said, on one line. */
static const char *said(struct process *p, char *buf, size_t size_bytes)
{
	char lines[320];

	log_end(p, 3, " | ", lines, sizeof(lines));
	snprintf(buf, size_bytes, "%s%s", lines[0] ? "; its last lines: " : "; it said nothing", lines);
	return buf;
}

int process_check(struct process *p, struct err *err)
{
	char text[400];

	if (!has_ended(p))
		return 0;
	said(p, text, sizeof(text));
	if (p->how.si_code == CLD_EXITED)
		return err_set(err, ERR_HOST, ECHILD, "%s: ended with status %d%s", p->name, p->how.si_status, text);
	return err_set(err, ERR_HOST, ECHILD, "%s: killed by signal %d (%s)%s", p->name, p->how.si_status,
		       strsignal(p->how.si_status), text);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until it ends or the time is up, in which it may be asked again. */
static bool end_wait(const struct process *p, int64_t limit_ms)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };
	int64_t end_ms = now_ms() + limit_ms;
	int64_t left_ms;

	while ((left_ms = end_ms - now_ms()) > 0)
		if (poll(&fd, 1, left_ms < 60000 ? (int)left_ms : 60000) > 0)
			return true;
	return poll(&fd, 1, 0) > 0;
}

int process_wait_ready(struct process *p, process_answers_fn *answers, void *context, int64_t limit_ms, struct err *err)
{
	int64_t begin_ms = now_ms(), pause_ms = ASK_FIRST_MS;
	char text[400];

	for (;;) {
		int r = process_check(p, err);
		int64_t left_ms = limit_ms - (now_ms() - begin_ms);

		if (r < 0)
			return r;
		r = answers(context, err);
		/* It may have refused because it was dying: how it died says more. */
		if (r < 0 && process_check(p, err) < 0)
			return -ECHILD;
		if (r != 0)
			return r < 0 ? r : 0;
		if (left_ms <= 0)
			return err_set(err, ERR_HOST, ETIMEDOUT, "%s: runs, but did not answer within %d ms%s", p->name,
				       (int)limit_ms, said(p, text, sizeof(text)));
		end_wait(p, pause_ms < left_ms ? pause_ms : left_ms);
		pause_ms = pause_ms * 2 < ASK_MOST_MS ? pause_ms * 2 : ASK_MOST_MS;
	}
}

void process_ask_to_end(struct process *p)
{
	if (p && p->pid > 0 && !has_ended(p))
		kill(-p->pid, SIGTERM);
}

bool process_stop(struct process *p, int64_t grace_ms)
{
	bool good = true;

	if (!p)
		return true;
	if (p->pid > 0 && has_ended(p)) {
		good = false;
	} else if (p->pid > 0) {
		kill(-p->pid, SIGTERM);
		good = p->pidfd >= 0 && end_wait(p, grace_ms);
		if (!good)
			kill(-p->pid, SIGKILL);
		while (!has_ended(p))
			waitid(P_PID, (id_t)p->pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	}
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->log_fd >= 0)
		close(p->log_fd);
	free(p->name);
	free(p);
	return good;
}
