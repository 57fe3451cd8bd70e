/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "packet/frame.h"
#include "packet/probe_id.h"

static uint8_t frame[2048];

static uint32_t build(enum frame_kind kind, uint32_t length_bytes)
{
	struct frame_template t;

	frame_template_default(&t, kind, length_bytes);
	assert_int_equal(frame_build(&t, frame, NULL), 0);
	return frame_template_headers(&t);
}

/* Text put at an offset of a frame of dots. */
static void dots(uint32_t length_bytes, uint32_t at, const char *text)
{
	memset(frame, '.', length_bytes);
	memcpy(frame + at, text, strlen(text));
}

static void names(void **state)
{
	enum id_format f;

	(void)state;
	for (unsigned i = 0; i < ID_FORMATS; i++) {
		assert_int_equal(id_format_find(id_formats[i].name, &f), 0);
		assert_int_equal(f, i);
	}
	assert_true(id_format_find("native", &f) < 0);
}

static void native_reads_back(void **state)
{
	static const uint32_t sequences[] = { 0, 1, 255, 65536, 0x54415245, UINT32_MAX };
	uint32_t at = build(FRAME_KIND_UDP4, 60), id;
	struct id_reader r;

	(void)state;
	assert_true(at + ID_NATIVE_BYTES <= 56);
	id_reader_init(&r, ID_NATIVE, 0x1234);
	id_reader_hint(&r, at);
	for (unsigned i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		id_native_write(frame + at, sequences[i], 0x1234);
		assert_int_equal(id_read(&r, frame, 60, &id), ID_OK);
		assert_int_equal(id, sequences[i]);
	}
	assert_int_equal(r.searches, 0);
	id_native_write(frame + at, 7, 0x1234 | ID_TAG_WARM_UP);
	assert_int_equal(id_read(&r, frame, 60, &id), ID_WARM_UP);
	id_native_write(frame + at, 7, 0x1235);
	assert_int_equal(id_read(&r, frame, 60, &id), ID_NOT_A_PROBE);
	assert_int_equal(id, UINT32_MAX);
	assert_int_equal(r.searches, 0);
	id_native_write(frame + at, 7, 0x1234);
	assert_int_equal(id_read(&r, frame, at + ID_NATIVE_BYTES - 1, &id), ID_NOT_A_PROBE);
	assert_int_equal(id_read(&r, frame, 0, &id), ID_NOT_A_PROBE);
}

/* The layout is a wire format: bytes, not only agreement with itself. */
static void native_bytes(void **state)
{
	uint8_t id[ID_NATIVE_BYTES];
	static const uint8_t expected[] = { 'T', 'A', 'R', 'E', 0, 0, 0, 2, 0x12, 0x34, 0x54, 0x49, 0xf2, 0xf9 };

	(void)state;
	id_native_write(id, 2, 0x1234);
	assert_memory_equal(id, expected, sizeof(expected));
}

/* Every single flipped bit of magic, sequence, tag and check: never another id, and seen as a damaged probe. */
static void native_flips(void **state)
{
	uint32_t at = build(FRAME_KIND_UDP4, 60);
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (unsigned n = 0; n < 2000; n++) {
		uint16_t tag = (uint16_t)(1 + rng_below(&rng, ID_TAG_MASK));
		uint32_t sequence = (uint32_t)rng_u64(&rng), id;
		struct id_reader r;

		id_reader_init(&r, ID_NATIVE, tag);
		id_reader_hint(&r, at);
		id_native_write(frame + at, sequence, tag);
		for (unsigned bit = 0; bit < 96; bit++) {
			frame[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(id_read(&r, frame, 60, &id), ID_UNREADABLE);
			frame[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

static void native_leaves_sums_right(void **state)
{
	static const enum frame_kind kinds[] = { FRAME_KIND_UDP4, FRAME_KIND_UDP6, FRAME_KIND_TCP4 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (unsigned k = 0; k < 3; k++) {
		uint32_t at = build(kinds[k], 90);
		struct frame_view v;

		frame_parse(frame, 90, &v);
		for (unsigned n = 0; n < 5000; n++) {
			id_native_write(frame + at, (uint32_t)rng_u64(&rng), (uint16_t)rng_u64(&rng));
			assert_true(frame_checksums_good(frame, &v));
		}
	}
}

static void a_moved_id_is_found_and_learned(void **state)
{
	uint32_t at = build(FRAME_KIND_UDP4, 100), id;
	struct id_reader r;

	(void)state;
	id_reader_init(&r, ID_NATIVE, 9);
	id_reader_hint(&r, at);
	id_native_write(frame + at, 77, 9);
	/* A program that takes 20 bytes of headers away. */
	assert_int_equal(id_read(&r, frame + 20, 80, &id), ID_OK);
	assert_int_equal(id, 77);
	assert_int_equal(r.hints[0], at - 20);
	assert_int_equal(r.hints[1], at);
	assert_int_equal(r.searches, 1);
	assert_int_equal(r.moved, 1);
	assert_int_equal(id_read(&r, frame + 20, 80, &id), ID_OK);
	assert_int_equal(id_read(&r, frame, 100, &id), ID_OK); /* the second hint */
	assert_int_equal(r.searches, 1);
	/* More places than there are hints: all are found, none is written out of bounds. */
	for (uint32_t shift = 0; shift < 30; shift++)
		assert_int_equal(id_read(&r, frame + shift, 100 - shift, &id), ID_OK);
	assert_int_equal(r.hint_count, ID_HINTS_MAX);
	/* A magic that is payload does not hide the id behind it. */
	memcpy(frame + 14, "TARETARE", 8);
	r.hint_count = 0;
	assert_int_equal(id_read(&r, frame, 100, &id), ID_OK);
	assert_int_equal(id, 77);
}

static void foreign_frames(void **state)
{
	struct id_reader r;
	uint32_t id = 5;

	(void)state;
	build(FRAME_KIND_UDP4, 60);
	for (unsigned f = 0; f < ID_FORMATS; f++) {
		id_reader_init(&r, (enum id_format)f, f);
		id_reader_hint(&r, 42);
		assert_int_equal(id_read(&r, frame, 60, &id), ID_NOT_A_PROBE);
		assert_int_equal(id, 5);
	}
}

static void instrument(void **state)
{
	struct instrument_header h = { UINT64_C(0x123456789abc), UINT64_C(0xfedcba987654), 0xdeadbeef }, back;
	static const uint8_t expected[] = { 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xfe, 0xdc,
					    0xba, 0x98, 0x76, 0x54, 0xde, 0xad, 0xbe, 0xef };
	struct id_reader r;
	uint32_t id;

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		uint32_t at = build(k == 0 ? FRAME_KIND_ETHER : FRAME_KIND_IPV4, 60);

		instrument_write(frame + at, &h);
		assert_memory_equal(frame + at, expected, sizeof(expected));
		instrument_read(frame + at, &back);
		assert_true(h.ingress_us == back.ingress_us && h.egress_us == back.egress_us);
		assert_int_equal(back.sequence, h.sequence);
		assert_int_equal(instrument_find(frame, 60), at);
		assert_int_equal(instrument_find(frame, at + 15), -1);
		id_reader_init(&r, ID_INSTRUMENT, 0);
		assert_int_equal(id_read(&r, frame, 60, &id), ID_OK); /* by its place */
		assert_int_equal(id, 0xdeadbeef);
		assert_int_equal(r.searches, 1);
		assert_int_equal(id_read(&r, frame, 60, &id), ID_OK); /* by the hint learned */
		assert_int_equal(r.searches, 1);
		store_be32(frame + at + 12, ID_SEQ_WARM_UP);
		assert_int_equal(id_read(&r, frame, 60, &id), ID_WARM_UP);
		if (k == 0)
			assert_int_equal(id_read(&r, frame, at + 15, &id), ID_UNREADABLE);
	}
	/* Behind a VLAN tag and behind IPv4 options. */
	memmove(frame + 16, frame + 12, 60);
	store_be16(frame + 12, ETHERTYPE_VLAN);
	assert_int_equal(instrument_find(frame, 64), 38);
}

static void oct_strict(void **state)
{
	static const struct {
		const char *text;
		enum id_status status;
		uint32_t id;
		char copy;
	} cases[] = {
		{ "oct-fpga-id:1.", ID_OK, 1, 'o' },
		{ "Pct-fpga-id:20000 ", ID_OK, 20000, 'P' },
		{ "Bct-fpga-id:42x", ID_OK, 42, 'B' },
		{ "oct-fpga-id:4294967295;", ID_OK, UINT32_MAX, 'o' },
		{ "oct-fpga-id:007", ID_OK, 7, 'o' },
		{ "wct-fpga-id:5", ID_WARM_UP, 5, 'w' },
		{ "ooct-fpga-id:12", ID_OK, 12, 'o' },
		{ "oct-fpga-id:4294967296", ID_UNREADABLE, 0, 'o' }, /* over 32 bits */
		{ "oct-fpga-id:99999999999999999999999999", ID_UNREADABLE, 0, 'o' },
		{ "oct-fpga-id:", ID_UNREADABLE, 0, 'o' }, /* no digit */
		{ "oct-fpga-id:x1", ID_UNREADABLE, 0, 'o' },
		{ "oct-fpga-id:-1", ID_UNREADABLE, 0, 'o' },
		{ "oct-fpga-id: 1", ID_UNREADABLE, 0, 'o' },
		{ "oct-fpga-id:1 oct-fpga-id:2", ID_UNREADABLE, 0, 'o' }, /* which? */
		{ "oct-fpga-id:1 Pct-fpga-id:1", ID_OK, 1, 'o' },
		{ "oct-fpga-id:1 oct-fpga-id:", ID_UNREADABLE, 0, 'o' },
		{ "xct-fpga-id:1", ID_NOT_A_PROBE, 0, 0 },
		{ "oct-fpga-ID:1", ID_NOT_A_PROBE, 0, 0 },
		{ "ct-fpga-id:1", ID_NOT_A_PROBE, 0, 0 },
		{ "oct-fpga-id", ID_NOT_A_PROBE, 0, 0 },
		{ "oct-fpgaoct-fpga-id:3", ID_OK, 3, 'o' },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t text_bytes = (uint32_t)strlen(cases[i].text);

		/* At the start, in the middle, and up to the very end of a frame. */
		for (unsigned place = 0; place < 3; place++) {
			uint32_t at = place == 0 ? 0 : place == 1 ? 42 : 100 - text_bytes, id = 0;
			struct id_reader r;
			struct oct_id found = { 0 };

			dots(100, at, cases[i].text);
			if (oct_find(frame, 100, &found) != cases[i].status)
				fail_msg("'%s' at %u: status %d, expected %d", cases[i].text, at,
					 oct_find(frame, 100, &found), cases[i].status);
			assert_int_equal(found.copy, cases[i].copy);
			assert_int_equal(found.id, cases[i].id);
			id_reader_init(&r, ID_OCT, 0);
			assert_int_equal(id_read(&r, frame, 100, &id), cases[i].status);
			/* Again, where the first reading has learned the place. */
			assert_int_equal(id_read(&r, frame, 100, &id), cases[i].status);
			if (cases[i].status == ID_OK) {
				assert_int_equal(id, cases[i].id);
				assert_int_equal(r.searches, 1);
			}
		}
	}
}

static void oct_cut_anywhere(void **state)
{
	struct oct_id found;

	(void)state;
	dots(64, 44, "oct-fpga-id:12345678");
	for (uint32_t length_bytes = 0; length_bytes <= 64; length_bytes++) {
		enum id_status status = oct_find(frame, length_bytes, &found);

		assert_int_equal(status, length_bytes < 56   ? ID_NOT_A_PROBE
					 : length_bytes < 57 ? ID_UNREADABLE
							     : ID_OK);
	}
	assert_int_equal(found.offset_bytes, 44);
	assert_int_equal(found.length_bytes, 20);
}

static void oct_writes_what_it_reads(void **state)
{
	static const uint32_t ids[] = { 0, 9, 10, 20000, UINT32_MAX };
	struct oct_id found;
	uint32_t written_bytes;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		memset(frame, 0, 64);
		written_bytes = oct_write(frame + 30, ids[i]);
		assert_int_equal(written_bytes, strlen((char *)frame + 30));
		assert_int_equal(oct_find(frame, 64, &found), ID_OK);
		assert_int_equal(found.id, ids[i]);
	}
}

static void hints(void **state)
{
	struct id_reader r;

	(void)state;
	id_reader_init(&r, ID_OCT, 0);
	id_reader_hint(&r, 42);
	id_reader_hint(&r, 42);
	id_reader_hint(&r, 70000);
	assert_int_equal(r.hint_count, 1);
	for (uint32_t i = 0; i < 20; i++)
		id_reader_hint(&r, 100 + i);
	assert_int_equal(r.hint_count, ID_HINTS_MAX);
	assert_int_equal(r.hints[0], 42);
	assert_int_equal(r.hints[1], 100);
}

static void detection(void **state)
{
	struct id_found found;
	uint32_t at;

	(void)state;
	at = build(FRAME_KIND_ETHER, 60);
	id_native_write(frame + at, 8, 3);
	id_detect(frame, 60, &found);
	assert_int_equal(found.format, ID_NATIVE); /* although an instrument header could stand there */
	assert_int_equal(found.id, 8);
	assert_int_equal(found.offset_bytes, 14);
	memset(frame + at, 0, 46);
	id_detect(frame, 60, &found);
	assert_int_equal(found.format, ID_INSTRUMENT);
	at = build(FRAME_KIND_UDP4, 90);
	id_detect(frame, 90, &found);
	assert_int_equal(found.format, ID_NONE);
	assert_int_equal(found.status, ID_NOT_A_PROBE);
	oct_write(frame + at, 31);
	id_detect(frame, 90, &found);
	assert_int_equal(found.format, ID_OCT);
	assert_int_equal(found.id, 31);
	assert_int_equal(found.offset_bytes, 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(native_reads_back),
		cmocka_unit_test(native_bytes),
		cmocka_unit_test(native_flips),
		cmocka_unit_test(native_leaves_sums_right),
		cmocka_unit_test(a_moved_id_is_found_and_learned),
		cmocka_unit_test(foreign_frames),
		cmocka_unit_test(instrument),
		cmocka_unit_test(oct_strict),
		cmocka_unit_test(oct_cut_anywhere),
		cmocka_unit_test(oct_writes_what_it_reads),
		cmocka_unit_test(hints),
		cmocka_unit_test(detection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
