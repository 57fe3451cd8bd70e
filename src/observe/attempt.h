/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_ATTEMPT_H
#define TARE_OBSERVE_ATTEMPT_H

#include <stddef.h>

/*
 * What this process may do is best found out by doing it, in a child that ends
 * afterwards, so nothing stays changed.
 */

/* Runs `what` in a child; it returns 0 or a positive errno. That value, or -errno where there could be no child. */
int attempt(int (*what)(void));

int attempt_fifo(void); /* SCHED_FIFO priority 50 */
int attempt_lock_memory(void);
int attempt_packet_socket(void);

/*
 * The first line that `program --version` prints, at most `limit_ms` later.
 * -ENOENT: it is not in PATH; -ETIMEDOUT; -EIO: it printed nothing. Returns 0
 * otherwise, whatever its exit status.
 */
int program_version(const char *program, int limit_ms, char *buf, size_t size_bytes);

#endif
