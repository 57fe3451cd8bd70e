/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_TABLES_QUIESCE_H
#define TARE_SWITCH_TABLES_QUIESCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * When may what was unlinked be freed? One writer (the control thread) unlinks
 * objects from structures that readers (data-plane threads) walk without locks.
 * Each reader says once a loop that it holds no pointer any more (quiesce_pass);
 * an object unlinked before every reader has said so is free to go.
 *
 * A reader that is going to block (poll, sleep) goes offline first. Without
 * readers online everything is freed at once, so a process whose data plane runs
 * in the control thread registers none.
 */
enum {
	QUIESCE_READERS_MOST = 64,
	QUIESCE_BACKLOG_BYTES = 32 << 20, /* over this the writer waits for the readers (never the reverse) */
};

struct quiesce;

struct quiesce_reader {
	_Alignas(64) _Atomic uint64_t seen; /* written by the reader: the epoch it has passed; 0: offline */
	_Atomic uint64_t *epoch;            /* of the writer */
	bool used;
};

/* NULL without memory. */
struct quiesce *quiesce_create(void);
void quiesce_destroy(struct quiesce *q); /* frees the backlog: no reader may run any more; NULL is fine */

/* In the control thread, before the reader's thread starts and after it has ended. Offline at first. NULL: too many. */
struct quiesce_reader *quiesce_join(struct quiesce *q);
void quiesce_leave(struct quiesce *q, struct quiesce_reader *reader);

/* In the reader's thread. Online to begin, then pass once a loop, between packets; offline before anything that waits. */
static inline void quiesce_pass(struct quiesce_reader *reader)
{
	uint64_t epoch = atomic_load_explicit(reader->epoch, memory_order_acquire);

	/* a store only when something changed: the line stays shared while nobody writes tables */
	if (atomic_load_explicit(&reader->seen, memory_order_relaxed) != epoch)
		atomic_store_explicit(&reader->seen, epoch, memory_order_release);
}

static inline void quiesce_online(struct quiesce_reader *reader)
{
	/* seen by the writer before any pointer is read */
	atomic_exchange_explicit(&reader->seen, atomic_load_explicit(reader->epoch, memory_order_acquire),
				 memory_order_seq_cst);
#ifndef __SANITIZE_THREAD__ /* which knows no fences */
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void quiesce_offline(struct quiesce_reader *reader)
{
	atomic_store_explicit(&reader->seen, 0, memory_order_release);
}

/*
 * --- in the control thread ---
 *
 * quiesce_retire: `object` is unlinked; call free_object(object) once no reader can hold it. It is put at the end of
 * the backlog and never freed inside this call. quiesce_collect frees what may be freed, and waits (at most a second)
 * when the backlog is over its limit. Between quiesce_hold and quiesce_release nothing is freed.
 */
void quiesce_retire(struct quiesce *q, void *object, size_t size_bytes, void (*free_object)(void *object));
void quiesce_collect(struct quiesce *q);
void quiesce_hold(struct quiesce *q);
void quiesce_release(struct quiesce *q);
size_t quiesce_backlog_bytes(const struct quiesce *q);

/* A mark for "now", and whether every reader has passed since. Asks the readers to, so not for every small thing. */
uint64_t quiesce_mark(struct quiesce *q);
bool quiesce_passed(const struct quiesce *q, uint64_t mark);

/* Wait until all readers have passed (or gone offline), at most `most_ns`. False: one has not. */
bool quiesce_wait(struct quiesce *q, int64_t most_ns);

#endif
