/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/hostfile.h"

/* Where a hierarchy that accounts CPU time may be mounted; the file says whether it is one. */
static const struct place {
	const char *path, *has;
	int version;
} places[] = {
	{ "/sys/fs/cgroup/cpuacct", "cpuacct.usage", 1 },
	{ "/sys/fs/cgroup/cpu,cpuacct", "cpuacct.usage", 1 },
	{ "/sys/fs/cgroup", "cgroup.controllers", 2 },
	{ "/sys/fs/cgroup/unified", "cgroup.controllers", 2 },
};

int cgroup_account_open(const char *root, const char *name, struct cgroup_account *ret, struct err *err)
{
	char path[PATH_MAX];
	int code = ENOENT;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s/%s", root ? root : "", places[i].path, places[i].has);
		if (access(path, R_OK) < 0)
			continue;
		ret->version = places[i].version;
		if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s%s/%s", root ? root : "", places[i].path, name) >=
		    sizeof(ret->path))
			return err_set(err, ERR_HOST, ENAMETOOLONG, "the control group %s: its path is too long", name);
		if (mkdir(ret->path, 0755) == 0 || errno == EEXIST)
			return 0;
		code = errno;
	}
	return err_set(err, ERR_HOST, code,
		       "no control group accounts CPU time here: looked for cpuacct (version 1) and version 2 below "
		       "/sys/fs/cgroup: %s",
		       strerror(code));
}

int cgroup_account_add(const struct cgroup_account *a, pid_t pid, struct err *err)
{
	char path[PATH_MAX], text[16];
	int n = snprintf(text, sizeof(text), "%d", (int)pid), fd, code = 0;

	snprintf(path, sizeof(path), "%s/cgroup.procs", a->path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		code = errno;
	if (fd >= 0)
		close(fd);
	return code ? err_set(err, ERR_HOST, code, "cannot put process %d into %s: %s", (int)pid, a->path,
			      strerror(code))
		    : 0;
}

int cgroup_account_cpu_ns(const struct cgroup_account *a, int64_t *ret_ns, struct err *err)
{
	const char *file = a->version == 1 ? "cpuacct.usage" : "cpu.stat", *usage;
	char path[PATH_MAX], text[1024];

	snprintf(path, sizeof(path), "%s/%s", a->path, file);
	if (!hostfile_read("", path, text, sizeof(text)))
		return err_set(err, ERR_HOST, ENOENT, "cannot read %s", path);
	if (a->version == 1) {
		*ret_ns = strtoll(text, NULL, 10);
		return 0;
	}
	usage = strstr(text, "usage_usec ");
	if (!usage)
		return err_set(err, ERR_HOST, EPROTO, "%s does not tell usage_usec", path);
	*ret_ns = strtoll(usage + strlen("usage_usec "), NULL, 10) * 1000;
	return 0;
}

bool cgroup_account_close(struct cgroup_account *a)
{
	return rmdir(a->path) == 0;
}
