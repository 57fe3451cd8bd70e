/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_LOCK_H
#define TARE_STORE_LOCK_H

#include <sys/types.h>

#include "base/err.h"

/*
 * The right to write in a directory: an advisory lock (open file description) on
 * DIR/lock, which also holds the pid of its owner. The kernel drops it when the
 * process ends, however it ends; the file that stays behind then means nothing.
 */
struct dir_lock {
	int fd; /* -1: not held */
	char *path;
};

/* 0; -EBUSY, the message naming the process that holds it; else what the directory refused. Never waits. */
int dir_lock_take(struct dir_lock *lock, const char *dir, struct err *err);

/* Unlock and remove the file; harmless when not held. */
void dir_lock_release(struct dir_lock *lock);

#endif
