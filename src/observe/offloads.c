/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "observe/hostcheck_private.h"

/* What merges or splits frames on their way: a probe must arrive as it was sent. -1: the port does not say. */
static int offload_get(int fd, const char *port, unsigned command)
{
	struct ethtool_value value = { .cmd = command };
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", port);
	request.ifr_data = (void *)&value;
	return ioctl(fd, SIOCETHTOOL, &request) < 0 ? -1 : value.data != 0;
}

static void port_check(const struct checking *to, int fd, const char *port)
{
	static const struct {
		const char *name;
		unsigned command;
	} offloads[] = { { "tso", ETHTOOL_GTSO }, { "gso", ETHTOOL_GGSO }, { "gro", ETHTOOL_GGRO } };
	char text[96] = "";
	int on = 0, known = 0;

	for (size_t i = 0; i < sizeof(offloads) / sizeof(offloads[0]); i++) {
		int state = offload_get(fd, port, offloads[i].command);
		size_t n = strlen(text);

		if (state < 0)
			continue;
		known++;
		on += state;
		snprintf(text + n, sizeof(text) - n, "%s%s %s", n ? ", " : "", offloads[i].name, state ? "on" : "off");
	}
	if (known)
		check_report(to, "offloads", on ? HOST_WEAK : HOST_GOOD,
			     on ? "only if this port is measured: ethtool -K PORT tso off gso off gro off" : "",
			     "%s: %s", port, text);
}

void offloads_check(const struct checking *to)
{
	struct if_nameindex *ports = if_nameindex();
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (struct if_nameindex *p = ports; fd >= 0 && p && p->if_index; p++) {
		char device[64];

		snprintf(device, sizeof(device), "/sys/class/net/%s/device", p->if_name);
		if (access(device, F_OK) == 0)
			port_check(to, fd, p->if_name);
	}
	if (fd >= 0)
		close(fd);
	if (ports)
		if_freenameindex(ports);
}
