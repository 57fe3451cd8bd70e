/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A late schedule is caught up with frames at least this far apart (or half the schedule's own distance). */
#define SPACING_NS 5000.0
/*
 * Nothing arrived for so long, and the receivers were there for so many beats of theirs, while the limit holds the
 * sender back: what is out is lost. A receiver in a hole of the host is not there: waiting loses nothing.
 */
#define WRITE_OFF_NS 2e6
enum { WRITE_OFF_BEATS = 64 };
#define STUCK_NS 1e9

static double closest_ns(const struct stream *stream)
{
	double closest = 2 * SPACING_NS;

	for (uint32_t i = 1; i < stream->count; i++) {
		double apart = (double)(stream->send_ns[i] - stream->send_ns[i - 1]);

		if (apart < closest)
			closest = apart > 0 ? apart : 0;
	}
	return closest;
}

int sender_init(struct sender *s, const struct sender_setup *setup, struct err *err)
{
	const struct stream *stream = setup->stream;
	const struct tsc *tsc = setup->tsc;
	double spacing_ns = closest_ns(stream) / 2, write_off_ns = WRITE_OFF_NS;
	int64_t lead_ns = setup->train * setup->train_gap_ns;

	if (setup->train && spacing_ns > (double)setup->train_gap_ns / 2)
		spacing_ns = (double)setup->train_gap_ns / 2;
	if (write_off_ns > (double)setup->deadline_ns)
		write_off_ns = (double)setup->deadline_ns;
	*s = (struct sender){
		.port = setup->port,
		.stream = stream,
		.receivers = { setup->receivers[0], setup->receivers[1] },
		.tag = setup->tag,
		.train = setup->train,
		.train_gap_ticks = (uint64_t)tsc_from_ns(tsc, (double)setup->train_gap_ns),
		.spacing_ticks = (uint64_t)tsc_from_ns(tsc, spacing_ns),
		.write_off_ticks = (uint64_t)tsc_from_ns(tsc, write_off_ns),
		.stuck_ticks = (uint64_t)tsc_from_ns(tsc, STUCK_NS),
		.in_flight = setup->in_flight / (setup->train + 1),
		.count = stream->count,
	};
	if (s->in_flight == 0)
		s->in_flight = 1;
	s->sched = malloc(((size_t)stream->count + 1) * sizeof(*s->sched));
	s->tx = malloc(((size_t)stream->count + 1) * sizeof(*s->tx));
	if (!s->sched || !s->tx) {
		sender_release(s);
		return err_set(err, ERR_HOST, ENOMEM, "no memory for the schedule of %u probes", stream->count);
	}
	/* From the stream's times, each by itself: a rounded period would drift. A double holds 104 days in ns exactly. */
	for (uint32_t i = 0; i < stream->count; i++)
		s->sched[i] = tsc_from_ns(tsc, (double)(lead_ns + stream->send_ns[i] - stream->send_ns[0]));
	memset(s->tx, 0, ((size_t)stream->count + 1) * sizeof(*s->tx));
	return 0;
}

void sender_release(struct sender *s)
{
	if (s->ready)
		s->port->ops->abandon(s->port, &s->slot, 1);
	s->ready = false;
	free(s->sched);
	free(s->tx);
	s->sched = NULL;
	s->tx = NULL;
}

static inline void next_due(struct sender *s)
{
	if (!sender_finished(s))
		s->due = s->start + (uint64_t)s->sched[s->seq] - s->left * s->train_gap_ticks;
}

void sender_start(struct sender *s, uint64_t start)
{
	s->start = start;
	s->last_tx = start - s->spacing_ticks;
	s->left = s->train;
	next_due(s);
}

void sender_prepare(struct sender *s)
{
	uint32_t length = stream_length(s->stream, s->seq);

	if (s->ready || io_reserve(s->port, &s->slot, 1, length) == 0)
		return;
	if (s->left)
		stream_fill_warm_up(s->stream, s->seq, s->tag, s->slot.data);
	else
		stream_fill(s->stream, s->seq, s->tag, s->slot.data);
	s->slot.length_bytes = length;
	s->ready = true;
}

static uint32_t passed_now(const struct sender *s)
{
	uint32_t a = atomic_load_explicit(&s->receivers[0]->progress, memory_order_relaxed);
	uint32_t b = atomic_load_explicit(&s->receivers[1]->progress, memory_order_relaxed);

	return a < b ? a : b;
}

/* Too many under way? The receivers' lines are looked at only when what was last seen is not enough. */
static bool held_back(struct sender *s, uint64_t now)
{
	uint32_t passed;

	if (__builtin_expect((int32_t)(s->seq - s->passed) < (int32_t)s->in_flight, 1))
		return false;
	passed = passed_now(s);
	if ((int32_t)(passed - s->passed) > 0)
		s->passed = passed;
	if ((int32_t)(s->seq - s->passed) < (int32_t)s->in_flight) {
		s->blocked_since = 0;
		return false;
	}
	if (s->blocked_since == 0 || passed != s->blocked_at) {
		s->blocked += s->blocked_since == 0;
		s->blocked_since = now;
		s->blocked_at = passed;
		for (int p = 0; p < 2; p++)
			s->beats_at[p] = receiver_beats(s->receivers[p]);
	} else if (now - s->blocked_since > s->write_off_ticks &&
		   receiver_beats(s->receivers[0]) - s->beats_at[0] > WRITE_OFF_BEATS &&
		   receiver_beats(s->receivers[1]) - s->beats_at[1] > WRITE_OFF_BEATS) {
		s->written_off += s->seq - s->passed;
		s->passed = s->seq;
		s->blocked_since = 0;
		return false;
	}
	return true;
}

bool sender_send(struct sender *s, uint64_t now)
{
	uint64_t tx;

	if ((int64_t)(now - s->last_tx) < (int64_t)s->spacing_ticks || (s->left == 0 && held_back(s, now)))
		return false;
	if (!s->ready) {
		sender_prepare(s);
		if (!s->ready) {
			if (now - s->last_tx > s->stuck_ticks && now - s->due > s->stuck_ticks) {
				s->stuck = true;
				sender_stop(s);
			}
			return false;
		}
	}
	tx = tsc_stamp();
	io_send(s->port, &s->slot, 1);
	s->ready = false;
	s->last_tx = tx;
	s->frames++;
	if (s->left) {
		s->left--;
	} else {
		s->tx[s->seq++] = tx;
		s->left = s->train;
	}
	next_due(s);
	return true;
}

void sender_stop(struct sender *s)
{
	s->count = s->seq;
}
