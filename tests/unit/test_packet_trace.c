/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "packet/frame.h"
#include "packet/trace.h"

/* A capture file being put together in memory, by hand: libpcap's writer is what is tested against, not with. */
struct file {
	uint8_t bytes[1 << 17];
	size_t length;
	bool big, nano;
};

static struct file f;
static struct err err;

static void put(uint32_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		f.bytes[f.length++] = (uint8_t)(value >> 8 * (f.big ? bytes - 1 - i : i));
}

static void put_header(uint32_t link_type)
{
	put(f.nano ? 0xa1b23c4d : 0xa1b2c3d4, 4);
	put(2, 2);
	put(4, 2);
	put(0, 4);
	put(0, 4);
	put(262144, 4);
	put(link_type, 4);
}

static void start(bool big, bool nano)
{
	f.length = 0;
	f.big = big;
	f.nano = nano;
	put_header(1);
}

static void record(uint32_t seconds, uint32_t fraction, const uint8_t *bytes, uint32_t captured, uint32_t length)
{
	put(seconds, 4);
	put(fraction, 4);
	put(captured, 4);
	put(length, 4);
	if (bytes != NULL)
		memcpy(f.bytes + f.length, bytes, captured);
	else
		memset(f.bytes + f.length, 0, captured);
	f.length += captured;
}

/* A UDP frame with an oct id in its payload. */
static uint8_t *oct_frame(uint32_t id, uint32_t length_bytes, uint8_t vlans)
{
	static uint8_t bytes[FRAME_MAX_BYTES];
	struct frame_template t;

	frame_template_default(&t, FRAME_KIND_UDP4, length_bytes);
	t.vlan_count = vlans;
	assert_int_equal(frame_build(&t, bytes, NULL), 0);
	oct_write(bytes + frame_template_headers(&t), id);
	return bytes;
}

static struct trace *parse_as(enum id_format format)
{
	struct trace *t = NULL;

	memset(&err, 0, sizeof(err));
	if (trace_parse(f.bytes, f.length, "x.pcap", format, &t, &err) != 0)
		fail_msg("refused: %s", err.message);
	return t;
}

static void refused(const char *message)
{
	struct trace *t = (struct trace *)&f;

	memset(&err, 0, sizeof(err));
	assert_true(trace_parse(f.bytes, f.length, "x.pcap", ID_FORMATS, &t, &err) < 0);
	assert_ptr_equal(t, &f); /* untouched */
	assert_int_equal(err.kind, ERR_USAGE);
	if (strncmp(err.message, message, strlen(message)) != 0)
		fail_msg("message: %s\nexpected: %s", err.message, message);
}

static void every_byte_order_and_resolution(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		bool nano = kind & 2;
		struct trace *t;

		start(kind & 1, nano);
		record(1700000000, nano ? 999999999 : 999999, oct_frame(1, 80, 0), 80, 80);
		record(1700000001, 1, oct_frame(2, 100, 0), 100, 100);
		t = parse_as(ID_FORMATS);
		assert_int_equal(t->packet_count, 2);
		assert_int_equal(t->packets[0].time_ns, 0);
		assert_int_equal(t->packets[1].time_ns, nano ? 2 : 2000);
		assert_true(t->first_time_ns == (nano ? INT64_C(1700000000999999999) : INT64_C(1700000000999999000)));
		assert_int_equal(t->format, ID_OCT);
		assert_int_equal(t->ids_good, 2);
		assert_int_equal(t->packets[1].id, 2);
		assert_int_equal(t->packets[1].id_offset_bytes, 42);
		assert_int_equal(t->longest_bytes, 100);
		assert_int_equal(t->shortest_bytes, 80);
		assert_memory_equal(t->bytes + t->packets[1].offset_bytes, oct_frame(2, 100, 0), 100);
		trace_destroy(t);
	}
}

static void pcapng(void **state)
{
	struct trace *t;

	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		f.length = 0;
		f.big = big;
		/* Section header, interface (ns), two enhanced packets. */
		put(0x0a0d0d0a, 4), put(28, 4), put(0x1a2b3c4d, 4), put(1, 2), put(0, 2), put(~0u, 4), put(~0u, 4),
			put(28, 4);
		put(1, 4), put(32, 4), put(1, 2), put(0, 2), put(0, 4), put(9, 2), put(1, 2);
		f.bytes[f.length++] = 9;
		memset(f.bytes + f.length, 0, 3);
		f.length += 3;
		put(0, 4), put(32, 4);
		for (uint32_t i = 0; i < 2; i++) {
			put(6, 4), put(32 + 80, 4), put(0, 4), put(1, 4), put(5 + 7 * i, 4), put(80, 4), put(80, 4);
			memcpy(f.bytes + f.length, oct_frame(i + 1, 80, 0), 80);
			f.length += 80;
			put(32 + 80, 4);
		}
		t = parse_as(ID_FORMATS);
		assert_int_equal(t->packet_count, 2);
		assert_int_equal(t->packets[1].time_ns, 7);
		assert_int_equal(t->ids_good, 2);
		trace_destroy(t);

		f.length -= 10;
		refused("x.pcap: the file is truncated in packet 2: expected whole packets to the end (copy it again, "
			"or "
			"keep the whole ones with `editcap -r IN OUT 1-1`) (");
	}
}

static void truncated(void **state)
{
	(void)state;
	start(false, false);
	record(1, 0, oct_frame(1, 80, 0), 80, 80);
	record(1, 1, oct_frame(2, 80, 0), 80, 80);
	f.length -= 1;
	refused("x.pcap: the file is truncated in packet 2: expected whole packets");
	f.length -= 80; /* inside the record header */
	refused("x.pcap: the file is truncated in packet 2: expected whole packets");
	f.length = 24 + 96 + 1;
	refused("x.pcap: the file is truncated in packet 2: expected whole packets");
	f.length = 20;
	refused("x.pcap: not a capture file: expected pcap or pcapng (");
}

static void concatenated(void **state)
{
	static const char *const message =
		"x.pcap: after packet 1 the header of another capture file follows: expected "
		"one capture, not several concatenated (join captures with `mergecap";

	(void)state;
	for (unsigned kind = 0; kind < 8; kind++) {
		start(kind & 1, kind & 2);
		record(1, 0, oct_frame(1, 80, 0), 80, 80);
		f.big = kind & 4 ? !f.big : f.big;
		put_header(1);
		record(1, 1, oct_frame(2, 80, 0), 80, 80);
		refused(message);
	}
	start(false, false);
	record(1, 0, oct_frame(1, 80, 0), 80, 80);
	put(0x0a0d0d0a, 4), put(28, 4), put(0x1a2b3c4d, 4), put(1, 2), put(0, 2), put(~0u, 4), put(~0u, 4), put(28, 4);
	refused(message);
}

static void packets_that_cannot_be_sent(void **state)
{
	(void)state;
	start(false, false);
	record(1, 0, oct_frame(1, 80, 0), 80, 80);
	record(1, 1, oct_frame(2, 80, 0), 64, 1500);
	refused("x.pcap: packet 2: 64 of its 1500 bytes were captured: expected all, as a probe is sent whole (capture "
		"again with full snapshot length, `tcpdump -s 0`)");
	start(false, false);
	record(1, 0, NULL, 80, 60);
	refused("x.pcap: packet 1: holds 80 bytes but states a length of 60: expected the same");
	start(false, false);
	record(1, 0, oct_frame(1, 80, 0), 80, 80);
	record(1, 1, NULL, 0, 0);
	refused("x.pcap: packet 2 has 0 bytes: expected 14 to 9018 (no FCS)");
	start(false, false);
	record(1, 1, NULL, 13, 13);
	refused("x.pcap: packet 1 has 13 bytes: expected 14 to 9018 (no FCS)");
	start(false, false);
	record(1, 1, NULL, 9019, 9019);
	refused("x.pcap: packet 1 has 9019 bytes: expected 14 to 9018 (no FCS)");
	start(false, false);
	record(1, 1000000, NULL, 60, 60);
	refused("x.pcap: packet 1: time stamp of 1 s and 1000000000 ns: expected seconds from 0 on and less than");
	start(false, false);
	put(1, 4), put(1, 4), put(900000, 4), put(900000, 4);
	refused("x.pcap: packet 1 cannot be read: ");
}

static void times_after_2038(void **state)
{
	struct trace *t;

	(void)state;
	start(false, true);
	record(0xfffffff0, 5, NULL, 60, 60);
	t = parse_as(ID_FORMATS);
	assert_true(t->first_time_ns == INT64_C(4294967280000000005));
	trace_destroy(t);
}

static void smallest_and_largest(void **state)
{
	struct trace *t;

	(void)state;
	start(true, true);
	record(1, 0, NULL, 14, 14);
	record(1, 0, oct_frame(3, 9018, 0), 9018, 9018);
	t = parse_as(ID_FORMATS);
	assert_int_equal(t->shortest_bytes, 14);
	assert_int_equal(t->longest_bytes, 9018);
	assert_int_equal(t->ids_good, 1);
	assert_int_equal(t->ids_unreadable, 1);
	trace_destroy(t);
}

static void vlan_and_qinq(void **state)
{
	struct trace *t;

	(void)state;
	start(false, true);
	for (uint32_t i = 0; i < 3; i++)
		record(1, i, oct_frame(i + 1, 90, (uint8_t)i), 90, 90);
	t = parse_as(ID_FORMATS);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(t->packets[i].id_offset_bytes, 42 + 4 * i);
	assert_int_equal(t->ids_good, 3);
	trace_destroy(t);
}

static void files_that_are_no_captures(void **state)
{
	(void)state;
	f.length = 0;
	refused("x.pcap: empty file: expected a pcap or pcapng capture");
	memcpy(f.bytes, "not a capture at all, really", 28);
	f.length = 28;
	refused("x.pcap: not a capture file: expected pcap or pcapng (");
	f.length = 3;
	refused("x.pcap: not a capture file: expected pcap or pcapng (");
	start(false, false);
	refused("x.pcap: no packets in this capture: expected at least 1");
	f.length = 0;
	f.big = f.nano = false;
	put_header(113);
	record(1, 0, NULL, 60, 60);
	refused("x.pcap: link type 113 (LINUX_SLL): expected Ethernet, EN10MB (capture on one interface, not on any)");
}

static void ids_are_counted_not_guessed(void **state)
{
	struct trace *t;
	uint8_t *bytes;

	(void)state;
	start(false, false);
	record(1, 0, oct_frame(10, 80, 0), 80, 80);
	record(1, 1, oct_frame(11, 80, 0), 80, 80);
	record(1, 2, oct_frame(10, 80, 0), 80, 80);
	record(1, 3, oct_frame(10, 80, 0), 80, 80);
	bytes = oct_frame(1, 80, 0);
	memset(bytes + 42, 'a', 30);
	record(1, 4, bytes, 80, 80);
	bytes = oct_frame(2, 80, 0);
	memcpy(bytes + 54, "99999999999", 11);
	record(1, 5, bytes, 80, 80);
	record(1, 4, oct_frame(12, 80, 0), 80, 80);
	t = parse_as(ID_FORMATS);
	assert_int_equal(t->packet_count, 7);
	assert_int_equal(t->ids_good, 2);
	assert_int_equal(t->ids_shared, 3);
	assert_int_equal(t->ids_unreadable, 2);
	assert_int_equal(t->packets[4].id_status, ID_NOT_A_PROBE);
	assert_int_equal(t->packets[5].id_status, ID_UNREADABLE);
	assert_true(t->packets[0].id_shared && t->packets[3].id_shared && !t->packets[1].id_shared);
	assert_int_equal(t->times_back, 1);
	assert_int_equal(t->packets[6].time_ns, 4000);
	trace_destroy(t);
	/* A format that is given is not second-guessed. */
	t = parse_as(ID_NATIVE);
	assert_int_equal(t->format, ID_NATIVE);
	assert_int_equal(t->ids_unreadable, 7);
	trace_destroy(t);
	t = parse_as(ID_NONE);
	assert_int_equal(t->ids_good, 0);
	trace_destroy(t);
}

static char dir[64];

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tare-test-XXXXXX");
	return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
	static const char *const names[] = { "a.pcap", "a.pcap.part", "empty", "b.pcap" };

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_dir(names[i]));
	return rmdir(dir);
}

static void writes_what_it_reads(void **state)
{
	struct trace_writer *w;
	struct trace *t;

	(void)state;
	assert_int_equal(trace_writer_open(in_dir("a.pcap"), &w, &err), 0);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(trace_writer_put(w, INT64_C(1700000000000000001) + 2000000 * (int64_t)i,
						  oct_frame(i + 1, 60 + i, 0), 60 + i, &err),
				 0);
	assert_int_equal(access(in_dir("a.pcap"), F_OK), -1); /* nothing by that name until it is whole */
	assert_int_equal(trace_writer_close(w, &err), 0);
	assert_int_equal(access(in_dir("a.pcap.part"), F_OK), -1);
	assert_int_equal(trace_load(in_dir("a.pcap"), ID_FORMATS, &t, &err), 0);
	assert_int_equal(t->packet_count, 1000);
	assert_int_equal(t->ids_good, 1000);
	assert_true(t->first_time_ns == INT64_C(1700000000000000001));
	assert_int_equal(t->packets[999].time_ns, 1998000000);
	assert_int_equal(t->packets[999].length_bytes, 1059);
	assert_memory_equal(t->bytes + t->packets[999].offset_bytes, oct_frame(1000, 1059, 0), 1059);
	trace_destroy(t);
	assert_int_equal(trace_writer_close(NULL, &err), 0);
}

static void files_that_cannot_be_opened(void **state)
{
	struct trace *t = NULL;
	struct trace_writer *w;
	char expected[300];
	FILE *empty;

	(void)state;
	snprintf(expected, sizeof(expected), "%s: cannot open this trace: No such file or directory", in_dir("none"));
	assert_int_equal(trace_load(in_dir("none"), ID_FORMATS, &t, &err), -2);
	assert_string_equal(err.message, expected);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_true(trace_load(dir, ID_FORMATS, &t, &err) < 0);
	assert_non_null(strstr(err.message, ": is a directory: expected a pcap or pcapng file"));
	empty = fopen(in_dir("empty"), "w");
	assert_non_null(empty);
	fclose(empty);
	assert_true(trace_load(in_dir("empty"), ID_FORMATS, &t, &err) < 0);
	assert_non_null(strstr(err.message, "/empty: empty file: expected"));
	assert_true(trace_load("/dev/null", ID_FORMATS, &t, &err) < 0);
	assert_non_null(strstr(err.message, "not a capture file"));
	assert_null(t);
	assert_true(trace_writer_open(in_dir("no/such"), &w, &err) < 0);
	assert_int_equal(err.kind, ERR_HOST);
}

/* A full disk, as a limit on file size: an error, and no file. */
static void full_disk(void **state)
{
	struct rlimit before, little;
	struct trace_writer *w;
	int put_failed = 0, close_failed;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = before;
	little.rlim_cur = 20000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	assert_int_equal(trace_writer_open(in_dir("b.pcap"), &w, &err), 0);
	for (uint32_t i = 0; i < 100 && !put_failed; i++)
		put_failed = trace_writer_put(w, 0, oct_frame(i, 1000, 0), 1000, &err);
	close_failed = trace_writer_close(w, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	assert_true(put_failed < 0);
	assert_true(close_failed < 0);
	assert_int_equal(err.kind, ERR_HOST);
	assert_int_equal(access(in_dir("b.pcap"), F_OK), -1);
	assert_int_equal(access(in_dir("b.pcap.part"), F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_order_and_resolution),
		cmocka_unit_test(pcapng),
		cmocka_unit_test(truncated),
		cmocka_unit_test(concatenated),
		cmocka_unit_test(packets_that_cannot_be_sent),
		cmocka_unit_test(times_after_2038),
		cmocka_unit_test(smallest_and_largest),
		cmocka_unit_test(vlan_and_qinq),
		cmocka_unit_test(files_that_are_no_captures),
		cmocka_unit_test(ids_are_counted_not_guessed),
		cmocka_unit_test_setup_teardown(writes_what_it_reads, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(files_that_cannot_be_opened, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(full_disk, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
