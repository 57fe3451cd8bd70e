/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "grpc/loop.h"

/* Another thread answers each byte on a socket, after a while. */
struct echo {
	int near, far;
	int64_t after_ns;
	pthread_t thread;
	struct loop *loop;
	struct loop_watch watch;
	int answers;
};

static void *answer(void *context)
{
	struct echo *e = context;
	const struct timespec after = { .tv_nsec = e->after_ns };
	char byte;

	while (read(e->far, &byte, 1) == 1) {
		if (e->after_ns)
			nanosleep(&after, NULL);
		if (send(e->far, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	return NULL;
}

static void on_answer(struct loop_watch *watch, unsigned events)
{
	struct echo *e = (struct echo *)((char *)watch - offsetof(struct echo, watch));
	char byte;

	(void)events;
	assert_int_equal(read(e->near, &byte, 1), 1);
	e->answers++;
	assert_int_equal(write(e->near, &byte, 1), 1);
}

static void echo_open(struct echo *e, int64_t after_ns, int64_t spin_ns)
{
	struct err err = { 0 };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	*e = (struct echo){ .near = ends[0], .far = ends[1], .after_ns = after_ns };
	assert_int_equal(loop_create(&e->loop, &err), 0);
	loop_set_spin(e->loop, spin_ns);
	e->watch = (struct loop_watch){ .fd = e->near, .ready = on_answer };
	assert_int_equal(loop_watch(e->loop, &e->watch, LOOP_READ), 0);
	assert_int_equal(pthread_create(&e->thread, NULL, answer, e), 0);
	assert_int_equal(write(e->near, "x", 1), 1);
}

static void echo_close(struct echo *e)
{
	shutdown(e->near, SHUT_RDWR);
	pthread_join(e->thread, NULL);
	loop_unwatch(e->loop, &e->watch);
	loop_destroy(e->loop);
	close(e->near);
	close(e->far);
}

static int64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Nothing comes within the time: staying awake ceases, and with it what it costs. */
static void staying_awake_ends_where_it_does_not_pay(void **state)
{
	const int64_t spin_ns = 2000000;
	enum { ANSWERS = 50 };
	struct echo e;
	int64_t cpu_ns;

	(void)state;
	echo_open(&e, 2 * spin_ns, spin_ns);
	cpu_ns = own_cpu_ns();
	while (e.answers < ANSWERS)
		assert_int_equal(loop_turn(e.loop, -1), 0);
	cpu_ns = own_cpu_ns() - cpu_ns;
	assert_in_range(cpu_ns, 0, ANSWERS * spin_ns / 2);
	echo_close(&e);
}

/* Answers come within the time: the thread never sleeps for them. */
static void staying_awake_goes_on_where_it_pays(void **state)
{
	enum { ANSWERS = 500 };
	struct rusage before, after;
	struct echo e;

	(void)state;
	echo_open(&e, 0, 500000000);
	assert_int_equal(loop_turn(e.loop, -1), 0);
	getrusage(RUSAGE_THREAD, &before);
	while (e.answers < ANSWERS)
		assert_int_equal(loop_turn(e.loop, -1), 0);
	getrusage(RUSAGE_THREAD, &after);
	assert_in_range(after.ru_nvcsw - before.ru_nvcsw, 0, ANSWERS / 10);
	echo_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(staying_awake_ends_where_it_does_not_pay),
		cmocka_unit_test(staying_awake_goes_on_where_it_pays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
