/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "packet/frame.h"
#include "packet/int_shim.h"

static uint8_t frame[FRAME_MAX_BYTES + 64];

static void build(enum frame_kind kind, uint32_t length_bytes, uint8_t vlan_count)
{
	struct frame_template t;

	frame_template_default(&t, kind, length_bytes);
	t.vlan_count = vlan_count;
	t.vlan_tci[0] = 100;
	t.vlan_tci[1] = 0x2000 | 7;
	assert_int_equal(frame_build(&t, frame, NULL), 0);
}

/* A UDP/IPv4 frame written out by hand, with checksums worked out by hand: the builder must agree byte for byte. */
static void udp4_bytes(void **state)
{
	static const uint8_t expected[] = {
		2,    0,    0, 0,  0, 2,  2,    0,    0,  0,  0,    1,    0x08, 0x00,                    /* Ethernet */
		0x45, 0,    0, 32, 0, 0,  0,    0,    64, 17, 0x65, 0xcc, 10,   0,    0, 1, 10, 0, 1, 1, /* IPv4 */
		0xc0, 0x00, 0, 9,  0, 12, 0x2a, 0xcb,                                                    /* UDP */
		0,    0,    0, 0,
	};

	(void)state;
	build(FRAME_KIND_UDP4, sizeof(expected), 0);
	assert_memory_equal(frame, expected, sizeof(expected));
}

static void every_kind_parses_back(void **state)
{
	static const uint32_t sizes[] = { 80, 81, 256, 1514, FRAME_MAX_BYTES };
	struct frame_view v;

	(void)state;
	for (unsigned kind = FRAME_KIND_UDP4; kind <= FRAME_KIND_ETHER; kind++) {
		for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			for (uint8_t tags = 0; tags <= 2; tags++) {
				struct frame_template t;

				build((enum frame_kind)kind, sizes[s], tags);
				frame_template_default(&t, (enum frame_kind)kind, sizes[s]);
				t.vlan_count = tags;
				assert_int_equal(frame_parse(frame, sizes[s], &v), FRAME_OK);
				assert_int_equal(v.vlan_count, tags);
				assert_int_equal(v.l3_offset, 14 + 4 * tags);
				assert_int_equal(v.payload_offset, frame_template_headers(&t));
				assert_int_equal(v.payload_offset + v.payload_bytes, sizes[s]);
				assert_true(frame_checksums_good(frame, &v));
				if (tags == 2) {
					assert_int_equal(load_be16(frame + 12), ETHERTYPE_QINQ);
					assert_int_equal(v.vlan_tci[0], 100);
					assert_int_equal(v.vlan_tci[1], 0x2007);
				}
				if (kind == FRAME_KIND_ETHER) {
					assert_int_equal(v.ethertype, ETHERTYPE_PROBE);
					continue;
				}
				assert_int_equal(v.ip_version, kind == FRAME_KIND_UDP6 ? 6 : 4);
				/* One wrong bit anywhere in what the sums cover is seen. */
				frame[v.l3_offset + 8] ^= 4;
				if (kind != FRAME_KIND_UDP6) /* the hop limit is under no sum */
					assert_false(frame_checksums_good(frame, &v));
				frame[v.l3_offset + 8] ^= 4;
				frame[sizes[s] - 1] ^= 1;
				if (kind != FRAME_KIND_IPV4)
					assert_false(frame_checksums_good(frame, &v));
			}
		}
	}
}

static void sizes_that_cannot_be(void **state)
{
	struct frame_template t;
	struct err err;

	(void)state;
	frame_template_default(&t, FRAME_KIND_UDP4, 41);
	assert_true(frame_build(&t, frame, &err) < 0);
	assert_string_equal(err.message, "frame size 41 B: expected 42 to 9018 B for UDP over IPv4 with 0 VLAN tags "
					 "(without the FCS)");
	assert_int_equal(err.kind, ERR_USAGE);
	t.length_bytes = 9019;
	assert_true(frame_build(&t, frame, &err) < 0);
	frame_template_default(&t, FRAME_KIND_ETHER, 13);
	assert_true(frame_build(&t, frame, &err) < 0);
	t.length_bytes = 14;
	assert_int_equal(frame_build(&t, frame, &err), 0);
	t.length_bytes = 9018;
	assert_int_equal(frame_build(&t, frame, &err), 0);
}

static void padding_is_not_payload(void **state)
{
	struct frame_view v;

	(void)state;
	build(FRAME_KIND_UDP4, 50, 0);
	memset(frame + 50, 0xee, 10); /* Ethernet padding to 60 */
	assert_int_equal(frame_parse(frame, 60, &v), FRAME_OK);
	assert_int_equal(v.payload_bytes, 8);
	assert_int_equal(v.l3_end, 50);
	assert_true(frame_checksums_good(frame, &v));
}

static void ipv4_options_and_fragments(void **state)
{
	struct frame_view v;

	(void)state;
	build(FRAME_KIND_UDP4, 100, 0);
	/* Four bytes of options: header length 6, everything after moved on. */
	memmove(frame + 38, frame + 34, 66);
	memset(frame + 34, 1, 4);
	frame[14] = 0x46;
	store_be16(frame + 16, 90);
	assert_int_equal(frame_parse(frame, 104, &v), FRAME_OK);
	assert_int_equal(v.l4_offset, 38);
	assert_int_equal(v.payload_offset, 46);
	frame_set_checksums(frame, &v, true);
	assert_true(frame_checksums_good(frame, &v));

	store_be16(frame + 20, 0x2000); /* first fragment: more follow */
	assert_int_equal(frame_parse(frame, 104, &v), FRAME_OK);
	assert_true(v.any_fragment && !v.later_fragment);
	store_be16(frame + 20, 0x0005);
	assert_int_equal(frame_parse(frame, 104, &v), FRAME_OK);
	assert_true(v.any_fragment && v.later_fragment);
	assert_int_equal(v.l4_offset, 0);
	assert_int_equal(v.payload_offset, 38);
}

static void ipv6_extensions(void **state)
{
	struct frame_view v;

	(void)state;
	build(FRAME_KIND_UDP6, 100, 0);
	/* Hop-by-hop (8 bytes) and destination options (16 bytes) between IPv6 and UDP. */
	memmove(frame + 54 + 24, frame + 54, 46);
	memset(frame + 54, 0, 24);
	frame[20] = 0;
	frame[54] = 60;
	frame[62] = IP_PROTO_UDP;
	frame[63] = 1;
	store_be16(frame + 18, 46 + 24);
	assert_int_equal(frame_parse(frame, 124, &v), FRAME_OK);
	assert_int_equal(v.ip_proto, IP_PROTO_UDP);
	assert_int_equal(v.payload_offset, 54 + 24 + 8);
	assert_true(frame_checksums_good(frame, &v));

	frame[63] = 200; /* longer than the datagram */
	assert_int_equal(frame_parse(frame, 124, &v), FRAME_CUT);
	frame[54] = 44; /* a later fragment */
	store_be16(frame + 64, 0x0008);
	assert_int_equal(frame_parse(frame, 124, &v), FRAME_OK);
	assert_true(v.later_fragment);
	store_be16(frame + 6 + 14, 0x3b00); /* no next header */
	assert_int_equal(frame_parse(frame, 124, &v), FRAME_OK);
}

static void faults(void **state)
{
	struct frame_view v;

	(void)state;
	assert_int_equal(frame_parse(frame, 0, &v), FRAME_CUT);
	assert_int_equal(frame_parse(frame, 13, &v), FRAME_CUT);
	build(FRAME_KIND_UDP4, 60, 0);
	assert_int_equal(frame_parse(frame, 33, &v), FRAME_CUT);
	assert_int_equal(v.ip_version, 0);
	assert_int_equal(frame_parse(frame, 59, &v), FRAME_CUT);
	frame[14] = 0x44;
	assert_int_equal(frame_parse(frame, 60, &v), FRAME_BAD_IP);
	frame[14] = 0x65;
	assert_int_equal(frame_parse(frame, 60, &v), FRAME_BAD_IP);
	frame[14] = 0x45;
	store_be16(frame + 16, 19);
	assert_int_equal(frame_parse(frame, 60, &v), FRAME_BAD_IP);
	store_be16(frame + 16, 46);
	store_be16(frame + 38, 7);
	assert_int_equal(frame_parse(frame, 60, &v), FRAME_BAD_L4);
	store_be16(frame + 38, 27);
	assert_int_equal(frame_parse(frame, 60, &v), FRAME_BAD_L4);
	build(FRAME_KIND_TCP4, 60, 0);
	frame[46] = 0x40;
	assert_int_equal(frame_parse(frame, 60, &v), FRAME_BAD_L4);
	frame[46] = 0xf0;
	assert_int_equal(frame_parse(frame, 60, &v), FRAME_BAD_L4);
	build(FRAME_KIND_ETHER, 60, 0);
	for (unsigned i = 0; i < 5; i++)
		store_be16(frame + 12 + 4 * i, ETHERTYPE_VLAN);
	assert_int_equal(frame_parse(frame, 60, &v), FRAME_DEEP_VLANS);
	assert_int_equal(frame_parse(frame, 20, &v), FRAME_CUT);
	assert_string_equal(frame_fault_name(FRAME_DEEP_VLANS), "too many VLAN tags");
}

/* Whatever the bytes: offsets lie inside the frame and in order, at every length a frame can be cut to. */
static void random_frames_stay_inside(void **state)
{
	struct frame_view v;
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (unsigned n = 0; n < 20000; n++) {
		uint32_t length_bytes = (uint32_t)rng_below(&rng, 121);

		build((enum frame_kind)rng_below(&rng, 5), 120, (uint8_t)rng_below(&rng, 3));
		for (unsigned k = (unsigned)rng_below(&rng, 6); k > 0; k--)
			frame[rng_below(&rng, 60)] = (uint8_t)rng_u64(&rng);
		frame_parse(frame, length_bytes, &v);
		assert_true(v.payload_offset + v.payload_bytes <= length_bytes);
		assert_true(v.l4_offset <= length_bytes && v.l3_offset <= length_bytes && v.l3_end <= length_bytes);
		assert_true(v.l4_offset == 0 || (v.l3_offset < v.l4_offset && v.l4_offset <= v.payload_offset));
		if (v.fault == FRAME_OK) {
			frame_set_checksums(frame, &v, true);
			assert_true(frame_checksums_good(frame, &v));
		}
	}
}

static void udp_checksum_zero(void **state)
{
	struct frame_view v;

	(void)state;
	build(FRAME_KIND_UDP4, 60, 0);
	frame_parse(frame, 60, &v);
	store_be16(frame + 40, 0);
	assert_true(frame_checksums_good(frame, &v));
	frame_set_checksums(frame, &v, false);
	assert_int_equal(load_be16(frame + 40), 0);
	frame_set_checksums(frame, &v, true);
	assert_int_not_equal(load_be16(frame + 40), 0);
	/* A sum that comes out as 0 is written as 0xFFFF: make the payload cancel the present sum. */
	store_be16(frame + 42, load_be16(frame + 40));
	frame_set_checksums(frame, &v, true);
	assert_int_equal(load_be16(frame + 40), 0xffff);
	assert_true(frame_checksums_good(frame, &v));
	build(FRAME_KIND_UDP6, 80, 0);
	frame_parse(frame, 80, &v);
	store_be16(frame + 60, 0);
	assert_false(frame_checksums_good(frame, &v));
}

static void int_round_trip(void **state)
{
	struct int_hop hops[INT_HOPS_MAX], back[INT_HOPS_MAX];
	struct int_counts counts = { { 0 } };
	uint8_t bytes[128];
	uint32_t count;

	(void)state;
	for (uint32_t n = 1; n <= INT_HOPS_MAX; n++) {
		for (uint32_t i = 0; i < n; i++)
			hops[i] = (struct int_hop){ .switch_id = (uint8_t)(i + 1),
						    .ingress_us = UINT64_C(0xfedcba987600) + i,
						    .egress_us = UINT64_C(0xffffffffff00) + i };
		assert_int_equal(int_shim_encode(hops, n, bytes, 1 + 13 * n), 1 + 13 * n);
		assert_int_equal(int_shim_encode(hops, n, bytes, 13 * n), 0);
		assert_int_equal(bytes[0], n);
		assert_int_equal(bytes[1], n); /* the newest first */
		assert_int_equal(int_shim_decode(bytes, 1 + 13 * n, back, &count, &counts), INT_OK);
		assert_int_equal(count, n);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(back[i].switch_id, hops[i].switch_id);
			assert_int_equal(back[i].ingress_us, hops[i].ingress_us);
			assert_int_equal(back[i].egress_us, hops[i].egress_us);
		}
		assert_int_equal(int_shim_decode(bytes, 13 * n, back, &count, &counts), INT_CUT);
		assert_int_equal(count, 0);
	}
	assert_int_equal(counts.by_fault[INT_OK], 8);
	assert_int_equal(counts.by_fault[INT_CUT], 8);
	assert_int_equal(int_shim_encode(hops, 0, bytes, sizeof(bytes)), 0);
	assert_int_equal(int_shim_encode(hops, 9, bytes, sizeof(bytes)), 0);
}

static void int_faults(void **state)
{
	struct int_hop hops[INT_HOPS_MAX];
	struct int_counts counts = { { 0 } };
	uint8_t bytes[128] = { 0 };
	uint32_t count;

	(void)state;
	assert_int_equal(int_shim_decode(bytes, 0, hops, &count, &counts), INT_CUT);
	assert_int_equal(int_shim_decode(bytes, sizeof(bytes), hops, &count, &counts), INT_EMPTY);
	bytes[0] = 9;
	assert_int_equal(int_shim_decode(bytes, sizeof(bytes), hops, &count, &counts), INT_TOO_MANY);
	bytes[0] = 2;
	assert_int_equal(int_shim_decode(bytes, sizeof(bytes), hops, &count, &counts), INT_NO_STAMP);
	assert_int_equal(count, 2);
	for (unsigned f = INT_CUT; f < INT_FAULTS; f++)
		assert_int_equal(counts.by_fault[f], 1);
	assert_string_equal(int_fault_name(INT_TOO_MANY), "too many hops");
	assert_int_equal(int_shim_decode(bytes, sizeof(bytes), hops, &count, NULL), INT_NO_STAMP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp4_bytes),
		cmocka_unit_test(every_kind_parses_back),
		cmocka_unit_test(sizes_that_cannot_be),
		cmocka_unit_test(padding_is_not_payload),
		cmocka_unit_test(ipv4_options_and_fragments),
		cmocka_unit_test(ipv6_extensions),
		cmocka_unit_test(faults),
		cmocka_unit_test(random_frames_stay_inside),
		cmocka_unit_test(udp_checksum_zero),
		cmocka_unit_test(int_round_trip),
		cmocka_unit_test(int_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
