/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

#include "lab/cpus.h"
#include "probe/transit_private.h"

/*
 * One thread sends, and in the time between reads what the taps have kept: with two CPUs the switch has the other one
 * to itself. Probes far apart are slept for, and then nothing is read until there is much of it.
 */
enum {
	SPIN_MOST_NS = 200000,      /* probes closer than this are waited for awake, if there is a second CPU */
	READ_A_LOOK = 4,            /* frames that are read between two looks at the clock */
	READ_EVERY_NS = 1000000000, /* where the loop sleeps */
	WRITTEN_OFF_NS = 100000000,
	ROOM_STEP_NS = 100000,
};

static bool stopped(const struct transit_state *s)
{
	return atomic_load_explicit(&s->stop, memory_order_relaxed) ||
	       (s->config->interrupted && atomic_load_explicit(s->config->interrupted, memory_order_relaxed));
}

void transit_loop_stop(struct transit_state *s)
{
	atomic_store_explicit(&s->stop, true, memory_order_relaxed);
	eventfd_write(s->stop_fd, 1);
}

/* --- what the taps saw --- */

static void take(void *context, const struct tap_frame *frame)
{
	struct collector *c = context;
	struct transit_event *e;
	int32_t at;

	if (c->forget_every && --c->forget_in == 0) {
		c->forget_in = c->forget_every;
		return;
	}
	if (c->events.count == c->events.capacity) {
		c->events.overflow++;
		return;
	}
	c->taken++;
	e = &c->events.items[c->events.count++];
	*e = (struct transit_event){ .stamp_ns = frame->stamp_ns };
	e->status = (uint8_t)id_read(&c->reader, frame->bytes, frame->kept_bytes, &e->id);
	/* headers only, and they are there */
	at = instrument_find(frame->bytes, frame->length_bytes);
	if (at >= 0) {
		struct instrument_header h;

		instrument_read(frame->bytes + at, &h);
		e->instrument = 1;
		e->p4_in_us = h.ingress_us;
		e->p4_out_us = h.egress_us;
	}
	if (e->status == ID_OK && e->id >= c->newest && e->id < c->events.capacity)
		c->newest = e->id + 1;
	if (e->status == ID_WARM_UP) {
		c->warm_up++;
		c->unstamped += frame->stamp_ns == 0;
	}
}

void transit_collect(struct transit_state *s)
{
	for (int p = 0; p < PLACES; p++)
		tap_take(&s->at[p].tap, UINT32_MAX, take, &s->at[p]);
}

/* --- sending --- */

int transit_send(struct transit_state *s, uint32_t sequence, uint16_t tag)
{
	store_be32(s->frame + s->sequence_at, sequence);
	id_native_write(s->frame + s->id_at, sequence, tag);
	return send(s->fd, s->frame, s->config->frame_bytes, 0) < 0 ? -errno : 0;
}

static void sleep_for(const struct transit_state *s, int64_t due_ns)
{
	const struct itimerspec due = { .it_value = { .tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000 } };
	struct pollfd fds[2] = { { .fd = s->timer_fd, .events = POLLIN }, { .fd = s->stop_fd, .events = POLLIN } };

	if (timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &due, NULL) == 0)
		while (poll(fds, 2, -1) < 0 && errno == EINTR)
			;
}

static void read_some(struct transit_state *s, uint32_t turn)
{
	struct collector *c = &s->at[turn % PLACES];

	tap_take(&c->tap, READ_A_LOOK, take, c);
}

static void wait_for(struct transit_state *s, int64_t due_ns)
{
	uint32_t turn = 0;

	if (!s->spins) {
		if (clock_ns(CLOCK_MONOTONIC) < due_ns)
			sleep_for(s, due_ns);
		return;
	}
	while (clock_ns(CLOCK_MONOTONIC) < due_ns && !stopped(s))
		read_some(s, turn++);
}

/*
 * After a hole what is overdue goes out as fast as it can, and that must not overrun the switch: with so many on their
 * way, the next one waits until one of them comes through or is long gone. It is late then, and its lateness is recorded.
 */
static void wait_for_room(struct transit_state *s, uint32_t next)
{
	const uint32_t most = s->config->in_flight;
	int64_t off_ns;

	if (most == 0 || next < most || s->at[AT_RX].newest > next - most)
		return;
	off_ns = s->rows[next - most].tx_ns + WRITTEN_OFF_NS;
	for (transit_collect(s); s->at[AT_RX].newest <= next - most && !stopped(s); transit_collect(s)) {
		if (clock_ns(CLOCK_REALTIME) - s->start_real_ns >= off_ns)
			break;
		/* the switch may need this very CPU */
		if (!s->spins)
			sleep_for(s, clock_ns(CLOCK_MONOTONIC) + ROOM_STEP_NS);
	}
}

static bool send_row(struct transit_state *s, uint32_t i)
{
	struct transit *row = &s->rows[i];
	int rc;

	row->seq = row->packet = i;
	row->sched_ns = i * s->config->interval_ns;
	row->tx_ns = clock_ns(CLOCK_REALTIME) - s->start_real_ns;
	rc = transit_send(s, i, s->tag);
	/* without room for it, it was lost on its way: it was sent */
	if (rc < 0 && rc != -ENOBUFS && rc != -EAGAIN) {
		s->error = -rc;
		return false;
	}
	s->sent = i + 1;
	return true;
}

bool transit_spins(int64_t interval_ns)
{
	cpu_set_t allowed;

	return interval_ns < SPIN_MOST_NS && (cpus_allowed(&allowed, NULL) < 0 || CPU_COUNT(&allowed) > 1);
}

/*
 * Reads where waiting does not, once a second; and sees that the last probe that came through was sent longer ago than
 * losses explain. Then the rest would be sent for nothing.
 */
static bool fell_silent(struct transit_state *s, uint32_t next)
{
	int64_t now_ns = s->rows[next].tx_ns, since_ns;

	if (now_ns - s->looked_ns < READ_EVERY_NS)
		return false;
	s->looked_ns = now_ns;
	transit_collect(s);
	since_ns = s->at[AT_RX].newest ? s->rows[s->at[AT_RX].newest - 1].tx_ns : 0;
	s->silent_ns = now_ns - since_ns;
	return s->silent_ns >
	       s->config->deadline_ns + TRANSIT_SILENT_NS + TRANSIT_SILENT_PROBES * s->config->interval_ns;
}

void *transit_loop(void *state)
{
	struct transit_state *s = state;
	const struct transit_config *c = s->config;

	prctl(PR_SET_TIMERSLACK, 1UL);
	s->got = protect_thread(&s->protection);
	for (uint32_t i = 0; i < c->count; i++) {
		wait_for(s, s->start_ns + i * c->interval_ns);
		wait_for_room(s, i);
		if (stopped(s) || !send_row(s, i))
			break;
		s->silent = fell_silent(s, i);
		if (s->silent)
			break;
	}
	s->last_tx_ns = clock_ns(CLOCK_MONOTONIC);
	eventfd_write(s->done_fd, 1);
	return NULL;
}
