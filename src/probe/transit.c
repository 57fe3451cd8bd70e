/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/transit.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "clock/watch.h"
#include "lab/topology.h"
#include "packet/probe_id.h"
#include "probe/protect.h"
#include "probe/tap.h"
#include "probe/transit_settings.h"
#include "stats/sort.h"

enum {
	LEAD_NS = 2000000,       /* from the start of the sender to its first probe */
	SLEEP_LEAST_NS = 200000, /* probes closer than this are waited for without sleeping */
	OFTEN_NS = 5000000,      /* probes closer than this are read while the run lasts */
	OFTEN_MS = 5,
	LINGER_NS = 20000000, /* after the last arrival: duplicates */
	PRIME_STEP_NS = 20000000,
	PRIME_LIMIT_NS = 1500000000,
	SPARE_EVENTS = 1024,
	STAMPS_BYTES = 12,
	SEQUENCE_BYTES = 4,
};

enum { SW_IN, SW_OUT, RX, TAPS };

struct collector {
	struct tap tap;
	struct transit_events events;
	struct id_reader reader;
	uint32_t forget_every, forget_in;
	uint64_t taken;              /* frames, priming's too */
	uint64_t warm_up, unstamped; /* of priming: seen, and those of them without a stamp */
};

struct state {
	const struct transit_config *config;
	struct collector at[TAPS];
	uint8_t frame[FRAME_MAX_BYTES];
	uint32_t sequence_at, id_at; /* in it, behind the headers and two stamps */
	uint16_t tag;
	int fd; /* sends at host a */
	int done_fd;

	atomic_bool stop; /* set by who collects: the switch has ended */
	struct transit *rows;
	int64_t start_ns;      /* CLOCK_MONOTONIC of probe 0 */
	int64_t start_real_ns; /* CLOCK_REALTIME of the same moment */
	struct protection protection;
	/* The sender's, to be read when it has ended: */
	uint32_t sent;
	enum protect_how got;
	int error; /* errno of a send that failed; 0 */
	int64_t last_tx_ns;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void sleep_until(int64_t at_ns)
{
	const struct timespec at = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static bool interrupted(const struct state *s)
{
	return s->config->interrupted && atomic_load_explicit(s->config->interrupted, memory_order_relaxed);
}

static bool stopped(const struct state *s)
{
	return atomic_load_explicit(&s->stop, memory_order_relaxed);
}

void transit_config_from(struct transit_config *config, const struct settings *probes)
{
	config->count = (uint32_t)settings_number(probes, "count");
	config->interval_ns = settings_number(probes, "interval");
	config->deadline_ns = settings_number(probes, "deadline");
	config->frame_bytes = (uint32_t)settings_number(probes, "size");
	config->drift_ppm = (double)settings_number(probes, "drift");
	config->carrier_bps = settings_number(probes, "carrier");
	config->carrier_frame_bytes = (uint32_t)settings_number(probes, "carrier_size");
}

/* --- what the taps see --- */

static void take(void *context, const uint8_t *bytes, uint32_t length_bytes, int64_t stamp_ns)
{
	struct collector *c = context;
	struct transit_event *e;
	int32_t at;

	if (c->forget_every && --c->forget_in == 0) {
		c->forget_in = c->forget_every;
		return;
	}
	if (c->events.count == c->events.capacity) {
		c->events.overflow++;
		return;
	}
	c->taken++;
	e = &c->events.items[c->events.count++];
	*e = (struct transit_event){ .stamp_ns = stamp_ns };
	e->status = (uint8_t)id_read(&c->reader, bytes, length_bytes, &e->id);
	at = instrument_find(bytes, length_bytes);
	if (at >= 0) {
		struct instrument_header h;

		instrument_read(bytes + at, &h);
		e->instrument = 1;
		e->p4_in_us = h.ingress_us;
		e->p4_out_us = h.egress_us;
	}
	if (e->status == ID_WARM_UP) {
		c->warm_up++;
		c->unstamped += stamp_ns == 0;
	}
}

static int drain(struct state *s, struct err *err)
{
	for (int t = 0; t < TAPS; t++) {
		int rc = tap_drain(&s->at[t].tap, take, &s->at[t], err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- the sender --- */

static int send_probe(struct state *s, uint32_t sequence, uint16_t tag)
{
	store_be32(s->frame + s->sequence_at, sequence);
	id_native_write(s->frame + s->id_at, sequence, tag);
	return send(s->fd, s->frame, s->config->frame_bytes, 0) < 0 ? -errno : 0;
}

static void wait_for(const struct state *s, int64_t due_ns)
{
	if (s->config->interval_ns >= SLEEP_LEAST_NS) {
		sleep_until(due_ns);
		return;
	}
	while (clock_ns(CLOCK_MONOTONIC) < due_ns)
		__builtin_ia32_pause();
}

static void *send_all(void *context)
{
	struct state *s = context;
	const struct transit_config *c = s->config;
	bool sleeps = c->interval_ns >= SLEEP_LEAST_NS;
	struct protection p = s->protection;

	prctl(PR_SET_TIMERSLACK, 1UL);
	/* One that never sleeps must not keep the switch from a CPU that they share. */
	if (!sleeps && p.wanted == PROTECT_FIFO)
		p.wanted = PROTECT_NICE;
	s->got = protect_thread(&p);
	for (uint32_t i = 0; i < c->count && !interrupted(s) && !stopped(s); i++) {
		struct transit *row = &s->rows[i];
		int64_t due_ns = s->start_ns + i * c->interval_ns;
		int rc;

		wait_for(s, due_ns);
		row->seq = row->packet = i;
		row->sched_ns = i * c->interval_ns;
		row->tx_ns = clock_ns(CLOCK_REALTIME) - s->start_real_ns;
		rc = send_probe(s, i, s->tag);
		if (rc == -ENOBUFS || rc == -EAGAIN)
			rc = 0; /* on its way it was lost: it was sent */
		if (rc < 0) {
			s->error = -rc;
			break;
		}
		s->sent = i + 1;
	}
	s->last_tx_ns = clock_ns(CLOCK_MONOTONIC);
	eventfd_write(s->done_fd, 1);
	return NULL;
}

/* --- before --- */

static int open_sender(struct state *s, struct err *err)
{
	const struct target_line *line = &s->config->line;
	const struct link_end *at = &line->line->a.port;
	const struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_ifindex = (int)at->index };
	struct frame_template t;
	int rc;

	frame_template_default(&t, line->ether_probes ? FRAME_KIND_ETHER : FRAME_KIND_IPV4, s->config->frame_bytes);
	s->sequence_at = frame_template_headers(&t) + STAMPS_BYTES;
	s->id_at = s->sequence_at + SEQUENCE_BYTES;
	memcpy(t.destination, line->destination_mac, 6);
	memcpy(t.source, at->mac, 6);
	t.ipv4_source = line->source_ipv4;
	t.ipv4_destination = line->destination_ipv4;
	rc = frame_build(&t, s->frame, err);
	if (rc < 0)
		return rc;
	s->fd = netns_socket(at->netns, AF_PACKET, SOCK_RAW, 0, err);
	if (s->fd < 0)
		return s->fd;
	if (bind(s->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, ERR_HOST, errno, "cannot send at %s: %s", at->name, strerror(errno));
	s->done_fd = eventfd(0, EFD_CLOEXEC);
	return s->done_fd < 0 ? err_set(err, ERR_HOST, errno, "cannot make an event: %s", strerror(errno)) : 0;
}

static int open_taps(struct state *s, struct err *err)
{
	const struct lab_line *line = s->config->line.line;
	const struct lab_switch *last = &line->switches[line->switch_count - 1];
	const struct {
		const struct link_end *end;
		enum tap_side side;
	} places[TAPS] = {
		[SW_IN] = { &line->switches[0].port[0], TAP_IN },
		[SW_OUT] = { &last->port[1], TAP_OUT },
		[RX] = { &line->b.port, TAP_IN },
	};

	for (int t = 0; t < TAPS; t++) {
		struct collector *c = &s->at[t];
		int rc = tap_open(places[t].end, places[t].side, TAP_PROBES, &c->tap, err);

		if (rc < 0)
			return rc;
		c->events.capacity = s->config->count * 2 + SPARE_EVENTS;
		c->events.items = malloc(c->events.capacity * sizeof(*c->events.items));
		if (!c->events.items)
			return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes",
				       s->config->count);
		/* touched now, not while the run lasts */
		memset(c->events.items, 0, c->events.capacity * sizeof(*c->events.items));
		id_reader_init(&c->reader, ID_NATIVE, s->tag);
		id_reader_hint(&c->reader, s->id_at);
	}
	s->at[RX].forget_every = s->at[RX].forget_in = s->config->forget_every;
	return 0;
}

static void forget_events(struct state *s)
{
	for (int t = 0; t < TAPS; t++)
		s->at[t].events.count = 0;
}

static bool primed(const struct state *s)
{
	for (int t = 0; t < TAPS; t++)
		if (s->at[t].warm_up == s->at[t].unstamped)
			return false;
	return true;
}

/*
 * The kernel begins to stamp some time after it was asked to, and a switch forwards some time after it was
 * programmed: unmeasured probes go first, until one has been seen at every place with a stamp.
 */
static int prime(struct state *s, struct err *err)
{
	int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + PRIME_LIMIT_NS;
	uint32_t sent = 0;
	int rc = 0;

	while (rc == 0 && !primed(s)) {
		if (interrupted(s))
			return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
		if (clock_ns(CLOCK_MONOTONIC) > end_ns)
			return err_set(err, ERR_RESULT, ETIMEDOUT,
				       "no probe came through: of %u sent, %" PRIu64 " were seen at %s, %" PRIu64
				       " at %s, %" PRIu64 " at %s%s",
				       sent, s->at[SW_IN].warm_up, s->at[SW_IN].tap.where, s->at[SW_OUT].warm_up,
				       s->at[SW_OUT].tap.where, s->at[RX].warm_up, s->at[RX].tap.where,
				       s->at[RX].warm_up ? ", without stamps" : "");
		rc = send_probe(s, sent++, (uint16_t)(s->tag | ID_TAG_WARM_UP));
		if (rc < 0)
			return err_set(err, ERR_HOST, -rc, "cannot send at eth0 of host a: %s", strerror(-rc));
		sleep_until(clock_ns(CLOCK_MONOTONIC) + PRIME_STEP_NS);
		rc = drain(s, err);
		forget_events(s);
	}
	return rc;
}

/* --- the run --- */

static int start_sender(struct state *s, pthread_t *ret, struct err *err)
{
	pthread_attr_t attributes;
	cpu_set_t cpus;
	int rc;

	pthread_attr_init(&attributes);
	if (s->config->cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(s->config->cpu, &cpus);
		pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	}
	rc = pthread_create(ret, &attributes, send_all, s);
	pthread_attr_destroy(&attributes);
	return rc ? err_set(err, ERR_HOST, rc, "cannot start the sender: %s", strerror(rc)) : 0;
}

/* Until the sender is done, or the switch has ended. Probes that come often are read meanwhile. */
static int collect(struct state *s, struct err *err)
{
	struct pollfd fds[2] = { { .fd = s->done_fd, .events = POLLIN },
				 { .fd = s->config->line.ended_fd, .events = POLLIN } };
	bool often = s->config->interval_ns < OFTEN_NS;
	int rc = 0;

	while (rc == 0) {
		int ready = poll(fds, 2, often ? OFTEN_MS : -1);

		if (often)
			rc = drain(s, err);
		if (ready > 0 && fds[0].revents)
			break;
		if (ready > 0 && fds[1].revents)
			return -ECHILD;
	}
	return rc;
}

/* What is still under way may arrive until the deadline; then a little longer for duplicates. */
static int linger(struct state *s, struct err *err)
{
	int64_t end_ns = s->last_tx_ns + s->config->deadline_ns;
	int rc = drain(s, err);

	while (rc == 0 && s->at[RX].events.count < s->sent && clock_ns(CLOCK_MONOTONIC) < end_ns && !interrupted(s)) {
		sleep_until(clock_ns(CLOCK_MONOTONIC) + OFTEN_MS * 1000000);
		rc = drain(s, err);
	}
	if (rc == 0) {
		sleep_until(clock_ns(CLOCK_MONOTONIC) + LINGER_NS);
		rc = drain(s, err);
	}
	return rc;
}

static int measure(struct state *s, struct step_watch *steps, struct err *err)
{
	pthread_t sender;
	int rc;

	protect_begin(&s->protection, s->config->unprotected ? PROTECT_NOTHING : PROTECT_FIFO);
	step_watch_start(steps);
	s->start_ns = clock_ns(CLOCK_MONOTONIC) + LEAD_NS + s->config->interval_ns;
	s->start_real_ns = clock_ns(CLOCK_REALTIME) + (s->start_ns - clock_ns(CLOCK_MONOTONIC));
	rc = start_sender(s, &sender, err);
	if (rc == 0) {
		rc = collect(s, err);
		/* the last thing it waits for is the probe that is due */
		atomic_store_explicit(&s->stop, rc < 0, memory_order_relaxed);
		pthread_join(sender, NULL);
		/* A switch that has ended is the target's to tell of, and its end may be what stopped the sender. */
		if (rc == -ECHILD)
			rc = 0;
		else if (rc == 0 && s->error)
			rc = err_set(err, ERR_HOST, s->error, "cannot send at eth0 of host a: %s", strerror(s->error));
		if (rc == 0 && !stopped(s))
			rc = linger(s, err);
	}
	step_watch_check(steps);
	protect_end(&s->protection);
	if (interrupted(s))
		return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
	return rc;
}

/* --- afterwards --- */

static void lateness(const struct state *s, int64_t *values, struct run_record *ret)
{
	const struct transit *last = &s->rows[s->sent - 1];

	for (uint32_t i = 0; i < s->sent; i++)
		values[i] = s->rows[i].tx_ns - s->rows[i].sched_ns;
	sort_i64(values, s->sent, values + s->sent);
	ret->lateness_p50_ns = values[(s->sent - 1) / 2];
	ret->lateness_p99_ns = values[(uint64_t)(s->sent - 1) * 99 / 100];
	ret->lateness_max_ns = values[s->sent - 1];
	ret->offered_pps = s->sent > 1 && last->tx_ns > s->rows[0].tx_ns
				   ? (s->sent - 1) * 1e9 / (double)(last->tx_ns - s->rows[0].tx_ns)
				   : NAN;
}

static void judge(const struct state *s, uint64_t dropped, struct run_record *ret)
{
	uint64_t overflow = s->at[SW_IN].events.overflow + s->at[SW_OUT].events.overflow + s->at[RX].events.overflow;

	if (dropped)
		snprintf(ret->invalid, sizeof(ret->invalid), "the receiver had no room for %" PRIu64 " frames",
			 dropped);
	else if (overflow)
		snprintf(ret->invalid, sizeof(ret->invalid),
			 "%" PRIu64 " frames more than twice the probes: something multiplies them", overflow);
	else if (!ledger_balances(&ret->ledger))
		snprintf(ret->invalid, sizeof(ret->invalid),
			 "the ledger does not balance: arrived %" PRIu64 ", classified %" PRIu64, ret->ledger.arrived,
			 ret->ledger.classified);
}

static void count_missing(const struct state *s, struct transit_conditions *c)
{
	for (uint32_t i = 0; i < s->sent; i++) {
		if (s->rows[i].fate != FATE_MATCHED)
			continue;
		c->sw_in_missing += s->rows[i].sw_in_ns == TRANSIT_NONE;
		c->sw_out_missing += s->rows[i].sw_out_ns == TRANSIT_NONE;
	}
}

static int conclude(struct state *s, const struct step_watch *steps, struct run_record *ret,
		    struct transit_conditions *c, struct err *err)
{
	const struct transit_config *config = s->config;
	uint64_t arrived, dropped;
	int64_t *scratch;
	char words[96];
	int rc = tap_counts(&s->at[RX].tap, &arrived, &dropped, err);

	if (rc < 0)
		return rc;
	if (s->sent == 0)
		return err_set(err, ERR_HOST, EIO, "no probe was sent");
	scratch = malloc(2 * (size_t)s->sent * sizeof(*scratch));
	if (!scratch)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes", s->sent);
	*ret = (struct run_record){
		.run = config->run,
		.started_utc_ns = s->start_real_ns,
		.tsc_hz = NAN,
		.tsc_hz_u_ppm = NAN,
		.tsc_tick_ns = NAN,
		.intended_pps = 1e9 / (double)config->interval_ns,
		.elapsed_ns = clock_ns(CLOCK_MONOTONIC) - s->start_ns,
		.core_send = config->cpu,
		.core_receive = -1,
		.pingpong_p50_ns = NAN,
		.clock_steps = steps->steps,
	};
	lateness(s, scratch, ret);
	free(scratch);
	transit_match(s->rows, s->sent, s->start_real_ns, config->deadline_ns, &s->at[SW_IN].events,
		      &s->at[SW_OUT].events, &s->at[RX].events, &ret->ledger);
	/* both since the tap was opened: no frame can fall between two counts */
	ret->ledger.arrived = arrived;
	ret->ledger.classified = s->at[RX].taken;
	if (transit_align(s->rows, s->sent, config->drift_ppm, &ret->ledger, c, NULL) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes", s->sent);
	count_missing(s, c);
	protect_words(&s->protection, s->got, config->cpu >= 0, words, sizeof(words));
	snprintf(ret->protection, sizeof(ret->protection), "%s; %s between probes", words,
		 config->interval_ns >= SLEEP_LEAST_NS ? "sleeps" : "spins");
	judge(s, dropped, ret);
	return 0;
}

static int carrier_window(const struct transit_config *config, const struct carrier_counts *from,
			  struct transit_conditions *c, struct err *err)
{
	struct carrier_counts to;
	int rc;

	if (!config->carrier)
		return 0;
	rc = carrier_counts(config->carrier, &to, err);
	if (rc < 0)
		return rc;
	c->carrier_sent = to.sent - from->sent;
	c->carrier_received = to.received - from->received;
	c->carrier_offered_bps = carrier_bps(c->carrier_sent, config->carrier_frame_bytes, to.at_ns - from->at_ns);
	c->carrier_received_bps = carrier_bps(c->carrier_received, config->carrier_frame_bytes, to.at_ns - from->at_ns);
	return 0;
}

static void release(struct state *s)
{
	for (int t = 0; t < TAPS; t++) {
		tap_close(&s->at[t].tap);
		free(s->at[t].events.items);
	}
	if (s->fd >= 0)
		close(s->fd);
	if (s->done_fd >= 0)
		close(s->done_fd);
	free(s);
}

int transit_run(const struct transit_config *config, struct transit *ret_rows, struct run_record *ret,
		struct transit_conditions *ret_conditions, struct err *err)
{
	struct transit_conditions c = {
		.frame_bytes = config->frame_bytes,
		.interval_ns = config->interval_ns,
		.drift_ppm = config->drift_ppm,
		.carrier_asked_bps = config->carrier_bps,
		.carrier_frame_bytes = config->carrier_bps ? config->carrier_frame_bytes : 0,
	};
	struct carrier_counts before = { 0 };
	struct step_watch steps = { 0 };
	struct state *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	s->config = config;
	s->rows = ret_rows;
	s->fd = s->done_fd = -1;
	/* told apart from probes of an earlier run that are still about */
	s->tag = (uint16_t)(1 + (clock_ns(CLOCK_MONOTONIC) / 1000 + config->run) % ID_TAG_MASK);
	for (int t = 0; t < TAPS; t++)
		s->at[t].tap = TAP_NONE;
	snprintf(c.regime, sizeof(c.regime), "%s", transit_regime(config->carrier_bps, config->interval_ns));
	rc = open_sender(s, err);
	if (rc == 0)
		rc = open_taps(s, err);
	if (rc == 0)
		rc = prime(s, err);
	if (rc == 0 && config->begin)
		rc = config->begin(config->begin_context, err);
	if (rc == 0 && config->carrier)
		rc = carrier_counts(config->carrier, &before, err);
	if (rc == 0)
		rc = measure(s, &steps, err);
	if (rc == 0)
		rc = carrier_window(config, &before, &c, err);
	if (rc == 0)
		rc = conclude(s, &steps, ret, &c, err);
	if (rc == 0)
		*ret_conditions = c;
	release(s);
	return rc;
}
