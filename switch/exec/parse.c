/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "exec/bits.h"
#include "exec/exec_private.h"

static bool fail(struct packet *packet, uint32_t error)
{
	packet->parser_error = error;
	return false;
}

/* Reads up to 7 bytes behind the header: packets' buffers have them. */
static void extract_planned(const struct p4_header *h, const uint8_t *bytes, uint64_t *m)
{
	const struct p4_piece *piece = h->pieces;

	for (uint32_t i = 0; i < h->group_count; i++) {
		const struct p4_group *g = &h->groups[i];
		uint64_t word = load_be64(bytes + g->byte) >> g->drop;

		for (uint32_t n = g->count; n > 0; n--, piece++)
			m[piece->slot] = word >> piece->shift & piece->mask;
	}
}

/* Field by field: signed ones, variable length, odd widths. Apart, so that the other way stays short. */
static __attribute__((noinline)) void extract_fields(const struct program *p, struct packet *packet,
						     const struct p4_header *h, uint64_t variable_bits)
{
	const uint8_t *bytes = packet_bytes(packet);
	uint32_t length = packet->length_bytes, base = packet->taken_bits;
	uint64_t *m = packet->memory;

	for (uint32_t i = 0; i < h->field_count; i++) {
		const struct p4_field *f = &p->fields[h->first_field + i];
		uint32_t at = base + f->offset_bits;

		if (f->is_variable) {
			m[f->slot] = variable_bits;
			memcpy(m + f->slot + 1, bytes + at / 8, variable_bits / 8);
			base += (uint32_t)variable_bits;
		} else if (f->slots == 1) {
			uint64_t v = bits_load(bytes, length, at, f->bits);

			m[f->slot] = f->is_signed ? sign_extend(v, f->bits) : v;
		} else {
			wide_load(bytes, length, at, f->bits, m + f->slot);
			if (f->is_signed && f->bits % 64)
				m[f->slot + f->slots - 1] = sign_extend(m[f->slot + f->slots - 1], f->bits % 64);
		}
	}
	packet->taken_bits += h->bits + (uint32_t)variable_bits;
}

bool parse_extract(const struct program *p, struct packet *packet, uint32_t header, uint64_t variable_bits)
{
	const struct p4_header *h = &p->headers[header];

	if (variable_bits) {
		if (variable_bits % 8)
			return fail(packet, p->errors.parser_invalid_argument);
		if (variable_bits > p->fields[h->variable].bits)
			return fail(packet, p->errors.header_too_short);
	}
	if (packet->taken_bits + h->bits + variable_bits > (uint64_t)packet->length_bytes * 8)
		return fail(packet, p->errors.packet_too_short);
	if (h->planned) {
		extract_planned(h, packet_bytes(packet) + packet->taken_bits / 8, packet->memory);
		packet->taken_bits += h->bits;
	} else {
		extract_fields(p, packet, h, variable_bits);
	}
	packet->memory[h->slot] = 1;
	if (h->group != NOWHERE)
		header_set_valid(p, packet->memory, header);
	return true;
}

bool parse_lookahead(const struct program *p, struct packet *packet, const struct insn *insn)
{
	uint64_t end = (uint64_t)packet->taken_bits + insn->a + insn->b;

	if (end > (uint64_t)packet->length_bytes * 8)
		return fail(packet, p->errors.packet_too_short);
	wide_load(packet_bytes(packet), packet->length_bytes, packet->taken_bits + insn->a, insn->b,
		  packet->memory + insn->d);
	return true;
}

bool parse_advance(const struct program *p, struct packet *packet, uint64_t bits)
{
	if (bits % 8)
		return fail(packet, p->errors.parser_invalid_argument);
	if (bits > (uint64_t)packet->length_bytes * 8 - packet->taken_bits)
		return fail(packet, p->errors.packet_too_short);
	packet->taken_bits += (uint32_t)bits;
	return true;
}

static bool case_matches(const struct p4_select *sel, const struct p4_case *c, const uint64_t *key)
{
	for (uint32_t w = 0; w < sel->words; w++)
		if ((c->mask ? key[w] & c->mask[w] : key[w]) != c->value[w])
			return false;
	return true;
}

static bool in_set(const struct exec *x, const struct p4_select *sel, const struct p4_case *c, const uint64_t *key)
{
	uint64_t masked[SLOTS_A_VALUE_MOST];

	if (!c->mask)
		return value_set_has(x->state, c->set, key);
	for (uint32_t w = 0; w < sel->words; w++)
		masked[w] = key[w] & c->mask[w];
	return value_set_has(x->state, c->set, masked);
}

/* One key of a word, no value sets: most selects. */
static uint32_t select_word(const struct p4_select *sel, uint64_t key)
{
	for (uint32_t i = 0; i < sel->case_count; i++) {
		const struct p4_case *c = &sel->cases[i];

		if (c->kind == CASE_DEFAULT || (c->mask ? key & c->mask[0] : key) == c->value[0])
			return c->target;
	}
	return NOWHERE;
}

uint32_t parse_select(const struct exec *x, const uint64_t *m, uint32_t select)
{
	const struct p4_select *sel = &x->program->selects[select];
	uint64_t key[SLOTS_A_VALUE_MOST * 2];

	if (sel->is_word)
		return select_word(sel, m[sel->keys[0]] & mask_bits(sel->key_bits[0]));
	for (uint32_t i = 0; i < sel->key_count; i++) {
		uint32_t slots = (sel->key_bits[i] + 63) / 64;

		if (slots == 1)
			key[sel->word[i]] = m[sel->keys[i]] & mask_bits(sel->key_bits[i]);
		else
			memcpy(key + sel->word[i], m + sel->keys[i], slots * sizeof(*key));
	}
	for (uint32_t i = 0; i < sel->case_count; i++) {
		const struct p4_case *c = &sel->cases[i];

		if (c->kind == CASE_DEFAULT || (c->kind == CASE_VALUE && case_matches(sel, c, key)) ||
		    (c->kind == CASE_SET && in_set(x, sel, c, key)))
			return c->target;
	}
	return NOWHERE;
}

/* Writes up to 7 bytes behind the header, which come next or are the caller's to save. */
static void write_planned(const struct p4_header *h, const uint64_t *m, uint8_t *bytes)
{
	const struct p4_piece *piece = h->pieces;

	for (uint32_t i = 0; i < h->group_count; i++) {
		const struct p4_group *g = &h->groups[i];
		uint64_t word = 0;

		for (uint32_t n = g->count; n > 0; n--, piece++)
			word |= m[piece->slot] << piece->shift;
		store_be64(bytes + g->byte, word << g->drop);
	}
}

static __attribute__((noinline)) uint32_t write_fields(const struct program *p, const struct p4_header *h,
						       const uint64_t *m, uint8_t *bytes)
{
	uint32_t base = 0;

	for (uint32_t i = 0; i < h->field_count; i++) {
		const struct p4_field *f = &p->fields[h->first_field + i];

		if (f->is_variable) {
			memcpy(bytes + (base + f->offset_bits) / 8, m + f->slot + 1, m[f->slot] / 8);
			base += (uint32_t)m[f->slot];
		} else if (f->slots == 1) {
			bits_store(bytes, base + f->offset_bits, f->bits, m[f->slot]);
		} else {
			wide_store(bytes, base + f->offset_bits, f->bits, m + f->slot);
		}
	}
	return (base + h->bits) / 8;
}

uint32_t header_write(const struct program *p, const uint64_t *m, uint32_t header, uint8_t *bytes)
{
	const struct p4_header *h = &p->headers[header];

	if (!h->planned)
		return write_fields(p, h, m, bytes);
	write_planned(h, m, bytes);
	return h->bits / 8;
}
