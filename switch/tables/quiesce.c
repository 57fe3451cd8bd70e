/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/quiesce.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"

enum {
	BLOCK_OBJECTS = 254,
};

struct retired {
	void *object;
	void (*free_object)(void *object);
	uint64_t epoch; /* free when every reader has seen it */
	size_t size_bytes;
};

/* The backlog is a list of blocks: first in, first out. */
struct block {
	struct block *next;
	unsigned first, end;
	struct retired items[BLOCK_OBJECTS];
};

struct quiesce {
	_Alignas(64) _Atomic uint64_t epoch;
	struct quiesce_reader readers[QUIESCE_READERS_MOST];
	struct block *head, *tail, *spare;
	size_t backlog_bytes;
	unsigned since_advance; /* objects retired in the current epoch */
	unsigned held;
};

struct quiesce *quiesce_create(void)
{
	struct quiesce *q = aligned_alloc(64, (sizeof(*q) + 63) / 64 * 64);

	if (q == NULL)
		return NULL;
	memset(q, 0, sizeof(*q));
	atomic_store_explicit(&q->epoch, 1, memory_order_relaxed);
	for (unsigned i = 0; i < QUIESCE_READERS_MOST; i++)
		q->readers[i].epoch = &q->epoch;
	return q;
}

struct quiesce_reader *quiesce_join(struct quiesce *q)
{
	for (unsigned i = 0; i < QUIESCE_READERS_MOST; i++) {
		if (!q->readers[i].used) {
			q->readers[i].used = true;
			return &q->readers[i];
		}
	}
	return NULL;
}

void quiesce_leave(struct quiesce *q, struct quiesce_reader *reader)
{
	(void)q;
	if (reader == NULL)
		return;
	quiesce_offline(reader);
	reader->used = false;
}

/* The lowest epoch that a reader may still be in; UINT64_MAX without readers online. */
static uint64_t oldest_seen(const struct quiesce *q)
{
	uint64_t oldest = UINT64_MAX;

	for (unsigned i = 0; i < QUIESCE_READERS_MOST; i++) {
		uint64_t seen;

		if (!q->readers[i].used)
			continue;
		seen = atomic_load_explicit(&q->readers[i].seen, memory_order_seq_cst);
		if (seen != 0 && seen < oldest)
			oldest = seen;
	}
	return oldest;
}

static void advance(struct quiesce *q)
{
	atomic_fetch_add_explicit(&q->epoch, 1, memory_order_seq_cst);
#ifndef __SANITIZE_THREAD__
	atomic_thread_fence(memory_order_seq_cst);
#endif
	q->since_advance = 0;
}

uint64_t quiesce_mark(struct quiesce *q)
{
	advance(q);
	return atomic_load_explicit(&q->epoch, memory_order_relaxed);
}

bool quiesce_passed(const struct quiesce *q, uint64_t mark)
{
	uint64_t epoch = atomic_load_explicit(&q->epoch, memory_order_relaxed);
	uint64_t oldest = oldest_seen(q);

	if (oldest == UINT64_MAX)
		return true;
	return epoch >= mark && oldest >= mark;
}

static struct block *tail_with_room(struct quiesce *q)
{
	struct block *block;

	if (q->tail != NULL && q->tail->end < BLOCK_OBJECTS)
		return q->tail;
	block = q->spare != NULL ? q->spare : malloc(sizeof(*block));
	if (block == NULL)
		return NULL;
	q->spare = NULL;
	block->next = NULL;
	block->first = block->end = 0;
	if (q->tail != NULL)
		q->tail->next = block;
	else
		q->head = block;
	q->tail = block;
	return block;
}

void quiesce_retire(struct quiesce *q, void *object, size_t size_bytes, void (*free_object)(void *object))
{
	struct block *block;

	if (object == NULL)
		return;
	block = tail_with_room(q);
	if (block == NULL)
		return; /* no memory to remember it: it stays, which is safe */
	block->items[block->end++] =
		(struct retired){ object, free_object, atomic_load_explicit(&q->epoch, memory_order_relaxed) + 1,
				  size_bytes };
	q->backlog_bytes += size_bytes;
	q->since_advance++;
}

static void free_until(struct quiesce *q, uint64_t oldest)
{
	while (q->head != NULL) {
		struct block *block = q->head;

		while (block->first < block->end && block->items[block->first].epoch <= oldest) {
			struct retired *item = &block->items[block->first++];

			q->backlog_bytes -= item->size_bytes;
			item->free_object(item->object);
		}
		if (block->first < block->end)
			return;
		q->head = block->next;
		if (q->head == NULL)
			q->tail = NULL;
		if (q->spare == NULL)
			q->spare = block;
		else
			free(block);
	}
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool quiesce_wait(struct quiesce *q, int64_t most_ns)
{
	uint64_t mark = quiesce_mark(q);
	int64_t until = now_ns() + most_ns;

	while (!quiesce_passed(q, mark)) {
		struct timespec nap = { 0, 20000 };

		if (now_ns() >= until)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

void quiesce_collect(struct quiesce *q)
{
	if (q->held > 0 || q->head == NULL)
		return;
	if (q->since_advance > 0)
		advance(q);
	if (q->backlog_bytes > QUIESCE_BACKLOG_BYTES)
		quiesce_wait(q, 1000000000);
	free_until(q, oldest_seen(q));
}

void quiesce_hold(struct quiesce *q)
{
	q->held++;
}

void quiesce_release(struct quiesce *q)
{
	TARE_ASSERT(q->held > 0);
	q->held--;
}

size_t quiesce_backlog_bytes(const struct quiesce *q)
{
	return q->backlog_bytes;
}

void quiesce_destroy(struct quiesce *q)
{
	if (q == NULL)
		return;
	free_until(q, UINT64_MAX);
	free(q->spare);
	free(q);
}
