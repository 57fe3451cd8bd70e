/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

/*
 * Plans of what is done to every packet, made once: how a header's bits are cut
 * into slots eight bytes at a time, and what a field adds to a checksum.
 */

enum { WORD_BITS = 64 };

struct gather {
	struct p4_piece *pieces;
	struct p4_group *groups;
	uint32_t piece_count, group_count;
};

static bool may_plan(const struct program *p, const struct p4_header *h)
{
	if (h->is_metadata || h->variable != NOWHERE || h->bits % 8 || h->bits / 8 > UINT16_MAX)
		return false;
	for (uint32_t i = 0; i < h->field_count; i++)
		if (p->fields[h->first_field + i].is_signed)
			return false;
	return true;
}

/* The slots of all fields, in the order of their bits: of wide fields the most significant first. `shift` is bits yet. */
static void list_pieces(const struct program *p, const struct p4_header *h, struct gather *g)
{
	for (uint32_t i = 0; i < h->field_count; i++) {
		const struct p4_field *f = &p->fields[h->first_field + i];

		for (uint32_t s = f->slots; s > 0; s--) {
			uint32_t bits = s == f->slots && f->bits % WORD_BITS ? f->bits % WORD_BITS : WORD_BITS;

			g->pieces[g->piece_count++] = (struct p4_piece){
				.slot = f->slot + s - 1,
				.shift = (uint8_t)(bits - 1),
				.mask = bits == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << bits) - 1,
			};
		}
	}
}

/* As many pieces as end at a whole byte within a word. 0: there is no such number. */
static uint32_t group_size(const struct gather *g, uint32_t first, uint32_t *ret_bits)
{
	uint32_t bits = 0, best = 0;

	for (uint32_t i = first; i < g->piece_count; i++) {
		bits += g->pieces[i].shift + 1u;
		if (bits > WORD_BITS)
			break;
		if (bits % 8 == 0) {
			best = i + 1 - first;
			*ret_bits = bits;
		}
	}
	return best;
}

static bool make_groups(struct gather *g)
{
	uint32_t at_byte = 0;

	for (uint32_t first = 0; first < g->piece_count;) {
		uint32_t bits = 0, count = group_size(g, first, &bits), left;

		if (count == 0)
			return false;
		g->groups[g->group_count++] = (struct p4_group){ .byte = (uint16_t)at_byte,
								 .drop = (uint8_t)(WORD_BITS - bits),
								 .count = (uint8_t)count };
		left = bits;
		for (uint32_t i = first; i < first + count; i++) {
			left -= g->pieces[i].shift + 1u;
			g->pieces[i].shift = (uint8_t)left;
		}
		at_byte += bits / 8;
		first += count;
	}
	return true;
}

static int plan_header(struct build *b, struct p4_header *h)
{
	struct gather g = { 0 };
	uint32_t slots = h->slots ? h->slots : 1;

	if (!may_plan(b->p, h))
		return 0;
	g.pieces = arena_array(&b->p->arena, slots, sizeof(*g.pieces));
	g.groups = arena_array(&b->p->arena, slots, sizeof(*g.groups));
	if (!g.pieces || !g.groups)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	list_pieces(b->p, h, &g);
	if (!make_groups(&g))
		return 0;
	h->planned = true;
	h->pieces = g.pieces;
	h->groups = g.groups;
	h->group_count = g.group_count;
	return 0;
}

/* --- checksums --- */

static void add_term(struct p4_calculation *c, struct p4_term term, bool narrow)
{
	uint32_t last = c->term_count++;

	c->terms[last] = term;
	if (!narrow)
		return;
	c->terms[last] = c->terms[c->narrow_count];
	c->terms[c->narrow_count++] = term;
}

static void add_terms(struct p4_calculation *c, uint32_t slot, uint32_t bits, bool is_signed, uint32_t *at)
{
	uint32_t slots = (bits + WORD_BITS - 1) / WORD_BITS;

	/* an end `at` bits from the start stands (16 - at % 16) % 16 bits before the end of its 16-bit word */
	for (uint32_t s = 0; s < slots; s++) {
		uint32_t part = s + 1 == slots && bits % WORD_BITS ? bits % WORD_BITS : WORD_BITS;
		uint32_t end = *at + bits - s * WORD_BITS;

		struct p4_term term = {
			.slot = slot + s,
			.shift = (16 - end % 16) % 16,
			.mask = part == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << part) - 1,
		};

		add_term(c, term, part <= 32 && !is_signed);
	}
	*at += bits;
}

static void need_header(const struct program *p, struct p4_calculation *c, uint32_t header)
{
	uint32_t slot = p->headers[header].slot;

	if (p->headers[header].is_metadata)
		return;
	for (uint32_t i = 0; i < c->need_count; i++)
		if (c->needs[i] == slot)
			return;
	c->needs[c->need_count++] = slot;
}

static int plan_checksum(struct build *b, struct p4_calculation *c)
{
	const struct program *p = b->p;
	uint32_t slots = 0, at = 0;

	if (c->algorithm != HASH_CSUM16)
		return 0;
	for (uint32_t i = 0; i < c->input_count; i++) {
		const struct p4_calculation_input *in = &c->inputs[i];

		if (in->kind == INPUT_HEADER || (in->kind == INPUT_FIELD && p->fields[in->index].is_variable) ||
		    (in->kind == INPUT_PAYLOAD && i + 1 < c->input_count))
			return 0;
		slots += (in->bits + WORD_BITS - 1) / WORD_BITS;
	}
	c->terms = arena_array(&b->p->arena, slots + 1, sizeof(*c->terms));
	c->needs = arena_array(&b->p->arena, c->input_count + 1, sizeof(*c->needs));
	if (!c->terms || !c->needs)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < c->input_count; i++) {
		const struct p4_calculation_input *in = &c->inputs[i];

		if (in->kind == INPUT_PAYLOAD) {
			c->with_payload = true;
		} else if (in->kind == INPUT_FIELD) {
			add_terms(c, p->fields[in->index].slot, in->bits, p->fields[in->index].is_signed, &at);
			need_header(p, c, p->fields[in->index].header);
		} else {
			add_terms(c, in->index, in->bits, true, &at); /* may be wider than its bits */
		}
	}
	c->planned = !c->with_payload || at % 16 == 0;
	return 0;
}

static void plan_select(struct p4_select *s)
{
	s->is_word = s->key_count == 1 && s->words == 1;
	for (uint32_t i = 0; i < s->case_count; i++)
		if (s->cases[i].kind == CASE_SET)
			s->is_word = false;
}

int load_plans(struct build *b)
{
	int rc = 0;

	for (uint32_t i = 0; i < b->p->select_count; i++)
		plan_select(&b->p->selects[i]);

	for (uint32_t i = 0; rc == 0 && i < b->p->header_count; i++)
		rc = plan_header(b, &b->p->headers[i]);
	for (uint32_t i = 0; rc == 0 && i < b->p->calculation_count; i++)
		rc = plan_checksum(b, &b->p->calculations[i]);
	return rc;
}
