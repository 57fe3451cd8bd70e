/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_SWITCH_CHILD_H
#define TARE_TESTS_SWITCH_CHILD_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A switch without ports as a child process: simple_switch_grpc, or tare-switch, which takes the same flags. */
struct switch_child {
	pid_t pid;
	char address[32];
};

/* A port that nobody has at this moment. */
static inline unsigned switch_child_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool good = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
		    getsockname(fd, (struct sockaddr *)&a, &length) == 0;

	close(fd);
	return good ? ntohs(a.sin_port) : 0;
}

static inline bool switch_child_start(struct switch_child *child, const char *path)
{
	char thrift[16];

	snprintf(child->address, sizeof(child->address), "127.0.0.1:%u", switch_child_port());
	snprintf(thrift, sizeof(thrift), "%u", switch_child_port());
	child->pid = fork();
	if (child->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(126);
		execlp(path, path, "--no-p4", "--device-id", "1", "--thrift-port", thrift, "--log-level", "off", "--",
		       "--grpc-server-addr", child->address, (char *)NULL);
		_exit(127);
	}
	return child->pid > 0;
}

static inline void switch_child_kill(struct switch_child *child)
{
	if (child->pid <= 0)
		return;
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	child->pid = 0;
}

#endif
