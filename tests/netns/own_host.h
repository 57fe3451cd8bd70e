/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_OWN_HOST_H
#define TARE_TESTS_OWN_HOST_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A test's own view of the host: a network without interfaces and an empty /run,
 * so that whatever it leaves is seen, and is nobody else's. By root's rights or in
 * a user namespace; false, with the reason printed, where there is neither.
 */
bool own_host_enter(void);

/* Names under a folder; 0 where there is none. */
unsigned own_host_count(const char *folder);

/* Interfaces of this thread's namespace, loopback left out. */
unsigned own_host_interfaces(void);

/* Processes that carry the mark of that tare, this one left out. */
unsigned own_host_marked(pid_t tare);

#endif
