/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "exec/exec_private.h"

/* Validity, copies, stacks and unions, on a packet's memory. */

static void union_keep(const struct program *p, uint64_t *m, uint32_t header)
{
	const struct p4_union *u = &p->unions[p->headers[header].group];

	for (uint32_t i = 0; i < u->header_count; i++)
		if (u->headers[i] != header)
			m[p->headers[u->headers[i]].slot] = 0;
}

void header_set_valid(const struct program *p, uint64_t *m, uint32_t header)
{
	m[p->headers[header].slot] = 1;
	if (p->headers[header].group != NOWHERE)
		union_keep(p, m, header);
}

uint32_t header_bytes_now(const struct program *p, const uint64_t *m, uint32_t header)
{
	const struct p4_header *h = &p->headers[header];
	uint64_t bits = h->bits;

	if (h->variable != NOWHERE)
		bits += m[p->fields[h->variable].slot];
	return (uint32_t)(bits / 8);
}

void header_add(struct packet *packet, const struct program *p, uint32_t header)
{
	const struct p4_header *h = &p->headers[header];
	uint64_t *m = packet->memory;

	if (m[h->slot])
		return;
	memset(m + h->slot, 0, h->slots * sizeof(*m));
	header_set_valid(p, m, header);
	packet->packet_length += header_bytes_now(p, m, header);
}

void header_remove(struct packet *packet, const struct program *p, uint32_t header)
{
	uint64_t *m = packet->memory;

	if (!m[p->headers[header].slot])
		return;
	packet->packet_length -= header_bytes_now(p, m, header);
	m[p->headers[header].slot] = 0;
}

void header_copy(const struct program *p, uint64_t *m, uint32_t to, uint32_t from)
{
	const struct p4_header *d = &p->headers[to], *s = &p->headers[from];

	if (!m[s->slot]) {
		m[d->slot] = 0;
		return;
	}
	memmove(m + d->slot, m + s->slot, d->slots * sizeof(*m));
	if (d->group != NOWHERE)
		union_keep(p, m, to);
}

void variable_copy(const struct program *p, uint64_t *m, uint32_t to, uint32_t from)
{
	const struct p4_field *d = &p->fields[to], *s = &p->fields[from];
	uint32_t slots = d->slots < s->slots ? d->slots : s->slots;

	memmove(m + d->slot, m + s->slot, slots * sizeof(*m));
	if (m[d->slot] > d->bits)
		m[d->slot] = d->bits / 8 * 8;
}

bool variable_equal(const struct program *p, const uint64_t *m, uint32_t a, uint32_t b)
{
	const uint64_t *va = m + p->fields[a].slot, *vb = m + p->fields[b].slot;

	return va[0] == vb[0] && memcmp(va + 1, vb + 1, va[0] / 8) == 0;
}

void stack_copy(const struct program *p, uint64_t *m, uint32_t to, uint32_t from)
{
	const struct p4_stack *d = &p->stacks[to], *s = &p->stacks[from];
	const struct p4_header *dh = &p->headers[d->first_header], *sh = &p->headers[s->first_header];

	memmove(m + dh->slot, m + sh->slot, (size_t)dh->slots * d->count * sizeof(*m));
	m[d->next_slot] = m[s->next_slot];
}

void union_copy(const struct program *p, uint64_t *m, uint32_t to, uint32_t from)
{
	for (uint32_t i = 0; i < p->unions[to].header_count; i++) {
		const struct p4_header *d = &p->headers[p->unions[to].headers[i]];
		const struct p4_header *s = &p->headers[p->unions[from].headers[i]];

		memmove(m + d->slot, m + s->slot, d->slots * sizeof(*m));
	}
}

void stack_push(const struct program *p, uint64_t *m, uint32_t stack, uint32_t by)
{
	const struct p4_stack *s = &p->stacks[stack];
	const struct p4_header *h = &p->headers[s->first_header];
	uint64_t *first = m + h->slot;
	uint64_t next = m[s->next_slot] + by;

	if (by > s->count)
		by = s->count;
	memmove(first + (size_t)by * h->slots, first, (size_t)(s->count - by) * h->slots * sizeof(*m));
	memset(first, 0, (size_t)by * h->slots * sizeof(*m));
	m[s->next_slot] = next > s->count ? s->count : next;
}

void stack_pop(const struct program *p, uint64_t *m, uint32_t stack, uint32_t by)
{
	const struct p4_stack *s = &p->stacks[stack];
	const struct p4_header *h = &p->headers[s->first_header];
	uint64_t *first = m + h->slot;
	uint64_t next = m[s->next_slot];

	if (by > s->count)
		by = s->count;
	memmove(first, first + (size_t)by * h->slots, (size_t)(s->count - by) * h->slots * sizeof(*m));
	memset(first + (size_t)(s->count - by) * h->slots, 0, (size_t)by * h->slots * sizeof(*m));
	m[s->next_slot] = next > by ? next - by : 0;
}
