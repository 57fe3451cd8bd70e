/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/schedpath.h"

#include <math.h>
#include <stdlib.h>

#include "base/vec.h"

const char *const path_part_names[PATH_PARTS] = { "wake_up", "cpu_wait", "running", "rest" };

/* A time on a CPU. Where the trace begins in the middle of one, in_ns is INT64_MIN; where it ends, out_ns is INT64_MAX. */
struct span {
	int64_t ready_ns; /* since when it waited for it; INT64_MIN: not known */
	int64_t in_ns, out_ns;
	uint32_t waker; /* 0: nobody of ours */
	bool from_idle; /* the CPU was idle before */
	bool again;     /* it had been taken off, though it could have gone on */
};

struct thread {
	uint32_t tid;
	VEC(struct span) spans; /* in order */
	/* while the events are read: */
	bool running;
	bool pending; /* woken while it ran: it may have been about to block */
	uint32_t pending_waker;
	bool waiting; /* since ready_ns, for a CPU */
	bool guessed; /* by a wake-up that was pending: another one would prove it wrong */
	bool again;
	int64_t ready_ns;
	uint32_t waker;
};

struct sched_path {
	VEC(struct thread) threads;
	/* Times at which any of them ran, apart from one another, in order. */
	VEC(struct span) any;
};

/* Steps of a walk that take no time, in a row: more are a circle of wakers, which only a damaged trace has. */
enum { STILL_MOST = 64 };

/* --- reading the events --- */

static int by_time(const void *a, const void *b)
{
	const struct sched_event *x = a, *y = b;

	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static struct thread *thread_find(const struct sched_path *p, uint32_t tid)
{
	for (size_t i = 0; i < p->threads.count; i++)
		if (p->threads.items[i].tid == tid)
			return &p->threads.items[i];
	return NULL;
}

static struct thread *thread_of(struct sched_path *p, uint32_t tid)
{
	const struct thread fresh = { .tid = tid };
	struct thread *t = thread_find(p, tid);

	if (t)
		return t;
	return vec_push(&p->threads, fresh) < 0 ? NULL : &p->threads.items[p->threads.count - 1];
}

static void wait_from(struct thread *t, int64_t ready_ns, uint32_t waker)
{
	t->waiting = true;
	t->guessed = t->again = false;
	t->ready_ns = ready_ns;
	t->waker = waker;
}

static void wake(struct thread *t, const struct sched_event *e)
{
	const uint32_t waker = e->flags & SCHED_FROM_OURS ? e->from : 0;

	if (t->running) {
		t->pending = true;
		t->pending_waker = waker;
	} else if (!t->waiting || t->guessed) {
		wait_from(t, e->at_ns, waker);
	}
}

static int put_on(struct thread *t, const struct sched_event *e)
{
	const struct span span = {
		.ready_ns = t->waiting ? t->ready_ns : INT64_MIN,
		.in_ns = e->at_ns,
		.out_ns = INT64_MAX,
		.waker = t->waiting ? t->waker : 0,
		.from_idle = e->flags & SCHED_FROM_IDLE,
		.again = t->waiting && t->again,
	};

	t->running = true;
	t->waiting = t->pending = false;
	return vec_push(&t->spans, span);
}

static int take_off(struct thread *t, const struct sched_event *e)
{
	if (!t->running) {
		/* the trace began while it ran, or the event of its being put on is missing */
		const struct span span = { .ready_ns = INT64_MIN,
					   .in_ns = t->spans.count ? e->at_ns : INT64_MIN,
					   .out_ns = e->at_ns };

		if (vec_push(&t->spans, span) < 0)
			return -1;
	}
	t->spans.items[t->spans.count - 1].out_ns = e->at_ns;
	t->running = false;
	t->waiting = false;
	if (e->flags & SCHED_FROM_RUNNABLE) {
		wait_from(t, e->at_ns, 0);
		t->again = true;
	} else if (t->pending) {
		wait_from(t, e->at_ns, t->pending_waker);
		t->guessed = true;
	}
	t->pending = false;
	return 0;
}

static int read_event(struct sched_path *p, const struct sched_event *e)
{
	struct thread *t;

	if (e->kind == SCHED_WAKE) {
		t = e->flags & SCHED_TO_OURS ? thread_of(p, e->to) : NULL;
		if (t)
			wake(t, e);
		return t || !(e->flags & SCHED_TO_OURS) ? 0 : -1;
	}
	if (e->flags & SCHED_FROM_OURS) {
		t = thread_of(p, e->from);
		if (!t || take_off(t, e) < 0)
			return -1;
	}
	if (e->flags & SCHED_TO_OURS) {
		t = thread_of(p, e->to);
		if (!t || put_on(t, e) < 0)
			return -1;
	}
	return 0;
}

static int by_in(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->in_ns > y->in_ns) - (x->in_ns < y->in_ns);
}

static int join_spans(struct sched_path *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->threads.count; i++)
		for (size_t k = 0; k < p->threads.items[i].spans.count; k++)
			if (vec_push(&p->any, p->threads.items[i].spans.items[k]) < 0)
				return -1;
	if (p->any.count)
		qsort(p->any.items, p->any.count, sizeof(*p->any.items), by_in);
	for (size_t i = 0; i < p->any.count; i++) {
		struct span *last = kept ? &p->any.items[kept - 1] : NULL;

		if (last && p->any.items[i].in_ns <= last->out_ns) {
			if (p->any.items[i].out_ns > last->out_ns)
				last->out_ns = p->any.items[i].out_ns;
		} else {
			p->any.items[kept++] = p->any.items[i];
		}
	}
	p->any.count = kept;
	return 0;
}

struct sched_path *sched_path_create(struct sched_event *events, size_t count)
{
	struct sched_path *p = calloc(1, sizeof(*p));
	int rc = p ? 0 : -1;

	if (p && count)
		qsort(events, count, sizeof(*events), by_time);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = read_event(p, &events[i]);
	if (rc == 0)
		rc = join_spans(p);
	if (rc < 0) {
		sched_path_destroy(p);
		return NULL;
	}
	return p;
}

void sched_path_destroy(struct sched_path *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->threads.count; i++)
		free(p->threads.items[i].spans.items);
	free(p->threads.items);
	free(p->any.items);
	free(p);
}

/* --- asking --- */

/* The last that began at `at_ns` or before; NULL: none. */
static const struct span *span_at(const struct span *spans, size_t count, int64_t at_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans[middle].in_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &spans[low - 1] : NULL;
}

bool sched_path_runs(const struct sched_path *p, int64_t from_ns, int64_t to_ns)
{
	const struct span *s = span_at(p->any.items, p->any.count, to_ns);

	return s && s->out_ns >= from_ns;
}

/* Of those that run at a moment the one that was put on last; else, of those that ran before, the one that ran last. */
static const struct span *running_at(const struct sched_path *p, int64_t at_ns, const struct thread **ret)
{
	const struct span *best = NULL;

	for (size_t i = 0; i < p->threads.count; i++) {
		const struct thread *t = &p->threads.items[i];
		const struct span *s = span_at(t->spans.items, t->spans.count, at_ns);
		bool runs = s && s->out_ns >= at_ns, best_runs = best && best->out_ns >= at_ns;

		if (!s || (best && (best_runs != runs ? best_runs
				    : runs            ? best->in_ns >= s->in_ns
						      : best->out_ns >= s->out_ns)))
			continue;
		best = s;
		*ret = t;
	}
	return best;
}

/* The walk: at at_ns, with everything behind it divided. */
struct walk {
	const struct sched_path *path;
	int64_t from_ns, at_ns;
	int64_t *parts;
};

static void give(struct walk *w, enum path_part part, int64_t until_ns)
{
	if (until_ns < w->from_ns)
		until_ns = w->from_ns;
	if (until_ns >= w->at_ns)
		return;
	w->parts[part] += w->at_ns - until_ns;
	w->at_ns = until_ns;
}

/* From a time on a CPU to what came before it. NULL: ask anew who ran. */
static const struct span *step_back(struct walk *w, const struct span *s, const struct thread **thread)
{
	const struct span *before = NULL;

	give(w, PATH_RUNNING, s->in_ns);
	if (w->at_ns <= w->from_ns || s->ready_ns == INT64_MIN)
		return NULL;
	give(w, s->from_idle ? PATH_WAKE_UP : PATH_CPU_WAIT, s->ready_ns);
	if (s->again)
		before = s > (*thread)->spans.items ? s - 1 : NULL;
	else if (s->waker) {
		*thread = thread_find(w->path, s->waker);
		before = *thread ? span_at((*thread)->spans.items, (*thread)->spans.count, w->at_ns) : NULL;
		if (before && before->out_ns < w->at_ns)
			before = NULL;
	}
	return before;
}

void sched_path_divide(const struct sched_path *p, int64_t from_ns, int64_t to_ns, int64_t ret_ns[PATH_PARTS])
{
	struct walk w = { .path = p, .from_ns = from_ns, .at_ns = to_ns, .parts = ret_ns };
	const struct thread *thread = NULL;
	const struct span *s = NULL;
	unsigned still = 0;

	for (int i = 0; i < PATH_PARTS; i++)
		ret_ns[i] = 0;
	while (w.at_ns > from_ns) {
		int64_t at_ns = w.at_ns;

		if (!s) {
			/* one that was put on just now has had no time to do anything */
			s = running_at(p, at_ns - 1, &thread);
			if (!s || s->out_ns < from_ns) {
				give(&w, PATH_REST, from_ns);
				break;
			}
			give(&w, PATH_REST, s->out_ns);
		}
		s = step_back(&w, s, &thread);
		still = w.at_ns == at_ns ? still + 1 : 0;
		if (still > 0 && (!s || still > STILL_MOST)) {
			give(&w, PATH_REST, at_ns - 1);
			s = NULL;
		}
	}
}

void sched_path_narrow(const struct sched_path *p, const int64_t *stamps_ns, size_t count, int64_t resolution_ns,
		       double *low_ns, double *high_ns)
{
	enum { STEPS_MOST = 2000 };
	double step = fmax((double)resolution_ns / 4, (*high_ns - *low_ns) / STEPS_MOST);
	size_t votes[STEPS_MOST + 2], best = 0, steps;
	double first = NAN, last = NAN;

	if (count == 0 || !isfinite(*low_ns) || !isfinite(*high_ns) || *high_ns <= *low_ns || step <= 0)
		return;
	steps = (size_t)((*high_ns - *low_ns) / step) + 1;
	for (size_t i = 0; i < steps; i++) {
		int64_t offset = llround(*low_ns + (double)i * step);

		votes[i] = 0;
		for (size_t k = 0; k < count; k++)
			votes[i] += sched_path_runs(p, stamps_ns[k] + offset, stamps_ns[k] + offset + resolution_ns);
		best = votes[i] > best ? votes[i] : best;
	}
	for (size_t i = 0; i < steps; i++) {
		if (votes[i] + count / 200 < best)
			continue;
		first = isnan(first) ? *low_ns + (double)i * step : first;
		last = *low_ns + (double)i * step;
	}
	*high_ns = fmin(*high_ns, last + step);
	*low_ns = fmax(*low_ns, first - (first > *low_ns ? step : 0));
}
