/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_HOSTCHECK_PRIVATE_H
#define TARE_OBSERVE_HOSTCHECK_PRIVATE_H

#include "observe/hostcheck.h"

/* Where the findings go. */
struct checking {
	host_check_fn *fn;
	void *context;
};

void check_report(const struct checking *to, const char *name, enum host_level level, const char *advice,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* offloads.c: a finding for each network port that has a device behind it. */
void offloads_check(const struct checking *to);

#endif
