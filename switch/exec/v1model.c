/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/v1model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/bits.h"

enum { LARGE_PACKETS = 32 };

struct queue {
	struct packet *first, **last;
	uint32_t count;
};

struct port {
	struct queue *queues; /* one a priority; NULL until a packet comes */
	uint32_t depth;
	uint64_t packets_per_s; /* 0: no limit */
	uint64_t next_us;       /* when the next may leave, rate-limited */
	uint32_t queued;
	struct port *next_busy;
	bool busy;
};

struct v1model {
	struct v1model_config config;
	const struct program *p;
	struct exec exec; /* large: its scratch */
	struct pool *pool;
	struct v1model_counters counters;
	struct port ports[V1MODEL_PORTS];
	struct port *busy, **busy_last; /* ports with something queued, in turn */
	uint32_t queued;
};

static void set(const struct v1model *d, struct packet *packet, uint32_t slot, uint64_t value)
{
	(void)d;
	if (slot != NOWHERE)
		packet->memory[slot] = value;
}

static uint64_t get(const struct packet *packet, uint32_t slot)
{
	return slot == NOWHERE ? 0 : packet->memory[slot];
}

static uint64_t now_us(const struct v1model *d)
{
	return d->config.now_us(d->config.context);
}

static void drop(struct v1model *d, struct packet *packet, uint64_t *counter)
{
	++*counter;
	pool_give(d->pool, packet);
}

static struct packet *copy_of(struct v1model *d, const struct packet *from)
{
	struct packet *copy = pool_take(d->pool, from->length_bytes);

	if (!copy || !packet_copy(d->p, copy, from)) {
		pool_give(d->pool, copy);
		d->counters.dropped_no_memory++;
		return NULL;
	}
	return copy;
}

/* --- queues between ingress and egress --- */

static void enqueue(struct v1model *d, struct packet *packet, uint32_t port)
{
	uint64_t priority = get(packet, d->p->standard.priority);
	struct port *to;
	struct queue *q;

	if (port >= V1MODEL_PORTS || priority >= d->config.priorities) {
		drop(d, packet, &d->counters.dropped_no_port);
		return;
	}
	to = &d->ports[port];
	if (!to->queues) { /* once a port, on its first packet */
		to->queues = calloc(d->config.priorities, sizeof(*to->queues));
		if (!to->queues) {
			drop(d, packet, &d->counters.dropped_no_memory);
			return;
		}
		for (uint32_t i = 0; i < d->config.priorities; i++)
			to->queues[i].last = &to->queues[i].first;
	}
	q = &to->queues[priority];
	if (q->count >= to->depth) {
		drop(d, packet, &d->counters.dropped_queue_full);
		return;
	}
	packet->egress_port = port;
	packet->priority = (uint32_t)priority;
	if (d->p->standard.enq_timestamp != NOWHERE || d->config.hold_us)
		packet->enqueued_us = now_us(d);
	if (d->p->standard.enq_timestamp != NOWHERE) {
		set(d, packet, d->p->standard.enq_timestamp, packet->enqueued_us & mask_bits(32));
		set(d, packet, d->p->standard.enq_qdepth, q->count & mask_bits(19));
	}
	packet->next = NULL;
	*q->last = packet;
	q->last = &packet->next;
	q->count++;
	to->queued++;
	d->queued++;
	if (!to->busy) {
		to->busy = true;
		to->next_busy = NULL;
		*d->busy_last = to;
		d->busy_last = &to->next_busy;
	}
}

/* When the port's next packet may leave, as far as holding it decides. */
static uint64_t held_until(const struct v1model *d, const struct port *port)
{
	for (uint32_t i = d->config.priorities; i > 0; i--)
		if (port->queues[i - 1].first)
			return port->queues[i - 1].first->enqueued_us + d->config.hold_us;
	return UINT64_MAX;
}

/* The next packet of a port whose time has come, highest priority first; ports take turns. NULL: none now. */
static struct packet *dequeue(struct v1model *d)
{
	uint64_t now = 0;

	for (struct port **at = &d->busy; *at; at = &(*at)->next_busy) {
		struct port *port = *at;
		struct packet *packet = NULL;

		if (d->config.hold_us && held_until(d, port) > now_us(d))
			continue;
		if (port->packets_per_s) {
			if (!now)
				now = now_us(d);
			if (port->next_us > now)
				continue;
			port->next_us = (port->next_us + 1000000 / port->packets_per_s > now ? port->next_us : now) +
					1000000 / port->packets_per_s;
		}
		for (uint32_t i = d->config.priorities; i > 0 && !packet; i--) {
			struct queue *q = &port->queues[i - 1];

			packet = q->first;
			if (!packet)
				continue;
			q->first = packet->next;
			if (!q->first)
				q->last = &q->first;
			q->count--;
			set(d, packet, d->p->standard.deq_qdepth, q->count & mask_bits(19));
		}
		port->queued--;
		d->queued--;
		/* to the end of the turn, or out of it */
		*at = port->next_busy;
		if (!*at)
			d->busy_last = at;
		port->next_busy = NULL;
		port->busy = port->queued > 0;
		if (port->busy) {
			*d->busy_last = port;
			d->busy_last = &port->next_busy;
		}
		return packet;
	}
	return NULL;
}

/* --- what a control asked for --- */

static const struct p4_field_list *field_list(const struct program *p, uint32_t id)
{
	for (uint32_t i = 0; i < p->field_list_count; i++)
		if (p->field_lists[i].id == id)
			return &p->field_lists[i];
	return NULL;
}

/* User metadata that a clone or a second round keeps. */
static void keep_fields(const struct v1model *d, struct packet *to, const struct packet *from, uint32_t list)
{
	const struct p4_field_list *l = field_list(d->p, list);

	for (uint32_t i = 0; l && i < l->item_count; i++)
		if (!l->items[i].is_constant)
			memcpy(to->memory + l->items[i].slot, from->memory + l->items[i].slot,
			       l->items[i].slots * sizeof(uint64_t));
}

static void clear_metadata(const struct program *p, struct packet *packet)
{
	for (uint32_t i = 0; i < p->header_count; i++)
		if (p->headers[i].is_metadata)
			memset(packet->memory + p->headers[i].slot, 0, p->headers[i].slots * sizeof(uint64_t));
}

static void multicast(struct v1model *d, const struct packet *packet, uint32_t group)
{
	const struct replicas *replicas = multicast_group(d->config.state, group);

	if (!replicas) {
		d->counters.unknown_group++;
		return;
	}
	for (uint32_t i = 0; i < replicas->count; i++) {
		struct packet *copy = copy_of(d, packet);

		if (!copy)
			return;
		d->counters.replicated++;
		set(d, copy, d->p->standard.egress_rid, replicas->items[i].instance);
		enqueue(d, copy, replicas->items[i].port);
	}
}

static void replicate_clone(struct v1model *d, struct packet *copy, const struct clone_session *session)
{
	const struct replicas *replicas = session->replicas;

	for (uint32_t i = 0; i < replicas->count; i++) {
		struct packet *one = i + 1 < replicas->count ? copy_of(d, copy) : copy;

		if (!one)
			continue;
		d->counters.cloned++;
		set(d, one, d->p->standard.egress_rid, replicas->items[i].instance);
		set(d, one, d->p->standard.priority, session->class_of_service);
		enqueue(d, one, replicas->items[i].port);
	}
	if (!replicas->count)
		pool_give(d->pool, copy);
}

static const struct clone_session *session_of(struct v1model *d, const struct packet *packet)
{
	const struct clone_session *session = clone_session(d->config.state, packet->asked.clone_session);

	if (!session)
		d->counters.unknown_session++;
	return session;
}

static void cut(struct packet *packet, uint32_t length_bytes)
{
	if (length_bytes && length_bytes < packet->length_bytes)
		packet->length_bytes = length_bytes;
}

/* An ingress clone is the packet as it came in, parsed again, on its way to egress. */
static void clone_at_ingress(struct v1model *d, struct packet *packet)
{
	const struct clone_session *session = session_of(d, packet);
	struct packet *copy;

	if (!session)
		return;
	copy = pool_take(d->pool, packet->length_bytes);
	if (!copy || !packet_copy_bytes(copy, packet_bytes(packet), packet->length_bytes)) {
		pool_give(d->pool, copy);
		d->counters.dropped_no_memory++;
		return;
	}
	cut(copy, session->length_bytes);
	set(d, copy, d->p->standard.ingress_port, packet->ingress_port);
	exec_parse(&d->exec, copy);
	clear_metadata(d->p, copy);
	copy->packet_length = packet->length_bytes;
	copy->ingress_port = packet->ingress_port;
	keep_fields(d, copy, packet, packet->asked.clone_list);
	set(d, copy, d->p->standard.instance_type, INSTANCE_INGRESS_CLONE);
	replicate_clone(d, copy, session);
}

/* An egress clone is the packet with its headers as egress left them, at the beginning of egress. */
static void clone_at_egress(struct v1model *d, struct packet *packet)
{
	const struct clone_session *session = session_of(d, packet);
	struct packet *copy = session ? copy_of(d, packet) : NULL;

	if (!copy)
		return;
	clear_metadata(d->p, copy);
	keep_fields(d, copy, packet, packet->asked.clone_list);
	set(d, copy, d->p->standard.instance_type, INSTANCE_EGRESS_CLONE);
	if (session->length_bytes) {
		copy->asked.truncate = true;
		copy->asked.truncate_bytes = session->length_bytes;
	}
	replicate_clone(d, copy, session);
}

/* --- ingress --- */

static void standard_at_ingress(struct v1model *d, struct packet *packet, enum instance_type type)
{
	const struct p4_standard *s = &d->p->standard;

	set(d, packet, s->ingress_port, packet->ingress_port);
	set(d, packet, s->packet_length, packet->packet_length);
	set(d, packet, s->instance_type, type);
	set(d, packet, s->ingress_timestamp, packet->ingress_us & mask_bits(48));
}

/*
 * The packet again from the start: with its bytes (ours are the ones that came
 * in: nothing is written to them before the deparser), and clean metadata but
 * for what a field list keeps.
 */
static void begin_again(struct v1model *d, struct packet *packet, uint32_t list)
{
	const struct p4_field_list *l = field_list(d->p, list);
	uint64_t kept[256];
	uint32_t n = 0;

	for (uint32_t i = 0; l && i < l->item_count; i++)
		for (uint32_t k = 0; k < l->items[i].slots && n < 256; k++)
			kept[n++] = packet->memory[l->items[i].slot + k];
	packet_clear(d->p, packet);
	packet->packet_length = packet->length_bytes;
	n = 0;
	for (uint32_t i = 0; l && i < l->item_count; i++)
		for (uint32_t k = 0; k < l->items[i].slots && n < 256; k++, n++)
			if (!l->items[i].is_constant)
				packet->memory[l->items[i].slot + k] = kept[n];
}

static void after_ingress(struct v1model *d, struct packet *packet)
{
	const struct p4_standard *s = &d->p->standard;
	uint32_t group = (uint32_t)get(packet, s->mcast_grp);
	uint32_t port = (uint32_t)packet->memory[s->egress_spec];

	if (packet->asked.clone)
		clone_at_ingress(d, packet);
	if (packet->asked.digest) {
		d->counters.digests++;
		if (d->config.digest)
			d->config.digest(d->config.context, packet->asked.digest_list, packet->memory);
	}
	if (group) {
		set(d, packet, s->instance_type, INSTANCE_REPLICATED);
		multicast(d, packet, group);
		pool_give(d->pool, packet);
		return;
	}
	if (port == d->exec.drop_port) {
		drop(d, packet, &d->counters.dropped_by_program);
		return;
	}
	set(d, packet, s->instance_type, INSTANCE_NORMAL);
	enqueue(d, packet, port);
}

/* Parser and ingress, again as long as the program resubmits. */
static void ingress(struct v1model *d, struct packet *packet, enum instance_type type)
{
	for (uint32_t round = 0;; round++) {
		standard_at_ingress(d, packet, type);
		exec_parse(&d->exec, packet);
		if (packet->parser_error != d->p->errors.none)
			d->counters.parser_errors++;
		exec_verify_checksums(&d->exec, packet);
		d->counters.checksum_errors += packet->checksum_error;
		set(d, packet, d->p->standard.parser_error, packet->parser_error);
		set(d, packet, d->p->standard.checksum_error, packet->checksum_error);
		d->exec.now_us = packet->ingress_us;
		if (!exec_control(&d->exec, packet, d->p->ingress) || round == V1MODEL_ROUNDS_MOST) {
			drop(d, packet, &d->counters.dropped_runaway);
			return;
		}
		if (packet->asked.assertion_failed) {
			drop(d, packet, &d->counters.dropped_assertion);
			return;
		}
		if (!packet->asked.resubmit)
			break;
		if (packet->asked.clone)
			clone_at_ingress(d, packet);
		if (packet->asked.digest && d->config.digest)
			d->config.digest(d->config.context, packet->asked.digest_list, packet->memory);
		d->counters.digests += packet->asked.digest;
		d->counters.resubmitted++;
		begin_again(d, packet, packet->asked.resubmit_list);
		type = INSTANCE_RESUBMITTED;
	}
	after_ingress(d, packet);
}

void v1model_ingress(struct v1model *d, uint32_t port, const uint8_t *bytes, uint32_t length_bytes,
		     uint64_t received_us)
{
	struct packet *packet;

	d->counters.received++;
	if (length_bytes > PACKET_MOST) {
		d->counters.dropped_too_long++;
		return;
	}
	packet = pool_take(d->pool, length_bytes);
	if (!packet || !packet_copy_bytes(packet, bytes, length_bytes)) {
		pool_give(d->pool, packet);
		d->counters.dropped_no_memory++;
		return;
	}
	packet->ingress_port = port;
	packet->ingress_us = received_us;
	packet->packet_length = length_bytes;
	packet->rounds = 0;
	ingress(d, packet, INSTANCE_NORMAL);
}

/* --- egress --- */

static void recirculate(struct v1model *d, struct packet *packet)
{
	uint32_t list = packet->asked.recirculate_list;

	if (++packet->rounds > V1MODEL_ROUNDS_MOST) {
		drop(d, packet, &d->counters.dropped_runaway);
		return;
	}
	d->counters.recirculated++;
	begin_again(d, packet, list);
	ingress(d, packet, INSTANCE_RECIRCULATED);
}

static void egress(struct v1model *d, struct packet *packet)
{
	const struct p4_standard *s = &d->p->standard;
	struct requests none = { 0 };
	uint64_t now = now_us(d);

	/* a truncation by the clone session or at ingress stays; all else is asked anew */
	none.truncate = packet->asked.truncate;
	none.truncate_bytes = packet->asked.truncate_bytes;
	packet->asked = none;
	set(d, packet, s->egress_timestamp, now & mask_bits(48));
	if (s->enq_timestamp != NOWHERE)
		set(d, packet, s->deq_timedelta, (now - packet->enqueued_us) & mask_bits(32));
	set(d, packet, s->qid, packet->priority);
	set(d, packet, s->egress_port, packet->egress_port);
	packet->memory[s->egress_spec] = (d->exec.drop_port + 1) & mask_bits(9);
	set(d, packet, s->packet_length, packet->packet_length);
	d->exec.now_us = now;
	if (!exec_control(&d->exec, packet, d->p->egress)) {
		drop(d, packet, &d->counters.dropped_runaway);
		return;
	}
	if (packet->asked.assertion_failed) {
		drop(d, packet, &d->counters.dropped_assertion);
		return;
	}
	if (packet->asked.clone)
		clone_at_egress(d, packet);
	if (packet->memory[s->egress_spec] == d->exec.drop_port) {
		drop(d, packet, &d->counters.dropped_by_program);
		return;
	}
	if (!exec_deparse(&d->exec, packet)) {
		drop(d, packet, &d->counters.dropped_too_long);
		return;
	}
	if (packet->asked.recirculate) {
		recirculate(d, packet);
		return;
	}
	d->counters.transmitted++;
	d->config.transmit(d->config.context, packet->egress_port, packet_bytes(packet), packet->length_bytes);
	pool_give(d->pool, packet);
}

uint32_t v1model_egress(struct v1model *d, uint32_t count)
{
	uint32_t done = 0;
	struct packet *packet;

	for (; done < count && (packet = dequeue(d)); done++)
		egress(d, packet);
	return done;
}

/* --- the device --- */

int v1model_create(const struct v1model_config *config, struct v1model **ret_device, struct err *err)
{
	struct v1model *d = calloc(1, sizeof(*d));

	if (!d)
		return err_set(err, ERR_HOST, ENOMEM, "switch: out of memory");
	d->config = *config;
	d->p = config->program;
	if (!d->config.queue_packets)
		d->config.queue_packets = V1MODEL_QUEUE_PACKETS;
	if (!d->config.priorities)
		d->config.priorities = 1;
	if (!d->config.pool_packets)
		d->config.pool_packets = 4096;
	if (d->config.priorities > V1MODEL_PRIORITIES_MOST) {
		free(d);
		return err_set(err, ERR_USAGE, EINVAL, "%u priority queues a port; 1 to %d are possible",
			       config->priorities, V1MODEL_PRIORITIES_MOST);
	}
	exec_init(&d->exec, config->program, config->state, config->seed);
	if (config->drop_port)
		d->exec.drop_port = config->drop_port;
	d->exec.log = config->log;
	d->exec.log_context = config->context;
	d->busy_last = &d->busy;
	for (uint32_t i = 0; i < V1MODEL_PORTS; i++)
		d->ports[i].depth = d->config.queue_packets;
	d->pool = pool_create(config->program, d->config.pool_packets, LARGE_PACKETS);
	if (!d->pool) {
		v1model_destroy(d);
		return err_set(err, ERR_HOST, ENOMEM, "switch: no memory for %u packets", d->config.pool_packets);
	}
	*ret_device = d;
	return 0;
}

void v1model_destroy(struct v1model *d)
{
	if (!d)
		return;
	pool_destroy(d->pool);
	for (uint32_t i = 0; i < V1MODEL_PORTS; i++)
		free(d->ports[i].queues);
	free(d);
}

uint32_t v1model_queued(const struct v1model *d)
{
	return d->queued;
}

uint64_t v1model_next_us(const struct v1model *d)
{
	uint64_t next = UINT64_MAX;

	for (const struct port *port = d->busy; port; port = port->next_busy) {
		if (port->packets_per_s && port->next_us < next)
			next = port->next_us;
		if (d->config.hold_us && held_until(d, port) < next)
			next = held_until(d, port);
	}
	return next;
}

void v1model_set_depth(struct v1model *d, uint32_t port, uint32_t packets)
{
	if (port < V1MODEL_PORTS)
		d->ports[port].depth = packets;
}

void v1model_set_rate(struct v1model *d, uint32_t port, uint64_t packets_per_s)
{
	if (port < V1MODEL_PORTS)
		d->ports[port].packets_per_s = packets_per_s > 1000000 ? 0 : packets_per_s;
}

const struct v1model_counters *v1model_counters(const struct v1model *d)
{
	return &d->counters;
}
