/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/differential.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock/watch.h"
#include "probe/differential_settings.h"
#include "probe/far_run.h"
#include "probe/fates.h"
#include "probe/loop.h"

#define LINGER_NS      200e3     /* after the last first copy: for duplicates */
#define BLOCK_NS       100e6     /* of one look at the placement of the cores */
#define LEAD_NS        200e3     /* from the loops' start to the first frame */
#define STALL_NS       100e3     /* longer than a timer tick takes */
#define RATE_MOVED_PPM 100.0     /* more than any calibration of a sound counter is off */
#define RATE_SPAN_NS   500000000 /* a run at least so long measures the rate itself */
enum { DRAIN_MOST = 1 << 20 };

/* Everything of a run in progress. */
struct run_state {
	const struct differential_config *config;
	struct loops loops;
	struct target_ports ports;
	struct cores cores;
	struct protection protection;
	enum protect_how got;
	struct stall_watch stalls;
	struct step_watch steps;
	struct tsc_mark from, to;
	struct io_counters before[PORTS], after[PORTS], in_before, in_after;
	int64_t started_utc_ns;
	uint16_t tag;
	struct far_run far; /* far.link NULL: this machine sends */
};

void differential_config_init(struct differential_config *config)
{
	*config = (struct differential_config){
		.train_gap_ns = 20000,
		.deadline_ns = 100000000,
		.gap_limit_ns = 400,
		.in_flight = 256,
	};
}

void differential_config_from(struct differential_config *config, const struct settings *probes)
{
	differential_config_init(config);
	config->warm_train = (uint32_t)settings_number(probes, "warm_train");
	config->train_gap_ns = settings_number(probes, "train_gap");
	config->deadline_ns = settings_number(probes, "deadline");
	config->gap_limit_ns = settings_number(probes, "gap_limit");
	config->in_flight = (uint32_t)settings_number(probes, "in_flight");
	config->cores = (uint32_t)settings_number(probes, "cores"); /* CORES_AUTO is 0 */
}

uint32_t differential_frames(const struct stream *stream, uint32_t warm_train)
{
	return stream->count * (warm_train + 1);
}

/* What an earlier run left in a port is none of this one's. */
static void drain(struct io_port *port)
{
	struct io_frame frames[32];
	unsigned n, total = 0;

	while ((n = io_receive(port, frames, 32)) > 0 && total < DRAIN_MOST) {
		io_release(port, frames, n);
		total += n;
	}
}

static void counters_read(const struct run_state *s, struct io_counters *ret_ports, struct io_counters *ret_in)
{
	for (int p = 0; p < PORTS; p++)
		s->loops.ports[p]->ops->counters(s->loops.ports[p], &ret_ports[p]);
	if (s->ports.in)
		s->ports.in->ops->counters(s->ports.in, ret_in);
}

/* Told apart from other runs of this and other processes; only frames of this run carry it. */
static uint16_t tag_make(uint32_t run)
{
	uint64_t x = (tsc_now() + ((uint64_t)run << 40)) * UINT64_C(0x9E3779B97F4A7C15);
	uint16_t tag = (uint16_t)(x >> 49);

	return tag ? tag : 1;
}

static int state_init(struct run_state *s, const struct differential_config *config, struct err *err)
{
	const struct tsc *tsc = config->tsc;
	struct loops *l = &s->loops;
	int r;

	s->config = config;
	s->tag = config->tag ? config->tag & ID_TAG_MASK : tag_make(config->run);
	config->target->ops->ports(config->target, &s->ports);
	l->target = config->target;
	l->poll = config->target->ops->poll;
	l->ports[PATH] = s->ports.path;
	l->ports[BYPASS] = s->ports.bypass;
	l->interrupted = config->interrupted;
	l->without = s->ports.far ? ROLE_SEND : 0;
	l->deadline_ticks = (uint64_t)tsc_from_ns(tsc, (double)config->deadline_ns);
	l->linger_ticks = (uint64_t)tsc_from_ns(tsc, LINGER_NS);
	l->block_ticks = (uint64_t)tsc_from_ns(tsc, BLOCK_NS);
	l->lead_ticks = (uint64_t)tsc_from_ns(tsc, LEAD_NS);
	l->stall_ticks = (uint64_t)tsc_from_ns(tsc, STALL_NS);
	l->us_ticks = (uint64_t)tsc_from_ns(tsc, 1000);
	for (int p = 0; p < PORTS; p++) {
		r = receiver_init(&l->receivers[p], config->stream, s->tag, err);
		if (r < 0)
			return r;
		r = config->second ? receiver_keep_stamps(&l->receivers[p], err) : 0;
		if (r < 0)
			return r;
		l->receivers[p].forget_every = l->receivers[p].forget_in = config->faults.forget_every;
	}
	if (config->reflect) {
		static const char marks[PORTS] = { [PATH] = REFLECTED_PATH, [BYPASS] = REFLECTED_BYPASS };

		l->reflects = true;
		for (int p = 0; p < PORTS; p++) {
			reflector_init(&l->reflectors[p], l->ports[p], config->reflect, config->stream->format,
				       marks[p]);
			l->reflectors[p].hint = config->stream->hint_count ? config->stream->hints[0] : 0;
		}
	}
	r = sender_init(&l->sender,
			&(struct sender_setup){
				.port = s->ports.in,
				.stream = config->stream,
				.receivers = { &l->receivers[PATH], &l->receivers[BYPASS] },
				.tsc = tsc,
				.tag = s->tag,
				.train = config->warm_train,
				.train_gap_ns = config->train_gap_ns,
				.deadline_ns = config->deadline_ns,
				.in_flight = config->in_flight,
			},
			err);
	if (r < 0)
		return r;
	s->far = (struct far_run){
		.link = s->ports.far,
		.loops = l,
		.stream = config->stream,
		.tsc = tsc,
		.tag = s->tag,
		.train = config->warm_train,
		.train_gap_ns = config->train_gap_ns,
		.deadline_ns = config->deadline_ns,
		.interrupted = config->interrupted,
	};
	if (!config->cpus)
		r = cores_choose(config->cores, &s->cores, err);
	else
		cores_assign(config->cpus, config->cores, &s->cores);
	/* Both receivers send through one port: from one thread. */
	if (r == 0 && config->reflect && s->cores.count == CORES_MOST) {
		int32_t cpus[CORES_MOST - 1] = { s->cores.cpu[0], s->cores.cpu[1], s->cores.cpu[2] };

		cores_assign(cpus, CORES_MOST - 1, &s->cores);
	}
	return r;
}

static void state_release(struct run_state *s)
{
	receiver_release(&s->loops.receivers[PATH]);
	receiver_release(&s->loops.receivers[BYPASS]);
	sender_release(&s->loops.sender);
}

static int run_loops(struct run_state *s, struct err *err)
{
	const struct target_ops *ops = s->config->target->ops;
	struct timespec now;
	struct err far = { 0 };
	int r;

	if (ops->begin_run)
		ops->begin_run(s->config->target, s->config->run);
	drain(s->ports.path);
	drain(s->ports.bypass);
	counters_read(s, s->before, &s->in_before);
	r = s->far.link ? far_run_begin(&s->far, err) : 0;
	if (r < 0)
		return r;
	protect_begin(&s->protection, s->config->unprotected ? PROTECT_NOTHING : PROTECT_FIFO);
	clock_gettime(CLOCK_REALTIME, &now);
	s->started_utc_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	step_watch_start(&s->steps);
	tsc_mark_take(&s->from);
	r = loops_run(&s->loops, &s->cores, &s->protection, &s->got, &s->stalls, err);
	tsc_mark_take(&s->to);
	step_watch_check(&s->steps);
	protect_end(&s->protection);
	counters_read(s, s->after, &s->in_after);
	if (s->far.link && far_run_end(&s->far, &far) < 0 && r == 0) {
		if (err)
			*err = far;
		r = -far.code;
	}
	if (s->far.link)
		s->in_after.sent = s->far.port_sent;
	return r;
}

static int64_t since(const struct run_state *s, uint64_t ticks)
{
	return (int64_t)(ticks - s->loops.sender.start);
}

static void pair_write(const struct run_state *s, uint32_t i, uint8_t fate, int64_t gap_limit_ticks, struct pair *ret)
{
	const struct arrival *path = &s->loops.receivers[PATH].arrivals[i];
	const struct arrival *bypass = &s->loops.receivers[BYPASS].arrivals[i];
	const struct target_ops *ops = s->config->target->ops;
	uint32_t train = s->config->warm_train;

	*ret = (struct pair){
		.seq = i,
		.packet = s->config->stream->from_trace ? i % s->config->stream->packet_count : i,
		.fate = fate,
		.burst_path = path->burst,
		.burst_bypass = bypass->burst,
		.sched_ticks = s->loops.sender.sched[i],
		.tx_ticks = since(s, s->loops.sender.tx[i]),
		.path_ticks = PAIR_NONE,
		.bypass_ticks = PAIR_NONE,
		.gap_path_ticks = path->gap_ticks,
		.gap_bypass_ticks = bypass->gap_ticks,
		.truth_ticks = PAIR_NONE,
	};
	if (path->seen && path->ticks)
		ret->path_ticks =
			since(s, path->ticks) + tsc_from_ns(s->config->tsc, (double)s->config->faults.path_bias_ns);
	if (bypass->seen && bypass->ticks)
		ret->bypass_ticks = since(s, bypass->ticks);
	if (fate == FATE_MATCHED && (path->gap_ticks > gap_limit_ticks || bypass->gap_ticks > gap_limit_ticks))
		ret->flags |= PAIR_SET_APART;
	if (s->far.link)
		ret->flags |= PAIR_TX_FAR;
	if (ops->truth)
		ret->truth_ticks = ops->truth(s->config->target, i * (train + 1) + train);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Send time minus intended time; `late` is scratch for `count`. */
static void lateness_write(const struct pair *pairs, uint32_t count, const struct tsc *tsc, int64_t *late,
			   struct run_record *ret)
{
	if (count == 0)
		return;
	for (uint32_t i = 0; i < count; i++)
		late[i] = pairs[i].tx_ticks - pairs[i].sched_ticks;
	qsort(late, count, sizeof(*late), by_value);
	ret->lateness_p50_ns = (int64_t)tsc_to_ns(tsc, late[(count - 1) / 2]);
	ret->lateness_p99_ns = (int64_t)tsc_to_ns(tsc, late[(uint64_t)(count - 1) * 99 / 100]);
	ret->lateness_max_ns = (int64_t)tsc_to_ns(tsc, late[count - 1]);
}

static double pps(uint32_t count, double ns)
{
	return count > 1 && ns > 0 ? (count - 1) * 1e9 / ns : 0;
}

/* The clock the run was measured with: a long run is its own calibration, and shows whether the rate moved. */
static void clock_write(const struct run_state *s, struct run_record *ret)
{
	const struct tsc *tsc = s->config->tsc;
	double u_ppm, hz = tsc_rate(&s->from, &s->to, &u_ppm), off_ppm = (hz / tsc->hz - 1) * 1e6;
	double limit_ppm = RATE_MOVED_PPM + 3 * (u_ppm + tsc->hz_u_ppm);

	ret->tsc_hz = tsc->hz;
	ret->tsc_hz_u_ppm = tsc->hz_u_ppm;
	ret->tsc_tick_ns = tsc->tick_ns;
	ret->clock_steps = s->steps.steps;
	if (u_ppm < tsc->hz_u_ppm && s->to.raw_ns - s->from.raw_ns >= RATE_SPAN_NS) {
		ret->tsc_hz = hz;
		ret->tsc_hz_u_ppm = u_ppm;
	}
	if (fabs(off_ppm) > limit_ppm)
		snprintf(ret->invalid, sizeof(ret->invalid),
			 "the TSC ran %.1f ppm off its calibration during the run (limit %.1f)", off_ppm, limit_ppm);
}

/* Why no figure may use this run, if so; the first reason stands. */
static void validity_write(const struct run_state *s, struct run_record *ret)
{
	static const char *const names[PORTS] = { "path", "bypass" };
	const struct sender *sender = &s->loops.sender;
	char why[sizeof(ret->invalid)] = "";

	for (int p = PORTS - 1; p >= 0; p--) {
		uint64_t arrived = s->after[p].received - s->before[p].received;

		if (arrived != s->loops.receivers[p].classified)
			snprintf(why, sizeof(why),
				 "ledger does not balance: port %s delivered %" PRIu64 " frames, %" PRIu64
				 " were classified",
				 names[p], arrived, s->loops.receivers[p].classified);
	}
	if (s->in_after.sent - s->in_before.sent != sender->frames)
		snprintf(why, sizeof(why), "ledger does not balance: %" PRIu64 " frames sent, the port took %" PRIu64,
			 sender->frames, s->in_after.sent - s->in_before.sent);
	else if (sender->stuck)
		snprintf(why, sizeof(why), "the target took no frame for a second; %u of %u probes were sent",
			 sender->seq, s->config->stream->count);
	else if (why[0] == '\0' && !ledger_balances(&ret->ledger))
		snprintf(why, sizeof(why),
			 "ledger does not balance: the fates do not add up to %" PRIu64 " probes sent",
			 ret->ledger.sent);
	if (why[0])
		memcpy(ret->invalid, why, sizeof(why));
}

static void conditions_write(struct run_state *s, struct run_record *ret)
{
	const struct sender *sender = &s->loops.sender;
	const struct stream *stream = s->config->stream;
	uint32_t sent = sender->seq;

	ret->run = s->config->run;
	ret->started_utc_ns = s->started_utc_ns;
	ret->tsc_start = sender->start;
	ret->elapsed_ns = s->to.raw_ns - s->from.raw_ns;
	ret->gap_limit_ns = s->config->gap_limit_ns;
	ret->core_send = s->far.link ? s->far.core : s->cores.send;
	ret->core_receive = s->cores.path;
	ret->stalls = s->stalls.stalls;
	ret->stalled_ns = (int64_t)tsc_to_ns(s->config->tsc, (int64_t)s->stalls.stalled_ticks);
	ret->pingpong_p50_ns =
		placement_summary(&s->loops.placement, s->config->tsc, &ret->blocks_near, &ret->blocks_far);
	ret->intended_pps = pps(stream->count, (double)(stream->send_ns[stream->count - 1] - stream->send_ns[0]));
	if (sent > 1)
		ret->offered_pps =
			pps(sent, tsc_to_ns(s->config->tsc, (int64_t)(sender->tx[sent - 1] - sender->tx[0])));
	protect_words(&s->protection, s->got, true, ret->protection, sizeof(ret->protection));
	if (s->far.link)
		snprintf(ret->protection + strlen(ret->protection), sizeof(ret->protection) - strlen(ret->protection),
			 "; sent by another machine (%.60s)", s->far.protection);
}

/* Both copies by the ports' own clock; one that came without its stamp is missing there. */
static void second_take(const struct run_state *s, uint32_t i)
{
	for (int p = 0; p < PORTS; p++) {
		const struct receiver *r = &s->loops.receivers[p];

		if (r->arrivals[i].seen && r->stamps_ns[i])
			second_match_take(s->config->second, i, p == PATH ? SECOND_PATH : SECOND_BYPASS,
					  r->stamps_ns[i]);
	}
}

/* After the loops: fates, rows and record. */
static int account(struct run_state *s, struct pair *ret_pairs, struct run_record *ret, struct err *err)
{
	struct loops *l = &s->loops;
	const struct tsc *tsc = s->config->tsc;
	uint32_t sent = l->sender.seq;
	int64_t gap_limit_ticks = tsc_from_ns(tsc, (double)s->config->gap_limit_ns);
	int64_t *late = malloc(((size_t)sent + 1) * sizeof(*late));
	uint8_t *fates = malloc((size_t)sent + 1);
	int r = -ENOMEM;

	if (late && fates)
		r = fates_assign(
			&(struct fates_input){
				.stream = s->config->stream,
				.sent = sent,
				.tx_ticks = l->sender.tx,
				.deadline_ticks = l->deadline_ticks,
				.receivers = { &l->receivers[PATH], &l->receivers[BYPASS] },
			},
			fates, &ret->ledger, err);
	else
		err_set(err, ERR_HOST, ENOMEM, "no memory for the account of %u probes", sent);
	if (r == 0) {
		for (uint32_t i = 0; i < sent; i++) {
			pair_write(s, i, fates[i], gap_limit_ticks, &ret_pairs[i]);
			if (s->config->second)
				second_take(s, i);
			ret->ledger.set_apart += (ret_pairs[i].flags & PAIR_SET_APART) != 0;
		}
		for (int p = 0; p < PORTS; p++)
			ret->ledger.arrived += s->after[p].received - s->before[p].received;
		lateness_write(ret_pairs, sent, tsc, late, ret);
	}
	free(late);
	free(fates);
	return r;
}

int differential_run(const struct differential_config *config, struct pair *ret_pairs, uint32_t capacity,
		     struct run_record *ret, struct err *err)
{
	struct run_record record = { 0 };
	struct run_state *s;
	int r;

	TARE_ASSERT(config->target && config->stream && config->tsc && config->tsc->hz > 0);
	TARE_ASSERT(config->stream->count > 0 && capacity >= config->stream->count);
	s = aligned_alloc(128, (sizeof(*s) + 127) / 128 * 128);
	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for a run");
	memset(s, 0, sizeof(*s));
	r = state_init(s, config, err);
	if (r == 0)
		r = run_loops(s, err);
	if (r == 0)
		r = account(s, ret_pairs, &record, err);
	if (r == 0) {
		conditions_write(s, &record);
		clock_write(s, &record);
		validity_write(s, &record);
		*ret = record;
		if (s->loops.sender.seq < config->stream->count && !s->loops.sender.stuck)
			r = err_set(err, ERR_INTERRUPTED, EINTR, "interrupted after %u of %u probes",
				    s->loops.sender.seq, config->stream->count);
	}
	state_release(s);
	free(s);
	return r;
}
