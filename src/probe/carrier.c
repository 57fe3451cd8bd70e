/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/carrier.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lab/topology.h"
#include "packet/frame.h"
#include "probe/protect.h"
#include "probe/tap.h"

enum {
	BURST = 32,
	SLEEP_LEAST_NS = 50000, /* frames due within it leave together: a timer is no finer */
	SPARE = 8,              /* a wake-up is late by so many at any rate */
	FCS_BYTES = 4,
};

struct carrier {
	struct carrier_config config;
	uint8_t frame[FRAME_MAX_BYTES];
	int fd;
	struct tap receiver;
	uint64_t received;
	pthread_t thread;
	bool running;
	int64_t start_ns; /* CLOCK_MONOTONIC of frame 0 */
	int64_t halt_ns;  /* of carrier_halt; 0: not yet */
	atomic_bool stop;
	atomic_ullong sent, refused;
	atomic_llong hole_ns;
};

static int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void sleep_until(int64_t at_ns)
{
	const struct timespec at = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static double period_ns(const struct carrier *c)
{
	return (c->config.frame_bytes + FCS_BYTES) * 8e9 / (double)c->config.rate_bps;
}

/* Frame i is due at start + i * period, in fixed point: the rate does not drift. */
static uint64_t due_by(const struct carrier *c, int64_t now_ns)
{
	uint64_t due = now_ns < c->start_ns ? 0 : (uint64_t)((double)(now_ns - c->start_ns) / period_ns(c)) + 1;

	return c->config.frames && due > c->config.frames ? c->config.frames : due;
}

static bool stopped(const struct carrier *c)
{
	return atomic_load_explicit(&c->stop, memory_order_relaxed);
}

static void send_some(struct carrier *c, uint64_t count)
{
	struct iovec part = { c->frame, c->config.frame_bytes };
	struct mmsghdr messages[BURST];

	for (unsigned i = 0; i < BURST; i++)
		messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };
	while (count > 0 && !stopped(c)) {
		unsigned n = count < BURST ? (unsigned)count : BURST;
		int took = sendmmsg(c->fd, messages, n, 0);

		/* What is not taken now is given up: the schedule goes on. */
		atomic_fetch_add_explicit(&c->sent, took > 0 ? (unsigned)took : 0, memory_order_relaxed);
		atomic_fetch_add_explicit(&c->refused, n - (took > 0 ? (unsigned)took : 0), memory_order_relaxed);
		count -= n;
	}
}

/*
 * What is overdue after a hole goes out at about twice the rate, not at once: the queues of a switch that takes the rate
 * must not overflow because the sender was kept from its CPU.
 */
static uint64_t most_at_once(const struct carrier *c)
{
	return (uint64_t)(2 * SLEEP_LEAST_NS / period_ns(c)) + SPARE;
}

/* Only the thread that sends writes it. */
static void note_hole(struct carrier *c, int64_t late_ns)
{
	if (late_ns > atomic_load_explicit(&c->hole_ns, memory_order_relaxed))
		atomic_store_explicit(&c->hole_ns, late_ns, memory_order_relaxed);
}

static void *send_all(void *context)
{
	const struct protection protection = { .wanted = PROTECT_FIFO, .sleeps = true };
	struct carrier *c = context;
	const uint64_t most = most_at_once(c);
	uint64_t next = 0;

	prctl(PR_SET_TIMERSLACK, 1UL);
	protect_thread(&protection);
	while (!stopped(c) && (!c->config.frames || next < c->config.frames)) {
		int64_t now_ns = monotonic_ns(), at_ns;
		uint64_t due = due_by(c, now_ns);

		if (due > next + most)
			due = next + most;
		if (due > next) {
			note_hole(c, now_ns - c->start_ns - (int64_t)((double)next * period_ns(c)));
			send_some(c, due - next);
			next = due;
		}
		at_ns = c->start_ns + (int64_t)((double)next * period_ns(c));
		now_ns = monotonic_ns();
		sleep_until(at_ns > now_ns + SLEEP_LEAST_NS ? at_ns : now_ns + SLEEP_LEAST_NS);
	}
	return NULL;
}

static int open_sender(struct carrier *c, struct err *err)
{
	const struct target_line *line = c->config.line;
	const struct link_end *at = &line->line->a.port;
	const struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_ifindex = (int)at->index };
	struct frame_template t;
	int rc;

	frame_template_default(&t, FRAME_KIND_UDP4, c->config.frame_bytes);
	memcpy(t.destination, line->destination_mac, 6);
	memcpy(t.source, at->mac, 6);
	t.ipv4_source = line->source_ipv4;
	t.ipv4_destination = line->destination_ipv4;
	t.port_destination = CARRIER_PORT;
	rc = frame_build(&t, c->frame, err);
	if (rc < 0)
		return rc;
	c->fd = netns_socket(at->netns, AF_PACKET, SOCK_RAW, 0, err);
	if (c->fd < 0)
		return c->fd;
	return bind(c->fd, (const struct sockaddr *)&address, sizeof(address)) < 0
		       ? err_set(err, ERR_HOST, errno, "cannot send at %s: %s", at->name, strerror(errno))
		       : 0;
}

static int start_thread(struct carrier *c, struct err *err)
{
	pthread_attr_t attributes;
	cpu_set_t cpus;
	int rc;

	pthread_attr_init(&attributes);
	if (c->config.cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(c->config.cpu, &cpus);
		pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	}
	c->start_ns = monotonic_ns();
	rc = pthread_create(&c->thread, &attributes, send_all, c);
	pthread_attr_destroy(&attributes);
	c->running = rc == 0;
	return rc ? err_set(err, ERR_HOST, rc, "cannot start the carrier: %s", strerror(rc)) : 0;
}

int carrier_start(const struct carrier_config *config, struct carrier **ret, struct err *err)
{
	struct carrier *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	c->config = *config;
	c->fd = -1;
	c->receiver = TAP_NONE;
	rc = tap_open(&config->line->line->b.port, TAP_IN, TAP_CARRIER, 0, &c->receiver, err);
	if (rc == 0)
		rc = open_sender(c, err);
	if (rc == 0)
		rc = start_thread(c, err);
	if (rc < 0) {
		carrier_stop(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void carrier_halt(struct carrier *c)
{
	c->halt_ns = monotonic_ns();
	atomic_store_explicit(&c->stop, true, memory_order_relaxed);
	if (c->running)
		pthread_join(c->thread, NULL);
	c->running = false;
}

void carrier_stop(struct carrier *c)
{
	if (!c)
		return;
	carrier_halt(c);
	if (c->fd >= 0)
		close(c->fd);
	tap_close(&c->receiver);
	free(c);
}

int carrier_counts(struct carrier *c, struct carrier_counts *ret, struct err *err)
{
	uint64_t seen, dropped;
	int64_t now_ns;
	int rc = tap_counts(&c->receiver, &seen, &dropped, err);

	if (rc < 0)
		return rc;
	c->received += seen;
	now_ns = monotonic_ns();
	*ret = (struct carrier_counts){
		.at_ns = now_ns,
		.due = due_by(c, c->halt_ns ? c->halt_ns : now_ns),
		.sent = atomic_load_explicit(&c->sent, memory_order_relaxed),
		.refused = atomic_load_explicit(&c->refused, memory_order_relaxed),
		.received = c->received,
		.hole_ns = atomic_load_explicit(&c->hole_ns, memory_order_relaxed),
	};
	return 0;
}

double carrier_bps(uint64_t frames, uint32_t frame_bytes, int64_t elapsed_ns)
{
	return elapsed_ns > 0 ? (double)frames * (frame_bytes + FCS_BYTES) * 8e9 / (double)elapsed_ns : 0;
}
