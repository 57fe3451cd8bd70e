/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_LOCK_H
#define TARE_LAB_LOCK_H

#include "base/err.h"

/*
 * What tells a living lab from a dead one: a file /run/tare/LABEL, locked by its
 * process for as long as the lab stands. The kernel unlocks it at any death, and
 * unlike a pid it cannot come to mean another process.
 */
#define LAB_LOCKS "/run/tare"

int lab_lock_take(const char *label, int *ret_fd, struct err *err); /* held by another: -EEXIST */
void lab_lock_drop(const char *label, int fd);                      /* -1 is fine */

/* For cleaning: the lock of a dead lab, held so that nobody takes the label meanwhile. -EBUSY: alive; -ENOENT: none. */
int lab_lock_inherit(const char *label, int *ret_fd);

#endif
