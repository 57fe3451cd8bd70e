/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/loop.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

/* A de Bruijn sequence of order 6: 32 ones in 64, and no regularity in between. */
#define RING_ORDER UINT64_C(0x03f566ed27179461)

enum {
	BURST = 32,
	LOOK_EVERY = 64,
	PREPARE_US = 4,   /* after a send: its copies are out by then, and no store of ours is in their way */
	START_US = 10000, /* longer than another loop takes to start, holes of the host aside */
};

/*
 * Threads start together: all exist and are pinned before any becomes FIFO (it
 * would starve the start of the others), and all are protected before any runs.
 */
struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum gate_state { GATE_SHUT, GATE_PROTECT, GATE_GO, GATE_CANCEL } state;
	unsigned ready;
};

struct loop_thread {
	struct loops *loops;
	const struct protection *protection;
	struct gate *gate;
	unsigned roles;
	int32_t cpu;
	pthread_t thread;
	enum protect_how got;
	struct stall_watch stalls;
};

/* Receive what is there. The stamp comes first, before any frame is looked at. */
static inline __attribute__((always_inline)) void receive_port(struct loops *l, int port, uint64_t now,
							       uint64_t *empty_since)
{
	struct io_frame frames[BURST];
	unsigned n = io_take_hold(l->ports[port], frames, BURST);
	uint64_t stamp;

	if (__builtin_expect(n == 0, 1)) {
		*empty_since = now;
		return;
	}
	stamp = tsc_stamp();
	io_open(l->ports[port], frames, n);
	receiver_take(&l->receivers[port], frames, n, stamp, stamp - *empty_since);
	if (__builtin_expect(l->reflects, 0))
		reflector_return(&l->reflectors[port], l->ports[port], frames, n, stamp);
	else
		io_release(l->ports[port], frames, n);
	/* A burst that was not full ended at an empty ring, and that was after `now`. */
	if (n < BURST)
		*empty_since = now;
}

static bool all_arrived(const struct receiver *r, uint32_t sent)
{
	return r->first + r->odd_count >= sent;
}

/* Has this receiver anything left to wait for? */
static bool receiving_ends(const struct loops *l, unsigned roles, uint64_t now, uint64_t *complete_since)
{
	if (!atomic_load_explicit(&l->sent_all, memory_order_acquire))
		return false;
	if ((!(roles & ROLE_PATH) || all_arrived(&l->receivers[PATH], l->sent)) &&
	    (!(roles & ROLE_BYPASS) || all_arrived(&l->receivers[BYPASS], l->sent))) {
		if (*complete_since == 0)
			*complete_since = now;
		return now - *complete_since > l->linger_ticks; /* for duplicates */
	}
	*complete_since = 0;
	return (int64_t)(now - l->last_tx) > (int64_t)(l->deadline_ticks + l->linger_ticks);
}

static void sending_ends(struct loops *l)
{
	l->sent = l->sender.seq;
	l->last_tx = l->sender.last_tx;
	atomic_store_explicit(&l->sent_all, true, memory_order_release);
}

/* A block's look at the placement, when no frame is under way or due. */
static inline void look_at_placement(struct loops *l, uint64_t now, uint64_t *next_block)
{
	if (__builtin_expect((int64_t)(now - *next_block) < 0, 1))
		return;
	if (now - l->sender.last_tx < 20 * l->us_ticks || (int64_t)(l->sender.due - now) < (int64_t)(60 * l->us_ticks))
		return;
	*next_block = now + (placement_ask(&l->placement, 20 * l->us_ticks) ? l->block_ticks : 1000 * l->us_ticks);
}

static inline __attribute__((always_inline)) void loop(struct loop_thread *t, const unsigned roles)
{
	struct loops *l = t->loops;
	const bool sends = roles & ROLE_SEND, works = roles & ROLE_TARGET;
	const bool receives = roles & (ROLE_PATH | ROLE_BYPASS);
	bool sending = sends, receiving = receives;
	uint64_t now = tsc_now(), complete_since = 0, next_block = now + l->block_ticks;
	uint64_t empty_since[PORTS] = { now, now };
	unsigned look = LOOK_EVERY;

	stall_watch_start(&t->stalls, now, l->stall_ticks);
	/* The core that lets frames out asks the one that receives them. */
	if (!l->alone && (works || (sends && !l->poll))) {
		while (!receiver_beats(&l->receivers[PATH]) && tsc_now() - now < START_US * l->us_ticks)
			;
		placement_ask(&l->placement, 200 * l->us_ticks);
	}
	if (sends) {
		sender_start(&l->sender, tsc_now() + l->lead_ticks);
	}
	for (;;) {
		now = tsc_now();
		stall_watch_feed(&t->stalls, now);
		if (sends && sending) {
			if (sender_due(&l->sender, now)) {
				sender_send(&l->sender, now);
				if (sender_finished(&l->sender)) {
					sending = false;
					sending_ends(l);
				}
			} else if (!l->sender.ready && now - l->sender.last_tx > PREPARE_US * l->us_ticks) {
				sender_prepare(&l->sender);
			} else if (!receives && !l->alone && (works || !l->poll)) {
				look_at_placement(l, now, &next_block);
			}
		}
		if (works)
			l->poll(l->target);
		if (receives) {
			if (sends || works)
				now = tsc_now();
			/*
			 * In turn: the ring looked at first after `now` was read is stamped 5 to 10 ns
			 * earlier than the other (measured; the processor runs ahead), and a fixed order
			 * would put that into every difference. Plain alternation can fall into step with the
			 * time between the copies; this order cannot, and is learned by the branch predictor.
			 */
			if (RING_ORDER >> (look & 63) & 1) {
				if (roles & ROLE_PATH)
					receive_port(l, PATH, now, &empty_since[PATH]);
				if (roles & ROLE_BYPASS)
					receive_port(l, BYPASS, now, &empty_since[BYPASS]);
			} else {
				if (roles & ROLE_BYPASS)
					receive_port(l, BYPASS, now, &empty_since[BYPASS]);
				if (roles & ROLE_PATH)
					receive_port(l, PATH, now, &empty_since[PATH]);
			}
		}
		if (__builtin_expect(--look, 1))
			continue;
		look = LOOK_EVERY;
		if (receives && receiving) {
			if (roles & ROLE_PATH)
				receiver_beat(&l->receivers[PATH]);
			if (roles & ROLE_BYPASS)
				receiver_beat(&l->receivers[BYPASS]);
			if (roles & ROLE_PATH && !l->alone)
				placement_answer(&l->placement);
			if (receiving_ends(l, roles, now, &complete_since)) {
				receiving = false;
				atomic_fetch_sub_explicit(&l->receiving, 1, memory_order_release);
			}
		}
		if (sends && sending && l->interrupted && atomic_load_explicit(l->interrupted, memory_order_relaxed)) {
			sender_stop(&l->sender);
			sending = false;
			sending_ends(l);
		}
		if (!sending && !receiving &&
		    (!works || atomic_load_explicit(&l->receiving, memory_order_acquire) == 0))
			break;
	}
}

/* One copy of the loop for each set of roles there is, so that none pays for what it does not do. */
static void loop_of_roles(struct loop_thread *t)
{
	switch (t->roles) {
	case ROLE_SEND | ROLE_TARGET | ROLE_PATH | ROLE_BYPASS:
		loop(t, ROLE_SEND | ROLE_TARGET | ROLE_PATH | ROLE_BYPASS);
		break;
	case ROLE_SEND | ROLE_PATH | ROLE_BYPASS:
		loop(t, ROLE_SEND | ROLE_PATH | ROLE_BYPASS);
		break;
	case ROLE_SEND | ROLE_TARGET:
		loop(t, ROLE_SEND | ROLE_TARGET);
		break;
	case ROLE_SEND:
		loop(t, ROLE_SEND);
		break;
	case ROLE_TARGET:
		loop(t, ROLE_TARGET);
		break;
	case ROLE_PATH | ROLE_BYPASS:
		loop(t, ROLE_PATH | ROLE_BYPASS);
		break;
	case ROLE_PATH:
		loop(t, ROLE_PATH);
		break;
	case ROLE_BYPASS:
		loop(t, ROLE_BYPASS);
		break;
	default:
		TARE_ASSERT(!"a set of roles that has no loop");
	}
}

static void gate_set(struct gate *g, enum gate_state state)
{
	pthread_mutex_lock(&g->mutex);
	g->state = state;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->mutex);
}

/* Wait until the gate is at least at `state`; false: cancelled. */
static bool gate_wait(struct gate *g, enum gate_state state)
{
	bool go;

	pthread_mutex_lock(&g->mutex);
	while (g->state < state)
		pthread_cond_wait(&g->changed, &g->mutex);
	go = g->state != GATE_CANCEL;
	pthread_mutex_unlock(&g->mutex);
	return go;
}

static void gate_ready(struct gate *g)
{
	pthread_mutex_lock(&g->mutex);
	g->ready++;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->mutex);
}

static void gate_await(struct gate *g, unsigned count)
{
	pthread_mutex_lock(&g->mutex);
	while (g->ready < count)
		pthread_cond_wait(&g->changed, &g->mutex);
	pthread_mutex_unlock(&g->mutex);
}

static void *thread_main(void *context)
{
	struct loop_thread *t = context;

	if (!gate_wait(t->gate, GATE_PROTECT))
		return NULL;
	t->got = protect_thread(t->protection);
	gate_ready(t->gate);
	if (gate_wait(t->gate, GATE_GO))
		loop_of_roles(t);
	return NULL;
}

static unsigned roles_fill(const struct loops *l, const struct cores *cores, struct loop_thread *threads)
{
	static const unsigned roles[CORES_MOST][CORES_MOST] = {
		{ ROLE_SEND | ROLE_TARGET | ROLE_PATH | ROLE_BYPASS },
		{ ROLE_SEND | ROLE_TARGET, ROLE_PATH | ROLE_BYPASS },
		{ ROLE_SEND, ROLE_TARGET, ROLE_PATH | ROLE_BYPASS },
		{ ROLE_SEND, ROLE_TARGET, ROLE_PATH, ROLE_BYPASS },
	};
	unsigned count = 0;

	for (uint32_t i = 0; i < cores->count; i++) {
		unsigned r = roles[cores->count - 1][i];

		if (!l->poll)
			r &= ~(unsigned)ROLE_TARGET;
		r &= ~l->without;
		if (r == 0)
			continue;
		threads[count].roles = r;
		threads[count].cpu = cores->cpu[i];
		count++;
	}
	return count;
}

static int thread_create(struct loop_thread *t)
{
	pthread_attr_t attr;
	cpu_set_t cpus;
	int r;

	CPU_ZERO(&cpus);
	CPU_SET(t->cpu, &cpus);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	r = pthread_create(&t->thread, &attr, thread_main, t);
	pthread_attr_destroy(&attr);
	return r;
}

int loops_run(struct loops *l, const struct cores *cores, const struct protection *protection,
	      enum protect_how *ret_got, struct stall_watch *ret_stalls, struct err *err)
{
	struct gate gate = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	struct loop_thread threads[CORES_MOST];
	unsigned count, created, receivers = 0;
	int r = 0;

	memset(threads, 0, sizeof(threads));
	count = roles_fill(l, cores, threads);
	l->alone = count == 1;
	for (unsigned i = 0; i < count; i++)
		receivers += (threads[i].roles & (ROLE_PATH | ROLE_BYPASS)) != 0;
	atomic_init(&l->receiving, receivers);
	if (!(l->without & ROLE_SEND)) /* else who waits for the other machine says so, perhaps already */
		atomic_init(&l->sent_all, false);
	for (created = 0; created < count; created++) {
		threads[created].loops = l;
		threads[created].protection = protection;
		threads[created].gate = &gate;
		r = thread_create(&threads[created]);
		if (r != 0) {
			err_set(err, ERR_HOST, r, "cannot start a thread on CPU %d: %s", threads[created].cpu,
				strerror(r));
			break;
		}
	}
	if (r == 0) {
		gate_set(&gate, GATE_PROTECT);
		gate_await(&gate, count);
	}
	gate_set(&gate, r == 0 ? GATE_GO : GATE_CANCEL);
	for (unsigned i = 0; i < created; i++)
		pthread_join(threads[i].thread, NULL);
	pthread_cond_destroy(&gate.changed);
	pthread_mutex_destroy(&gate.mutex);
	if (r != 0)
		return -r;

	*ret_got = PROTECT_FIFO;
	memset(ret_stalls, 0, sizeof(*ret_stalls));
	for (unsigned i = 0; i < count; i++) {
		const struct stall_watch *s = &threads[i].stalls;

		if (threads[i].got < *ret_got)
			*ret_got = threads[i].got;
		ret_stalls->stalls += s->stalls;
		ret_stalls->stalled_ticks += s->stalled_ticks;
		if (s->longest_ticks > ret_stalls->longest_ticks)
			ret_stalls->longest_ticks = s->longest_ticks;
	}
	return 0;
}
