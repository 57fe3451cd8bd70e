/* SPDX-License-Identifier: Apache-2.0 */
#include "target/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_pipeline.h>
#include <rte_swx_port.h>

#include "base/log.h"
#include "clock/tsc.h"
#include "io/dpdk_eal.h"
#include "io/memory.h"
#include "target/pipeline_private.h"
#include "target/pipeline_program.h"
#include "target/spec_build.h"

/*
 * The order of things, for every frame, by the one thread that polls:
 *
 *   1. t0 is stamped, the frame copied into the bypass cable and sent;
 *   2. it is copied to a buffer of our own, its `in` slot given back;
 *   3. at t0 + hold, waited for to the tick, DPDK's pipeline gets the buffer;
 *   4. when the program transmits, the port's callback copies the frame into the
 *      path cable and sends it, from inside the pipeline.
 *
 * Both copies are stamped or due *before* they are written: the time a written
 * line takes to the receiver's core is then on both sides and cancels. (A fence
 * after the bypass copy and t0 behind it put it on one: two modes 90 ns apart, a
 * quarter of the samples within 20 ns of the median instead of three.)
 *
 * So path minus bypass is hold + program + the copy out, and the hold and the copy
 * are in the null too. The hold keeps the two copies apart: a receiver that has
 * just handled one is no longer busy with it when the other comes (without it the
 * difference of two copies that arrive together is the receiver's, not the
 * program's). It is before the program, not behind it: behind, it would hide what
 * the program takes.
 *
 * The pipeline has ports of our own making, so no ring lies between. Frames go
 * through it one at a time: DPDK's interpreter changes to another of its 16
 * threads at every table lookup, and the rounds of the idle ones are part of what
 * a lookup costs a lone frame.
 */
enum {
	BURST = 16,
	QUEUE = 1024, /* frames waiting for their hold to end; a power of two */
	CABLE_SLOTS = 1024,
	RUN_INSTRUCTIONS = 8,    /* per call of rte_swx_pipeline_run: what is run in vain after the frame left */
	RUN_CALLS_MAX = 1 << 16, /* a frame that has not left after so many recirculates for ever */
	HEADROOM_BYTES = 128,
	HEAD_BYTES = 60, /* of a frame, on the first cache line of a cable's slot */
};

struct waiting {
	uint64_t due_ticks;
	uint8_t *buffer;
	uint32_t length_bytes;
};

/* One way out. The slot for the next frame is reserved beforehand, so that its memory can be fetched beforehand. */
struct lane {
	struct io_cable cable;
	struct io_frame slot;
	bool reserved;
	uint32_t slot_bytes;
	uint64_t full; /* frames lost because the receiver was too slow */
};

struct pipeline;

struct out_port {
	struct pipeline *pipeline;
	uint32_t index;
	uint64_t frames, bytes;
};

struct pipeline {
	struct target target;
	struct arena arena;
	struct spec_built built;
	struct io_cable in;
	struct lane path, bypass;

	uint64_t hold_ticks;
	uint64_t spin_ticks;  /* a frame due within this is waited for */
	uint64_t quiet_ticks; /* within this nothing new is begun */
	uint32_t headroom_bytes, frame_bytes, buffer_bytes, path_port;

	struct waiting queue[QUEUE];
	uint32_t head, tail; /* head: next to run */
	uint8_t *buffers;
	uint8_t *spare[QUEUE]; /* buffers that hold no frame; the one used last, still in the cache, is used next */
	uint32_t spare_count;
	bool offered; /* the frame at head is there for the pipeline to take */
	bool inside;  /* it has taken it and not let go of it yet */
	bool stuck;   /* it never let go */

	struct out_port out[SPEC_PORTS_ALL];
	uint64_t frames_in, malformed, late_starts;
	char description[640];
};

/* What DPDK wants of an input port. */

static void *port_create(void *args)
{
	return args;
}

static void port_free(void *port)
{
	(void)port;
}

static int in_receive(void *port, struct rte_swx_pkt *pkt)
{
	struct pipeline *p = port;
	struct waiting *w;

	if (!p->offered)
		return 0;
	w = &p->queue[p->head % QUEUE];
	pkt->handle = w;
	pkt->pkt = w->buffer;
	pkt->offset = p->headroom_bytes;
	pkt->length = w->length_bytes;
	p->offered = false;
	return 1;
}

static void in_stats(void *port, struct rte_swx_port_in_stats *ret)
{
	struct pipeline *p = port;

	*ret = (struct rte_swx_port_in_stats){ .n_pkts = p->frames_in };
}

/* And of an output port. */

static bool lane_reserve(struct lane *lane)
{
	if (!lane->reserved)
		lane->reserved = io_reserve(lane->cable.send_end, &lane->slot, 1, lane->slot_bytes) == 1;
	return lane->reserved;
}

/*
 * The head shares its cache line with the word that says the frame is there, the
 * line that the receiver reads over and over: it is written last and at once, or
 * the receiver takes it back in between. Returns the bytes of the head.
 */
static uint32_t lane_write_tail(struct lane *lane, const uint8_t *bytes, uint32_t length_bytes)
{
	uint32_t head_bytes = length_bytes < HEAD_BYTES ? length_bytes : HEAD_BYTES;

	memcpy(lane->slot.data + head_bytes, bytes + head_bytes, length_bytes - head_bytes);
	return head_bytes;
}

static void lane_send(struct lane *lane, uint32_t length_bytes)
{
	lane->slot.length_bytes = length_bytes;
	io_send(lane->cable.send_end, &lane->slot, 1);
	lane->reserved = false;
}

/* Fetch what the next frame will be written to, but for the line that the receiver looks at: it would take it back. */
static void lane_prepare(struct lane *lane, uint32_t length_bytes)
{
	if (lane_reserve(lane))
		for (uint32_t at = HEAD_BYTES; at < length_bytes; at += 64)
			__builtin_prefetch(lane->slot.data + at, 1);
}

static void emit(struct pipeline *p, const uint8_t *bytes, uint32_t length_bytes)
{
	uint32_t head_bytes;

	if (length_bytes > p->frame_bytes || length_bytes == 0) {
		p->malformed++;
		return;
	}
	if (!lane_reserve(&p->path)) {
		p->path.full++;
		return;
	}
	head_bytes = lane_write_tail(&p->path, bytes, length_bytes);
	memcpy(p->path.slot.data, bytes, head_bytes);
	lane_send(&p->path, length_bytes);
}

static void out_clone(void *port, struct rte_swx_pkt *pkt, uint32_t length_bytes)
{
	struct out_port *out = port;
	uint32_t length = pkt->length < length_bytes ? pkt->length : length_bytes;

	out->frames++;
	out->bytes += length;
	if (out->index == out->pipeline->path_port)
		emit(out->pipeline, pkt->pkt + pkt->offset, length);
}

static void out_fast_clone(void *port, struct rte_swx_pkt *pkt)
{
	out_clone(port, pkt, pkt->length);
}

static void out_send(void *port, struct rte_swx_pkt *pkt)
{
	struct out_port *out = port;

	out_clone(port, pkt, pkt->length);
	out->pipeline->inside = false;
}

static void out_stats(void *port, struct rte_swx_port_out_stats *ret)
{
	struct out_port *out = port;

	*ret = (struct rte_swx_port_out_stats){ .n_pkts = out->frames, .n_bytes = out->bytes };
}

static struct rte_swx_port_in_ops in_ops = {
	.create = port_create, .free = port_free, .pkt_rx = in_receive, .stats_read = in_stats
};

static struct rte_swx_port_out_ops out_ops = {
	.create = port_create,
	.free = port_free,
	.pkt_tx = out_send,
	.pkt_fast_clone_tx = out_fast_clone,
	.pkt_clone_tx = out_clone,
	.stats_read = out_stats,
};

/* The measured loop. */

/* The time is taken when the tail is out: what is behind it is as short for all lengths. */
static uint64_t send_bypass(struct lane *lane, const struct io_frame *frame)
{
	uint32_t head_bytes;
	uint64_t now;

	if (!lane_reserve(lane)) {
		lane->full++;
		return tsc_stamp();
	}
	head_bytes = lane_write_tail(lane, frame->data, frame->length_bytes);
	if (frame->length_bytes > head_bytes)
		_mm_mfence();
	now = tsc_stamp();
	memcpy(lane->slot.data, frame->data, head_bytes);
	lane_send(lane, frame->length_bytes);
	return now;
}

static void take(struct pipeline *p, const struct io_frame *frame)
{
	struct waiting *w = &p->queue[p->tail % QUEUE];
	uint64_t sent_ticks = send_bypass(&p->bypass, frame);

	if (p->stuck)
		return;
	w->due_ticks = sent_ticks + p->hold_ticks;
	w->buffer = p->spare[--p->spare_count];
	memcpy(w->buffer + p->headroom_bytes, frame->data, frame->length_bytes);
	w->length_bytes = frame->length_bytes;
	p->tail++;
	p->frames_in++;
	lane_prepare(&p->path, frame->length_bytes);
	lane_prepare(&p->bypass, frame->length_bytes);
}

static unsigned take_new(struct pipeline *p)
{
	struct io_frame frames[BURST];
	uint32_t room = QUEUE - (p->tail - p->head);
	unsigned count = io_receive(p->in.receive_end, frames, room < BURST ? room : BURST);

	for (unsigned i = 0; i < count; i++)
		take(p, &frames[i]);
	if (count)
		io_release(p->in.receive_end, frames, count);
	return count;
}

static void let_go(struct pipeline *p)
{
	p->spare[p->spare_count++] = p->queue[p->head++ % QUEUE].buffer;
}

static void run_program(struct pipeline *p)
{
	p->offered = true;
	p->inside = true;
	for (unsigned i = 0; p->inside; i++) {
		if (i == RUN_CALLS_MAX) {
			p->stuck = true;
			return;
		}
		rte_swx_pipeline_run(p->built.pipeline, RUN_INSTRUCTIONS);
	}
	let_go(p);
}

static unsigned pipeline_poll(struct target *target)
{
	struct pipeline *p = (struct pipeline *)target;
	uint64_t due, now;

	if (p->head == p->tail || p->stuck)
		return take_new(p);
	due = p->queue[p->head % QUEUE].due_ticks;
	now = tsc_now();
	if ((int64_t)(due - now) > (int64_t)p->quiet_ticks)
		return take_new(p);
	if ((int64_t)(due - now) > (int64_t)p->spin_ticks)
		return 0;
	/* Again: the prefetcher of the receiver's core, which reads the line before, has fetched some of it away. */
	lane_prepare(&p->path, p->queue[p->head % QUEUE].length_bytes);
	while ((int64_t)(due - now) > 0)
		now = tsc_now();
	p->late_starts += now - due > p->spin_ticks;
	run_program(p);
	return 1;
}

static void pipeline_ports(struct target *target, struct target_ports *ret_ports)
{
	struct pipeline *p = (struct pipeline *)target;

	ret_ports->in = p->in.send_end;
	ret_ports->path = p->path.cable.receive_end;
	ret_ports->bypass = p->bypass.cable.receive_end;
}

static void pipeline_begin_run(struct target *target, uint32_t run)
{
	struct pipeline *p = (struct pipeline *)target;

	(void)run;
	while (!p->stuck && p->head != p->tail) /* what came after the last run's end */
		let_go(p);
}

static const char *pipeline_describe(const struct target *target)
{
	return ((const struct pipeline *)target)->description;
}

static void close_cable(struct io_cable *cable)
{
	if (cable->send_end)
		cable->send_end->ops->close(cable->send_end);
	if (cable->receive_end)
		cable->receive_end->ops->close(cable->receive_end);
}

/* What the ledger shows as lost, or as a long path, and why. */
static void log_account(const struct pipeline *p)
{
	uint64_t elsewhere = 0;

	for (uint32_t i = 0; i < SPEC_PORTS_OUT; i++)
		elsewhere += i == p->path_port ? 0 : p->out[i].frames;
	if (p->stuck)
		log_warn("pipeline: the program recirculated a frame without end and was given up");
	log_debug("pipeline: %" PRIu64 " frames run: %" PRIu64 " to the path, %" PRIu64 " dropped, %" PRIu64
		  " to other ports, %" PRIu64 " to ports that are not there, %" PRIu64 " malformed; %" PRIu64
		  " started late; receiver too slow for %" PRIu64 " path and %" PRIu64 " bypass copies",
		  p->frames_in, p->out[p->path_port].frames, p->out[SPEC_PORT_DROP].frames, elsewhere,
		  p->out[SPEC_PORT_STRAY].frames, p->malformed, p->late_starts, p->path.full, p->bypass.full);
}

static void pipeline_close(struct target *target)
{
	struct pipeline *p = (struct pipeline *)target;

	if (!p)
		return;
	if (p->frames_in)
		log_account(p);
	spec_built_release(&p->built);
	close_cable(&p->in);
	close_cable(&p->path.cable);
	close_cable(&p->bypass.cable);
	free(p->buffers);
	arena_release(&p->arena);
	free(p);
}

/* A restart. */

static int open_memory(struct pipeline *p, const struct program *program, uint32_t frame_bytes, struct err *err)
{
	uint32_t emitted = spec_emit_bytes(program->spec), extracted = spec_extract_bytes(program->spec);
	int rc;

	/* A frame grows by what is emitted at most; one that is cut short is read beyond its end, not beyond its buffer. */
	p->headroom_bytes = (HEADROOM_BYTES + emitted + 63) / 64 * 64;
	p->frame_bytes = frame_bytes + emitted;
	if (p->frame_bytes > 16384)
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: emits up to %u bytes before a frame of %u; expected 16384 in all",
			       program->spec->path, emitted, frame_bytes);
	p->path.slot_bytes = p->frame_bytes;
	p->bypass.slot_bytes = frame_bytes;
	p->buffer_bytes = (p->headroom_bytes + frame_bytes + extracted + 63) / 64 * 64;
	p->buffers = aligned_alloc(64, (size_t)QUEUE * p->buffer_bytes);
	if (!p->buffers)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for %d frames of %u bytes", QUEUE, frame_bytes);
	memset(p->buffers, 0, (size_t)QUEUE * p->buffer_bytes);
	for (uint32_t i = 0; i < QUEUE; i++)
		p->spare[p->spare_count++] = p->buffers + (size_t)i * p->buffer_bytes;
	rc = memory_cable_open(CABLE_SLOTS, frame_bytes, &p->in, err);
	if (!rc)
		rc = memory_cable_open(CABLE_SLOTS, frame_bytes, &p->bypass.cable, err);
	if (!rc)
		rc = memory_cable_open(CABLE_SLOTS, p->frame_bytes, &p->path.cable, err);
	return rc;
}

static int open_program(struct pipeline *p, const struct program *program, struct err *err)
{
	struct spec_ports ports = { .in_ops = &in_ops, .in_args = p, .out_ops = &out_ops };
	char name[32]; /* DPDK wants one that no other pipeline of the process has */
	int rc;

	snprintf(name, sizeof(name), "tare-%p", (void *)p);
	for (uint32_t i = 0; i < SPEC_PORTS_ALL; i++) {
		p->out[i] = (struct out_port){ .pipeline = p, .index = i };
		ports.out_args[i] = &p->out[i];
	}
	rc = spec_build(program->spec, name, &ports, &p->built, err);
	if (!rc && program->entries)
		rc = spec_built_enter(&p->built, program->entries, err);
	return rc;
}

/* Text of a user's file in a JSON string: what cannot stand there becomes '?'. */
static void json_text(const char *text, char *ret, size_t size_bytes)
{
	size_t i = 0;

	for (; text[i] && i + 1 < size_bytes; i++)
		ret[i] = text[i] < 0x20 || text[i] > 0x7e || text[i] == '"' || text[i] == '\\' ? '?' : text[i];
	ret[i] = '\0';
}

static void describe(struct pipeline *p, const struct target_setup *setup, const struct program *program)
{
	char name[128], origin[128];

	json_text(setup->program, name, sizeof(name));
	json_text(program->spec->origin ? program->spec->origin : "", origin, sizeof(origin));
	snprintf(p->description, sizeof(p->description),
		 "{\"kind\":\"pipeline\",\"engine\":\"%s\",\"memory\":\"%s\",\"program\":\"%s\",\"spec_fnv1a\":\"%"
		 "016" PRIx64 "\",\"entries_fnv1a\":\"%016" PRIx64
		 "\",\"entries\":%u,\"compiler\":\"%s\",\"hold_ns\":%" PRId64
		 ",\"port\":%u,\"added\":\"jmpgt before tx\"}",
		 dpdk_eal_version(), dpdk_eal_memory(), name, program->spec_hash, program->entries_hash,
		 program->entries ? program->entries->count : 0, origin, settings_number(setup->settings, "hold"),
		 p->path_port);
}

static int open_all(struct pipeline *p, const struct target_setup *setup, struct err *err)
{
	struct program program;
	struct tsc tsc;
	int rc = program_load(setup->program, setup->directory, settings_text(setup->settings, "entries"), &p->arena,
			      &program, err);

	if (!rc)
		rc = dpdk_eal_start(err);
	if (!rc)
		rc = tsc_calibrate(&tsc, 20000000, true, err);
	if (rc)
		return rc;
	p->path_port = (uint32_t)settings_number(setup->settings, "port");
	p->hold_ticks = (uint64_t)tsc_from_ns(&tsc, (double)settings_number(setup->settings, "hold"));
	p->spin_ticks = (uint64_t)tsc_from_ns(&tsc, 80);
	p->quiet_ticks = (uint64_t)tsc_from_ns(&tsc, 400);
	rc = open_memory(p, &program, setup->frame_bytes, err);
	if (!rc)
		rc = open_program(p, &program, err);
	if (!rc)
		describe(p, setup, &program);
	return rc;
}

static int pipeline_open(const struct target_setup *setup, struct target **ret_target, struct err *err)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for the pipeline");
	p->target.ops = &target_pipeline;
	arena_init(&p->arena, 64u << 20);
	rc = open_all(p, setup, err);
	if (rc) {
		pipeline_close(&p->target);
		return rc;
	}
	*ret_target = &p->target;
	return 0;
}

static int pipeline_probe(struct err *err)
{
	return dpdk_eal_start(err);
}

#ifdef __SANITIZE_ADDRESS__
/* DPDK 22.11 forgets two allocations of 8 bytes with every table. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:rte_swx_pipeline_table_config\n";
}
#endif

const struct target_ops target_pipeline = {
	.kind = "pipeline",
	.summary = PIPELINE_SUMMARY,
	.settings = pipeline_settings,
	.probe = pipeline_probe,
	.check = pipeline_check,
	.open = pipeline_open,
	.ports = pipeline_ports,
	.begin_run = pipeline_begin_run,
	.poll = pipeline_poll,
	.describe = pipeline_describe,
	.close = pipeline_close,
};
