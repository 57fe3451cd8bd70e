/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_TRACER_PRIVATE_H
#define TARE_OBSERVE_TRACER_PRIVATE_H

#include <linux/bpf.h>
#include <stdint.h>

#include "observe/tracer.h"

/* What the programs write, and the consumer reads. */
struct traced {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	uint32_t flags; /* enum sched_flags; kind << 8 */
	uint32_t from, to;
	uint32_t from_state; /* of the kernel; 0: runnable */
	uint32_t unused;
};

/* Where the kernel keeps what is asked of a task, from its BTF. */
struct task_layout {
	uint32_t pid_at, tgid_at;
	int switch_btf_id, waking_btf_id;
};

enum { PROGRAM_MOST = 96 };

struct program {
	struct bpf_insn code[PROGRAM_MOST];
	uint32_t count;
};

/* On tp_btf/sched_switch and tp_btf/sched_waking; ring_fd and drops_fd are maps: the ring, and an array of one counter. */
void tracer_program_switch(struct program *p, const struct task_layout *task, const pid_t *processes, uint32_t count,
			   int ring_fd, int drops_fd);
void tracer_program_waking(struct program *p, const struct task_layout *task, const pid_t *processes, uint32_t count,
			   int ring_fd, int drops_fd);

#endif
