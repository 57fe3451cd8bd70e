/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "packet/frame.h"
#include "packet/trace.h"
#include "plan_fake.h"

static struct plan *good(const char *text)
{
	struct plan_problems problems;
	struct plan *plan = NULL;
	struct err err = { 0 };

	if (plan_parse(text, strlen(text), "-", ".", &plan, &problems, &err) < 0) {
		for (uint32_t i = 0; i < problems.count; i++)
			print_error("%u:%u: %s\n", problems.items[i].line, problems.items[i].column,
				    problems.items[i].message);
		fail_msg("%s", err.message);
	}
	assert_int_equal(problems.count, 0);
	return plan;
}

/* The order as text: "[2] 0 1 [2] | ...", tares in brackets. */
static void order_text(const struct plan *plan, char *buf, size_t size)
{
	size_t n = 0;

	for (uint32_t i = 0; i < plan->turn_count; i++) {
		const struct turn *t = &plan->turns[i];

		n += (size_t)snprintf(buf + n, size - n, "%s", i == 0 ? "" : t[-1].block != t->block ? " | " : " ");
		n += (size_t)snprintf(buf + n, size - n, plan->cells[t->cell].is_tare ? "[%u]" : "%u", t->cell);
		assert_true(n < size);
	}
}

static void defaults(void **state)
{
	struct plan *plan = good(PLAN_HEAD "matrix: { program: [a, b] }\n");

	(void)state;
	assert_string_equal(plan->name, "t");
	assert_int_equal(plan->measure, MEASURE_DIFFERENTIAL);
	assert_int_equal(plan->seed, 1);
	assert_int_equal(plan->restarts, 6);
	assert_int_equal(plan->runs, 10);
	assert_int_equal(plan->warmup_ns, 0);
	assert_string_equal(plan->tare_program, "null");
	assert_int_equal(plan->axis_count, 1);
	assert_int_equal(plan->cell_count, 3);
	assert_false(settings_get(&plan->general, "restarts")->set);
	assert_true(settings_get(&plan->general, "name")->set);
	assert_int_equal(settings_number(&plan->target_settings, "shell"), 1000);
	plan_destroy(plan);
}

/* There are turns for the most restarts; which of them run is for the campaign to say. */
static void stop_says_how_many_restarts(void **state)
{
	struct plan *plan = good(PLAN_HEAD "matrix: { program: [a, b] }\nstop: { width: 2.5%, restarts: 7..30 }\n");

	(void)state;
	assert_true(plan->stop.on);
	assert_int_equal(plan->stop.width_ppm, 25000);
	assert_int_equal(plan->stop.least, 7);
	assert_int_equal(plan->stop.most, 30);
	assert_int_equal(plan->restarts, 30);
	assert_int_equal(plan->turn_count, 30 * 4);
	assert_null(plan->stop.of);
	plan_destroy(plan);
	plan = good(PLAN_HEAD "matrix: { program: [a] }\nstop: { width: 5% }\n");
	assert_int_equal(plan->stop.least, 6);
	assert_int_equal(plan->stop.most, 40);
	plan_destroy(plan);
	plan = good(PLAN_HEAD "matrix: { program: [a] }\n");
	assert_false(plan->stop.on);
	plan_destroy(plan);
}

/* Few restarts, some of the cells, and the tares of those; another plan as far as a store is concerned. */
static void a_pilot_is_a_small_plan_of_its_own(void **state)
{
	static const char text[] = PLAN_HEAD "matrix: { program: [a, b, c], size: [64B, 128B] }\nwarmup: 1s\n"
					     "stop: { width: 5% }\nprobes: { count: 5k }\n";
	const struct plan_pilot size = { .restarts = 3, .runs = 2, .probes_most = 100, .cells_most = 2 };
	struct plan *whole = good(text), *plan = NULL;
	struct plan_problems problems;
	struct err err = { 0 };
	uint32_t seen[8] = { 0 };

	(void)state;
	assert_int_equal(plan_parse_pilot(text, strlen(text), "-", ".", &size, &plan, &problems, &err), 0);
	assert_true(plan->pilot);
	assert_false(whole->pilot);
	assert_string_equal(plan->name, "t-pilot");
	assert_true(plan->text_hash != whole->text_hash);
	assert_false(plan->stop.on);
	assert_int_equal(plan->runs, 2);
	assert_int_equal(plan->warmup_ns, whole->warmup_ns); /* the regime stays */
	assert_int_equal(settings_number(&plan->probes, "count"), 100);
	assert_int_equal(plan->cell_count, whole->cell_count);
	for (uint32_t i = 0; i < plan->turn_count; i++)
		seen[plan->turns[i].cell]++;
	/* the first and the last cell, and both tares, which have two restarts in each block */
	assert_int_equal(seen[0], 3);
	assert_int_equal(seen[5], 3);
	assert_int_equal(seen[6], 6);
	assert_int_equal(seen[7], 6);
	assert_int_equal(plan->turn_count, 18);
	plan_destroy(plan);
	plan_destroy(whole);
}

static void everything_is_read(void **state)
{
	struct plan *plan = good(
		"\xef\xbb\xbf"
		"name: net-latency.2\nmeasure: differential\nseed: 9223372036854775807\nrestarts: 2\n"
		"runs: 3\nwarmup: 1.5s\ntarget: { kind: fake, loss: 0.5%, grid: yes, mode: hard, note: \"x: y\" }\n"
		"matrix: { program: [\"a\"] }\ntare: { program: b }\nprobes: { count: 2k, rate: 500pps }\n");

	(void)state;
	assert_int_equal(plan->seed, INT64_MAX);
	assert_int_equal(plan->restarts, 2);
	assert_int_equal(plan->runs, 3);
	assert_int_equal(plan->warmup_ns, 1500000000);
	assert_int_equal(settings_number(&plan->target_settings, "loss"), 5000);
	assert_true(settings_flag(&plan->target_settings, "grid"));
	assert_int_equal(settings_number(&plan->target_settings, "mode"), 1);
	assert_string_equal(settings_text(&plan->target_settings, "note"), "x: y");
	assert_string_equal(plan->tare_program, "b");
	/* Two blocks; the tare twice in each, so three restarts of (1.5 s + 3 runs of 2000 probes at 500 a second). */
	assert_int_equal(plan->expected_ns, 2 * 3 * (1500000000 + 3 * INT64_C(4000000000)));
	plan_destroy(plan);
}

static void matrix_extra_and_tares(void **state)
{
	static const char *const labels[] = {
		"program=a size=64B",
		"program=a size=128B",
		"program=b size=64B",
		"program=b size=128B",
		"program=b loss=1%",
		"program=a size=128B loss=2%",
		"program=c size=256B loss=10000ppm",
		"tare size=64B",
		"tare size=128B",
		"tare loss=1%",
		"tare size=128B loss=2%",
	};
	static const uint32_t tares[] = { 7, 8, 7, 8, 9, 10, 9, 7, 8, 9, 10 };
	struct plan *plan = good(PLAN_HEAD "matrix:\n  program: [a, b]\n  size: [64B, 128B]\nextra:\n"
					   "- { program: b, loss: 1% }\n- { loss: 2%, program: a, size: 128B }\n"
					   "- { program: c, size: 256B, loss: 10000ppm }\n");

	(void)state;
	assert_int_equal(plan->axis_count, 3);
	assert_string_equal(plan->axes[0], "program");
	assert_string_equal(plan->axes[1], "size");
	assert_string_equal(plan->axes[2], "loss");
	assert_int_equal(plan->cell_count, 11);
	for (uint32_t i = 0; i < 11; i++) {
		const struct cell *cell = &plan->cells[i];

		assert_string_equal(cell->label, labels[i]);
		assert_int_equal(cell->index, i);
		/* Cell 6 sets 256B, the plan's own size, and 1 % as ppm: the tare of cell 4 is its tare. */
		assert_int_equal(cell->tare, tares[i]);
		assert_int_equal(cell->is_tare, i >= 7);
	}
	assert_null(cell_value(plan, &plan->cells[0], "loss"));
	assert_null(cell_value(plan, &plan->cells[0], "no-axis"));
	assert_string_equal(cell_value(plan, &plan->cells[5], "loss"), "2%");
	assert_string_equal(cell_value(plan, &plan->cells[7], "program"), "null");
	plan_destroy(plan);
}

static void setup_of_a_cell(void **state)
{
	struct plan *plan = good(PLAN_HEAD "matrix: { program: [a], size: [64B, 1500B], loss: [1%] }\n"
					   "probes: { size: 128B, count: 7 }\n");
	struct cell_setup setup;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(plan_cell_setup(plan, &plan->cells[1], &arena, &setup), 0);
	assert_string_equal(setup.program, "a");
	assert_int_equal(settings_number(&setup.probes, "size"), 1500);
	assert_int_equal(settings_number(&setup.probes, "count"), 7);
	assert_int_equal(settings_number(&setup.target, "loss"), 10000);
	assert_int_equal(settings_number(&setup.target, "shell"), 1000);
	/* The plan's own are as they were. */
	assert_int_equal(settings_number(&plan->probes, "size"), 128);
	assert_int_equal(settings_number(&plan->target_settings, "loss"), 0);
	assert_int_equal(plan_cell_setup(plan, &plan->cells[plan->cells[1].tare], &arena, &setup), 0);
	assert_string_equal(setup.program, "null");
	assert_int_equal(settings_number(&setup.probes, "size"), 1500);
	arena_release(&arena);
	arena_init(&arena, 64);
	assert_int_equal(plan_cell_setup(plan, &plan->cells[1], &arena, &setup), -ENOMEM);
	arena_release(&arena);
	plan_destroy(plan);
}

/* Drawn by another implementation of the generator, from its papers. */
#define ORDER_SEED_7                                                                                                   \
	"[7] [6] 5 0 4 3 1 2 [7] [6] | [7] [6] 1 4 0 5 3 2 [6] [7] | [7] [6] 4 2 0 1 3 5 [7] [6] | [7] [6] 3 2 5 0 4 " \
	"1 [7] [6]"
#define ORDER_SEED_8 "[4] 1 3 0 2 [4] | [4] 0 2 3 1 [4] | [4] 0 3 1 2 [4]"

/* Stored campaigns rest on these orders: they never change. */
static void order_is_the_same_everywhere(void **state)
{
	struct plan *plan = good(PLAN_HEAD "seed: 7\nrestarts: 4\nmatrix: { program: [a, b, c], size: [64B, 100B] }\n");
	char order[512];

	(void)state;
	order_text(plan, order, sizeof(order));
	assert_string_equal(order, ORDER_SEED_7);
	plan_destroy(plan);
	plan = good(PLAN_HEAD "seed: 8\nrestarts: 3\nmatrix: { program: [a, b, c, \"null\"] }\n");
	order_text(plan, order, sizeof(order));
	assert_string_equal(order, ORDER_SEED_8);
	plan_destroy(plan);
}

static void blocks_are_complete_and_bracketed(void **state)
{
	struct plan *plan = good(PLAN_HEAD "restarts: 50\nmatrix: { program: [a, b, c], size: [64B, 100B, 200B] }\n");
	uint32_t in_block = plan->turn_count / 50, firsts[9] = { 0 };

	(void)state;
	assert_int_equal(plan->cell_count, 12);
	assert_int_equal(plan->turn_count, 50 * (9 + 6));
	for (uint32_t b = 0; b < 50; b++) {
		uint32_t seen[12] = { 0 };

		for (uint32_t i = 0; i < in_block; i++) {
			const struct turn *t = &plan->turns[b * in_block + i];

			assert_int_equal(t->block, b);
			assert_int_equal(plan->cells[t->cell].is_tare, i < 3 || i >= 12);
			assert_int_equal(t->restart, i < 3 ? 2 * b : i >= 12 ? 2 * b + 1 : b);
			seen[t->cell]++;
		}
		for (uint32_t c = 0; c < 12; c++)
			assert_int_equal(seen[c], plan->cells[c].is_tare ? 2 : 1);
		firsts[plan->turns[b * in_block + 3].cell]++;
	}
	/* Every cell comes first in some block: the blocks are shuffled, each in its own way. */
	for (int c = 0; c < 9; c++)
		assert_true(firsts[c] > 0);
	plan_destroy(plan);
}

static void the_largest_plan_fits(void **state)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);
	struct plan *plan;

	(void)state;
	fputs(PLAN_HEAD "restarts: 1\nmatrix:\n  program: [a, b]\n  size: [", f);
	for (int i = 0; i < 64; i++)
		fprintf(f, "%s%dB", i ? ", " : "", i + 64);
	fputs("]\n  flows: [", f);
	for (int i = 0; i < 32; i++)
		fprintf(f, "%s%d", i ? ", " : "", i + 1);
	fputs("]\n", f);
	fclose(f);
	plan = good(text);
	assert_int_equal(plan->cell_count, PLAN_CELLS_MOST + 2048);
	assert_string_equal(plan->cells[4095].label, "program=b size=127B flows=32");
	assert_int_equal(plan->cells[4095].tare, 4096 + 2047);
	plan_destroy(plan);
	free(text);
}

static void text_and_hash_are_kept(void **state)
{
	static const char text[] = PLAN_HEAD "matrix: { program: [a] }\n";
	struct plan *one = good(text), *two = good(PLAN_HEAD "matrix: { program: [b] }\n");

	(void)state;
	assert_string_equal(one->text, text);
	assert_true(one->text_hash != two->text_hash);
	plan_destroy(one);
	plan_destroy(two);
	plan_destroy(NULL);
}

static void a_trace_beside_the_plan(void **state)
{
	char directory[] = "/tmp/tare-plan-XXXXXX", path[128], plan_path[128];
	struct frame_template template;
	struct plan_problems problems;
	struct trace_writer *writer;
	struct plan *plan = NULL;
	struct err err = { 0 };
	uint8_t frame[200];
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/t.pcap", directory);
	snprintf(plan_path, sizeof(plan_path), "%s/p.yaml", directory);
	frame_template_default(&template, FRAME_KIND_UDP4, sizeof(frame));
	assert_int_equal(frame_build(&template, frame, &err), 0);
	assert_int_equal(trace_writer_open(path, &writer, &err), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(trace_writer_put(writer, i * 1000000, frame, sizeof(frame), &err), 0);
	assert_int_equal(trace_writer_close(writer, &err), 0);
	f = fopen(plan_path, "w");
	assert_non_null(f);
	fputs(PLAN_HEAD "restarts: 1\nruns: 1\nmatrix: { program: [a] }\nprobes: { trace: t.pcap, times: original }\n",
	      f);
	fclose(f);
	assert_int_equal(plan_load(plan_path, &plan, &problems, &err), 0);
	assert_string_equal(plan->directory, directory);
	/* Five packets 1 ms apart, three restarts with the tares. */
	assert_int_equal(plan->expected_ns, 3 * 5000000);
	plan_destroy(plan);
	assert_int_equal(truncate(path, 300), 0);
	assert_int_equal(plan_load(plan_path, &plan, &problems, &err), -EINVAL);
	assert_int_equal(problems.count, 1);
	assert_int_equal(problems.items[0].line, 7);
	assert_int_equal(problems.items[0].column, 18);
	assert_non_null(strstr(problems.items[0].message, "t.pcap"));
	plan_problems_release(&problems);
	remove(path);
	remove(plan_path);
	remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(stop_says_how_many_restarts),
		cmocka_unit_test(a_pilot_is_a_small_plan_of_its_own),
		cmocka_unit_test(everything_is_read),
		cmocka_unit_test(matrix_extra_and_tares),
		cmocka_unit_test(setup_of_a_cell),
		cmocka_unit_test(order_is_the_same_everywhere),
		cmocka_unit_test(blocks_are_complete_and_bracketed),
		cmocka_unit_test(the_largest_plan_fits),
		cmocka_unit_test(text_and_hash_are_kept),
		cmocka_unit_test(a_trace_beside_the_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
