/* SPDX-License-Identifier: Apache-2.0 */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The pid that the holder wrote, 0 where there is none to read. */
static long holder_pid(int fd)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	return n > 0 ? strtol(text, NULL, 10) : 0;
}

/* The holder removes the file before it unlocks, so what we locked may no longer be what the name means. */
static bool still_named(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && stat(path, &named) == 0 && ours.st_dev == named.st_dev &&
	       ours.st_ino == named.st_ino;
}

static int refused(const struct dir_lock *lock, const char *dir, int fd, int code, struct err *err)
{
	long pid = holder_pid(fd);

	if (code != EAGAIN && code != EACCES)
		return err_set(err, ERR_HOST, code, "%s: cannot lock: %s", lock->path, strerror(code));
	if (pid > 0)
		return err_set(
			err, ERR_USAGE, EBUSY,
			"%s: another tare (process %ld) is writing here; wait for it or choose another directory", dir,
			pid);
	return err_set(err, ERR_USAGE, EBUSY,
		       "%s: another tare is writing here; wait for it or choose another directory", dir);
}

int dir_lock_take(struct dir_lock *lock, const char *dir, struct err *err)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char pid[32];
	int fd, r;

	lock->fd = -1;
	if (asprintf(&lock->path, "%s/lock", dir) < 0) {
		lock->path = NULL;
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", dir);
	}
	for (;;) {
		fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0) {
			r = err_set(err, ERR_HOST, errno, "%s: cannot create: %s", lock->path, strerror(errno));
			goto fail;
		}
		if (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
			r = refused(lock, dir, fd, errno, err);
			close(fd);
			goto fail;
		}
		if (still_named(fd, lock->path))
			break;
		close(fd);
	}
	lock->fd = fd;
	/* The pid is for messages only: a full disk that refuses it must not refuse the lock. */
	snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, strlen(pid), 0) < 0)
		errno = 0;
	return 0;
fail:
	free(lock->path);
	lock->path = NULL;
	return r;
}

void dir_lock_release(struct dir_lock *lock)
{
	if (lock->path && lock->fd >= 0) {
		unlink(lock->path);
		close(lock->fd);
	}
	free(lock->path);
	lock->path = NULL;
	lock->fd = -1;
}
