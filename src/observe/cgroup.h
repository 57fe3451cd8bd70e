/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_CGROUP_H
#define TARE_OBSERVE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * The kernel's own account of what some processes use, as a second opinion on the
 * sampler's: a control group of ours, of version 1 (cpuacct) or 2, whichever the
 * host has mounted.
 */
struct cgroup_account {
	char path[PATH_MAX - 64]; /* of the group */
	int version;
};

/* `root` before /sys, NULL: this host. No control groups, or not allowed: ERR_HOST, with what was looked for. */
int cgroup_account_open(const char *root, const char *name, struct cgroup_account *ret, struct err *err);

/* What it uses from now on is in the account; children of it too. */
int cgroup_account_add(const struct cgroup_account *a, pid_t pid, struct err *err);

/* CPU time of all its processes, ended ones too. */
int cgroup_account_cpu_ns(const struct cgroup_account *a, int64_t *ret_ns, struct err *err);

/* The group goes once it is empty; false: it is not. */
bool cgroup_account_close(struct cgroup_account *a);

#endif
