/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_BMV2_LINE_H
#define TARE_TARGET_BMV2_LINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/settings.h"
#include "clock/told.h"
#include "grpc/loop.h"
#include "lab/cpus.h"
#include "lab/topology.h"
#include "p4rt/blocking.h"
#include "target/bmv2_private.h"
#include "target/target.h"
#include "target/v1model_program.h"

/*
 * The switches of a line: started side by side, then awaited and programmed one
 * after another. Each has a namespace of its own, so all of them answer at the
 * same address.
 */
#define BMV2_ADDRESS "127.0.0.1:9559"
enum { BMV2_DEVICE_ID = 1 };

struct bmv2_switch {
	uint32_t number; /* from 1, in the order of the line */
	struct lab_switch *lab;
	struct p4rt_client *client;
	struct told_clock clock;
	bool clock_told;
	bool registers_unwritten;
	char clock_path[64]; /* where it tells its clock; "": it does not */
};

struct bmv2_line {
	struct lab_line *lab;
	struct loop *loop;
	const struct v1model_program *program;
	const struct switch_binary *binary;
	struct bmv2_switch switches[LAB_SWITCHES_MOST];
	struct target_switch told[LAB_SWITCHES_MOST]; /* what target_line offers */
	int ended_fd;                                 /* readable once any of them has ended; -1 */
	char cpu_words[CPUS_TEXT_BYTES];              /* where they may run; "any" */
};

/*
 * Start and program all switches of line->lab; loop, program and binary are the caller's. After a failure too
 * bmv2_line_release is to be called.
 */
int bmv2_line_start(struct bmv2_line *line, const struct target_setup *setup, struct arena *arena, struct err *err);
int bmv2_line_check(struct bmv2_line *line, struct err *err); /* 0: all of them run */
/* 0: all of them take a connection; else which one hangs, with its last lines. */
int bmv2_line_check_answers(struct bmv2_line *line, struct err *err);
void bmv2_line_release(struct bmv2_line *line); /* clients and processes; not line->lab */

/* Setting `cpus`: is it of the right form; are those CPUs there? */
int bmv2_cpus_check(const struct settings *settings, struct err *err);
int bmv2_cpus_check_host(const struct settings *settings, struct err *err);

/* The words of `args` that are for one switch of `count`. -EINVAL: as many parts as neither one nor count. */
int bmv2_args_of(const char *args, uint32_t number, uint32_t count, struct arena *arena, char **ret, struct err *err);

/*
 * Entries of one switch of the line: lines that begin with `@first ` or `@last ` hold there only, `$switch` is its
 * number. Lines keep their numbers. NULL: no memory.
 */
char *bmv2_entries_of(const char *text, uint32_t number, uint32_t count, struct arena *arena);

/* P4Info and entries, read together: entries that the program cannot take are found before anything starts. */
int bmv2_understand(const struct v1model_program *program, uint32_t number, uint32_t count, struct arena *arena,
		    struct p4info **ret_info, struct p4rt_entries **ret_entries, struct err *err);

#endif
