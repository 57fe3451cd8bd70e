/* SPDX-License-Identifier: Apache-2.0 */
#include "netns.h"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SKIP = 77 };

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		fprintf(stderr, "SKIP: needs root, or user namespaces: %s cannot be written\n", path);
		exit(SKIP);
	}
	close(fd);
}

void netns_enter(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWNET) == 0)
		return;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		fprintf(stderr, "SKIP: needs root, or user namespaces\n");
		exit(SKIP);
	}
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
}

void netns_run(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command) != 0) {
		fprintf(stderr, "failed: %s\n", command);
		exit(1);
	}
}

/* The kernel takes a little to see that a cable has both ends up, and drops frames until then. */
static void wait_running(const char *name)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { 0 };

	strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
	for (int tries = 0; tries < 5000; tries++) {
		if (ioctl(fd, SIOCGIFFLAGS, &request) == 0 && request.ifr_flags & IFF_RUNNING) {
			close(fd);
			return;
		}
		poll(NULL, 0, 1);
	}
	fprintf(stderr, "%s does not come up\n", name);
	exit(1);
}

void netns_veth(const char *a, const char *b)
{
	static const char ipv6_off[] = "/proc/sys/net/ipv6/conf/default/disable_ipv6";

	/* no addresses of IPv6: nothing but what the test sends */
	netns_run("if [ -e %s ]; then echo 1 >%s; fi", ipv6_off, ipv6_off);
	netns_run("ip link add %s type veth peer name %s", a, b);
	netns_run("ip link set %s up && ip link set %s up", a, b);
	wait_running(a);
	wait_running(b);
}
