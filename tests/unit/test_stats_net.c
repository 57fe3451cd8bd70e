/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "stats/budget.h"
#include "stats/compare.h"
#include "stats/net.h"
#include "stats/packetwise.h"
#include "near.h"

#define WHOLE (NET_GROSS | NET_BEFORE | NET_AFTER)

static const struct budget_term *term(const struct net *n, const char *name)
{
	for (uint32_t i = 0; i < n->budget.count; i++)
		if (strcmp(n->budget.terms[i].name, name) == 0)
			return &n->budget.terms[i];
	return NULL;
}

/* GUM H.1.6: u = 32 nm from five terms, effective degrees of freedom 16 from 25, 18, 5, 8, 50 and 2 ones. */
static void welch_satterthwaite_as_in_the_gum(void **state)
{
	struct budget b = { 0 };

	(void)state;
	budget_add(&b, "standard", UNCERTAINTY_B, SHAPE_NORMAL, 25, 18, "");
	budget_add(&b, "difference", UNCERTAINTY_A, SHAPE_STUDENT, 9.7, 25.6, "");
	budget_add(&b, "expansion", UNCERTAINTY_B, SHAPE_RECTANGULAR, 2.9, 50, "");
	budget_add(&b, "temperature", UNCERTAINTY_B, SHAPE_RECTANGULAR, 16.6, 2, "");
	budget_combine(&b);
	assert_near(b.u_ns, 31.7, 0.1);
	assert_near(b.dof, 16.7, 0.3); /* truncated to 16 there */
}

static void factors_are_students(void **state)
{
	struct budget b = { 0 };

	(void)state;
	budget_add(&b, "a", UNCERTAINTY_A, SHAPE_STUDENT, 2, 5, "");
	budget_combine(&b);
	assert_near(b.dof, 5, 1e-12);
	assert_near(b.factor_k2, 2.65, 0.005); /* GUM table G.2 */
	assert_near(b.factor_k3, 5.51, 0.005);
	assert_near(b.expanded_k2_ns, 2 * b.factor_k2, 1e-12);
	assert_near(budget_half_width(&b, 0.95), 2 * 2.570581835636314, 1e-9);

	struct budget known = { 0 };

	budget_add_bound(&known, "r", SHAPE_RECTANGULAR, 3, "");
	budget_add_bound(&known, "t", SHAPE_TRIANGULAR, 6, "");
	budget_combine(&known);
	assert_near(known.u_ns, 3, 1e-12); /* 3 + 6 */
	assert_near(budget_share(&known, 0), 1.0 / 3, 1e-12);
	assert_near(known.factor_k2, 2, 1e-9);
	assert_near(known.factor_k3, 3, 1e-9);

	struct budget empty = { 0 };

	budget_combine(&empty);
	assert_true(empty.u_ns == 0 && empty.expanded_k2_ns == 0 && budget_half_width(&empty, 0.95) == 0);
}

/* A drift of the tare that is linear in each block does not reach the net of cells in the middle. */
static void net_takes_the_tare_off(void **state)
{
	struct net_block blocks[6];
	double nets[6];
	struct net n;

	(void)state;
	for (int b = 0; b < 6; b++)
		blocks[b] = (struct net_block){ WHOLE, 189 + 2 * b + b * 0.1, 39 + 2 * b, 41 + 2 * b };
	assert_int_equal(net_compute(blocks, 6, &(struct net_conditions){ 0 }, nets, &n), 0);
	assert_int_equal(n.used, 6);
	assert_near(n.figure.value, 149.25, 1e-9);
	assert_near(nets[3], 149.3, 1e-9);
	assert_near(n.gross_ns, 194.25, 1e-9);
	assert_near(n.tare_ns, 45, 1e-9);
	assert_near(n.drift_ns, 2, 1e-12);
	assert_near(n.drift_max_ns, 2, 1e-12);
	assert_near(n.order.low, 149, 1e-9);
	assert_near(n.order.high, 149.5, 1e-9);
	/* The same drift in every block: half of it is a bound. */
	assert_near(term(&n, "tare drift")->bound_ns, 1, 1e-9);
	assert_near(term(&n, "tare drift")->u_ns, 1 / sqrt(3), 1e-9);
	assert_null(term(&n, "gross resolution"));
	assert_true(n.interval.low < n.order.low && n.interval.high > n.order.high); /* the drift's share */
}

static void drift_either_way_is_not_charged_twice(void **state)
{
	struct net_block blocks[6];
	struct net n;

	(void)state;
	for (int b = 0; b < 6; b++)
		blocks[b] = (struct net_block){ WHOLE, 189 + b * 0.1, b % 2 ? 38 : 42, b % 2 ? 42 : 38 };
	assert_int_equal(net_compute(blocks, 6, &(struct net_conditions){ 0 }, NULL, &n), 0);
	assert_near(n.drift_ns, 0, 1e-12);
	assert_near(n.drift_max_ns, 4, 1e-12);
	assert_near(term(&n, "tare drift")->u_ns, 0, 1e-12);
}

static void budget_has_the_conditions_terms(void **state)
{
	struct net_block blocks[6];
	struct net n;
	const struct net_conditions c = {
		.tick_ns = 10,
		.gross_clock = 0.03,
		.tare_clock = 1,
		.tsc_u_ppm = 100,
		.stamp_bias_ns = 0.6,
	};

	(void)state;
	for (int b = 0; b < 6; b++)
		blocks[b] = (struct net_block){ WHOLE, 140 + b * 0.1, 40, 40 };
	assert_int_equal(net_compute(blocks, 6, &c, NULL, &n), 0);
	assert_int_equal(n.budget.count, 6);
	assert_near(term(&n, "between blocks")->dof, 5, 0);
	assert_near(term(&n, "gross resolution")->u_ns, 0.3 / sqrt(3), 1e-12);
	assert_near(term(&n, "tare resolution")->u_ns, 10 / sqrt(6), 1e-12); /* locked: a whole step, triangular */
	assert_near(term(&n, "TSC frequency")->u_ns, 100.25 * 1e-4, 1e-9);
	assert_near(term(&n, "stamp bias")->u_ns, 0.6 / sqrt(3), 1e-12);
	double squares = 0, share = 0;

	for (uint32_t i = 0; i < n.budget.count; i++) {
		squares += n.budget.terms[i].u_ns * n.budget.terms[i].u_ns;
		share += budget_share(&n.budget, i);
	}
	assert_near(n.budget.u_ns, sqrt(squares), 1e-12);
	assert_near(share, 1, 1e-12);
	assert_near(net_stamp_bias(30, 10, 12, 8), 8, 1e-12);
	assert_near(net_stamp_bias(10, 20, 10, 20), 0, 1e-12);
}

static void incomplete_blocks_are_counted(void **state)
{
	struct net_block blocks[9];
	struct net n;

	(void)state;
	for (int b = 0; b < 9; b++)
		blocks[b] = (struct net_block){ WHOLE, 100, 40, 40 };
	blocks[0].present = NET_BEFORE | NET_AFTER;
	blocks[1].present = NET_GROSS;
	blocks[2].present = NET_GROSS | NET_BEFORE;
	blocks[2].after_ns = 1e9; /* absent: not looked at */
	blocks[3].present = NET_GROSS | NET_AFTER;
	blocks[3].before_ns = 1e9;
	assert_int_equal(net_compute(blocks, 9, &(struct net_conditions){ 0 }, NULL, &n), 0);
	assert_int_equal(n.blocks, 9);
	assert_int_equal(n.unusable, 2);
	assert_int_equal(n.one_sided, 2);
	assert_int_equal(n.two_sided, 5);
	assert_int_equal(n.used, 7);
	assert_near(n.figure.value, 60, 1e-12);

	assert_int_equal(net_compute(blocks, 7, &(struct net_conditions){ 0 }, NULL, &n), 0); /* 5 used */
	assert_int_equal(n.figure.state, FIGURE_NUMBER);
	assert_int_equal(n.interval.state, FIGURE_REFUSED);
	assert_near(n.interval.coverage, 0.9375, 1e-15);
	assert_int_equal(n.budget.count, 0);
	assert_int_equal(net_compute(blocks, 2, &(struct net_conditions){ 0 }, NULL, &n), 0);
	assert_int_equal(n.figure.state, FIGURE_REFUSED);
	assert_int_equal(net_compute(NULL, 0, &(struct net_conditions){ 0 }, NULL, &n), 0);
	assert_int_equal(n.figure.state, FIGURE_REFUSED);
}

static void packets_keep_what_is_theirs(void **state)
{
	struct packet_table *t = packet_table_create(4, 3);
	struct packet_median program[4], tare[4];
	struct packet_net nets[4];

	(void)state;
	assert_non_null(t);
	assert_int_equal(packet_table_add(t, 0, 107), 0);
	assert_int_equal(packet_table_add(t, 0, 900), 0);
	assert_int_equal(packet_table_add(t, 0, 109), 0);
	assert_int_equal(packet_table_add(t, 0, 1), -ENOSPC);
	assert_int_equal(packet_table_add(t, 4, 1), -ERANGE);
	assert_int_equal(packet_table_add(t, 2, 137), 0);
	assert_int_equal(packet_table_add(t, 3, INFINITY), 0);
	assert_int_equal(packet_table_add(t, 3, 5), 0);
	assert_int_equal(packet_table_add(t, 3, INFINITY), 0);
	assert_int_equal(packet_table_medians(t, 0, program), 3);
	assert_true(program[0].packet == 0 && program[0].median_ns == 109 && program[0].count == 3);
	assert_true(program[1].packet == 2 && program[1].median_ns == 137);
	assert_true(program[2].lost == 2 && program[2].count == 3 && isinf(program[2].median_ns));
	packet_table_clear(t);
	for (uint32_t p = 1; p < 4; p++)
		assert_int_equal(packet_table_add(t, p, 40 + p), 0);
	assert_int_equal(packet_table_medians(t, 0, tare), 3);
	/* Only packet 2 is in both and finite. */
	assert_int_equal(packet_nets(program, 3, tare, 3, 90, nets), 1);
	assert_int_equal(nets[0].packet, 2);
	assert_near(nets[0].net_ns, 95, 1e-12);
	assert_near(nets[0].residual_ns, 5, 1e-12);
	packet_table_destroy(t);
	packet_table_destroy(NULL);
}

static void ratio_by_fieller(void **state)
{
	const struct measured a = { 110, 1, INFINITY }, b = { 100, 1, INFINITY }, zero = { 0.5, 1, 10 };
	struct comparison c = compare_measured(a, b, 0.95);
	double z = 1.959963984540054, g = 1e4 - z * z;
	double root = z * sqrt(1e4 + 110 * 110 - z * z);

	(void)state;
	assert_near(c.ratio.value, 1.1, 1e-12);
	assert_near(c.interval.low, (11000 - root) / g, 1e-9);
	assert_near(c.interval.high, (11000 + root) / g, 1e-9);
	assert_near(c.difference_interval.high - 10, z * sqrt(2), 1e-9);
	c = compare_measured(a, zero, 0.95); /* not clear of zero: a ratio, but no interval for it */
	assert_int_equal(c.ratio.state, FIGURE_NUMBER);
	assert_int_equal(c.interval.state, FIGURE_REFUSED);
	assert_int_equal(c.difference_interval.state, FIGURE_NUMBER);
	c = compare_measured(a, (struct measured){ 100, INFINITY, 4 }, 0.95);
	assert_int_equal(c.ratio.state, FIGURE_NUMBER);
	assert_int_equal(c.interval.state, FIGURE_REFUSED);
	c = compare_measured(a, (struct measured){ 0, 0, INFINITY }, 0.95);
	assert_int_equal(c.ratio.state, FIGURE_REFUSED);
	c = compare_measured(a, (struct measured){ INFINITY, INFINITY, 5 }, 0.95);
	assert_int_equal(c.difference.state, FIGURE_REFUSED);
	c = compare_measured(a, a, 0.95); /* a thing is itself */
	assert_true(c.interval.low < 1 && c.interval.high > 1);
	c = compare_measured((struct measured){ 3, 0, 5 }, (struct measured){ 2, 0, 5 }, 0.95);
	assert_true(c.interval.low == 1.5 && c.interval.high == 1.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(welch_satterthwaite_as_in_the_gum),
		cmocka_unit_test(factors_are_students),
		cmocka_unit_test(net_takes_the_tare_off),
		cmocka_unit_test(drift_either_way_is_not_charged_twice),
		cmocka_unit_test(budget_has_the_conditions_terms),
		cmocka_unit_test(incomplete_blocks_are_counted),
		cmocka_unit_test(packets_keep_what_is_theirs),
		cmocka_unit_test(ratio_by_fieller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
