/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/packet.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

struct pool {
	const struct program *program;
	struct packet *ordinary, *large; /* free ones */
	uint32_t free_count;
	struct packet *packets;
	uint64_t *memories;
	uint8_t *buffers;
};

struct pool *pool_create(const struct program *program, uint32_t count, uint32_t large)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	size_t slots = (program->memory_slots + 7) / 8 * 8;
	size_t small = (PACKET_HEADROOM + PACKET_ORDINARY + PACKET_SLACK + 63) / 64 * 64;
	size_t big = (PACKET_HEADROOM + PACKET_MOST + PACKET_SLACK + 63) / 64 * 64;
	uint32_t total = count + large;

	if (!pool)
		return NULL;
	pool->program = program;
	pool->packets = calloc(total, sizeof(*pool->packets));
	/* pages of packets that are never used are never touched, so never resident */
	pool->memories = aligned_alloc(CACHE_LINE, total * slots * sizeof(uint64_t));
	pool->buffers = aligned_alloc(CACHE_LINE, count * small + large * big);
	if (!pool->packets || !pool->memories || !pool->buffers) {
		pool_destroy(pool);
		return NULL;
	}
	for (uint32_t i = total; i > 0; i--) {
		struct packet *p = &pool->packets[i - 1];

		p->memory = pool->memories + (i - 1) * slots;
		p->large = i > count;
		p->room_bytes = (uint32_t)(p->large ? big : small) - PACKET_SLACK;
		p->buffer = p->large ? pool->buffers + count * small + (i - 1 - count) * big
				     : pool->buffers + (i - 1) * small;
		p->length_bytes = UINT32_MAX; /* its constants are not there yet */
		pool_give(pool, p);
	}
	return pool;
}

void pool_destroy(struct pool *pool)
{
	if (!pool)
		return;
	free(pool->packets);
	free(pool->memories);
	free(pool->buffers);
	free(pool);
}

struct packet *pool_take(struct pool *pool, uint32_t length_bytes)
{
	struct packet **shelf = length_bytes <= PACKET_ORDINARY && pool->ordinary ? &pool->ordinary : &pool->large;
	const struct program *program = pool->program;
	struct packet *p = *shelf;

	if (!p || length_bytes > p->room_bytes - PACKET_HEADROOM)
		return NULL;
	*shelf = p->next;
	pool->free_count--;
	if (p->length_bytes == UINT32_MAX && program->constant_count)
		memcpy(p->memory + program->constants_slot, program->constants,
		       program->constant_count * sizeof(uint64_t));
	p->next = NULL;
	p->start = PACKET_HEADROOM;
	p->length_bytes = 0;
	packet_clear(program, p);
	return p;
}

void pool_give(struct pool *pool, struct packet *packet)
{
	struct packet **shelf;

	if (!packet)
		return;
	shelf = packet->large ? &pool->large : &pool->ordinary;
	packet->next = *shelf;
	*shelf = packet;
	pool->free_count++;
}

uint32_t pool_free(const struct pool *pool)
{
	return pool->free_count;
}

void packet_clear(const struct program *program, struct packet *packet)
{
	memset(packet->memory, 0, program->packet_slots * sizeof(uint64_t));
	memset(&packet->asked, 0, sizeof(packet->asked));
	packet->taken_bits = 0;
	packet->parser_error = program->errors.none;
	packet->checksum_error = false;
	packet->priority = 0;
}

bool packet_copy_bytes(struct packet *to, const uint8_t *bytes, uint32_t length_bytes)
{
	if (length_bytes > to->room_bytes - PACKET_HEADROOM)
		return false;
	to->start = PACKET_HEADROOM;
	to->length_bytes = length_bytes;
	if (length_bytes)
		memcpy(packet_bytes(to), bytes, length_bytes);
	return true;
}

bool packet_copy(const struct program *program, struct packet *to, const struct packet *from)
{
	if (!packet_copy_bytes(to, packet_bytes(from), from->length_bytes))
		return false;
	memcpy(to->memory, from->memory, program->packet_slots * sizeof(uint64_t));
	to->taken_bits = from->taken_bits;
	to->parser_error = from->parser_error;
	to->checksum_error = from->checksum_error;
	to->packet_length = from->packet_length;
	to->ingress_port = from->ingress_port;
	to->ingress_us = from->ingress_us;
	to->priority = from->priority;
	to->asked.truncate = from->asked.truncate;
	to->asked.truncate_bytes = from->asked.truncate_bytes;
	return true;
}
