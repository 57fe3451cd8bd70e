/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_TARGET_H
#define TARE_TARGET_TARGET_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/settings.h"
#include "grpc/tls.h"
#include "io/io.h"

/*
 * What is measured, in one of three shapes. A target with ports (differential
 * plans) has three: probes go into `in`; each comes out twice, of `path` through
 * the program and of `bypass` around it. If it lives in this process it works when
 * its `poll` is called: by a thread on a core of its own, or (one core) by the
 * receiver's loop. A target with a line (transit plans) is one or more switches,
 * processes of their own, between two hosts in the kernel's network; see docs/adr. A target with agents (control
 * plans) is one or more P4Runtime servers, side by side.
 */
struct target;
struct far_link;
struct lab_line;
struct netns;
struct v1model_program;

struct target_setup {
	const struct settings *settings;      /* of the kind's table */
	const char *program;                  /* as the plan has it: "forward", "null", "149ns", "x.spec" */
	const char *directory;                /* relative file names start here */
	uint64_t seed;                        /* of this restart: jitter, loss and the like derive from it */
	uint32_t frame_bytes;                 /* the longest frame the stream has */
	uint32_t probe_count;                 /* probes in a run, warm-up trains not counted */
	uint32_t frame_count;                 /* frames sent into `in` in a run, trains counted; 0: probe_count */
	const cpu_set_t *cpus;                /* left for processes of the target by who sends; NULL: any */
	const atomic_bool *interrupted;       /* gives up what takes long when it is raised; NULL: never */
	const char *tool_version, *plan_text; /* what a tare on another machine must have as well; NULL: no such */
	uint64_t plan_hash;
};

struct target_ports {
	struct io_port *in;     /* the sender reserves and sends here; NULL: on another machine, by `far` */
	struct io_port *path;   /* the receiver takes from here */
	struct io_port *bypass; /* and here */
	struct far_link *far;   /* who sends, where `in` is NULL (target/far_link.h) */
	const char *clock;      /* of the stamps that path and bypass give their frames, to be kept; NULL: none */
};

struct told_clock;

/* One switch of a line, as it runs. */
struct target_switch {
	int64_t started_utc_ns; /* CLOCK_REALTIME, just before its process was made */
	int32_t pid;
	const struct told_clock *clock; /* what its clock is known to be (clock/told.h); NULL: not known */
};

/* What a target with a line offers. Borrowed, until close. */
struct target_line {
	const struct lab_line *line;
	const struct target_switch *switches; /* line->switch_count of them, in its order */
	uint8_t destination_mac[6];           /* of frames that host a sends so that they come to host b */
	bool int_md; /* the program is one of INT-MD: probes are UDP, without an instrument header (packet/int_md.h) */
	bool ether_probes; /* the program finds the instrument header behind EtherType 0x88B5, not behind IPv4 */
	uint32_t source_ipv4, destination_ipv4; /* host order; no kernel answers for the destination */
	int ended_fd;                           /* readable once a switch has ended; -1: none */
	const char *switch_words;               /* what was started: "simple_switch_grpc 1.15.0" */
};

/*
 * A switch as a control plan sees it: where its P4Runtime agent is. Borrowed, until close.
 */
struct target_agent {
	const char *address;
	uint64_t device_id, election_low;
	struct grpc_tls tls;
	bool keep_pipeline;          /* the program runs there already; else it is to be sent */
	const struct netns *netns;   /* the address is one of this namespace; NULL: of ours */
	const struct lab_line *line; /* the switch between two hosts; NULL: packets cannot be sent through it */
	pid_t pid;                   /* of the switch; 0: not a process of ours */
};

struct target_ops {
	const char *kind;
	const char *summary;            /* one line, for help and doctor */
	const struct setting *settings; /* parameters in a plan's target: section, `kind` left out */
	bool knows_truth;               /* truth() works */

	/* Can this host run it? 0, or the reason and what to do about it. */
	int (*probe)(struct err *err);
	/* Does the program exist and fit, with these settings? Starts nothing. */
	int (*check)(const struct target_setup *setup, struct err *err);
	/* Has this host what these settings ask for? 0, or ERR_HOST. Optional. */
	int (*check_host)(const struct settings *settings, struct err *err);
	/* Once before any restart: does what takes a while, such as compiling the program, come out well? Optional. */
	int (*prepare)(const struct target_setup *setup, struct err *err);
	/* A restart: everything anew, program loaded, ready for probes. */
	int (*open)(const struct target_setup *setup, struct target **ret_target, struct err *err);
	void (*ports)(struct target *target, struct target_ports *ret_ports); /* NULL: it has none */
	void (*line)(struct target *target, struct target_line *ret_line);    /* NULL: it has none */
	/*
	 * For control plans: `count` switches side by side, started, and nothing more: no program is sent, nobody has
	 * connected. The target that it gives has its own ops, of which only agent, check_alive, describe and close are
	 * there. Kinds that have these have agents, and load_program, which reads what is to be sent to them.
	 */
	int (*open_agents)(const struct target_setup *setup, uint32_t count, struct target **ret_target,
			   struct err *err);
	void (*agent)(struct target *target, uint32_t index, struct target_agent *ret_agent);
	int (*load_program)(const struct target_setup *setup, struct arena *arena, struct v1model_program *ret,
			    struct err *err);
	/* Has it come through? 0, or what ended or vanished, with the last lines of its log. Optional. */
	int (*check_alive)(struct target *target, struct err *err);
	/*
	 * Nothing comes through any more, but check_alive finds nothing: does it still answer its controller? 0, or that
	 * it hangs, with the last lines of its log. Optional.
	 */
	int (*check_answers)(struct target *target, struct err *err);
	/* Before each run: forget the records of the last one. Optional. */
	void (*begin_run)(struct target *target, uint32_t run);
	/* A bounded piece of work; returns frames moved. NULL: works on its own. Measured loop: no calls, no locks. */
	unsigned (*poll)(struct target *target);
	/*
	 * emission(path) - emission(bypass), in TSC ticks, of the nth frame sent into `in` in this run (from 0, warm-up
	 * trains counted), or INT64_MIN where a copy was not emitted. After the run only.
	 */
	int64_t (*truth)(const struct target *target, uint32_t nth);
	/* Versions, program hash and the like as a JSON object's text, for provenance; the target keeps it. Optional. */
	const char *(*describe)(const struct target *target);
	void (*close)(struct target *target); /* NULL and half-built are fine */
};

/* All kinds, NULL-terminated; kinds that this build lacks are there too and their probe() says so. */
extern const struct target_ops *const target_kinds[];

const struct target_ops *target_find(const char *kind);

/* First member of every kind's state. */
struct target {
	const struct target_ops *ops;
};

#endif
