/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The card's measured loop. A poll takes one frame, or lets one copy out, and
 * returns, so that a receiver in the same thread looks at its ring right after
 * each emission. A copy that is due within spin_ticks is waited for: what is
 * let out by a later poll would be late by whatever the caller does in between.
 *
 * Both copies go out in the same way, or the difference would be biased: the
 * tail of the frame stands in the reserved slot before; at the due time the card
 * reads the TSC (the truth), writes the first bytes and sends.
 */
#include <string.h>

#include "clock/tsc.h"
#include "target/card_private.h"

static inline struct card_held *held_at(struct card *card, uint64_t n)
{
	return &card->held[n & (CARD_HELD_MOST - 1)];
}

static inline uint16_t orders_of(const struct card *card, uint32_t nth)
{
	return nth < card->frame_count ? card->orders[nth].faults : 0;
}

static inline void note(struct card *card, uint32_t nth, unsigned faults, unsigned shift)
{
	if (nth < card->frame_count)
		card->done[nth] |= (uint16_t)(faults << shift);
}

static inline void copy_head(uint8_t *to, const uint8_t *from, uint32_t length_bytes)
{
	/* A constant length becomes a few vector moves. */
	if (__builtin_expect(length_bytes >= CARD_HEAD_BYTES, 1))
		memcpy(to, from, CARD_HEAD_BYTES);
	else
		memcpy(to, from, length_bytes);
}

/*
 * In idle time, get hold of the lines that the next frame's tail will stand in. Stores leave the core in order: a
 * tail that misses the cache would hold up the head behind it, and with it the emission that was stamped already.
 * The head's line stays with the receiver, who looks at it.
 */
static void warm(struct card_lane *lane)
{
	if (lane->reserved || io_reserve(lane->port, &lane->slot, 1, lane->frame_bytes) == 0)
		return;
	lane->reserved = true;
	__builtin_prefetch(lane->slot.data, 0, 3);
	for (uint32_t at = CARD_HEAD_BYTES; at < lane->last_bytes; at += 64)
		__builtin_prefetch(lane->slot.data + at, 1, 3);
}

/* Reserve the lane's next slot and write the frame's tail into it. */
static bool prepare(struct card_lane *lane, const struct card_held *held)
{
	uint32_t length = held->frame.length_bytes;

	if (!lane->reserved && io_reserve(lane->port, &lane->slot, 1, lane->frame_bytes) == 0)
		return false;
	lane->reserved = true;
	lane->slot.length_bytes = length;
	if (length > CARD_HEAD_BYTES)
		memcpy(lane->slot.data + CARD_HEAD_BYTES, held->frame.data + CARD_HEAD_BYTES, length - CARD_HEAD_BYTES);
	lane->ready = true;
	return true;
}

/* Damage what makes the id readable, so that it is seen to be damaged: the sequence of a native id, the digits of oct. */
static bool damage(struct io_frame *slot)
{
	uint8_t *p = slot->data, *end = slot->data + slot->length_bytes;

	for (; p + 14 <= end; p++) {
		if (memcmp(p, "TARE", 4) == 0) {
			p[5] ^= 0x40;
			return true;
		}
		if (memcmp(p, "oct-fpga-id:", 12) == 0) {
			p[12] = '?';
			return true;
		}
	}
	return false;
}

static bool let_out(struct card *card, struct card_lane *lane, const struct card_held *held, unsigned faults,
		    uint64_t *ret_stamp)
{
	uint32_t length = held->frame.length_bytes;
	unsigned copies = faults & CARD_DUPLICATED ? 2 : 1;

	for (unsigned i = 0; i < copies; i++) {
		uint64_t stamp;

		if (!lane->ready && !prepare(lane, held)) {
			card->refused++;
			return i > 0;
		}
		if (__builtin_expect(faults & CARD_UNREADABLE, 0)) {
			memcpy(lane->slot.data, held->frame.data, length);
			if (damage(&lane->slot) && i == 0)
				note(card, held->nth, CARD_UNREADABLE, lane->shift);
			stamp = tsc_stamp();
		} else {
			stamp = tsc_stamp();
			copy_head(lane->slot.data, held->frame.data, length);
		}
		io_send(lane->port, &lane->slot, 1);
		lane->reserved = lane->ready = false;
		lane->last_bytes = length;
		lane->emitted++;
		if (i == 0)
			*ret_stamp = stamp;
		else
			note(card, held->nth, CARD_DUPLICATED, lane->shift);
	}
	return true;
}

static void give_back(struct card *card)
{
	while (card->released < card->path.next && held_at(card, card->released)->path_done) {
		io_release(card->in, &held_at(card, card->released)->frame, 1);
		card->released++;
	}
}

static void bypass_out(struct card *card)
{
	struct card_lane *lane = &card->bypass;
	struct card_held *held = held_at(card, lane->next);
	unsigned faults = orders_of(card, held->nth) >> 8;
	uint64_t stamp = held->due_ticks;

	if (faults & CARD_LOST) {
		note(card, held->nth, CARD_LOST, lane->shift);
		lane->ready = false;
	} else if (let_out(card, lane, held, faults, &stamp) && held->nth < card->frame_count) {
		card->records[held->nth].bypass = stamp;
	}
	/* The path copy's time counts from when this one really left. */
	held->due_ticks =
		stamp + card->shell_gap_ticks +
		card->mode_ticks[card_mode(&card->program, held->frame.data, held->frame.length_bytes, held->nth)];
	if (held->nth < card->frame_count)
		held->due_ticks += (uint64_t)(int64_t)card->orders[held->nth].jitter_ticks;
	lane->next++;
	card->path.held_to = lane->next;
}

static void path_out_now(struct card *card, struct card_held *held, unsigned faults)
{
	uint64_t stamp;

	if (let_out(card, &card->path, held, faults, &stamp) && held->nth < card->frame_count)
		card->records[held->nth].path = stamp;
	held->path_done = true;
}

static void deferred_out(struct card *card, bool overtaken)
{
	struct card_held *held = held_at(card, card->deferred);

	card->deferred = UINT64_MAX;
	card->path.ready = false;
	if (overtaken)
		note(card, held->nth, CARD_REORDERED, 0);
	path_out_now(card, held, orders_of(card, held->nth) & 0xff);
}

static void path_out(struct card *card)
{
	struct card_lane *lane = &card->path;
	struct card_held *held = held_at(card, lane->next);
	unsigned faults = orders_of(card, held->nth) & 0xff;

	lane->next++;
	if (faults & CARD_LOST) {
		note(card, held->nth, CARD_LOST, 0);
		held->path_done = true;
		lane->ready = false;
	} else if (faults & CARD_REORDERED && card->deferred == UINT64_MAX) {
		card->deferred = lane->next - 1;
		card->deferred_until = held->due_ticks + card->reorder_wait_ticks;
		lane->ready = false; /* the slot is for whoever comes next */
	} else {
		path_out_now(card, held, faults);
		if (card->deferred != UINT64_MAX)
			deferred_out(card, true);
	}
	give_back(card);
}

static bool take(struct card *card, uint64_t now)
{
	struct card_held *held = held_at(card, card->taken);

	if (card->taken - card->released == CARD_HELD_MOST || io_receive(card->in, &held->frame, 1) == 0)
		return false;
	held->nth = (uint32_t)(card->taken - card->base);
	held->path_done = false;
	held->due_ticks = now + card->shell_bypass_ticks;
	card->taken++;
	card->bypass.held_to = card->taken;
	return true;
}

/* Nothing is due: take a frame, or use the time. */
static unsigned idle(struct card *card, uint64_t now)
{
	if (take(card, now))
		return 1;
	warm(&card->bypass);
	warm(&card->path);
	return 0;
}

unsigned card_poll(struct target *target)
{
	struct card *card = (struct card *)target;
	struct card_lane *lane = &card->path;
	struct card_held *held;
	uint64_t now = tsc_now(), due;

	if (__builtin_expect(card->deferred != UINT64_MAX, 0) && (int64_t)(now - card->deferred_until) >= 0) {
		deferred_out(card, false);
		give_back(card);
		return 1;
	}
	/* The lane whose copy is due first; before the bypass copy has left, there is no path copy. */
	if (card->path.next == card->path.held_to ||
	    (card->bypass.next != card->bypass.held_to &&
	     (int64_t)(held_at(card, card->bypass.next)->due_ticks - held_at(card, card->path.next)->due_ticks) < 0))
		lane = &card->bypass;
	if (lane->next == lane->held_to)
		return idle(card, now);
	held = held_at(card, lane->next);
	if (!lane->ready)
		prepare(lane, held);
	due = held->due_ticks;
	if ((int64_t)(due - now) > (int64_t)card->spin_ticks)
		return idle(card, now);
	while ((int64_t)(due - tsc_now()) > 0)
		;
	if (lane == &card->bypass)
		bypass_out(card);
	else
		path_out(card);
	return 1;
}

void card_flush(struct card *card)
{
	struct io_frame frame;

	while (card->released < card->taken) {
		io_release(card->in, &held_at(card, card->released)->frame, 1);
		card->released++;
	}
	while (io_receive(card->in, &frame, 1))
		io_release(card->in, &frame, 1);
	card->path.next = card->path.held_to = card->bypass.next = card->bypass.held_to = card->taken;
	card->deferred = UINT64_MAX;
}
