/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/receiver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int receiver_init(struct receiver *r, const struct stream *stream, uint16_t tag, struct err *err)
{
	memset(r, 0, sizeof(*r));
	r->stream = stream;
	r->any_shared = stream->shared != 0;
	stream_reader(stream, tag, &r->reader);
	/* Each probe may come without id, or with one that is shared; and then some that nobody sent. */
	r->odd_capacity = stream->count + 1024;
	r->arrivals = malloc(((size_t)stream->count + 1) * sizeof(*r->arrivals));
	r->odd = malloc(r->odd_capacity * sizeof(*r->odd));
	if (!r->arrivals || !r->odd) {
		receiver_release(r);
		return err_set(err, ERR_HOST, ENOMEM, "no memory for the arrivals of %u probes", stream->count);
	}
	/* Written, not just allocated: the loop must not meet a page for the first time. */
	memset(r->arrivals, 0, ((size_t)stream->count + 1) * sizeof(*r->arrivals));
	memset(r->odd, 0, r->odd_capacity * sizeof(*r->odd));
	atomic_init(&r->progress, 0);
	atomic_init(&r->beats, 0);
	return 0;
}

int receiver_keep_stamps(struct receiver *r, struct err *err)
{
	size_t bytes = ((size_t)r->stream->count + 1) * sizeof(*r->stamps_ns);

	r->stamps_ns = malloc(bytes);
	if (!r->stamps_ns)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for the stamps of %u probes", r->stream->count);
	memset(r->stamps_ns, 0, bytes);
	return 0;
}

void receiver_release(struct receiver *r)
{
	free(r->stamps_ns);
	r->stamps_ns = NULL;
	free(r->arrivals);
	free(r->odd);
	r->arrivals = NULL;
	r->odd = NULL;
}

static void keep_odd(struct receiver *r, const struct arrival *a, uint32_t probe)
{
	if (r->odd_count == r->odd_capacity) {
		r->foreign++; /* more than were ever sent */
		return;
	}
	r->odd[r->odd_count++] = (struct odd_arrival){ a->ticks, a->gap_ticks, probe };
	/* One probe more has arrived, whichever it is: the sender need not wait for it. */
	atomic_store_explicit(&r->progress, atomic_load_explicit(&r->progress, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

void receiver_take_odd(struct receiver *r, enum id_status status, uint32_t probe, const struct arrival *a)
{
	if (status == ID_WARM_UP) {
		r->warm_up++;
	} else if (status == ID_UNREADABLE) {
		keep_odd(r, a, RECEIVER_NO_ID);
	} else if (probe == STREAM_NONE) {
		/* Not a probe, or an id that nobody sent. In a trace with unreadable packets it may be one of those. */
		if (r->stream->unreadable)
			keep_odd(r, a, RECEIVER_NO_ID);
		else
			r->foreign++;
	} else if (r->any_shared && stream_packet(r->stream, probe)->fate == STREAM_SHARED) {
		keep_odd(r, a, probe);
	} else if (r->arrivals[probe].seen) {
		r->duplicates++;
	} else {
		r->arrivals[probe] = *a;
		r->first++;
		if (probe >= r->newest)
			r->newest = probe + 1;
		else
			r->reordered++;
	}
}
