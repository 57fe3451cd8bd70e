/* SPDX-License-Identifier: Apache-2.0 */
#include "plane.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "mailbox.h"
#include "port.h"

enum {
	BURST = 32,
	MAIL_BYTES = 1 << 19,
	TURNS_A_CHECK = 4096, /* turns between looks at ports while there is work */
	CHECK_MS = 500,       /* and while there is none */
	LOOK_US = 400000,
	EVENTS = 16,
};

/* The first byte of a letter to the data plane. */
enum { DOWN_WAKE, DOWN_PACKET };

enum letter_kind { LETTER_PACKET_IN, LETTER_DIGEST, LETTER_LOG };

struct letter {
	enum letter_kind kind;
	uint32_t list;
	const struct program *program;
};

/* A program with what it needs to run in one thread. */
struct engine {
	struct v1model *device;
	const struct program *program;
};

struct worker {
	struct plane *plane;
	pthread_t thread;
	bool started;
	uint32_t index;
	struct quiesce_reader *reader;
	struct port *ports;  /* all of the switch's; it receives from its share */
	uint16_t *by_number; /* V1MODEL_PORTS; 1 + index */
	struct engine *engine;
	_Atomic(struct engine *) next; /* put by the control thread, taken by the worker */
	struct mailbox *up, *down;     /* to the control thread; from it (packet-outs) */
	int epoll_fd;
	struct rng rng;
	struct truth_bucket bucket;
	uint64_t last_us; /* of the frame received last */
	uint64_t last_look_us;
	atomic_bool stop;
	struct v1model_counters gone; /* of programs that have ended */
	uint64_t mail_dropped;
	uint8_t letter[MAILBOX_LETTER_BYTES];
};

struct plane {
	struct plane_config config;
	uint32_t worker_count;
	struct worker *workers[PLANE_THREADS_MOST];
	const struct program *program; /* committed last; this and the letter are the control thread's */
	_Alignas(8) uint8_t letter[MAILBOX_LETTER_BYTES];
};

static uint64_t now_us(void *context)
{
	return switch_clock_us(((struct worker *)context)->plane->config.clock);
}

/* --- what the device hands out --- */

static void mail(struct worker *w, const struct letter *head, const void *body, size_t body_bytes)
{
	if (!mailbox_put(w->up, head, sizeof(*head), body, body_bytes))
		w->mail_dropped++;
}

static void transmit(void *context, uint32_t number, const uint8_t *bytes, uint32_t length_bytes)
{
	struct worker *w = context;
	struct letter head = { .kind = LETTER_PACKET_IN };

	if (w->by_number[number])
		port_send(&w->ports[w->by_number[number] - 1], bytes, length_bytes);
	else if (number == w->plane->config.cpu_port)
		mail(w, &head, bytes, length_bytes);
}

static void digest(void *context, uint32_t list, const uint64_t *memory)
{
	struct worker *w = context;
	struct letter head = { .kind = LETTER_DIGEST, .list = list, .program = w->engine->program };

	mail(w, &head, memory, w->engine->program->memory_slots * sizeof(*memory));
}

static void log_text(void *context, const struct p4_message *message, const uint64_t *memory)
{
	struct letter head = { .kind = LETTER_LOG };
	char text[1024];

	message_format(message, memory, text, sizeof(text));
	mail(context, &head, text, strlen(text) + 1);
}

/* --- engines --- */

static void engine_destroy(struct engine *engine)
{
	if (!engine)
		return;
	v1model_destroy(engine->device);
	free(engine);
}

static struct engine *engine_create(struct worker *w, const struct program *program, struct state *state,
				    struct err *err)
{
	const struct plane_config *c = &w->plane->config;
	struct v1model_config config = { .program = program,
					 .state = state,
					 .seed = w->index + 1,
					 .drop_port = c->drop_port,
					 .queue_packets = c->queue_packets,
					 .priorities = c->priorities,
					 .hold_us = c->clock->truth.hold_us,
					 .now_us = now_us,
					 .transmit = transmit,
					 .digest = digest,
					 .log = log_text,
					 .context = w };
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine) {
		err_set(err, ERR_HOST, ENOMEM, "out of memory");
		return NULL;
	}
	engine->program = program;
	if (v1model_create(&config, &engine->device, err) < 0) {
		free(engine);
		return NULL;
	}
	return engine;
}

static void add_counters(struct v1model_counters *to, const struct v1model_counters *from)
{
	uint64_t *t = (uint64_t *)to;
	const uint64_t *f = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
		t[i] += f[i];
}

/* What is queued in the old program leaves while it may still be used: before the pass. */
static void end_engine(struct worker *w)
{
	if (w->engine && atomic_load_explicit(&w->next, memory_order_relaxed))
		while (v1model_egress(w->engine->device, BURST))
			;
}

/*
 * The program that was committed, if there is a new one. Right after a pass: then
 * either nobody has been told that the old one is out of use, or the new one is
 * seen here. Nothing of the old program or its state is touched any more.
 */
static void take_engine(struct worker *w)
{
	struct engine *next;

	if (!atomic_load_explicit(&w->next, memory_order_relaxed))
		return;
	next = atomic_exchange_explicit(&w->next, NULL, memory_order_acquire);
	if (w->engine)
		add_counters(&w->gone, v1model_counters(w->engine->device));
	engine_destroy(w->engine);
	w->engine = next;
}

/* --- frames in --- */

static void take_frame(struct worker *w, struct port *port, const struct io_frame *frame)
{
	const struct truth *truth = &w->plane->config.clock->truth;
	uint64_t now = now_us(w);

	port_recorded(port, &port->in, frame->stamp_ns, frame);
	if (!w->engine || truth_happens(&w->rng, truth->loss_ppm) ||
	    truth_over_rate(truth, &w->bucket, frame->stamp_ns, frame->length_bytes))
		return;
	if (truth->cold_sleep_us && now - w->last_us > truth->cold_after_us)
		nanosleep(&(struct timespec){ (time_t)(truth->cold_sleep_us / 1000000),
					      (long)(truth->cold_sleep_us % 1000000 * 1000) },
			  NULL);
	w->last_us = now;
	v1model_ingress(w->engine->device, port->number, frame->data, frame->length_bytes, now);
	if (truth_happens(&w->rng, truth->duplicate_ppm))
		v1model_ingress(w->engine->device, port->number, frame->data, frame->length_bytes, now);
}

static unsigned egress(struct worker *w)
{
	return w->engine ? v1model_egress(w->engine->device, BURST) : 0;
}

static unsigned take_port(struct worker *w, struct port *port)
{
	struct io_frame frames[BURST];
	unsigned count = port->io ? io_receive(port->io, frames, BURST) : 0;

	if (!count)
		return 0;
	for (unsigned i = 0; i < count; i++)
		take_frame(w, port, &frames[i]);
	io_release(port->io, frames, count);
	if (port->in)
		record_flush(port->in);
	/* before the next port's: queues are as deep as BMv2's, and must not fill because we are alone */
	while (egress(w))
		;
	return count;
}

static unsigned take_packet_outs(struct worker *w)
{
	unsigned count = 0;
	size_t length;

	for (; count < BURST && (length = mailbox_take(w->down, w->letter)) > 0; count++) {
		if (w->engine && w->letter[0] == DOWN_PACKET)
			v1model_ingress(w->engine->device, w->plane->config.cpu_port, w->letter + 1,
					(uint32_t)length - 1, now_us(w));
		egress(w);
	}
	return count;
}

/* --- waiting --- */

static void watch(struct worker *w, struct port *port)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = port };

	if (port->io && port->receives)
		epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, afpacket_fd(port->io), &event);
}

static void look_at_ports(struct worker *w)
{
	uint64_t now = now_us(w);

	if (now - w->last_look_us < LOOK_US)
		return;
	w->last_look_us = now;
	for (uint32_t i = 0; i < w->plane->config.port_count; i++)
		if (port_check(&w->ports[i]))
			watch(w, &w->ports[i]);
}

static bool port_missing(const struct worker *w)
{
	for (uint32_t i = 0; i < w->plane->config.port_count; i++)
		if (!w->ports[i].io)
			return true;
	return false;
}

/* Until something happens, or it is time for what waits in a queue. */
static void wait_for_work(struct worker *w)
{
	bool queued = w->engine && v1model_queued(w->engine->device) > 0;
	struct epoll_event events[EVENTS];
	int wait_ms = port_missing(w) ? CHECK_MS : -1, n;

	if (queued) { /* a queue with a rate: times are µs, so no system call is short enough */
		uint64_t next = v1model_next_us(w->engine->device), now = now_us(w);

		wait_ms = next > now + 2000 ? 1 : 0;
	}
	if (w->plane->config.busy_poll)
		wait_ms = 0;
	/* with something queued the engine is in use: the control thread waits for the next turn */
	if (!queued)
		quiesce_offline(w->reader);
	n = epoll_wait(w->epoll_fd, events, EVENTS, wait_ms);
	if (!queued)
		quiesce_online(w->reader);
	for (int i = 0; i < n; i++) {
		struct port *port = events[i].data.ptr;

		if (!port)
			mailbox_clear_event(w->down);
		else if (events[i].events & EPOLLERR && port_check(port))
			watch(w, port);
	}
	if (n == 0)
		look_at_ports(w);
}

static void *run(void *context)
{
	struct worker *w = context;
	uint32_t count = w->plane->config.port_count, turns = 0;

	/* here: each waits for the kernel some ten milliseconds, and controllers need not wait for that */
	for (uint32_t i = 0; i < count; i++) {
		port_open(&w->ports[i]);
		watch(w, &w->ports[i]);
	}
	quiesce_online(w->reader);
	while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
		unsigned work = 0;

		end_engine(w);
		quiesce_pass(w->reader);
		take_engine(w);
		for (uint32_t i = 0; i < count; i++)
			if (w->ports[i].receives)
				work += take_port(w, &w->ports[i]);
		work += take_packet_outs(w);
		work += egress(w);
		for (uint32_t i = 0; i < count; i++)
			port_flush(&w->ports[i]);
		if (!work && (!w->plane->config.busy_poll || ++turns % TURNS_A_CHECK == 0))
			wait_for_work(w);
		else if (work && ++turns % TURNS_A_CHECK == 0)
			look_at_ports(w);
	}
	quiesce_offline(w->reader);
	return NULL;
}

/* --- workers --- */

/* A full box wakes it as well. */
static void wake(struct worker *w)
{
	mailbox_put(w->down, &(uint8_t){ DOWN_WAKE }, 1, NULL, 0);
}

static void worker_stop(struct worker *w)
{
	if (!w->started)
		return;
	atomic_store_explicit(&w->stop, true, memory_order_relaxed);
	wake(w);
	pthread_join(w->thread, NULL);
	w->started = false;
}

static void worker_destroy(struct worker *w)
{
	if (!w)
		return;
	worker_stop(w);
	for (uint32_t i = 0; w->ports && i < w->plane->config.port_count; i++)
		port_close(&w->ports[i]);
	engine_destroy(w->engine);
	engine_destroy(atomic_load_explicit(&w->next, memory_order_acquire));
	if (w->reader)
		quiesce_leave(w->plane->config.quiesce, w->reader);
	mailbox_destroy(w->up);
	mailbox_destroy(w->down);
	if (w->epoll_fd >= 0)
		close(w->epoll_fd);
	free(w->ports);
	free(w->by_number);
	free(w);
}

static int make_ports(struct worker *w, struct err *err)
{
	const struct plane_config *c = &w->plane->config;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < c->port_count; i++) {
		struct port *port = &w->ports[i];

		port->number = c->ports[i].number;
		port->interface = c->ports[i].interface;
		port->receives = i % w->plane->worker_count == w->index;
		w->by_number[port->number] = (uint16_t)(i + 1);
		if (c->pcap_directory)
			rc = port_record(port, c->pcap_directory, err);
	}
	return rc;
}

static int worker_create(struct plane *plane, uint32_t index, struct err *err)
{
	struct worker *w = calloc(1, sizeof(*w));
	struct epoll_event event = { .events = EPOLLIN };

	if (!w)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	plane->workers[index] = w;
	w->plane = plane;
	w->index = index;
	rng_init_stream(&w->rng, 1, index);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->reader = quiesce_join(plane->config.quiesce);
	w->up = mailbox_create(MAIL_BYTES);
	w->down = mailbox_create(MAIL_BYTES);
	w->ports = calloc(plane->config.port_count + 1, sizeof(*w->ports));
	w->by_number = calloc(V1MODEL_PORTS, sizeof(*w->by_number));
	if (w->epoll_fd < 0 || !w->reader || !w->up || !w->down || !w->ports || !w->by_number)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory or descriptors");
	epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, mailbox_fd(w->down), &event);
	return make_ports(w, err);
}

static int start(struct plane *plane, struct err *err)
{
	for (uint32_t i = 0; i < plane->worker_count; i++) {
		struct worker *w = plane->workers[i];
		int rc = pthread_create(&w->thread, NULL, run, w);
		char name[16];

		if (rc != 0)
			return err_set(err, ERR_HOST, rc, "no thread for the data plane: %s", strerror(rc));
		w->started = true;
		snprintf(name, sizeof(name), "data-plane-%u", i);
		pthread_setname_np(w->thread, name);
	}
	return 0;
}

int plane_create(const struct plane_config *config, struct plane **ret_plane, struct err *err)
{
	struct plane *plane = calloc(1, sizeof(*plane));
	int rc = 0;

	if (!plane)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	plane->config = *config;
	plane->worker_count = config->threads ? config->threads : 1;
	for (uint32_t i = 0; rc == 0 && i < plane->worker_count; i++)
		rc = worker_create(plane, i, err);
	if (rc == 0)
		rc = start(plane, err);
	if (rc < 0) {
		plane_destroy(plane);
		return rc;
	}
	*ret_plane = plane;
	return 0;
}

void plane_stop(struct plane *plane)
{
	for (uint32_t i = 0; i < plane->worker_count; i++)
		worker_stop(plane->workers[i]);
}

void plane_destroy(struct plane *plane)
{
	if (!plane)
		return;
	for (uint32_t i = 0; i < PLANE_THREADS_MOST; i++)
		worker_destroy(plane->workers[i]);
	free(plane);
}

/* --- the control thread's side --- */

int plane_commit(struct plane *plane, const struct program *program, struct state *state, struct err *err)
{
	struct engine *engines[PLANE_THREADS_MOST];

	for (uint32_t i = 0; i < plane->worker_count; i++) {
		engines[i] = engine_create(plane->workers[i], program, state, err);
		if (!engines[i]) {
			while (i-- > 0)
				engine_destroy(engines[i]);
			return -ENOMEM;
		}
	}
	plane->program = program;
	for (uint32_t i = 0; i < plane->worker_count; i++) {
		struct worker *w = plane->workers[i];

		engine_destroy(atomic_exchange_explicit(&w->next, engines[i], memory_order_acq_rel));
		wake(w);
	}
	return 0;
}

bool plane_packet_out(struct plane *plane, const uint8_t *frame, size_t length_bytes)
{
	if (plane->config.cpu_port == NOWHERE || length_bytes > PACKET_MOST)
		return false;
	return mailbox_put(plane->workers[0]->down, &(uint8_t){ DOWN_PACKET }, 1, frame, length_bytes);
}

int plane_event_fd(const struct plane *plane, uint32_t thread)
{
	return mailbox_fd(plane->workers[thread]->up);
}

void plane_drain(struct plane *plane, uint32_t thread, const struct plane_handlers *h)
{
	uint8_t *letter = plane->letter;
	struct mailbox *box = plane->workers[thread]->up;
	size_t length;

	mailbox_clear_event(box);
	while ((length = mailbox_take(box, letter)) > 0) {
		const struct letter *head = (const struct letter *)letter;
		const uint8_t *body = letter + sizeof(*head);

		if (head->kind == LETTER_PACKET_IN)
			h->packet_in(h->context, body, length - sizeof(*head));
		else if (head->kind == LETTER_DIGEST && head->program == plane->program)
			h->digest(h->context, head->list, (const uint64_t *)body);
		else if (head->kind == LETTER_LOG)
			h->log(h->context, (const char *)body);
	}
}

void plane_counters(const struct plane *plane, struct v1model_counters *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < plane->worker_count; i++) {
		const struct worker *w = plane->workers[i];

		add_counters(ret, &w->gone);
		if (w->engine)
			add_counters(ret, v1model_counters(w->engine->device));
	}
}
