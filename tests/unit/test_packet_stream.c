/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "packet/stream.h"

static uint8_t to[FRAME_MAX_BYTES];
static struct err err;

static struct stream_spec generated(enum id_format format, enum frame_kind kind, uint32_t length_bytes, uint32_t count)
{
	struct stream_spec spec = { .count = count, .format = format, .rate_mpps = 500000 };

	frame_template_default(&spec.frame, kind, length_bytes);
	return spec;
}

static struct stream *create(const struct stream_spec *spec)
{
	struct stream *s = NULL;

	memset(&err, 0, sizeof(err));
	if (stream_create(spec, &s, &err) != 0)
		fail_msg("refused: %s", err.message);
	return s;
}

static void refused(const struct stream_spec *spec, const char *message)
{
	struct stream *s = NULL;

	assert_true(stream_create(spec, &s, &err) < 0);
	assert_null(s);
	assert_string_equal(err.message, message);
	assert_int_equal(err.kind, ERR_USAGE);
}

/* Every probe of every kind and format: sent, read by the stream's reader, looked up: itself. */
static void every_probe_is_itself(void **state)
{
	static const struct {
		enum id_format format;
		enum frame_kind kind;
	} cases[] = {
		{ ID_NATIVE, FRAME_KIND_UDP4 },      { ID_NATIVE, FRAME_KIND_TCP4 },  { ID_NATIVE, FRAME_KIND_UDP6 },
		{ ID_NATIVE, FRAME_KIND_IPV4 },      { ID_NATIVE, FRAME_KIND_ETHER }, { ID_OCT, FRAME_KIND_UDP4 },
		{ ID_INSTRUMENT, FRAME_KIND_ETHER }, { ID_OCT, FRAME_KIND_ETHER },    { ID_OCT, FRAME_KIND_TCP4 },
		{ ID_INSTRUMENT, FRAME_KIND_IPV4 },
	};

	(void)state;
	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct stream_spec spec = generated(cases[c].format, cases[c].kind, 100, 1234);
		bool ports = cases[c].kind < FRAME_KIND_IPV4;
		struct id_reader reader;
		struct frame_view v;
		struct stream *s;

		spec.flows = ports ? 7 : 1;
		s = create(&spec);
		stream_reader(s, 77, &reader);
		assert_int_equal(s->count, 1234);
		assert_int_equal(s->total_bytes, 123400);
		for (uint32_t i = 0; i < s->count; i++) {
			uint32_t id = 0;

			assert_int_equal(stream_packet(s, i)->offset_bytes % 64, 0);
			assert_int_equal(stream_fill(s, i, 77, to), 100);
			assert_int_equal(id_read(&reader, to, 100, &id), ID_OK);
			assert_int_equal(stream_lookup(s, id), i);
			frame_parse(to, 100, &v);
			assert_int_equal(v.fault, FRAME_OK);
			assert_true(frame_checksums_good(to, &v));
			if (ports)
				assert_int_equal(load_be16(to + v.l4_offset), 49152 + i % 7);
			stream_fill_warm_up(s, i, 77, to);
			assert_int_equal(id_read(&reader, to, 100, &id), ID_WARM_UP);
		}
		assert_int_equal(reader.searches, 0);
		assert_int_equal(stream_lookup(s, 1234 + (cases[c].format == ID_OCT)), STREAM_NONE);
		assert_int_equal(stream_lookup(s, UINT32_MAX), STREAM_NONE);
		stream_destroy(s);
	}
}

static void the_schedule_does_not_drift(void **state)
{
	struct stream_spec spec = generated(ID_NATIVE, FRAME_KIND_UDP4, 60, 3000001);
	struct stream *s;

	(void)state;
	spec.rate_mpps = 3000000000; /* 3 Mpps: a third of a microsecond is no whole number of ns */
	s = create(&spec);
	assert_int_equal(s->send_ns[0], 0);
	assert_int_equal(s->send_ns[1], 333);
	assert_int_equal(s->send_ns[2], 667);
	assert_int_equal(s->send_ns[3000000], 1000000000);
	assert_int_equal(s->packet_count, 1); /* one template, however many probes */
	stream_destroy(s);
	spec.count = 3;
	spec.rate_mpps = 1; /* one packet in 1000 s */
	s = create(&spec);
	assert_true(s->send_ns[2] == INT64_C(2000000000000));
	stream_destroy(s);
}

static void specs_that_cannot_be(void **state)
{
	struct stream_spec spec = generated(ID_NATIVE, FRAME_KIND_UDP4, 55, 10);

	(void)state;
	refused(&spec, "frame size 55 B: expected 56 to 9018 B for tare ids in UDP over IPv4 frames (without the FCS)");
	spec = generated(ID_NATIVE, FRAME_KIND_ETHER, 9019, 10);
	refused(&spec,
		"frame size 9019 B: expected 28 to 9018 B for tare ids in EtherType 0x88B5 frames (without the FCS)");
	spec = generated(ID_OCT, FRAME_KIND_UDP4, 58, 20000);
	refused(&spec, "frame size 58 B: expected 59 to 9018 B for oct ids in UDP over IPv4 frames (without the FCS)");
	spec = generated(ID_INSTRUMENT, FRAME_KIND_UDP4, 100, 10);
	refused(&spec, "instrument ids in UDP over IPv4 frames: expected EtherType 0x88B5 or IPv4 protocol 0xFD");
	spec = generated(ID_NONE, FRAME_KIND_UDP4, 100, 10);
	refused(&spec, "probe id format none: expected tare, instrument or oct for a generated stream");
	spec = generated(ID_NATIVE, FRAME_KIND_UDP4, 100, 0);
	refused(&spec, "probe count 0: expected 1 or more");
	spec = generated(ID_NATIVE, FRAME_KIND_UDP4, 100, 1);
	spec.rate_mpps = 0;
	refused(&spec, "rate 0: expected more, as a generated stream has no times of its own");
	spec = generated(ID_NATIVE, FRAME_KIND_UDP4, 100, 1);
	spec.flows = 16385;
	refused(&spec, "16385 flows in UDP over IPv4 frames from port 49152: expected 1 to 16384");
	spec = generated(ID_NATIVE, FRAME_KIND_ETHER, 100, 1);
	spec.flows = 2;
	refused(&spec, "2 flows in EtherType 0x88B5 frames: expected 1, as they have no ports");
	spec = generated(ID_NATIVE, FRAME_KIND_UDP4, 100, 5000000);
	spec.rate_mpps = 1;
	refused(&spec, "5000000 probes at 1/1000 packets a second: expected less than 146 years");
}

/* A trace made by a stream, with a few packets spoiled. */
static char path[64];

static int make_file(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/tare-test-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 || close(fd) != 0;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static struct trace *oct_trace(uint32_t count)
{
	struct stream_spec spec = generated(ID_OCT, FRAME_KIND_UDP4, 90, count);
	struct stream *s = create(&spec);
	struct trace *t;

	if (stream_write_pcap(s, 0, INT64_C(1700000000000000000), path, &err) != 0)
		fail_msg("%s", err.message);
	stream_destroy(s);
	assert_int_equal(trace_load(path, ID_FORMATS, &t, &err), 0);
	return t;
}

static void a_published_size_of_trace(void **state)
{
	struct trace *t = oct_trace(20000);
	struct stream_spec spec = { .trace = t, .format = ID_OCT };
	struct id_reader reader;
	struct stream *s;

	(void)state;
	assert_int_equal(t->packet_count, 20000);
	assert_int_equal(t->ids_good, 20000);
	assert_int_equal(t->packets[19999].time_ns, INT64_C(39998000000)); /* 500 a second */
	s = create(&spec);
	trace_destroy(t); /* the stream has its own copy */
	assert_int_equal(s->count, 20000);
	assert_int_equal(s->unreadable + s->shared, 0);
	stream_reader(s, 0, &reader);
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t id;

		assert_int_equal(s->send_ns[i], (int64_t)i * 2000000);
		stream_fill(s, i, 0, to);
		assert_int_equal(id_read(&reader, to, 90, &id), ID_OK);
		assert_int_equal(id, i + 1);
		assert_int_equal(stream_lookup(s, id), i);
	}
	assert_int_equal(reader.searches, 0);
	stream_destroy(s);
}

static void fates_of_trace_packets(void **state)
{
	struct trace *t = oct_trace(5);
	struct stream_spec spec = { .trace = t, .format = ID_OCT, .rate_mpps = 1000 };
	struct stream *s;

	(void)state;
	t->packets[1].id_status = ID_UNREADABLE;
	t->packets[2].id = t->packets[4].id = 9;
	t->packets[2].id_shared = t->packets[4].id_shared = true;
	s = create(&spec);
	assert_int_equal(s->unreadable, 1);
	assert_int_equal(s->shared, 2);
	assert_int_equal(stream_packet(s, 1)->fate, STREAM_UNREADABLE);
	assert_int_equal(stream_packet(s, 4)->fate, STREAM_SHARED);
	assert_int_equal(stream_lookup(s, 1), 0);
	assert_int_equal(stream_lookup(s, 2), STREAM_NONE);
	assert_int_equal(stream_lookup(s, 9), 2);
	assert_int_equal(stream_lookup(s, 4), 3);
	assert_int_equal(s->send_ns[4], INT64_C(4000000000));
	/* Warm-up packets of one without id go out as they are. */
	stream_fill_warm_up(s, 1, 0, to);
	assert_memory_equal(to, t->bytes + t->packets[1].offset_bytes, 90);
	stream_destroy(s);
	spec.count = 6;
	snprintf((char *)to, sizeof(to),
		 "%s: 6 probes of a trace of 5 packets: expected at most as many, as an id of the trace can be sent "
		 "once "
		 "in a run (tare ids can go round)",
		 path);
	refused(&spec, (char *)to);
	trace_destroy(t);
}

static void native_written_over_a_trace(void **state)
{
	struct trace *t = oct_trace(5);
	struct stream_spec spec = { .trace = t, .format = ID_NATIVE, .count = 12 };
	static const int64_t times_ms[12] = { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 };
	struct id_reader reader;
	struct frame_view v;
	struct stream *s = create(&spec);

	(void)state;
	stream_reader(s, 3, &reader);
	for (uint32_t i = 0; i < 12; i++) {
		uint32_t id;

		assert_int_equal(stream_fill(s, i, 3, to), 90);
		assert_int_equal(id_read(&reader, to, 90, &id), ID_OK);
		assert_int_equal(id, i);
		assert_int_equal(stream_lookup(s, id), i);
		frame_parse(to, 90, &v);
		assert_true(load_be16(to + 40) != 0 && frame_checksums_good(to, &v));
		assert_int_equal(s->send_ns[i], times_ms[i] * 1000000);
	}
	stream_destroy(s);

	t->bytes[t->packets[2].offset_bytes + 23] = 1; /* ICMP has no place for it */
	snprintf((char *)to, sizeof(to),
		 "%s: packet 3 (EtherType 0x0800, IP protocol 1, 90 bytes, payload 56, ok) has no room for a tare id: "
		 "expected UDP, TCP, IPv4 protocol 0xFD or EtherType 0x88B5, no fragment, with 14 bytes of payload",
		 path);
	refused(&spec, (char *)to);
	t->times_back = 1;
	snprintf((char *)to, sizeof(to),
		 "%s: 1 packets are earlier than the one before: expected rising times (sort it with `reordercap IN "
		 "OUT`, or give a rate)",
		 path);
	refused(&spec, (char *)to);
	spec.format = ID_INSTRUMENT;
	snprintf((char *)to, sizeof(to),
		 "%s: its packets carry oct ids, not instrument: expected tare (written over them) or oct", path);
	refused(&spec, (char *)to);
	trace_destroy(t);
}

static void a_trace_without_times_goes_round_at_a_rate_only(void **state)
{
	struct trace *t = oct_trace(1);
	struct stream_spec spec = { .trace = t, .format = ID_NATIVE, .count = 4 };
	struct stream *s;

	(void)state;
	snprintf((char *)to, sizeof(to), "%s: its times do not advance: expected a rate, to send it more than once",
		 path);
	refused(&spec, (char *)to);
	spec.rate_mpps = 1000000;
	s = create(&spec);
	assert_int_equal(s->send_ns[3], 3000000);
	stream_destroy(s);
	trace_destroy(t);
}

/* Ids far apart and falling on the same slots are all found. */
static void sparse_ids(void **state)
{
	struct trace *t = oct_trace(600);
	struct stream_spec spec = { .trace = t, .format = ID_OCT };
	struct stream *s;

	(void)state;
	for (uint32_t i = 0; i < 600; i++)
		t->packets[i].id = i * 2048 + (i % 3) * 0x10000000;
	s = create(&spec);
	for (uint32_t i = 0; i < 600; i++)
		assert_int_equal(stream_lookup(s, t->packets[i].id), i);
	assert_int_equal(stream_lookup(s, 1), STREAM_NONE);
	stream_destroy(s);
	trace_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_probe_is_itself),
		cmocka_unit_test(the_schedule_does_not_drift),
		cmocka_unit_test(specs_that_cannot_be),
		cmocka_unit_test_setup_teardown(a_published_size_of_trace, make_file, remove_file),
		cmocka_unit_test_setup_teardown(fates_of_trace_packets, make_file, remove_file),
		cmocka_unit_test_setup_teardown(native_written_over_a_trace, make_file, remove_file),
		cmocka_unit_test_setup_teardown(a_trace_without_times_goes_round_at_a_rate_only, make_file,
						remove_file),
		cmocka_unit_test_setup_teardown(sparse_ids, make_file, remove_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
