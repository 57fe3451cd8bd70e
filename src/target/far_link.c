/* SPDX-License-Identifier: Apache-2.0 */
#include "target/far_link.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/last_lines.h"
#include "lab/child.h"

enum { SAID_BYTES = 4096, SHOWN_BYTES = 320, SHOWN_LINES = 4, ERRORS_MOST = 16 << 20, END_MS = 2000 };

struct far_link {
	char *destination, *facts;
	pid_t pid;
	int pidfd, fd, errors_fd; /* errors: what ssh and the far end wrote on stderr */
	bool reaped;
	int status;
	int64_t limit_ms;
	uint64_t stream;
	const atomic_bool *interrupted;
};

/* What the shell runs: options that make ssh fail rather than ask or hang. $1: destination, $2: command. */
static char *shell_text(const char *ssh)
{
	char *text = NULL;

	return asprintf(&text,
			"exec %s -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=2 "
			"-o ServerAliveCountMax=3 \"$1\" \"$2\"",
			ssh) < 0
		       ? NULL
		       : text;
}

static _Noreturn void child_run(const char *text, const struct far_options *o, const char *command, int socket,
				int errors, pid_t parent)
{
	const struct rlimit files = { ERRORS_MOST, ERRORS_MOST };

	child_begin(parent);
	setrlimit(RLIMIT_FSIZE, &files);
	dup2(socket, STDIN_FILENO);
	dup2(socket, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	execl("/bin/sh", "sh", "-c", text, "sh", o->destination, command, (char *)NULL);
	_exit(127);
}

static int start(struct far_link *l, const struct far_options *o, struct err *err)
{
	pid_t parent = getpid();
	int ends[2] = { -1, -1 };
	char *text = shell_text(o->ssh), *command = NULL;
	int code;

	if (asprintf(&command, "exec %s far-end", o->command) < 0)
		command = NULL;
	l->errors_fd = memfd_create("tare-far", MFD_CLOEXEC);
	if (!text || !command || l->errors_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		code = text && command ? errno : ENOMEM;
		free(text);
		free(command);
		return err_set(err, ERR_HOST, code, "far end %s: %s", o->destination, strerror(code));
	}
	l->pid = fork();
	if (l->pid == 0)
		child_run(text, o, command, ends[1], l->errors_fd, parent);
	code = errno;
	close(ends[1]);
	free(text);
	free(command);
	l->fd = ends[0];
	if (l->pid < 0)
		return err_set(err, ERR_HOST, code, "far end %s: cannot start a process: %s", o->destination,
			       strerror(code));
	setpgid(l->pid, l->pid);
	l->pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	return 0;
}

/* Its end, waited for at most limit_ms. */
static bool ended(struct far_link *l, int limit_ms)
{
	struct pollfd p = { .fd = l->pidfd, .events = POLLIN };

	if (!l->reaped && l->pid > 0 && (l->pidfd < 0 || poll(&p, 1, limit_ms) > 0))
		l->reaped = waitpid(l->pid, &l->status, WNOHANG) == l->pid;
	return l->reaped;
}

/* The last lines of what came on stderr, on one line. */
static const char *said(const struct far_link *l, char *buf, size_t size_bytes)
{
	char text[SAID_BYTES];
	off_t end = lseek(l->errors_fd, 0, SEEK_END);
	ssize_t n = pread(l->errors_fd, text, sizeof(text), end > SAID_BYTES ? end - SAID_BYTES : 0);

	return last_lines(text, n > 0 ? (size_t)n : 0, SHOWN_LINES, " | ", buf, size_bytes);
}

/* Put the destination before the message, and behind it how ssh ended and what was said. */
static int explain(struct far_link *l, struct err *err)
{
	char words[SHOWN_BYTES], how[48] = "";
	struct err why;

	if (!err || err->kind == ERR_INTERRUPTED)
		return err ? -err->code : -EIO;
	why = *err;
	if (ended(l, why.code == EPIPE ? END_MS : 0) && WIFEXITED(l->status))
		snprintf(how, sizeof(how), " (ssh ended with status %d)", WEXITSTATUS(l->status));
	else if (l->reaped)
		snprintf(how, sizeof(how), " (ssh was killed by signal %d)", WTERMSIG(l->status));
	said(l, words, sizeof(words));
	return err_set(err, why.kind, why.code, "far end %s: %.120s%s%s%s", l->destination, why.message, how,
		       words[0] ? "; it said: " : "", words);
}

int far_link_send(struct far_link *l, enum far_kind kind, const void *bytes, size_t count, struct err *err)
{
	struct err why = { 0 };

	if (far_write(l->fd, kind, bytes, count, l->limit_ms, &why) == 0)
		return 0;
	explain(l, &why);
	if (err)
		*err = why;
	return -why.code;
}

int far_link_expect(struct far_link *l, enum far_kind kind, int64_t limit_ms, const atomic_bool *interrupted,
		    struct far_message *ret, struct err *err)
{
	struct err why = { 0 };
	int r = far_read(l->fd, limit_ms ? limit_ms : l->limit_ms, interrupted, ret, &why);

	if (r == 0 && ret->kind == kind)
		return 0;
	if (r == 0 && ret->kind == FAR_ERROR)
		err_set(&why, ERR_HOST, EREMOTEIO, "far end %s: %s", l->destination, (const char *)ret->bytes);
	else if (r == 0)
		err_set(&why, ERR_HOST, EPROTO, "far end %s: answers with message %d where %d is due", l->destination,
			(int)ret->kind, (int)kind);
	else
		explain(l, &why);
	free(ret->bytes);
	*ret = (struct far_message){ 0 };
	if (err)
		*err = why;
	return -why.code;
}

int far_link_ask(struct far_link *l, enum far_kind kind, const void *bytes, size_t count, struct err *err)
{
	struct far_message m;
	int r = far_link_send(l, kind, bytes, count, err);

	if (r == 0)
		r = far_link_expect(l, FAR_OK, 0, l->interrupted, &m, err);
	if (r == 0)
		free(m.bytes);
	return r;
}

static int send_hello(struct far_link *l, const struct far_options *o, struct err *err)
{
	json_t *hello = json_pack("{s:s, s:s}", "version", o->version, "plan", o->plan_text);
	char *text = hello ? json_dumps(hello, JSON_COMPACT) : NULL;
	int r = text ? far_link_send(l, FAR_HELLO, text, strlen(text), err)
		     : err_set(err, ERR_HOST, ENOMEM, "out of memory");

	free(text);
	json_decref(hello);
	return r;
}

static int agree(struct far_link *l, const struct far_options *o, struct err *err)
{
	struct far_message m;
	const char *version = NULL, *hash = NULL;
	char ours[20];
	json_t *answer;
	int r = send_hello(l, o, err);

	if (r == 0)
		r = far_link_expect(l, FAR_HELLO, 0, o->interrupted, &m, err);
	if (r < 0)
		return r;
	snprintf(ours, sizeof(ours), "%016" PRIx64, o->plan_hash);
	answer = json_loadb((const char *)m.bytes, m.count, 0, NULL);
	if (!answer || json_unpack(answer, "{s:s, s:s}", "version", &version, "hash", &hash) < 0)
		r = err_set(err, ERR_HOST, EPROTO, "far end %s: its greeting is no tare's", l->destination);
	else if (strcmp(version, o->version) != 0)
		r = err_set(err, ERR_HOST, EPROTO,
			    "far end %s is tare %s, this is %s; expected the same on both machines", l->destination,
			    version, o->version);
	else if (strcmp(hash, ours) != 0)
		r = err_set(err, ERR_HOST, EPROTO, "far end %s has plan %s, here it is %s; expected the same plan",
			    l->destination, hash, ours);
	else if (!(l->facts = strdup((const char *)m.bytes)))
		r = err_set(err, ERR_HOST, ENOMEM, "out of memory");
	json_decref(answer);
	free(m.bytes);
	return r;
}

int far_link_open(const struct far_options *options, struct far_link **ret, struct err *err)
{
	struct far_link *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	l->fd = l->errors_fd = l->pidfd = -1;
	l->limit_ms = options->limit_ms;
	l->interrupted = options->interrupted;
	l->destination = strdup(options->destination);
	r = l->destination ? start(l, options, err) : err_set(err, ERR_HOST, ENOMEM, "out of memory");
	if (r == 0)
		r = agree(l, options, err);
	if (r < 0) {
		far_link_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

const char *far_link_facts(const struct far_link *l)
{
	return l->facts;
}

uint64_t *far_link_stream(struct far_link *l)
{
	return &l->stream;
}

void far_link_close(struct far_link *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd); /* the far one's end of input */
	if (l->pid > 0 && !ended(l, END_MS)) {
		kill(-l->pid, SIGKILL);
		while (!l->reaped && waitpid(l->pid, &l->status, 0) < 0 && errno == EINTR)
			;
	}
	if (l->pidfd >= 0)
		close(l->pidfd);
	if (l->errors_fd >= 0)
		close(l->errors_fd);
	free(l->destination);
	free(l->facts);
	free(l);
}
