/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs in which something is wrong: with frames, as the card or a scripted box has it, or with the engine itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/fake.h"
#include "io/memory.h"
#include "probe/differential.h"
#include "target/card.h"
#include "engine_bed.h"

/* --- the card's faults --- */

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

/* --- the engine's own --- */

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
	assert_true(good >= 500);
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

/* --- a scripted box --- */

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_and_ledger_agree),
		cmocka_unit_test(a_bias_of_the_receiver_shows),
		cmocka_unit_test(a_forgetful_matcher_is_found_out),
		cmocka_unit_test(a_box_that_lies_makes_the_run_invalid),
		cmocka_unit_test(a_late_copy_is_late),
		cmocka_unit_test(the_lost_do_not_hold_the_sender_for_ever),
		cmocka_unit_test(a_target_that_takes_nothing_ends_the_run),
	};

	return cmocka_run_group_tests(tests, calibrate_tsc, NULL);
}
