/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/far_run.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "packet/stream_wire.h"

enum {
	QUESTIONS = 12,
	LEAD_MS = 100,       /* from its order to the first frame: longer than our loops take to start */
	PATIENCE_MS = 20000, /* beyond what the run takes */
};

uint64_t far_tick_to_near(const struct far_tick *before, const struct far_tick *after, uint64_t far)
{
	double span = (double)(int64_t)(after->far - before->far);
	double rate = span > 0 ? (double)(int64_t)(after->near - before->near) / span : 1;

	return before->near + (uint64_t)llround((double)(int64_t)(far - before->far) * rate);
}

static int ask_time(struct far_link *link, const atomic_bool *interrupted, struct far_tick *ret, struct err *err)
{
	*ret = (struct far_tick){ 0 };
	for (int i = 0; i < QUESTIONS; i++) {
		struct far_message m = { 0 };
		uint64_t from = tsc_stamp(), to;
		int r = far_link_send(link, FAR_PING, NULL, 0, err);

		if (r == 0)
			r = far_link_expect(link, FAR_PONG, 0, interrupted, &m, err);
		if (r < 0)
			return r;
		to = tsc_stamp();
		if (m.count != 8) {
			free(m.bytes);
			return err_set(err, ERR_HOST, EPROTO, "the far end's time has %zu bytes; expected 8", m.count);
		}
		if (ret->width_ticks == 0 || to - from < ret->width_ticks)
			*ret = (struct far_tick){ from + (to - from) / 2, load_be64(m.bytes), to - from };
		free(m.bytes);
	}
	return 0;
}

static int send_stream(struct far_run *f, struct err *err)
{
	uint64_t *has = far_link_stream(f->link), hash;
	uint8_t *bytes;
	size_t count;
	int r = stream_pack(f->stream, &bytes, &count, err);

	if (r < 0)
		return r;
	hash = hash_fnv1a64((const char *)bytes, count);
	if (*has != hash)
		r = far_link_ask(f->link, FAR_STREAM, bytes, count, err);
	if (r == 0)
		*has = hash;
	free(bytes);
	return r;
}

static int give_order(struct far_run *f, struct err *err)
{
	json_t *order = json_pack("{s:i, s:I, s:I, s:I, s:i}", "tag", (int)f->tag, "train", (json_int_t)f->train,
				  "train_gap_ns", (json_int_t)f->train_gap_ns, "deadline_ns",
				  (json_int_t)f->deadline_ns, "lead_ms", LEAD_MS);
	char *text = order ? json_dumps(order, JSON_COMPACT) : NULL;
	int r = text ? far_link_send(f->link, FAR_RUN, text, strlen(text), err)
		     : err_set(err, ERR_HOST, ENOMEM, "out of memory");

	free(text);
	json_decref(order);
	return r;
}

static int64_t longest_ms(const struct far_run *f)
{
	int64_t ns = f->stream->send_ns[f->stream->count - 1] - f->stream->send_ns[0];

	return ns / 1000000 + (int64_t)f->train * f->train_gap_ns / 1000000 + LEAD_MS + PATIENCE_MS;
}

/* While the loops run: they end when it says so. An interrupt stops the far sender, whose account comes all the same. */
static void *wait_for_end(void *context)
{
	struct far_run *f = context;
	struct loops *l = f->loops;

	f->rc = far_link_expect(f->link, FAR_DONE, longest_ms(f), f->interrupted, &f->done, &f->err);
	if (f->rc == -EINTR) {
		f->rc = far_link_send(f->link, FAR_STOP, NULL, 0, &f->err);
		if (f->rc == 0)
			f->rc = far_link_expect(f->link, FAR_DONE, 0, NULL, &f->done, &f->err);
	}
	if (f->rc == 0)
		f->rc = far_link_expect(f->link, FAR_TIMES, 0, NULL, &f->times, &f->err);
	l->sent = f->rc == 0 ? (uint32_t)(f->times.count / 8) : 0;
	l->last_tx = tsc_now();
	atomic_store_explicit(&l->sent_all, true, memory_order_release);
	return NULL;
}

int far_run_begin(struct far_run *f, struct err *err)
{
	int r = send_stream(f, err);

	if (r == 0)
		r = ask_time(f->link, f->interrupted, &f->before, err);
	if (r == 0)
		r = give_order(f, err);
	if (r < 0)
		return r;
	atomic_init(&f->loops->sent_all, false);
	r = pthread_create(&f->thread, NULL, wait_for_end, f);
	return r ? err_set(err, ERR_HOST, r, "cannot start a thread: %s", strerror(r)) : 0;
}

/* What it sent and when: lateness in its own ticks, the schedule's beginning brought to ours. */
static int take_account(struct far_run *f, struct err *err)
{
	struct sender *s = &f->loops->sender;
	const char *protection = "";
	json_int_t start = 0, frames = 0, port = 0, core = -1, sent = 0;
	double hz = 0;
	int stuck = 0;
	json_t *done = json_loadb((const char *)f->done.bytes, f->done.count, 0, NULL);
	bool good = done && json_unpack(done, "{s:I, s:I, s:I, s:I, s:I, s:b, s:F, s:s}", "sent", &sent, "start",
					&start, "frames", &frames, "port_sent", &port, "core", &core, "stuck", &stuck,
					"hz", &hz, "protection", &protection) == 0;

	if (!good || sent < 0 || sent > f->stream->count || f->times.count != (size_t)sent * 8 || !(hz > 1e6)) {
		json_decref(done);
		return err_set(err, ERR_HOST, EPROTO, "the far end's account of the run cannot be");
	}
	s->start = far_tick_to_near(&f->before, &f->after, (uint64_t)start);
	for (uint32_t i = 0; i < sent; i++)
		s->tx[i] = s->start +
			   (uint64_t)(s->sched[i] +
				      llround((double)(int64_t)load_be64(f->times.bytes + 8 * i) * f->tsc->hz / hz));
	s->seq = (uint32_t)sent;
	s->frames = (uint64_t)frames;
	s->stuck = stuck;
	f->port_sent = (uint64_t)port;
	f->core = (int32_t)core;
	/* anywhere within the answer's delay: half its width, as a rectangle */
	f->tx_u_ns = tsc_to_ns(f->tsc, (int64_t)(f->before.width_ticks > f->after.width_ticks ? f->before.width_ticks
											      : f->after.width_ticks)) /
		     2 / sqrt(3);
	snprintf(f->protection, sizeof(f->protection), "%s", protection);
	json_decref(done);
	return 0;
}

int far_run_end(struct far_run *f, struct err *err)
{
	int r;

	pthread_join(f->thread, NULL);
	r = f->rc;
	if (r < 0 && err)
		*err = f->err;
	if (r == 0)
		r = ask_time(f->link, NULL, &f->after, err);
	if (r == 0)
		r = take_account(f, err);
	free(f->done.bytes);
	free(f->times.bytes);
	f->done = f->times = (struct far_message){ 0 };
	return r;
}
