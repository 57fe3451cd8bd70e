/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_CONTROL_CONTROL_H
#define TARE_SWITCH_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "grpc/loop.h"
#include "grpc/tls.h"
#include "program/program.h"
#include "tables/quiesce.h"
#include "tables/state.h"

/*
 * The P4Runtime server of one device, in its loop's thread, which is the control
 * thread of the tables. It owns the program and the state that run; the data
 * plane learns of a new pair by `commit`, and the old pair is freed once every
 * reader of `quiesce` has passed.
 */
struct control;

struct control_ops {
	/*
	 * From now on packets run this program on this state. Publish the pair to the data plane's threads, which must
	 * take it up before their next quiesce_pass. Borrowed; valid until after the next commit, as quiesce says.
	 * -errno: it cannot run; what ran before goes on, and the controller is told. NULL: there is no data plane.
	 */
	int (*commit)(void *context, const struct program *program, struct state *state, struct err *err);

	/*
	 * A controller's packet: `frame` starts with the program's packet_out header, as the program's parser expects it
	 * from the CPU port. Valid during the call. False: it could not be taken (a queue is full); the controller is
	 * told. NULL: there are no packet-outs.
	 */
	bool (*packet_out)(void *context, const uint8_t *frame, size_t length_bytes);
};

struct control_config {
	const char *address; /* "127.0.0.1:9559" */
	struct grpc_tls tls;
	uint64_t device_id;
	struct quiesce *quiesce;
	bool shared; /* more than one data-plane thread: see state_create */
	const struct control_ops *ops;
	void *context;
	uint64_t (*now_us)(void *context); /* the data plane's clock, of entry_touch; NULL: no idle times */
	size_t message_limit_bytes;        /* of one request; 0: 64 MiB */
	unsigned connection_limit;         /* 0: the library's */
	int64_t answer_early_ns; /* a fault: Writes are answered, as good, so long before they are carried out */
};

/* Listens from now on. */
int control_create(struct loop *loop, const struct control_config *config, struct control **ret_control,
		   struct err *err);
void control_destroy(struct control *control); /* readers have left; frees program and state; NULL is fine */
unsigned control_port(const struct control *control);

/*
 * A program that did not come from a controller (a file on the command line): commits it, with state of its own.
 * Controllers can change nothing of it, having no P4Info, until they set a pipeline. Takes the program, even on failure.
 */
int control_run_program(struct control *control, struct program *program, struct err *err);
const struct program *control_program(const struct control *control); /* what runs, or NULL */
struct state *control_state(const struct control *control);

/*
 * A frame that left by the CPU port, the program's packet_in header first: goes to the primary controllers. Dropped
 * without one, or when it is shorter than the header; false then.
 */
bool control_packet_in(struct control *control, const uint8_t *frame, size_t length_bytes);

/*
 * A digest of the running program's learn_lists[list]: the packet's memory when it was asked for. Sent at once, as a
 * list of one, unless the controllers configured otherwise; false: nobody wants it.
 */
bool control_digest(struct control *control, uint32_t list, const uint64_t *memory);

struct control_counters {
	uint64_t writes, updates, updates_failed, reads, packet_ins, packet_outs, digests, dropped;
};
const struct control_counters *control_counters(const struct control *control);

#endif
