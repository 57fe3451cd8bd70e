/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "target/pipeline.h"

/* --- what the tests stand on --- */

enum { FRAME_BYTES = 60, ROOM = 256 };

/* A target on a program, with the settings' defaults but for `name` = `value` pairs. */
struct bed {
	struct arena arena;
	struct settings settings;
	struct target_setup setup;
	struct target *target;
	struct target_ports ports;
	struct err err;
};

static int bed_open(struct bed *b, const char *program, const char *name, const char *value)
{
	int rc;

	memset(b, 0, sizeof(*b));
	arena_init(&b->arena, 0);
	assert_int_equal(settings_init(&b->settings, target_pipeline.settings, &b->arena), 0);
	if (name)
		assert_int_equal(settings_set(&b->settings, name, value, &b->err), 0);
	b->setup = (struct target_setup){
		.settings = &b->settings, .program = program, .frame_bytes = ROOM, .probe_count = 1000
	};
	rc = target_pipeline.open(&b->setup, &b->target, &b->err);
	if (!rc)
		target_pipeline.ports(b->target, &b->ports);
	return rc;
}

static void bed_close(struct bed *b)
{
	target_pipeline.close(b->target);
	arena_release(&b->arena);
}

static void must_open(struct bed *b, const char *program)
{
	if (bed_open(b, program, NULL, NULL))
		fail_msg("%s", b->err.message);
}

static void send(struct bed *b, const uint8_t *bytes, uint32_t length_bytes)
{
	struct io_frame frame;

	assert_int_equal(io_reserve(b->ports.in, &frame, 1, length_bytes), 1);
	memcpy(frame.data, bytes, length_bytes);
	assert_int_equal(io_send(b->ports.in, &frame, 1), 1);
}

/* Poll until the target has had every chance; the next frame of a port, 0: none. */
static uint32_t take(struct bed *b, struct io_port *port, uint8_t *ret_bytes)
{
	struct io_frame frame;
	uint32_t length_bytes = 0;

	for (int i = 0; i < 10000; i++)
		target_pipeline.poll(b->target);
	if (io_receive(port, &frame, 1)) {
		length_bytes = frame.length_bytes;
		assert_true(length_bytes <= ROOM);
		memcpy(ret_bytes, frame.data, length_bytes);
		io_release(port, &frame, 1);
	}
	return length_bytes;
}

static void expect_bytes(const char *what, const uint8_t *got, uint32_t got_bytes, const uint8_t *want,
			 uint32_t want_bytes)
{
	if (got_bytes != want_bytes)
		fail_msg("%s: %u bytes, expected %u", what, got_bytes, want_bytes);
	for (uint32_t i = 0; i < want_bytes; i++)
		if (got[i] != want[i])
			fail_msg("%s: byte %u is 0x%02x, expected 0x%02x", what, i, got[i], want[i]);
}

/* Send `in`; the bypass must have it as it is, the path `want` (0 bytes: nothing), and both no more. */
static void expect(struct bed *b, const uint8_t *in, uint32_t in_bytes, const uint8_t *want, uint32_t want_bytes)
{
	uint8_t got[ROOM];

	send(b, in, in_bytes);
	expect_bytes("path", got, take(b, b->ports.path, got), want, want_bytes);
	expect_bytes("bypass", got, take(b, b->ports.bypass, got), in, in_bytes);
	assert_int_equal(take(b, b->ports.path, got), 0);
	assert_int_equal(take(b, b->ports.bypass, got), 0);
}

/* A probe as Tare sends it, written out: Ethernet, IPv4, UDP to port 9, 18 bytes of payload. */
static const uint8_t probe[FRAME_BYTES] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, /* 0 */
	0x45, 0x00, 0x00, 0x2e, 0x12, 0x34, 0x00, 0x00, 0x40, 0x11, 0x53, 0x8a, 0x0a, 0x00,
	0x00, 0x01, 0x0a, 0x00, 0x01, 0x01,             /* 14 */
	0xc0, 0x00, 0x00, 0x09, 0x00, 0x1a, 0x00, 0x00, /* 34 */
	'T',  'A',  'R',  'E',  0,    0,    0,    7,    0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc,
	1,    2,    3,    4, /* 42 */
};

/* The probe with bytes from `at` on replaced. */
struct patch {
	uint32_t at, count;
	uint8_t bytes[12];
};

static const uint8_t *patched(const struct patch *patches, size_t count, uint8_t *ret_frame)
{
	memcpy(ret_frame, probe, FRAME_BYTES);
	for (size_t i = 0; i < count; i++)
		memcpy(ret_frame + patches[i].at, patches[i].bytes, patches[i].count);
	return ret_frame;
}

#define PATCHED(frame, ...)                                                                                            \
	patched((const struct patch[]){ __VA_ARGS__ },                                                                 \
		sizeof((const struct patch[]){ __VA_ARGS__ }) / sizeof(struct patch), frame)

/* --- the programs --- */

static void null_passes_all(void **state)
{
	static const uint8_t shortest[14] = { 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5 };
	uint8_t longest[ROOM];
	struct bed b;

	(void)state;
	must_open(&b, "null");
	expect(&b, probe, FRAME_BYTES, probe, FRAME_BYTES);
	expect(&b, shortest, sizeof(shortest), shortest, sizeof(shortest));
	for (uint32_t i = 0; i < ROOM; i++)
		longest[i] = (uint8_t)(i * 7);
	expect(&b, longest, ROOM, longest, ROOM);
	bed_close(&b);
}

static void forward_looks_up_stations(void **state)
{
	uint8_t frame[FRAME_BYTES];
	struct bed b;

	(void)state;
	must_open(&b, "forward");
	expect(&b, probe, FRAME_BYTES, probe, FRAME_BYTES);
	/* Known, but behind another port than the path. */
	expect(&b, PATCHED(frame, { 0, 6, { 2, 0, 0, 0, 0, 3 } }), FRAME_BYTES, NULL, 0);
	/* Unknown: one bit off. */
	expect(&b, PATCHED(frame, { 0, 6, { 2, 0, 0, 0, 0, 0x12 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 0, 6, { 2, 1, 0, 0, 0, 2 } }), FRAME_BYTES, NULL, 0);
	/* What is behind Ethernet does not matter. */
	expect(&b, PATCHED(frame, { 12, 2, { 0x86, 0xdd } }), FRAME_BYTES, PATCHED(frame, { 12, 2, { 0x86, 0xdd } }),
	       FRAME_BYTES);
	bed_close(&b);
	/* The same program; its path is now port 3. */
	if (bed_open(&b, "forward", "port", "3"))
		fail_msg("%s", b.err.message);
	expect(&b, probe, FRAME_BYTES, NULL, 0);
	PATCHED(frame, { 0, 6, { 2, 0, 0, 0, 0, 3 } });
	expect(&b, frame, FRAME_BYTES, frame, FRAME_BYTES);
	bed_close(&b);
}

static void fivetuple_applies_rules(void **state)
{
	uint8_t frame[FRAME_BYTES];
	struct bed b;

	(void)state;
	must_open(&b, "fivetuple");
	expect(&b, probe, FRAME_BYTES, probe, FRAME_BYTES);
	/* Another source port, another host of the network: the same rule. */
	PATCHED(frame, { 34, 2, { 0xc0, 0x0f } }, { 29, 1, { 77 } });
	expect(&b, frame, FRAME_BYTES, frame, FRAME_BYTES);
	/* TCP, allowed; TCP to port 22: denied by the rule before. */
	PATCHED(frame, { 23, 1, { 6 } });
	expect(&b, frame, FRAME_BYTES, frame, FRAME_BYTES);
	expect(&b, PATCHED(frame, { 23, 1, { 6 } }, { 36, 2, { 0, 22 } }), FRAME_BYTES, NULL, 0);
	/* To port 53: allowed, by port 3. To port 10: no rule. */
	expect(&b, PATCHED(frame, { 36, 2, { 0, 53 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 36, 2, { 0, 10 } }), FRAME_BYTES, NULL, 0);
	/* The first rule denies what the fifth allows. */
	expect(&b, PATCHED(frame, { 29, 1, { 66 } }), FRAME_BYTES, NULL, 0);
	/* Another network; another protocol; IPv4 with options; no IPv4. */
	expect(&b, PATCHED(frame, { 28, 1, { 2 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 23, 1, { 1 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 14, 1, { 0x46 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 12, 2, { 0x88, 0xb5 } }), FRAME_BYTES, NULL, 0);
	bed_close(&b);
}

static void removeheader_takes_28_bytes(void **state)
{
	uint8_t frame[FRAME_BYTES], want[FRAME_BYTES];
	struct bed b;

	(void)state;
	memcpy(want, probe, 12);
	memcpy(want + 12, "\x88\xb5", 2);
	memcpy(want + 14, probe + 42, FRAME_BYTES - 42);
	must_open(&b, "removeheader");
	expect(&b, probe, FRAME_BYTES, want, FRAME_BYTES - 28);
	/* To another end: port 2. To no end; not UDP; no IPv4. */
	expect(&b, PATCHED(frame, { 33, 1, { 2 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 33, 1, { 3 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 23, 1, { 6 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 12, 2, { 0x86, 0xdd } }), FRAME_BYTES, NULL, 0);
	/* And again: nothing of the last frames stays. */
	expect(&b, probe, FRAME_BYTES, want, FRAME_BYTES - 28);
	bed_close(&b);
}

static void checksum_is_computed_anew(void **state)
{
	/* Header checksums by hand (RFC 1071): 0x538a with TTL 64, 0x548a with 63, 0x918a with 2, 0x928a with 1. */
	static const uint8_t next_hop[12] = { 2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 2 };
	uint8_t frame[FRAME_BYTES], want[FRAME_BYTES];
	struct bed b;

	(void)state;
	must_open(&b, "checksum");
	PATCHED(want, { 22, 4, { 63, 0x11, 0x54, 0x8a } });
	memcpy(want, next_hop, 12);
	expect(&b, probe, FRAME_BYTES, want, FRAME_BYTES);
	/* Not updated, computed: a wrong one comes out right. */
	expect(&b, PATCHED(frame, { 24, 2, { 0xde, 0xad } }), FRAME_BYTES, want, FRAME_BYTES);
	/* The last hop but one. */
	PATCHED(want, { 22, 4, { 1, 0x11, 0x92, 0x8a } });
	memcpy(want, next_hop, 12);
	expect(&b, PATCHED(frame, { 22, 4, { 2, 0x11, 0x91, 0x8a } }), FRAME_BYTES, want, FRAME_BYTES);
	/* TTL used up; zero; options; not IPv4. */
	expect(&b, PATCHED(frame, { 22, 4, { 1, 0x11, 0x92, 0x8a } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 22, 1, { 0 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 14, 1, { 0x46 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 12, 2, { 0x08, 0x06 } }), FRAME_BYTES, NULL, 0);
	/* The longest prefix: 10.0.9.9 under 10/8 (port 2), 10.0.1.200 under 10.0.1.128/25 (port 3), 11.0.1.1 none. */
	expect(&b, PATCHED(frame, { 32, 2, { 9, 9 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 33, 1, { 200 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 30, 1, { 11 } }), FRAME_BYTES, NULL, 0);
	bed_close(&b);
	if (bed_open(&b, "checksum", "port", "3"))
		fail_msg("%s", b.err.message);
	PATCHED(want, { 22, 4, { 63, 0x11, 0x53, 0xc3 } }, { 33, 1, { 200 } });
	memcpy(want, "\x02\x00\x00\x00\x00\x0c\x02\x00\x00\x00\x00\x02", 12);
	expect(&b, PATCHED(frame, { 33, 1, { 200 } }), FRAME_BYTES, want, FRAME_BYTES);
	bed_close(&b);
}

/* --- in time --- */

static void bypass_goes_first(void **state)
{
	uint8_t got[ROOM];
	struct io_frame frame;
	struct bed b;

	(void)state;
	if (bed_open(&b, "null", "hold", "1ms"))
		fail_msg("%s", b.err.message);
	send(&b, probe, FRAME_BYTES);
	assert_int_equal(target_pipeline.poll(b.target), 1);
	assert_int_equal(io_receive(b.ports.bypass, &frame, 1), 1);
	io_release(b.ports.bypass, &frame, 1);
	assert_int_equal(io_receive(b.ports.path, &frame, 1), 0);
	while (!io_receive(b.ports.path, &frame, 1))
		target_pipeline.poll(b.target);
	io_release(b.ports.path, &frame, 1);
	assert_int_equal(take(&b, b.ports.bypass, got), 0);
	bed_close(&b);
}

static void many_keep_their_order(void **state)
{
	uint8_t frame[FRAME_BYTES];
	struct io_frame got;
	struct bed b;

	(void)state;
	must_open(&b, "forward");
	for (uint8_t i = 0; i < 100; i++)
		send(&b, PATCHED(frame, { 49, 1, { i } }), FRAME_BYTES);
	for (uint8_t i = 0; i < 100; i++) {
		while (!io_receive(b.ports.path, &got, 1))
			target_pipeline.poll(b.target);
		expect_bytes("path", got.data, got.length_bytes, PATCHED(frame, { 49, 1, { i } }), FRAME_BYTES);
		io_release(b.ports.path, &got, 1);
		assert_int_equal(io_receive(b.ports.bypass, &got, 1), 1);
		assert_int_equal(got.data[49], i);
		io_release(b.ports.bypass, &got, 1);
	}
	bed_close(&b);
}

/* A run that ends early leaves nothing to the next. */
static void begin_run_forgets(void **state)
{
	uint8_t got[ROOM];
	struct bed b;

	(void)state;
	if (bed_open(&b, "null", "hold", "1ms"))
		fail_msg("%s", b.err.message);
	send(&b, probe, FRAME_BYTES);
	assert_int_equal(target_pipeline.poll(b.target), 1);
	target_pipeline.begin_run(b.target, 1);
	usleep(2000);
	assert_int_equal(take(&b, b.ports.path, got), 0);
	bed_close(&b);
}

static void restarts_are_anew(void **state)
{
	struct bed b;

	(void)state;
	for (int i = 0; i < 40; i++) {
		must_open(&b, i % 2 ? "fivetuple" : "checksum");
		bed_close(&b);
	}
}

static void description_names_everything(void **state)
{
	struct bed b;
	const char *text;

	(void)state;
	must_open(&b, "forward");
	text = target_pipeline.describe(b.target);
	assert_non_null(strstr(text, "\"engine\":\"DPDK 2"));
	assert_non_null(strstr(text, "\"program\":\"forward\""));
	assert_non_null(strstr(text, "\"entries\":4,"));
	assert_non_null(strstr(text, "by p4c-dpdk 1."));
	assert_non_null(strstr(text, "\"hold_ns\":1000,"));
	assert_null(strstr(text, "\"spec_fnv1a\":\"0000000000000000\""));
	bed_close(&b);
}

static char account[512];

static void take_account(void *context, enum log_level level, const char *message)
{
	(void)context;
	(void)level;
	if (strstr(message, "frames run"))
		snprintf(account, sizeof(account), "%s", message);
}

/* Where frames went is said at the end: a lost probe is explained. */
static void account_is_given(void **state)
{
	uint8_t frame[FRAME_BYTES];
	struct bed b;

	(void)state;
	must_open(&b, "forward");
	expect(&b, probe, FRAME_BYTES, probe, FRAME_BYTES);
	expect(&b, PATCHED(frame, { 0, 6, { 2, 0, 0, 0, 0, 3 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 0, 6, { 2, 0, 0, 0, 0, 9 } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 0, 6, { 2, 0, 0, 0, 0, 8 } }), FRAME_BYTES, NULL, 0);
	log_to(take_account, NULL);
	bed_close(&b);
	log_to(NULL, NULL);
	assert_non_null(strstr(account, "4 frames run: 1 to the path, 2 dropped, 1 to other ports, 0 to ports"));
}

/* --- programs of the user's, good and bad --- */

static char folder[] = "/tmp/tare-pipeline-XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* `head` before, and `apply` as the instructions of a small program with one header and one table. */
static void write_program(const char *name, const char *apply, const char *entries)
{
	static const char head[] =
		"struct e_t {\n\tbit<48> dst\n\tbit<48> src\n\tbit<16> type\n}\n"
		"struct port_arg_t {\n\tbit<32> port\n}\n"
		"struct m_t {\n\tbit<32> in\n\tbit<32> out\n\tbit<128> wide\n}\n"
		"metadata instanceof m_t\nheader e instanceof e_t\n"
		"action to args instanceof port_arg_t {\n\tmov m.out t.port\n\treturn\n}\n"
		"action none args none {\n\treturn\n}\n"
		"table ports {\n\tkey {\n\t\th.e.type exact\n\t}\n\tactions {\n\t\tto\n\t\tnone\n\t}\n"
		"\tdefault_action none args none\n\tsize 16\n}\n";
	char text[2048], file[64];

	snprintf(text, sizeof(text), "%sapply {\n%s}\n", head, apply);
	snprintf(file, sizeof(file), "%s.spec", name);
	write_file(file, text);
	snprintf(file, sizeof(file), "%s.entries", name);
	if (entries)
		write_file(file, entries);
}

static int open_own(struct bed *b, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return bed_open(b, path, NULL, NULL);
}

static void own_program_with_entries(void **state)
{
	static const char apply[] =
		"rx m.in\nmov m.out 2\nextract h.e\ntable ports\nadd h.e.src 1\nemit h.e\ntx m.out\n";
	uint8_t want[FRAME_BYTES], frame[FRAME_BYTES];
	struct bed b;

	(void)state;
	write_program("own", apply,
		      "ports match 0x0800 action to port 1\nports match 0x88b5 action to port 4000000000\n");
	if (open_own(&b, "own.spec"))
		fail_msg("%s", b.err.message);
	PATCHED(want, { 11, 1, { 2 } });
	expect(&b, probe, FRAME_BYTES, want, FRAME_BYTES);
	/* No entry: port 2. A port that no pipeline has: dropped, and the next one passes. */
	expect(&b, PATCHED(frame, { 12, 2, { 0x86, 0xdd } }), FRAME_BYTES, NULL, 0);
	expect(&b, PATCHED(frame, { 12, 2, { 0x88, 0xb5 } }), FRAME_BYTES, NULL, 0);
	expect(&b, probe, FRAME_BYTES, want, FRAME_BYTES);
	bed_close(&b);
	/* A default in the table file counts too. */
	write_program("default", apply, "ports default action to port 1\n");
	if (open_own(&b, "default.spec"))
		fail_msg("%s", b.err.message);
	expect(&b, probe, FRAME_BYTES, want, FRAME_BYTES);
	bed_close(&b);
}

/* DPDK compares a field with a constant, not a constant with a field; p4c writes both. */
static void comparisons_are_turned(void **state)
{
	static const char *const stay[] = { "jmpeq OUT 0x800 h.e.type", "jmpneq OUT 0x801 h.e.type",
					    "jmpgt OUT 0x801 h.e.type", "jmplt OUT 0x7ff h.e.type" };
	static const char *const go[] = { "jmpeq OUT 0x801 h.e.type", "jmpneq OUT 0x800 h.e.type",
					  "jmpgt OUT 0x800 h.e.type", "jmplt OUT 0x800 h.e.type" };
	char apply[256];
	struct bed b;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		bool out = i < 4;

		snprintf(apply, sizeof(apply),
			 "rx m.in\nmov m.out 1\nextract h.e\n%s\nmov m.out 2\nOUT : emit h.e\ntx m.out\n",
			 out ? stay[i] : go[i - 4]);
		write_program("turned", apply, NULL);
		if (open_own(&b, "turned.spec"))
			fail_msg("%s", b.err.message);
		expect(&b, probe, FRAME_BYTES, probe, out ? FRAME_BYTES : 0);
		bed_close(&b);
	}
}

/* DPDK extracts without looking at the length: a cut frame must do no harm. */
static void cut_frames_do_no_harm(void **state)
{
	uint8_t got[ROOM];
	struct bed b;

	(void)state;
	must_open(&b, "checksum");
	for (uint32_t length = 14; length < 34; length++) {
		send(&b, probe, length);
		(void)take(&b, b.ports.path, got);
		expect_bytes("bypass", got, take(&b, b.ports.bypass, got), probe, length);
	}
	bed_close(&b);
}

static void endless_program_is_given_up(void **state)
{
	uint8_t got[ROOM];
	struct bed b;

	(void)state;
	write_program("endless", "rx m.in\nrecirculate\ntx m.out\n", NULL);
	if (open_own(&b, "endless.spec"))
		fail_msg("%s", b.err.message);
	for (int i = 0; i < 3; i++) {
		send(&b, probe, FRAME_BYTES);
		assert_int_equal(take(&b, b.ports.path, got), 0);
		expect_bytes("bypass", got, take(&b, b.ports.bypass, got), probe, FRAME_BYTES);
	}
	bed_close(&b);
}

static void refused(const char *name, const char *message)
{
	struct bed b;

	assert_true(open_own(&b, name) < 0);
	if (!strstr(b.err.message, message))
		fail_msg("\"%s\" is not in \"%s\"", message, b.err.message);
	assert_int_equal(b.err.kind, ERR_USAGE);
	assert_null(b.target);
	bed_close(&b);
}

static void refuse_apply(const char *apply, const char *message)
{
	write_program("bad", apply, NULL);
	refused("bad.spec", message);
}

/* Instructions begin at line 35. */
static void bad_programs_are_refused_by_line(void **state)
{
	(void)state;
	refuse_apply("rx m.in\nmov m.out 1\nrss h_0 m.out m.in\ntx m.out\n", "bad.spec:37: rss: newer than DPDK 22.11");
	refuse_apply("rx m.in\nmovh m.wide m.in\ntx m.out\n", "bad.spec:36: movh: newer than DPDK 22.11");
	refuse_apply("rx m.in\nextern e.x.y\ntx m.out\n", "bad.spec:36: extern: no extern objects");
	refuse_apply("rx m.in\nfrobnicate m.out\ntx m.out\n", "bad.spec:36: frobnicate: no instruction of DPDK 22.11");
	refuse_apply("rx m.in\nA : mov m.out 1\njmp A\ntx m.out\n",
		     "bad.spec:37: \"jmp A\" jumps backwards, to line 36");
	refuse_apply("rx m.in\ntx 16\n", "bad.spec:36: \"tx 16\": expected a port below 16");
	/* DPDK's own refusals, with the line found. */
	refuse_apply("rx m.in\nmov m.nothing 1\ntx m.out\n",
		     "bad.spec:36: DPDK refuses \"mov m.nothing 1\": Invalid argument");
	refuse_apply("rx m.in\njmpeq B 1 2\nB : mov m.out 1\ntx m.out\n",
		     "bad.spec:36: DPDK refuses \"jmpeq B 1 2\": Invalid argument");
	refuse_apply("mov m.out 1\nrx m.in\ntx m.out\n", "DPDK refuses");
	refused("nowhere.spec", "nowhere.spec: No such file or directory");
}

static void bad_entries_are_refused_by_line(void **state)
{
	static const char apply[] = "rx m.in\nextract h.e\ntable ports\nemit h.e\ntx m.out\n";

	(void)state;
	write_program("entries", apply, "ports match 1 action to port 1\nports match 1 action to port 2\n");
	write_program("entries", apply, "; first\nport match 1 action to port 1\n");
	refused("entries.spec", "entries.entries:2: table port: not in ");
	write_program("entries", apply, "ports match 1 action away port 1\n");
	refused("entries.spec", "entries.entries:1: action away: not one of the actions of table ports");
	write_program("entries", apply, "ports match 0x10000 action to port 1\n");
	refused("entries.spec", "entries.entries:1: h.e.type \"0x10000\": does not fit its 16 bits");
}

static void missing_things_are_named(void **state)
{
	struct bed b;

	(void)state;
	assert_int_equal(bed_open(&b, "forwrad", NULL, NULL), -ENOENT);
	assert_non_null(strstr(b.err.message, "did you mean forward?"));
	memset(&b.err, 0, sizeof(b.err));
	assert_int_equal(target_pipeline.check(&b.setup, &b.err), -ENOENT);
	assert_non_null(strstr(b.err.message, "did you mean forward?"));
	bed_close(&b);
	assert_int_equal(bed_open(&b, "forward", "entries", "/nonexistent/x.entries"), -ENOENT);
	assert_non_null(strstr(b.err.message, "/nonexistent/x.entries: No such file"));
	bed_close(&b);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_passes_all),
		cmocka_unit_test(forward_looks_up_stations),
		cmocka_unit_test(fivetuple_applies_rules),
		cmocka_unit_test(removeheader_takes_28_bytes),
		cmocka_unit_test(checksum_is_computed_anew),
		cmocka_unit_test(bypass_goes_first),
		cmocka_unit_test(many_keep_their_order),
		cmocka_unit_test(begin_run_forgets),
		cmocka_unit_test(restarts_are_anew),
		cmocka_unit_test(description_names_everything),
		cmocka_unit_test(account_is_given),
		cmocka_unit_test(own_program_with_entries),
		cmocka_unit_test(comparisons_are_turned),
		cmocka_unit_test(cut_frames_do_no_harm),
		cmocka_unit_test(endless_program_is_given_up),
		cmocka_unit_test(bad_programs_are_refused_by_line),
		cmocka_unit_test(bad_entries_are_refused_by_line),
		cmocka_unit_test(missing_things_are_named),
	};
	struct err err;

	if (target_pipeline.probe(&err)) {
		printf("built without DPDK, or it does not start: %s\n", err.message);
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
