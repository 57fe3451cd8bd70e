/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/far_end.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/hash.h"
#include "clock/tsc.h"
#include "packet/stream_wire.h"
#include "probe/loop.h"
#include "target/far_link.h"
#include "target/wire_port.h"

enum { FOREVER_MS = 1 << 30, WRITE_MS = 10000, CALIBRATION_NS = 200000000, SLOTS = 64 };

struct far_end {
	int in_fd, out_fd;
	const char *version;
	bool agreed;
	struct io_port *port;
	struct stream *stream;
	struct tsc tsc;
	struct cores cores;

	/* of the run in progress */
	struct loops *loops;
	atomic_bool stop, over, gone;
};

static int answer(struct far_end *e, enum far_kind kind, const void *bytes, size_t count, struct err *err)
{
	return far_write(e->out_fd, kind, bytes, count, WRITE_MS, err);
}

static int answer_json(struct far_end *e, enum far_kind kind, json_t *value, struct err *err)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
	int r = text ? answer(e, kind, text, strlen(text), err) : err_set(err, ERR_HOST, ENOMEM, "out of memory");

	free(text);
	json_decref(value);
	return r;
}

/* --- what is asked: each fills *err where it cannot be done, and the near end is told --- */

static int hello(struct far_end *e, const struct far_message *m, struct err *err)
{
	json_t *root = json_loadb((const char *)m->bytes, m->count, 0, NULL);
	const char *version = NULL, *plan = NULL;
	struct utsname host;
	char hash[20];
	int r;

	if (!root || json_unpack(root, "{s:s, s:s}", "version", &version, "plan", &plan) < 0) {
		json_decref(root);
		return err_set(err, ERR_USAGE, EPROTO, "a greeting that is no tare's");
	}
	uname(&host);
	snprintf(hash, sizeof(hash), "%016" PRIx64, hash_fnv1a64(plan, strlen(plan)));
	r = answer_json(e, FAR_HELLO,
			json_pack("{s:s, s:s, s:s, s:s, s:s}", "version", e->version, "hash", hash, "host",
				  host.nodename, "kernel", host.release, "machine", host.machine),
			err);
	e->agreed = true; /* the near end compares, and goes where it does not like what it sees */
	json_decref(root);
	return r;
}

static int open_port(struct far_end *e, const struct far_message *m, struct err *err)
{
	json_t *root = json_loadb((const char *)m->bytes, m->count, 0, NULL);
	const char *name = NULL;
	json_int_t frame_bytes = 0;
	int r;

	if (!root || json_unpack(root, "{s:s, s:I}", "port", &name, "frame_bytes", &frame_bytes) < 0 ||
	    frame_bytes < 14 || frame_bytes > 16384)
		r = err_set(err, ERR_USAGE, EPROTO, "no port is named");
	else if (e->port)
		r = err_set(err, ERR_USAGE, EPROTO, "a port is open already");
	else
		r = wire_port_open(name, 0, (uint32_t)frame_bytes, &e->port, err);
	json_decref(root);
	if (r == 0)
		r = cores_choose(1, &e->cores, err);
	if (r == 0)
		r = tsc_calibrate(&e->tsc, CALIBRATION_NS, true, err);
	return r == 0 ? answer(e, FAR_OK, NULL, 0, err) : r;
}

static int take_stream(struct far_end *e, const struct far_message *m, struct err *err)
{
	int r;

	stream_destroy(e->stream);
	e->stream = NULL;
	r = stream_unpack(m->bytes, m->count, &e->stream, err);
	return r == 0 ? answer(e, FAR_OK, NULL, 0, err) : r;
}

static int tell_time(struct far_end *e, struct err *err)
{
	uint8_t bytes[8];

	store_be64(bytes, tsc_stamp());
	return answer(e, FAR_PONG, bytes, sizeof(bytes), err);
}

/* While the loop sends: a word from the near end, or its end, stops it. */
static void *watch(void *context)
{
	struct far_end *e = context;
	struct far_message m;

	switch (far_read(e->in_fd, FOREVER_MS, &e->over, &m, NULL)) {
	case -EINTR:
		break;
	case 0:
		free(m.bytes);
		atomic_store(&e->stop, true);
		break;
	default:
		atomic_store(&e->gone, true);
		atomic_store(&e->stop, true);
	}
	return NULL;
}

static int run_loops(struct far_end *e, char protection[static 96], struct err *err)
{
	struct protection p;
	enum protect_how got = PROTECT_NOTHING;
	struct stall_watch stalls;
	pthread_t watcher;
	int r;

	atomic_store(&e->stop, false);
	atomic_store(&e->over, false);
	r = pthread_create(&watcher, NULL, watch, e);
	if (r)
		return err_set(err, ERR_HOST, r, "cannot start a thread: %s", strerror(r));
	protect_begin(&p, PROTECT_FIFO);
	r = loops_run(e->loops, &e->cores, &p, &got, &stalls, err);
	protect_words(&p, got, true, protection, 96);
	protect_end(&p);
	atomic_store(&e->over, true);
	pthread_join(watcher, NULL);
	return r;
}

/* How late each probe left, in ticks. */
static int answer_times(struct far_end *e, struct err *err)
{
	const struct sender *s = &e->loops->sender;
	uint8_t *bytes = malloc((size_t)s->seq * 8 + 1);
	int r;

	if (!bytes)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < s->seq; i++)
		store_be64(bytes + 8 * (size_t)i, s->tx[i] - s->start - (uint64_t)s->sched[i]);
	r = answer(e, FAR_TIMES, bytes, (size_t)s->seq * 8, err);
	free(bytes);
	return r;
}

static int send_probes(struct far_end *e, const struct sender_setup *setup, int lead_ms, struct err *err)
{
	struct io_counters before, after;
	struct loops *l = e->loops;
	char protection[96] = "";
	int r = sender_init(&l->sender, setup, err);

	if (r < 0)
		return r;
	l->interrupted = &e->stop;
	l->without = ROLE_TARGET | ROLE_PATH | ROLE_BYPASS;
	l->us_ticks = (uint64_t)tsc_from_ns(&e->tsc, 1000);
	l->lead_ticks = (uint64_t)tsc_from_ns(&e->tsc, lead_ms * 1e6);
	l->stall_ticks = 100 * l->us_ticks;
	l->block_ticks = UINT64_MAX / 4;
	e->port->ops->counters(e->port, &before);
	r = run_loops(e, protection, err);
	e->port->ops->counters(e->port, &after);
	if (r == 0)
		r = answer_json(e, FAR_DONE,
				json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:f, s:s}", "sent", (json_int_t)l->sender.seq,
					  "start", (json_int_t)l->sender.start, "frames", (json_int_t)l->sender.frames,
					  "port_sent", (json_int_t)(after.sent - before.sent), "core",
					  (json_int_t)e->cores.send, "stuck", (int)l->sender.stuck, "hz", e->tsc.hz,
					  "protection", protection),
				err);
	if (r == 0)
		r = answer_times(e, err);
	sender_release(&l->sender);
	return r;
}

static int run(struct far_end *e, const struct far_message *m, struct err *err)
{
	json_t *root = json_loadb((const char *)m->bytes, m->count, 0, NULL);
	json_int_t train = 0, gap = 0, deadline = 0;
	int tag = 0, lead_ms = 0, r;
	bool good = root && json_unpack(root, "{s:i, s:I, s:I, s:I, s:i}", "tag", &tag, "train", &train, "train_gap_ns",
					&gap, "deadline_ns", &deadline, "lead_ms", &lead_ms) == 0;

	json_decref(root);
	if (!good || tag < 0 || tag > ID_TAG_MASK || train < 0 || train > 1000 || gap < 0 || deadline < 0 ||
	    lead_ms < 0 || lead_ms > 10000)
		return err_set(err, ERR_USAGE, EPROTO, "an order that cannot be");
	if (!e->port || !e->stream)
		return err_set(err, ERR_USAGE, EPROTO, "no port is open, or no stream is there");
	e->loops = aligned_alloc(128, (sizeof(*e->loops) + 127) / 128 * 128);
	if (!e->loops)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	memset(e->loops, 0, sizeof(*e->loops));
	r = send_probes(e,
			&(struct sender_setup){
				.port = e->port,
				.stream = e->stream,
				.tsc = &e->tsc,
				.tag = (uint16_t)tag,
				.train = (uint32_t)train,
				.train_gap_ns = gap,
				.deadline_ns = deadline,
				.in_flight = INT32_MAX, /* nobody here knows what has arrived */
			},
			lead_ms, err);
	free(e->loops);
	e->loops = NULL;
	return r;
}

static int do_message(struct far_end *e, const struct far_message *m, struct err *err)
{
	if (m->kind == FAR_HELLO)
		return hello(e, m, err);
	if (!e->agreed)
		return err_set(err, ERR_USAGE, EPROTO, "message %d comes before any greeting", (int)m->kind);
	switch (m->kind) {
	case FAR_OPEN:
		return open_port(e, m, err);
	case FAR_STREAM:
		return take_stream(e, m, err);
	case FAR_PING:
		return tell_time(e, err);
	case FAR_RUN:
		return run(e, m, err);
	case FAR_STOP: /* came when the run had ended by itself */
		return 0;
	default:
		return err_set(err, ERR_USAGE, EPROTO, "message %d is not for a far end", (int)m->kind);
	}
}

int far_serve(int in_fd, int out_fd, const char *version, struct err *err)
{
	struct far_end e = { .in_fd = in_fd, .out_fd = out_fd, .version = version };
	struct far_message m;
	int r;

	for (;;) {
		struct err why = { 0 };

		r = far_read(in_fd, FOREVER_MS, NULL, &m, err);
		if (r < 0)
			break;
		r = do_message(&e, &m, &why);
		free(m.bytes);
		if (atomic_load(&e.gone)) {
			r = -EPIPE;
			break;
		}
		if (r < 0 && answer(&e, FAR_ERROR, why.message, strlen(why.message), err) < 0)
			break;
	}
	if (e.port)
		e.port->ops->close(e.port);
	stream_destroy(e.stream);
	return r == -EPIPE ? 0 : r; /* the near end went: that is how it ends */
}
