/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/tracer.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "observe/tracer_private.h"

enum {
	RING_BYTES = 4 << 20,
	EMPTY_EVERY_NS = 50000000,
	SWITCH_ARGUMENTS = 5, /* with the one that every tracepoint has; the last is the state, from 5.18 on */
	LOG_BYTES = 4096,
};

enum { SWITCH, WAKING, PROGRAMS };

struct tracer {
	int ring_fd, drops_fd;
	int program_fd[PROGRAMS], link_fd[PROGRAMS];
	struct ring_buffer *ring;
	pthread_t thread;
	bool started;
	sem_t stop;
	int64_t wall_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the start */

	/* The emptying thread's, to be read once it has ended: */
	VEC(struct sched_event) events;
	uint64_t dropped; /* by us, over TRACER_EVENTS_MOST */
	bool oom;
};

static int not_allowed(struct err *err, int error, const char *what)
{
	return err_set(err, ERR_HOST, error, "the scheduler cannot be traced: %s: %s; " TRACER_ADVICE, what,
		       strerror(error));
}

/* --- what of this kernel --- */

static int member_at(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	const struct btf_member *member = type ? btf_members(type) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++) {
		const char *is = btf__name_by_offset(btf, member[i].name_off);

		if (is && strcmp(is, name) == 0)
			return (int)btf_member_bit_offset(type, (__u32)i) / 8;
	}
	return -ENOENT;
}

/* The id of a tracepoint's type, and how many arguments it has. */
static int tracepoint_id(const struct btf *btf, const char *name, unsigned *ret_arguments)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	if (type)
		type = btf__type_by_id(btf, type->type);
	if (type && btf_is_ptr(type))
		type = btf__type_by_id(btf, type->type);
	if (!type || !btf_is_func_proto(type))
		return -ENOENT;
	*ret_arguments = btf_vlen(type);
	return id;
}

static int find_layout(struct task_layout *ret, struct err *err)
{
	struct btf *btf = btf__load_vmlinux_btf();
	unsigned switch_arguments = 0, waking_arguments = 0;
	int pid, tgid, rc = 0;

	if (!btf)
		return not_allowed(err, errno ? errno : ENOENT, "reading the kernel's types (BTF)");
	pid = member_at(btf, "pid");
	tgid = member_at(btf, "tgid");
	ret->switch_btf_id = tracepoint_id(btf, "btf_trace_sched_switch", &switch_arguments);
	ret->waking_btf_id = tracepoint_id(btf, "btf_trace_sched_waking", &waking_arguments);
	if (pid < 0 || tgid < 0 || ret->switch_btf_id < 0 || ret->waking_btf_id < 0 ||
	    switch_arguments < SWITCH_ARGUMENTS)
		rc = not_allowed(err, ENOTSUP, "this kernel's tracepoints sched_switch and sched_waking");
	ret->pid_at = (uint32_t)pid;
	ret->tgid_at = (uint32_t)tgid;
	btf__free(btf);
	return rc;
}

/* Thread numbers in the trace are those of the machine; in a PID namespace of its own a process does not know them. */
static int check_pid_namespace(struct err *err)
{
	const ino_t first = 0xeffffffc; /* of the machine, in every kernel */
	struct stat status;

	if (stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != first)
		return not_allowed(err, ENOTSUP, "this process is in a PID namespace of its own");
	return 0;
}

/* --- loading --- */

static int load_program(struct tracer *t, int which, const struct task_layout *task, const struct tracer_config *config,
			struct err *err)
{
	static const char *const names[PROGRAMS] = { "tare_switch", "tare_waking" };
	char log[LOG_BYTES] = "";
	struct program program;
	struct bpf_prog_load_opts options = {
		.sz = sizeof(options),
		.expected_attach_type = BPF_TRACE_RAW_TP,
		.attach_btf_id = (__u32)(which == SWITCH ? task->switch_btf_id : task->waking_btf_id),
		.log_buf = log,
		.log_size = sizeof(log),
	};

	if (which == SWITCH)
		tracer_program_switch(&program, task, config->processes, config->process_count, t->ring_fd,
				      t->drops_fd);
	else
		tracer_program_waking(&program, task, config->processes, config->process_count, t->ring_fd,
				      t->drops_fd);
	t->program_fd[which] =
		bpf_prog_load(BPF_PROG_TYPE_TRACING, names[which], "GPL", program.code, program.count, &options);
	if (t->program_fd[which] < 0)
		return not_allowed(err, -t->program_fd[which], "loading a BPF program");
	t->link_fd[which] = bpf_raw_tracepoint_open(NULL, t->program_fd[which]);
	return t->link_fd[which] < 0 ? not_allowed(err, -t->link_fd[which], "attaching to the scheduler") : 0;
}

static int load_maps(struct tracer *t, struct err *err)
{
	t->ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tare_sched", 0, 0, RING_BYTES, NULL);
	if (t->ring_fd < 0)
		return not_allowed(err, -t->ring_fd, "making a BPF ring");
	t->drops_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tare_drops", sizeof(uint32_t), sizeof(uint64_t), 1, NULL);
	return t->drops_fd < 0 ? not_allowed(err, -t->drops_fd, "making a BPF map") : 0;
}

/* --- the ring --- */

static int take_event(void *context, void *data, size_t size_bytes)
{
	struct tracer *t = context;
	const struct traced *from = data;
	const unsigned kind = from->flags >> 8;
	struct sched_event event = {
		.at_ns = (int64_t)from->at_ns + t->wall_ns,
		.from = from->from,
		.to = from->to,
		.cpu = (uint16_t)from->cpu,
		.kind = (uint8_t)kind,
		.flags = (uint8_t)from->flags,
	};

	TARE_ASSERT(size_bytes == sizeof(*from));
	if (kind == SCHED_SWITCH && from->from == 0)
		event.flags |= SCHED_FROM_IDLE;
	if (kind == SCHED_SWITCH && from->from_state == 0)
		event.flags |= SCHED_FROM_RUNNABLE;
	if (t->events.count == TRACER_EVENTS_MOST)
		t->dropped++;
	else if (vec_push(&t->events, event) < 0)
		t->oom = true;
	return 0;
}

static void *empty_ring(void *context)
{
	struct tracer *t = context;
	struct timespec at;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &at);
	do {
		at.tv_nsec += EMPTY_EVERY_NS;
		if (at.tv_nsec >= 1000000000) {
			at.tv_nsec -= 1000000000;
			at.tv_sec++;
		}
		do
			rc = sem_clockwait(&t->stop, CLOCK_MONOTONIC, &at);
		while (rc < 0 && errno == EINTR);
		ring_buffer__consume(t->ring);
	} while (rc < 0);
	return NULL;
}

static int64_t wall_minus_monotonic_ns(void)
{
	struct timespec wall, before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &after);
	return (wall.tv_sec - before.tv_sec) * INT64_C(1000000000) + wall.tv_nsec - before.tv_nsec -
	       ((after.tv_sec - before.tv_sec) * INT64_C(1000000000) + after.tv_nsec - before.tv_nsec) / 2;
}

/* --- from start to stop --- */

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void release(struct tracer *t)
{
	for (int i = 0; i < PROGRAMS; i++) {
		close_fd(t->link_fd[i]);
		close_fd(t->program_fd[i]);
	}
	ring_buffer__free(t->ring);
	close_fd(t->ring_fd);
	close_fd(t->drops_fd);
	sem_destroy(&t->stop);
	free(t->events.items);
	free(t);
}

static int start_thread(struct tracer *t, int32_t cpu, struct err *err)
{
	pthread_attr_t attributes;
	cpu_set_t cpus;
	int rc;

	pthread_attr_init(&attributes);
	if (cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	}
	rc = pthread_create(&t->thread, &attributes, empty_ring, t);
	pthread_attr_destroy(&attributes);
	t->started = rc == 0;
	return rc ? err_set(err, ERR_HOST, rc, "cannot start the tracer: %s", strerror(rc)) : 0;
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static int open_all(struct tracer *t, const struct tracer_config *config, struct err *err)
{
	struct task_layout task;
	int rc = check_pid_namespace(err);

	if (rc == 0)
		rc = find_layout(&task, err);
	if (rc == 0)
		rc = load_maps(t, err);
	if (rc == 0) {
		t->ring = ring_buffer__new(t->ring_fd, take_event, t, NULL);
		rc = t->ring ? 0 : not_allowed(err, errno, "mapping the ring");
	}
	for (int i = 0; rc == 0 && i < PROGRAMS; i++)
		rc = load_program(t, i, &task, config, err);
	return rc;
}

int tracer_start(const struct tracer_config *config, struct tracer **ret, struct err *err)
{
	struct tracer *t = calloc(1, sizeof(*t));
	int rc;

	TARE_ASSERT(config->process_count <= TRACER_PROCESSES_MOST);
	if (!t)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	libbpf_set_print(quiet); /* what fails is told in our words */
	sem_init(&t->stop, 0, 0);
	t->ring_fd = t->drops_fd = -1;
	for (int i = 0; i < PROGRAMS; i++)
		t->program_fd[i] = t->link_fd[i] = -1;
	t->wall_ns = wall_minus_monotonic_ns();
	rc = open_all(t, config, err);
	if (rc == 0)
		rc = start_thread(t, config->cpu, err);
	if (rc < 0) {
		release(t);
		return rc;
	}
	*ret = t;
	return 0;
}

int tracer_stop(struct tracer *t, struct trace *ret, struct err *err)
{
	uint64_t dropped = 0;
	uint32_t index = 0;
	int rc = 0;

	*ret = (struct trace){ 0 };
	if (!t)
		return 0;
	for (int i = 0; i < PROGRAMS; i++) {
		close_fd(t->link_fd[i]);
		t->link_fd[i] = -1;
	}
	sem_post(&t->stop);
	pthread_join(t->thread, NULL);
	bpf_map_lookup_elem(t->drops_fd, &index, &dropped);
	if (t->oom) {
		rc = err_set(err, ERR_HOST, ENOMEM, "out of memory for the scheduler's events: %zu fit",
			     t->events.count);
	} else {
		*ret = (struct trace){
			.events = t->events.items,
			.count = t->events.count,
			.dropped = dropped + t->dropped,
			.clock_step_ns = wall_minus_monotonic_ns() - t->wall_ns,
		};
		t->events.items = NULL;
	}
	release(t);
	return rc;
}

int tracer_try(struct err *err)
{
	const pid_t self = getpid();
	struct tracer *t = NULL;
	struct trace trace;
	int rc = tracer_start(&(struct tracer_config){ .processes = &self, .process_count = 1, .cpu = -1 }, &t, err);

	if (rc == 0)
		rc = tracer_stop(t, &trace, err);
	if (rc == 0)
		trace_release(&trace);
	return rc;
}

void trace_release(struct trace *trace)
{
	free(trace->events);
	*trace = (struct trace){ 0 };
}
