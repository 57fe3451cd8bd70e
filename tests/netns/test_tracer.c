/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "observe/tracer.h"

/* The tracer on this host's own scheduler. Skips where that is not allowed. */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

struct two {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int turn, waiting;
	pid_t waker, woken;
	int64_t woke_ns, ran_ns; /* CLOCK_REALTIME: before the last wake-up, after it was answered */
};

static void *answer(void *context)
{
	struct two *t = context;

	pthread_mutex_lock(&t->lock);
	t->woken = (pid_t)syscall(SYS_gettid);
	while (t->turn == 0) {
		t->waiting = 1;
		pthread_cond_wait(&t->changed, &t->lock);
	}
	t->ran_ns = clock_ns(CLOCK_REALTIME);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Is it asleep in the kernel? */
static int is_asleep(pid_t tid)
{
	char path[64], text[256] = "", *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	p = fgets(text, sizeof(text), f);
	fclose(f);
	p = p ? strrchr(text, ')') : NULL;
	return p && p[1] == ' ' && p[2] == 'S';
}

static void run_on(pthread_t thread, int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	assert_int_equal(pthread_setaffinity_np(thread, sizeof(cpus), &cpus), 0);
}

/* One thread wakes another, each on its CPU: who woke whom is seen, in that order, and the time in between is divided. */
static void trace_a_wake_up(int waker_cpu, int woken_cpu, int64_t parts[PATH_PARTS])
{
	struct two t = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	const pid_t self = getpid();
	const struct tracer_config config = { .processes = &self, .process_count = 1, .cpu = waker_cpu };
	struct tracer *tracer = NULL;
	struct sched_path *path;
	int64_t seen_ns = 0;
	struct trace trace;
	struct err err = { 0 };
	pthread_t thread;
	int asleep = 0;

	t.waker = (pid_t)syscall(SYS_gettid);
	run_on(pthread_self(), waker_cpu);
	pthread_create(&thread, NULL, answer, &t);
	run_on(thread, woken_cpu);
	while (!asleep) {
		pthread_mutex_lock(&t.lock);
		asleep = t.waiting && is_asleep(t.woken);
		pthread_mutex_unlock(&t.lock);
	}
	assert_int_equal(tracer_start(&config, &tracer, &err), 0);
	pthread_mutex_lock(&t.lock);
	t.turn = 1;
	pthread_mutex_unlock(&t.lock);
	t.woke_ns = clock_ns(CLOCK_REALTIME);
	pthread_cond_signal(&t.changed);
	pthread_join(thread, NULL);
	assert_int_equal(tracer_stop(tracer, &trace, &err), 0);
	assert_int_equal(trace.dropped, 0);
	for (size_t i = 0; i < trace.count; i++) {
		const struct sched_event *e = &trace.events[i];

		if (e->kind != SCHED_WAKE || e->to != (uint32_t)t.woken || e->from != (uint32_t)t.waker)
			continue;
		assert_int_equal(e->flags & (SCHED_FROM_OURS | SCHED_TO_OURS), SCHED_FROM_OURS | SCHED_TO_OURS);
		seen_ns = e->at_ns;
	}
	assert_in_range(seen_ns, t.woke_ns - 1000000, t.ran_ns + 1000000); /* a clock may be stepped a little */
	path = sched_path_create(trace.events, trace.count);
	assert_non_null(path);
	sched_path_divide(path, seen_ns, t.ran_ns, parts);
	assert_true(parts[PATH_RUNNING] > 0);
	assert_int_equal(parts[PATH_WAKE_UP] + parts[PATH_CPU_WAIT] + parts[PATH_RUNNING] + parts[PATH_REST],
			 t.ran_ns - seen_ns);
	sched_path_destroy(path);
	trace_release(&trace);
}

/* A CPU that this process may use, the n-th; -1: there is none. */
static int nth_cpu(const cpu_set_t *cpus, int n)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, cpus) && n-- == 0)
			return cpu;
	return -1;
}

/* The waker has the CPU: until it blocks, the woken waits for it. */
static void a_wake_up_on_the_wakers_cpu_waits(void **state)
{
	int64_t parts[PATH_PARTS];
	cpu_set_t cpus;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	trace_a_wake_up(nth_cpu(&cpus, 0), nth_cpu(&cpus, 0), parts);
	assert_true(parts[PATH_CPU_WAIT] > 0);
	assert_int_equal(parts[PATH_WAKE_UP], 0);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

/* Another CPU, which is idle now and then: the way out of that is a part of its own. */
static void a_wake_up_on_an_idle_cpu(void **state)
{
	enum { TRIES = 2000 };
	const struct timespec moment = { .tv_nsec = 5000000 };
	int64_t parts[PATH_PARTS] = { 0 };
	cpu_set_t cpus;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	if (nth_cpu(&cpus, 1) < 0) {
		printf("SKIP: needs a second CPU\n");
		skip();
	}
	for (int i = 0; i < TRIES && parts[PATH_WAKE_UP] == 0; i++) {
		nanosleep(&moment, NULL);
		trace_a_wake_up(nth_cpu(&cpus, 0), nth_cpu(&cpus, 1), parts);
	}
	assert_true(parts[PATH_WAKE_UP] > 0);
	assert_int_equal(parts[PATH_CPU_WAIT], 0);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

/* Only threads of the processes that were named are followed. */
static void others_are_not_followed(void **state)
{
	struct tracer *tracer = NULL;
	struct trace trace;
	struct err err = { 0 };
	pid_t child = fork();
	const struct tracer_config config = { .processes = &child, .process_count = 1, .cpu = -1 };

	(void)state;
	if (child == 0) {
		const struct timespec moment = { .tv_nsec = 1000000 };

		for (int i = 0; i < 100; i++)
			nanosleep(&moment, NULL);
		_exit(0);
	}
	assert_int_equal(tracer_start(&config, &tracer, &err), 0);
	waitpid(child, NULL, 0);
	assert_int_equal(tracer_stop(tracer, &trace, &err), 0);
	assert_true(trace.count > 2);
	for (size_t i = 0; i < trace.count; i++) {
		const struct sched_event *e = &trace.events[i];

		assert_true(e->flags & (SCHED_FROM_OURS | SCHED_TO_OURS));
		if (e->flags & SCHED_FROM_OURS)
			assert_int_equal(e->from, child);
		if (e->flags & SCHED_TO_OURS)
			assert_int_equal(e->to, child);
	}
	trace_release(&trace);
	assert_int_equal(tracer_stop(NULL, &trace, &err), 0);
	assert_int_equal(trace.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wake_up_on_the_wakers_cpu_waits),
		cmocka_unit_test(a_wake_up_on_an_idle_cpu),
		cmocka_unit_test(others_are_not_followed),
	};
	struct err err = { 0 };

	if (tracer_try(&err) < 0) {
		printf("SKIP: %s\n", err.message);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
