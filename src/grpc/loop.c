/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/loop.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"

enum { EVENTS_A_TURN = 256, SPIN_MISSES_MOST = 10 };

struct loop {
	int epoll_fd;
	int wake_fd;
	atomic_bool stopped;
	VEC(struct loop_timer *) heap; /* earliest first */
	struct loop_deferred *deferred, **deferred_tail;
	int64_t spin_ns;
	bool was_busy;                   /* the last turn had events */
	uint32_t spin_misses, spin_skip; /* in a row; turns to sleep at once in, since staying awake did not pay */
	struct epoll_event events[EVENTS_A_TURN];
	int event_count, event_next; /* of the turn in progress, so that unwatch can cancel what is pending */
};

int64_t loop_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int loop_create(struct loop **ret_loop, struct err *err)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	struct epoll_event wake = { .events = EPOLLIN, .data.ptr = NULL };

	if (!loop)
		return err_set(err, ERR_HOST, ENOMEM, "event loop: out of memory");
	loop->deferred_tail = &loop->deferred;
	loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->wake_fd < 0 || loop->epoll_fd < 0 ||
	    epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &wake) < 0) {
		int code = errno;

		loop_destroy(loop);
		return err_set(err, ERR_HOST, code, "event loop: %s", strerror(code));
	}
	*ret_loop = loop;
	return 0;
}

void loop_destroy(struct loop *loop)
{
	if (!loop)
		return;
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	if (loop->wake_fd >= 0)
		close(loop->wake_fd);
	free(loop->heap.items);
	free(loop);
}

int loop_watch(struct loop *loop, struct loop_watch *watch, unsigned events)
{
	struct epoll_event e = { .data.ptr = watch };

	if (watch->active && watch->events == events)
		return 0;
	e.events = (events & LOOP_READ ? EPOLLIN : 0) | (events & LOOP_WRITE ? EPOLLOUT : 0);
	if (epoll_ctl(loop->epoll_fd, watch->active ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &e) < 0)
		return -errno;
	watch->active = true;
	watch->events = events;
	return 0;
}

void loop_unwatch(struct loop *loop, struct loop_watch *watch)
{
	if (!watch->active)
		return;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->active = false;
	for (int i = loop->event_next; i < loop->event_count; i++)
		if (loop->events[i].data.ptr == watch)
			loop->events[i].events = 0;
}

/* --- timers: a binary heap by due time --- */

static void heap_put(struct loop *loop, size_t i, struct loop_timer *timer)
{
	loop->heap.items[i] = timer;
	timer->place = (uint32_t)i + 1;
}

static void heap_settle(struct loop *loop, size_t i, struct loop_timer *timer)
{
	while (i > 0 && loop->heap.items[(i - 1) / 2]->due_ns > timer->due_ns) {
		heap_put(loop, i, loop->heap.items[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < loop->heap.count &&
		    loop->heap.items[child + 1]->due_ns < loop->heap.items[child]->due_ns)
			child++;
		if (child >= loop->heap.count || loop->heap.items[child]->due_ns >= timer->due_ns)
			break;
		heap_put(loop, i, loop->heap.items[child]);
		i = child;
	}
	heap_put(loop, i, timer);
}

int loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_ns)
{
	size_t i;

	timer->due_ns = due_ns;
	if (timer->place) {
		i = timer->place - 1;
	} else {
		i = loop->heap.count;
		if (vec_push(&loop->heap, timer) < 0)
			return -ENOMEM;
	}
	heap_settle(loop, i, timer);
	return 0;
}

void loop_timer_clear(struct loop *loop, struct loop_timer *timer)
{
	struct loop_timer *last;
	size_t i;

	if (!timer->place)
		return;
	i = timer->place - 1;
	timer->place = 0;
	last = loop->heap.items[--loop->heap.count];
	if (last != timer)
		heap_settle(loop, i, last);
}

static void timers_fire(struct loop *loop)
{
	int64_t now;

	if (!loop->heap.count)
		return;
	now = loop_now_ns();
	while (loop->heap.count && loop->heap.items[0]->due_ns <= now) {
		struct loop_timer *timer = loop->heap.items[0];

		loop_timer_clear(loop, timer);
		timer->fire(timer);
	}
}

/* --- deferred work --- */

void loop_defer(struct loop *loop, struct loop_deferred *deferred)
{
	if (deferred->queued)
		return;
	deferred->queued = true;
	deferred->next = NULL;
	*loop->deferred_tail = deferred;
	loop->deferred_tail = &deferred->next;
}

void loop_undefer(struct loop *loop, struct loop_deferred *deferred)
{
	if (!deferred->queued)
		return;
	for (struct loop_deferred **at = &loop->deferred; *at; at = &(*at)->next)
		if (*at == deferred) {
			*at = deferred->next;
			if (!*at)
				loop->deferred_tail = at;
			break;
		}
	deferred->queued = false;
}

static void deferred_run(struct loop *loop)
{
	while (loop->deferred) {
		struct loop_deferred *deferred = loop->deferred;

		loop->deferred = deferred->next;
		if (!loop->deferred)
			loop->deferred_tail = &loop->deferred;
		deferred->queued = false;
		deferred->run(deferred);
	}
}

/* --- turns --- */

static int wait_ms(const struct loop *loop, int64_t wait_ns)
{
	if (loop->heap.count) {
		int64_t until = loop->heap.items[0]->due_ns - loop_now_ns();

		if (until < 0)
			until = 0;
		if (wait_ns < 0 || until < wait_ns)
			wait_ns = until;
	}
	if (wait_ns < 0)
		return -1;
	if (wait_ns > INT64_C(3600000000000))
		return 3600000;
	return (int)((wait_ns + 999999) / 1000000);
}

/*
 * Awake for at most spin_ns. Events that are found later than that (another process had the CPU meanwhile) do not
 * make it worth it, and each miss in a row doubles the turns until the next try.
 */
static int spin_events(struct loop *loop)
{
	const int64_t until = loop_now_ns() + loop->spin_ns;
	int64_t now_ns;
	int n;

	do {
		n = epoll_wait(loop->epoll_fd, loop->events, EVENTS_A_TURN, 0);
		now_ns = loop_now_ns();
	} while (n == 0 && now_ns < until);
	if (n > 0 && now_ns < until) {
		loop->spin_misses = 0;
	} else {
		loop->spin_misses += loop->spin_misses < SPIN_MISSES_MOST;
		loop->spin_skip = (1U << loop->spin_misses) - 1;
	}
	return n;
}

/* For the next events: as loop_set_spin says, awake for a while where there were some just now, then asleep. */
static int wait_events(struct loop *loop, int64_t wait_ns)
{
	int n;

	if (loop->spin_ns && loop->was_busy && wait_ns != 0) {
		if (loop->spin_skip) {
			loop->spin_skip--;
		} else {
			n = spin_events(loop);
			if (n != 0)
				return n;
		}
	}
	return epoll_wait(loop->epoll_fd, loop->events, EVENTS_A_TURN, wait_ms(loop, wait_ns));
}

int loop_turn(struct loop *loop, int64_t wait_ns)
{
	int n;

	/* what it did may be all that the caller waits for */
	if (loop->deferred) {
		deferred_run(loop);
		wait_ns = 0;
	}
	n = wait_events(loop, wait_ns);
	if (n < 0 && errno != EINTR)
		return -errno;
	loop->event_count = n < 0 ? 0 : n;
	loop->was_busy = n > 0;
	for (loop->event_next = 0; loop->event_next < loop->event_count;) {
		struct epoll_event *e = &loop->events[loop->event_next++];
		struct loop_watch *watch = e->data.ptr;
		uint64_t count;

		if (!watch) {
			if (read(loop->wake_fd, &count, sizeof(count)) < 0)
				continue;
		} else if (e->events) {
			watch->ready(watch, (e->events & EPOLLIN ? LOOP_READ : 0) |
						    (e->events & EPOLLOUT ? LOOP_WRITE : 0) |
						    (e->events & (EPOLLERR | EPOLLHUP) ? LOOP_GONE : 0));
		}
	}
	loop->event_count = 0;
	timers_fire(loop);
	deferred_run(loop);
	return 0;
}

void loop_set_spin(struct loop *loop, int64_t spin_ns)
{
	loop->spin_ns = spin_ns;
}

int loop_run(struct loop *loop)
{
	int rc = 0;

	while (rc == 0 && !atomic_load_explicit(&loop->stopped, memory_order_acquire))
		rc = loop_turn(loop, -1);
	atomic_store_explicit(&loop->stopped, false, memory_order_relaxed);
	return rc;
}

void loop_stop(struct loop *loop)
{
	uint64_t one = 1;
	int saved = errno;

	atomic_store_explicit(&loop->stopped, true, memory_order_release);
	if (write(loop->wake_fd, &one, sizeof(one)) < 0)
		errno = saved; /* the counter is full: it is awake already */
	errno = saved;
}

int loop_fd(const struct loop *loop)
{
	return loop->epoll_fd;
}
