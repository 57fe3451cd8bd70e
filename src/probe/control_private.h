/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_CONTROL_PRIVATE_H
#define TARE_PROBE_CONTROL_PRIVATE_H

#include "p4rt/blocking.h"
#include "probe/acting.h"
#include "probe/control.h"
#include "probe/control_entries.h"

/* For the files of control. */

/* What a switch is expected to hold of an entry, or does. */
enum entry_state {
	ENTRY_ABSENT,
	ENTRY_THERE,    /* as inserted */
	ENTRY_MODIFIED, /* as modified */
	ENTRY_UNKNOWN,  /* the answer did not tell */
};

struct side {
	struct control *control;
	struct target_agent agent;
	uint32_t at;
	char name[80]; /* "switch 3 (127.0.0.1:9559)" */
	struct p4rt_client *client;
	struct acting *acting; /* of the run; NULL: no packets */

	/* of the run's operation */
	struct p4rt_updates updates;
	struct p4rt_record *records; /* one an operation */
	uint32_t operations;
	bool done;
	char message[128];                  /* the first failure's */
	uint32_t next, in_flight, answered; /* reads: operations begun, in flight, ended */
	bool stopped;                       /* no more are begun */

	uint64_t wrong; /* reads that gave another number of entries than there are */
	unsigned losses_before, losses_seen, returns;
	char unread[128]; /* why the table could not be read back; "": it could */
	uint8_t *holds;   /* entry_state by index: what it holds, as far as is known */
	uint8_t *seen;    /* by index, while the table is read back */
	uint64_t found, extra, different, missing, undecided;
};

struct control {
	struct control_config config;
	struct loop *loop;
	struct p4info *info;
	struct control_table table;
	struct side *sides; /* config.switches */
	struct control_entry scratch;

	int64_t start_ns; /* of the run, CLOCK_MONOTONIC */
	uint32_t current; /* sync: which side is being programmed */
	uint32_t sides_done;
	struct control_account account;
	struct operation *rows;
	uint32_t row_count;
	char remark[256];
};

static inline bool control_reads(const struct control *c)
{
	return c->config.operation >= CONTROL_READ;
}

static inline bool control_interrupted(const struct control *c)
{
	return c->config.interrupted && atomic_load_explicit(c->config.interrupted, memory_order_relaxed);
}

/* control_timed.c: from the first entry encoded to the last answer. 0, -EINTR. */
int control_timed(struct control *c, struct err *err);

/* control_verify.c: what the answers promise into side->holds; then the table against it. 0, or what failed. */
void control_expect(struct control *c, struct side *side);
int control_verify(struct control *c, struct side *side, struct err *err);
/* Write outside the timed part, so that the switch holds entry i as states(i) says. */
int control_fill(struct control *c, struct side *side, struct err *err);
int control_empty(struct control *c, struct side *side, struct err *err);

/* control_account.c: rows and account from records, counters and what the packets showed. */
int control_account_make(struct control *c, struct err *err);
void control_invalid(const struct control *c, char *ret, size_t size_bytes);

#endif
