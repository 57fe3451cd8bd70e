/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_NETNS_NETNS_H
#define TESTS_NETNS_NETNS_H

/* Move this process into a network namespace of its own, as root or with a user namespace. Ends it (77) where it may not. */
void netns_enter(void);

/* Run a shell command that must succeed. */
void netns_run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Two ends of a cable, up, without IPv6 noise and offloads of checksums. */
void netns_veth(const char *a, const char *b);

#endif
