/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_HOSTCHECK_H
#define TARE_OBSERVE_HOSTCHECK_H

/*
 * What of this host helps or hinders measuring, and what to do about it.
 * Everything is looked at or tried in a child process; nothing stays changed.
 */
enum host_level {
	HOST_GOOD,
	HOST_WEAK,    /* it works, but the numbers are worse for it, or something optional is not there */
	HOST_LACKING, /* something cannot be done on this host as it is */
};

struct host_check {
	const char *name; /* stable: "isolation" */
	enum host_level level;
	char value[256];    /* what was found */
	const char *advice; /* what to do about it; "" where nothing is to be done */
};

typedef void host_check_fn(void *context, const struct host_check *check);

/* All checks, in a fixed order; takes about a second (the TSC is calibrated, programs are asked for their versions). */
void host_checks(host_check_fn *fn, void *context);

/* Those that only read files of /proc and /sys under `root` ("" for this host). Pure but for reading. */
void host_checks_of_files(const char *root, host_check_fn *fn, void *context);

const char *host_level_name(enum host_level level); /* "good", "weak", "lacking" */

#endif
