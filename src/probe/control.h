/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_CONTROL_H
#define TARE_PROBE_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/settings.h"
#include "grpc/status.h"
#include "probe/control_settings.h"
#include "probe/run.h"
#include "target/target.h"

/*
 * The client side of a control plan: connections to all switches of a restart on one event loop, in the caller's
 * thread, and runs of one operation on K entries of each. A run is prepared (tables emptied or filled), timed, and
 * judged (the tables are read back), and only the middle is measured.
 */
struct control;

#define OPERATION_NONE INT64_MIN /* it did not come to that */

enum operation_flags {
	OPERATION_SHARED = 1 << 0,  /* its RPC failed without saying which of its entries did: status is the RPC's */
	OPERATION_WATCHED = 1 << 1, /* packets were sent for it */
	OPERATION_EARLY = 1 << 2, /* a packet that came to the switch after the answer was with us was not forwarded */
};

/* One entry's life, or one read's. ns of CLOCK_MONOTONIC since the run's start. */
struct operation {
	uint32_t at;  /* switch, from 0 */
	uint32_t seq; /* of its operations, from 0: the entry's index */
	int32_t status;
	uint32_t flags;
	int64_t queued_ns;   /* its switch was to be programmed */
	int64_t sent_ns;     /* its request was handed to the connection; none: never sent */
	int64_t answered_ns; /* its status was there, or its deadline passed; none: never sent */
	/* Watched: between these it began to act on packets. low none: it acted on the first; high none: never seen. */
	int64_t acting_low_ns, acting_high_ns;
};

/* The account of a run. Stored as it is. */
struct control_account {
	char operation[16], mode[16];
	uint32_t switches, count, window, batch;
	uint64_t operations;                           /* of all switches */
	uint64_t sent, answered_ok, failed, unsent;    /* sent = answered_ok + failed; operations = sent + unsent */
	uint64_t wrong;                                /* reads answered well, but with another number of entries */
	uint64_t losses, returns;                      /* connections that ended during the run; that came back */
	uint64_t missing, extra, different, undecided; /* read back: against what the answers promised; not told */
	int64_t wall_ns;                               /* from the start to the last answer */
	int64_t client_cpu_ns, server_cpu_ns;          /* during the run; server: -1: not a process of ours */
	uint64_t watched, acting_seen, acting_early, acting_unbound, acting_lost;
	int64_t acting_early_ns; /* the largest time by which one is known to have been answered too early */
	double clock_u_ns;       /* CLOCK_REALTIME of the packets against CLOCK_MONOTONIC of the answers */
	char statuses[128];      /* "12 RESOURCE_EXHAUSTED, 3 status 99" */
	char first_why[128];     /* what the first failure said */
};

struct control_config {
	uint32_t switches, count;
	enum control_operation operation;
	enum control_mode mode;
	unsigned window, batch;
	int64_t connect_ns, deadline_ns, limit_ns, reconnect_ns, spin_ns;
	int64_t acting_ppm, acting_rate_mpps, acting_limit_ns;
	const char *table, *action;
	uint32_t port;
	uint64_t seed;
	const atomic_bool *interrupted; /* NULL: never */
};

/* From a plan's probes: section; seed and interrupt stay the caller's. Texts are borrowed. */
void control_config_from(struct control_config *config, const struct settings *probes);

/* Does the program have what the settings name, and can packets show when its entries act? For plans, before anything runs. */
int control_fits(const struct settings *probes, const struct target_ops *target, const struct target_setup *setup,
		 struct err *err);

/*
 * Connect to all agents, become their primary client, send the program or see that it runs there, and see that the table is
 * empty. An error names the switch. `program` is read here; what else is pointed to must live until control_close.
 */
int control_open(const struct control_config *config, const struct target_agent *agents,
		 const struct v1model_program *program, struct control **ret, struct err *err);

/*
 * One run. Operations that fail are no error: they are counted, and ret->invalid says why the run is in no figure. An
 * error: the run could not be prepared or its end not be seen; -EINTR: interrupted, nothing is kept.
 */
int control_run(struct control *c, uint32_t run, struct run_record *ret, struct err *err);

/* Of the last run; until the next. */
const struct control_account *control_account(const struct control *c);
const struct operation *control_operations(const struct control *c, uint32_t *ret_count);

/* What happened that is nobody's failure, in words: losses, early answers. NULL: nothing. */
const char *control_remark(const struct control *c);

/* Entries of ours are taken out of switches that are not ours; then all is closed. NULL is fine. */
void control_close(struct control *c);

#endif
