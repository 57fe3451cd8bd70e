/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_TARGET_H
#define TARE_TARGET_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/settings.h"
#include "io/io.h"

/*
 * What is measured. A target of a differential plan has three ports: probes go
 * into `in`; each comes out twice, of `path` through the program and of `bypass`
 * around it. A target that lives in this process works when its `poll` is
 * called: by a thread on a core of its own, or (one core) by the receiver's loop.
 */
struct target;

struct target_setup {
	const struct settings *settings; /* of the kind's table */
	const char *program;             /* as the plan has it: "forward", "null", "149ns", "x.spec" */
	const char *directory;           /* relative file names start here */
	uint64_t seed;                   /* of this restart: jitter, loss and the like derive from it */
	uint32_t frame_bytes;            /* the longest frame the stream has */
	uint32_t probe_count;            /* probes in a run, warm-up trains not counted */
	uint32_t frame_count;            /* frames sent into `in` in a run, trains counted; 0: probe_count */
};

struct target_ports {
	struct io_port *in;     /* the sender reserves and sends here */
	struct io_port *path;   /* the receiver takes from here */
	struct io_port *bypass; /* and here */
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
	/* A restart: everything anew, program loaded, ready for probes. */
	int (*open)(const struct target_setup *setup, struct target **ret_target, struct err *err);
	void (*ports)(struct target *target, struct target_ports *ret_ports);
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
