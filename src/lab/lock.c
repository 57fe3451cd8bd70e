/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path_of(const char *label, char buf[static 128])
{
	snprintf(buf, 128, "%s/%s", LAB_LOCKS, label);
	return buf;
}

/* Locked, and still the file of that name (who cleans may have removed it between opening and locking): else -EAGAIN. */
static int lock(int fd, const char *path)
{
	struct stat mine, named;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (fstat(fd, &mine) < 0)
		return -errno;
	if (stat(path, &named) < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	return mine.st_ino == named.st_ino && mine.st_dev == named.st_dev ? 0 : -EAGAIN;
}

static int open_locked(const char *path, int flags, int *ret_fd)
{
	int fd, r;

	do {
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
		r = fd < 0 ? -errno : lock(fd, path);
		if (r < 0 && fd >= 0)
			close(fd);
	} while (r == -EAGAIN);
	if (r == 0)
		*ret_fd = fd;
	return r;
}

int lab_lock_take(const char *label, int *ret_fd, struct err *err)
{
	char path[128];
	int r;

	if (mkdir(LAB_LOCKS, 0755) < 0 && errno != EEXIST)
		return err_set(err, ERR_HOST, errno, "%s: cannot make this folder: %s", LAB_LOCKS, strerror(errno));
	r = open_locked(path_of(label, path), O_CREAT, ret_fd);
	if (r == -EBUSY)
		return err_set(err, ERR_HOST, EEXIST, "lab %s: a lab of this name stands already (%s is locked)", label,
			       path);
	return r < 0 ? err_set(err, ERR_HOST, -r, "lab %s: cannot lock %s: %s", label, path, strerror(-r)) : 0;
}

void lab_lock_drop(const char *label, int fd)
{
	char path[128];

	if (fd < 0)
		return;
	unlink(path_of(label, path));
	close(fd);
}

int lab_lock_inherit(const char *label, int *ret_fd)
{
	char path[128];

	return open_locked(path_of(label, path), 0, ret_fd);
}
