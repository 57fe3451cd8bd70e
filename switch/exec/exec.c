/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/exec.h"

#include <string.h>

#include "exec/bits.h"
#include "exec/exec_private.h"
#include "exec/hash.h"

void exec_init(struct exec *x, const struct program *program, struct state *state, uint64_t seed)
{
	memset(x, 0, offsetof(struct exec, scratch));
	x->program = program;
	x->state = state;
	x->drop_port = 511;
	rng_init(&x->rng, seed);
}

void exec_parse(struct exec *x, struct packet *packet)
{
	uint32_t steps = STEPS_MOST;

	packet->taken_bits = 0;
	packet->parser_error = x->program->errors.none;
	if (exec_run(x, packet, x->program->parser, &steps) == RUN_TOO_LONG)
		packet->parser_error = x->program->errors.parser_timeout;
}

bool exec_control(struct exec *x, struct packet *packet, uint32_t entry)
{
	uint32_t steps = STEPS_MOST;

	return exec_run(x, packet, entry, &steps) != RUN_TOO_LONG;
}

/* --- calculations: the inputs as one string of bits, then the hash over its bytes --- */

static uint32_t input_bits(struct exec *x, const struct packet *packet, const struct p4_calculation_input *in,
			   uint32_t at)
{
	const struct program *p = x->program;
	const uint64_t *m = packet->memory;
	const uint64_t *value;

	if (in->kind == INPUT_HEADER)
		return m[p->headers[in->index].slot] ? header_write(p, m, in->index, x->scratch + at / 8) * 8 : 0;
	if (in->kind == INPUT_FIELD) {
		const struct p4_field *f = &p->fields[in->index];

		if (!p->headers[f->header].is_metadata && !m[p->headers[f->header].slot])
			return 0;
		if (f->is_variable) {
			for (uint32_t i = 0; i < m[f->slot] / 8; i++)
				bits_store(x->scratch, at + i * 8, 8, ((const uint8_t *)(m + f->slot + 1))[i]);
			return (uint32_t)m[f->slot];
		}
		value = m + f->slot;
	} else {
		value = m + in->index;
	}
	wide_store(x->scratch, at, in->bits, value);
	return in->bits;
}

/* The most bits an input can take, so that scratch is never overrun. */
static uint32_t input_most(const struct program *p, const struct p4_calculation_input *in)
{
	if (in->kind == INPUT_HEADER) {
		const struct p4_header *h = &p->headers[in->index];

		return h->bits + (h->variable == NOWHERE ? 0 : p->fields[h->variable].bits);
	}
	return in->bits;
}

uint64_t exec_hash(struct exec *x, const struct packet *packet, uint32_t calculation)
{
	const struct p4_calculation *c = &x->program->calculations[calculation];
	uint32_t bits = 0, payload = packet_payload(packet);

	for (uint32_t i = 0; i < c->input_count; i++) {
		const struct p4_calculation_input *in = &c->inputs[i];

		if (in->kind == INPUT_PAYLOAD) {
			uint32_t length = packet->length_bytes - payload;

			bits = (bits + 7) / 8 * 8;
			if (length > sizeof(x->scratch) - bits / 8)
				length = (uint32_t)sizeof(x->scratch) - bits / 8;
			memcpy(x->scratch + bits / 8, packet_bytes(packet) + payload, length);
			bits += length * 8;
			continue;
		}
		if ((uint64_t)bits + input_most(x->program, in) > (sizeof(x->scratch) - 1) * 8)
			break;
		bits += input_bits(x, packet, in, bits);
	}
	if (bits % 8) /* the last byte is padded with zeros */
		bits_store(x->scratch, bits, 8 - bits % 8, 0);
	return hash_bytes(c->algorithm, x->scratch, (bits + 7) / 8);
}

static bool applies(struct exec *x, struct packet *packet, const struct p4_checksum *c)
{
	uint32_t steps = STEPS_MOST;

	if (c->condition == NOWHERE)
		return true;
	exec_run(x, packet, c->condition, &steps);
	return packet->memory[c->condition_slot] != 0;
}

void exec_verify_checksums(struct exec *x, struct packet *packet)
{
	const struct program *p = x->program;

	packet->checksum_error = false;
	for (uint32_t i = 0; i < p->verify_count; i++) {
		const struct p4_checksum *c = &p->verify[i];
		const struct p4_field *f = &p->fields[c->field];

		if (applies(x, packet, c) &&
		    (exec_hash(x, packet, c->calculation) & mask_bits(f->bits)) != packet->memory[f->slot])
			packet->checksum_error = true;
	}
}

static void update_checksums(struct exec *x, struct packet *packet)
{
	const struct program *p = x->program;

	for (uint32_t i = 0; i < p->update_count; i++) {
		const struct p4_checksum *c = &p->update[i];
		const struct p4_field *f = &p->fields[c->field];

		if (applies(x, packet, c))
			packet->memory[f->slot] = exec_hash(x, packet, c->calculation) & mask_bits(f->bits);
	}
}

bool exec_deparse(struct exec *x, struct packet *packet)
{
	const struct program *p = x->program;
	uint32_t written = 0, payload = packet_payload(packet), tail, length;

	update_checksums(x, packet);
	for (uint32_t i = 0; i < p->deparse_count; i++) {
		if (!packet->memory[p->headers[p->deparse[i]].slot])
			continue;
		if (written + header_bytes_now(p, packet->memory, p->deparse[i]) > PACKET_MOST)
			return false;
		written += header_write(p, packet->memory, p->deparse[i], x->scratch + written);
	}
	tail = packet->length_bytes - payload;
	length = written + tail;
	if (packet->asked.truncate && packet->asked.truncate_bytes < length)
		length = packet->asked.truncate_bytes;
	if (length > PACKET_MOST)
		return false;
	if (written <= packet->start + payload) {
		packet->start += payload;
		packet->start -= written;
	} else { /* the headers have outgrown the room before the payload */
		if (written + tail > packet->room_bytes)
			return false;
		memmove(packet->buffer + written, packet_bytes(packet) + payload, tail);
		packet->start = 0;
	}
	if (written)
		memcpy(packet_bytes(packet), x->scratch, written);
	packet->length_bytes = length;
	packet->taken_bits = 0;
	return true;
}
