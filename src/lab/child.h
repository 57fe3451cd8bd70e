/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_CHILD_H
#define TARE_LAB_CHILD_H

#include <sys/types.h>

/*
 * What every child of ours does first, after fork and before exec (system calls only): a process
 * group of its own, no longer than the thread that started it, signals and scheduling as at login,
 * whatever a library left open closed at exec. `parent` as it was before the fork: does not return where that has gone.
 */
void child_begin(pid_t parent);

#endif
