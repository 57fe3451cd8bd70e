/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/exec.h"

#include <string.h>

#include "exec/bits.h"
#include "exec/exec_private.h"
#include "exec/hash.h"

enum { HASH_MOST = PACKET_MOST + 1 }; /* bytes that are hashed */

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

/* The sum of 16-bit words, by what each field adds to it: 2^16 counts as 1, so a value may be folded and shifted. */
static uint16_t planned_checksum(const struct packet *packet, const struct p4_calculation *c)
{
	const uint64_t *m = packet->memory;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->narrow_count; i++)
		sum += m[c->terms[i].slot] << c->terms[i].shift;
	for (uint32_t i = c->narrow_count; i < c->term_count; i++) {
		uint64_t v = m[c->terms[i].slot] & c->terms[i].mask;

		sum += ((v & UINT32_MAX) + (v >> 32)) << c->terms[i].shift;
	}
	if (c->with_payload)
		sum += (uint16_t)~checksum16(packet_bytes(packet) + packet_payload(packet),
					     packet->length_bytes - packet_payload(packet));
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static bool may_sum(const struct packet *packet, const struct p4_calculation *c)
{
	uint64_t valid = c->planned;

	for (uint32_t i = 0; i < c->need_count; i++)
		valid &= packet->memory[c->needs[i]];
	return valid;
}

uint64_t exec_hash(struct exec *x, const struct packet *packet, uint32_t calculation)
{
	const struct p4_calculation *c = &x->program->calculations[calculation];
	uint32_t bits = 0, payload = packet_payload(packet);

	if (may_sum(packet, c))
		return planned_checksum(packet, c);
	for (uint32_t i = 0; i < c->input_count; i++) {
		const struct p4_calculation_input *in = &c->inputs[i];

		if (in->kind == INPUT_PAYLOAD) {
			uint32_t length = packet->length_bytes - payload;

			bits = (bits + 7) / 8 * 8;
			if (length > HASH_MOST - bits / 8)
				length = (uint32_t)HASH_MOST - bits / 8;
			memcpy(x->scratch + bits / 8, packet_bytes(packet) + payload, length);
			bits += length * 8;
			continue;
		}
		if ((uint64_t)bits + input_most(x->program, in) > (HASH_MOST - 1) * 8)
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
	if (x->program->code[c->condition].op != OP_RETURN)
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

/* Bytes of the headers that are valid. */
static uint32_t headers_bytes(const struct program *p, const uint64_t *m)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < p->deparse_count && bytes <= PACKET_MOST; i++)
		if (m[p->headers[p->deparse[i]].slot])
			bytes += p->headers[p->deparse[i]].planned ? p->headers[p->deparse[i]].bits / 8
								   : header_bytes_now(p, m, p->deparse[i]);
	return bytes;
}

static void write_headers(const struct program *p, const uint64_t *m, uint8_t *at)
{
	for (uint32_t i = 0; i < p->deparse_count; i++)
		if (m[p->headers[p->deparse[i]].slot])
			at += header_write(p, m, p->deparse[i], at);
}

bool exec_deparse(struct exec *x, struct packet *packet)
{
	const struct program *p = x->program;
	uint32_t written, payload = packet_payload(packet), tail = packet->length_bytes - payload, length;
	uint8_t *behind, kept[PACKET_SLACK];

	update_checksums(x, packet);
	written = headers_bytes(p, packet->memory);
	length = written + tail;
	if (packet->asked.truncate && packet->asked.truncate_bytes < length)
		length = packet->asked.truncate_bytes;
	if (written > PACKET_MOST || length > PACKET_MOST)
		return false;
	if (written > packet->start + payload) { /* the headers have outgrown the room before the payload */
		if (written + tail > packet->room_bytes)
			return false;
		memmove(packet->buffer + written, packet_bytes(packet) + payload, tail);
		packet->start = 0;
	} else {
		packet->start += payload;
		packet->start -= written;
	}
	/* headers are written a word at a time, over what is behind the last one */
	behind = packet_bytes(packet) + written;
	memcpy(kept, behind, sizeof(kept));
	write_headers(p, packet->memory, packet_bytes(packet));
	memcpy(behind, kept, sizeof(kept));
	packet->length_bytes = length;
	packet->taken_bits = 0;
	return true;
}
