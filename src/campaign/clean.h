/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_CLEAN_H
#define TARE_CAMPAIGN_CLEAN_H

#include "base/err.h"

/*
 * What a killed tare leaves on the host, outside any campaign's directory. One
 * row a kind; a room that makes something on the host that outlives the process
 * adds its own. Only what belonged to a process that is gone is touched, so all
 * may run beside a campaign, and twice.
 */
struct clean_say {
	void (*fn)(void *context, const char *what); /* one thing that was done */
	void *context;
};

struct cleaner {
	const char *what; /* "runtime folders of DPDK" */
	/* How many things were done, or -errno with a message. */
	int (*clean)(const struct clean_say *say, struct err *err);
};

extern const struct cleaner cleaners[]; /* ends with a NULL what */

/*
 * The rule behind the DPDK row, for tests: remove the folders `root`/tare-PID
 * whose process is gone, with the files in them.
 */
int clean_folders_of_the_dead(const char *root, const struct clean_say *say, struct err *err);

#endif
