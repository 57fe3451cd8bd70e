/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs in one loop, with the card and with a scripted box. What is counted
 * must be exact on any machine. What is timed is asked up to ATTEMPTS times, as a host may
 * take the core away in the middle of a run; a wrong engine fails all of them.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/fake.h"
#include "io/memory.h"
#include "probe/differential.h"
#include "probe/protect.h"
#include "target/card.h"

enum { ATTEMPTS = 8 };

/* Longer than a host keeps a core away, or a probe is late, and rightly so. Only runs that lose probes wait for it. */
#define DEADLINE_NS 2000000000

/* A sanitizer's checks, or code that is not optimised, stand between emission and stamp. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define LIMIT_NS     400
#define GAP_LIMIT_NS 20000
#define SANITIZED    true
#else
#define LIMIT_NS     10
#define GAP_LIMIT_NS 400
#define SANITIZED    false
#endif

static struct tsc tsc;

static struct stream *stream_of(uint32_t count, uint64_t rate_pps, uint32_t frame_bytes)
{
	struct stream_spec spec = { .count = count, .format = ID_NATIVE, .rate_mpps = rate_pps * 1000, .flows = 16 };
	struct stream *stream;
	struct err err = { 0 };

	frame_template_default(&spec.frame, FRAME_KIND_UDP4, frame_bytes);
	assert_int_equal(stream_create(&spec, &stream, &err), 0);
	return stream;
}

static struct target *card_of(const char *program, const struct stream *stream, uint32_t train, uint64_t seed,
			      const char *const *settings_text)
{
	struct arena arena;
	struct settings settings;
	struct target *card;
	struct err err = { 0 };

	arena_init(&arena, 0);
	assert_int_equal(settings_init(&settings, target_card.settings, &arena), 0);
	for (; settings_text && *settings_text; settings_text += 2)
		assert_int_equal(settings_set(&settings, settings_text[0], settings_text[1], &err), 0);
	assert_int_equal(target_card.open(&(struct target_setup){ .settings = &settings,
								  .program = program,
								  .seed = seed,
								  .frame_bytes = stream->longest_bytes,
								  .probe_count = stream->count,
								  .frame_count = differential_frames(stream, train) },
					  &card, &err),
			 0);
	arena_release(&arena);
	return card;
}

static struct differential_config config_of(struct target *target, const struct stream *stream)
{
	struct differential_config config;

	differential_config_init(&config);
	config.target = target;
	config.stream = stream;
	config.tsc = &tsc;
	config.cores = 1;
	config.deadline_ns = DEADLINE_NS;
	config.gap_limit_ns = GAP_LIMIT_NS;
	return config;
}

static struct pair *pairs_of(const struct stream *stream)
{
	struct pair *pairs = calloc(stream->count, sizeof(*pairs));

	assert_non_null(pairs);
	return pairs;
}

static struct run_record run(const struct differential_config *config, struct pair *pairs)
{
	struct run_record record;
	struct err err = { 0 };

	assert_int_equal(differential_run(config, pairs, config->stream->count, &record, &err), 0);
	return record;
}

static void all_probes_come_back(void **state)
{
	static const uint32_t sizes[] = { 60, 61, 64, 256, 1500, 9018 };

	(void)state;
	for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct stream *stream = stream_of(200, 20000, sizes[k]);
		struct target *card = card_of("forward", stream, 0, 1, NULL);
		struct differential_config config = config_of(card, stream);
		struct pair *pairs = pairs_of(stream);
		struct run_record record = run(&config, pairs);

		assert_string_equal(record.invalid, "");
		assert_int_equal(record.ledger.sent, 200);
		assert_int_equal(record.ledger.fate[FATE_MATCHED], 200);
		assert_int_equal(record.ledger.arrived, 400);
		for (uint32_t i = 0; i < 200; i++) {
			const struct pair *p = &pairs[i];

			assert_int_equal(p->seq, i);
			assert_int_equal(p->sched_ticks, tsc_from_ns(&tsc, (double)(stream->send_ns[i])));
			assert_true(p->tx_ticks >= p->sched_ticks);
			assert_true(p->bypass_ticks > p->tx_ticks);
			assert_true(p->path_ticks > p->bypass_ticks);
			assert_true(p->truth_ticks > tsc_from_ns(&tsc, 1100));
		}
		card->ops->close(card);
		free(pairs);
		stream_destroy(stream);
	}
}

static void runs_follow_one_another(void **state)
{
	struct stream *stream = stream_of(100, 50000, 100);
	struct target *card = card_of("null", stream, 2, 1, NULL);
	struct differential_config config = config_of(card, stream);
	struct pair *pairs = pairs_of(stream);

	(void)state;
	config.warm_train = 2;
	config.train_gap_ns = 5000;
	for (config.run = 0; config.run < 30; config.run++) {
		struct run_record record = run(&config, pairs);
		struct card_account account;

		assert_string_equal(record.invalid, "");
		assert_int_equal(record.run, config.run);
		assert_int_equal(record.ledger.fate[FATE_MATCHED], 100);
		assert_int_equal(record.ledger.foreign, 0);
		assert_int_equal(record.ledger.arrived, 600); /* trains arrive too, and are no probes */
		card_injected(card, &account);
		assert_int_equal(account.frames, 300);
	}
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* What the card did to the copies of a run, as the ledger should have it. */
static void expected_ledger(const struct target *card, uint32_t sent, struct ledger *ret)
{
	uint64_t newest_out = 0;

	memset(ret, 0, sizeof(*ret));
	ret->sent = sent;
	for (uint32_t i = 0; i < sent; i++) {
		unsigned faults = card_faults(card, i), path = faults & 0xff, bypass = faults >> 8;

		if ((path | bypass) & CARD_LOST)
			ret->fate[FATE_LOST]++;
		else if ((path | bypass) & CARD_UNREADABLE)
			ret->fate[FATE_UNPARSED]++;
		else
			ret->fate[FATE_MATCHED]++;
		for (int port = 0; port < 2; port++) {
			unsigned f = port ? bypass : path;

			if (f & CARD_DUPLICATED && f & CARD_UNREADABLE)
				ret->foreign++; /* a second frame that nobody is missing */
			else if (f & CARD_DUPLICATED)
				ret->duplicates++;
		}
	}
	/* Reordered: readable, and let out behind a readable later one. */
	for (uint32_t i = 0; i < sent; i++) {
		uint64_t out = card_emitted_path(card, i);

		if (out == 0 || card_faults(card, i) & CARD_UNREADABLE)
			continue;
		newest_out = 0;
		for (uint32_t k = i + 1; k < sent && k < i + 8; k++) {
			uint64_t later = card_emitted_path(card, k);

			if (later != 0 && later < out && !(card_faults(card, k) & CARD_UNREADABLE))
				newest_out = later;
		}
		ret->reordered += newest_out != 0;
	}
}

static void ledger_equals(const struct ledger *got, const struct ledger *expected)
{
	assert_int_equal(got->sent, expected->sent);
	for (int i = 0; i < FATES; i++)
		assert_int_equal(got->fate[i], expected->fate[i]);
	assert_int_equal(got->duplicates, expected->duplicates);
	assert_int_equal(got->reordered, expected->reordered);
	assert_int_equal(got->foreign, expected->foreign);
}

/* What the card did to the copy of the ith probe at this port, and how long after its send it let it out. */
static unsigned faults_at(const struct target *card, uint32_t i, int port)
{
	return port == 0 ? card_faults(card, i) & 0xff : card_faults(card, i) >> 8;
}

static int64_t let_out_after(const struct target *card, const struct pair *pairs, uint32_t i, int port, uint64_t start)
{
	uint64_t out = port == 0 ? card_emitted_path(card, i) : card_emitted_bypass(card, i);

	return (int64_t)(out - start) - pairs[i].tx_ticks;
}

/* Median of what readable copies take from send to stamp. */
static int64_t usually_takes(const struct pair *pairs, uint32_t sent, int port)
{
	int64_t *took = malloc(sent * sizeof(*took)), median;
	uint32_t n = 0;

	assert_non_null(took);
	for (uint32_t i = 0; i < sent; i++)
		if (pairs[i].fate == FATE_MATCHED)
			took[n++] = (port == 0 ? pairs[i].path_ticks : pairs[i].bypass_ticks) - pairs[i].tx_ticks;
	assert_true(n > sent / 2);
	qsort(took, n, sizeof(*took), by_value);
	median = took[n / 2];
	free(took);
	return median;
}

/*
 * Frames without a readable id are given to the missing probe that they fit best in time (docs/method.md). That is an
 * inference, and in two cases not what was injected, though right by what could be seen. The card's own record tells:
 * a hole of the host let such a frame out late: it is nobody's, its probe lost; or it came twice or out of turn, and
 * is taken for a probe near by that was lost.
 */
static bool doubtful(const struct target *card, const struct pair *pairs, uint32_t sent, uint64_t start)
{
	enum { REORDERED_NS = 150000, NEAR = 10 };

	for (int port = 0; port < 2; port++) {
		int64_t limit = usually_takes(pairs, sent, port) * 3 / 2;

		for (uint32_t i = 0; i < sent; i++) {
			unsigned faults = faults_at(card, i, port);
			bool astray = faults & (CARD_REORDERED | CARD_DUPLICATED);

			if (faults & CARD_LOST || !(faults & CARD_UNREADABLE))
				continue;
			if (let_out_after(card, pairs, i, port, start) >
			    (faults & CARD_REORDERED ? tsc_from_ns(&tsc, REORDERED_NS) : limit))
				return true;
			for (uint32_t k = i > NEAR ? i - NEAR : 0; astray && k < sent && k < i + NEAR; k++)
				if (faults_at(card, k, port) & CARD_LOST)
					return true;
		}
	}
	return false;
}

static void fates_are_the_injected_ones(const struct target *card, const struct pair *pairs, uint32_t sent)
{
	for (uint32_t i = 0; i < sent; i++) {
		unsigned f = card_faults(card, i);

		if ((f | f >> 8) & CARD_LOST)
			assert_int_equal(pairs[i].fate, FATE_LOST);
		else if ((f | f >> 8) & CARD_UNREADABLE)
			assert_int_equal(pairs[i].fate, FATE_UNPARSED);
		else
			assert_int_equal(pairs[i].fate, FATE_MATCHED);
	}
}

static void faults_and_ledger_agree(void **state)
{
	static const char *const loss[] = { "loss", "3%", NULL };
	static const char *const duplicates[] = { "duplicates", "3%", NULL };
	static const char *const reorder[] = { "reorder", "3%", NULL };
	static const char *const unreadable[] = { "unreadable", "3%", NULL };
	static const char *const all[] = { "loss",       "2%", "duplicates", "2%",   "reorder", "2%",
					   "unreadable", "2%", "jitter",     "20ns", NULL };
	static const char *const *const faults[] = { loss, duplicates, reorder, unreadable, all, all, all };
	enum { PROBES = 1000, RUNS_MOST = SANITIZED ? 8 : 400 };
	struct stream *stream = stream_of(PROBES, 20000, 64);
	struct pair *pairs = pairs_of(stream);

	(void)state;
	for (unsigned k = 0; k < sizeof(faults) / sizeof(faults[0]); k++) {
		struct target *card = card_of("107ns/137ns", stream, 0, 100 + k, faults[k]);
		struct differential_config config = config_of(card, stream);
		bool undisturbed = false;

		config.deadline_ns = 400000000;
		for (; !undisturbed && config.run < RUNS_MOST; config.run++) {
			struct run_record record = run(&config, pairs);
			struct ledger expected;
			struct card_account account;

			card_injected(card, &account);
			/* However the host disturbs: the account is whole, and every frame in it. */
			assert_string_equal(record.invalid, "");
			assert_int_equal(account.refused, 0);
			assert_int_equal(account.emitted_path + account.emitted_bypass, record.ledger.arrived);
			/* Something was injected, or this test says nothing. */
			assert_true(account.lost_path + account.lost_bypass + account.duplicated_path +
					    account.reordered_path + account.unreadable_path >
				    5);
			if (record.ledger.fate[FATE_LATE] || doubtful(card, pairs, PROBES, record.tsc_start))
				continue;
			undisturbed = true;
			expected_ledger(card, PROBES, &expected);
			ledger_equals(&record.ledger, &expected);
			fates_are_the_injected_ones(card, pairs, PROBES);
		}
		/* under a sanitizer a frame without id takes the card itself so long that none fits in time */
		if (!undisturbed && !(SANITIZED && k >= 3))
			fail_msg("in each of %d runs there was a frame without id that could be either probe's",
				 RUNS_MOST);
		card->ops->close(card);
	}
	free(pairs);
	stream_destroy(stream);
}

static int cpus_allowed(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

/* Median of recovered minus recorded over the good pairs, in ns; how many those are. */
static double error_ns(const struct pair *pairs, uint32_t count, uint32_t *ret_good)
{
	int64_t *off = malloc(count * sizeof(*off));
	double sum = 0;
	uint32_t n = 0;

	assert_non_null(off);
	for (uint32_t i = 0; i < count; i++)
		if (pairs[i].fate == FATE_MATCHED && !(pairs[i].flags & PAIR_SET_APART))
			off[n++] = pairs[i].path_ticks - pairs[i].bypass_ticks - pairs[i].truth_ticks;
	*ret_good = n;
	qsort(off, n, sizeof(*off), by_value);
	/* The counter's step makes ties: the mean of the middle half moves within a step, the median does not. */
	for (uint32_t i = n / 4; i < n - n / 4; i++)
		sum += (double)off[i];
	free(off);
	return n ? sum / (double)(n - n / 4 - n / 4) * 1e9 / tsc.hz : INFINITY;
}

static void recorded_truth_is_recovered(void **state)
{
	static const char *const programs[] = { "null", "107ns", "149ns", "177ns", "364ns" };
	struct stream *stream = stream_of(2000, 10000, 64);
	struct pair *pairs = pairs_of(stream);

	(void)state;
	for (unsigned k = 0; k < sizeof(programs) / sizeof(programs[0]); k++) {
		struct target *card = card_of(programs[k], stream, 0, 1, NULL);
		struct differential_config config = config_of(card, stream);
		double off = INFINITY;
		uint32_t good = 0;

		for (int attempt = 0; attempt < ATTEMPTS && (fabs(off) > LIMIT_NS || good < 1000); attempt++) {
			config.run = (uint32_t)attempt;
			run(&config, pairs);
			off = error_ns(pairs, 2000, &good);
		}
		print_message("%s: error %.1f ns, %u of 2000 good\n", programs[k], off, good);
		assert_true(fabs(off) <= LIMIT_NS);
		assert_true(good >= 1000);
		card->ops->close(card);
	}
	free(pairs);
	stream_destroy(stream);
}

/* Counts only: what two cores of a shared machine measure is for the bench. */
static void two_cores_lose_nothing(void **state)
{
	static const char *const faults[] = { "loss", "2%", "duplicates", "2%", NULL };
	struct stream *stream = stream_of(2000, 5000, 256);
	struct pair *pairs = pairs_of(stream);
	struct target *card = card_of("forward", stream, 1, 3, faults);
	struct differential_config config = config_of(card, stream);
	struct run_record record;
	uint64_t lost = 0, duplicates = 0;

	(void)state;
	if (cpus_allowed() < 2) {
		print_message("SKIP: needs a second CPU\n");
		skip();
	}
	config.cores = 2;
	config.warm_train = 1;
	config.deadline_ns = 1000000000; /* a core may be away for long */
	record = run(&config, pairs);
	assert_string_equal(record.invalid, "");
	for (uint32_t i = 0; i < 2000; i++) {
		unsigned f = card_faults(card, 2 * i + 1);

		lost += ((f | f >> 8) & CARD_LOST) != 0;
		duplicates += ((f & CARD_DUPLICATED) != 0) + ((f >> 8 & CARD_DUPLICATED) != 0);
		assert_true(pairs[i].truth_ticks == card->ops->truth(card, 2 * i + 1));
	}
	assert_int_equal(record.ledger.fate[FATE_LOST], lost);
	assert_int_equal(record.ledger.fate[FATE_MATCHED], 2000 - lost);
	assert_int_equal(record.ledger.duplicates, duplicates);
	assert_int_not_equal(record.core_send, record.core_receive);
	assert_true(record.blocks_near + record.blocks_far > 0);
	assert_true(record.pingpong_p50_ns > 0);
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

/* Every set of loops, on CPUs they have to share: slow, but nothing may be lost or mixed up. */
static void three_and_four_loops_work_too(void **state)
{
	struct stream *stream = stream_of(300, 2000, 100);
	struct pair *pairs = pairs_of(stream);
	struct target *card = card_of("forward", stream, 0, 3, NULL);
	struct differential_config config = config_of(card, stream);
	int32_t cpus[4];
	int last = 0;
	cpu_set_t allowed;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (int i = 0; i < 4; i++) {
		while (!CPU_ISSET(last, &allowed))
			last = (last + 1) % CPU_SETSIZE;
		cpus[i] = last;
		last = (last + 1) % CPU_SETSIZE;
	}
	config.unprotected = true;
	config.deadline_ns = 2000000000;
	config.cpus = cpus;
	for (config.cores = 1; config.cores <= 4; config.cores++) {
		struct run_record record = run(&config, pairs);

		assert_string_equal(record.invalid, "");
		assert_int_equal(record.ledger.fate[FATE_MATCHED], 300);
		assert_int_equal(record.core_send, cpus[0]);
		assert_int_equal(record.core_receive, config.cores == 4 ? cpus[2] : cpus[config.cores - 1]);
		assert_non_null(strstr(record.protection, "affinity"));
		assert_null(strstr(record.protection, "fifo"));
		for (uint32_t i = 0; i < 300; i++)
			assert_true(pairs[i].path_ticks > pairs[i].tx_ticks &&
				    pairs[i].bypass_ticks > pairs[i].tx_ticks);
	}
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

static void a_bias_of_the_receiver_shows(void **state)
{
	struct stream *stream = stream_of(1000, 10000, 64);
	struct pair *pairs = pairs_of(stream);
	struct target *card = card_of("149ns", stream, 0, 1, NULL);
	struct differential_config config = config_of(card, stream);
	double off = 0;
	uint32_t good = 0;

	(void)state;
	config.faults.path_bias_ns = 1000;
	for (int attempt = 0; attempt < ATTEMPTS && (fabs(off - 1000) > LIMIT_NS || good < 500); attempt++) {
		run(&config, pairs);
		off = error_ns(pairs, 1000, &good);
	}
	assert_true(fabs(off - 1000) <= LIMIT_NS);
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

static void a_forgetful_matcher_is_found_out(void **state)
{
	struct stream *stream = stream_of(100, 50000, 64);
	struct pair *pairs = pairs_of(stream);
	struct target *card = card_of("null", stream, 0, 1, NULL);
	struct differential_config config = config_of(card, stream);
	struct run_record record;

	(void)state;
	config.faults.forget_every = 10;
	record = run(&config, pairs);
	assert_false(ledger_balances(&record.ledger));
	assert_non_null(strstr(record.invalid, "ledger does not balance"));
	assert_non_null(strstr(record.invalid, "delivered 100 frames, 90 were classified"));
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

static void an_interrupt_ends_a_run_whole(void **state)
{
	struct stream *stream = stream_of(100000, 100, 64);
	struct pair *pairs = pairs_of(stream);
	struct target *card = card_of("null", stream, 0, 1, NULL);
	struct differential_config config = config_of(card, stream);
	atomic_bool interrupted;
	struct run_record record;
	struct err err = { 0 };

	(void)state;
	atomic_init(&interrupted, true);
	config.interrupted = &interrupted;
	assert_int_equal(differential_run(&config, pairs, 100000, &record, &err), -EINTR);
	assert_int_equal(err.kind, ERR_INTERRUPTED);
	assert_true(record.ledger.sent < 10);
	assert_true(ledger_balances(&record.ledger));
	/* The target is as good as before. */
	atomic_store(&interrupted, false);
	stream_destroy(stream);
	stream = stream_of(50, 50000, 64);
	config.stream = stream;
	record = run(&config, pairs);
	assert_int_equal(record.ledger.fate[FATE_MATCHED], 50);
	assert_int_equal(record.ledger.foreign, 0);
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

static void more_cores_than_there_are_is_an_error(void **state)
{
	struct stream *stream = stream_of(10, 10000, 64);
	struct pair pairs[10];
	struct target *card = card_of("null", stream, 0, 1, NULL);
	struct differential_config config = config_of(card, stream);
	struct run_record record;
	cpu_set_t before, one;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &before)) {
			CPU_SET(cpu, &one);
			break;
		}
	}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	config.cores = 2;
	assert_int_equal(differential_run(&config, pairs, 10, &record, &err), -ENODEV);
	assert_int_equal(err.kind, ERR_HOST);
	assert_non_null(strstr(err.message, "2 cores are asked for, but this process may use 1"));
	/* And what is there is used. */
	config.cores = 0;
	record = run(&config, pairs);
	assert_int_equal(record.ledger.fate[FATE_MATCHED], 10);
	assert_int_equal(record.core_send, record.core_receive);
	sched_setaffinity(0, sizeof(before), &before);
	card->ops->close(card);
	stream_destroy(stream);
}

/* A target that is a scripted box: no poll, no truth. */
struct box_target {
	struct target target;
	struct fake_box box;
};

static void box_ports(struct target *target, struct target_ports *ret)
{
	struct box_target *b = (struct box_target *)target;

	*ret = (struct target_ports){ b->box.in, b->box.out[0], b->box.out[1] };
}

static const struct target_ops box_ops = { .kind = "box", .ports = box_ports };

static uint32_t in_flight; /* of the next box; 0: the default */

static struct run_record run_box(const struct fake_rule *rules, uint32_t rule_count, struct pair *pairs,
				 uint32_t probes)
{
	struct box_target b = { .target = { &box_ops } };
	struct stream *stream = stream_of(probes, 20000, 64);
	struct differential_config config = config_of(&b.target, stream);
	struct run_record record;
	struct err err = { 0 };

	config.deadline_ns = 1000000;
	if (in_flight)
		config.in_flight = in_flight;
	assert_int_equal(fake_box_open(rules, rule_count, probes, 64, &b.box, &err), 0);
	record = run(&config, pairs);
	b.box.in->ops->close(b.box.in);
	b.box.out[0]->ops->close(b.box.out[0]);
	b.box.out[1]->ops->close(b.box.out[1]);
	stream_destroy(stream);
	return record;
}

static void a_box_that_lies_makes_the_run_invalid(void **state)
{
	static const struct fake_rule miscount[] = { { 20, 1, FAKE_MISCOUNT, 1 } };
	static const struct fake_rule swallow[] = { { 20, 0, FAKE_SWALLOW, 0 } };
	struct run_record record;
	struct pair pairs[200];

	(void)state;
	record = run_box(miscount, 1, pairs, 200);
	assert_int_equal(record.ledger.fate[FATE_MATCHED], 200);
	assert_non_null(strstr(record.invalid, "port bypass delivered 201 frames, 200 were classified"));
	record = run_box(swallow, 1, pairs, 200);
	assert_int_equal(record.ledger.fate[FATE_LOST], 1);
	assert_non_null(strstr(record.invalid, "port path delivered 200 frames, 199 were classified"));
}

static void a_late_copy_is_late(void **state)
{
	/* Behind 60 more frames at 20,000 a second: 3 ms, over the deadline of 1 ms. */
	static const struct fake_rule rules[] = { { 20, 0, FAKE_HOLD, 60 }, { 30, 1, FAKE_FOREIGN, 64 } };
	struct run_record record;
	struct pair pairs[200];

	(void)state;
	/* A probe that itself goes out behind a hole of the host is not held for long: again. */
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		record = run_box(rules, 2, pairs, 200);
		if (pairs[20].tx_ticks - pairs[20].sched_ticks < tsc_from_ns(&tsc, 1e6) && record.stalled_ns < 1000000)
			break;
	}
	assert_string_equal(record.invalid, "");
	assert_int_equal(pairs[20].fate, FATE_LATE);
	assert_int_equal(record.ledger.fate[FATE_LATE], 1);
	assert_int_equal(record.ledger.fate[FATE_MATCHED], 199);
	assert_int_equal(record.ledger.reordered, 1);
	assert_int_equal(record.ledger.foreign, 1);
	assert_int_equal(pairs[20].truth_ticks, PAIR_NONE);
	assert_true(pairs[20].path_ticks - pairs[20].tx_ticks > tsc_from_ns(&tsc, 1e6));
}

/* More lost in a row than may be in flight: the sender waits for them, writes them off, and goes on to the end. */
static void the_lost_do_not_hold_the_sender_for_ever(void **state)
{
	struct fake_rule rules[40];
	struct run_record record;
	struct pair pairs[100];

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		rules[i] = (struct fake_rule){ 20 + i, 0, FAKE_DROP, 0 };
	in_flight = 8;
	record = run_box(rules, 40, pairs, 100);
	in_flight = 0;
	assert_string_equal(record.invalid, "");
	assert_int_equal(record.ledger.sent, 100);
	assert_int_equal(record.ledger.fate[FATE_LOST], 40);
	/* 40 lost, 8 at a time: held back four times at least, for 1 ms (the box's deadline) each */
	assert_true(record.lateness_max_ns > 1000000);
	for (uint32_t i = 20; i < 60; i++)
		assert_int_equal(pairs[i].fate, FATE_LOST);
}

/* Ports that nobody serves: 8 slots take 8 frames, then none for a second. */
static void a_target_that_takes_nothing_ends_the_run(void **state)
{
	struct box_target b = { .target = { &box_ops } };
	struct stream *stream = stream_of(50, 20000, 64);
	struct differential_config config = config_of(&b.target, stream);
	struct pair *pairs = pairs_of(stream);
	struct io_cable in, out[2];
	struct run_record record;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(memory_cable_open(8, 64, &in, &err), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(memory_cable_open(8, 64, &out[i], &err), 0);
	b.box.in = in.send_end;
	b.box.out[0] = out[0].receive_end;
	b.box.out[1] = out[1].receive_end;
	config.deadline_ns = 1000000;
	record = run(&config, pairs);
	assert_non_null(strstr(record.invalid, "the target took no frame for a second; 8 of 50 probes were sent"));
	assert_int_equal(record.ledger.sent, 8);
	assert_int_equal(record.ledger.fate[FATE_LOST], 8);
	in.send_end->ops->close(in.send_end);
	in.receive_end->ops->close(in.receive_end);
	for (int i = 0; i < 2; i++) {
		out[i].send_end->ops->close(out[i].send_end);
		out[i].receive_end->ops->close(out[i].receive_end);
	}
	free(pairs);
	stream_destroy(stream);
}

/* What a run changes for itself is as before when it ends. */
static void protection_is_undone(void **state)
{
	struct protection p;
	int policy = sched_getscheduler(0);
	cpu_set_t before, after;
	char words[160], afterwards[160];

	(void)state;
	sched_getaffinity(0, sizeof(before), &before);
	protect_begin(&p, PROTECT_FIFO);
	assert_int_equal(sched_getscheduler(0), policy);
	protect_words(&p, PROTECT_FIFO, true, words, sizeof(words));
	assert_non_null(strstr(words, "fifo 50, affinity"));
	protect_end(&p);
	/* what was done is told afterwards: records are written then */
	assert_string_equal(protect_words(&p, PROTECT_FIFO, true, afterwards, sizeof(afterwards)), words);
	assert_true(strstr(words, "mlock") || !p.locked);
	p.sleeps = true;
	assert_non_null(strstr(protect_words(&p, PROTECT_FIFO, true, words, sizeof(words)), "fifo 51"));
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
	protect_begin(&p, PROTECT_NOTHING);
	assert_false(p.locked);
	assert_int_equal(protect_thread(&p), PROTECT_NOTHING);
	protect_end(&p);
}

static int setup(void **state)
{
	(void)state;
	return tsc_calibrate(&tsc, 50000000, true, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_probes_come_back),
		cmocka_unit_test(runs_follow_one_another),
		cmocka_unit_test(faults_and_ledger_agree),
		cmocka_unit_test(recorded_truth_is_recovered),
		cmocka_unit_test(two_cores_lose_nothing),
		cmocka_unit_test(three_and_four_loops_work_too),
		cmocka_unit_test(a_bias_of_the_receiver_shows),
		cmocka_unit_test(a_forgetful_matcher_is_found_out),
		cmocka_unit_test(an_interrupt_ends_a_run_whole),
		cmocka_unit_test(more_cores_than_there_are_is_an_error),
		cmocka_unit_test(a_box_that_lies_makes_the_run_invalid),
		cmocka_unit_test(a_late_copy_is_late),
		cmocka_unit_test(the_lost_do_not_hold_the_sender_for_ever),
		cmocka_unit_test(a_target_that_takes_nothing_ends_the_run),
		cmocka_unit_test(protection_is_undone),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
