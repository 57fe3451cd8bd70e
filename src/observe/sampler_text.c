/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "observe/sampler_private.h"

/* Files of /proc, parsed by hand: scanf takes longer than the kernel does to write them. */

long read_again(int fd, char *buf, size_t size_bytes)
{
	ssize_t n = pread(fd, buf, size_bytes - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

/* The next number of this line, signs and all. NULL: there is none. */
static const char *number(const char *p, int64_t *ret)
{
	bool negative = false;
	uint64_t value = 0;

	while (*p == ' ' || *p == '\t')
		p++;
	if (*p == '-') {
		negative = true;
		p++;
	}
	if (*p < '0' || *p > '9')
		return NULL;
	for (; *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	*ret = negative ? -(int64_t)value : (int64_t)value;
	return p;
}

static unsigned numbers(const char *p, int64_t *ret, unsigned most)
{
	unsigned n = 0;

	while (n < most && (p = number(p, &ret[n])) != NULL)
		n++;
	return n;
}

const char *net_dev_line(const char *text, char name[static 64], int64_t v[static INTERFACE_COLUMNS])
{
	enum { RX_BYTES = 0, RX_PACKETS = 1, RX_DROPPED = 3, TX_BYTES = 8, TX_PACKETS = 9, TX_DROPPED = 11, FIELDS };
	int64_t field[FIELDS];

	while (*text) {
		const char *line = text + strspn(text, " "), *end = strchr(text, '\n'), *colon = strchr(line, ':');
		size_t length;

		text = end ? end + 1 : text + strlen(text);
		length = colon && (!end || colon < end) ? (size_t)(colon - line) : 0;
		if (length == 0 || length >= 64 || numbers(colon + 1, field, FIELDS) < FIELDS)
			continue; /* one of the two headings */
		memcpy(name, line, length);
		name[length] = '\0';
		v[INTERFACE_RX_PACKETS] = field[RX_PACKETS];
		v[INTERFACE_RX_BYTES] = field[RX_BYTES];
		v[INTERFACE_RX_DROPPED] = field[RX_DROPPED];
		v[INTERFACE_TX_PACKETS] = field[TX_PACKETS];
		v[INTERFACE_TX_BYTES] = field[TX_BYTES];
		v[INTERFACE_TX_DROPPED] = field[TX_DROPPED];
		return text;
	}
	return NULL;
}

bool stat_cpu_line(const char *text, long ticks_hz, int64_t v[static MACHINE_COLUMNS])
{
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
	const int64_t tick_ns = 1000000000 / ticks_hz;
	int64_t field[FIELDS];

	if (strncmp(text, "cpu ", 4) != 0 || numbers(text + 4, field, FIELDS) < FIELDS)
		return false;
	v[MACHINE_BUSY] = (field[USER] + field[NICE] + field[SYSTEM] + field[IRQ] + field[SOFTIRQ]) * tick_ns;
	v[MACHINE_IDLE] = (field[IDLE] + field[IOWAIT]) * tick_ns;
	v[MACHINE_STEAL] = field[STEAL] * tick_ns;
	return true;
}

int64_t pressure_total_ns(const char *text)
{
	const char *end = strchr(text, '\n'), *total = strstr(text, "total=");
	int64_t us;

	if (strncmp(text, "some ", 5) != 0 || !total || (end && total > end) || !number(total + 6, &us))
		return SAMPLER_NONE;
	return us * 1000;
}

bool process_stat(const char *text, long page_bytes, int64_t v[static PROCESS_COLUMNS])
{
	/* numbered from the field behind the state */
	enum { MINOR = 6, MAJOR = 8, THREADS = 16, RSS = 20, FIELDS };
	const char *p = strrchr(text, ')'); /* a name may hold anything, brackets too */
	int64_t field[FIELDS];

	if (!p || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X' || !p[2] || numbers(p + 3, field, FIELDS) < FIELDS)
		return false;
	v[PROCESS_MINOR] = field[MINOR];
	v[PROCESS_MAJOR] = field[MAJOR];
	v[PROCESS_THREADS] = field[THREADS];
	v[PROCESS_RSS] = field[RSS] * page_bytes;
	return true;
}

bool schedstat_line(const char *text, int64_t v[static THREAD_COLUMNS])
{
	return numbers(text, v, THREAD_COLUMNS) == THREAD_COLUMNS;
}

int64_t keyed_number(const char *text, const char *key)
{
	const size_t length = strlen(key);
	int64_t value;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length] == ':' && number(line + length + 1, &value))
			return value;
	}
	return SAMPLER_NONE;
}
