/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "lab/leftovers.h"
#include "lab/lock.h"
#include "lab/topology.h"
#include "own_host.h"

enum { KILLS = 30, SWITCHES = 3, MOMENT_MOST_US = 60000 };

static unsigned said;
static char all_said[8192];

static void say(void *context, const char *what)
{
	size_t n = strlen(all_said);

	(void)context;
	said++;
	snprintf(all_said + n, sizeof(all_said) - n, "%s\n", what);
}

static int clean(void)
{
	struct err err = { 0 };
	int r;

	said = 0;
	all_said[0] = '\0';
	r = lab_clean(say, NULL, &err);
	if (r < 0)
		fail_msg("%s", err.message);
	assert_int_equal(r, said);
	return r;
}

static int is_up(void *context, struct err *err)
{
	char line[16];

	(void)err;
	return strcmp(process_last_lines(context, 1, line, sizeof(line)), "up") == 0;
}

/* A switch's process, with an offspring that leaves its group and so is nobody's to kill but `tare clean`'s. */
static struct process *process_start_in(const struct lab_line *line, uint32_t i)
{
	const char *argv[] = { "sh", "-c", "setsid sleep 1000 & echo up; exec sleep 1000", NULL };
	struct process_options options = {
		.name = "switch", .argv = argv, .netns = &line->switches[i].netns, .label = line->label
	};
	struct process *p = NULL;

	return process_start(&options, &p, NULL) == 0 && process_wait_ready(p, is_up, p, 10000, NULL) == 0 ? p : NULL;
}

/* What a campaign does, until it is killed: restarts, one after another, the same names in each. */
static _Noreturn void campaign(int out)
{
	for (;;) {
		struct lab_line *line;

		if (lab_line_open(&(struct lab_line_options){ .switches = SWITCHES }, &line, NULL) < 0)
			_exit(1);
		for (uint32_t i = 0; i < line->switch_count; i++)
			if (!(line->switches[i].process = process_start_in(line, i)))
				_exit(1);
		if (write(out, "", 1) != 1)
			_exit(1);
		lab_line_close(line);
	}
}

static pid_t campaign_start(int *ret_in)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
		campaign(ends[1]);
	assert_true(pid > 0);
	close(ends[1]);
	*ret_in = ends[0];
	return pid;
}

static void kill_outright(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status)); /* it did not end by itself */
}

static void killed_at_any_moment_nothing_stays(void **state)
{
	struct lab_line *living = NULL;
	struct err err = { 0 };
	struct rng rng;
	unsigned left = 0;

	(void)state;
	assert_int_equal(lab_line_open(&(struct lab_line_options){ .switches = 1 }, &living, &err), 0);
	living->switches[0].process = process_start_in(living, 0);
	assert_non_null(living->switches[0].process);
	rng_init(&rng, 4);
	for (unsigned i = 0; i < KILLS; i++) {
		struct timespec moment = { .tv_nsec = (long)rng_below(&rng, MOMENT_MOST_US) * 1000 };
		pid_t pid;
		int in;

		pid = campaign_start(&in);
		nanosleep(&moment, NULL); /* not to wait for something: this is the random moment */
		kill_outright(pid);
		close(in);
		left += clean() > 0;
		assert_int_equal(own_host_count(NETNS_FOLDER), 3); /* those of the living one */
		assert_int_equal(own_host_count(LAB_LOCKS), 1);
		assert_int_equal(own_host_interfaces(), 0);
		assert_int_equal(own_host_marked(pid), 0);
		assert_int_equal(clean(), 0); /* twice is once */
	}
	assert_true(left > KILLS / 2); /* else this was no trial */
	assert_int_equal(lab_line_check(living, &err), 0);
	assert_int_equal(process_check(living->switches[0].process, &err), 0);
	lab_line_close(living);
	assert_int_equal(own_host_count(NETNS_FOLDER), 0);
	assert_int_equal(own_host_count(LAB_LOCKS), 0);
}

static void what_was_done_is_said(void **state)
{
	char expected[128], byte;
	pid_t pid;
	int in;

	(void)state;
	pid = campaign_start(&in);
	assert_int_equal(read(in, &byte, 1), 1); /* it stands, and is about to close */
	kill_outright(pid);
	close(in);
	clean();
	snprintf(expected, sizeof(expected), "namespace tare-%d-0-b: removed (its tare is gone)\n", (int)pid);
	assert_non_null(strstr(all_said, expected));
	snprintf(expected, sizeof(expected), "lab tare-%d-0: forgotten (its tare is gone)\n", (int)pid);
	assert_non_null(strstr(all_said, expected));
	assert_non_null(strstr(all_said, "killed (its tare is gone)\n"));
}

static pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

/* Names that only look like ours; and a file to which nothing was bound yet when its tare was killed. */
static void names_of_others_are_left_alone(void **state)
{
	static const char *const others[] = { "tare",
					      "tare-",
					      "tare-x-0-a",
					      "tare-0-0-a",
					      "tare-1x-0-a",
					      "tare-01-0-a",
					      "tare-99999999999999999999-0-a",
					      "blue" };
	char path[128];
	pid_t dead = dead_pid();

	(void)state;
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(path, sizeof(path), NETNS_FOLDER "/%s", others[i]);
		touch(path);
	}
	snprintf(path, sizeof(path), NETNS_FOLDER "/tare-%d", (int)dead); /* no serial, no role */
	touch(path);
	assert_int_equal(clean(), 0);
	snprintf(path, sizeof(path), NETNS_FOLDER "/tare-%d-0-s1", (int)getpid()); /* alive, though without a lock */
	touch(path);
	assert_int_equal(clean(), 0);
	unlink(path);
	snprintf(path, sizeof(path), NETNS_FOLDER "/tare-%d-0-s1", (int)dead);
	touch(path);
	assert_int_equal(clean(), 1);
	assert_int_equal(own_host_count(NETNS_FOLDER), sizeof(others) / sizeof(others[0]) + 1);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(path, sizeof(path), NETNS_FOLDER "/%s", others[i]);
		assert_int_equal(unlink(path), 0);
	}
	snprintf(path, sizeof(path), NETNS_FOLDER "/tare-%d", (int)dead);
	assert_int_equal(unlink(path), 0);
}

/* A pid that came to mean another process does not keep a dead lab: its lock is free. */
static void a_pid_used_again_protects_nothing(void **state)
{
	char name[64];
	struct netns ns;
	struct err err = { 0 };

	(void)state;
	snprintf(name, sizeof(name), "tare-%d-5-a", (int)getpid());
	assert_int_equal(netns_create(name, &ns, &err), 0);
	netns_close(&ns);
	assert_int_equal(clean(), 0);
	snprintf(name, sizeof(name), LAB_LOCKS "/tare-%d-5", (int)getpid());
	touch(name);
	assert_int_equal(clean(), 2);
	assert_int_equal(own_host_count(NETNS_FOLDER), 0);
	assert_int_equal(own_host_count(LAB_LOCKS), 0);
}

static int text_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = fd >= 0 && write(fd, text, strlen(text)) > 0 ? 0 : -1;

	if (fd >= 0)
		close(fd);
	return r;
}

/* A process without any right, in a user namespace that allows no further one: the message of netns_permit, or a number. */
static _Noreturn void without_rights(int out)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	struct lab_line *line;
	struct err err = { 0 };

	if (unshare(CLONE_NEWUSER) < 0)
		_exit(10);
	text_write("/proc/self/setgroups", "deny");
	if (text_write("/proc/self/uid_map", "0 0 1") < 0 || text_write("/proc/self/gid_map", "0 0 1") < 0)
		_exit(11);
	if (text_write("/proc/sys/user/max_user_namespaces", "0") < 0)
		_exit(12);
	if (syscall(SYS_capset, &head, none) < 0)
		_exit(13);
	if (netns_permit(&err) >= 0 || err.kind != ERR_HOST)
		_exit(14);
	dprintf(out, "%s\n", err.message);
	if (lab_line_open(&(struct lab_line_options){ .switches = 1 }, &line, &err) >= 0 || err.kind != ERR_HOST)
		_exit(15);
	dprintf(out, "%s", err.message);
	_exit(0);
}

static void without_permission_one_message(void **state)
{
	char text[2048] = "";
	int ends[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
		without_rights(ends[1]);
	close(ends[1]);
	while ((got = read(ends[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "network namespaces: not allowed (Operation not permitted)"));
	assert_non_null(strstr(text, "cannot make a user namespace"));
	assert_non_null(strstr(text, "run as root, or allow user namespaces"));
	assert_int_equal(own_host_count(NETNS_FOLDER), 0);
	assert_int_equal(own_host_count(LAB_LOCKS), 0);
}

static void trying_leaves_nothing(void **state)
{
	char how[256] = "";
	struct err err = { 0 };

	(void)state;
	assert_int_equal(lab_try(how, sizeof(how), &err), 0);
	assert_non_null(strstr(how, "a switch between two hosts stands in"));
	assert_int_equal(own_host_count(NETNS_FOLDER), 0);
	assert_int_equal(own_host_count(LAB_LOCKS), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* The attempt is a child's: killed with its parent at any moment, it leaves nothing to a second cleaning. */
static void a_killed_try_leaves_nothing(void **state)
{
	struct rng rng;
	unsigned left = 0;

	(void)state;
	rng_init(&rng, 5);
	for (unsigned i = 0; i < KILLS; i++) {
		struct timespec moment = { .tv_nsec = (long)rng_below(&rng, MOMENT_MOST_US) * 1000 };
		char how[256];
		pid_t pid = fork();

		assert_true(pid >= 0);
		while (pid == 0)
			if (lab_try(how, sizeof(how), NULL) < 0)
				_exit(1);
		nanosleep(&moment, NULL);
		kill_outright(pid);
		left += clean() > 0;
		assert_int_equal(own_host_count(NETNS_FOLDER), 0);
		assert_int_equal(own_host_count(LAB_LOCKS), 0);
		assert_int_equal(own_host_interfaces(), 0);
	}
	assert_true(left > KILLS / 2); /* else this was no trial */
}

/* The child's part: in a pid namespace where its tare had a pid that is nobody's here, and a /run that is not seen here. */
static _Noreturn void live_in_a_container(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWPID) < 0)
		_exit(1);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("TARE_LAB", "tare-99999-1", 1);
		fcntl(ready, F_SETFD, FD_CLOEXEC); /* closed once it has its mark */
		execlp("sleep", "sleep", "1000", (char *)NULL);
		_exit(1);
	}
	close(ready);
	pause();
	_exit(1);
}

static void what_lives_in_a_container_is_left_alone(void **state)
{
	char none;
	int ends[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
		live_in_a_container(ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &none, 1), 0);
	close(ends[0]);
	assert_int_equal(own_host_marked(99999), 1);
	assert_int_equal(clean(), 0);
	assert_int_equal(own_host_marked(99999), 1);
	kill_outright(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_any_moment_nothing_stays),
		cmocka_unit_test(what_was_done_is_said),
		cmocka_unit_test(names_of_others_are_left_alone),
		cmocka_unit_test(a_pid_used_again_protects_nothing),
		cmocka_unit_test(what_lives_in_a_container_is_left_alone),
		cmocka_unit_test(without_permission_one_message),
		cmocka_unit_test(trying_leaves_nothing),
		cmocka_unit_test(a_killed_try_leaves_nothing),
	};

	if (!own_host_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
