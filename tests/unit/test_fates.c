/* SPDX-License-Identifier: Apache-2.0 */
/* Receiver and matcher without time: frames and stamps are made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/fates.h"

enum { TAG = 77, PERIOD = 1000000, TRANSIT = 3000, DEADLINE = 50000000 };

struct bench {
	struct stream *stream;
	struct receiver rx[2];
	uint64_t tx[64];
	uint32_t sent;
	uint8_t fates[64];
	struct ledger ledger;
};

static void bench_begin(struct bench *b, struct stream *stream, uint32_t sent)
{
	memset(b, 0, sizeof(*b));
	b->stream = stream;
	b->sent = sent;
	for (uint32_t i = 0; i < sent; i++)
		b->tx[i] = 5000000000 + (uint64_t)i * PERIOD;
	for (int p = 0; p < 2; p++)
		assert_int_equal(receiver_init(&b->rx[p], stream, TAG, NULL), 0);
}

static struct stream *generated(enum id_format format, uint32_t count)
{
	struct stream_spec spec = { .count = count, .format = format, .rate_mpps = 1000000, .flows = 1 };
	struct stream *stream;
	struct err err = { 0 };

	frame_template_default(&spec.frame, FRAME_KIND_UDP4, 100);
	assert_int_equal(stream_create(&spec, &stream, &err), 0);
	return stream;
}

static void bench_end(struct bench *b)
{
	receiver_release(&b->rx[0]);
	receiver_release(&b->rx[1]);
	stream_destroy(b->stream);
}

/* Probe i arrives at a port, `damaged` in the byte at that offset (0: not). */
static void arrives_at(struct bench *b, int port, uint32_t i, uint64_t when, uint32_t damaged)
{
	uint8_t bytes[2048];
	struct io_frame f = { .data = bytes };

	f.length_bytes = stream_fill(b->stream, i, TAG, bytes);
	if (damaged)
		bytes[damaged] ^= 0x55;
	receiver_take(&b->rx[port], &f, 1, when, 50);
}

static void arrives(struct bench *b, int port, uint32_t i)
{
	arrives_at(b, port, i, b->tx[i] + TRANSIT, 0);
}

static void judge(struct bench *b)
{
	struct err err = { 0 };

	assert_int_equal(fates_assign(
				 &(struct fates_input){
					 .stream = b->stream,
					 .sent = b->sent,
					 .tx_ticks = b->tx,
					 .deadline_ticks = DEADLINE,
					 .receivers = { &b->rx[0], &b->rx[1] },
				 },
				 b->fates, &b->ledger, &err),
			 0);
	b->ledger.arrived = b->ledger.classified;
	assert_true(ledger_balances(&b->ledger));
}

/* The native id's sequence stands behind Ethernet, IPv4, UDP and the magic. */
enum { SEQUENCE_AT = 42 + 4, MAGIC_AT = 42 };

static void every_fate_has_its_probe(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, generated(ID_NATIVE, 10), 10);
	for (int p = 0; p < 2; p++) {
		for (uint32_t i = 0; i < 10; i++) {
			if (i == 1 && p == 0)
				continue; /* lost on the path */
			if (i == 2 && p == 1)
				continue; /* lost on the bypass */
			if (i == 3)
				arrives_at(&b, p, i, b.tx[i] + (p == 0 ? DEADLINE + 1 : TRANSIT), 0); /* late */
			else if (i == 4)
				arrives_at(&b, p, i, b.tx[i] + TRANSIT, p == 1 ? SEQUENCE_AT : 0); /* unparsed */
			else if (i == 5)
				arrives_at(&b, p, i, p == 0 ? 0 : b.tx[i] + TRANSIT, 0); /* unstamped */
			else
				arrives(&b, p, i);
		}
	}
	judge(&b);
	assert_int_equal(b.fates[0], FATE_MATCHED);
	assert_int_equal(b.fates[1], FATE_LOST);
	assert_int_equal(b.fates[2], FATE_LOST);
	assert_int_equal(b.fates[3], FATE_LATE);
	assert_int_equal(b.fates[4], FATE_UNPARSED);
	assert_int_equal(b.fates[5], FATE_UNSTAMPED);
	assert_int_equal(b.ledger.fate[FATE_MATCHED], 5);
	assert_int_equal(b.ledger.fate[FATE_LOST], 2);
	assert_int_equal(b.ledger.foreign + b.ledger.duplicates + b.ledger.reordered, 0);
	bench_end(&b);
}

static void the_worse_copy_decides(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, generated(ID_NATIVE, 4), 4);
	/* 0: lost and late; 1: late and unparsed; 2: unparsed and unstamped; 3: good */
	arrives_at(&b, 1, 0, b.tx[0] + DEADLINE + 5, 0);
	arrives_at(&b, 0, 1, b.tx[1] + DEADLINE + 5, 0);
	arrives_at(&b, 1, 1, b.tx[1] + TRANSIT, SEQUENCE_AT);
	arrives_at(&b, 0, 2, b.tx[2] + TRANSIT, SEQUENCE_AT);
	arrives_at(&b, 1, 2, 0, 0);
	arrives(&b, 0, 3);
	arrives(&b, 1, 3);
	judge(&b);
	assert_int_equal(b.fates[0], FATE_LOST);
	assert_int_equal(b.fates[1], FATE_LATE);
	assert_int_equal(b.fates[2], FATE_UNPARSED);
	assert_int_equal(b.fates[3], FATE_MATCHED);
	bench_end(&b);
}

static void duplicates_and_order_are_counted_apart(void **state)
{
	static const uint32_t order[] = { 0, 2, 1, 1, 3, 0, 5, 4 };
	struct bench b;

	(void)state;
	bench_begin(&b, generated(ID_NATIVE, 6), 6);
	for (uint32_t i = 0; i < 6; i++)
		arrives(&b, 1, i);
	for (unsigned k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		arrives(&b, 0, order[k]);
	judge(&b);
	assert_int_equal(b.ledger.fate[FATE_MATCHED], 6);
	assert_int_equal(b.ledger.duplicates, 2); /* of 1 and 0 */
	assert_int_equal(b.ledger.reordered, 2);  /* 1 behind 2, 4 behind 5 */
	assert_int_equal(b.ledger.classified, 14);
	bench_end(&b);
}

static void the_first_copy_counts_not_a_duplicate(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, generated(ID_NATIVE, 1), 1);
	arrives_at(&b, 0, 0, b.tx[0] + 100, 0);
	arrives_at(&b, 0, 0, b.tx[0] + 900, 0);
	assert_int_equal(b.rx[0].arrivals[0].ticks, b.tx[0] + 100);
	bench_end(&b);
}

static void strangers_and_warm_up_are_no_probes(void **state)
{
	struct bench b;
	uint8_t bytes[2048];
	struct io_frame f = { .data = bytes };

	(void)state;
	bench_begin(&b, generated(ID_NATIVE, 3), 3);
	for (int p = 0; p < 2; p++)
		for (uint32_t i = 0; i < 3; i++)
			arrives(&b, p, i);
	/* A probe of another run, a frame with a broken magic, an id that nobody sent, and a train's packet. */
	f.length_bytes = stream_fill(b.stream, 1, TAG + 1, bytes);
	receiver_take(&b.rx[0], &f, 1, b.tx[2] + 1, 50);
	arrives_at(&b, 0, 1, b.tx[2] + 2, MAGIC_AT);
	f.length_bytes = stream_fill(b.stream, 1, TAG, bytes);
	id_native_write(bytes + MAGIC_AT, 4000000000, TAG);
	receiver_take(&b.rx[0], &f, 1, b.tx[2] + 3, 50);
	f.length_bytes = stream_fill_warm_up(b.stream, 1, TAG, bytes);
	receiver_take(&b.rx[0], &f, 1, b.tx[2] + 4, 50);
	/* An empty frame, and one of a single byte. */
	f.length_bytes = 0;
	receiver_take(&b.rx[0], &f, 1, b.tx[2] + 5, 50);
	f.length_bytes = 1;
	receiver_take(&b.rx[0], &f, 1, b.tx[2] + 6, 50);
	judge(&b);
	assert_int_equal(b.ledger.fate[FATE_MATCHED], 3);
	assert_int_equal(b.ledger.foreign, 5);
	assert_int_equal(b.rx[0].warm_up, 1);
	assert_int_equal(b.ledger.classified, 12);
	bench_end(&b);
}

/* Two are missing, one of them came unreadable: its time says which. */
static void an_unreadable_frame_is_told_by_its_time(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, generated(ID_NATIVE, 20), 20);
	for (uint32_t i = 0; i < 20; i++) {
		arrives(&b, 1, i);
		if (i == 7)
			arrives_at(&b, 0, i, b.tx[i] + TRANSIT + 10, SEQUENCE_AT);
		else if (i != 6 && i != 8)
			arrives(&b, 0, i);
	}
	/* And a copy of it, when everybody near is accounted for: from nobody. */
	arrives_at(&b, 0, 7, b.tx[7] + TRANSIT + 20, SEQUENCE_AT);
	judge(&b);
	assert_int_equal(b.fates[6], FATE_LOST);
	assert_int_equal(b.fates[7], FATE_UNPARSED);
	assert_int_equal(b.fates[8], FATE_LOST);
	assert_int_equal(b.ledger.foreign, 1);
	bench_end(&b);
}

/* A trace with oct ids: 5, 5 (shared), 6, none, 4294967295. */
static struct stream *traced(void)
{
	static const char *const texts[] = { "oct-fpga-id:5", "oct-fpga-id:5", "oct-fpga-id:6", "no id in here",
					     "oct-fpga-id:4294967295" };
	struct trace_writer *w;
	struct trace *trace;
	struct stream *stream;
	struct err err = { 0 };
	char path[] = "/tmp/tare-fates-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(trace_writer_open(path, &w, &err), 0);
	for (unsigned i = 0; i < 5; i++) {
		struct frame_template t;
		uint8_t bytes[100];

		frame_template_default(&t, FRAME_KIND_UDP4, 100);
		assert_int_equal(frame_build(&t, bytes, &err), 0);
		memcpy(bytes + 50, texts[i], strlen(texts[i]));
		assert_int_equal(trace_writer_put(w, 1000000000 + i * 1000000, bytes, 100, &err), 0);
	}
	assert_int_equal(trace_writer_close(w, &err), 0);
	assert_int_equal(trace_load(path, ID_OCT, &trace, &err), 0);
	unlink(path);
	close(fd);
	assert_int_equal(stream_create(&(struct stream_spec){ .trace = trace, .format = ID_OCT }, &stream, &err), 0);
	trace_destroy(trace);
	return stream;
}

static void shared_and_missing_ids_are_counted_not_guessed(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, traced(), 5);
	assert_int_equal(b.stream->shared, 2);
	assert_int_equal(b.stream->unreadable, 1);
	for (int p = 0; p < 2; p++)
		for (uint32_t i = 0; i < 5; i++)
			arrives(&b, p, i);
	judge(&b);
	assert_int_equal(b.fates[0], FATE_SHADOWED);
	assert_int_equal(b.fates[1], FATE_SHADOWED);
	assert_int_equal(b.fates[2], FATE_MATCHED);
	assert_int_equal(b.fates[3], FATE_UNPARSED);
	assert_int_equal(b.fates[4], FATE_MATCHED);
	assert_int_equal(b.ledger.foreign + b.ledger.duplicates, 0);
	bench_end(&b);
}

/* What never arrives is lost, whether it could have been told apart or not. */
static void shared_and_missing_ids_can_be_lost(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, traced(), 5);
	for (int p = 0; p < 2; p++) {
		arrives(&b, p, 1); /* one of the two with id 5 */
		arrives(&b, p, 2);
		arrives(&b, p, 4);
	}
	arrives(&b, 0, 0); /* the other on one port only */
	judge(&b);
	assert_int_equal(b.fates[0], FATE_LOST);
	assert_int_equal(b.fates[1], FATE_SHADOWED);
	assert_int_equal(b.fates[3], FATE_LOST);
	assert_int_equal(b.ledger.fate[FATE_LOST], 2);
	bench_end(&b);
}

static void an_unbalanced_ledger_is_seen(void **state)
{
	struct ledger l = { .sent = 10, .arrived = 20, .classified = 20 };
	struct ledger sum = { 0 };

	(void)state;
	l.fate[FATE_MATCHED] = 8;
	l.fate[FATE_LOST] = 1;
	assert_false(ledger_balances(&l));
	l.fate[FATE_UNSTAMPED] = 1;
	assert_true(ledger_balances(&l));
	l.arrived++;
	assert_false(ledger_balances(&l));
	l.classified++;
	l.duplicates = 3;
	ledger_add(&sum, &l);
	ledger_add(&sum, &l);
	assert_true(ledger_balances(&sum));
	assert_int_equal(sum.sent, 20);
	assert_int_equal(sum.duplicates, 6);
	assert_string_equal(fate_name(FATE_SHADOWED), "shadowed");
	assert_null(fate_name(FATES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fate_has_its_probe),
		cmocka_unit_test(the_worse_copy_decides),
		cmocka_unit_test(duplicates_and_order_are_counted_apart),
		cmocka_unit_test(the_first_copy_counts_not_a_duplicate),
		cmocka_unit_test(strangers_and_warm_up_are_no_probes),
		cmocka_unit_test(an_unreadable_frame_is_told_by_its_time),
		cmocka_unit_test(shared_and_missing_ids_are_counted_not_guessed),
		cmocka_unit_test(shared_and_missing_ids_can_be_lost),
		cmocka_unit_test(an_unbalanced_ledger_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
