/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/cpus.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Digits; false: none, or no CPU that a set holds. */
static bool number(const char **at, unsigned *ret)
{
	unsigned value = 0, digits = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++, digits++) {
		value = value * 10 + (unsigned)(**at - '0');
		if (value >= CPU_SETSIZE)
			return false;
	}
	*ret = value;
	return digits > 0;
}

static bool range(const char **at, cpu_set_t *set)
{
	unsigned from, to;

	if (!number(at, &from))
		return false;
	to = from;
	if (**at == '-') {
		(*at)++;
		if (!number(at, &to) || to < from)
			return false;
	}
	for (; from <= to; from++)
		CPU_SET(from, set);
	return true;
}

int cpus_parse(const char *what, const char *text, cpu_set_t *ret, struct err *err)
{
	const char *at = text;
	cpu_set_t set;
	bool good;

	CPU_ZERO(&set);
	do
		good = range(&at, &set);
	while (good && *at == ',' && at++);
	if (!good || *at)
		return err_set(err, ERR_USAGE, EINVAL, "%s: '%.64s' is no list of CPUs; expected such as 0-3,6", what,
			       text);
	*ret = set;
	return 0;
}

const char *cpus_text(const cpu_set_t *cpus, char *buf, size_t size_bytes)
{
	size_t n = 0;

	snprintf(buf, size_bytes, "none");
	for (int from = 0, to; from < CPU_SETSIZE; from = to + 1) {
		char part[32];
		size_t length;

		to = from;
		if (!CPU_ISSET(from, cpus))
			continue;
		while (to + 1 < CPU_SETSIZE && CPU_ISSET(to + 1, cpus))
			to++;
		length = (size_t)snprintf(part, sizeof(part), to > from ? "%s%d-%d" : "%s%d", n ? "," : "", from, to);
		if (n + length >= size_bytes)
			break;
		memcpy(buf + n, part, length + 1);
		n += length;
	}
	return buf;
}

int cpus_allowed(cpu_set_t *ret, struct err *err)
{
	/* of the main thread: the calling one may be pinned */
	return sched_getaffinity(getpid(), sizeof(*ret), ret) < 0
		       ? err_set(err, ERR_HOST, errno, "cannot ask which CPUs this process may use: %s",
				 strerror(errno))
		       : 0;
}
