/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/netns.h"

/* May this process do it as it is? Tried in a child. 0 or a positive errno. */
static int allowed_already(void)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return errno;
	if (child == 0) {
		if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
			_exit(errno);
		if (mkdir(NETNS_FOLDER, 0755) < 0 && errno != EEXIST)
			_exit(errno);
		_exit(access(NETNS_FOLDER, W_OK) == 0 ? 0 : errno);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static int text_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		r = errno;
	close(fd);
	return r;
}

/* This user is root inside, and nobody else is anybody. */
static int map_ids(uid_t uid, gid_t gid)
{
	char text[64];
	int r = text_write("/proc/self/setgroups", "deny");

	if (r && r != ENOENT)
		return r;
	snprintf(text, sizeof(text), "0 %u 1", (unsigned)uid);
	r = text_write("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", (unsigned)gid);
	return r ? r : text_write("/proc/self/gid_map", text);
}

/* /run belongs to the host's root: one of our own over it, with the users' runtime folders still in it. */
static int own_run(void)
{
	int users = open("/run/user", O_PATH | O_DIRECTORY | O_CLOEXEC), r = 0;
	char from[64];

	if (mount("tare", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=16m") < 0)
		r = errno;
	if (r == 0 && users >= 0) {
		snprintf(from, sizeof(from), "/proc/self/fd/%d", users);
		/* Only for comfort: where it cannot be bound, it is empty. */
		if (mkdir("/run/user", 0755) == 0 && mount(from, "/run/user", NULL, MS_BIND | MS_REC, NULL) < 0)
			rmdir("/run/user");
	}
	if (users >= 0)
		close(users);
	return r ? r : mkdir(NETNS_FOLDER, 0755) < 0 ? errno : 0;
}

static int move(const char **ret_what)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r;

	*ret_what = "make a user namespace";
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) < 0)
		return errno;
	*ret_what = "map this user into its user namespace";
	r = map_ids(uid, gid);
	if (r)
		return r;
	*ret_what = "mount a /run of its own";
	return own_run();
}

int netns_permit(struct err *err)
{
	const char *what;
	int direct = allowed_already(), r;

	if (direct == 0)
		return 0;
	r = move(&what);
	if (r == 0)
		return 1;
	return err_set(err, ERR_HOST, r,
		       "network namespaces: not allowed (%s), and this process cannot %s (%s); " NETNS_ADVICE,
		       strerror(direct), what, r == EINVAL ? "it has more than one thread" : strerror(r));
}
