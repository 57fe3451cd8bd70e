/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/lock.h"

enum { UP_LIMIT_MS = 5000, GRACE_MS = 2000, PREFIX_BITS = 16 };

/* 10.0.n.1 */
static uint32_t host_ipv4(uint32_t n)
{
	return 10u << 24 | n << 8 | 1;
}

static void host_plan(struct lab_host *h, uint32_t n)
{
	h->netns = NETNS_NONE;
	h->ipv4 = host_ipv4(n);
	h->port = (struct link_end){ .netns = &h->netns, .name = "eth0", .mac = { 2, 0x54, 0, 0, 0, (uint8_t)n } };
}

static void switch_plan(struct lab_switch *s, uint32_t n)
{
	s->netns = NETNS_NONE;
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t number = (uint8_t)(i + 1);

		s->port[i] = (struct link_end){ .netns = &s->netns, .mac = { 2, 0x54, 0, 1, (uint8_t)n, number } };
		snprintf(s->port[i].name, sizeof(s->port[i].name), "p%u", number);
	}
}

static void plan(struct lab_line *line, const struct lab_line_options *o)
{
	line->lock_fd = -1;
	snprintf(line->label, sizeof(line->label), "tare-%d-%u", (int)(o->owner ? o->owner : getpid()),
		 (unsigned)o->serial);
	line->switch_count = o->switches;
	line->mtu_bytes = o->mtu_bytes ? o->mtu_bytes : LAB_MTU_BYTES;
	host_plan(&line->a, 1);
	host_plan(&line->b, 2);
	for (uint32_t i = 0; i < o->switches; i++)
		switch_plan(&line->switches[i], i + 1);
}

static int place(const struct lab_line *line, const char *role, struct netns *ret, struct err *err)
{
	char name[NETNS_NAME_BYTES];

	snprintf(name, sizeof(name), "%s-%s", line->label, role);
	return netns_create(name, ret, err);
}

static int places(struct lab_line *line, struct err *err)
{
	int r = place(line, "a", &line->a.netns, err);

	for (uint32_t i = 0; r == 0 && i < line->switch_count; i++) {
		char role[16];

		snprintf(role, sizeof(role), "s%u", (unsigned)(i + 1));
		r = place(line, role, &line->switches[i].netns, err);
	}
	return r < 0 ? r : place(line, "b", &line->b.netns, err);
}

/* The end of a cable, counted from host a: a, 1 of switch 1, 2 of switch 1, ..., b. Cable c joins 2c and 2c + 1. */
static struct link_end *end_at(struct lab_line *line, uint32_t i)
{
	if (i == 0)
		return &line->a.port;
	if (i == 2 * line->switch_count + 1)
		return &line->b.port;
	return &line->switches[(i - 1) / 2].port[(i - 1) % 2];
}

static uint32_t end_count(const struct lab_line *line)
{
	return 2 * line->switch_count + 2;
}

static int cables(struct lab_line *line, struct err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < end_count(line); i += 2)
		r = link_create(end_at(line, i), end_at(line, i + 1), line->mtu_bytes, err);
	/* Before they are up: libpcap and the kernel's rings look at the offloads when they are opened. */
	for (uint32_t i = 0; r == 0 && i < end_count(line); i++)
		r = link_offloads_off(end_at(line, i), err);
	for (uint32_t i = 0; r == 0 && i < end_count(line); i++)
		r = link_up(end_at(line, i), err);
	return r;
}

static int host_settle(const struct lab_host *h, const struct lab_host *other, struct err *err)
{
	int r = link_address(&h->port, h->ipv4, PREFIX_BITS, err);

	return r < 0 ? r : link_neighbour(&h->port, other->ipv4, other->port.mac, err);
}

static int build(struct lab_line *line, struct err *err)
{
	int r = lab_lock_take(line->label, &line->lock_fd, err);

	if (r == 0)
		r = places(line, err);
	if (r == 0)
		r = cables(line, err);
	if (r == 0)
		r = host_settle(&line->a, &line->b, err);
	if (r == 0)
		r = host_settle(&line->b, &line->a, err);
	for (uint32_t i = 0; r == 0 && i < end_count(line); i++)
		r = link_wait_up(end_at(line, i), UP_LIMIT_MS, err);
	return r;
}

int lab_line_open(const struct lab_line_options *options, struct lab_line **ret, struct err *err)
{
	struct lab_line *line;
	int r;

	if (options->switches < 1 || options->switches > LAB_SWITCHES_MOST)
		return err_set(err, ERR_USAGE, EINVAL, "a line of %u switches: expected 1 to %d",
			       (unsigned)options->switches, LAB_SWITCHES_MOST);
	line = calloc(1, sizeof(*line));
	if (!line)
		return err_set(err, ERR_HOST, ENOMEM, "lab: out of memory");
	plan(line, options);
	r = build(line, err);
	if (r < 0) {
		lab_line_close(line);
		return r;
	}
	*ret = line;
	return 0;
}

int lab_line_check(const struct lab_line *line, struct err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < end_count(line); i++)
		r = link_check(end_at((struct lab_line *)line, i), err);
	return r;
}

void lab_line_close(struct lab_line *line)
{
	if (!line)
		return;
	for (uint32_t i = 0; i < line->switch_count; i++)
		process_ask_to_end(line->switches[i].process);
	for (uint32_t i = 0; i < line->switch_count; i++) {
		process_stop(line->switches[i].process, GRACE_MS);
		line->switches[i].process = NULL;
	}
	/* A cable goes with its namespace, but that lasts for as long as anybody's socket in it. */
	for (uint32_t i = 0; i < end_count(line); i += 2)
		if (end_at(line, i)->index)
			link_delete(end_at(line, i), NULL);
	netns_destroy(&line->a.netns);
	for (uint32_t i = 0; i < line->switch_count; i++)
		netns_destroy(&line->switches[i].netns);
	netns_destroy(&line->b.netns);
	lab_lock_drop(line->label, line->lock_fd);
	free(line);
}
