/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/acting.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "packet/frame.h"
#include "packet/probe_id.h"
#include "probe/tap.h"

enum {
	FRAME_BYTES = 64,
	STAMPS_BYTES = 12, /* of the instrument header, before its sequence */
	SEQUENCE_BYTES = 4,
	FOLLOW = 8, /* packets more once an entry has been seen to act: is one of them lost? */
	TAG = 0x2ac7,
	PRIME_STEP_NS = 5000000,
	PRIME_LIMIT_NS = 1500000000,
	PAUSE_NS = 20000,     /* shorter waits are spent awake */
	EARLIER = 2,          /* watched entries that packets are sent for before their turn comes */
	LINGER_NS = 20000000, /* after the last packet, for what is still inside */
	PACKETS_MOST = 4000000,
	SLOTS = 4096, /* of each tap */
};

#define NO_ENTRY UINT32_MAX

struct packet {
	uint32_t watched;
	int64_t in_ns, out_ns; /* CLOCK_REALTIME; 0: not seen there */
};

struct watched {
	uint32_t turn;
	uint32_t follow; /* packets sent since it was seen */
	bool seen, done;
	struct acting_seen result;
	uint8_t frame[FRAME_BYTES];
};

struct acting {
	struct acting_config config;
	struct watched *watched;
	struct packet *packets; /* by sequence */
	uint32_t capacity, sent;
	struct tap in, out;
	struct id_reader in_reader, out_reader;
	uint32_t sequence_at, id_at;
	int fd;
	uint64_t primed_in, primed_out; /* packets of priming, seen with a stamp */
	struct clock_pair {
		int64_t offset_ns, u_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	} before, after;
	pthread_t thread;
	bool running;
	atomic_uint advance;
	atomic_llong end_ns; /* of watching; INT64_MAX: not known yet */
	/* the thread's */
	uint32_t due;         /* entries below may be on their way */
	uint32_t first, last; /* [first, last) are in their time, the done ones among them passed over */
	uint32_t next;        /* whose packet is due */
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* The narrowest of a few brackets. */
static struct clock_pair clocks_read(void)
{
	struct clock_pair best = { .u_ns = INT64_MAX };

	for (int i = 0; i < 16; i++) {
		int64_t a = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME), b = clock_ns(CLOCK_MONOTONIC);

		if ((b - a) / 2 + 1 < best.u_ns)
			best = (struct clock_pair){ real - a - (b - a) / 2, (b - a) / 2 + 1 };
	}
	return best;
}

/* --- frames --- */

static int frame_make(struct acting *a, uint64_t key, uint8_t *ret, struct err *err)
{
	const struct link_end *at = &a->config.line->a.port;
	struct frame_template t;

	frame_template_default(&t, FRAME_KIND_IPV4, FRAME_BYTES);
	a->sequence_at = frame_template_headers(&t) + STAMPS_BYTES;
	a->id_at = a->sequence_at + SEQUENCE_BYTES;
	memcpy(t.source, at->mac, 6);
	memcpy(t.destination, a->config.line->switches[0].port[0].mac, 6);
	t.ipv4_source = a->config.line->a.ipv4;
	if (a->config.bits == 32)
		t.ipv4_destination = (uint32_t)key;
	else
		store_be48(t.destination, key);
	return frame_build(&t, ret, err);
}

static int send_frame(struct acting *a, const uint8_t *frame, uint32_t sequence, uint16_t tag)
{
	uint8_t bytes[FRAME_BYTES];

	memcpy(bytes, frame, sizeof(bytes));
	store_be32(bytes + a->sequence_at, sequence);
	id_native_write(bytes + a->id_at, sequence, tag);
	return send(a->fd, bytes, sizeof(bytes), 0) < 0 ? -errno : 0;
}

/* --- what the taps see --- */

static void take_in(void *context, const struct tap_frame *frame)
{
	struct acting *a = context;
	uint32_t id;
	enum id_status status = id_read(&a->in_reader, frame->bytes, frame->kept_bytes, &id);

	a->primed_in += status == ID_WARM_UP && frame->stamp_ns != 0;
	if (status == ID_OK && id < a->sent && !a->packets[id].in_ns)
		a->packets[id].in_ns = frame->stamp_ns;
}

static void take_out(void *context, const struct tap_frame *frame)
{
	struct acting *a = context;
	uint32_t id;
	enum id_status status = id_read(&a->out_reader, frame->bytes, frame->kept_bytes, &id);

	a->primed_out += status == ID_WARM_UP && frame->stamp_ns != 0;
	if (status != ID_OK || id >= a->sent || a->packets[id].out_ns)
		return;
	a->packets[id].out_ns = frame->stamp_ns;
	a->watched[a->packets[id].watched].seen = true;
}

static void drain(struct acting *a)
{
	tap_take(&a->in, SLOTS, take_in, a);
	tap_take(&a->out, SLOTS, take_out, a);
}

/* --- the thread --- */

/* The next entry whose packet is due, round and round those in their time; NO_ENTRY: none is. */
static uint32_t next_entry(struct acting *a)
{
	unsigned advance = atomic_load_explicit(&a->advance, memory_order_relaxed);
	uint32_t due = a->due;

	while (due < a->config.count && a->watched[due].turn < advance)
		due++;
	a->due = due;
	a->last = a->config.count - due > EARLIER ? due + EARLIER : a->config.count;
	while (a->first < a->last && a->watched[a->first].done)
		a->first++;
	for (uint32_t tried = a->first; tried < a->last; tried++) {
		uint32_t i = a->next < a->first || a->next >= a->last ? a->first : a->next;

		a->next = i + 1;
		if (!a->watched[i].done)
			return i;
	}
	return NO_ENTRY;
}

static void send_next(struct acting *a)
{
	uint32_t i = next_entry(a);
	struct watched *w;

	if (i == NO_ENTRY || a->sent == a->capacity)
		return;
	w = &a->watched[i];
	a->packets[a->sent] = (struct packet){ .watched = i };
	a->sent++;
	(void)send_frame(a, w->frame, a->sent - 1, TAG);
	if (w->seen && ++w->follow >= FOLLOW)
		w->done = true;
}

static void pause_until(int64_t due_ns)
{
	const struct timespec at = { .tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000 };

	if (due_ns - clock_ns(CLOCK_MONOTONIC) >= PAUSE_NS)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	else
		while (clock_ns(CLOCK_MONOTONIC) < due_ns)
			__builtin_ia32_pause();
}

static bool all_done(const struct acting *a)
{
	return a->first == a->config.count;
}

static void *watch_all(void *context)
{
	struct acting *a = context;
	const double period_ns = 1e9 / a->config.rate_pps;
	int64_t start_ns = clock_ns(CLOCK_MONOTONIC), now_ns = start_ns;
	uint64_t slot = 0;

	prctl(PR_SET_TIMERSLACK, 1UL);
	while (!all_done(a) && now_ns < atomic_load_explicit(&a->end_ns, memory_order_relaxed)) {
		send_next(a);
		drain(a);
		/* on the grid of start + n * period; what a hole of the host has swallowed is not sent at once */
		now_ns = clock_ns(CLOCK_MONOTONIC);
		slot = (uint64_t)((double)(now_ns - start_ns) / period_ns) + 1;
		pause_until(start_ns + (int64_t)((double)slot * period_ns));
		now_ns = clock_ns(CLOCK_MONOTONIC);
	}
	pause_until(clock_ns(CLOCK_MONOTONIC) + LINGER_NS);
	drain(a);
	return NULL;
}

/* --- before and after --- */

/* The kernel begins to stamp some time after it was asked to, and a switch to forward some time after it listens. */
static int prime(struct acting *a, struct err *err)
{
	int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + PRIME_LIMIT_NS;
	uint8_t frame[FRAME_BYTES];
	uint32_t sent = 0;
	int rc = frame_make(a, a->config.prime_key, frame, err);

	while (rc >= 0 && (a->primed_in == 0 || a->primed_out == 0)) {
		if (clock_ns(CLOCK_MONOTONIC) > end_ns)
			return err_set(err, ERR_RESULT, ETIMEDOUT,
				       "no packet came through an entry that had been inserted: of %" PRIu32
				       " sent, %" PRIu64 " were seen at %s, %" PRIu64 " at %s",
				       sent, a->primed_in, a->in.where, a->primed_out, a->out.where);
		rc = send_frame(a, frame, sent++, TAG | ID_TAG_WARM_UP);
		if (rc < 0)
			return err_set(err, ERR_HOST, -rc, "cannot send at eth0 of host a: %s", strerror(-rc));
		pause_until(clock_ns(CLOCK_MONOTONIC) + PRIME_STEP_NS);
		drain(a);
	}
	return rc < 0 ? rc : 0;
}

static int open_sender(struct acting *a, struct err *err)
{
	const struct link_end *at = &a->config.line->a.port;
	const struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_ifindex = (int)at->index };

	a->fd = netns_socket(at->netns, AF_PACKET, SOCK_RAW, 0, err);
	if (a->fd < 0)
		return a->fd;
	return bind(a->fd, (const struct sockaddr *)&address, sizeof(address)) < 0
		       ? err_set(err, ERR_HOST, errno, "cannot send at %s: %s", at->name, strerror(errno))
		       : 0;
}

static int make_room(struct acting *a, struct err *err)
{
	double packets = a->config.rate_pps * (double)a->config.room_ns / 1e9 + 1;

	a->capacity = packets < PACKETS_MOST ? (uint32_t)packets : PACKETS_MOST;
	a->watched = calloc(a->config.count, sizeof(*a->watched));
	a->packets = malloc(a->capacity * sizeof(*a->packets));
	return a->watched && a->packets
		       ? 0
		       : err_set(err, ERR_HOST, ENOMEM, "out of memory for %" PRIu32 " packets", a->capacity);
}

static void reader_init(struct id_reader *reader, const struct acting *a)
{
	id_reader_init(reader, ID_NATIVE, TAG);
	id_reader_hint(reader, a->id_at);
}

static int open_all(struct acting *a, struct err *err)
{
	const struct lab_switch *sw = &a->config.line->switches[0];
	int rc = make_room(a, err);

	for (uint32_t i = 0; rc == 0 && i < a->config.count; i++) {
		a->watched[i].turn = a->config.turns[i];
		rc = frame_make(a, a->config.keys[i], a->watched[i].frame, err);
	}
	reader_init(&a->in_reader, a);
	reader_init(&a->out_reader, a);
	if (rc == 0)
		rc = tap_open(&sw->port[0], TAP_IN, TAP_PROBES, SLOTS, &a->in, err);
	if (rc == 0)
		rc = tap_open(&sw->port[1], TAP_OUT, TAP_PROBES, SLOTS, &a->out, err);
	if (rc == 0)
		rc = open_sender(a, err);
	return rc;
}

int acting_start(const struct acting_config *config, struct acting **ret, struct err *err)
{
	struct acting *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	a->config = *config;
	a->in = a->out = TAP_NONE;
	a->fd = -1;
	atomic_store(&a->end_ns, INT64_MAX);
	rc = open_all(a, err);
	if (rc == 0)
		rc = prime(a, err);
	a->config.keys = NULL;
	a->config.turns = NULL;
	a->before = clocks_read();
	if (rc == 0) {
		rc = -pthread_create(&a->thread, NULL, watch_all, a);
		a->running = rc == 0;
		if (rc < 0)
			err_set(err, ERR_HOST, -rc, "cannot start a thread: %s", strerror(-rc));
	}
	if (rc < 0) {
		acting_destroy(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void acting_advance(struct acting *a, uint32_t turn)
{
	atomic_store_explicit(&a->advance, turn, memory_order_relaxed);
}

static void results_make(struct acting *a)
{
	for (uint32_t i = 0; i < a->config.count; i++)
		a->watched[i].result = (struct acting_seen){ ACTING_NONE, ACTING_NONE, 0 };
	for (uint32_t p = 0; p < a->sent; p++) {
		const struct packet *packet = &a->packets[p];
		struct acting_seen *r = &a->watched[packet->watched].result;

		if (packet->in_ns == 0)
			continue; /* one that never came to the switch says nothing of it */
		if (packet->out_ns == 0 && r->high_ns == ACTING_NONE)
			r->low_ns = packet->in_ns - a->before.offset_ns;
		else if (packet->out_ns == 0)
			r->lost++;
		else if (r->high_ns == ACTING_NONE)
			r->high_ns = packet->out_ns - a->before.offset_ns;
	}
}

void acting_finish(struct acting *a)
{
	if (!a->running)
		return;
	acting_advance(a, UINT32_MAX);
	atomic_store(&a->end_ns, clock_ns(CLOCK_MONOTONIC) + a->config.limit_ns);
	pthread_join(a->thread, NULL);
	a->running = false;
	a->after = clocks_read();
	results_make(a);
}

uint32_t acting_count(const struct acting *a)
{
	return a->config.count;
}

uint32_t acting_turn(const struct acting *a, uint32_t i)
{
	return a->watched[i].turn;
}

void acting_result(const struct acting *a, uint32_t i, struct acting_seen *ret)
{
	*ret = a->watched[i].result;
	/* none was forwarded: then the last that was not is no bound of anything */
	if (ret->high_ns == ACTING_NONE)
		ret->low_ns = ACTING_NONE;
}

double acting_clock_u_ns(const struct acting *a)
{
	int64_t drift = a->after.offset_ns - a->before.offset_ns;

	return (double)(a->before.u_ns + a->after.u_ns + (drift < 0 ? -drift : drift));
}

uint64_t acting_sent(const struct acting *a)
{
	return a->sent;
}

void acting_destroy(struct acting *a)
{
	if (!a)
		return;
	if (a->running) {
		atomic_store(&a->end_ns, 0);
		pthread_join(a->thread, NULL);
	}
	tap_close(&a->in);
	tap_close(&a->out);
	if (a->fd >= 0)
		close(a->fd);
	free(a->watched);
	free(a->packets);
	free(a);
}
