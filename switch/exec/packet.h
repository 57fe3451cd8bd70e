/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_EXEC_PACKET_H
#define TARE_SWITCH_EXEC_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "program/program.h"

/*
 * A packet on its way through the switch: its bytes, its memory (program.h), and
 * what the program asked for. Packets come from a pool and go back to it; nothing
 * is allocated on the way. One thread at a time works on a packet.
 */
enum {
	PACKET_HEADROOM = 512,  /* by how much headers may grow in place */
	PACKET_MOST = 65535,    /* bytes of a frame */
	PACKET_SLACK = 8,       /* behind the room for a frame: words are read and written over its end */
	PACKET_ORDINARY = 2048, /* room most packets have; larger ones come from a second shelf */
};

/* instance_type of standard metadata */
enum instance_type {
	INSTANCE_NORMAL = 0,
	INSTANCE_INGRESS_CLONE = 1,
	INSTANCE_EGRESS_CLONE = 2,
	INSTANCE_RECIRCULATED = 4,
	INSTANCE_REPLICATED = 5,
	INSTANCE_RESUBMITTED = 6,
};

/* What the program asked for while a control ran. List ids as the program numbers its field lists; 0: none. */
struct requests {
	bool clone, resubmit, recirculate, digest, truncate, exit, assertion_failed;
	uint32_t clone_session, clone_list, resubmit_list, recirculate_list;
	uint32_t digest_list; /* index in learn_lists */
	uint32_t truncate_bytes;
};

struct packet {
	struct packet *next; /* in a queue, or in its pool */
	uint64_t *memory;    /* program->memory_slots */

	uint8_t *buffer; /* headroom, then the frame */
	uint32_t room_bytes;
	uint32_t start, length_bytes; /* the frame in its buffer */
	uint32_t taken_bits;          /* by the parser, from start */
	bool large;

	struct requests asked;
	uint32_t parser_error;
	bool checksum_error;
	uint32_t packet_length; /* as standard_metadata has it: follows setValid and setInvalid */

	uint32_t ingress_port, egress_port;
	uint64_t ingress_us, enqueued_us;
	uint32_t priority;
	uint32_t rounds; /* times it was recirculated */
};

static inline uint8_t *packet_bytes(const struct packet *p)
{
	return p->buffer + p->start;
}

/* Where the payload begins: behind what the parser took. */
static inline uint32_t packet_payload(const struct packet *p)
{
	return p->taken_bits / 8;
}

struct pool;

/* `count` ordinary packets and `large` ones of PACKET_MOST bytes, with memories for the program. NULL: no memory. */
struct pool *pool_create(const struct program *program, uint32_t count, uint32_t large);
void pool_destroy(struct pool *pool); /* all packets must be back; NULL is fine */

/* A packet with room for `length_bytes`; NULL: none is left. Its memory is as the program wants it for a new packet. */
struct packet *pool_take(struct pool *pool, uint32_t length_bytes);
void pool_give(struct pool *pool, struct packet *packet); /* NULL is fine */
uint32_t pool_free(const struct pool *pool);

/* Header blocks to zero: a packet that is to be parsed. */
void packet_clear(const struct program *program, struct packet *packet);

/* Bytes alone; bytes and memory. False: they do not fit `to`. */
bool packet_copy_bytes(struct packet *to, const uint8_t *bytes, uint32_t length_bytes);
bool packet_copy(const struct program *program, struct packet *to, const struct packet *from);

#endif
