/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/leftovers.h"

/* The pid in "tare-PID"; 0: another name. */
static pid_t pid_of(const char *name)
{
	char *end;
	long pid;

	if (strncmp(name, "tare-", 5) != 0 || name[5] < '1' || name[5] > '9')
		return 0;
	errno = 0;
	pid = strtol(name + 5, &end, 10);
	return *end == '\0' && errno == 0 && pid > 0 && pid <= 0x7fffffff ? (pid_t)pid : 0;
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) != 0 && errno == ESRCH;
}

/* Plain files and sockets only: a folder in it is nothing that we made. */
static int remove_folder(int root_fd, const char *name)
{
	int fd = openat(root_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *e;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (r == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlinkat(fd, e->d_name, 0) != 0)
			r = -errno;
	closedir(d);
	return r == 0 && unlinkat(root_fd, name, AT_REMOVEDIR) != 0 ? -errno : r;
}

int clean_folders_of_the_dead(const char *root, const struct clean_say *say, struct err *err)
{
	DIR *d = opendir(root);
	struct dirent *e;
	char text[512];
	int done = 0, r;

	if (!d)
		return errno == ENOENT ? 0 : err_set(err, ERR_HOST, errno, "%s: %s", root, strerror(errno));
	while ((e = readdir(d))) {
		pid_t pid = pid_of(e->d_name);

		if (!pid || !is_gone(pid))
			continue;
		r = remove_folder(dirfd(d), e->d_name);
		if (r < 0) {
			err_set(err, ERR_HOST, -r, "%s/%s: cannot remove: %s", root, e->d_name, strerror(-r));
			closedir(d);
			return r;
		}
		snprintf(text, sizeof(text), "%s/%s: removed (its process is gone)", root, e->d_name);
		say->fn(say->context, text);
		done++;
	}
	closedir(d);
	return done;
}

/* Where EAL puts its runtime folder: /var/run/dpdk for root; for others $XDG_RUNTIME_DIR/dpdk, else /tmp/dpdk. */
static int clean_dpdk(const struct clean_say *say, struct err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char root[512];

	snprintf(root, sizeof(root), "%s/dpdk", geteuid() == 0 ? "/var/run" : runtime ? runtime : "/tmp");
	return clean_folders_of_the_dead(root, say, err);
}

static int clean_labs(const struct clean_say *say, struct err *err)
{
	return lab_clean(say->fn, say->context, err);
}

const struct cleaner cleaners[] = {
	{ "runtime folders of DPDK", clean_dpdk },
	{ "processes, cables and namespaces of labs", clean_labs },
	{ NULL },
};
