/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "base/err.h"
#include "observe/tracer_private.h"

/*
 * The two programs, as the kernel takes them. r6: the tracepoint's arguments; r7, r8: the two tasks;
 * r9: flags; the event is made on the stack and copied into the ring.
 *
 *	switch(preempt, prev, next, prev_state):	waking(task):
 *		flags = ours(prev) | ours(next)			flags = ours(current) | ours(task)
 *		if none of ours: return				if task is not ours: return
 *		write { now, cpu, flags, prev, next, state }	write { now, cpu, flags, current, task }
 */
enum { EVENT_AT = -(int)sizeof(struct traced) };
#define FIELD(member) (int16_t)(EVENT_AT + (int)offsetof(struct traced, member))

static void emit(struct program *p, uint8_t code, uint8_t to, uint8_t from, int16_t offset, int32_t value)
{
	TARE_ASSERT(p->count < PROGRAM_MOST);
	p->code[p->count++] =
		(struct bpf_insn){ .code = code, .dst_reg = to, .src_reg = from, .off = offset, .imm = value };
}

static void load(struct program *p, uint8_t size, uint8_t to, uint8_t from, uint32_t offset)
{
	emit(p, BPF_LDX | size | BPF_MEM, to, from, (int16_t)offset, 0);
}

static void store(struct program *p, uint8_t size, int16_t offset, uint8_t from)
{
	emit(p, BPF_STX | size | BPF_MEM, BPF_REG_10, from, offset, 0);
}

static void set(struct program *p, uint8_t to, int32_t value)
{
	emit(p, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

static void copy(struct program *p, uint8_t to, uint8_t from)
{
	emit(p, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static void call(struct program *p, int32_t function)
{
	emit(p, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

static void map(struct program *p, uint8_t to, int fd)
{
	emit(p, BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, 0, fd);
	emit(p, 0, 0, 0, 0, 0);
}

/* r9 |= flag where register `tgid` is one of ours. */
static void flag_if_ours(struct program *p, uint8_t tgid, const pid_t *processes, uint32_t count, int32_t flag)
{
	for (uint32_t i = 0; i < count; i++) {
		emit(p, BPF_JMP | BPF_JNE | BPF_K, tgid, 0, 1, (int32_t)processes[i]);
		emit(p, BPF_ALU64 | BPF_OR | BPF_K, BPF_REG_9, 0, 0, flag);
	}
}

static void leave(struct program *p)
{
	set(p, BPF_REG_0, 0);
	emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Leave unless r9 has a bit of `flags`. */
static void leave_unless(struct program *p, int32_t flags)
{
	emit(p, BPF_JMP | BPF_JSET | BPF_K, BPF_REG_9, 0, 2, flags);
	leave(p);
}

/* Fills in time, CPU and flags, and hands the event over; one that finds no room is counted. Then leaves. */
static void write_event(struct program *p, enum sched_kind kind, int ring_fd, int drops_fd)
{
	call(p, BPF_FUNC_ktime_get_ns);
	store(p, BPF_DW, FIELD(at_ns), BPF_REG_0);
	call(p, BPF_FUNC_get_smp_processor_id);
	store(p, BPF_W, FIELD(cpu), BPF_REG_0);
	emit(p, BPF_ALU64 | BPF_OR | BPF_K, BPF_REG_9, 0, 0, kind << 8);
	store(p, BPF_W, FIELD(flags), BPF_REG_9);
	map(p, BPF_REG_1, ring_fd);
	copy(p, BPF_REG_2, BPF_REG_10);
	emit(p, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, EVENT_AT);
	set(p, BPF_REG_3, sizeof(struct traced));
	set(p, BPF_REG_4, BPF_RB_NO_WAKEUP);
	call(p, BPF_FUNC_ringbuf_output);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 9, 0);
	emit(p, BPF_ST | BPF_W | BPF_MEM, BPF_REG_10, 0, FIELD(unused), 0); /* the counter's index */
	map(p, BPF_REG_1, drops_fd);
	copy(p, BPF_REG_2, BPF_REG_10);
	emit(p, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, FIELD(unused));
	call(p, BPF_FUNC_map_lookup_elem);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0);
	set(p, BPF_REG_1, 1);
	emit(p, BPF_STX | BPF_DW | BPF_ATOMIC, BPF_REG_0, BPF_REG_1, 0, BPF_ADD);
	leave(p);
}

void tracer_program_switch(struct program *p, const struct task_layout *task, const pid_t *processes, uint32_t count,
			   int ring_fd, int drops_fd)
{
	p->count = 0;
	copy(p, BPF_REG_6, BPF_REG_1);
	load(p, BPF_DW, BPF_REG_7, BPF_REG_6, 8);
	load(p, BPF_DW, BPF_REG_8, BPF_REG_6, 16);
	load(p, BPF_W, BPF_REG_2, BPF_REG_7, task->tgid_at);
	load(p, BPF_W, BPF_REG_3, BPF_REG_8, task->tgid_at);
	set(p, BPF_REG_9, 0);
	flag_if_ours(p, BPF_REG_2, processes, count, SCHED_FROM_OURS);
	flag_if_ours(p, BPF_REG_3, processes, count, SCHED_TO_OURS);
	leave_unless(p, SCHED_FROM_OURS | SCHED_TO_OURS);
	load(p, BPF_W, BPF_REG_2, BPF_REG_7, task->pid_at);
	store(p, BPF_W, FIELD(from), BPF_REG_2);
	load(p, BPF_W, BPF_REG_2, BPF_REG_8, task->pid_at);
	store(p, BPF_W, FIELD(to), BPF_REG_2);
	/* one that is preempted can go on whatever its state says */
	load(p, BPF_DW, BPF_REG_2, BPF_REG_6, 0);
	load(p, BPF_DW, BPF_REG_3, BPF_REG_6, 24);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 1, 0);
	set(p, BPF_REG_3, 0);
	store(p, BPF_W, FIELD(from_state), BPF_REG_3);
	emit(p, BPF_ST | BPF_W | BPF_MEM, BPF_REG_10, 0, FIELD(unused), 0);
	write_event(p, SCHED_SWITCH, ring_fd, drops_fd);
}

void tracer_program_waking(struct program *p, const struct task_layout *task, const pid_t *processes, uint32_t count,
			   int ring_fd, int drops_fd)
{
	p->count = 0;
	load(p, BPF_DW, BPF_REG_8, BPF_REG_1, 0);
	load(p, BPF_W, BPF_REG_3, BPF_REG_8, task->tgid_at);
	set(p, BPF_REG_9, 0);
	flag_if_ours(p, BPF_REG_3, processes, count, SCHED_TO_OURS);
	leave_unless(p, SCHED_TO_OURS);
	call(p, BPF_FUNC_get_current_pid_tgid);
	copy(p, BPF_REG_2, BPF_REG_0);
	store(p, BPF_W, FIELD(from), BPF_REG_2); /* the lower half: the thread */
	emit(p, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_2, 0, 0, 32);
	flag_if_ours(p, BPF_REG_2, processes, count, SCHED_FROM_OURS);
	load(p, BPF_W, BPF_REG_2, BPF_REG_8, task->pid_at);
	store(p, BPF_W, FIELD(to), BPF_REG_2);
	emit(p, BPF_ST | BPF_W | BPF_MEM, BPF_REG_10, 0, FIELD(from_state), 0);
	emit(p, BPF_ST | BPF_W | BPF_MEM, BPF_REG_10, 0, FIELD(unused), 0);
	write_event(p, SCHED_WAKE, ring_fd, drops_fd);
}
