/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_NET "/proc/thread-self/ns/net"
#define IPV6    "/proc/sys/net/ipv6/conf/"

static const char *path_of(const char *name, char buf[static NETNS_NAME_BYTES + sizeof(NETNS_FOLDER) + 1])
{
	snprintf(buf, NETNS_NAME_BYTES + sizeof(NETNS_FOLDER) + 1, "%s/%s", NETNS_FOLDER, name);
	return buf;
}

static int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		r = -errno;
	close(fd);
	return r;
}

static int loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		r = -errno;
	request.ifr_flags |= IFF_UP;
	if (r == 0 && ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* For every interface there is and will be: no neighbour discovery, no router solicitation among the probes. */
static int ipv6_off(void)
{
	int r = file_write(IPV6 "all/disable_ipv6", "1");

	if (r == 0)
		r = file_write(IPV6 "default/disable_ipv6", "1");
	return r == -ENOENT ? 0 : r; /* a kernel without IPv6 */
}

static int folder_make(void)
{
	return mkdir(NETNS_FOLDER, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

/* In this thread's new namespace: pin it to the name, open it, make it quiet. */
static int pin_and_settle(const char *path, struct netns *ret, const char **ret_what)
{
	int r;

	*ret_what = "bind it to its name";
	if (mount(OWN_NET, path, "none", MS_BIND, NULL) < 0)
		return -errno;
	*ret_what = "open it";
	ret->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ret->fd < 0)
		return -errno;
	*ret_what = "switch IPv6 off in it";
	r = ipv6_off();
	if (r < 0)
		return r;
	*ret_what = "bring its loopback up";
	return loopback_up();
}

static int create_at(const char *path, struct netns *ret, const char **ret_what)
{
	int home = open(OWN_NET, O_RDONLY | O_CLOEXEC), r;

	*ret_what = "open this thread's own";
	if (home < 0)
		return -errno;
	*ret_what = "make it";
	if (unshare(CLONE_NEWNET) < 0) {
		r = -errno;
		close(home);
		return r;
	}
	r = pin_and_settle(path, ret, ret_what);
	netns_leave(home);
	return r;
}

int netns_create(const char *name, struct netns *ret, struct err *err)
{
	char path[NETNS_NAME_BYTES + sizeof(NETNS_FOLDER) + 1];
	const char *what;
	int fd, r;

	*ret = NETNS_NONE;
	TARE_ASSERT(name[0] && strlen(name) < NETNS_NAME_BYTES && !strchr(name, '/'));
	r = folder_make();
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "%s: cannot make this folder for namespaces: %s", NETNS_FOLDER,
			       strerror(-r));
	fd = open(path_of(name, path), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0 && errno == EEXIST)
		return err_set(err, ERR_HOST, EEXIST,
			       "namespace %s: the name is taken; 'tare clean' removes what a killed run left, else "
			       "'ip netns delete %s'",
			       name, name);
	if (fd < 0)
		return err_set(err, ERR_HOST, errno, "namespace %s: cannot make %s: %s", name, path, strerror(errno));
	close(fd);
	r = create_at(path, ret, &what);
	if (r == 0) {
		strcpy(ret->name, name);
		return 0;
	}
	netns_close(ret);
	netns_unpin(name);
	return err_set(err, ERR_HOST, -r, "namespace %s: cannot %s: %s%s", name, what, strerror(-r),
		       r == -EPERM ? "; run as root, or where user namespaces are allowed" : "");
}

int netns_open(const char *name, struct netns *ret, struct err *err)
{
	char path[NETNS_NAME_BYTES + sizeof(NETNS_FOLDER) + 1];
	int back, r;

	*ret = NETNS_NONE;
	if (strlen(name) >= NETNS_NAME_BYTES)
		return err_set(err, ERR_HOST, ENAMETOOLONG, "namespace %s: a name has up to %d letters", name,
			       NETNS_NAME_BYTES - 1);
	ret->fd = open(path_of(name, path), O_RDONLY | O_CLOEXEC);
	if (ret->fd < 0)
		return err_set(err, ERR_HOST, errno, "namespace %s: %s: %s", name, path, strerror(errno));
	strcpy(ret->name, name);
	r = netns_enter(ret, &back, err);
	if (r < 0)
		netns_close(ret);
	else
		netns_leave(back);
	return r;
}

void netns_close(struct netns *ns)
{
	if (ns->fd >= 0)
		close(ns->fd);
	*ns = NETNS_NONE;
}

int netns_unpin(const char *name)
{
	char path[NETNS_NAME_BYTES + sizeof(NETNS_FOLDER) + 1];

	if (strlen(name) >= NETNS_NAME_BYTES)
		return -ENAMETOOLONG;
	path_of(name, path);
	/* May fail: killed before it was bound, there is only the file. What is still bound cannot be unlinked. */
	umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
	return unlink(path) < 0 ? -errno : 0;
}

void netns_destroy(struct netns *ns)
{
	if (ns->fd >= 0)
		netns_unpin(ns->name);
	netns_close(ns);
}

int netns_enter(const struct netns *ns, int *ret_back, struct err *err)
{
	int r;

	*ret_back = -1;
	if (!ns)
		return 0;
	*ret_back = open(OWN_NET, O_RDONLY | O_CLOEXEC);
	if (*ret_back >= 0 && setns(ns->fd, CLONE_NEWNET) == 0)
		return 0;
	r = -errno;
	if (*ret_back >= 0)
		close(*ret_back);
	*ret_back = -1;
	return err_set(err, ERR_HOST, -r, "namespace %s: cannot enter it: %s", ns->name, strerror(-r));
}

void netns_leave(int back)
{
	if (back < 0)
		return;
	TARE_ASSERT(setns(back, CLONE_NEWNET) == 0);
	close(back);
}

int netns_socket(const struct netns *ns, int family, int type, int protocol, struct err *err)
{
	int back, fd, r = netns_enter(ns, &back, err);

	if (r < 0)
		return r;
	fd = socket(family, type | SOCK_CLOEXEC, protocol);
	r = errno;
	netns_leave(back);
	return fd >= 0 ? fd
		       : err_set(err, ERR_HOST, r, "namespace %s: cannot open a socket: %s",
				 ns ? ns->name : "of this process", strerror(r));
}
