/* SPDX-License-Identifier: Apache-2.0 */
#include "own_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/netns.h"

/* Wait for `child`, and for every orphan that comes here before it ends; end as it did. */
static _Noreturn void end_as(pid_t child)
{
	int status = 0;
	pid_t ended;

	while ((ended = wait(&status)) != child)
		if (ended < 0)
			_exit(99);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Twice: the first child is the namespace's init, which orphans come to; the test is its child. */
static bool enter_pid_namespace(void)
{
	pid_t child;

	if (unshare(CLONE_NEWPID) < 0)
		return false;
	for (int i = 0; i < 2; i++) {
		child = fork();
		if (child < 0)
			return false;
		if (child > 0)
			end_as(child);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	return mount("proc", "/proc", "proc", 0, NULL) == 0;
}

bool own_host_enter(void)
{
	struct err err = { 0 };
	int r;

	if (geteuid() == 0 && unshare(CLONE_NEWNS | CLONE_NEWNET) == 0 &&
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount("test", "/run", "tmpfs", 0, NULL) == 0 &&
	    enter_pid_namespace())
		return true;
	r = netns_permit(&err);
	if (r >= 0)
		return true;
	fprintf(stderr, "SKIP: needs root, or user namespaces: %s\n", err.message);
	return false;
}

unsigned own_host_count(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

unsigned own_host_interfaces(void)
{
	struct if_nameindex *all = if_nameindex();
	unsigned n = 0;

	for (struct if_nameindex *i = all; i && i->if_index; i++)
		n += strcmp(i->if_name, "lo") != 0;
	if_freenameindex(all);
	return n;
}

static bool is_marked(const char *pid, const char *mark)
{
	char path[300], buf[65536];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, buf, sizeof(buf));
	if (fd >= 0)
		close(fd);
	return got > 0 && memmem(buf, (size_t)got, mark, strlen(mark));
}

unsigned own_host_marked(pid_t tare)
{
	char mark[64];
	DIR *d = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	snprintf(mark, sizeof(mark), "TARE_LAB=tare-%d", (int)tare);
	while (d && (e = readdir(d)))
		n += e->d_name[0] >= '1' && e->d_name[0] <= '9' && atoi(e->d_name) != getpid() &&
		     is_marked(e->d_name, mark);
	if (d)
		closedir(d);
	return n;
}
