/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_EXEC_EXEC_H
#define TARE_SWITCH_EXEC_EXEC_H

#include <stdint.h>

#include "base/rng.h"
#include "exec/packet.h"
#include "tables/state.h"

/*
 * The interpreter: a packet's bytes and memory in, bytes, memory and requests
 * out. Pure but for the program's own state (tables, registers, counters), which
 * it reaches through tables/state.h; no clock (the time is handed in), no I/O, no
 * allocation. One exec a thread.
 */
struct exec {
	const struct program *program;
	struct state *state;
	struct rng rng; /* the random() extern */
	uint32_t drop_port;
	uint64_t now_us; /* of the control that runs: meters, idle time-outs */
	/* log_msg and failed asserts; NULL: dropped */
	void (*log)(void *context, const struct p4_message *message, const uint64_t *memory);
	void *log_context;
	uint8_t scratch[PACKET_MOST + 1 + PACKET_SLACK]; /* what hashes are taken of */
};

enum {
	STEPS_MOST = 100000, /* jumps of one control or parser: a runaway loop ends in ParserTimeout, or a drop */
};

void exec_init(struct exec *x, const struct program *program, struct state *state, uint64_t seed);

/*
 * Parse from the first byte. Afterwards taken_bits says how much the parser took,
 * and parser_error how it ended; a packet with an error goes on as v1model has it.
 */
void exec_parse(struct exec *x, struct packet *packet);

/* checksum_error: is any checksum that the program verifies wrong? */
void exec_verify_checksums(struct exec *x, struct packet *packet);

/* Run a control: program->ingress or ->egress. packet->asked says what it wants. False: it ran away, and is dropped. */
bool exec_control(struct exec *x, struct packet *packet, uint32_t entry);

/*
 * Checksums, then the valid headers in order before the payload: the frame as it
 * leaves. False: it does not fit PACKET_MOST or its buffer, and is dropped.
 */
bool exec_deparse(struct exec *x, struct packet *packet);

/* The text of a log_msg with its values: decimal, hexadecimal over 64 bits. Cut to what fits. */
void message_format(const struct p4_message *message, const uint64_t *memory, char *ret, size_t size_bytes);

/* The value of a calculation over the packet as it is now. */
uint64_t exec_hash(struct exec *x, const struct packet *packet, uint32_t calculation);

#endif
