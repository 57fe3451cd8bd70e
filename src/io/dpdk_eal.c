/* SPDX-License-Identifier: Apache-2.0 */
#include "io/dpdk_eal.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_version.h>

#include "base/log.h"

#define MEMORY_MB 256

/* EAL is one per process, and so is what is known of it; touched by the main thread only. */
static struct {
	enum { NEW, RUNNING, FAILED } state;
	bool huge;
	char last[200]; /* what EAL logged last */
	struct err err;
} eal;

static ssize_t take_log(void *cookie, const char *text, size_t length)
{
	size_t shown = length;

	(void)cookie;
	while (shown && text[shown - 1] == '\n')
		shown--;
	if (shown) {
		snprintf(eal.last, sizeof(eal.last), "%.*s", (int)shown, text);
		log_debug("dpdk: %s", eal.last);
	}
	return (ssize_t)length;
}

static bool huge_pages_free(void)
{
	FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "re");
	unsigned long pages = 0;

	if (!file)
		return false;
	if (fscanf(file, "%lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * 2 >= MEMORY_MB && geteuid() == 0;
}

static int start(void)
{
	char prefix[32], memory[16], core[16];
	const char *argv[] = { "tare", "-l", core, "-m", memory,
			       /* the bus is looked at, no device is taken: ports name those they want */
			       "-a", "ffff:ff:1f.7", "--no-telemetry", "--file-prefix", prefix, "--log-level=*:4", NULL,
			       NULL, NULL };
	int argc = 11;

	snprintf(prefix, sizeof(prefix), "tare-%d", (int)getpid());
	snprintf(memory, sizeof(memory), "%d", MEMORY_MB);
	snprintf(core, sizeof(core), "%d", sched_getcpu());
	if (eal.huge) {
		argv[argc++] = "--in-memory";
	} else {
		argv[argc++] = "--no-huge";
		argv[argc++] = "--no-shconf";
	}
	return rte_eal_init(argc, (char **)argv); /* reorders the pointers, leaves the text */
}

int dpdk_eal_start(struct err *err)
{
	cookie_io_functions_t log = { .write = take_log };
	cpu_set_t affinity;
	FILE *stream;
	int rc;

	if (eal.state == FAILED && err)
		*err = eal.err;
	if (eal.state != NEW)
		return eal.state == RUNNING ? 0 : -eal.err.code;
	stream = fopencookie(NULL, "w", log);
	if (!stream)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for DPDK's log");
	setvbuf(stream, NULL, _IOLBF, 0);
	rte_openlog_stream(stream);
	eal.huge = huge_pages_free();
	CPU_ZERO(&affinity);
	sched_getaffinity(0, sizeof(affinity), &affinity);
	rc = start();
	sched_setaffinity(0, sizeof(affinity), &affinity);
	if (rc < 0) {
		eal.state = FAILED;
		err_set(&eal.err, ERR_HOST, rte_errno > 0 ? rte_errno : EIO, "DPDK does not start: %s%s%s",
			strerror(rte_errno), *eal.last ? "; it says: " : "", eal.last);
		return dpdk_eal_start(err);
	}
	/* EAL made it but shares nothing in it, and would leave it behind; refuses unless empty */
	rmdir(rte_eal_get_runtime_dir());
	eal.state = RUNNING;
	return 0;
}

const char *dpdk_eal_version(void)
{
	return rte_version();
}

const char *dpdk_eal_memory(void)
{
	return eal.state != RUNNING ? NULL : eal.huge ? "huge pages" : "no huge pages";
}
