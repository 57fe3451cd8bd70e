/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/fates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WINDOW = 4096, /* probes looked at before and behind the nearest by time */
	MEDIAN_OF = 1024,
};

/* What became of a probe at one port; the greatest of both ports holds. */
enum verdict { CAME, CAME_UNSTAMPED, CAME_SHARED, CAME_UNREADABLE, CAME_LATE, MISSING };

static const uint8_t fate_of[] = {
	[CAME] = FATE_MATCHED,         [CAME_UNSTAMPED] = FATE_UNSTAMPED,
	[CAME_SHARED] = FATE_SHADOWED, [CAME_UNREADABLE] = FATE_UNPARSED,
	[CAME_LATE] = FATE_LATE,       [MISSING] = FATE_LOST,
};

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* How long a probe is usually under way to this port, and how far from that it may be. */
struct usual {
	int64_t median_ticks;
	uint64_t limit_ticks;
};

/* From at most MEDIAN_OF probes spread over the run; without any, all times up to the deadline are usual. */
static struct usual usual_ticks(const struct fates_input *in, const struct receiver *r)
{
	int64_t took[MEDIAN_OF], median;
	uint32_t step = in->sent / MEDIAN_OF + 1, n = 0;
	uint64_t limit;

	for (uint32_t i = 0; i < in->sent && n < MEDIAN_OF; i += step) {
		int64_t t = (int64_t)(r->arrivals[i].ticks - in->tx_ticks[i]);

		if (r->arrivals[i].seen && r->arrivals[i].ticks && t >= 0 && t <= (int64_t)in->deadline_ticks)
			took[n++] = t;
	}
	if (n == 0)
		return (struct usual){ 0, in->deadline_ticks };
	qsort(took, n, sizeof(took[0]), by_value);
	median = took[(n - 1) / 2];
	limit = (uint64_t)median + 4 * (uint64_t)(took[(uint64_t)(n - 1) * 99 / 100] - median);
	return (struct usual){ median, limit < in->deadline_ticks ? limit : in->deadline_ticks };
}

/* The first probe sent later than that. */
static uint32_t sent_after(const struct fates_input *in, uint64_t ticks)
{
	uint32_t low = 0, high = in->sent;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((int64_t)(in->tx_ticks[middle] - ticks) > 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Could this frame be that probe? */
static bool may_be(const struct fates_input *in, const struct odd_arrival *odd, uint32_t i, const uint8_t *verdicts)
{
	const struct stream_packet *packet;

	if (verdicts[i] != MISSING || (int64_t)(odd->ticks - in->tx_ticks[i]) < 0)
		return false;
	packet = stream_packet(in->stream, i);
	if (odd->probe == RECEIVER_NO_ID)
		return true;
	return packet->fate == STREAM_SHARED && packet->id == stream_packet(in->stream, odd->probe)->id;
}

static uint32_t nearest(const struct fates_input *in, const struct odd_arrival *odd, const struct usual *usual_time,
			const uint8_t *verdicts)
{
	int64_t usual = usual_time->median_ticks;
	uint32_t at = sent_after(in, odd->ticks - (uint64_t)usual);
	uint32_t from = at > WINDOW ? at - WINDOW : 0, to = in->sent - at > WINDOW ? at + WINDOW : in->sent;
	uint32_t best = STREAM_NONE;
	uint64_t best_off = usual_time->limit_ticks + odd->gap_ticks + 1;

	/* From the middle outwards, until no farther one can be nearer. */
	for (uint32_t i = at; i < to && (int64_t)(odd->ticks - in->tx_ticks[i]) >= 0; i++) {
		uint64_t off = (uint64_t)llabs((int64_t)(odd->ticks - in->tx_ticks[i]) - usual);

		if (off >= best_off)
			break;
		if (may_be(in, odd, i, verdicts)) {
			best = i;
			best_off = off;
			break;
		}
	}
	for (uint32_t i = at; i-- > from;) {
		uint64_t off = (uint64_t)llabs((int64_t)(odd->ticks - in->tx_ticks[i]) - usual);

		if (off >= best_off)
			break;
		if (may_be(in, odd, i, verdicts))
			return i;
	}
	return best;
}

static void judge_port(const struct fates_input *in, struct receiver *r, uint8_t *verdicts)
{
	struct usual usual = usual_ticks(in, r);

	for (uint32_t i = 0; i < in->sent; i++) {
		const struct arrival *a = &r->arrivals[i];

		if (!a->seen)
			verdicts[i] = MISSING;
		else if (a->ticks == 0)
			verdicts[i] = CAME_UNSTAMPED;
		else if ((int64_t)(a->ticks - in->tx_ticks[i]) > (int64_t)in->deadline_ticks)
			verdicts[i] = CAME_LATE;
		else
			verdicts[i] = CAME;
	}
	for (uint32_t k = 0; k < r->odd_count; k++) {
		uint32_t i = nearest(in, &r->odd[k], &usual, verdicts);

		if (i != STREAM_NONE)
			verdicts[i] = r->odd[k].probe == RECEIVER_NO_ID ? CAME_UNREADABLE : CAME_SHARED;
		else if (r->odd[k].probe == RECEIVER_NO_ID)
			r->foreign++;
		else
			r->duplicates++;
	}
	r->odd_count = 0;
}

int fates_assign(const struct fates_input *in, uint8_t *ret_fates, struct ledger *ret, struct err *err)
{
	struct ledger ledger = { .sent = in->sent };
	uint8_t *other = malloc((size_t)in->sent + 1);

	if (!other)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for the fates of %u probes", in->sent);
	judge_port(in, in->receivers[0], ret_fates);
	judge_port(in, in->receivers[1], other);
	for (uint32_t i = 0; i < in->sent; i++) {
		uint8_t worst = other[i] > ret_fates[i] ? other[i] : ret_fates[i];

		ret_fates[i] = fate_of[worst];
		ledger.fate[ret_fates[i]]++;
	}
	for (int n = 0; n < 2; n++) {
		const struct receiver *r = in->receivers[n];

		ledger.duplicates += r->duplicates;
		ledger.reordered += r->reordered;
		ledger.foreign += r->foreign;
		ledger.classified += r->classified;
	}
	free(other);
	*ret = ledger;
	return 0;
}
