/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lab/cpus.h"
#include "packet/probe_id.h"
#include "probe/transit.h"
#include "probe/transit_places.h"
#include "probe/transit_settings.h"

/* Fates and stamps of the transit method, from what the taps saw. */

enum { COUNT = 10 };
#define START    INT64_C(1700000000000000000)
#define STEP_NS  INT64_C(1000000)
#define DEADLINE INT64_C(5000000)

struct bed {
	struct transit rows[COUNT];
	struct transit_event tx[64], in[64], out[64], rx[64];
	struct transit_events left, sw_in, sw_out, at_rx;
	struct ledger ledger;
};

static struct transit_event seen(uint32_t id, int64_t at_ns)
{
	return (struct transit_event){ .stamp_ns = START + at_ns, .id = id, .status = ID_OK };
}

static struct transit_event arrived(uint32_t id, int64_t at_ns, uint64_t p4_in_us, uint64_t p4_out_us)
{
	struct transit_event e = seen(id, at_ns);

	e.instrument = 1;
	e.p4_in_us = p4_in_us;
	e.p4_out_us = p4_out_us;
	return e;
}

/* Probe i is to go at i ms, is asked to 5 us later, goes 3 us after that, is in after 10 us, out after 90 and there after 100; the switch began 7 s before. */
static void fill(struct bed *b)
{
	memset(b, 0, sizeof(*b));
	for (uint32_t i = 0; i < COUNT; i++) {
		int64_t at = i * STEP_NS;

		b->rows[i] = (struct transit){ .seq = i, .packet = i, .sched_ns = at, .tx_ns = at + 5000 };
		b->tx[i] = seen(i, at + 8000);
		b->in[i] = seen(i, at + 10000);
		b->out[i] = seen(i, at + 90000);
		b->rx[i] = arrived(i, at + 100000, 7000020 + i * 1000, 7000070 + i * 1000);
	}
	b->left = (struct transit_events){ b->tx, COUNT, 64, 0 };
	b->sw_in = (struct transit_events){ b->in, COUNT, 64, 0 };
	b->sw_out = (struct transit_events){ b->out, COUNT, 64, 0 };
	b->at_rx = (struct transit_events){ b->rx, COUNT, 64, 0 };
}

static void match(struct bed *b)
{
	const struct transit_seen seen_of = { &b->left, &b->sw_in, &b->sw_out, &b->at_rx };

	transit_match(b->rows, COUNT, START, DEADLINE, &seen_of, &b->ledger);
	b->ledger.arrived = b->at_rx.count;
	assert_true(ledger_balances(&b->ledger));
}

static void all_arrive(void **state)
{
	struct transit_conditions c = { 0 };
	struct bed b;

	(void)state;
	fill(&b);
	match(&b);
	assert_int_equal(b.ledger.fate[FATE_MATCHED], COUNT);
	assert_int_equal(b.rows[3].tx_ns, 3 * STEP_NS + 8000);
	assert_int_equal(b.rows[3].flags, 0);
	assert_int_equal(b.rows[3].sw_in_ns, 3 * STEP_NS + 10000);
	assert_int_equal(b.rows[3].rx_ns, 3 * STEP_NS + 100000);
	assert_int_equal(b.rows[3].p4_out_us - b.rows[3].p4_in_us, 50);
	assert_int_equal(transit_align(b.rows, COUNT, 0, &b.ledger, &c, NULL), 0);
	assert_int_equal(c.segments, 1);
	assert_int_equal(b.ledger.set_apart, 0);
	/* in 10 us before p4_in, out 20 after p4_out, less what a stamp is cut down by */
	assert_true(c.align_width_ns == 90000 - 10000 - 50000 + 1000);
}

static void each_fate_is_told(void **state)
{
	struct bed b;

	(void)state;
	fill(&b);
	b.rx[1].status = ID_UNREADABLE;                   /* takes the place of probe 1 */
	b.rx[2].p4_out_us = 0;                            /* unstamped by the switch */
	b.rx[3].stamp_ns = 0;                             /* and by the kernel */
	b.rx[4].stamp_ns += DEADLINE;                     /* late */
	b.rx[5].instrument = 0;                           /* no header to read */
	b.rx[6] = arrived(7, 7 * STEP_NS + 110000, 1, 2); /* 6 lost; 7 came early, then again */
	b.rx[10] = seen(1000, 5000);                      /* no probe of this run */
	b.rx[11] = (struct transit_event){ .stamp_ns = START, .status = ID_NOT_A_PROBE };
	b.rx[12] = (struct transit_event){ .stamp_ns = START, .status = ID_WARM_UP };
	b.at_rx.count = 13;
	b.tx[8].stamp_ns = 0;      /* left without a stamp */
	b.tx[9] = seen(0, 100000); /* or was not seen to leave; and 0 only left once */
	match(&b);
	assert_int_equal(b.rows[8].fate, FATE_UNSTAMPED);
	assert_int_equal(b.rows[9].fate, FATE_UNSTAMPED);
	assert_int_equal(b.rows[9].flags, TRANSIT_TX_ASKED);
	assert_int_equal(b.rows[9].tx_ns, 9 * STEP_NS + 5000);
	assert_int_equal(b.rows[0].tx_ns, 8000);
	assert_int_equal(b.rows[1].fate, FATE_UNPARSED);
	assert_int_equal(b.rows[2].fate, FATE_UNSTAMPED);
	assert_int_equal(b.rows[3].fate, FATE_UNSTAMPED);
	assert_int_equal(b.rows[4].fate, FATE_LATE);
	assert_int_equal(b.rows[5].fate, FATE_UNSTAMPED);
	assert_int_equal(b.rows[6].fate, FATE_LOST);
	assert_int_equal(b.ledger.fate[FATE_MATCHED], 2);
	assert_int_equal(b.ledger.duplicates, 1);
	assert_int_equal(b.ledger.foreign, 2);
}

static void order_is_seen(void **state)
{
	struct transit_event swap;
	struct bed b;

	(void)state;
	fill(&b);
	swap = b.rx[4];
	b.rx[4] = b.rx[5];
	b.rx[5] = swap;
	match(&b);
	assert_int_equal(b.ledger.reordered, 1);
	assert_int_equal(b.ledger.fate[FATE_MATCHED], COUNT);
}

static void stamps_of_48_bits_are_unwrapped(void **state)
{
	const uint64_t wrap = UINT64_C(1) << 48;
	struct transit_conditions c = { 0 };
	struct bed b;

	(void)state;
	fill(&b);
	/* probe 4 begins before the wrap and ends behind it */
	for (uint32_t i = 0; i < COUNT; i++) {
		b.rx[i].p4_in_us = (wrap - 4020 + i * 1000) % wrap;
		b.rx[i].p4_out_us = (wrap - 3970 + i * 1000) % wrap;
	}
	match(&b);
	assert_int_equal(b.ledger.fate[FATE_MATCHED], COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(b.rows[i].p4_out_us - b.rows[i].p4_in_us, 50);
	assert_int_equal(b.rows[9].p4_in_us - b.rows[0].p4_in_us, 9000);
	assert_int_equal(transit_align(b.rows, COUNT, 0, &b.ledger, &c, NULL), 0);
	assert_int_equal(c.segments, 1);
}

static void a_probe_around_a_step_is_set_apart(void **state)
{
	struct transit_conditions c = { 0 };
	struct bed b;

	(void)state;
	fill(&b);
	for (uint32_t i = 5; i < COUNT; i++) {
		b.rx[i].p4_in_us += i > 5 ? 1000000 : 0; /* the clock jumps by a second inside probe 5 */
		b.rx[i].p4_out_us += 1000000;
	}
	match(&b);
	assert_int_equal(transit_align(b.rows, COUNT, 0, &b.ledger, &c, NULL), 0);
	assert_int_equal(c.segments, 3);
	assert_int_equal(b.ledger.set_apart, 1);
	assert_int_equal(b.rows[5].flags, TRANSIT_SET_APART);
	assert_int_equal(b.rows[4].flags | b.rows[6].flags, 0);
}

static void cpus_are_shared_out(void **state)
{
	const int32_t best[2] = { 2, 3 };
	struct transit_places p;
	cpu_set_t allowed;
	char text[32];

	(void)state;
	CPU_ZERO(&allowed);
	CPU_SET(3, &allowed);
	transit_places_assign(&allowed, (const int32_t[2]){ 3, -1 }, &p);
	assert_int_equal(p.send, -1);
	assert_int_equal(p.carrier, -1);
	assert_string_equal(cpus_text(&p.target, text, sizeof(text)), "3");
	CPU_SET(2, &allowed);
	transit_places_assign(&allowed, best, &p);
	assert_int_equal(p.send, 3);
	assert_int_equal(p.carrier, 3);
	assert_string_equal(cpus_text(&p.target, text, sizeof(text)), "2");
	CPU_SET(0, &allowed);
	CPU_SET(1, &allowed);
	transit_places_assign(&allowed, best, &p);
	assert_int_equal(p.send, 3);
	assert_int_equal(p.carrier, 2);
	assert_string_equal(cpus_text(&p.target, text, sizeof(text)), "0-1");
}

static void lists_of_cpus(void **state)
{
	static const char *const bad[] = { "", "a", "1-", "3-1", "1,,2", "1,", "99999", "-1", "1 2" };
	struct err err = { 0 };
	cpu_set_t set, before;
	char text[16];

	(void)state;
	assert_int_equal(cpus_parse("cpus", "6,0-3,2", &set, &err), 0);
	assert_string_equal(cpus_text(&set, text, sizeof(text)), "0-3,6");
	assert_string_equal(cpus_text(&set, text, 5), "0-3"); /* whole ranges */
	before = set;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(cpus_parse("cpus", bad[i], &set, &err), -EINVAL);
		assert_int_equal(err.kind, ERR_USAGE);
	}
	assert_true(CPU_EQUAL(&set, &before));
	CPU_ZERO(&set);
	assert_string_equal(cpus_text(&set, text, sizeof(text)), "none");
}

static void regimes(void **state)
{
	(void)state;
	assert_string_equal(transit_regime(0, TRANSIT_COLD_NS), "cold");
	assert_string_equal(transit_regime(0, TRANSIT_COLD_NS - 1), "dense");
	assert_string_equal(transit_regime(1000000, TRANSIT_COLD_NS), "warm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_arrive),
		cmocka_unit_test(each_fate_is_told),
		cmocka_unit_test(order_is_seen),
		cmocka_unit_test(stamps_of_48_bits_are_unwrapped),
		cmocka_unit_test(a_probe_around_a_step_is_set_apart),
		cmocka_unit_test(cpus_are_shared_out),
		cmocka_unit_test(lists_of_cpus),
		cmocka_unit_test(regimes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
