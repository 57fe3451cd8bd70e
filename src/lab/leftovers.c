/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "lab/lock.h"
#include "lab/netlink.h"
#include "lab/netns.h"

enum { LABEL_BYTES = 32, DEATH_LIMIT_MS = 5000, LOCK_ASK_MOST = 1000 };

/* A lab that left something. Its lock is ours (or there was none) when it is dead. */
struct lab {
	char label[LABEL_BYTES];
	bool dead;
	int lock_fd;
};

struct cleaning {
	VEC(struct lab) labs;
	lab_say_fn *say;
	void *context;
	int done;
};

/* Digits without a leading zero, of a number that fits: its end, or NULL. */
static const char *number_end(const char *text, long *ret)
{
	char *end;

	if (*text < '0' || *text > '9' || (text[0] == '0' && text[1] >= '0' && text[1] <= '9'))
		return NULL;
	errno = 0;
	*ret = strtol(text, &end, 10);
	return errno == 0 && *ret <= 0x7fffffff ? end : NULL;
}

/*
 * "tare-PID-SERIAL" at the beginning of a name, or "tare-PID" and nothing else: its length, and the pid. 0: not ours.
 */
static size_t label_length(const char *name, pid_t *ret_pid)
{
	long pid, serial;
	const char *end = strncmp(name, "tare-", 5) == 0 ? number_end(name + 5, &pid) : NULL;

	if (!end || pid == 0)
		return 0;
	*ret_pid = (pid_t)pid;
	if (*end == '\0')
		return (size_t)(end - name);
	end = *end == '-' ? number_end(end + 1, &serial) : NULL;
	return end && (*end == '\0' || *end == '-') && end - name < LABEL_BYTES ? (size_t)(end - name) : 0;
}

/* Or only waits for its parent to ask how it ended. */
static bool is_gone(pid_t pid)
{
	char path[32], text[512];
	const char *state;
	ssize_t got;
	int fd;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	/* behind the name, which may hold anything */
	state = strrchr(text, ')');
	return state && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

/*
 * A child between fork and exec, or one that tries a lab, shares the label of its
 * parent, and dies a moment after it: held for a process that is gone, the lock is asked for
 * again. One that stays held belongs to a living tare whose pid is not of this pid namespace.
 */
static bool is_dead(const char *label, pid_t pid, int *ret_lock)
{
	const struct timespec again = { .tv_nsec = 1000000 };
	int r = lab_lock_inherit(label, ret_lock);

	for (unsigned i = 0; r == -EBUSY && is_gone(pid) && i < LOCK_ASK_MOST; i++) {
		nanosleep(&again, NULL);
		r = lab_lock_inherit(label, ret_lock);
	}
	return r == 0 || (r == -ENOENT && is_gone(pid));
}

/* The lab that a name belongs to, judged once. NULL: none of ours, or no memory for it. */
static struct lab *lab_of(struct cleaning *c, const char *name)
{
	struct lab lab = { .lock_fd = -1 };
	pid_t pid;
	size_t length = label_length(name, &pid);

	if (!length)
		return NULL;
	memcpy(lab.label, name, length);
	for (size_t i = 0; i < c->labs.count; i++)
		if (strcmp(c->labs.items[i].label, lab.label) == 0)
			return &c->labs.items[i];
	lab.dead = is_dead(lab.label, pid, &lab.lock_fd);
	if (vec_push(&c->labs, lab) < 0) {
		if (lab.lock_fd >= 0)
			close(lab.lock_fd);
		return NULL;
	}
	return &c->labs.items[c->labs.count - 1];
}

static void say(struct cleaning *c, const char *what, const char *name, const char *done)
{
	char text[384];

	snprintf(text, sizeof(text), "%s %s: %s", what, name, done);
	c->say(c->context, text);
	c->done++;
}

/* The mark in a process's environment; false: none, or it may not be read. */
static bool mark_read(int proc_fd, const char *pid, char label[static LABEL_BYTES])
{
	char path[64], buf[65536];
	size_t n = 0, i;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/environ", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (n < sizeof(buf) - 1 && (got = read(fd, buf + n, sizeof(buf) - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	buf[n] = '\0';
	for (i = 0; i < n; i += strlen(buf + i) + 1)
		if (strncmp(buf + i, "TARE_LAB=", 9) == 0)
			return snprintf(label, LABEL_BYTES, "%s", buf + i + 9) < LABEL_BYTES;
	return false;
}

/*
 * A mark names a pid of the marked one's own pid namespace. In another (a container's, which has a /run and locks of
 * its own as well) that number means nothing here, and what runs there ends with it.
 */
static bool of_this_pid_namespace(int proc_fd, const char *pid)
{
	struct stat theirs, ours;
	char path[300];

	snprintf(path, sizeof(path), "%s/ns/pid", pid);
	return fstatat(proc_fd, path, &theirs, 0) == 0 && fstatat(proc_fd, "self/ns/pid", &ours, 0) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static int kill_and_wait(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0)
		return errno == ESRCH ? 0 : -errno;
	return poll(&p, 1, DEATH_LIMIT_MS) > 0 ? 0 : -ETIMEDOUT;
}

/* Read through a pidfd's lifetime, so that the number is the same process from the mark to the signal. */
static int process_clean(struct cleaning *c, int proc_fd, const char *name, struct err *err)
{
	char label[LABEL_BYTES];
	const struct lab *lab;
	int fd, r;

	if (atoi(name) == getpid() || !mark_read(proc_fd, name, label) || !of_this_pid_namespace(proc_fd, name))
		return 0;
	fd = (int)syscall(SYS_pidfd_open, atoi(name), 0);
	if (fd < 0)
		return errno == ESRCH ? 0 : err_set(err, ERR_HOST, errno, "process %s: %s", name, strerror(errno));
	lab = mark_read(proc_fd, name, label) ? lab_of(c, label) : NULL;
	r = lab && lab->dead ? kill_and_wait(fd) : 0;
	close(fd);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "process %s of lab %s: cannot kill it: %s", name, label,
			       strerror(-r));
	if (lab && lab->dead)
		say(c, "process", name, "killed (its tare is gone)");
	return 0;
}

static int processes_clean(struct cleaning *c, struct err *err)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int first = 0, r;

	if (!d)
		return err_set(err, ERR_HOST, errno, "/proc: %s", strerror(errno));
	while ((e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		r = process_clean(c, dirfd(d), e->d_name, first ? NULL : err);
		first = first ? first : r;
	}
	closedir(d);
	return first;
}

struct indices {
	int index[64];
	unsigned count;
};

static int index_take(const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	struct indices *all = context;

	if (!(info->ifi_flags & IFF_LOOPBACK) && all->count < sizeof(all->index) / sizeof(all->index[0]))
		all->index[all->count++] = info->ifi_index;
	return MNL_CB_OK;
}

/* They would go with the namespace, but somebody may still be in it. Failures are left to that. */
static void cables_clean(const struct netns *ns)
{
	char buf[256];
	struct indices all = { .count = 0 };
	struct ifinfomsg *info;
	struct netlink n;

	if (netlink_open(ns, 0, &n, NULL) < 0)
		return;
	netlink_ask(&n, netlink_begin(buf, RTM_GETLINK, NLM_F_DUMP, sizeof(*info), (void **)&info), index_take, &all);
	for (unsigned i = 0; i < all.count; i++) {
		struct nlmsghdr *m = netlink_begin(buf, RTM_DELLINK, 0, sizeof(*info), (void **)&info);

		info->ifi_index = all.index[i];
		netlink_ask(&n, m, NULL, NULL);
	}
	netlink_close(&n);
}

static int namespace_clean(struct cleaning *c, const char *name, struct err *err)
{
	const struct lab *lab = lab_of(c, name);
	struct netns ns;
	int r;

	if (!lab || !lab->dead || strlen(name) == strlen(lab->label))
		return 0;
	if (netns_open(name, &ns, NULL) == 0) {
		cables_clean(&ns);
		netns_close(&ns);
	}
	r = netns_unpin(name);
	if (r < 0 && r != -ENOENT)
		return err_set(err, ERR_HOST, -r, "namespace %s: cannot remove it: %s", name, strerror(-r));
	say(c, "namespace", name, "removed (its tare is gone)");
	return 0;
}

static int lock_clean(struct cleaning *c, const char *name, struct err *err)
{
	struct lab *lab = lab_of(c, name);

	(void)err;
	if (!lab || !lab->dead || lab->lock_fd < 0 || strcmp(name, lab->label) != 0)
		return 0;
	lab_lock_drop(lab->label, lab->lock_fd);
	lab->lock_fd = -1;
	say(c, "lab", name, "forgotten (its tare is gone)");
	return 0;
}

/* Each name of a folder; one that cannot be cleaned does not keep the others from it. The first error is returned. */
static int each_name(struct cleaning *c, const char *folder,
		     int (*clean)(struct cleaning *c, const char *name, struct err *err), struct err *err)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int first = 0, r;

	if (!d)
		return errno == ENOENT ? 0 : err_set(err, ERR_HOST, errno, "%s: %s", folder, strerror(errno));
	while ((e = readdir(d))) {
		r = clean(c, e->d_name, first ? NULL : err);
		first = first ? first : r;
	}
	closedir(d);
	return first;
}

int lab_clean(lab_say_fn *fn, void *context, struct err *err)
{
	struct cleaning c = { .say = fn, .context = context };
	int first = processes_clean(&c, err), r;

	r = each_name(&c, NETNS_FOLDER, namespace_clean, first ? NULL : err);
	first = first ? first : r;
	r = each_name(&c, LAB_LOCKS, lock_clean, first ? NULL : err);
	first = first ? first : r;
	for (size_t i = 0; i < c.labs.count; i++)
		if (c.labs.items[i].lock_fd >= 0)
			close(c.labs.items[i].lock_fd);
	free(c.labs.items);
	return first < 0 ? first : c.done;
}
