/* SPDX-License-Identifier: Apache-2.0 */
#include "io/fake.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct fake_copy {
	uint8_t *bytes;
	uint32_t length_bytes;
	uint32_t wait;   /* receive calls before it comes out */
	uint32_t behind; /* comes out behind copies of that many further frames */
};

struct box;

struct fake_port {
	struct io_port port;
	struct box *box;
	struct io_counters counters;
	/* out ports: what waits to come out, in order; lent are those before `next` that were not released */
	struct fake_copy *copies;
	uint32_t count, capacity, next;
	struct fake_copy held[64];
	uint32_t held_count;
};

struct box {
	struct fake_port in, out[2];
	struct fake_rule *rules;
	uint32_t rule_count, frames_most, frames, frame_bytes;
	uint8_t *scratch; /* reserved frames, `lent` of them */
	uint32_t lent;
	unsigned ends;
};

enum { LENT_MOST = 64 };

static struct fake_port *fake_of(const struct io_port *port)
{
	return (struct fake_port *)(uintptr_t)port;
}

static void queue(struct fake_port *p, const uint8_t *bytes, uint32_t length_bytes, uint32_t wait)
{
	struct fake_copy *c = &p->copies[p->count];

	TARE_ASSERT(p->count < p->capacity);
	c->bytes = malloc(length_bytes + 1);
	TARE_ASSERT(c->bytes);
	memcpy(c->bytes, bytes, length_bytes);
	c->length_bytes = length_bytes;
	c->wait = wait;
	p->count++;
}

static void copy_out(struct box *box, unsigned n, const uint8_t *bytes, uint32_t length_bytes)
{
	struct fake_port *p = &box->out[n];
	uint32_t copies = 1, wait = 0, hold = 0, foreign = 0;
	uint8_t frame[16384];

	TARE_ASSERT(length_bytes <= sizeof(frame));
	memcpy(frame, bytes, length_bytes);
	for (uint32_t i = 0; i < box->rule_count; i++) {
		const struct fake_rule *r = &box->rules[i];

		if (r->nth != box->frames || r->port != n)
			continue;
		switch ((enum fake_fault)r->fault) {
		case FAKE_DROP:
			copies = 0;
			break;
		case FAKE_DUPLICATE:
			copies = 2;
			break;
		case FAKE_DAMAGE:
			TARE_ASSERT(r->argument < length_bytes);
			frame[r->argument] ^= 0xff;
			break;
		case FAKE_CUT:
			TARE_ASSERT(r->argument <= length_bytes);
			length_bytes = r->argument;
			break;
		case FAKE_HOLD:
			hold = r->argument;
			break;
		case FAKE_WAIT:
			wait = r->argument;
			break;
		case FAKE_FOREIGN:
			foreign = r->argument;
			break;
		case FAKE_MISCOUNT:
			p->counters.received += r->argument;
			break;
		case FAKE_SWALLOW:
			copies = 0;
			p->counters.received++;
			break;
		}
	}
	if (hold && copies) {
		struct fake_copy *c = &p->held[p->held_count++];

		TARE_ASSERT(p->held_count <= 64);
		*c = (struct fake_copy){ .bytes = malloc(length_bytes), .length_bytes = length_bytes, .behind = hold };
		TARE_ASSERT(c->bytes);
		memcpy(c->bytes, frame, length_bytes);
	} else {
		for (uint32_t i = 0; i < copies; i++)
			queue(p, frame, length_bytes, i ? 0 : wait);
		for (uint32_t i = 0; i < p->held_count;) {
			if (--p->held[i].behind) {
				i++;
				continue;
			}
			queue(p, p->held[i].bytes, p->held[i].length_bytes, 0);
			free(p->held[i].bytes);
			p->held[i] = p->held[--p->held_count];
		}
	}
	if (foreign) {
		memset(frame, 0xee, foreign);
		queue(p, frame, foreign, 0);
	}
}

static unsigned in_reserve(struct io_port *port, struct io_frame *ret_frames, unsigned count, uint32_t length_bytes)
{
	struct box *box = fake_of(port)->box;
	unsigned i;

	if (length_bytes > box->frame_bytes)
		return 0;
	for (i = 0; i < count && box->lent < LENT_MOST && box->frames + box->lent < box->frames_most; i++, box->lent++)
		ret_frames[i] = (struct io_frame){ .data = box->scratch + (size_t)box->lent * box->frame_bytes,
						   .length_bytes = length_bytes,
						   .capacity_bytes = box->frame_bytes };
	return i;
}

static unsigned in_send(struct io_port *port, struct io_frame *frames, unsigned count)
{
	struct fake_port *p = fake_of(port);

	for (unsigned i = 0; i < count; i++) {
		for (unsigned n = 0; n < 2; n++)
			copy_out(p->box, n, frames[i].data, frames[i].length_bytes);
		p->box->frames++;
	}
	p->box->lent -= count;
	p->counters.sent += count;
	return count;
}

static void in_abandon(struct io_port *port, struct io_frame *frames, unsigned count)
{
	(void)frames;
	fake_of(port)->box->lent -= count;
}

static unsigned out_reserve(struct io_port *port, struct io_frame *ret_frames, unsigned count, uint32_t length_bytes)
{
	(void)port;
	(void)ret_frames;
	(void)count;
	(void)length_bytes;
	return 0;
}

static unsigned out_send(struct io_port *port, struct io_frame *frames, unsigned count)
{
	(void)port;
	(void)frames;
	TARE_ASSERT(count == 0);
	return 0;
}

static unsigned fake_receive(struct io_port *port, struct io_frame *ret_frames, unsigned count)
{
	struct fake_port *p = fake_of(port);
	unsigned i;

	for (i = 0; i < count && p->next < p->count; i++, p->next++) {
		struct fake_copy *c = &p->copies[p->next];

		if (c->wait) {
			c->wait--;
			break;
		}
		ret_frames[i] = (struct io_frame){ .data = c->bytes,
						   .length_bytes = c->length_bytes,
						   .capacity_bytes = c->length_bytes };
	}
	p->counters.received += i;
	return i;
}

static void fake_release(struct io_port *port, struct io_frame *frames, unsigned count)
{
	/* Copies live until the box closes: a reader that looks at a released frame is not punished here. */
	(void)port;
	(void)frames;
	(void)count;
}

static void fake_counters(const struct io_port *port, struct io_counters *ret)
{
	*ret = fake_of(port)->counters;
}

static void fake_close(struct io_port *port)
{
	struct box *box;

	if (!port)
		return;
	box = fake_of(port)->box;
	if (--box->ends)
		return;
	for (unsigned n = 0; n < 2; n++) {
		for (uint32_t i = 0; i < box->out[n].count; i++)
			free(box->out[n].copies[i].bytes);
		for (uint32_t i = 0; i < box->out[n].held_count; i++)
			free(box->out[n].held[i].bytes);
		free(box->out[n].copies);
	}
	free(box->rules);
	free(box->scratch);
	free(box);
}

static const struct io_ops in_ops = {
	.name = "fake",
	.receive = fake_receive,
	.release = fake_release,
	.reserve = in_reserve,
	.send = in_send,
	.abandon = in_abandon,
	.counters = fake_counters,
	.close = fake_close,
};

static const struct io_ops out_ops = {
	.name = "fake",
	.receive = fake_receive,
	.release = fake_release,
	.reserve = out_reserve,
	.send = out_send,
	.abandon = fake_release,
	.counters = fake_counters,
	.close = fake_close,
};

int fake_box_open(const struct fake_rule *rules, uint32_t rule_count, uint32_t frames, uint32_t frame_bytes,
		  struct fake_box *ret_box, struct err *err)
{
	struct box *box = calloc(1, sizeof(*box));
	bool good = box != NULL;

	if (good) {
		box->ends = 3;
		box->frames_most = frames;
		box->frame_bytes = frame_bytes;
		box->rule_count = rule_count;
		box->rules = malloc((rule_count + 1) * sizeof(*rules));
		box->scratch = calloc(LENT_MOST, frame_bytes);
		good = box->rules && box->scratch;
		box->in.port.ops = &in_ops;
		box->in.box = box;
		for (unsigned n = 0; n < 2; n++) {
			box->out[n].port.ops = &out_ops;
			box->out[n].box = box;
			box->out[n].capacity = frames + 2 * rule_count;
			box->out[n].copies = calloc(box->out[n].capacity + 1, sizeof(struct fake_copy));
			good = good && box->out[n].copies;
		}
	}
	if (!good) {
		if (box) {
			free(box->rules);
			free(box->scratch);
			free(box->out[0].copies);
			free(box->out[1].copies);
		}
		free(box);
		return err_set(err, ERR_HOST, ENOMEM, "no memory for a fake box of %u frames", frames);
	}
	if (rule_count)
		memcpy(box->rules, rules, rule_count * sizeof(*rules));
	ret_box->in = &box->in.port;
	ret_box->out[0] = &box->out[0].port;
	ret_box->out[1] = &box->out[1].port;
	return 0;
}
