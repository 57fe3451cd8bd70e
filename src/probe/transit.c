/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/transit.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "clock/watch.h"
#include "lab/topology.h"
#include "packet/int_md.h"
#include "probe/transit_private.h"
#include "probe/transit_settings.h"
#include "stats/sort.h"

enum {
	LEAD_NS = 2000000,    /* from the start of the loop to its first probe */
	LINGER_NS = 20000000, /* after the last arrival: duplicates */
	LOOK_NS = 5000000,
	ASK_MS = 1000, /* a signal may fall between looking at the flag and waiting */
	PRIME_STEP_NS = 20000000,
	PRIME_LIMIT_NS = 1500000000,
	SPARE_EVENTS = 1024,
	STAMPS_BYTES = 12,
	SEQUENCE_BYTES = 4,
};

static void sleep_until(int64_t at_ns)
{
	const struct timespec at = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static bool interrupted(const struct transit_state *s)
{
	return s->config->interrupted && atomic_load_explicit(s->config->interrupted, memory_order_relaxed);
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
	config->in_flight = (uint32_t)settings_number(probes, "in_flight");
}

/* --- before --- */

static int open_sender(struct transit_state *s, struct err *err)
{
	const struct target_line *line = &s->config->line;
	const struct link_end *at = &line->line->a.port;
	const struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_ifindex = (int)at->index };
	struct frame_template t;
	int rc;

	frame_template_default(&t,
			       line->int_md         ? FRAME_KIND_UDP4
			       : line->ether_probes ? FRAME_KIND_ETHER
						    : FRAME_KIND_IPV4,
			       s->config->frame_bytes);
	s->sequence_at = frame_template_headers(&t) + STAMPS_BYTES;
	s->id_at = s->sequence_at + SEQUENCE_BYTES;
	if (line->int_md) {
		t.port_destination = INT_MD_PORT_WATCHED;
		s->id_at = frame_template_headers(&t);
		s->sequence_at = s->id_at + ID_NATIVE_BYTES; /* nobody reads it */
	}
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
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	return s->done_fd < 0 || s->stop_fd < 0 || s->timer_fd < 0
		       ? err_set(err, ERR_HOST, errno, "cannot make an event: %s", strerror(errno))
		       : 0;
}

static int open_events(struct transit_state *s, struct collector *c, struct err *err)
{
	c->events.capacity = s->config->count * 2 + SPARE_EVENTS;
	c->events.items = malloc(c->events.capacity * sizeof(*c->events.items));
	if (!c->events.items)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes",
			       s->config->count);
	/* touched now, not while the run lasts */
	memset(c->events.items, 0, c->events.capacity * sizeof(*c->events.items));
	id_reader_init(&c->reader, ID_NATIVE, s->tag);
	id_reader_hint(&c->reader, s->id_at);
	return 0;
}

static enum tap_what line_what(const struct transit_config *c)
{
	return c->line.int_md ? TAP_WATCHED : TAP_PROBES;
}

static int open_taps(struct transit_state *s, struct err *err)
{
	const struct lab_line *line = s->config->line.line;
	const struct lab_switch *last = &line->switches[line->switch_count - 1];
	const struct {
		const struct link_end *end;
		enum tap_side side;
	} places[PLACES] = {
		[AT_TX] = { &line->a.port, TAP_OUT },
		[AT_SW_IN] = { &line->switches[0].port[0], TAP_IN },
		[AT_SW_OUT] = { &last->port[1], TAP_OUT },
		[AT_RX] = { &line->b.port, TAP_IN },
	};
	int rc = 0;

	for (int p = 0; rc == 0 && p < PLACES; p++) {
		struct collector *c = &s->at[p];

		rc = open_events(s, c, err);
		if (rc == 0)
			rc = tap_open(places[p].end, places[p].side, line_what(s->config), c->events.capacity, &c->tap,
				      err);
	}
	s->at[AT_RX].forget_every = s->at[AT_RX].forget_in = s->config->forget_every;
	return rc;
}

static void forget_events(struct transit_state *s)
{
	for (int p = 0; p < PLACES; p++)
		s->at[p].events.count = 0;
}

static bool primed(const struct transit_state *s)
{
	for (int p = 0; p < PLACES; p++)
		if (s->at[p].warm_up == s->at[p].unstamped)
			return false;
	return true;
}

/*
 * The kernel begins to stamp some time after it was asked to, and a switch forwards some time after it was
 * programmed: unmeasured probes go first, until one has been seen at every place with a stamp.
 */
static int prime(struct transit_state *s, struct err *err)
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
				       sent, s->at[AT_SW_IN].warm_up, s->at[AT_SW_IN].tap.where,
				       s->at[AT_SW_OUT].warm_up, s->at[AT_SW_OUT].tap.where, s->at[AT_RX].warm_up,
				       s->at[AT_RX].tap.where, s->at[AT_RX].warm_up ? ", without stamps" : "");
		rc = transit_send(s, sent++, (uint16_t)(s->tag | ID_TAG_WARM_UP));
		if (rc < 0)
			return err_set(err, ERR_HOST, -rc, "cannot send at eth0 of host a: %s", strerror(-rc));
		sleep_until(clock_ns(CLOCK_MONOTONIC) + PRIME_STEP_NS);
		transit_collect(s);
		forget_events(s);
	}
	return rc;
}

/* --- the run --- */

/* It takes no signals: they are to interrupt who waits for it. */
static int start_loop(struct transit_state *s, pthread_t *ret, struct err *err)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	cpu_set_t cpus;
	int rc;

	pthread_attr_init(&attributes);
	if (s->config->cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(s->config->cpu, &cpus);
		pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(ret, &attributes, transit_loop, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return rc ? err_set(err, ERR_HOST, rc, "cannot start the sender: %s", strerror(rc)) : 0;
}

/*
 * Until the loop is done, the switch has ended (-ECHILD), an interface has gone, or there is an interrupt. Asks the taps
 * for nothing but errors, so no frame wakes this thread.
 */
static int watch(struct transit_state *s, struct err *err)
{
	struct pollfd fds[2 + PLACES] = { { .fd = s->done_fd, .events = POLLIN },
					  { .fd = s->config->line.ended_fd, .events = POLLIN } };
	int rc = 0;

	for (int p = 0; p < PLACES; p++)
		fds[2 + p] = (struct pollfd){ .fd = s->at[p].tap.fd };
	while (rc == 0 && !interrupted(s)) {
		if (poll(fds, 2 + PLACES, ASK_MS) <= 0)
			continue;
		if (fds[0].revents)
			return 0;
		if (fds[1].revents)
			return -ECHILD;
		for (int p = 0; rc == 0 && p < PLACES; p++)
			rc = fds[2 + p].revents ? tap_check(&s->at[p].tap, err) : 0;
	}
	return rc;
}

/* What is still under way may arrive until the deadline; then a little longer for duplicates. */
static void linger(struct transit_state *s)
{
	int64_t end_ns = s->last_tx_ns + s->config->deadline_ns;

	transit_collect(s);
	while (s->at[AT_RX].events.count < s->sent && clock_ns(CLOCK_MONOTONIC) < end_ns && !interrupted(s)) {
		sleep_until(clock_ns(CLOCK_MONOTONIC) + LOOK_NS);
		transit_collect(s);
	}
	sleep_until(clock_ns(CLOCK_MONOTONIC) + LINGER_NS);
	transit_collect(s);
}

static int say_silent(const struct transit_state *s, struct err *err)
{
	char text[160] = "";
	size_t n = 0;

	for (int p = AT_SW_IN; p < PLACES; p++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s probe %" PRIu32 " at %s", n ? "," : "",
				      s->at[p].newest, s->at[p].tap.where);
	return err_set(err, ERR_RESULT, ETIMEDOUT,
		       "nothing has come through for %.1f s; of %" PRIu32 " probes sent, the last to be seen was%s",
		       (double)s->silent_ns / 1e9, s->sent, text);
}

static int measure(struct transit_state *s, struct step_watch *steps, struct err *err)
{
	pthread_t loop;
	int rc;

	s->spins = transit_spins(s->config->interval_ns);
	/* One that never sleeps must not keep others from its CPU for ever. */
	protect_begin(&s->protection, s->config->unprotected ? PROTECT_NOTHING
				      : s->spins             ? PROTECT_NICE
							     : PROTECT_FIFO);
	s->protection.sleeps = !s->spins;
	step_watch_start(steps);
	s->start_ns = clock_ns(CLOCK_MONOTONIC) + LEAD_NS + s->config->interval_ns;
	s->start_real_ns = clock_ns(CLOCK_REALTIME) + (s->start_ns - clock_ns(CLOCK_MONOTONIC));
	rc = start_loop(s, &loop, err);
	if (rc == 0) {
		rc = watch(s, err);
		if (rc < 0 || interrupted(s))
			transit_loop_stop(s);
		pthread_join(loop, NULL);
		/* A switch that has ended is the target's to tell of, and its end may be what stopped the loop. */
		if (rc == 0 && s->error)
			rc = err_set(err, ERR_HOST, s->error, "cannot send at eth0 of host a: %s", strerror(s->error));
		if (rc == 0 && s->silent)
			rc = say_silent(s, err);
		if (rc == 0)
			linger(s);
		else if (rc == -ECHILD)
			rc = 0;
	}
	step_watch_check(steps);
	protect_end(&s->protection);
	if (interrupted(s))
		return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
	return rc;
}

/* --- afterwards --- */

static void lateness(const struct transit_state *s, int64_t *values, struct run_record *ret)
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

static void judge(const struct transit_state *s, uint64_t dropped, struct run_record *ret)
{
	uint64_t overflow = 0;

	for (int p = 0; p < PLACES; p++)
		overflow += s->at[p].events.overflow;
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

static void count_missing(const struct transit_state *s, struct transit_conditions *c)
{
	for (uint32_t i = 0; i < s->sent; i++) {
		if (s->rows[i].fate != FATE_MATCHED)
			continue;
		c->sw_in_missing += s->rows[i].sw_in_ns == TRANSIT_NONE;
		c->sw_out_missing += s->rows[i].sw_out_ns == TRANSIT_NONE;
	}
}

static int conclude(struct transit_state *s, const struct step_watch *steps, struct run_record *ret,
		    struct transit_conditions *c, struct err *err)
{
	const struct transit_config *config = s->config;
	uint64_t arrived, dropped;
	int64_t *scratch;
	char words[96];
	int rc = tap_counts(&s->at[AT_RX].tap, &arrived, &dropped, err);

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
	transit_match(s->rows, s->sent, s->start_real_ns, config->deadline_ns,
		      &(struct transit_seen){ .tx = &s->at[AT_TX].events,
					      .sw_in = &s->at[AT_SW_IN].events,
					      .sw_out = &s->at[AT_SW_OUT].events,
					      .rx = &s->at[AT_RX].events,
					      .bare = config->bare },
		      &ret->ledger);
	lateness(s, scratch, ret);
	free(scratch);
	/* both since the tap was opened: no frame can fall between two counts */
	ret->ledger.arrived = arrived;
	ret->ledger.classified = s->at[AT_RX].taken;
	if (transit_align(s->rows, s->sent, config->drift_ppm, &ret->ledger, c, NULL) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes", s->sent);
	count_missing(s, c);
	protect_words(&s->protection, s->got, config->cpu >= 0, words, sizeof(words));
	snprintf(ret->protection, sizeof(ret->protection), "%s; %s between probes", words,
		 s->spins ? "spins" : "sleeps");
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

static void release(struct transit_state *s)
{
	for (int p = 0; p < PLACES; p++) {
		tap_close(&s->at[p].tap);
		free(s->at[p].events.items);
	}
	if (s->fd >= 0)
		close(s->fd);
	for (size_t i = 0; i < 3; i++) {
		int fd = (const int[]){ s->done_fd, s->stop_fd, s->timer_fd }[i];

		if (fd >= 0)
			close(fd);
	}
	free(s);
}

uint16_t transit_tag(uint32_t run)
{
	return (uint16_t)(1 + (clock_ns(CLOCK_MONOTONIC) / 1000 + run) % ID_TAG_MASK);
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
	struct transit_state *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	s->config = config;
	s->rows = ret_rows;
	s->fd = s->done_fd = s->stop_fd = s->timer_fd = -1;
	/* told apart from probes of an earlier run that are still about */
	s->tag = config->tag ? config->tag : transit_tag(config->run);
	for (int p = 0; p < PLACES; p++)
		s->at[p].tap = TAP_NONE;
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
