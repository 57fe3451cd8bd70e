/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_EXEC_V1MODEL_H
#define TARE_SWITCH_EXEC_V1MODEL_H

#include <stdint.h>

#include "exec/exec.h"

/*
 * v1model around the interpreter: parser, ingress, a bounded queue a port and
 * priority, egress, deparser; and what happens between them: clones, digests,
 * resubmission, multicast, recirculation, drops, in the order that BMv2's
 * simple_switch documents. One thread owns a device. It does no I/O: frames come
 * in by v1model_ingress and go out through `transmit`; time comes from `now_us`.
 */
enum {
	V1MODEL_PORTS = 512,
	V1MODEL_PRIORITIES_MOST = 8,
	V1MODEL_QUEUE_PACKETS = 64, /* BMv2's default depth */
	V1MODEL_ROUNDS_MOST = 64,   /* resubmissions and recirculations of one packet; more is a loop, and dropped */
};

/* Everything that happened to packets; a packet that vanishes is in one of these. */
struct v1model_counters {
	uint64_t received, transmitted;
	uint64_t dropped_by_program; /* egress_spec said so, at ingress or egress */
	uint64_t dropped_queue_full;
	uint64_t dropped_no_memory; /* the pool is empty */
	uint64_t dropped_too_long;  /* a frame or its new headers do not fit */
	uint64_t dropped_runaway;   /* a control or a packet that would not end */
	uint64_t dropped_no_port;   /* egress port over 511, priority over what there is */
	uint64_t dropped_assertion; /* assert or assume failed */
	uint64_t parser_errors, checksum_errors;
	uint64_t cloned, replicated, resubmitted, recirculated, digests;
	uint64_t unknown_group, unknown_session;
};

struct v1model_config {
	const struct program *program;
	struct state *state;
	uint64_t seed;
	uint32_t drop_port;     /* 0: 511 */
	uint32_t queue_packets; /* 0: 64 */
	uint32_t priorities;    /* queues a port; 0: 1 */
	uint32_t pool_packets;  /* 0: 4096 */
	uint64_t hold_us;       /* a packet stays at least so long in its queue; 0 but in tests */
	uint64_t (*now_us)(void *context);
	/* A frame leaves; the bytes are the device's and valid during the call. */
	void (*transmit)(void *context, uint32_t port, const uint8_t *bytes, uint32_t length_bytes);
	/* A digest's fields, as program->learn_lists[list] names them, in memory. NULL: digests are only counted. */
	void (*digest)(void *context, uint32_t list, const uint64_t *memory);
	void (*log)(void *context, const struct p4_message *message, const uint64_t *memory);
	void *context;
};

struct v1model;

int v1model_create(const struct v1model_config *config, struct v1model **ret_device, struct err *err);
void v1model_destroy(struct v1model *device); /* NULL is fine */

/* A frame has come in, at `received_us`: parser and ingress, and into its queue. */
void v1model_ingress(struct v1model *device, uint32_t port, const uint8_t *bytes, uint32_t length_bytes,
		     uint64_t received_us);

/* Egress of at most `count` queued packets whose time has come. How many there were. */
uint32_t v1model_egress(struct v1model *device, uint32_t count);

/* Packets waiting in queues; and when the next of a rate-limited queue may leave (UINT64_MAX: none waits for time). */
uint32_t v1model_queued(const struct v1model *device);
uint64_t v1model_next_us(const struct v1model *device);

/* Depth and rate of a port's queues; rate 0: unlimited. */
void v1model_set_depth(struct v1model *device, uint32_t port, uint32_t packets);
void v1model_set_rate(struct v1model *device, uint32_t port, uint64_t packets_per_s);

const struct v1model_counters *v1model_counters(const struct v1model *device);

#endif
