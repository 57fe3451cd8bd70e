/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lab/netns.h"
#include "lab/process.h"
#include "own_host.h"

static struct process *start_with(const struct process_options *how, const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	struct process_options options = *how;
	struct process *p = NULL;
	struct err err = { 0 };

	options.name = options.name ? options.name : "switch 3";
	options.argv = argv;
	if (process_start(&options, &p, &err) < 0)
		fail_msg("%s", err.message);
	return p;
}

static struct process *start(const char *script)
{
	return start_with(&(struct process_options){ 0 }, script);
}

/* Asked whether the last line is "ready". */
static int says_ready(void *context, struct err *err)
{
	char line[64];

	(void)err;
	return strcmp(process_last_lines(context, 1, line, sizeof(line)), "ready") == 0;
}

static int never_answers(void *context, struct err *err)
{
	(void)err;
	++*(unsigned *)context;
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void is_ready_when_it_answers(void **state)
{
	struct process *p = start("echo starting; sleep 0.05; echo ready; exec sleep 1000");
	struct err err = { 0 };

	(void)state;
	assert_int_equal(process_wait_ready(p, says_ready, p, 10000, &err), 0);
	assert_int_equal(process_check(p, &err), 0);
	assert_int_equal(getpgid(process_pid(p)), process_pid(p));
	assert_true(process_stop(p, 5000));
}

static void death_is_told_with_its_last_lines(void **state)
{
	struct process *p = start("for i in 1 2 3 4 5; do echo line $i; done; echo 'cannot bind port 9' >&2; exit 3");
	struct err err = { 0 };
	char lines[128];

	(void)state;
	assert_int_equal(process_wait_ready(p, says_ready, p, 10000, &err), -ECHILD);
	assert_int_equal(err.kind, ERR_HOST);
	assert_non_null(strstr(err.message, "switch 3: ended with status 3"));
	assert_non_null(strstr(err.message, "line 4 | line 5 | cannot bind port 9"));
	assert_null(strstr(err.message, "line 3"));
	assert_string_equal(process_last_lines(p, 2, lines, sizeof(lines)), "line 5\ncannot bind port 9");
	assert_string_equal(process_last_lines(p, 2, lines, 7), "port 9");
	assert_int_equal(process_check(p, &err), -ECHILD); /* and again */
	assert_false(process_stop(p, 5000));
}

static void death_later_is_seen(void **state)
{
	struct process *p = start("echo ready; exec sleep 1000");
	struct err err = { 0 };
	struct pollfd died = { .fd = process_fd(p), .events = POLLIN };

	(void)state;
	assert_int_equal(process_wait_ready(p, says_ready, p, 10000, &err), 0);
	assert_int_equal(poll(&died, 1, 0), 0);
	kill(process_pid(p), SIGSEGV);
	assert_int_equal(poll(&died, 1, 10000), 1);
	assert_int_equal(process_check(p, &err), -ECHILD);
	assert_non_null(strstr(err.message, "killed by signal 11"));
	assert_non_null(strstr(err.message, "its last lines: ready"));
	assert_false(process_stop(p, 5000));
}

static void one_that_hangs_meets_its_deadline(void **state)
{
	struct process *p = start("exec sleep 1000");
	struct err err = { 0 };
	unsigned asked = 0;
	int64_t begin_ms = now_ms();

	(void)state;
	assert_int_equal(process_wait_ready(p, never_answers, &asked, 100, &err), -ETIMEDOUT);
	assert_true(now_ms() - begin_ms >= 100);
	assert_true(asked > 3);
	assert_non_null(strstr(err.message, "did not answer within 100 ms; it said nothing"));
	assert_true(process_stop(p, 5000));
}

static void what_cannot_run_is_said_at_once(void **state)
{
	const char *argv[] = { "/nonexistent/simple_switch_grpc", NULL };
	struct process_options options = { .name = "switch 1", .argv = argv };
	struct process *p = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(process_start(&options, &p, &err), -ENOENT);
	assert_null(p);
	assert_non_null(strstr(err.message, "switch 1: cannot start /nonexistent/simple_switch_grpc: No such file"));
	options.log_path = "/nonexistent/log";
	assert_int_equal(process_start(&options, &p, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/nonexistent/log"));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void deaf_one_is_killed_with_its_offspring(void **state)
{
	struct process *p = start("trap '' TERM; sleep 1000 & echo $!; echo ready; while :; do sleep 1000; done");
	char lines[64];
	struct err err = { 0 };
	int child;

	(void)state;
	assert_int_equal(process_wait_ready(p, says_ready, p, 10000, &err), 0);
	process_last_lines(p, 2, lines, sizeof(lines));
	child = (int)syscall(SYS_pidfd_open, atoi(lines), 0);
	assert_true(child >= 0);
	assert_false(process_stop(p, 50));
	assert_int_equal(poll(&(struct pollfd){ .fd = child, .events = POLLIN }, 1, 10000), 1);
	close(child);
	assert_int_equal(own_host_marked(getpid()), 0);
}

/* It died by itself: what it had started goes too. */
static void offspring_of_a_dead_one_is_killed(void **state)
{
	struct process *p = start("sleep 1000 & echo $!; exit 1");
	char line[64];
	struct err err = { 0 };
	int child;

	(void)state;
	assert_int_equal(poll(&(struct pollfd){ .fd = process_fd(p), .events = POLLIN }, 1, 10000), 1);
	child = (int)syscall(SYS_pidfd_open, atoi(process_last_lines(p, 1, line, sizeof(line))), 0);
	assert_true(child >= 0);
	assert_int_equal(process_check(p, &err), -ECHILD);
	assert_int_equal(poll(&(struct pollfd){ .fd = child, .events = POLLIN }, 1, 10000), 1);
	close(child);
	assert_false(process_stop(p, 0));
}

static void runs_where_it_was_told(void **state)
{
	char dir[] = "/tmp/tare-process-XXXXXX", log[64], expected[256], lines[512], label[32];
	struct err err = { 0 };
	struct process *p;
	struct netns ns;
	struct stat place;
	cpu_set_t own, one;
	int cpu = 0;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(label, sizeof(label), "tare-%d-1", (int)getpid());
	snprintf(log, sizeof(log), "%s/log", dir);
	assert_int_equal(netns_create("tare-1-1-x", &ns, &err), 0);
	assert_int_equal(fstat(ns.fd, &place), 0);
	sched_getaffinity(0, sizeof(own), &own);
	while (!CPU_ISSET(cpu, &own))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	p = start_with(
		&(struct process_options){
			.netns = &ns, .label = label, .directory = dir, .log_path = log, .cpus = &one },
		"readlink /proc/self/ns/net; pwd; grep Cpus_allowed_list /proc/self/status; echo $TARE_LAB; "
		"echo ready; exec sleep 1000");
	assert_int_equal(process_wait_ready(p, says_ready, p, 10000, &err), 0);
	process_last_lines(p, 9, lines, sizeof(lines));
	snprintf(expected, sizeof(expected), "net:[%lu]\n%s\nCpus_allowed_list: %d\n%s\nready",
		 (unsigned long)place.st_ino, dir, cpu, label);
	assert_string_equal(lines, expected);
	assert_int_equal(own_host_marked(getpid()), 1);
	assert_true(process_stop(p, 5000));
	assert_int_equal(own_host_marked(getpid()), 0);
	assert_int_equal(stat(log, &place), 0); /* the caller's file stays */
	assert_true(place.st_size > 20);
	unlink(log);
	rmdir(dir);
	netns_destroy(&ns);
}

static void inherits_no_descriptor(void **state)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD, 50); /* it would stay open on exec */
	struct process *p =
		start("for f in /proc/self/fd/*; do echo -n \"${f##*/} \"; done; echo; echo ready; exec sleep 1000");
	struct err err = { 0 };
	char lines[128], number[16];

	(void)state;
	assert_int_equal(process_wait_ready(p, says_ready, p, 10000, &err), 0);
	snprintf(number, sizeof(number), " %d ", fd);
	assert_null(strstr(process_last_lines(p, 2, lines, sizeof(lines)), number));
	assert_non_null(strstr(lines, "0 1 2 "));
	process_ask_to_end(p);
	assert_int_equal(poll(&(struct pollfd){ .fd = process_fd(p), .events = POLLIN }, 1, 10000), 1);
	assert_false(process_stop(p, 5000)); /* as it had ended before */
	process_ask_to_end(NULL);
	close(fd);
}

/* The parent is killed outright: what it started must not stay. */
static void nothing_outlives_a_killed_parent(void **state)
{
	int ends[2], fd;
	pid_t pid, child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		child = process_pid(start("exec sleep 1000"));
		if (write(ends[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		pause();
	}
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	fd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_true(fd >= 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 10000), 1);
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_ready_when_it_answers),
		cmocka_unit_test(death_is_told_with_its_last_lines),
		cmocka_unit_test(death_later_is_seen),
		cmocka_unit_test(one_that_hangs_meets_its_deadline),
		cmocka_unit_test(what_cannot_run_is_said_at_once),
		cmocka_unit_test(deaf_one_is_killed_with_its_offspring),
		cmocka_unit_test(offspring_of_a_dead_one_is_killed),
		cmocka_unit_test(runs_where_it_was_told),
		cmocka_unit_test(inherits_no_descriptor),
		cmocka_unit_test(nothing_outlives_a_killed_parent),
	};

	if (!own_host_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
